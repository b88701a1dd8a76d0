/* SPDX-License-Identifier: MIT
 *
 * fir.c: a finite impulse response over time, for a group of WEIRI_BLOCK columns at once, in float64.
 *
 * FRAMES outputs are computed together: each row is loaded (and widened) once and multiplied by as
 * many taps. So taps are stored with WEIRI_FIR_PAD zeros on either side, for rows that belong to
 * some of the outputs only. Every output is summed from its oldest sample to its newest, whatever
 * its place among them, and adding + 0 turns a negative zero, which a product with a padding zero
 * could cause, into a positive one (S1).
 *
 * A row of FRAMES x VECTORS multiply-adds needs VECTORS loads and FRAMES broadcasts from memory: 8
 * x 2 (AVX-512, 32 registers) and 6 x 2 (AVX2, 16 registers) keep two multiply-adds per cycle busy.
 */
#include "kernel/vector.h"

typedef weiri_vd vd;

enum { LANES = WEIRI_VECTOR_DOUBLES, MOST_FRAMES = WEIRI_FIR_PAD + 1 };

#if defined(__AVX512F__)
enum { FRAMES = 8, VECTORS = 2 };
#else
enum { FRAMES = 6, VECTORS = 2 };
#endif

typedef struct job {
    const double *taps; /* padded, of the oldest sample first */
    size_t count;
    const void *rows;
    void *out;
    size_t stride; /* of out, in values */
} job;

/* `frames` outputs from frame `at` on, of some lanes from `lane` on. */
WEIRI_INLINE void run(const job *j, size_t at, size_t lane, int frames, int vectors, bool f32)
{
    vd sum[MOST_FRAMES][WEIRI_BLOCK / LANES], x[WEIRI_BLOCK / LANES];
    const double *taps = j->taps + WEIRI_FIR_PAD;
    const float *in32 = (const float *)j->rows + at * WEIRI_BLOCK + lane;
    const double *in64 = (const double *)j->rows + at * WEIRI_BLOCK + lane;
    for (int t = 0; t < frames; t++) {
        for (int v = 0; v < vectors; v++) {
            sum[t][v] = weiri_vd_all(0.0);
        }
    }
    for (size_t row = 0; row < j->count + (size_t)frames - 1; row++) {
        for (int v = 0; v < vectors; v++) {
            x[v] = f32 ? weiri_vd_load_f32(in32 + LANES * v) : weiri_vd_load_f64(in64 + LANES * v);
        }
        for (int t = 0; t < frames; t++) {
            vd tap = weiri_vd_all(taps[-t]);
            for (int v = 0; v < vectors; v++) {
                sum[t][v] = weiri_vd_fma(tap, x[v], sum[t][v]);
            }
        }
        taps++;
        in32 += WEIRI_BLOCK;
        in64 += WEIRI_BLOCK;
    }
    for (int t = 0; t < frames; t++) {
        for (int v = 0; v < vectors; v++) {
            size_t to = (at + (size_t)t) * j->stride + lane + (size_t)(LANES * v);
            vd value = sum[t][v] + weiri_vd_all(0.0);
            if (f32) {
                weiri_vd_store_f32((float *)j->out + to, value);
            } else {
                weiri_vd_store_f64((double *)j->out + to, value);
            }
        }
    }
}

WEIRI_INLINE void fir(const job *j, size_t frames, bool f32)
{
    size_t at = 0;
    for (; at + FRAMES <= frames; at += FRAMES) {
        for (size_t lane = 0; lane < WEIRI_BLOCK; lane += LANES * VECTORS) {
            run(j, at, lane, FRAMES, VECTORS, f32);
        }
    }
    for (; at + 2 <= frames; at += 2) {
        for (size_t lane = 0; lane < WEIRI_BLOCK; lane += LANES * VECTORS) {
            run(j, at, lane, 2, VECTORS, f32);
        }
    }
    for (; at < frames; at++) {
        run(j, at, 0, 1, WEIRI_BLOCK / LANES, f32);
    }
}

void WEIRI_K(fir_f32)(const double *taps,
                      size_t count,
                      const float *rows,
                      size_t frames,
                      float *out,
                      size_t out_stride)
{
    job j = {taps, count, rows, out, out_stride};
    fir(&j, frames, true);
}

void WEIRI_K(fir_f64)(const double *taps,
                      size_t count,
                      const double *rows,
                      size_t frames,
                      double *out,
                      size_t out_stride)
{
    job j = {taps, count, rows, out, out_stride};
    fir(&j, frames, false);
}
