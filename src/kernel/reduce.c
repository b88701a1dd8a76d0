/* SPDX-License-Identifier: MIT
 *
 * reduce.c: one value a column from a run of frames: sum, extreme, where it is, spread, area.
 * Each takes up the state of the frames before and goes on in the order of time, so that the cut does
 * not show (S1). A sample that is not finite is left out (S5). What state means, and the last step (a
 * mean from a sum), is unit/reduce.c's.
 *
 * Blocks of columns go through all frames with their state in registers. They first take all samples to
 * be finite and learn at the end whether that was so; where not, the block is done again with a mask, in
 * the same operations. So a damaged channel costs its own block, and a clean one nothing.
 */
#include "kernel/vector.h"

#include <float.h>
#include <math.h>

#define D WEIRI_VECTOR_DOUBLES

typedef weiri_bits bits;

#define CHOOSE(type, where, yes, no) ((type)weiri_blend((bits)(where), (bits)(yes), (bits)(no)))

WEIRI_INLINE bits at_most(weiri_vd value, double most)
{
    weiri_vd size = (weiri_vd)((bits)value & INT64_MAX);
    return (bits)(size <= weiri_vd_all(most));
}

#define NAME(kernel) WEIRI_JOIN(weiri_k_##kernel##_f32, WEIRI_LEVEL)
#define T            float
#define LOAD         weiri_vd_load_f32
#define T_BITS       32
#define T_MAX        FLT_MAX
#define T_INDEX      int32_t
#include "kernel/reduce_body.h"
#undef NAME
#undef T
#undef LOAD
#undef T_BITS
#undef T_MAX
#undef T_INDEX

#define NAME(kernel) WEIRI_JOIN(weiri_k_##kernel##_f64, WEIRI_LEVEL)
#define T            double
#define LOAD         weiri_vd_load_f64
#define T_BITS       64
#define T_MAX        DBL_MAX
#define T_INDEX      int64_t
#include "kernel/reduce_body.h"
