/* SPDX-License-Identifier: MIT
 *
 * hdf5_message.c: one message of the header of an HDF5 object, measured before libhdf5 sees it. Version 1.10
 * takes the lengths within messages unseen and reads and writes past its buffers where damage has changed them
 * (doc/recordings.md has the list). Notes the blocks that a message leads to, and does not go there.
 */
#include "recording/hdf5_message.h"

#ifdef WEIRI_HDF5

#define take weiri_hdf5_take

typedef weiri_hdf5_rest rest;
typedef weiri_hdf5_attribute attribute;

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
    what.at = address ? weiri_little(address, 8) : 0;
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
    uint64_t slots = head ? weiri_little(head + 4, 2) : 0,
             used = head ? weiri_little(head + 6, 2) : 0;
    return slots > 0 && used <= slots && leads_to(all, take(&in, 8), names) && take(&in, 24 * used);
}

/* Bytes of a value as the chunks have it are the last of the dimensions: libhdf5 does not hold them against the
 * type. */
static bool chunk_dims_fit(rest *in, unsigned dims, size_t width, weiri_hdf5_said *all)
{
    const unsigned char *at = dims >= 1 && dims <= WEIRI_HDF5_DIMS && width >= 1 && width <= 8
                                  ? take(in, width * dims)
                                  : NULL;
    for (unsigned i = 0; at && i < dims; i++) {
        all->element = weiri_little(at + width * i, width);
        at = all->element ? at : NULL;
    }
    return at != NULL;
}

static bool old_layout_fits(rest in, unsigned dims, weiri_hdf5_said *all)
{
    const unsigned char *more = take(&in, 6);
    if (more == NULL || more[0] > 2 || dims < 1 || dims > WEIRI_HDF5_DIMS) {
        return false;
    }
    if (more[0] == 2) {
        return leads_to(all, take(&in, 8), chunk_tree) && chunk_dims_fit(&in, dims, 4, all);
    }
    if (more[0] == 1) {
        return take(&in, 8) && take(&in, 4u * dims);
    }
    const unsigned char *bytes = take(&in, 4u * dims) ? take(&in, 4) : NULL;
    return bytes && take(&in, weiri_little(bytes, 4));
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
        return more && take(&in, weiri_little(more, 2));
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
        bool named = id && (first || weiri_little(id, 2) >= 256);
        const unsigned char *name = named ? take(&in, 2) : NULL;
        const unsigned char *more = id && (name || !named) ? take(&in, 4) : NULL;
        uint64_t bytes = name ? weiri_little(name, 2) : 0,
                 values = more ? weiri_little(more + 2, 2) : 0;
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
    uint64_t size = bytes ? weiri_little(bytes, 4) : 0;
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
    uint64_t name = bytes ? weiri_little(bytes, width) : 0;
    if (name == 0 || !take(&in, name)) {
        return false;
    }
    if (kind == NULL || kind[0] == 0) {
        return take(&in, 8) != NULL;
    }
    bytes = take(&in, 2);
    return bytes && take(&in, weiri_little(bytes, 2));
}

static bool group_fits(rest in)
{
    const unsigned char *head = take(&in, 2);
    return head && take(&in, (head[1] & 1 ? 4u : 0) + (head[1] & 2 ? 4u : 0));
}

static bool driver_fits(rest in)
{
    const unsigned char *head = take(&in, 11);
    return head && take(&in, weiri_little(head + 9, 2));
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
        return weiri_hdf5_space_fits(&in, &ignored);
    case MESSAGE_LINKS:
    case MESSAGE_ATTRIBUTES:
        return dense_fits(in, kind == MESSAGE_LINKS, all);
    case MESSAGE_TYPE:
        return weiri_hdf5_type_fits(&in, 0, &all->type);
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
        return weiri_hdf5_take_name(&in, 1);
    case MESSAGE_TABLE:
        return leads_to(all, take(&in, 8), table_tree) && leads_to(all, take(&in, 8), names);
    case MESSAGE_DRIVER:
        return driver_fits(in);
    default:
        return kind >= sizeof least || in.left >= least[kind];
    }
}
#endif
