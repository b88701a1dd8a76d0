/* SPDX-License-Identifier: MIT
 *
 * kernel.h: arithmetic only: no state that outlives a call but what the caller passes, no shape logic.
 *
 * Each file of this room (but dispatch.c) is compiled once a SIMD level: WEIRI_K(name) is the function's
 * name there, and table.c of that level gathers them. One process uses one level, chosen once (S1);
 * WEIR_SIMD=avx512|avx2|baseline forces one. To add a kernel: a line in kernels.def, the function in one
 * file. Every kernel's values must not depend on how calls cut the frames, and the tail of a row must
 * do what the vector body does: elementwise operations only, explicit WEIRI_FMA, sums over time in order,
 * sums over channels in the fixed tree of WEIRI_LANES. The build forbids contraction.
 */
#ifndef WEIRI_KERNEL_H
#define WEIRI_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct weiri_kernels {
    const char *level;
    size_t lanes; /* of double in a vector */
#define X(ret, name, ...) ret (*name)(__VA_ARGS__);
#include "kernel/kernels.def"
#undef X
} weiri_kernels;

/* The table of the level chosen for this process. Never NULL. Any thread. */
const weiri_kernels *weiri_kernels_get(void);

/* Tables by number (0 = baseline) that this machine can run, NULL past the last: for tests of all levels. */
const weiri_kernels *weiri_kernels_at(size_t number);

#ifdef WEIRI_LEVEL /* inside a kernel file */
#define WEIRI_JOIN2(a, b) a##_##b
#define WEIRI_JOIN(a, b) WEIRI_JOIN2(a, b)
#define WEIRI_K(name) WEIRI_JOIN(weiri_k_##name, WEIRI_LEVEL)
#define X(ret, name, ...) ret WEIRI_K(name)(__VA_ARGS__);
#include "kernel/kernels.def"
#undef X

/* Partial sums over channels: lane j sums channels j, j + 16, ...; then halves are added, 16 -> 1. The
 * same at every level. */
#define WEIRI_LANES 16

/* a * b + c: one rounding where the level has the instruction, two where not. */
#ifdef __FMA__
#define WEIRI_FMA(a, b, c) __builtin_fma(a, b, c)
#define WEIRI_FMAF(a, b, c) __builtin_fmaf(a, b, c)
#else
#define WEIRI_FMA(a, b, c) ((a) * (b) + (c))
#define WEIRI_FMAF(a, b, c) ((a) * (b) + (c))
#endif

#if defined(__AVX512F__)
#define WEIRI_VECTOR 64
#elif defined(__AVX2__)
#define WEIRI_VECTOR 32
#else
#define WEIRI_VECTOR 16
#endif
#endif

#endif
