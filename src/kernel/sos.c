/* SPDX-License-Identifier: MIT
 *
 * sos.c: second-order sections over time, for a block of WEIRI_BLOCK columns at once, each column
 * in float64 and on its own. src/scan handles missing samples and first frames.
 *
 * Transposed direct form II with the overall gain before the last section, so that every numerator starts
 * with 1:
 *     y = x + s1;  s1 = b1 x - a1 y + s2;  s2 = b2 x - a2 y
 * is 5 operations. Near z = 1, for edges far below the rate, a1 and a2 are near -2 and 1 and what matters is what
 * they differ by: there
 *     y = x + s1;  s1 += b1 x - a1 y + s2;  s2 += b2 x - a2 y
 * with the coefficients of z - 1 instead of z (the delta operator: Goodall and Donoghue, IEE Proc. G 140(5), 1993) is
 * one addition more and exact to float64 whatever the edge (tests/promise/S8_test.c: a low-pass of 0.5 Hz at 30 kHz is
 * 2e-9 to 1.5e-8 of its RMS off in the first form, 1e-13 in this). Zeros on the unit circle (b2 = 1: low-pass, high-pass, band-stop) make it 4,
 * and a band-pass whose sections have one zero at 1 and one at -1 (b1 = 0, b2 = -1) 3.
 *
 * State stays in registers for some frames. A section's recurrence takes 7 cycles (an addition, a
 * multiply-add), and 2 multiply-adds start per cycle: 3 sections x 2 vectors hide this latency
 * without spilling registers (AVX2; 2 x 2 do not: 41 us compared with 38 for 4 sections over 256
 * channels x 300 frames f32, 4 x 1 neither, and 4 x 2 spill). More sections are computed group by
 * group through scratch rows, ROWS frames at a time, so that these stay in L1 (4 sections over 256
 * channels: 16 rows 42 us, 32 40, 64 39).
 *
 * The limit set by multiply-adds alone for those 4 sections is 36 us at 3.2 GHz. Direct form I (a
 * recurrence of 4 cycles) is not faster: each section then waits for the one before it, beyond the
 * processor's reordering window. Direct form II: its state grows with the inverse square of a low
 * cutoff. Code without register moves (factors in memory) takes a quarter fewer instructions but
 * more time; testing here, in registers, whether the final state is finite makes the loop 2 %
 * slower than testing it outside. AVX-512, 4 x 2: 34 us at 2.5 GHz; there conversions from and to
 * f32 use the units of the multiply-adds (17 operations instead of 13: f64 reaches 84 % of the
 * limit, f32 63 %).
 */
#include "base/ahead.h"
#include "kernel/vector.h"

typedef weiri_vd vd;

enum { LANES = WEIRI_VECTOR_DOUBLES, ROWS = 64 };

/* Number of sections computed together for a sample, and of vectors at the same time: enough to
 * hide the recurrence's latency, few enough that their state stays in registers. */
#if defined(__AVX512F__)
enum { GROUP = 4 };
#define VECTORS(sections) 2
#else
enum { GROUP = 3 };
#define VECTORS(sections) ((sections) == 1 ? 4 : 2)
#endif

/* One section. c: b1, b2, -a1, -a2. */
WEIRI_INLINE vd step(int kind, vd x, vd *s1, vd *s2, const vd *c)
{
    vd y = x + *s1;
    if (kind == WEIRI_SOS_DELTA) {
        *s1 = weiri_vd_fma(c[2], y, *s1 + weiri_vd_fma(c[0], x, *s2));
        *s2 = weiri_vd_fma(c[3], y, weiri_vd_fma(c[1], x, *s2));
    } else if (kind == WEIRI_SOS_BAND) {
        *s1 = weiri_vd_fma(c[2], y, *s2);
        *s2 = weiri_vd_fms(c[3], y, x);
    } else if (kind == WEIRI_SOS_CIRCLE) {
        *s1 = weiri_vd_fma(c[2], y, weiri_vd_fma(c[0], x, *s2));
        *s2 = weiri_vd_fma(c[3], y, x);
    } else {
        *s1 = weiri_vd_fma(c[2], y, weiri_vd_fma(c[0], x, *s2));
        *s2 = weiri_vd_fma(c[3], y, c[1] * x);
    }
    return y;
}

