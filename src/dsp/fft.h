/* SPDX-License-Identifier: MIT
 *
 * fft.h: the discrete Fourier transform X[k] = sum of x[j] exp(-2 pi i j k / n) of columns, in float64, for any length:
 * constants computed once, stated bytes, no allocation. The arithmetic is kernel/fft.c's.
 */
#ifndef WEIRI_FFT_H
#define WEIRI_FFT_H

#include "kernel/kernel.h"

#define WEIRI_FFT_MOST ((uint64_t)1 << 30) /* points */

/* Bytes of the constants for n points, 1..WEIRI_FFT_MOST, of real or complex values. */
uint64_t weiri_fft_bytes(uint64_t n, bool real);

/* Writes them; they hold no pointers. The memory is zeroed, 64-byte aligned. */
void weiri_fft_prepare(uint64_t n, bool real, weiri_fft *fft);

/* Bytes of the memory that one call of the kernel works in: the points of as many columns as a vector has lanes. */
uint64_t weiri_fft_work_bytes(uint64_t n, bool real);

/* Kind of the input for the kernel. */
static inline int weiri_fft_kind(const weiri_fft *fft, bool real)
{
    return fft->pairs ? WEIRI_FFT_PAIRS : real ? WEIRI_FFT_REAL : WEIRI_FFT_COMPLEX;
}

#endif
