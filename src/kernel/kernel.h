/* SPDX-License-Identifier: MIT
 *
 * kernel.h: arithmetic only: no state between calls except what the caller passes, no handling of
 * shapes.
 *
 * Each file of this module (except dispatch.c) is compiled once per SIMD level: WEIRI_K(name) is
 * the function's name there, and table.c of that level collects them. A process uses one level,
 * chosen once (S1); WEIR_SIMD=avx512|avx2|baseline forces one. To add a kernel: a line in
 * kernels.def and the function in one file. The values of a kernel must not depend on how frames
 * are divided into calls, and the tail of a row must be computed like the vector body: elementwise
 * operations only, explicit WEIRI_FMA, sums over time in order, sums over channels in the fixed
 * tree of reference.c. The build forbids contraction.
 */
#ifndef WEIRI_KERNEL_H
#define WEIRI_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Number of columns that a recurrence over time processes at once, at every level. */
#define WEIRI_BLOCK 16

/* Parameters of a recurrence, computed once by a unit from its settings. */
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
/* Zeros on either side of the taps that fir.c reads. */
#define WEIRI_FIR_PAD 7
/* State words: weight, mean and, for standardizing, variance. */
typedef struct weiri_ewma_params {
    double alpha;
    double beta; /* 1 - alpha */
} weiri_ewma_params;

/* Adaptive lattice notch. State words: s one and two frames before, p, q and the reflection coefficient minus its
 * initial value. */
typedef struct weiri_lattice_params {
    double initial; /* reflection coefficient */
    double gamma, eta, mu;
    double hz; /* of an angle of 1 rad per frame, for the unit */
} weiri_lattice_params;

/* round((x clamped to low..high - low) / range * span + least), to nearest even. */
typedef struct weiri_levels {
    double low, high, range;
    double span, least;
} weiri_levels;

/* One frame of a rolling window, the same for all columns of a call. */
typedef struct weiri_roll {
    double count;      /* samples in the window */
    double clip;       /* largest magnitude of the output */
    bool ready;        /* deviations are output; else the input */
    bool full, update; /* the oldest sample leaves the window; this one enters it */
} weiri_roll;

/* What is subtracted from a row: (x - less) * gain. For the medians of the other values there
 * are three: below for x < pivot, less for x = pivot, above for x > pivot, without gain. */
typedef struct weiri_shift {
    double less, gain;
    double pivot, below, above;
    bool clean; /* no value of the row is missing, and less applies to all of it */
    bool split; /* no value of the row is missing, and there are three */
} weiri_shift;

/* Some outputs of a matrix, at most WEIRI_PANEL_BYTES of a row, and the inputs that they use, ascending. */
#define WEIRI_PANEL_BYTES 128
typedef struct weiri_panel {
    const uint32_t *inputs, *outputs; /* their numbers: input_count, width */
    size_t input_count, width;
    bool adjacent; /* outputs are one after the other */
    const void
        *weights; /* of the samples' type, [1 + input_count x WEIRI_PANEL_BYTES]: offsets first */
} weiri_panel;

/* Rows of dots.c are filled up with zeros to a multiple of it. */
#define WEIRI_DOTS 8

