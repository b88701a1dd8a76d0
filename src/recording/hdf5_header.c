/* SPDX-License-Identifier: MIT
 *
 * hdf5_header.c: the header of an HDF5 object, looked through by ourselves before libhdf5 opens it. Version
 * 1.10 takes the lengths within a header's messages unseen and reads and writes past its buffers where damage
 * has changed them (doc/recordings.md has the list); a header that passes here it can take. Looks at types,
 * spaces, layouts, filters, fill values and attributes; what lies in heaps and B-trees is not its affair.
 */
#include "recording/hdf5_read.h"

#ifdef WEIRI_HDF5
#include <stdio.h>
#include <string.h>

#define MOST_MESSAGES 10000
#define MOST_SHARED   8
#define MOST_PIECES   64
#define MOST_DEPTH    8
#define MOST_DIMS     33

enum {
    MESSAGE_SPACE = 0x01,
    MESSAGE_TYPE = 0x03,
    MESSAGE_OLD_FILL = 0x04,
    MESSAGE_FILL = 0x05,
    MESSAGE_LINK = 0x06,
    MESSAGE_LAYOUT = 0x08,
    MESSAGE_FILTERS = 0x0b,
    MESSAGE_ATTRIBUTE = 0x0c,
    MESSAGE_CONTINUES = 0x10,
};

const unsigned char *weiri_hdf5_see(weiri_hdf5_view *in, uint64_t at, size_t bytes)
{
    if (at < in->at || at - in->at > in->filled || bytes > in->filled - (at - in->at)) {
        size_t got = 0, want = bytes < 4096 ? 4096 : WEIRI_HDF5_VIEW;
        if (bytes > WEIRI_HDF5_VIEW ||
            weiri_input_read(&in->reader->input, at, in->window, want, 1, &got) != WEIR_OK) {
            got = 0;
        }
        in->at = at;
        in->filled = got;
    }
    return bytes <= in->filled - (at - in->at) ? in->window + (at - in->at) : NULL;
}

uint64_t weiri_hdf5_number(const unsigned char *from, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = bytes; i > 0; i--) {
        value = value << 8 | from[i - 1];
    }
    return value;
}
#define number weiri_hdf5_number

/* ---- bodies of messages ---------------------------------------------------------------------------------- */

/* What is left of a message. */
typedef struct rest {
    const unsigned char *at;
    size_t left;
} rest;

/* The next bytes, or NULL where there are not so many. */
static const unsigned char *take(rest *in, uint64_t bytes)
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

/* Its parts, one behind the other, and whether its values are there. */
typedef struct attribute {
    size_t name, name_bytes, values; /* from the message's begin */
    rest type;                       /* where it is shared: what says where it lies; else nothing */
} attribute;

static bool attribute_fits(rest in, attribute *ret)
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

/* *ret_element: bytes of a value as the chunks have it, which libhdf5 does not hold against the type. */
static bool layout_fits(rest in, uint64_t *ret_element)
{
    const unsigned char *head = take(&in, 2);
    if (head == NULL) {
        return false;
    }
    if (head[0] < 3) {
        const unsigned char *more = take(&in, 6);
        bool compact = more && more[0] == 0;
        bool there = more && head[1] >= 1 && head[1] <= MOST_DIMS && (compact || take(&in, 8));
        const unsigned char *dims = there ? take(&in, 4u * head[1]) : NULL;
        const unsigned char *bytes = dims && compact ? take(&in, 4) : NULL;
        *ret_element = dims && more[0] == 2 ? number(dims + 4u * head[1] - 4, 4) : 0;
        return dims && (!compact || (bytes && take(&in, number(bytes, 4))));
    }
    if (head[1] == 0) { /* within the header */
        const unsigned char *bytes = take(&in, 2);
        return bytes && take(&in, number(bytes, 2));
    }
    if (head[1] == 2) { /* in chunks */
        const unsigned char *rank = take(&in, head[0] == 3 ? 9 : 3);
        size_t width = head[0] == 3 || rank == NULL ? 4 : rank[2];
        unsigned dims = rank == NULL ? 0 : head[0] == 3 ? rank[0] : rank[1];
        const unsigned char *at = dims >= 2 && dims <= MOST_DIMS && width >= 1 && width <= 8
                                      ? take(&in, width * dims)
                                      : NULL;
        *ret_element = at ? number(at + width * (dims - 1), width) : 0;
        return at != NULL;
    }
    return take(&in, head[1] == 3 ? 12 : 16);
}

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

static bool fill_fits(rest in, bool old)
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
    return !stated || (bytes && (number(bytes, 4) > INT32_MAX || take(&in, number(bytes, 4))));
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

