/* SPDX-License-Identifier: MIT
 *
 * kernel.h: arithmetic only: no state that outlives a call but what the caller passes, no shape
 * logic.
 *
 * Each file of this room (but dispatch.c) is compiled once a SIMD level: WEIRI_K(name) is the
 * function's name there, and table.c of that level gathers them. One process uses one level,
 * chosen once (S1); WEIR_SIMD=avx512|avx2|baseline forces one. To add a kernel: a line in
 * kernels.def, the function in one file. Every kernel's values must not depend on how calls cut
 * the frames, and the tail of a row must do what the vector body does: elementwise operations
 * only, explicit WEIRI_FMA, sums over time in order, sums over channels in the fixed tree of
 * reference.c. The build forbids contraction.
 */
#ifndef WEIRI_KERNEL_H
#define WEIRI_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Columns that a recurrence over time works on at once, at every level. */
#define WEIRI_BLOCK 16

/* Parameters of a recurrence: what a unit makes once from its settings. */
#define WEIRI_SOS_MAX 32 /* sections */
typedef enum weiri_sos_kind {
    WEIRI_SOS_GENERAL, /* numerators (1, b1, b2) */
    WEIRI_SOS_CIRCLE,  /* (1, b1, 1) */
    WEIRI_SOS_BAND,    /* (1, 0, -1) */
    WEIRI_SOS_DELTA /* of d = z - 1 instead of z: d^2 + b1 d + b2 over d^2 + a1 d + a2. For poles near 1, whose
                          distance from it is lost where 2 and 1 are part of a1 and a2 */
} weiri_sos_kind;
typedef struct weiri_sos_params {
    int kind;
    size_t sections; /* 1..WEIRI_SOS_MAX; state words: s1, s2 of each */
    double gain;     /* before the last section: the others' numerators start with 1 */
    double coefs[WEIRI_SOS_MAX][4]; /* b1, b2, -a1, -a2; kernels read `sections` of them */
} weiri_sos_params;
/* State words: weight, mean and, to standardize, variance. */
typedef struct weiri_ewma_params {
    double alpha;
    double beta; /* 1 - alpha */
} weiri_ewma_params;

/* Adaptive lattice notch. State words: s one and two frames before, p, q and the reflection coefficient minus its
 * initial value. */
typedef struct weiri_lattice_params {
    double initial; /* reflection coefficient */
    double gamma, eta, mu;
    double hz; /* of an angle of 1 rad a frame, for the unit */
} weiri_lattice_params;

/* round((x clamped to low..high - low) / range * span + least), to nearest even. */
typedef struct weiri_levels {
    double low, high, range;
    double span, least;
} weiri_levels;

/* What is subtracted from a row: (x - less) * gain; of the medians of the other values there are three: below
 * for x < pivot, less for x = pivot, above for x > pivot, and no gain. */
typedef struct weiri_shift {
    double less, gain;
    double pivot, below, above;
    bool clean; /* nothing is missing in the row, and less is for all of it */
    bool split; /* nothing is missing in the row, and there are three */
} weiri_shift;

/* Some outputs of a matrix, at most WEIRI_PANEL_BYTES of a row, and the inputs that they use, ascending. */
#define WEIRI_PANEL_BYTES 128
typedef struct weiri_panel {
    const uint32_t *inputs, *outputs; /* their numbers: input_count, width */
    size_t input_count, width;
    bool adjacent;       /* outputs are one after the other */
    const void *weights; /* of the samples' type, [1 + input_count x WEIRI_PANEL_BYTES]: offsets first */
} weiri_panel;

/* A recurrence of kernels.def, as src/scan runs it. */
#define WEIRI_RECURRENCE                                                                           \
    const void *params, double *state, const void *in, size_t in_stride, void *out,                \
        size_t out_stride, size_t frames, const void *ahead
typedef void weiri_recurrence_fn(WEIRI_RECURRENCE);

typedef struct weiri_kernels {
    const char *level;
    size_t lanes; /* of double in a vector */
#define X(ret, name, ...) ret (*name)(__VA_ARGS__);
#include "kernel/kernels.def"
#undef X
} weiri_kernels;

/* The table of the level chosen for this process. Never NULL. Any thread. */
const weiri_kernels *weiri_kernels_get(void);

/* Tables by number (0 = baseline) that this machine can run, NULL past the last: for tests of all
 * levels. */
const weiri_kernels *weiri_kernels_at(size_t number);

#ifdef WEIRI_LEVEL /* inside a kernel file */
#define WEIRI_JOIN2(a, b) a##_##b
#define WEIRI_JOIN(a, b)  WEIRI_JOIN2(a, b)
#define WEIRI_K(name)     WEIRI_JOIN(weiri_k_##name, WEIRI_LEVEL)
#define X(ret, name, ...) ret WEIRI_K(name)(__VA_ARGS__);
#include "kernel/kernels.def"
#undef X

/* Partial results over many values (but sums over channels: reference.c): lane j takes values j,
 * j + 16, ...; then halves are joined, 16 -> 1. The same at every level. */
#define WEIRI_LANES 16

/* Before a loop whose iterations do not depend on each other, though out may be in: without it the
 * compiler's test for overlap sends work in place to a scalar loop. */
#if defined(__clang__)
#define WEIRI_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define WEIRI_INDEPENDENT _Pragma("GCC ivdep")
#else
#define WEIRI_INDEPENDENT
#endif

/* Before short loops whose own instructions would be half of them. */
#if defined(__GNUC__) && !defined(__clang__)
#define WEIRI_UNROLL _Pragma("GCC unroll 4")
#else
#define WEIRI_UNROLL
#endif

/* a * b + c: one rounding where the level has the instruction, two where not. */
#ifdef __FMA__
#define WEIRI_FMA(a, b, c)  __builtin_fma(a, b, c)
#define WEIRI_FMAF(a, b, c) __builtin_fmaf(a, b, c)
#else
#define WEIRI_FMA(a, b, c)  ((a) * (b) + (c))
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
