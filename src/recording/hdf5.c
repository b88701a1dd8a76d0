/* SPDX-License-Identifier: MIT
 *
 * hdf5.c: datasets of HDF5 files.
 */
#include "recording/reader.h"

const weiri_format_ops weiri_format_hdf5 = {
    .ops_size = sizeof(weiri_format_ops),
    .info = {.name = "hdf5",
             .summary = "HDF5; not in this build (WEIR_HDF5)",
             .extensions = ".h5 .hdf5"},
    .not_built = "HDF5 (libhdf5, WEIR_HDF5)",
};
