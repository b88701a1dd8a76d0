/* SPDX-License-Identifier: MIT
 *
 * finite.c: whether a run of values is free of NaN and infinity.
 */
#include "kernel/vector.h"

/* Independent sums: enough to hide the adder's latency. */
enum { SUMS = 4 };

/* 0 * x is 0 for finite x, else NaN. Integer arithmetic would cost the same and one line more.
 * The sums are joined as vectors: one by one that would take a third of the time of a short run. */
#define FINITE(type_name, type)                                                                    \
    typedef type all_##type_name __attribute__((vector_size(WEIRI_VECTOR)));                       \
    typedef type loose_##type_name                                                                 \
        __attribute__((vector_size(WEIRI_VECTOR), aligned(sizeof(type)), may_alias));              \
                                                                                                   \
    bool WEIRI_K(finite_##type_name)(const type *values, size_t count)                             \
    {                                                                                              \
        enum { LANES = WEIRI_VECTOR / sizeof(type) };                                              \
        all_##type_name sums[SUMS] = {{0}}, none = {0};                                            \
        size_t i = 0;                                                                              \
        for (; i + SUMS * LANES <= count; i += SUMS * LANES) {                                     \
            for (size_t j = 0; j < SUMS; j++) {                                                    \
                sums[j] += none * *(const loose_##type_name *)(values + i + j * LANES);            \
            }                                                                                      \
        }                                                                                          \
        for (; i + LANES <= count; i += LANES) {                                                   \
            sums[0] += none * *(const loose_##type_name *)(values + i);                            \
        }                                                                                          \
        type rest = 0;                                                                             \
        for (; i < count; i++) {                                                                   \
            rest += 0 * values[i];                                                                 \
        }                                                                                          \
        all_##type_name sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);                           \
        return weiri_all_ones((weiri_bits)(sum == none)) && rest == 0;                             \
    }

FINITE(f32, float)
FINITE(f64, double)
