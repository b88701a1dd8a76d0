/* SPDX-License-Identifier: MIT
 *
 * reference.c: the common reference of a group of adjacent channels: sums of rows, and rows minus
 * one value each. Rows with missing values and groups of channels that are not adjacent are
 * processed by the unit (common_reference.c), with the same sum.
 *
 * The fixed tree over channels (S1) is NumPy's: up to 128 values are added to 8 sums, which are
 * then added in pairs; longer rows are halved first. In the stream's dtype, as in NumPy: if a
 * channel is close to the mean, the difference shows the mean's last bit, so no other order agrees
 * within S2 (a sum in float64 is off by 7 tolerances in 45 of 27,000 values of the reference case).
 * In f32 it is also twice as fast.
 */
#include "kernel/vector.h"

enum { SUMS = 8, PIECE = 128 };

/* Where a row is divided in two; 0 = nowhere. */
WEIRI_INLINE size_t half_of(size_t count)
{
    return count <= PIECE ? 0 : count / 2 / SUMS * SUMS;
}

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
    /* Two pieces at the same time, to hide latency: a has a multiple of SUMS values and no more
     * than b. */   \
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
        size_t half = half_of(count);                                                              \
        if (count - half <= PIECE) {                                                               \
            return pieces_##type_name(row, half, row + half, count - half);                        \
        }                                                                                          \
        return WEIRI_K(sum_##type_name)(row, half) +                                               \
               WEIRI_K(sum_##type_name)(row + half, count - half);                                 \
    }                                                                                              \
                                                                                                   \
    /* Two rows at the same time, of no more than two pieces each: four independent additions. */  \
    WEIRI_INLINE void two_rows_##type_name(const type *a, const type *b, size_t half,              \
                                           size_t count, type *ret)                                \
    {                                                                                              \
        eight_##type_name a0 = {0}, a1 = {0}, b0 = {0}, b1 = {0};                                  \
        size_t i = 0;                                                                              \
        for (; i < half; i += SUMS) {                                                              \
            a0 += *(const eight_loose_##type_name *)(a + i);                                       \
            b0 += *(const eight_loose_##type_name *)(b + i);                                       \
            a1 += *(const eight_loose_##type_name *)(a + half + i);                                \
            b1 += *(const eight_loose_##type_name *)(b + half + i);                                \
        }                                                                                          \
        for (; half + i + SUMS <= count; i += SUMS) {                                              \
            a1 += *(const eight_loose_##type_name *)(a + half + i);                                \
            b1 += *(const eight_loose_##type_name *)(b + half + i);                                \
        }                                                                                          \
        size_t at = half + i, rest = count - at;                                                   \
        type second_a = total_##type_name(&a1, a + at, rest);                                      \
        type second_b = total_##type_name(&b1, b + at, rest);                                      \
        ret[0] = half == 0 ? second_a : total_##type_name(&a0, NULL, 0) + second_a;                \
        ret[1] = half == 0 ? second_b : total_##type_name(&b0, NULL, 0) + second_b;                \
    }                                                                                              \
                                                                                                   \
    void WEIRI_K(sums_##type_name)(const type *rows, size_t frames, size_t count, type *ret)       \
    {                                                                                              \
        size_t row = 0, half = half_of(count);                                                     \
        for (; row + 2 <= frames && count - half <= PIECE; row += 2) {                             \
            const type *first = rows + row * count;                                                \
            two_rows_##type_name(first, first + count, half, count, ret + row);                    \
        }                                                                                          \
        for (; row < frames; row++) {                                                              \
            ret[row] = WEIRI_K(sum_##type_name)(rows + row * count, count);                        \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    size_t WEIRI_K(shift_##type_name)(const type *in, size_t in_stride, type *out, size_t rows,    \
                                      size_t columns, const weiri_shift *shifts)                   \
    {                                                                                              \
        size_t row = 0;                                                                            \
        for (; row < rows && shifts[row].clean; row++) {                                           \
            type less = (type)shifts[row].less, gain = (type)shifts[row].gain;                     \
            const type *from = in + row * in_stride;                                               \
            type *to = out + row * columns;                                                        \
            WEIRI_INDEPENDENT WEIRI_UNROLL for (size_t i = 0; i < columns; i++)                    \
            {                                                                                      \
                to[i] = (from[i] - less) * gain;                                                   \
            }                                                                                      \
        }                                                                                          \
        return row;                                                                                \
    }                                                                                              \
                                                                                                   \
    void WEIRI_K(shift_others_##type_name)(const type *in, type *out, size_t columns,              \
                                           const weiri_shift *shift)                               \
    {                                                                                              \
        type pivot = (type)shift->pivot, below = (type)shift->below, at = (type)shift->less,       \
             above = (type)shift->above;                                                           \
        WEIRI_INDEPENDENT for (size_t i = 0; i < columns; i++)                                     \
        {                                                                                          \
            out[i] = in[i] - (in[i] < pivot ? below : in[i] > pivot ? above : at);                 \
        }                                                                                          \
    }

REFERENCE(f32, float)
REFERENCE(f64, double)
