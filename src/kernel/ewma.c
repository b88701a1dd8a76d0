/* SPDX-License-Identifier: MIT
 *
 * ewma.c: exponentially weighted mean and variance over time, for a block of WEIRI_BLOCK columns at
 * once. Does not know about missing samples: src/scan does.
 *
 * With weights that start from zero the sum of weights is W = 1 - (1 - alpha)^t, the bias correction of
 * S9. Kept as a recurrence beside the mean it needs no count, and it has the same rounding as the sum
 * that it divides, so the mean of a constant is that constant for ever:
 *     W = (1 - alpha) W + alpha;  a = alpha / W;  d = x - m;  m = m + a d
 * and for the variance, as the weighted mean of squared distances (no x^2 whose offset would cancel):
 *     v = (1 - a)(v + a d^2)
 */
#include "kernel/kernel.h"

#include <math.h>

/* Lanes are independent; the compiler makes vectors of the loops over them. */
enum { N = WEIRI_BLOCK };

#define EWMA(type_name, type)                                                                      \
    void WEIRI_K(ewma_##type_name)(const void *given, double *state, const void *in,               \
                                   size_t in_stride, void *out, size_t out_stride, size_t frames)  \
    {                                                                                              \
        const weiri_ewma_params *params = given;                                                   \
        double alpha = params->alpha, beta = params->beta;                                         \
        double *restrict weight = state, *restrict mean = state + N;                               \
        const type *restrict from = in;                                                            \
        type *restrict to = out;                                                                   \
        for (size_t frame = 0; frame < frames; frame++) {                                          \
            for (size_t j = 0; j < N; j++) {                                                       \
                double x = (double)from[j];                                                        \
                weight[j] = WEIRI_FMA(beta, weight[j], alpha);                                     \
                mean[j] = WEIRI_FMA(alpha / weight[j], x - mean[j], mean[j]);                      \
                to[j] = (type)mean[j];                                                             \
            }                                                                                      \
            from += in_stride;                                                                     \
            to += out_stride;                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    void WEIRI_K(standardize_##type_name)(const void *given, double *state, const void *in,        \
                                          size_t in_stride, void *out, size_t out_stride,          \
                                          size_t frames)                                           \
    {                                                                                              \
        const weiri_ewma_params *params = given;                                                   \
        double alpha = params->alpha, beta = params->beta;                                         \
        double *restrict weight = state, *restrict mean = state + N;                               \
        double *restrict variance = state + 2 * N;                                                 \
        const type *restrict from = in;                                                            \
        type *restrict to = out;                                                                   \
        for (size_t frame = 0; frame < frames; frame++) {                                          \
            for (size_t j = 0; j < N; j++) {                                                       \
                double x = (double)from[j];                                                        \
                double w = WEIRI_FMA(beta, weight[j], alpha);                                      \
                double a = alpha / w;                                                              \
                double d = x - mean[j];                                                            \
                double m = WEIRI_FMA(a, d, mean[j]);                                               \
                double v = (1.0 - a) * WEIRI_FMA(a * d, d, variance[j]);                           \
                double deviation = sqrt(v);                                                        \
                double z = (x - m) / (v > 0.0 ? deviation : 1.0);                                  \
                to[j] = (type)(v > 0.0 ? z : 0.0);                                                 \
                weight[j] = w;                                                                     \
                mean[j] = m;                                                                       \
                variance[j] = v;                                                                   \
            }                                                                                      \
            from += in_stride;                                                                     \
            to += out_stride;                                                                      \
        }                                                                                          \
    }

EWMA(f32, float)
EWMA(f64, double)
