/* SPDX-License-Identifier: MIT
 *
 * hdf5_type.c: types, spaces and attributes as messages of an HDF5 header have them, measured before libhdf5 sees
 * them: parts that do not fit into each other it copies past its buffers. Whether a type is one that is read
 * is hdf5.c's affair.
 */
#include "recording/hdf5_message.h"

#ifdef WEIRI_HDF5
#include <string.h>

#define MOST_DEPTH 8

#define take weiri_hdf5_take

typedef weiri_hdf5_rest rest;
typedef weiri_hdf5_attribute attribute;

const unsigned char *weiri_hdf5_take(rest *in, uint64_t bytes)
{
    if (bytes > in->left) {
        return NULL;
    }
    const unsigned char *at = in->at;
    in->at += bytes;
    in->left -= (size_t)bytes;
    return at;
}

/* A name and the byte that ends it, filled up to a multiple of `pad`. */
bool weiri_hdf5_take_name(rest *in, size_t pad)
{
    const unsigned char *end = memchr(in->at, 0, in->left);
    size_t bytes = end ? (size_t)(end - in->at) + 1 : 0;
    return end && take(in, (bytes + pad - 1) / pad * pad);
}

static bool compound_fits(rest *in, int depth, unsigned version, unsigned count, uint64_t bytes)
{
    size_t width = bytes < 1u << 8 ? 1 : bytes < 1u << 16 ? 2 : bytes < 1u << 24 ? 3 : 4;
    for (unsigned i = 0; i < count; i++) {
        const unsigned char *at = weiri_hdf5_take_name(in, version < 3 ? 8 : 1)
                                      ? take(in, version < 3 ? 4 : width)
                                      : NULL;
        uint64_t offset = at ? weiri_little(at, version < 3 ? 4 : width) : 0, member = 0;
        if (at == NULL || (version == 1 && !take(in, 28)) ||
            !weiri_hdf5_type_fits(in, depth, &member) || member > bytes ||
            offset > bytes - member) {
            return false;
        }
        if (version == 1 && at[4] != 0) {
            return false; /* an array of the first version: nobody writes them any more */
        }
    }
    return count > 0;
}

static bool array_fits(rest *in, int depth, unsigned version, uint64_t bytes)
{
    const unsigned char *rank = take(in, version < 3 ? 4 : 1);
    const unsigned char *dims = rank ? take(in, 4u * rank[0]) : NULL;
    uint64_t all = 0;
    if (dims == NULL || rank[0] >= WEIRI_HDF5_DIMS || (version < 3 && !take(in, 4u * rank[0])) ||
        !weiri_hdf5_type_fits(in, depth, &all)) {
        return false;
    }
    for (unsigned i = 0; i < rank[0]; i++) {
        if (!weiri_mul(all, weiri_little(dims + 4 * i, 4), &all)) {
            return false;
        }
    }
    return all == bytes;
}

static bool enum_fits(rest *in, int depth, unsigned version, unsigned count, uint64_t bytes)
{
    uint64_t base = 0;
    if (!weiri_hdf5_type_fits(in, depth, &base) || base != bytes) {
        return false;
    }
    for (unsigned i = 0; i < count; i++) {
        if (!weiri_hdf5_take_name(in, version < 3 ? 8 : 1)) {
            return false;
        }
    }
    return take(in, base * count) != NULL;
}

/* Bits of numbers lie within them: libhdf5 takes them one by one. */
static bool bits_fit(rest *in, const unsigned char *head, bool real, uint64_t bytes)
{
    const unsigned char *at = take(in, real ? 12 : 4);
    if (at == NULL || bytes > 64) {
        return false;
    }
    uint64_t bits = 8 * bytes, first = weiri_little(at, 2), count = weiri_little(at + 2, 2);
    bool good = count > 0 && first + count <= bits;
    if (real) {
        good = good && at[4] + at[5] <= bits && at[6] + at[7] <= bits && at[5] > 0 && at[7] > 0 &&
               head[2] < bits;
    }
    return good;
}

