/* SPDX-License-Identifier: MIT
 *
 * hdf5_read.h: a dataset that is read, as hdf5.c, hdf5_about.c and hdf5_text.c share it.
 */
#ifndef WEIRI_HDF5_READ_H
#define WEIRI_HDF5_READ_H

#include "recording/hdf5_file.h"

#ifdef WEIRI_HDF5
typedef struct hdf5_in {
    weiri_hdf5 h;
    hid_t data, space, transfer, type; /* type: of values in memory */
    uint32_t dims;
    hsize_t shape[WEIR_MAX_DIMS], chunk[WEIR_MAX_DIMS];
    uint64_t columns, frames;
    size_t stored_bytes;                       /* of a value in the file */
    uint64_t chunk_bytes, across, cache_bytes; /* 0: not in chunks */
    bool filtered;
    unsigned char *convert;
} hdf5_in;

/* hdf5_layout.c: layout and size of chunks; then how many frames are there; then, when nothing else is read any
 * more, the file opened again with a cache of that size. WEIR_E_RECORDING, WEIR_E_USAGE, WEIR_E_LIMIT. */
weir_err weiri_hdf5_layout(weiri_reader *reader, hdf5_in *in);
void weiri_hdf5_end(weiri_reader *reader, hdf5_in *in);
weir_err weiri_hdf5_cache(weiri_reader *reader, hdf5_in *in);

/* Rate, labels, units, scale, segments and start time, as far as the side file has not said them. */
weir_err weiri_hdf5_about(weiri_reader *reader, hdf5_in *in);

/* Whether what a small dataset beside it states can be read as it lies: libhdf5 copies as many bytes as the
 * shape says, however few the header or a chunk holds, and unpacks whatever is stated. */
bool weiri_hdf5_plain(hid_t data);

/* ---- hdf5_header.c: the file's own bytes, looked at before libhdf5 sees them ------------------------------ */

#define WEIRI_HDF5_VIEW (64u * 1024u) /* as long as the longest message of a header */

typedef struct weiri_hdf5_view {
    weiri_reader *reader;
    uint64_t base, at; /* of addresses in the file; of the window */
    uint64_t message;  /* the last that was looked at */
    size_t filled;
    bool ended;     /* something was looked for behind the file's end */
    uint64_t steps; /* hdf5_text.c's */
    unsigned char *window;
} weiri_hdf5_view;

void weiri_hdf5_view_begin(weiri_reader *reader, const hdf5_in *file, weiri_hdf5_view *ret_view);
/* Bytes of the file, or NULL where it ends before. Lent until the next call. */
const unsigned char *weiri_hdf5_see(weiri_hdf5_view *in, uint64_t at, size_t bytes);
/* Where the file's addresses count from, and the root's header, before libhdf5 opens the file and with it the
 * root. WEIR_E_USAGE: addresses or lengths of other than 8 bytes; WEIR_E_RECORDING: damaged. */
weir_err weiri_hdf5_root(weiri_reader *reader, hdf5_in *file);
/* The header of an object (name NULL: `from` itself) before libhdf5 opens it, and of types that it takes from
 * elsewhere. WEIR_E_RECORDING: damaged, or not there; WEIR_E_USAGE: in another file. */
weir_err weiri_hdf5_object(weiri_reader *reader, const hdf5_in *file, hid_t from, const char *name);
/* hdf5_path.c. The same of each group on the way to it from the root, then of it. */
weir_err weiri_hdf5_path(weiri_reader *reader, const hdf5_in *file, const char *name);
/* The same from the object `from` on, of what is not needed: with a notice. */
bool weiri_hdf5_sound(weiri_reader *reader, const hdf5_in *file, hid_t from, const char *name);
/* Where the values of an attribute lie; false: not within the object's header, or damaged. */
bool weiri_hdf5_attribute_at(weiri_hdf5_view *in, hid_t object, const char *name, uint64_t *ret_at);

/* Texts of varying length (hdf5_text.c): of an attribute of the object `from`, or of the dataset `from`
 * itself (attribute NULL). NULL: not there, not plain, damaged, no memory. */
const char *const *weiri_hdf5_texts(
    weiri_reader *reader, const hdf5_in *file, hid_t from, const char *attribute, uint64_t count);
#endif

#endif
