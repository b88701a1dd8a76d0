/* SPDX-License-Identifier: MIT
 *
 * protocol.h: the messages between the reader (child.c) and the program weir-hdf5 (helper/) over a
 * socket: the helper greets; each question has one answer, except ROWS, which is answered by blocks
 * until all rows are sent. Blocks are in shared memory with space for two: the first two are sent
 * at once, each further one after a NEXT, which releases the oldest. Both ends have the same
 * version and run on one machine: structs are sent as they are.
 */
#ifndef WEIRI_HDF5_PROTOCOL_H
#define WEIRI_HDF5_PROTOCOL_H

#include "recording/reader.h"

#define WEIRI_HDF5_GREETING "weir-hdf5 1 " WEIR_VERSION

/* What the helper may use before a dataset is known (M7): the kernel refuses more private memory
 * than DATA and more stack than STACK. TEXT is for code: pages of libraries that the reader's
 * process has not touched itself (libhdf5 is 3.5 MiB). Blocks and memory for chunks are charged
 * in addition. */
#define WEIRI_HDF5_DATA   (6144u * 1024u)
#define WEIRI_HDF5_STACK  (1024u * 1024u)
#define WEIRI_HDF5_TEXT   (4096u * 1024u)
#define WEIRI_HDF5_HELPER (WEIRI_HDF5_DATA + WEIRI_HDF5_STACK + WEIRI_HDF5_TEXT)

#define WEIRI_HDF5_BLOCKS     3             /* the helper's descriptor of the memory for blocks */
#define WEIRI_HDF5_ANSWER     (64u * 1024u) /* maximum size of an answer other than rows */
#define WEIRI_HDF5_PATH       1024u         /* maximum size of a name */
#define WEIRI_HDF5_TEXT_BYTES 4096u         /* longer texts are truncated */
#define WEIRI_HDF5_SHOWN      8             /* number of datasets listed */

typedef enum weiri_hdf5_verb {
    WEIRI_HDF5_LIST,    /* datasets of numbers -> LISTED */
    WEIRI_HDF5_DATASET, /* opens the dataset at place -> DESCRIBED */
    WEIRI_HDF5_VALUES, /* of the attribute `name` of the object at place; name empty: of the dataset there;
                           ".x": of its member x -> NUMBERS, TEXTS or NONE */
    WEIRI_HDF5_ROWS, /* of the opened dataset -> BLOCK, BLOCK, ... */
    WEIRI_HDF5_NEXT
} weiri_hdf5_verb;

typedef struct weiri_hdf5_question {
    uint32_t verb;
    uint32_t place_bytes, name_bytes; /* these texts follow */
    uint32_t coding;       /* ROWS: weiri_coding of the values in blocks, or of their parts */
    uint64_t first, count; /* values or rows */
    uint64_t block_rows;   /* ROWS: at most, per block */
    uint64_t memory_bytes; /* ROWS: granted in addition to DATA */
} weiri_hdf5_question;

typedef enum weiri_hdf5_kind {
    WEIRI_HDF5_GREETS,
    WEIRI_HDF5_FAILED, /* a text with the reason; err */
    WEIRI_HDF5_NONE,   /* does not exist, or is neither numbers nor texts */
    WEIRI_HDF5_LISTED,
    WEIRI_HDF5_DESCRIBED,
    WEIRI_HDF5_NUMBERS, /* doubles */
    WEIRI_HDF5_TEXTS,   /* each ended by a 0 */
    WEIRI_HDF5_BLOCK
} weiri_hdf5_kind;

typedef struct weiri_hdf5_answer {
    uint32_t kind, err;
    uint64_t count; /* of the values that follow, and their bytes; of rows in the block */
    uint64_t bytes;
    uint64_t total; /* of values in all */
} weiri_hdf5_answer;

typedef struct weiri_hdf5_listed {
    bool is_weirs;            /* a file that weir wrote */
    uint64_t found, not_open; /* datasets of numbers; objects that libhdf5 cannot open */
    char names[WEIRI_HDF5_SHOWN][80];
    char why[200]; /* the first of those that cannot be opened */
} weiri_hdf5_listed;

typedef struct weiri_hdf5_described {
    bool is_number, is_float, is_signed, is_complex;
    /* a complex value has two parts, described by the flags before */
    uint32_t value_bytes, part_bytes;
    uint32_t dims;
    uint64_t shape[WEIR_MAX_DIMS]; /* as stated */
    uint64_t rows;                 /* as far as they are in the file */
    uint64_t file_bytes;           /* as the file states; if more than its size, it is truncated */
    uint64_t memory_bytes;         /* needed to read it, in addition to DATA */
} weiri_hdf5_described;

#endif
