/* SPDX-License-Identifier: MIT
 *
 * hdf5_header.c: the header of an HDF5 object, looked through by ourselves before libhdf5 opens it: its pieces,
 * each message (hdf5_message.c), and how the blocks begin that it leads to. A header that passes here libhdf5
 * 1.10 can take. What lies within heaps and B-trees is not its affair (hdf5_block.c).
 */
#include "recording/hdf5_message.h"

#ifdef WEIRI_HDF5
#include <stdio.h>
#include <string.h>

#define MOST_MESSAGES 10000
#define MOST_SHARED   8
#define MOST_PIECES   64

#define take weiri_hdf5_take

typedef weiri_hdf5_rest rest;
typedef weiri_hdf5_attribute attribute;

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
        in->ended = in->ended || got < bytes;
    }
    return bytes <= in->filled - (at - in->at) ? in->window + (at - in->at) : NULL;
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
    uint64_t messages;
    weiri_hdf5_said said;
    uint64_t type_at; /* of its own type, where it is one of those that lie elsewhere: */
    size_t shared_count;
    struct {
        uint64_t at, most;
    } shared
        [MOST_SHARED]; /* headers of messages that lie elsewhere, and bytes of a value at most */
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
        ret->list[0] = (piece){at + where + width, size ? weiri_little(size, width) : 0};
        return size != NULL;
    }
    ret->list[0] = (piece){at + 16, head ? weiri_little(head + 8, 4) : 0};
    return head && head[0] == 1;
}

static bool
add_piece(const weiri_hdf5_view *in, header *all, const unsigned char *body, size_t bytes)
{
    uint64_t at = bytes >= 16 ? weiri_little(body, 8) : UINT64_MAX;
    uint64_t size = bytes >= 16 ? weiri_little(body + 8, 8) : 0;
    uint64_t mark = all->second ? 4 : 0; /* OCHK before it, a checksum behind it */
    if (at > INT64_MAX || size > INT64_MAX || size < 2 * mark || all->pieces == MOST_PIECES) {
        return false;
    }
    all->list[all->pieces++] = (piece){in->base + at + mark, size - 2 * mark};
    return true;
}

/* What says that a type lies elsewhere: version, kind, where; the first version has more in between. */
static bool
add_shared(const weiri_hdf5_view *in, header *all, rest body, uint64_t most, uint64_t *ret_at)
{
    const unsigned char *head = take(&body, 2);
    if (head && head[0] == 3 && head[1] == 1) {
        return body.left >= 8; /* a table of the whole file's: not a header */
    }
    const unsigned char *where = head && (head[0] != 1 || take(&body, 14)) ? take(&body, 8) : NULL;
    uint64_t at = where ? weiri_little(where, 8) : UINT64_MAX;
    if (at > INT64_MAX) {
        return false;
    }
    *ret_at = in->base + at;
    for (size_t i = 0; i < all->shared_count; i++) {
        if (all->shared[i].at == in->base + at) {
            all->shared[i].most = most < all->shared[i].most ? most : all->shared[i].most;
            return true;
        }
    }
    if (all->shared_count == MOST_SHARED) {
        return false;
    }
    all->shared[all->shared_count].at = in->base + at;
    all->shared[all->shared_count++].most = most;
    return true;
}

/* What lies elsewhere, of a message that fits. */
static bool
note_shared(const weiri_hdf5_view *in, header *all, unsigned kind, bool shared, rest body)
{
    attribute parts;
    uint64_t at = 0;
    if (shared) {
        return add_shared(in, all, body, UINT64_MAX, kind == MESSAGE_TYPE ? &all->type_at : &at);
    }
    return kind != MESSAGE_ATTRIBUTE || !weiri_hdf5_attribute_fits(body, &parts) ||
           parts.type.at == NULL || add_shared(in, all, parts.type, parts.most, &at);
}

/* Goes through a piece. With a name: *ret_at is where the values of the attribute of that name lie, once it is
 * met. */
static bool
look_through(weiri_hdf5_view *in, header *all, piece where, const char *name, uint64_t *ret_at)
{
    size_t own = all->second ? 4 + all->extra : 8;
    uint64_t done = 0;
    if (where.bytes > 0 && where.bytes < own) {
        in->message = where.at;
        return false; /* libhdf5 takes the first message's head unseen */
    }
    while (where.bytes - done >= own) {
        const unsigned char *head = weiri_hdf5_see(in, where.at + done, own);
        in->message = where.at + done;
        if (head == NULL || ++all->messages > MOST_MESSAGES) {
            return false;
        }
        unsigned kind = all->second ? head[0] : (unsigned)weiri_little(head, 2);
        size_t bytes = (size_t)weiri_little(head + (all->second ? 1 : 2), 2);
        bool shared = head[all->second ? 3 : 4] & 2;
        done += own;
        const unsigned char *body =
            bytes <= where.bytes - done ? weiri_hdf5_see(in, where.at + done, bytes) : NULL;
        attribute parts;
        if (body == NULL ||
            !weiri_hdf5_message_fits(kind, shared, (rest){body, bytes}, &all->said) ||
            !note_shared(in, all, kind, shared, (rest){body, bytes}) ||
            (kind == MESSAGE_CONTINUES && !add_piece(in, all, body, bytes))) {
            return false;
        }
        if (name && kind == MESSAGE_ATTRIBUTE && !shared &&
            weiri_hdf5_attribute_fits((rest){body, bytes}, &parts) &&
            parts.name_bytes == strlen(name) + 1 &&
            memcmp(body + parts.name, name, parts.name_bytes) == 0) {
            *ret_at = where.at + done + parts.values;
        }
        done += bytes;
    }
    return true;
}

