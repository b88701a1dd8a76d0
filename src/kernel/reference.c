/* SPDX-License-Identifier: MIT
 *
 * reference.c: a row less its mean: the common reference of one group that lies in one piece. Rows with
 * missing values, and groups that do not lie so, are the unit's (common_reference.c), by the same sum.
 *
 * S1's fixed tree over channels is here NumPy's: up to 128 values go to 8 sums, which are then added in
 * pairs; more are halved first. In the stream's dtype, as there: where a channel is near the mean the
 * difference shows the mean's last bit, so that no other order agrees within S2 (a sum in float64 is off
 * by 7 tolerances in 45 of 27,000 values of the reference case). In f32 it is also twice as fast.
 */
#include "kernel/kernel.h"

#include <math.h>

enum { SUMS = 8, PIECE = 128 };

#define REFERENCE(type_name, type)                                                                 \
    static inline type piece_##type_name(const type *row, size_t count)                            \
    {                                                                                              \
        type sums[SUMS] = {0}, total = 0;                                                          \
        size_t i = 0;                                                                              \
        for (; i + SUMS <= count; i += SUMS) {                                                     \
            for (size_t j = 0; j < SUMS; j++) {                                                    \
                sums[j] += row[i + j];                                                             \
            }                                                                                      \
        }                                                                                          \
        total = ((sums[0] + sums[1]) + (sums[2] + sums[3])) +                                      \
                ((sums[4] + sums[5]) + (sums[6] + sums[7]));                                       \
        for (; i < count; i++) {                                                                   \
            total += row[i];                                                                       \
        }                                                                                          \
        return total;                                                                              \
    }                                                                                              \
                                                                                                   \
    type WEIRI_K(sum_##type_name)(const type *row, size_t count)                                   \
    {                                                                                              \
        if (count <= PIECE) {                                                                      \
            return piece_##type_name(row, count);                                                  \
        }                                                                                          \
        size_t half = count / 2 / SUMS * SUMS;                                                     \
        return WEIRI_K(sum_##type_name)(row, half) +                                               \
               WEIRI_K(sum_##type_name)(row + half, count - half);                                 \
    }                                                                                              \
                                                                                                   \
    size_t WEIRI_K(reference_##type_name)(const type *in, type *out, size_t rows, size_t count,    \
                                          double gain)                                             \
    {                                                                                              \
        type factor = (type)gain;                                                                  \
        for (size_t row = 0; row < rows; row++) {                                                  \
            const type *from = in + row * count;                                                   \
            type *to = out + row * count;                                                          \
            type mean = WEIRI_K(sum_##type_name)(from, count) / (type)count;                       \
            if (!isfinite(mean)) {                                                                 \
                return row;                                                                        \
            }                                                                                      \
            WEIRI_INDEPENDENT                                                                      \
            for (size_t i = 0; i < count; i++) {                                                   \
                to[i] = (from[i] - mean) * factor;                                                 \
            }                                                                                      \
        }                                                                                          \
        return rows;                                                                               \
    }

REFERENCE(f32, float)
REFERENCE(f64, double)
