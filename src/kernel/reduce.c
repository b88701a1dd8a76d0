/* SPDX-License-Identifier: MIT
 *
 * reduce.c: one value a column from a run of frames: sum, least, where, spread, area, median. Each takes
 * up the state of the frames before and goes on in the order of time, so that the cut does not show (S1).
 * A sample that is not finite is left out (S5). What state means, and the last step (a mean from a sum),
 * is unit/reduce.c's.
 */
#include "kernel/kernel.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define D (WEIRI_VECTOR / sizeof(double))
typedef double wide __attribute__((vector_size(WEIRI_VECTOR)));
typedef double wide_any __attribute__((vector_size(WEIRI_VECTOR), aligned(8), may_alias));

#define NAME(kernel) WEIRI_JOIN(weiri_k_##kernel##_f32, WEIRI_LEVEL)
#define T            float
#define T_BITS       32
#define T_MAX        FLT_MAX
#define T_INDEX      int32_t
#define T_KEY        uint32_t
#include "kernel/reduce_body.h"
#undef NAME
#undef T
#undef T_BITS
#undef T_MAX
#undef T_INDEX
#undef T_KEY

#define NAME(kernel) WEIRI_JOIN(weiri_k_##kernel##_f64, WEIRI_LEVEL)
#define T            double
#define T_BITS       64
#define T_MAX        DBL_MAX
#define T_INDEX      int64_t
#define T_KEY        uint64_t
#include "kernel/reduce_body.h"
