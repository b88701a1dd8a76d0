/* SPDX-License-Identifier: MIT
 *
 * plain_reduce.h: the operations of aggregate and binned_aggregate as plain loops.
 */
#ifndef WEIR_TEST_PLAIN_REDUCE_H
#define WEIR_TEST_PLAIN_REDUCE_H

#include <math.h>
#include <string.h>

#include "dsp/reduce.h"
#include "testing.h"

static inline int plain_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* What NumPy computes from count > 0 values at increasing coordinates x. */
static inline double plain_reduce(int operation, const double *v, const double *x, size_t count)
{
    double sum = 0, square = 0, area = 0;
    size_t low = 0, high = 0;
    for (size_t i = 0; i < count; i++) {
        sum += v[i];
        low = v[i] < v[low] ? i : low;
        high = v[i] > v[high] ? i : high;
        area += i > 0 ? (v[i] + v[i - 1]) / 2 * (x[i] - x[i - 1]) : 0;
    }
    for (size_t i = 0; i < count; i++) {
        square += (v[i] - sum / (double)count) * (v[i] - sum / (double)count);
    }
    switch ((weiri_operation)operation) {
    case WEIRI_MAX:
    case WEIRI_NANMAX:
        return v[high];
    case WEIRI_MIN:
    case WEIRI_NANMIN:
        return v[low];
    case WEIRI_MEAN:
    case WEIRI_NANMEAN:
        return sum / (double)count;
    case WEIRI_SUM:
    case WEIRI_NANSUM:
        return sum;
    case WEIRI_STD:
    case WEIRI_NANSTD:
        return sqrt(square / (double)count);
    case WEIRI_ARGMIN:
        return x[low];
    case WEIRI_ARGMAX:
        return x[high];
    case WEIRI_TRAPEZOID:
        return area;
    case WEIRI_MEDIAN:
    case WEIRI_NANMEDIAN:
    case WEIRI_OPERATION_COUNT:
        break;
    }
    double *sorted = malloc(count * sizeof *sorted);
    assert_non_null(sorted);
    memcpy(sorted, v, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, plain_compare);
    double median = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
    free(sorted);
    return median;
}

#endif
