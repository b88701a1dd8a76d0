/* SPDX-License-Identifier: MIT
 *
 * have_hdf5.h: libhdf5's own header where the machine has it, for tests that take it as the other side.
 */
#ifndef WEIR_TEST_HAVE_HDF5_H
#define WEIR_TEST_HAVE_HDF5_H

#if defined(__has_include)
#if __has_include(<hdf5.h>)
#define H5_USE_110_API
#include <hdf5.h>
#define HAVE_HDF5 1
#endif
#endif

#endif
