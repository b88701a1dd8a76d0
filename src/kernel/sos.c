/* SPDX-License-Identifier: MIT
 *
 * sos.c: second-order sections over time, for a block of WEIRI_BLOCK columns at once, each column in
 * float64 and on its own. Does not know about missing samples or first frames: src/scan does.
 *
 * Transposed direct form II with the overall gain at the front, so that every numerator starts with 1:
 *     y = x + s1;  s1 = b1 x - a1 y + s2;  s2 = b2 x - a2 y
 * is 5 operations; zeros on the unit circle (b2 = 1: low-pass, high-pass, band-stop) make it 4, and a
 * band-pass whose sections have one zero at 1 and one at -1 (b1 = 0, b2 = -1) 3. State stays in registers
 * over the whole run of frames.
 */
#include "kernel/vector.h"

#include <string.h>

typedef weiri_vd vd;

enum { LANES = WEIRI_VECTOR_DOUBLES, CHUNK = 64 };

/* Vectors of columns that go through together: as many as keep state and temporaries in registers
 * while hiding the recurrence's latency (7 cycles a section). */
#define AT_ONCE(sections) ((sections)*2 * 2 + 4 <= REGISTERS ? 2 : 1)
#if defined(__AVX512F__)
enum { REGISTERS = 32 };
#else
enum { REGISTERS = 16 };
#endif

