/* SPDX-License-Identifier: MIT
 *
 * read.h: what hdf5.c, values.c and about.c share about a dataset that is read.
 */
#ifndef WEIRI_HDF5_READ_H
#define WEIRI_HDF5_READ_H

#include "recording/hdf5/child.h"

typedef struct hdf5_in {
    weiri_hdf5_child child;
    weiri_hdf5_described data;
    uint64_t columns;            /* values of a frame */
    char group[WEIRI_HDF5_PATH]; /* that the dataset is in */
    unsigned char *answer;       /* buffer of WEIRI_HDF5_ANSWER bytes */
    /* Rows being received: */
    uint64_t blocks;           /* number received */
    uint64_t next, left, done; /* the next row; rows of its block left to deliver, and delivered */
} hdf5_in;

/* values.c: values of an attribute (its object, its name), a dataset (its path, "") or a member
 * of one (its path, ".member"). Values that cannot be read are reported by a notice; missing
 * ones are not. After the helper has crashed all are missing, and weiri_hdf5_child_take returns
 * the cause. */

/* Up to count values from first on, into in->answer; false: none. Texts end with a zero byte. */
bool weiri_hdf5_some(weiri_reader *reader,
                     hdf5_in *in,
                     const char *place,
                     const char *name,
                     uint64_t first,
                     uint64_t count,
                     weiri_hdf5_answer *ret_answer);
/* The only number there, finite. A text that is a number with a unit of that kind (or
 * WEIR_PLAIN) counts as one. */
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
/* The number of values. */
uint64_t weiri_hdf5_count(weiri_reader *reader, hdf5_in *in, const char *place, const char *name);

/* about.c: rate, labels, units, scale, segments and start time, unless the side file states
 * them. */
weir_err weiri_hdf5_about(weiri_reader *reader, hdf5_in *in);

#endif