static bool message_fits(unsigned kind, bool shared, rest in, uint64_t *type, uint64_t *element)
{
    static const unsigned char least[] = {[0x02] = 2,  [0x0a] = 2,  [0x0d] = 1, [0x0e] = 14,
                                          [0x10] = 16, [0x11] = 16, [0x12] = 8, [0x15] = 2};
    uint64_t ignored = 0;
    attribute parts;
    if (shared) {
        return in.left >= 10 && kind != MESSAGE_ATTRIBUTE && kind != MESSAGE_CONTINUES;
    }
    switch (kind) {
    case MESSAGE_SPACE:
        return space_fits(&in, &ignored);
    case MESSAGE_TYPE:
        return type_fits(&in, 0, type);
    case MESSAGE_OLD_FILL:
    case MESSAGE_FILL:
        return fill_fits(in, kind == MESSAGE_OLD_FILL);
    case MESSAGE_LINK:
        return link_fits(in);
    case MESSAGE_LAYOUT:
        return layout_fits(in, element);
    case MESSAGE_FILTERS:
        return filters_fit(in);
    case MESSAGE_ATTRIBUTE:
        return attribute_fits(in, &parts);
    default:
        return kind >= sizeof least || in.left >= least[kind];
    }
}

/* ---- headers ----------------------------------------------------------------------------------------------- */

/* One piece of a header: so many bytes of messages. Continuations are put behind the list. */
typedef struct piece {
    uint64_t at, bytes;
} piece;

typedef struct header {
    bool second;    /* of the second version */
    unsigned extra; /* bytes of a message's creation order */
    size_t pieces;
    uint64_t messages, type, element; /* the latter in bytes; 0 = not said */
    size_t shared_count;
    uint64_t shared[MOST_SHARED]; /* headers of types that lie elsewhere */
    piece list[MOST_PIECES];
} header;

static bool begin_header(weiri_hdf5_view *in, uint64_t at, header *ret)
{
    const unsigned char *head = weiri_hdf5_see(in, at, 16);
    *ret = (header){.pieces = 1};
    if (head && memcmp(head, "OHDR", 4) == 0 && head[4] == 2) {
        unsigned flags = head[5], width = 1u << (flags & 3);
        size_t where = 6 + (flags & 0x20 ? 16u : 0u) + (flags & 0x10 ? 4u : 0u);
        const unsigned char *size = weiri_hdf5_see(in, at + where, width);
        ret->second = true;
        ret->extra = flags & 4 ? 2 : 0;
        ret->list[0] = (piece){at + where + width, size ? number(size, width) : 0};
        return size != NULL;
    }
    ret->list[0] = (piece){at + 16, head ? number(head + 8, 4) : 0};
    return head && head[0] == 1;
}

static bool
add_piece(const weiri_hdf5_view *in, header *all, const unsigned char *body, size_t bytes)
{
    uint64_t at = bytes >= 16 ? number(body, 8) : UINT64_MAX;
    uint64_t size = bytes >= 16 ? number(body + 8, 8) : 0;
    uint64_t mark = all->second ? 4 : 0; /* OCHK before it, a checksum behind it */
    if (at > INT64_MAX || size > INT64_MAX || size < 2 * mark || all->pieces == MOST_PIECES) {
        return false;
    }
    all->list[all->pieces++] = (piece){in->base + at + mark, size - 2 * mark};
    return true;
}

/* What says that a type lies elsewhere: version, kind, where; the first version has more in between. */
static bool add_shared(const weiri_hdf5_view *in, header *all, rest body)
{
    const unsigned char *head = take(&body, 2);
    if (head && head[0] == 3 && head[1] == 1) {
        return body.left >= 8; /* a table of the whole file's: not a header */
    }
    const unsigned char *where = head && (head[0] != 1 || take(&body, 14)) ? take(&body, 8) : NULL;
    uint64_t at = where ? number(where, 8) : UINT64_MAX;
    if (at > INT64_MAX) {
        return false;
    }
    for (size_t i = 0; i < all->shared_count; i++) {
        if (all->shared[i] == in->base + at) {
            return true;
        }
    }
    if (all->shared_count == MOST_SHARED) {
        return false;
    }
    all->shared[all->shared_count++] = in->base + at;
    return true;
}

/* Types that lie elsewhere, of a message that fits. */
static bool
note_shared(const weiri_hdf5_view *in, header *all, unsigned kind, bool shared, rest body)
{
    attribute parts;
    if (shared) {
        return kind != MESSAGE_TYPE || add_shared(in, all, body);
    }
    return kind != MESSAGE_ATTRIBUTE || !attribute_fits(body, &parts) || parts.type.at == NULL ||
           add_shared(in, all, parts.type);
}

/* Goes through a piece. With a name: *ret_at is where the values of the attribute of that name lie, once it is
 * met. */
