/* SPDX-License-Identifier: MIT
 *
 * roll.c: distance from the mean of a window of earlier samples, in its standard deviations. Columns are independent
 * and treated alike, so any number of them in a call gives the same bits.
 */
#include "kernel/kernel.h"

#include <math.h>

#define FLOOR 1e-8 /* smallest standard deviation */

/* roll's flags are constants at each call. */
#define ROW(type, ready, full, update)                                                             \
    WEIRI_INDEPENDENT                                                                              \
    for (size_t c = 0; c < columns; c++) {                                                         \
        double x = (double)in[c], m = mean[c], s = square[c];                                      \
        if (ready) {                                                                               \
            double deviation = sqrt(s / count);                                                    \
            deviation = deviation < FLOOR ? FLOOR : deviation;                                     \
            double z = (x - m) / deviation;                                                        \
            z = z == z ? z : 0.0;                                                                  \
            z = z > clip ? clip : z;                                                               \
            out[c] = (type)(z < -clip ? -clip : z);                                                \
        } else {                                                                                   \
            out[c] = in[c];                                                                        \
        }                                                                                          \
        if (update) {                                                                              \
            double old = full ? (double)oldest[c] : m, d = x - old;                                \
            double now = m + d / (full ? count : count + 1.0);                                     \
            s += d * ((x - now) + (old - m));                                                      \
            square[c] = s < 0.0 ? 0.0 : s;                                                         \
            mean[c] = now;                                                                         \
        }                                                                                          \
        if (update && oldest != NULL) {                                                            \
            oldest[c] = (type)x;                                                                   \
        }                                                                                          \
    }

#define ROLL(name, type)                                                                           \
    void WEIRI_K(name)(const weiri_roll *roll, const type *in, type *out, size_t columns,          \
                       type *oldest, double *mean, double *square)                                 \
    {                                                                                              \
        double count = roll->count, clip = roll->clip;                                             \
        if (roll->ready && roll->full && roll->update) {                                           \
            ROW(type, true, true, true)                                                            \
        } else {                                                                                   \
            ROW(type, roll->ready, roll->full, roll->update)                                       \
        }                                                                                          \
    }

#define AGAIN(name, type)                                                                          \
    void WEIRI_K(name)(const type *window, size_t rows, size_t stride, size_t columns,             \
                       double *mean, double *square)                                               \
    {                                                                                              \
        for (size_t c = 0; c < columns; c++) {                                                     \
            mean[c] = 0.0;                                                                         \
            square[c] = 0.0;                                                                       \
        }                                                                                          \
        for (size_t r = 0; r < rows; r++) {                                                        \
            WEIRI_INDEPENDENT                                                                      \
            for (size_t c = 0; c < columns; c++) {                                                 \
                mean[c] += (double)window[r * stride + c];                                         \
            }                                                                                      \
        }                                                                                          \
        for (size_t c = 0; c < columns; c++) {                                                     \
            mean[c] /= (double)rows;                                                               \
        }                                                                                          \
        for (size_t r = 0; r < rows; r++) {                                                        \
            WEIRI_INDEPENDENT                                                                      \
            for (size_t c = 0; c < columns; c++) {                                                 \
                double d = (double)window[r * stride + c] - mean[c];                               \
                square[c] += d * d;                                                                \
            }                                                                                      \
        }                                                                                          \
    }

ROLL(roll_f32, float)
ROLL(roll_f64, double)
AGAIN(roll_again_f32, float)
AGAIN(roll_again_f64, double)