/* Where rows are read and written. */
typedef struct pass {
    const double (*coefs)[4];
    double gain;   /* before the last of these sections */
    double *state; /* of the group's first section */
    const void *in;
    ptrdiff_t in_stride;
    void *out;
    ptrdiff_t out_stride;
    size_t frames;
    const char *ahead; /* lines to prefetch meanwhile, one per frame; NULL = none */
} pass;

/* `sections` sections over some columns from column `first` on. All arguments except p and first
 * are constants at each call, so each call becomes a loop of its own. */
WEIRI_INLINE void run(const pass *p,
                      size_t first,
                      int kind,
                      int sections,
                      int vectors,
                      bool gained,
                      bool from32,
                      bool to32)
{
    vd c[GROUP][4], s1[GROUP][4], s2[GROUP][4];
    vd gain = weiri_vd_all(p->gain);
    const double *in64 = (const double *)p->in + first;
    const float *in32 = (const float *)p->in + first;
    double *out64 = (double *)p->out + first;
    float *out32 = (float *)p->out + first;
    double *state = p->state + first;
    ptrdiff_t in_stride = p->in_stride, out_stride = p->out_stride;
    size_t frames = p->frames;
    /* Without any, prefetches a line already in the cache: cheaper than a branch. */
    bool fetches = p->ahead != NULL && first == 0;
    const char *ahead = fetches ? p->ahead : (const char *)p->coefs;
    size_t ahead_step = fetches ? WEIRI_LINE : 0;
    for (int s = 0; s < sections; s++) {
        for (int k = 0; k < 4; k++) {
            c[s][k] = weiri_vd_all(p->coefs[s][k]);
        }
        for (int v = 0; v < vectors; v++) {
            s1[s][v] = weiri_vd_load_f64(state + 2 * WEIRI_BLOCK * s + LANES * v);
            s2[s][v] = weiri_vd_load_f64(state + 2 * WEIRI_BLOCK * s + LANES * v + WEIRI_BLOCK);
        }
    }
#pragma GCC unroll 2
    for (size_t frame = 0; frame < frames; frame++) {
        __builtin_prefetch(ahead, 0, 2);
        ahead += ahead_step;
        for (int v = 0; v < vectors; v++) {
            vd x =
                from32 ? weiri_vd_load_f32(in32 + LANES * v) : weiri_vd_load_f64(in64 + LANES * v);
            for (int s = 0; s < sections; s++) {
                x = gained && s == sections - 1 ? gain * x : x;
                x = step(kind, x, &s1[s][v], &s2[s][v], c[s]);
            }
            if (to32) {
                weiri_vd_store_f32(out32 + LANES * v, x);
            } else {
                weiri_vd_store_f64(out64 + LANES * v, x);
            }
        }
        in64 += in_stride;
        in32 += in_stride;
        out64 += out_stride;
        out32 += out_stride;
    }
    for (int s = 0; s < sections; s++) {
        for (int v = 0; v < vectors; v++) {
            weiri_vd_store_f64(state + 2 * WEIRI_BLOCK * s + LANES * v, s1[s][v]);
            weiri_vd_store_f64(state + 2 * WEIRI_BLOCK * s + LANES * v + WEIRI_BLOCK, s2[s][v]);
        }
    }
}

typedef void run_fn(const pass *p);

#define RUN(name, kind, sections, from32, to32)                                                    \
    static void name##_##sections##_##from32##_##to32(const pass *p)                               \
    {                                                                                              \
        size_t width = LANES * VECTORS(sections);                                                  \
        for (size_t first = 0; first < WEIRI_BLOCK; first += width) {                              \
            run(p, first, kind, sections, VECTORS(sections), to32 || !from32, from32, to32);       \
        }                                                                                          \
    }
#define RUNS_OF(name, kind, sections)                                                              \
    RUN(name, kind, sections, 0, 0)                                                                \
    RUN(name, kind, sections, 0, 1)                                                                \
    RUN(name, kind, sections, 1, 0)                                                                \
    RUN(name, kind, sections, 1, 1)