static bool
look_through(weiri_hdf5_view *in, header *all, piece where, const char *name, uint64_t *ret_at)
{
    size_t own = all->second ? 4 + all->extra : 8;
    uint64_t done = 0;
    while (where.bytes - done >= own) {
        const unsigned char *head = weiri_hdf5_see(in, where.at + done, own);
        in->message = where.at + done;
        if (head == NULL || ++all->messages > MOST_MESSAGES) {
            return false;
        }
        unsigned kind = all->second ? head[0] : (unsigned)number(head, 2);
        size_t bytes = (size_t)number(head + (all->second ? 1 : 2), 2);
        bool shared = head[all->second ? 3 : 4] & 2;
        done += own;
        const unsigned char *body =
            bytes <= where.bytes - done ? weiri_hdf5_see(in, where.at + done, bytes) : NULL;
        attribute parts;
        if (body == NULL ||
            !message_fits(kind, shared, (rest){body, bytes}, &all->type, &all->element) ||
            !note_shared(in, all, kind, shared, (rest){body, bytes}) ||
            (kind == MESSAGE_CONTINUES && !add_piece(in, all, body, bytes))) {
            return false;
        }
        if (name && kind == MESSAGE_ATTRIBUTE && !shared &&
            attribute_fits((rest){body, bytes}, &parts) && parts.name_bytes == strlen(name) + 1 &&
            memcmp(body + parts.name, name, parts.name_bytes) == 0) {
            *ret_at = where.at + done + parts.values;
        }
        done += bytes;
    }
    return true;
}

static bool address_of(hid_t object, const char *name, uint64_t *ret_at)
{
    H5O_info_t info = {.addr = HADDR_UNDEF};
    herr_t err = name ? H5Oget_info_by_name2(object, name, &info, H5O_INFO_BASIC, H5P_DEFAULT)
                      : H5Oget_info2(object, &info, H5O_INFO_BASIC);
    *ret_at = info.addr;
    return err >= 0 && info.addr <= INT64_MAX;
}

/* Where the superblock says that the root lies: libhdf5 does not say it of a header that it cannot read. */
static bool root_address(weiri_hdf5_view *in, uint64_t *ret_at)
{
    static const unsigned char places[] = {64, 68, 36, 36};
    const unsigned char *head = weiri_hdf5_see(in, in->base, 76);
    *ret_at = head && head[8] < sizeof places ? number(head + places[head[8]], 8) : UINT64_MAX;
    return *ret_at <= INT64_MAX;
}

/* Addresses of eight bytes, from the superblock on. */
bool weiri_hdf5_view_begin(weiri_reader *reader, const hdf5_in *file, weiri_hdf5_view *ret)
{
    hsize_t block = 0;
    size_t address = 0, length = 0;
    hid_t create = H5Fget_create_plist(file->h.file);
    bool good = create >= 0 && H5Pget_userblock(create, &block) >= 0 &&
                H5Pget_sizes(create, &address, &length) >= 0 && block <= INT64_MAX;
    if (create >= 0) {
        H5Pclose(create);
    }
    *ret = (weiri_hdf5_view){.reader = reader, .base = block, .window = file->convert};
    return good && address == 8 && length == 8;
}

/* All pieces of the header there. */
static bool header_fits(weiri_hdf5_view *in, uint64_t at, header *ret)
{
    in->message = at;
    bool good = begin_header(in, at, ret);
    for (size_t i = 0; good && i < ret->pieces; i++) {
        good = look_through(in, ret, ret->list[i], NULL, NULL);
    }
    return good && (ret->type == 0 || ret->element == 0 || ret->type == ret->element);
}

/* What libhdf5 cannot say the address of is not looked at by us: so it is not opened either. */
static weir_err no_address(const weiri_reader *reader, const hdf5_in *file, const char *name)
{
    weiri_hdf5 said = file->h;
    char what[120] = "its root cannot be opened";
    if (name) {
        bool data = reader->dataset && strcmp(name, reader->dataset) == 0;
        snprintf(what, sizeof what, "%s %.90s cannot be opened", data ? "dataset" : "object", name);
    }
    return weiri_hdf5_fail(&said, WEIR_E_RECORDING, what);
}

weir_err weiri_hdf5_object(weiri_reader *reader, const hdf5_in *file, hid_t from, const char *name)
{
    weiri_hdf5_view in;
    header all, other;
    uint64_t at = 0;
    if (!weiri_hdf5_view_begin(reader, file, &in)) {
        return weiri_fail(WEIR_E_USAGE, "%s: its addresses or lengths are not of 8 bytes",
                          reader->path);
    }
    bool known = address_of(from, name, &at);
    if (!known && (name || !root_address(&in, &at))) {
        return no_address(reader, file, name);
    }
    bool good = header_fits(&in, in.base + at, &all);
    for (size_t i = 0; good && i < all.shared_count; i++) {
        good = header_fits(&in, all.shared[i], &other) && other.shared_count == 0;
    }
    if (good && !known) {
        return weiri_malformed(reader, in.base + at,
                               "its root is neither a group nor anything else that libhdf5 knows");
    }
    return good ? WEIR_OK
                : weiri_malformed(reader, in.message,
                                  "%.80s: its header is damaged here: sizes within a message "
                                  "do not fit together",
                                  name ? name : "/");
}

bool weiri_hdf5_attribute_at(weiri_hdf5_view *in, hid_t object, const char *name, uint64_t *ret_at)
{
    header all;
    uint64_t at = 0, found = UINT64_MAX;
    bool good = address_of(object, NULL, &at) && begin_header(in, in->base + at, &all);
    for (size_t i = 0; good && i < all.pieces; i++) {
        good = look_through(in, &all, all.list[i], name, &found);
    }
    *ret_at = found;
    return good && found != UINT64_MAX;
}
#endif
