/* SPDX-License-Identifier: MIT
 *
 * have_hdf5.h: libhdf5's own header if the machine has it, for tests that compare with it.
 */
#ifndef WEIR_TEST_HAVE_HDF5_H
#define WEIR_TEST_HAVE_HDF5_H

#include <stdlib.h>

/* The helper of this build: test programs are in another folder. */
static inline void use_hdf5_helper(void)
{
#ifdef WEIR_HDF5_PROGRAM
    setenv("WEIR_HDF5_READER", WEIR_HDF5_PROGRAM, 0);
#endif
    setenv("WEIR_HDF5_SECONDS", "2", 0); /* libhdf5 loops on some damaged files */
}

#if defined(__has_include)
#if __has_include(<hdf5.h>)
#define H5_USE_110_API
#include <hdf5.h>
#define HAVE_HDF5 1
#endif
#endif

#endif