#define NAMES(name, sections)                                                                      \
    {                                                                                              \
        {name##_##sections##_0_0, name##_##sections##_0_1},                                        \
        {                                                                                          \
            name##_##sections##_1_0, name##_##sections##_1_1                                       \
        }                                                                                          \
    }
#if defined(__AVX512F__)
#define RUNS(name, kind)                                                                           \
    RUNS_OF(name, kind, 1) RUNS_OF(name, kind, 2) RUNS_OF(name, kind, 3) RUNS_OF(name, kind, 4)
#define TABLE(name)                                                                                \
    {                                                                                              \
        NAMES(name, 1), NAMES(name, 2), NAMES(name, 3), NAMES(name, 4)                             \
    }
#else
#define RUNS(name, kind) RUNS_OF(name, kind, 1) RUNS_OF(name, kind, 2) RUNS_OF(name, kind, 3)
#define TABLE(name)                                                                                \
    {                                                                                              \
        NAMES(name, 1), NAMES(name, 2), NAMES(name, 3)                                             \
    }
#endif

RUNS(general, WEIRI_SOS_GENERAL)
RUNS(circle, WEIRI_SOS_CIRCLE)
RUNS(band, WEIRI_SOS_BAND)
RUNS(delta, WEIRI_SOS_DELTA)

/* [kind][sections - 1][from f32][to f32] */
static run_fn *const runs[4][GROUP][2][2] = {TABLE(general), TABLE(circle), TABLE(band),
                                             TABLE(delta)};

/* All groups over a few frames: in -> scratch -> ... -> out. */
WEIRI_INLINE void
run_groups(const weiri_sos_params *params, double *state, const pass *whole, bool f32)
{
    double scratch[ROWS * WEIRI_BLOCK] __attribute__((aligned(64)));
    for (size_t first = 0; first < params->sections; first += GROUP) {
        bool is_first = first == 0, is_last = first + GROUP >= params->sections;
        size_t some = is_last ? params->sections - first : GROUP;
        pass p = {
            .coefs = params->coefs + first,
            .gain = is_last ? params->gain : 1.0,
            .state = state + 2 * WEIRI_BLOCK * first,
            .in = is_first ? whole->in : scratch,
            .in_stride = is_first ? whole->in_stride : WEIRI_BLOCK,
            .out = is_last ? whole->out : scratch,
            .out_stride = is_last ? whole->out_stride : WEIRI_BLOCK,
            .frames = whole->frames,
            .ahead = is_first ? whole->ahead : NULL,
        };
        runs[params->kind][some - 1][is_first && f32][is_last && f32](&p);
    }
}

WEIRI_INLINE void sos(const weiri_sos_params *params, double *state, const pass *given, bool f32)
{
    pass whole = *given;
    size_t frames = whole.frames, bytes = f32 ? sizeof(float) : sizeof(double);
    /* what needs neither scratch nor a second access to a line is done in one pass */
    size_t rows = params->sections <= GROUP && LANES * VECTORS(params->sections) >= WEIRI_BLOCK
                      ? frames
                      : ROWS;
    for (size_t done = 0; done < frames; done += rows) {
        whole.frames = frames - done < rows ? frames - done : rows;
        run_groups(params, state, &whole, f32);
        ptrdiff_t step = (ptrdiff_t)(whole.frames * bytes);
        whole.in = (const unsigned char *)whole.in + step * whole.in_stride;
        whole.out = (unsigned char *)whole.out + step * whole.out_stride;
        if (whole.ahead != NULL) {
            whole.ahead += whole.frames * WEIRI_LINE;
        }
    }
}

#define SOS(name, f32)                                                                             \
    void WEIRI_K(name)(WEIRI_RECURRENCE)                                                           \
    {                                                                                              \
        pass whole = {.in = in,                                                                    \
                      .in_stride = in_stride,                                                      \
                      .out = out,                                                                  \
                      .out_stride = out_stride,                                                    \
                      .frames = frames,                                                            \
                      .ahead = ahead};                                                             \
        sos(params, state, &whole, f32);                                                           \
    }

SOS(sos_f32, true)
SOS(sos_f64, false)