bool weiri_hdf5_type_fits(rest *in, int depth, uint64_t *ret_bytes)
{
    const unsigned char *head = take(in, 8);
    if (head == NULL || depth > MOST_DEPTH) {
        return false;
    }
    unsigned version = head[0] >> 4, count = (unsigned)weiri_little(head + 1, 2);
    uint64_t bytes = weiri_little(head + 4, 4), inner = 0;
    *ret_bytes = bytes;
    if (version < 1 || version > 4 || bytes == 0 || bytes > INT32_MAX) {
        return false;
    }
    switch (head[0] & 15) {
    case 0: /* whole numbers; sets of bits */
    case 4:
        return bits_fit(in, head, false, bytes);
    case 1:
        return bits_fit(in, head, true, bytes);
    case 2: /* times */
        return take(in, 2) != NULL;
    case 3: /* texts of fixed length; references */
    case 7:
        return true;
    case 5: /* what has a tag */
        return take(in, head[1]) != NULL;
    case 6:
        return compound_fits(in, depth + 1, version, count, bytes);
    case 8:
        return enum_fits(in, depth + 1, version, count, bytes);
    case 9: /* of varying length */
        return bytes == 16 && weiri_hdf5_type_fits(in, depth + 1, &inner);
    case 10:
        return array_fits(in, depth + 1, version, bytes);
    default:
        return false;
    }
}

bool weiri_hdf5_space_fits(rest *in, uint64_t *ret_points)
{
    const unsigned char *head = take(in, 4);
    if (head == NULL || head[0] < 1 || head[0] > 2 || head[1] >= WEIRI_HDF5_DIMS ||
        (head[0] == 1 && !take(in, 4))) {
        return false;
    }
    const unsigned char *dims = take(in, 8u * head[1]);
    uint64_t points = 1;
    bool fits = dims != NULL && ((head[2] & 1) == 0 || take(in, 8u * head[1]));
    for (unsigned i = 0; fits && i < head[1]; i++) {
        fits = weiri_mul(points, weiri_little(dims + 8 * i, 8), &points);
    }
    *ret_points = head[0] == 2 && head[3] == 2 ? 0 : points;
    return fits;
}

bool weiri_hdf5_attribute_fits(rest in, attribute *ret)
{
    const unsigned char *begin = in.at, *head = take(&in, 8);
    if (head == NULL || head[0] < 1 || head[0] > 3 || (head[0] == 3 && !take(&in, 1))) {
        return false;
    }
    size_t pad = head[0] == 1 ? 7 : 0;
    size_t bytes[3];
    rest parts[3];
    for (size_t i = 0; i < 3; i++) {
        bytes[i] = (size_t)weiri_little(head + 2 + 2 * i, 2);
        parts[i] = (rest){in.at, bytes[i]};
        if (!take(&in, (bytes[i] + pad) & ~pad)) {
            return false;
        }
    }
    *ret = (attribute){.name = (size_t)(parts[0].at - begin),
                       .name_bytes = bytes[0],
                       .values = (size_t)(in.at - begin)};
    if (bytes[0] == 0 || parts[0].at[bytes[0] - 1] != 0) {
        return false;
    }
    /* A type or space that lies elsewhere is an object of its own. */
    uint64_t one = 1, points = 0, all = 0;
    bool type_shared = head[0] > 1 && (head[1] & 1), space_shared = head[0] > 1 && (head[1] & 2);
    ret->type = type_shared ? parts[1] : (rest){0};
    if (space_shared && (parts[2].left < 10 || parts[2].at[0] != 3 || parts[2].at[1] != 1)) {
        return false; /* in another header, where nobody puts one: only in a table of the whole file's */
    }
    bool fits = (type_shared || weiri_hdf5_type_fits(&parts[1], 0, &one)) &&
                (space_shared || weiri_hdf5_space_fits(&parts[2], &points)) &&
                weiri_mul(one, points, &all) && (type_shared || all <= in.left);
    ret->most = points ? in.left / points : UINT64_MAX;
    return fits;
}
#endif
