/* SPDX-License-Identifier: MIT
 *
 * reference.c: a row less its mean: the common reference of one group that lies in one piece.
 * Rows with missing values, and groups that do not lie so, are the unit's (common_reference.c),
 * by the same sum.
 *
 * S1's fixed tree over channels is here NumPy's: up to 128 values go to 8 sums, which are then
 * added in pairs; more are halved first. In the stream's dtype, as there: where a channel is near
 * the mean the difference shows the mean's last bit, so that no other order agrees within S2 (a
 * sum in float64 is off by 7 tolerances in 45 of 27,000 values of the reference case). In f32 it
 * is also twice as fast.
 */
#include "kernel/vector.h"

#include <math.h>

enum { SUMS = 8, PIECE = 128 };

#define REFERENCE(type_name, type)                                                                 \
    typedef type eight_##type_name __attribute__((vector_size(SUMS * sizeof(type))));              \
    typedef type eight_loose_##type_name                                                           \
        __attribute__((vector_size(SUMS * sizeof(type)), aligned(sizeof(type)), may_alias));       \
                                                                                                   \
    WEIRI_INLINE type total_##type_name(const eight_##type_name *at, const type *rest,             \
                                        size_t count)                                              \
    {                                                                                              \
        eight_##type_name s = *at;                                                                 \
        type total = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));            \
        for (size_t i = 0; i < count; i++) {                                                       \
            total += rest[i];                                                                      \
        }                                                                                          \
        return total;                                                                              \
    }                                                                                              \
                                                                                                   \
    /* Two pieces side by side, for their latency: a has a multiple of SUMS and no more than b. */ \
    static type pieces_##type_name(const type *a, size_t a_count, const type *b, size_t b_count)   \
    {                                                                                              \
        eight_##type_name sa = {0}, sb = {0};                                                      \
        size_t i = 0;                                                                              \
        for (; i < a_count; i += SUMS) {                                                           \
            sa += *(const eight_loose_##type_name *)(a + i);                                       \
            sb += *(const eight_loose_##type_name *)(b + i);                                       \
        }                                                                                          \
        for (; i + SUMS <= b_count; i += SUMS) {                                                   \
            sb += *(const eight_loose_##type_name *)(b + i);                                       \
        }                                                                                          \
        type second = total_##type_name(&sb, b + i, b_count - i);                                  \
        return a_count == 0 ? second : total_##type_name(&sa, NULL, 0) + second;                   \
    }                                                                                              \
                                                                                                   \
    type WEIRI_K(sum_##type_name)(const type *row, size_t count)                                   \
    {                                                                                              \
        size_t half = count <= PIECE ? 0 : count / 2 / SUMS * SUMS;                                \
        if (count - half <= PIECE) {                                                               \
            return pieces_##type_name(row, half, row + half, count - half);                        \
        }                                                                                          \
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
