/* SPDX-License-Identifier: MIT
 *
 * hdf5_message.c: one message of the header of an HDF5 object, measured before libhdf5 sees it. Version 1.10
 * takes the lengths within messages unseen and reads and writes past its buffers where damage has changed them
 * (doc/recordings.md has the list). Notes the blocks that a message leads to, and does not go there.
 */
#include "recording/hdf5_message.h"

#ifdef WEIRI_HDF5
#include <string.h>

#define MOST_DEPTH 8
#define MOST_DIMS  33

#define number weiri_hdf5_number
#define take   weiri_hdf5_take

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

/* ---- types, spaces, attributes ------------------------------------------------------------------------------- */

/* A name and the byte that ends it, filled up to a multiple of `pad`. */
static bool take_name(rest *in, size_t pad)
{
    const unsigned char *end = memchr(in->at, 0, in->left);
    size_t bytes = end ? (size_t)(end - in->at) + 1 : 0;
    return end && take(in, (bytes + pad - 1) / pad * pad);
}

static bool type_fits(rest *in, int depth, uint64_t *ret_bytes);

static bool compound_fits(rest *in, int depth, unsigned version, unsigned count, uint64_t bytes)
{
    size_t width = bytes < 1u << 8 ? 1 : bytes < 1u << 16 ? 2 : bytes < 1u << 24 ? 3 : 4;
    for (unsigned i = 0; i < count; i++) {
        const unsigned char *at =
            take_name(in, version < 3 ? 8 : 1) ? take(in, version < 3 ? 4 : width) : NULL;
        uint64_t offset = at ? number(at, version < 3 ? 4 : width) : 0, member = 0;
        if (at == NULL || (version == 1 && !take(in, 28)) || !type_fits(in, depth, &member) ||
            member > bytes || offset > bytes - member) {
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
    if (dims == NULL || rank[0] >= MOST_DIMS || (version < 3 && !take(in, 4u * rank[0])) ||
        !type_fits(in, depth, &all)) {
        return false;
    }
    for (unsigned i = 0; i < rank[0]; i++) {
        if (!weiri_mul(all, number(dims + 4 * i, 4), &all)) {
            return false;
        }
    }
    return all == bytes;
}

static bool enum_fits(rest *in, int depth, unsigned version, unsigned count, uint64_t bytes)
{
    uint64_t base = 0;
    if (!type_fits(in, depth, &base) || base != bytes) {
        return false;
    }
    for (unsigned i = 0; i < count; i++) {
        if (!take_name(in, version < 3 ? 8 : 1)) {
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
    uint64_t bits = 8 * bytes, first = number(at, 2), count = number(at + 2, 2);
    bool good = count > 0 && first + count <= bits;
    if (real) {
        good = good && at[4] + at[5] <= bits && at[6] + at[7] <= bits && at[5] > 0 && at[7] > 0 &&
               head[2] < bits;
    }
    return good;
}

static bool type_fits(rest *in, int depth, uint64_t *ret_bytes)
{
    const unsigned char *head = take(in, 8);
    if (head == NULL || depth > MOST_DEPTH) {
        return false;
    }
    unsigned version = head[0] >> 4, count = (unsigned)number(head + 1, 2);
    uint64_t bytes = number(head + 4, 4), inner = 0;
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
        return bytes == 16 && type_fits(in, depth + 1, &inner);
    case 10:
        return array_fits(in, depth + 1, version, bytes);
    default:
        return false;
    }
}

static bool space_fits(rest *in, uint64_t *ret_points)
{
    const unsigned char *head = take(in, 4);
    if (head == NULL || head[0] < 1 || head[0] > 2 || head[1] >= MOST_DIMS ||
        (head[0] == 1 && !take(in, 4))) {
        return false;
    }
    const unsigned char *dims = take(in, 8u * head[1]);
    uint64_t points = 1;
    bool fits = dims != NULL && ((head[2] & 1) == 0 || take(in, 8u * head[1]));
    for (unsigned i = 0; fits && i < head[1]; i++) {
        fits = weiri_mul(points, number(dims + 8 * i, 8), &points);
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
        bytes[i] = (size_t)number(head + 2 + 2 * i, 2);
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
    return (type_shared || type_fits(&parts[1], 0, &one)) &&
           (space_shared || space_fits(&parts[2], &points)) && weiri_mul(one, points, &all) &&
           (type_shared || all <= in.left);
}

/* ---- where values, links and attributes lie ----------------------------------------------------------------- */

static const weiri_hdf5_lead table_tree = {.mark = "TREE", .place = 4, .least = 0, .most = 0},
                             chunk_tree = {.mark = "TREE", .place = 4, .least = 1, .most = 1},
                             names = {.mark = "HEAP", .place = 4, .least = 0, .most = 0},
                             objects = {.mark = "FRHP", .place = 4, .least = 0, .most = 0},
                             links_by_name = {.mark = "BTHD", .place = 5, .least = 5, .most = 5},
                             links_by_age = {.mark = "BTHD", .place = 5, .least = 6, .most = 6},
                             notes_by_name = {.mark = "BTHD", .place = 5, .least = 8, .most = 8},
                             notes_by_age = {.mark = "BTHD", .place = 5, .least = 9, .most = 9},
                             fixed_list = {.mark = "FAHD", .place = 5, .least = 0, .most = 1},
                             growing_list = {.mark = "EAHD", .place = 5, .least = 0, .most = 1},
                             chunk_tree_2 = {.mark = "BTHD", .place = 5, .least = 10, .most = 11};

/* What libhdf5 has read once as a block of one kind it takes for another of the same class: an index of chunks
 * for a group's. So each block that a header leads to is looked at whether it is of the kind. */
static bool leads_to(weiri_hdf5_said *all, const unsigned char *address, weiri_hdf5_lead what)
{
    what.at = address ? number(address, 8) : 0;
    if (address == NULL || all->lead_count == WEIRI_HDF5_LEADS) {
        return false;
    }
    if (what.at != UINT64_MAX) { /* there is none yet */
        all->leads[all->lead_count++] = what;
    }
    return what.at <= INT64_MAX || what.at == UINT64_MAX;
}

/* Links (with a counter of eight bytes) or attributes (two) in a heap, and their indexes. */
static bool dense_fits(rest in, bool links, weiri_hdf5_said *all)
{
    const unsigned char *head = take(&in, 2);
    return head && (!(head[1] & 1) || take(&in, links ? 8 : 2)) &&
           leads_to(all, take(&in, 8), objects) &&
           leads_to(all, take(&in, 8), links ? links_by_name : notes_by_name) &&
           (!(head[1] & 2) || leads_to(all, take(&in, 8), links ? links_by_age : notes_by_age));
}

static bool files_fit(rest in, weiri_hdf5_said *all)
{
    const unsigned char *head = take(&in, 8);
    uint64_t slots = head ? number(head + 4, 2) : 0, used = head ? number(head + 6, 2) : 0;
    return slots > 0 && used <= slots && leads_to(all, take(&in, 8), names) && take(&in, 24 * used);
}

/* Bytes of a value as the chunks have it are the last of the dimensions: libhdf5 does not hold them against the
 * type. */
static bool chunk_dims_fit(rest *in, unsigned dims, size_t width, weiri_hdf5_said *all)
{
    const unsigned char *at =
        dims >= 1 && dims <= MOST_DIMS && width >= 1 && width <= 8 ? take(in, width * dims) : NULL;
    for (unsigned i = 0; at && i < dims; i++) {
        all->element = number(at + width * i, width);
        at = all->element ? at : NULL;
    }
    return at != NULL;
}

static bool old_layout_fits(rest in, unsigned dims, weiri_hdf5_said *all)
{
    const unsigned char *more = take(&in, 6);
    if (more == NULL || more[0] > 2 || dims < 1 || dims > MOST_DIMS) {
        return false;
    }
    if (more[0] == 2) {
        return leads_to(all, take(&in, 8), chunk_tree) && chunk_dims_fit(&in, dims, 4, all);
    }
    if (more[0] == 1) {
        return take(&in, 8) && take(&in, 4u * dims);
    }
    const unsigned char *bytes = take(&in, 4u * dims) ? take(&in, 4) : NULL;
    return bytes && take(&in, number(bytes, 4));
}

/* What lies between dimensions and index depends on the kind of index. */
static bool new_chunks_fit(rest in, weiri_hdf5_said *all)
{
    const unsigned char *head = take(&in, 3);
    const unsigned char *kind =
        head && chunk_dims_fit(&in, head[1], head[2], all) ? take(&in, 1) : NULL;
    switch (kind ? kind[0] : 0) {
    case 1: /* one chunk */
        return (!(head[0] & 2) || take(&in, 12)) && take(&in, 8);
    case 2: /* all of them in a row */
        return take(&in, 8) != NULL;
    case 3:
        return take(&in, 1) && leads_to(all, take(&in, 8), fixed_list);
    case 4:
        return take(&in, 5) && leads_to(all, take(&in, 8), growing_list);
    case 5:
        return take(&in, 6) && leads_to(all, take(&in, 8), chunk_tree_2);
    default:
        return false;
    }
}

static bool layout_fits(rest in, weiri_hdf5_said *all)
{
    const unsigned char *head = take(&in, 2), *more = NULL;
    if (head == NULL || head[0] < 3) {
        return head && old_layout_fits(in, head[1], all);
    }
    switch (head[1]) {
    case 0: /* within the header */
        more = take(&in, 2);
        return more && take(&in, number(more, 2));
    case 1:
        return take(&in, 16) != NULL;
    case 2:
        if (head[0] > 3) {
            return new_chunks_fit(in, all);
        }
        more = take(&in, 1);
        return more && more[0] >= 2 && leads_to(all, take(&in, 8), chunk_tree) &&
               chunk_dims_fit(&in, more[0], 4, all);
    case 3:
        all->elsewhere = true;
        return take(&in, 12) != NULL;
    default:
        return false;
    }
}

/* ---- other messages ------------------------------------------------------------------------------------------ */

static bool filters_fit(rest in)
{
    const unsigned char *head = take(&in, 2);
    bool first = head && head[0] == 1;
    if (head == NULL || head[0] < 1 || head[0] > 2 || head[1] > 32 || (first && !take(&in, 6))) {
        return false;
    }
    for (unsigned i = 0; i < head[1]; i++) {
        const unsigned char *id = take(&in, 2);
        bool named = id && (first || number(id, 2) >= 256);
        const unsigned char *name = named ? take(&in, 2) : NULL;
        const unsigned char *more = id && (name || !named) ? take(&in, 4) : NULL;
        uint64_t bytes = name ? number(name, 2) : 0, values = more ? number(more + 2, 2) : 0;
        if (more == NULL || (first && bytes % 8) || !take(&in, bytes) ||
            !take(&in, 4 * (values + (first && values % 2)))) {
            return false;
        }
    }
    return true;
}

/* What stands for values that are not there is as long as one: libhdf5 takes so many bytes of it. */
static bool fill_fits(rest in, bool old, weiri_hdf5_said *all)
{
    const unsigned char *head = old ? in.at : take(&in, 2);
    if (head == NULL) {
        return false;
    }
    bool stated = true;
    if (!old && head[0] < 3) {
        const unsigned char *more = take(&in, 2);
        stated = more && (head[0] == 1 || more[1] != 0);
        if (more == NULL) {
            return false;
        }
    } else if (!old) {
        stated = head[0] == 3 && (head[1] & 0x20);
    }
    const unsigned char *bytes = stated ? take(&in, 4) : NULL;
    uint64_t size = bytes ? number(bytes, 4) : 0;
    if (size == 0 || size > INT32_MAX) { /* none is set */
        return !stated || bytes;
    }
    bool same = all->fill == 0 || all->fill == size; /* there may be one of each kind */
    all->fill = size;
    return same && take(&in, size);
}

/* A link that lies within a group's header. */
static bool link_fits(rest in)
{
    const unsigned char *head = take(&in, 2);
    if (head == NULL || head[0] != 1) {
        return false;
    }
    const unsigned char *kind = head[1] & 8 ? take(&in, 1) : NULL;
    size_t width = (size_t)1 << (head[1] & 3);
    bool there = (kind || !(head[1] & 8)) && (!(head[1] & 4) || take(&in, 8)) &&
                 (!(head[1] & 16) || take(&in, 1));
    const unsigned char *bytes = there ? take(&in, width) : NULL;
    uint64_t name = bytes ? number(bytes, width) : 0;
    if (name == 0 || !take(&in, name)) {
        return false;
    }
    if (kind == NULL || kind[0] == 0) {
        return take(&in, 8) != NULL;
    }
    bytes = take(&in, 2);
    return bytes && take(&in, number(bytes, 2));
}

static bool group_fits(rest in)
{
    const unsigned char *head = take(&in, 2);
    return head && take(&in, (head[1] & 1 ? 4u : 0) + (head[1] & 2 ? 4u : 0));
}

static bool driver_fits(rest in)
{
    const unsigned char *head = take(&in, 11);
    return head && take(&in, number(head + 9, 2));
}

bool weiri_hdf5_message_fits(unsigned kind, bool shared, rest in, weiri_hdf5_said *all)
{
    /* Of those that always have one length. */
    static const unsigned char least[] = {
        [0x0e] = 14, [0x0f] = 10, [0x10] = 16, [0x12] = 8, [0x13] = 7, [0x16] = 5, [0x18] = 17};
    uint64_t ignored = 0;
    attribute parts;
    if (shared) {
        return in.left >= 10 && kind != MESSAGE_ATTRIBUTE && kind != MESSAGE_CONTINUES;
    }
    switch (kind) {
    case MESSAGE_SPACE:
        return space_fits(&in, &ignored);
    case MESSAGE_LINKS:
    case MESSAGE_ATTRIBUTES:
        return dense_fits(in, kind == MESSAGE_LINKS, all);
    case MESSAGE_TYPE:
        return type_fits(&in, 0, &all->type);
    case MESSAGE_OLD_FILL:
    case MESSAGE_FILL:
        return fill_fits(in, kind == MESSAGE_OLD_FILL, all);
    case MESSAGE_LINK:
        return link_fits(in);
    case MESSAGE_FILES:
        return files_fit(in, all);
    case MESSAGE_LAYOUT:
        return layout_fits(in, all);
    case MESSAGE_GROUP:
        return group_fits(in);
    case MESSAGE_FILTERS:
        return filters_fit(in);
    case MESSAGE_ATTRIBUTE:
        return weiri_hdf5_attribute_fits(in, &parts);
    case MESSAGE_COMMENT:
        return take_name(&in, 1);
    case MESSAGE_TABLE:
        return leads_to(all, take(&in, 8), table_tree) && leads_to(all, take(&in, 8), names);
    case MESSAGE_DRIVER:
        return driver_fits(in);
    default:
        return kind >= sizeof least || in.left >= least[kind];
    }
}
#endif
