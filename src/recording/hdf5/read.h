/* SPDX-License-Identifier: MIT
 *
 * read.h: a dataset that is read, as hdf5.c, values.c and about.c share it.
 */
#ifndef WEIRI_HDF5_READ_H
#define WEIRI_HDF5_READ_H

#include "recording/hdf5/child.h"

typedef struct hdf5_in {
    weiri_hdf5_child child;
    weiri_hdf5_described data;
    uint64_t columns;            /* values of a frame */
    char group[WEIRI_HDF5_PATH]; /* that the dataset is in */
    unsigned char *answer;       /* room for WEIRI_HDF5_ANSWER */
    /* Rows on their way: */
    uint64_t blocks;           /* that have come */
    uint64_t next, left, done; /* the row that comes next; rows of its block to take, and taken */
} hdf5_in;

/* values.c: of an attribute (its object, its name), a dataset (its path, "") or a member of one (its path,
 * ".member"). What cannot be read is told by a notice; what is not there is not. Where the helper has died,
 * nothing is there, and weiri_hdf5_child_take says why. */

/* Up to count values from first on, into in->answer; false: none. Of a text kind each is ended by a 0. */
bool weiri_hdf5_some(weiri_reader *reader,
                     hdf5_in *in,
                     const char *place,
                     const char *name,
                     uint64_t first,
                     uint64_t count,
                     weiri_hdf5_answer *ret_answer);
/* The only number there, finite. A text that is a number with a unit of that kind (or WEIR_PLAIN) is one. */
bool weiri_hdf5_number(weiri_reader *reader,
                       hdf5_in *in,
                       const char *place,
                       const char *name,
                       weir_quantity kind,
                       double *ret_number);
/* All of them, exactly count; else NULL. */
const char *const *weiri_hdf5_texts(
    weiri_reader *reader, hdf5_in *in, const char *place, const char *name, uint64_t count);
const double *weiri_hdf5_numbers(
    weiri_reader *reader, hdf5_in *in, const char *place, const char *name, uint64_t count);
/* How many there are. */
uint64_t weiri_hdf5_count(weiri_reader *reader, hdf5_in *in, const char *place, const char *name);

/* about.c: rate, labels, units, scale, segments and start time, as far as the side file has not said them. */
weir_err weiri_hdf5_about(weiri_reader *reader, hdf5_in *in);

#endif
