/* SPDX-License-Identifier: MIT
 *
 * ewma.c: exponentially weighted mean and variance over time, for a block of WEIRI_BLOCK columns at
 * once. src/scan handles missing samples.
 *
 * With weights that start from zero the sum of weights is W = 1 - (1 - alpha)^t, the bias
 * correction of S9. Computed as a recurrence together with the mean it needs no count, and it has
 * the same rounding as the sum that it divides, so the mean of a constant stays exactly that
 * constant:
 *     W = (1 - alpha) W + alpha;  a = alpha / W;  d = x - m;  m = m + a d
 * and for the variance, as the weighted mean of squared distances (no x^2 whose offset would
 * cancel):
 *     v = (1 - a)(v + a d^2)
 */
#include "kernel/vector.h"

typedef weiri_vd vd;
typedef int64_t vi __attribute__((vector_size(WEIRI_VECTOR)));

enum { LANES = WEIRI_VECTOR_DOUBLES, VECTORS = WEIRI_BLOCK / LANES };

/* What is output: the mean, the distance from it, or that in standard deviations (0 while these
 * are 0). */
enum { MEAN, DISTANCE, DEVIATIONS };

/* One sample of one vector of columns. */
WEIRI_INLINE vd step(vd x, vd *state, vd alpha, vd beta, int output)
{
    vd weight = weiri_vd_fma(beta, state[0], alpha);
    vd a = alpha / weight;
    vd d = x - state[1];
    vd mean = weiri_vd_fma(a, d, state[1]);
    state[0] = weight;
    state[1] = mean;
    if (output != DEVIATIONS) {
        return output == MEAN ? mean : x - mean;
    }
    vd variance = (weiri_vd_all(1.0) - a) * weiri_vd_fma(a * d, d, state[2]);
    state[2] = variance;
    vi some = (vi)(variance > weiri_vd_all(0.0));
    return (vd)((vi)((x - mean) / weiri_vd_sqrt(variance)) & some);
}

/* f32 and output are constants at each call. */
WEIRI_INLINE void run(const weiri_ewma_params *params,
                      double *state,
                      const void *in,
                      ptrdiff_t in_stride,
                      void *out,
                      ptrdiff_t out_stride,
                      size_t frames,
                      bool f32,
                      int output)
{
    enum { WORDS = 3 };
    vd words[VECTORS][WORDS];
    vd alpha = weiri_vd_all(params->alpha), beta = weiri_vd_all(params->beta);
    int count = output == DEVIATIONS ? 3 : 2;
    for (int v = 0; v < VECTORS; v++) {
        for (int w = 0; w < count; w++) {
            words[v][w] = weiri_vd_load_f64(state + w * WEIRI_BLOCK + v * LANES);
        }
    }
    const float *in32 = in;
    const double *in64 = in;
    float *out32 = out;
    double *out64 = out;
    for (size_t frame = 0; frame < frames; frame++) {
        for (int v = 0; v < VECTORS; v++) {
            vd x = f32 ? weiri_vd_load_f32(in32 + v * LANES) : weiri_vd_load_f64(in64 + v * LANES);
            vd y = step(x, words[v], alpha, beta, output);
            if (f32) {
                weiri_vd_store_f32(out32 + v * LANES, y);
            } else {
                weiri_vd_store_f64(out64 + v * LANES, y);
            }
        }
        in32 += in_stride;
        in64 += in_stride;
        out32 += out_stride;
        out64 += out_stride;
    }
    for (int v = 0; v < VECTORS; v++) {
        for (int w = 0; w < count; w++) {
            weiri_vd_store_f64(state + w * WEIRI_BLOCK + v * LANES, words[v][w]);
        }
    }
}

#define RUN(name, f32, output)                                                                     \
    void WEIRI_K(name)(WEIRI_RECURRENCE)                                                           \
    {                                                                                              \
        (void)ahead; /* the divisions wait for each other, not for memory */                       \
        run(params, state, in, in_stride, out, out_stride, frames, f32, output);                   \
    }

RUN(ewma_f32, true, MEAN)
RUN(ewma_f64, false, MEAN)
RUN(standardize_f32, true, DEVIATIONS)
RUN(standardize_f64, false, DEVIATIONS)
RUN(detrend_f32, true, DISTANCE)
RUN(detrend_f64, false, DISTANCE)
