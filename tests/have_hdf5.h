/* SPDX-License-Identifier: MIT
 *
 * have_hdf5.h: libhdf5's own header where the machine has it, for tests that take it as the other side.
 */
#ifndef WEIR_TEST_HAVE_HDF5_H
#define WEIR_TEST_HAVE_HDF5_H

#include <stdlib.h>

/* The helper that reads, of this build: test programs do not lie beside it. */
static inline void use_hdf5_helper(void)
{
#ifdef WEIR_HDF5_PROGRAM
    setenv("WEIR_HDF5_READER", WEIR_HDF5_PROGRAM, 0);
#endif
    setenv("WEIR_HDF5_SECONDS", "2", 0); /* some damaged files keep libhdf5 going round */
}

#if defined(__has_include)
#if __has_include(<hdf5.h>)
#define H5_USE_110_API
#include <hdf5.h>
#define HAVE_HDF5 1
#endif
#endif

#endif