/* Of the link, if it says so: libhdf5 opens what it is asked about. */
static bool address_of(hid_t object, const char *name, uint64_t *ret_at)
{
    H5L_info_t link = {.type = H5L_TYPE_ERROR};
    if (name && H5Lget_info(object, name, &link, H5P_DEFAULT) >= 0 && link.type == H5L_TYPE_HARD) {
        *ret_at = link.u.address;
        return *ret_at <= INT64_MAX;
    }
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
    *ret_at =
        head && head[8] < sizeof places ? weiri_little(head + places[head[8]], 8) : UINT64_MAX;
    return *ret_at <= INT64_MAX;
}

void weiri_hdf5_view_begin(weiri_reader *reader, const hdf5_in *file, weiri_hdf5_view *ret)
{
    *ret = (weiri_hdf5_view){.reader = reader, .base = file->h.base, .window = file->convert};
}

static bool sizes_agree(const weiri_hdf5_said *said)
{
    return said->type == 0 || ((said->element == 0 || said->type == said->element) &&
                               (said->fill == 0 || said->type == said->fill));
}

/* All pieces of the header there. */
static bool header_fits(weiri_hdf5_view *in, uint64_t at, header *ret)
{
    in->message = at;
    bool good = begin_header(in, at, ret);
    for (size_t i = 0; good && i < ret->pieces; i++) {
        good = look_through(in, ret, ret->list[i], NULL, NULL);
    }
    return good && sizes_agree(&ret->said);
}

/* The blocks that the header leads to, as far as the file has them. */
static weir_err leads_fit(weiri_hdf5_view *in, const weiri_hdf5_said *said, const char *name)
{
    for (size_t i = 0; i < said->lead_count; i++) {
        const weiri_hdf5_lead *lead = &said->leads[i];
        const unsigned char *found = weiri_hdf5_see(in, in->base + lead->at, 6);
        if (found && (memcmp(found, lead->mark, 4) != 0 || found[lead->place] < lead->least ||
                      found[lead->place] > lead->most)) {
            return weiri_malformed(
                in->reader, in->base + lead->at,
                "%.80s: its header leads here: found %02x%02x%02x%02x, then %u at byte %u; "
                "allowed %s, then %u to %u",
                name ? name : "/", found[0], found[1], found[2], found[3], found[lead->place],
                lead->place, lead->mark, lead->least, lead->most);
        }
    }
    return WEIR_OK;
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

static weir_err header_refused(const weiri_hdf5_view *in, const char *name)
{
    if (in->ended) {
        return weiri_malformed(in->reader, in->reader->input.size,
                               "%.80s: the file ends here, expected its header's message at %llu",
                               name ? name : "/", (unsigned long long)in->message);
    }
    return weiri_malformed(in->reader, in->message,
                           "%.80s: its header is damaged here: sizes within a message do not fit "
                           "together",
                           name ? name : "/");
}

weir_err weiri_hdf5_object(weiri_reader *reader, const hdf5_in *file, hid_t from, const char *name)
{
    weiri_hdf5_view in;
    header all, other;
    uint64_t at = 0;
    weiri_hdf5_view_begin(reader, file, &in);
    bool known = address_of(from, name, &at);
    if (!known && (name || !root_address(&in, &at))) {
        return no_address(reader, file, name);
    }
    bool good = header_fits(&in, in.base + at, &all);
    for (size_t i = 0; good && i < all.shared_count; i++) {
        good = header_fits(&in, all.shared[i].at, &other) && other.shared_count == 0 &&
               other.said.type <= all.shared[i].most;
        if (good && all.shared[i].at == all.type_at) {
            all.said.type = other.said.type;
            good = sizes_agree(&all.said);
        }
    }
    if (!good) {
        return header_refused(&in, name);
    }
    if (!known) {
        return weiri_malformed(reader, in.base + at,
                               "its root is neither a group nor anything else that libhdf5 knows");
    }
    if (all.said.elsewhere) {
        /* What libhdf5 would do first is to read a heap of their names. */
        return weiri_fail(WEIR_E_USAGE, "%s: %s: lies in other files (virtual), which is not read",
                          reader->path, name ? name : "/");
    }
    return leads_fit(&in, &all.said, name);
}

/* Addresses count from where the superblock lies, whatever it states. */
weir_err weiri_hdf5_root(weiri_reader *reader, hdf5_in *file)
{
    weiri_hdf5_view in;
    header all;
    uint64_t at = 0;
    weiri_hdf5_view_begin(reader, file, &in);
    const unsigned char *head = weiri_hdf5_see(&in, 0, 16);
    while (head && memcmp(head, "\x89HDF\r\n\x1a\n", 8) != 0) {
        at = at ? 2 * at : 512; /* where libhdf5 looks for it */
        head = weiri_hdf5_see(&in, at, 16);
    }
    if (head == NULL) {
        return WEIR_OK; /* which libhdf5 says */
    }
    file->h.base = in.base = at;
    const unsigned char *widths = head + (head[8] < 2 ? 13 : 9);
    if (widths[0] != 8 || widths[1] != 8) {
        return weiri_fail(WEIR_E_USAGE,
                          "%s: offset %llu: its addresses are of %u bytes, its lengths of %u: not "
                          "of 8 bytes",
                          reader->path, (unsigned long long)at, widths[0], widths[1]);
    }
    return !root_address(&in, &at) || header_fits(&in, in.base + at, &all)
               ? WEIR_OK
               : header_refused(&in, NULL);
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