/* One section. c: b1, b2, -a1, -a2. */
WEIRI_INLINE vd step(int kind, vd x, vd *s1, vd *s2, const vd *c)
{
    vd y = x + *s1;
    if (kind == WEIRI_SOS_BAND) {
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

/* `sections` sections over `vectors` vectors of columns. All but the pointers and frames are constants
 * at each call, so each call becomes a loop of its own. */
WEIRI_INLINE void run(int kind,
                      int sections,
                      int vectors,
                      bool wide,
                      const weiri_sos_params *params,
                      size_t first,
                      double gain_number,
                      double *state,
                      const void *in,
                      size_t in_stride,
                      void *out,
                      size_t out_stride,
                      size_t frames)
{
    vd c[4][4], s1[4][2], s2[4][2];
    vd gain = weiri_vd_all(gain_number);
    const double *in64 = in;
    const float *in32 = in;
    double *out64 = out;
    float *out32 = out;
    for (int s = 0; s < sections; s++) {
        for (int k = 0; k < 4; k++) {
            c[s][k] = weiri_vd_all(params->coefs[first + s][k]);
        }
        for (int v = 0; v < vectors; v++) {
            double *at = state + 2 * WEIRI_BLOCK * s + LANES * v;
            s1[s][v] = weiri_vd_load_f64(at);
            s2[s][v] = weiri_vd_load_f64(at + WEIRI_BLOCK);
        }
    }
    for (size_t frame = 0; frame < frames; frame++) {
        vd x[2];
        for (int v = 0; v < vectors; v++) {
            x[v] = gain * (wide ? weiri_vd_load_f64(in64 + LANES * v)
                                : weiri_vd_load_f32(in32 + LANES * v));
        }
        for (int s = 0; s < sections; s++) {
            for (int v = 0; v < vectors; v++) {
                x[v] = step(kind, x[v], &s1[s][v], &s2[s][v], c[s]);
            }
        }
        for (int v = 0; v < vectors; v++) {
            if (wide) {
                weiri_vd_store_f64(out64 + LANES * v, x[v]);
            } else {
                weiri_vd_store_f32(out32 + LANES * v, x[v]);
            }
        }
        in64 += in_stride;
        in32 += in_stride;
        out64 += out_stride;
        out32 += out_stride;
    }
    for (int s = 0; s < sections; s++) {
        for (int v = 0; v < vectors; v++) {
            double *at = state + 2 * WEIRI_BLOCK * s + LANES * v;
            weiri_vd_store_f64(at, s1[s][v]);
            weiri_vd_store_f64(at + WEIRI_BLOCK, s2[s][v]);
        }
    }
}

#define RUN(name, kind, sections, wide, type)                                                      \
    static void name(const weiri_sos_params *params, size_t first, double gain, double *state,     \
                     const void *in, size_t in_stride, void *out, size_t out_stride,               \
                     size_t frames)                                                                \
    {                                                                                              \
        enum { VECTORS = AT_ONCE(sections) };                                                      \
        for (size_t column = 0; column < WEIRI_BLOCK; column += VECTORS * LANES) {                 \
            run(kind, sections, VECTORS, wide, params, first, gain, state + column,                \
                (const type *)in + column, in_stride, (type *)out + column, out_stride, frames);   \
        }                                                                                          \
    }

#define RUNS(kind, name)                                                                           \
    RUN(name##1_f32, kind, 1, false, float)                                                        \
    RUN(name##2_f32, kind, 2, false, float)                                                        \
    RUN(name##3_f32, kind, 3, false, float)                                                        \
    RUN(name##4_f32, kind, 4, false, float)                                                        \
    RUN(name##1_f64, kind, 1, true, double)                                                        \
    RUN(name##2_f64, kind, 2, true, double)                                                        \
    RUN(name##3_f64, kind, 3, true, double)                                                        \
    RUN(name##4_f64, kind, 4, true, double)

RUNS(WEIRI_SOS_GENERAL, general)
RUNS(WEIRI_SOS_CIRCLE, circle)
RUNS(WEIRI_SOS_BAND, band)

typedef void run_fn(const weiri_sos_params *params,
                    size_t first,
                    double gain,
                    double *state,
                    const void *in,
                    size_t in_stride,
                    void *out,
                    size_t out_stride,
                    size_t frames);

static run_fn *const runs_f32[3][4] = {
    {general1_f32, general2_f32, general3_f32, general4_f32},
    {circle1_f32, circle2_f32, circle3_f32, circle4_f32},
    {band1_f32, band2_f32, band3_f32, band4_f32},
};
static run_fn *const runs_f64[3][4] = {
    {general1_f64, general2_f64, general3_f64, general4_f64},
    {circle1_f64, circle2_f64, circle3_f64, circle4_f64},
    {band1_f64, band2_f64, band3_f64, band4_f64},
};

/* More sections than fit the registers: through a scratch of float64 that stays in L1, group by group.
 * The gain comes with the first group. */
static void groups(const weiri_sos_params *params, double *state, double *scratch, size_t frames)
{
    for (size_t first = 0; first < params->sections; first += 4) {
        size_t some = params->sections - first < 4 ? params->sections - first : 4;
        runs_f64[params->kind][some - 1](params, first, first == 0 ? params->gain : 1.0,
                                         state + 2 * WEIRI_BLOCK * first, scratch, WEIRI_BLOCK,
                                         scratch, WEIRI_BLOCK, frames);
    }
}

#define SOS(type_name, type)                                                                       \
    void WEIRI_K(sos_##type_name)(const void *given, double *state, const void *in,                \
                                  size_t in_stride, void *out, size_t out_stride, size_t frames)   \
    {                                                                                              \
        const weiri_sos_params *params = given;                                                    \
        if (params->sections <= 4) {                                                               \
            runs_##type_name[params->kind][params->sections - 1](                                  \
                params, 0, params->gain, state, in, in_stride, out, out_stride, frames);           \
            return;                                                                                \
        }                                                                                          \
        double scratch[CHUNK * WEIRI_BLOCK];                                                       \
        const type *from = in;                                                                     \
        type *to = out;                                                                            \
        for (size_t done = 0; done < frames; done += CHUNK) {                                      \
            size_t some = frames - done < CHUNK ? frames - done : CHUNK;                           \
            for (size_t i = 0; i < some; i++) {                                                    \
                for (size_t j = 0; j < WEIRI_BLOCK; j++) {                                         \
                    scratch[i * WEIRI_BLOCK + j] = (double)from[(done + i) * in_stride + j];       \
                }                                                                                  \
            }                                                                                      \
            groups(params, state, scratch, some);                                                  \
            for (size_t i = 0; i < some; i++) {                                                    \
                for (size_t j = 0; j < WEIRI_BLOCK; j++) {                                         \
                    to[(done + i) * out_stride + j] = (type)scratch[i * WEIRI_BLOCK + j];          \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }

SOS(f32, float)
SOS(f64, double)
