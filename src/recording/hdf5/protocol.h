/* SPDX-License-Identifier: MIT
 *
 * protocol.h: what the reader (child.c) and the program weir-hdf5 (helper/) say to each other over a socket: the
 * helper greets; each question is answered by one answer, but for ROWS, which is answered by blocks until all rows
 * are sent. Blocks are in shared memory with room for two: the first two come by themselves, each further one for a
 * NEXT, which says that the oldest is done with. Both ends are of one version, on one machine: structs go as they
 * are.
 */
#ifndef WEIRI_HDF5_PROTOCOL_H
#define WEIRI_HDF5_PROTOCOL_H

#include "recording/reader.h"

#define WEIRI_HDF5_GREETING "weir-hdf5 1 " WEIR_VERSION

/* What the helper may occupy before a dataset is known (M7): the kernel refuses more private memory than DATA
 * and more stack than STACK. TEXT stands for code: pages of libraries that the reader's process has not touched
 * itself (libhdf5 is 3.5 MiB). Blocks and what chunks need are charged in addition. */
#define WEIRI_HDF5_DATA   (6144u * 1024u)
#define WEIRI_HDF5_STACK  (1024u * 1024u)
#define WEIRI_HDF5_TEXT   (4096u * 1024u)
#define WEIRI_HDF5_HELPER (WEIRI_HDF5_DATA + WEIRI_HDF5_STACK + WEIRI_HDF5_TEXT)

#define WEIRI_HDF5_BLOCKS     3             /* the helper's descriptor of the memory for blocks */
#define WEIRI_HDF5_ANSWER     (64u * 1024u) /* most bytes of an answer that is not rows */
#define WEIRI_HDF5_PATH       1024u         /* most bytes of a name */
#define WEIRI_HDF5_TEXT_BYTES 4096u         /* longer texts are cut */
#define WEIRI_HDF5_SHOWN      8             /* datasets that are named */

typedef enum weiri_hdf5_verb {
    WEIRI_HDF5_LIST,    /* datasets of numbers -> LISTED */
    WEIRI_HDF5_DATASET, /* opens the dataset at place -> DESCRIBED */
    WEIRI_HDF5_VALUES, /* of the attribute `name` of the object at place; name empty: of the dataset there;
                           ".x": of its member x -> NUMBERS, TEXTS or NONE */
    WEIRI_HDF5_ROWS, /* of the dataset that was opened -> BLOCK, BLOCK, ... */
    WEIRI_HDF5_NEXT
} weiri_hdf5_verb;

typedef struct weiri_hdf5_question {
    uint32_t verb;
    uint32_t place_bytes, name_bytes; /* these texts follow */
    uint32_t coding;                  /* ROWS: weiri_coding of the values in blocks, or of their parts */
    uint64_t first, count;            /* values or rows */
    uint64_t block_rows;              /* ROWS: of one block, at most */
    uint64_t memory_bytes;            /* ROWS: granted in addition to DATA */
} weiri_hdf5_question;

typedef enum weiri_hdf5_kind {
    WEIRI_HDF5_GREETS,
    WEIRI_HDF5_FAILED, /* a text: why; err */
    WEIRI_HDF5_NONE,   /* is not there, or holds neither numbers nor texts */
    WEIRI_HDF5_LISTED,
    WEIRI_HDF5_DESCRIBED,
    WEIRI_HDF5_NUMBERS, /* doubles */
    WEIRI_HDF5_TEXTS,   /* each ended by a 0 */
    WEIRI_HDF5_BLOCK
} weiri_hdf5_kind;

typedef struct weiri_hdf5_answer {
    uint32_t kind, err;
    uint64_t count; /* of values that follow, in so many bytes; of rows in the block */
    uint64_t bytes;
    uint64_t total; /* of values that there are */
} weiri_hdf5_answer;

typedef struct weiri_hdf5_listed {
    bool is_weirs;            /* a file that weir wrote */
    uint64_t found, not_open; /* datasets of numbers; objects that libhdf5 cannot open */
    char names[WEIRI_HDF5_SHOWN][80];
    char why[200]; /* the first of those cannot be opened */
} weiri_hdf5_listed;

typedef struct weiri_hdf5_described {
    bool is_number, is_float, is_signed, is_complex;
    uint32_t value_bytes, part_bytes; /* a complex value has two parts, to which the flags before refer */
    uint32_t dims;
    uint64_t shape[WEIR_MAX_DIMS]; /* as stated */
    uint64_t rows;                 /* as far as they are in the file */
    uint64_t file_bytes;           /* as the file states; more than its size: it is cut short */
    uint64_t memory_bytes;         /* needed to read it, in addition to DATA */
} weiri_hdf5_described;

#endif
