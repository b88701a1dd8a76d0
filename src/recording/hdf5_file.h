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

/* hdf5_order.c: writes of a flush that are held back. */
#define WEIRI_HDF5_HELD       64
#define WEIRI_HDF5_HELD_BYTES (64u * 1024u)
typedef struct weiri_hdf5_held {
    haddr_t at;
    size_t bytes, from; /* from: within bytes of the order */
    int rank;
} weiri_hdf5_held;

typedef struct weiri_hdf5_order {
    bool holding;
    bool
        durable; /* with checkpoints: held back until the checkpoint that has it is durable, and always */
    size_t count, used;
    weiri_hdf5_held list[WEIRI_HDF5_HELD];
    unsigned char bytes[WEIRI_HDF5_HELD_BYTES];
} weiri_hdf5_order;

/* hdf5_block.c: heaps of names whose names lie apart from them, as far as they are remembered. */
#define WEIRI_HDF5_HEAPS 512
typedef struct weiri_hdf5_heaps {
    size_t count; /* of all that were met */
    struct {
        haddr_t at, names;
    } list[WEIRI_HDF5_HEAPS];
} weiri_hdf5_heaps;

/* A file that libhdf5 reads or writes. */
typedef struct weiri_hdf5 {
    H5FD_t driver; /* first: libhdf5 sees this */
    haddr_t end;   /* of what it has given out */
    weiri_input *input;
    int fd; /* to write; -1 = reading */
    const char *name;
    weiri_hdf5_order *order; /* of who writes; else NULL */
    bool goes_on;            /* the file that is written is there already */
    bool dead;               /* an error was met: nothing more is written, and closing succeeds */
    /* Of the dataset that is read, once it is known; 0 = not in chunks. */
    uint32_t chunk_dims;
    uint64_t chunk_bytes, chunk[WEIR_MAX_DIMS];
    bool chunk_packed;  /* by a filter that changes their size */
    bool past_end;      /* a read went beyond the file's end */
    haddr_t refused_at; /* the last read that was refused: where, how much, and of it found */
    size_t refused_bytes, refused_found;
    haddr_t base;            /* of addresses in the file */
    weiri_hdf5_heaps *heaps; /* of who reads */
    bool refused;            /* a block that was read is damaged: `why` says how */
    weir_err err;            /* of our own reads and writes */
    char why[300];           /* of either */
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

/* Writes, unless an error was met before: then nothing. WEIR_E_IO. */
weir_err weiri_hdf5_put(weiri_hdf5 *h, haddr_t at, const void *from, size_t bytes);

/* Whether libhdf5 can be given what it reads there; false: `refused`, and `why`. */
bool weiri_hdf5_block_fits(weiri_hdf5 *h, haddr_t at, const unsigned char *from, size_t bytes);

/* Holds a write back; false: it is to be written at once, as it is of a new block or there is no room. */
bool weiri_hdf5_hold(weiri_hdf5 *h, H5FD_mem_t type, haddr_t at, size_t bytes, const void *from);
/* What is held back, laid over what was read. */
void weiri_hdf5_overlay(const weiri_hdf5 *h, haddr_t at, size_t bytes, void *to);
/* Writes what was held back, in its order. WEIR_E_IO. */
weir_err weiri_hdf5_release(weiri_hdf5 *h);

extern const weiri_encoding weiri_hdf5_encoding;
weir_err weiri_hdf5_holds(const weir_spec *spec, bool to_pipe);
#endif

#endif
