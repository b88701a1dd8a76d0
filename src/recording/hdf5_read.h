/* SPDX-License-Identifier: MIT
 *
 * hdf5_read.h: a dataset that is read, as hdf5.c and hdf5_about.c share it.
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

/* Rate, labels, units, scale, segments and start time, as far as the side file has not said them. */
weir_err weiri_hdf5_about(weiri_reader *reader, hdf5_in *in);
#endif

#endif
