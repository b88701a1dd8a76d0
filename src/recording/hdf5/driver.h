/* SPDX-License-Identifier: MIT
 *
 * driver.h: libhdf5 on our own descriptor, shared by the helper that reads (helper/) and the
 * writer.
 */
#ifndef WEIRI_HDF5_DRIVER_H
#define WEIRI_HDF5_DRIVER_H

#include "recording/writer.h"

#ifdef WEIRI_HDF5
#define H5_USE_110_API
#include <hdf5.h>

/* libhdf5's own memory for one output file: metadata cache, code and tables touched (M7),
 * measured as growth of the resident set, 4.2 to 4.5 MiB (tests/cli/hdf5_memory.sh). */
#define WEIRI_HDF5_BYTES    (4608u * 1024u)
#define WEIRI_HDF5_METADATA (512u * 1024u)

/* order.c: delayed writes of a flush. */
#define WEIRI_HDF5_HELD       64
#define WEIRI_HDF5_HELD_BYTES (64u * 1024u)
typedef struct weiri_hdf5_held {
    haddr_t at;
    size_t bytes, from; /* from: within bytes of the order */
    int rank;
} weiri_hdf5_held;

typedef struct weiri_hdf5_order {
    bool holding;
    bool durable; /* with checkpoints: delayed until the checkpoint that contains it is durable */
    size_t count, used;
    weiri_hdf5_held list[WEIRI_HDF5_HELD];
    unsigned char bytes[WEIRI_HDF5_HELD_BYTES];
} weiri_hdf5_order;

/* A file for libhdf5, to read or to write. */
typedef struct weiri_hdf5 {
    H5FD_t driver; /* must be first: libhdf5 uses this */
    haddr_t end; /* the file's length according to libhdf5: when reading, what its header states */
    int fd;
    bool reading;
    uint64_t size; /* reading: bytes present */
    const char *name;
    weiri_hdf5_order *order; /* of the writer; else NULL */
    bool goes_on;            /* writing: the file exists already */
    bool dead;               /* writing failed: nothing more is written, and closing succeeds */
    bool past_end;           /* a read went beyond the file's end */
    /* the last read that found too few bytes: offset, bytes requested, bytes found */
    haddr_t short_at;
    size_t short_bytes, short_found;
    weir_err err; /* of our own reads and writes, with its text */
    char why[300];
    hid_t file;
    /* Between enter and leave: */
    H5E_auto2_t printer;
    void *printer_data;
} weiri_hdf5;

/* Around every use of libhdf5. */
void weiri_hdf5_enter(weiri_hdf5 *h);
void weiri_hdf5_leave(weiri_hdf5 *h);

/* Opens (reading) or creates, inside enter and leave. */
weir_err weiri_hdf5_open(weiri_hdf5 *h);
/* The error that `what` failed, with libhdf5's own cause, or with our driver's. */
weir_err weiri_hdf5_fail(weiri_hdf5 *h, weir_err err, const char *what);
/* Allocates the next bytes of the file on disk, so that a flush cannot meet a full disk. */
weir_err weiri_hdf5_reserve(weiri_hdf5 *h, uint64_t bytes);

/* Complex values as in h5py: a compound of two floats, r and i. The type for parts of that type;
 * and the type of the parts, opened, of such a compound, else H5I_INVALID_HID. */
hid_t weiri_hdf5_complex(hid_t part);
hid_t weiri_hdf5_part(hid_t type);

/* Writes, unless there was an error before: then nothing. WEIR_E_IO. */
weir_err weiri_hdf5_put(weiri_hdf5 *h, haddr_t at, const void *from, size_t bytes);

/* Delays a write; false: it must be written at once (a new block, or the list is full). */
bool weiri_hdf5_hold(weiri_hdf5 *h, H5FD_mem_t type, haddr_t at, size_t bytes, const void *from);
/* Copies delayed writes over what was read. */
void weiri_hdf5_overlay(const weiri_hdf5 *h, haddr_t at, size_t bytes, void *to);
/* Writes the delayed blocks, in their order. WEIR_E_IO. */
weir_err weiri_hdf5_release(weiri_hdf5 *h);

extern const weiri_encoding weiri_hdf5_encoding;
weir_err weiri_hdf5_holds(const weir_spec *spec, bool to_pipe);
#endif

#endif
