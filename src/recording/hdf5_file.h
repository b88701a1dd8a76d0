/* SPDX-License-Identifier: MIT
 *
 * hdf5_file.h: what reading and writing of HDF5 share. libhdf5 sees bytes through our descriptor only; its
 * calls are made by one thread at a time, and never print.
 */
#ifndef WEIRI_HDF5_FILE_H
#define WEIRI_HDF5_FILE_H

#include "recording/writer.h"

#ifdef WEIRI_HDF5
#define H5_USE_110_API
#include <hdf5.h>

/* libhdf5's own, of one file with a metadata cache of METADATA bytes and without a chunk cache, its code and
 * tables that are touched included (M7): measured as growth of the resident set, 4.2 to 4.5 MiB
 * (tests/cli/hdf5_memory.sh). Caches and buffers of chunks are declared beside it. */
#define WEIRI_HDF5_BYTES    (4608u * 1024u)
#define WEIRI_HDF5_METADATA (512u * 1024u)

/* A file that libhdf5 reads or writes. */
typedef struct weiri_hdf5 {
    H5FD_t driver; /* first: libhdf5 sees this */
    haddr_t end;   /* of what it has given out */
    weiri_input *input;
    int fd; /* to write; -1 = reading */
    const char *name;
    bool dead;     /* an error was met: nothing more is written, and closing succeeds */
    bool past_end; /* a read went beyond the file's end */
    weir_err err;  /* of our own reads and writes */
    char why[300];
    hid_t file;
    /* Between enter and leave: */
    H5E_auto2_t printer;
    void *printer_data;
} weiri_hdf5;

/* Around every use of libhdf5. */
void weiri_hdf5_enter(weiri_hdf5 *h);
void weiri_hdf5_leave(weiri_hdf5 *h);

/* Opens (fd -1) or creates, inside enter and leave. */
weir_err weiri_hdf5_open(weiri_hdf5 *h);
/* What libhdf5 says went wrong, or our own error behind it. */
weir_err weiri_hdf5_fail(weiri_hdf5 *h, weir_err err, const char *what);
/* Sees to it that so many bytes behind the end can be written: then a flush cannot meet a full disk. */
weir_err weiri_hdf5_reserve(weiri_hdf5 *h, uint64_t bytes);

extern const weiri_encoding weiri_hdf5_encoding;
weir_err weiri_hdf5_holds(const weir_spec *spec, bool to_pipe);
#endif

#endif
