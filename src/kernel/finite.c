/* SPDX-License-Identifier: MIT
 *
 * finite.c: whether a run of values is free of NaN and infinity.
 */
#include "kernel/kernel.h"

/* 0 * x is 0 for finite x and NaN else. Integers would do too, but cost the same and a line more. */
bool WEIRI_K(finite_f32)(const float *values, size_t count)
{
    float lanes[WEIRI_LANES] = {0};
    size_t i = 0;
    for (; i + WEIRI_LANES <= count; i += WEIRI_LANES) {
        for (size_t j = 0; j < WEIRI_LANES; j++) {
            lanes[j] += 0.0f * values[i + j];
        }
    }
    for (; i < count; i++) {
        lanes[0] += 0.0f * values[i];
    }
    float sum = 0.0f;
    for (size_t j = 0; j < WEIRI_LANES; j++) {
        sum += lanes[j];
    }
    return sum == 0.0f;
}

bool WEIRI_K(finite_f64)(const double *values, size_t count)
{
    double lanes[WEIRI_LANES] = {0};
    size_t i = 0;
    for (; i + WEIRI_LANES <= count; i += WEIRI_LANES) {
        for (size_t j = 0; j < WEIRI_LANES; j++) {
            lanes[j] += 0.0 * values[i + j];
        }
    }
    for (; i < count; i++) {
        lanes[0] += 0.0 * values[i];
    }
    double sum = 0.0;
    for (size_t j = 0; j < WEIRI_LANES; j++) {
        sum += lanes[j];
    }
    return sum == 0.0;
}