/* The Fourier transform (fft.c); dsp/fft.c makes all of it. */
#define WEIRI_FFT_PRIME  43 /* greatest prime factor of the passes; greater ones: by a chirp */
#define WEIRI_FFT_PASSES 64
typedef struct weiri_fft_pass {
    uint64_t radix;
    uint64_t points;      /* of each of the transforms that it joins */
    uint64_t twiddles_at; /* [points x (radix - 1)], complex */
    uint64_t roots_at;    /* [radix], of unity; of a prime without its own butterfly */
} weiri_fft_pass;
typedef struct weiri_fft {
    uint64_t n;      /* of the series */
    uint64_t points; /* of the complex transform: n, or n / 2 pairs of real values */
    uint64_t length; /* of the passes: points, or those of the chirp's convolution */
    bool pairs, chirp;
    uint64_t pass_count;
    weiri_fft_pass passes[WEIRI_FFT_PASSES]; /* [0] comes last */
    uint64_t turns_at;                       /* of pairs: [points / 2 + 1] */
    uint64_t chirp_at;                       /* [points] */
    uint64_t spectrum_at;                    /* [length], of the conjugate chirp, / length */
    double table[];
} weiri_fft;
/* PAIRS, REAL: real values, COMPLEX: complex ones; value i of the lanes is at i * stride. POINTS: as fft writes them. */
enum { WEIRI_FFT_PAIRS, WEIRI_FFT_REAL, WEIRI_FFT_COMPLEX, WEIRI_FFT_POINTS };
typedef struct weiri_fft_input {
    const void *data;
    uint64_t stride;       /* in values */
    const uint64_t *apart; /* [lanes] where each lane begins, in values; NULL: adjacent */
    uint64_t count;        /* of values; the rest of n is 0 */
    const double *weights; /* [count] */
    int kind;
    bool f32;
} weiri_fft_input;
enum { WEIRI_FFT_POWER, WEIRI_FFT_AS_COMPLEX, WEIRI_FFT_AS_REAL, WEIRI_FFT_AS_IMAG };
typedef struct weiri_fft_output {
    void *data;
    uint64_t stride;       /* in values */
    const uint64_t *apart; /* [lanes], as of the input */
    uint64_t lanes;        /* that are written, where they are apart */
    uint64_t first, count; /* points, from 0 on again after n - 1 */
    uint64_t n;
    double factor; /* of POWER */
    int what;
    bool f32;
    bool mirrored; /* points after n / 2 are conjugates of those before */
} weiri_fft_output;

/* A recurrence of kernels.def, as src/scan calls it. */
#define WEIRI_RECURRENCE                                                                           \
    const void *params, double *state, const void *in, ptrdiff_t in_stride, void *out,             \
        ptrdiff_t out_stride, size_t frames, const void *ahead
typedef void weiri_recurrence_fn(WEIRI_RECURRENCE);

typedef struct weiri_kernels {
    const char *level;
    size_t lanes; /* number of doubles in a vector */
#define X(ret, name, ...) ret (*name)(__VA_ARGS__);
#include "kernel/kernels.def"
#undef X
} weiri_kernels;

/* The table of the level chosen for this process. Never NULL. Any thread. */
const weiri_kernels *weiri_kernels_get(void);

/* Tables by number (0 = baseline) that this machine supports, NULL after the last: for tests of
 * all levels. */
const weiri_kernels *weiri_kernels_at(size_t number);

#ifdef WEIRI_LEVEL /* inside a kernel file */
#define WEIRI_JOIN2(a, b) a##_##b
#define WEIRI_JOIN(a, b)  WEIRI_JOIN2(a, b)
#define WEIRI_K(name)     WEIRI_JOIN(weiri_k_##name, WEIRI_LEVEL)
#define X(ret, name, ...) ret WEIRI_K(name)(__VA_ARGS__);
#include "kernel/kernels.def"
#undef X

/* Partial results over many values (for sums over channels see reference.c): lane j processes
 * values j, j + 16, ...; then halves are joined, 16 -> 1. The same at every level. */
#define WEIRI_LANES 16

/* Before a loop with independent iterations whose out may be in: without it the compiler's test
 * for overlap would choose a scalar loop when working in place. */
#if defined(__clang__)
#define WEIRI_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define WEIRI_INDEPENDENT _Pragma("GCC ivdep")
#else
#define WEIRI_INDEPENDENT
#endif

/* Unroll: for loops so short that loop overhead would be half the work. */
#if defined(__GNUC__) && !defined(__clang__)
#define WEIRI_UNROLL _Pragma("GCC unroll 4")
#else
#define WEIRI_UNROLL
#endif

/* a * b + c: one rounding if the level has the instruction, else two. */
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
