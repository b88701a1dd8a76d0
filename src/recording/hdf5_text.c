/* SPDX-License-Identifier: MIT
 *
 * hdf5_text.c: texts of varying length, which h5py writes by default, read from the file by ourselves: from
 * a damaged heap of strings libhdf5 1.10 copies past its buffers, allocates what the damage states, or goes
 * round for ever (doc/recordings.md has the list). Everything here is checked against the file and bounded.
 * Reads what lies plainly: an attribute within its object's header, a dataset in one piece. What lies
 * elsewhere (attributes in a heap of their own, chunks) is not found, which the caller says.
 */
#include "recording/hdf5_read.h"

#ifdef WEIRI_HDF5
#include <string.h>

#define MOST_TEXT  4096
#define MOST_STEPS (64u * 1024u * 1024u) /* over objects of heaps, for all texts together */
#define REFERENCE  16u                   /* u32 length, u64 heap, u32 number */

#define see weiri_hdf5_see
/* ---- a heap of texts --------------------------------------------------------------------------------------- */

/* Object `wanted` of the heap: where its bytes lie, and how many. */
static bool find_object(
    weiri_hdf5_view *in, uint64_t heap, uint64_t wanted, uint64_t *ret_at, uint64_t *ret_bytes)
{
    const unsigned char *head = see(in, heap, 16);
    if (head == NULL || memcmp(head, "GCOL\1", 5) != 0) {
        return false;
    }
    uint64_t size = weiri_little(head + 8, 8), at = 16;
    while (size >= 16 && size <= INT64_MAX && at <= size - 16 && in->steps++ < MOST_STEPS) {
        head = see(in, heap + at, 16);
        uint64_t which = head ? weiri_little(head, 2) : 0,
                 bytes = head ? weiri_little(head + 8, 8) : 0;
        at += 16;
        if (which == 0 || bytes > size - at) {
            return false; /* the free rest, or damage */
        }
        if (which == wanted) {
            *ret_at = heap + at;
            *ret_bytes = bytes;
            return true;
        }
        at += (bytes + 7) & ~UINT64_C(7);
    }
    return false;
}

static weir_err take_text(weiri_hdf5_view *in,
                          const unsigned char *reference,
                          const char **ret_text,
                          bool *ret_good)
{
    uint64_t stated = weiri_little(reference, 4), heap = weiri_little(reference + 4, 8), at = 0,
             bytes = 0;
    uint64_t wanted = weiri_little(reference + 12, 4);
    *ret_good = true;
    if (stated == 0) {
        return weiri_reader_text(in->reader, "", 0, ret_text);
    }
    *ret_good =
        heap <= INT64_MAX && wanted > 0 && find_object(in, in->base + heap, wanted, &at, &bytes);
    bytes = bytes < stated ? bytes : stated;
    bytes = bytes < MOST_TEXT ? bytes : MOST_TEXT;
    const unsigned char *text = *ret_good ? see(in, at, (size_t)bytes) : NULL;
    if (text == NULL) {
        *ret_good = false;
        return WEIR_OK;
    }
    return weiri_reader_text(in->reader, (const char *)text,
                             strnlen((const char *)text, (size_t)bytes), ret_text);
}

const char *const *weiri_hdf5_texts(
    weiri_reader *reader, const hdf5_in *file, hid_t from, const char *attribute, uint64_t count)
{
    weiri_hdf5_view in;
    const char **texts = NULL;
    uint64_t at = 0, bytes = 0;
    bool good = weiri_mul(count, REFERENCE, &bytes);
    weiri_hdf5_view_begin(reader, file, &in);
    if (good && attribute) {
        good = weiri_hdf5_attribute_at(&in, from, attribute, &at);
    } else if (good) {
        at = H5Dget_offset(from);
        good = at <= INT64_MAX;
    }
    /* A list that the file does not even hold is not paid for. */
    good = good && bytes <= reader->input.size && at <= reader->input.size - bytes &&
           weiri_reader_get(reader, count, sizeof *texts, &texts) == WEIR_OK;
    for (uint64_t i = 0; good && i < count; i++) {
        unsigned char reference[REFERENCE];
        const unsigned char *seen = see(&in, at + i * REFERENCE, REFERENCE);
        good = seen != NULL;
        if (good) {
            memcpy(reference, seen, REFERENCE);
            good = take_text(&in, reference, &texts[i], &good) == WEIR_OK && good;
        }
    }
    return good ? texts : NULL;
}
#endif
