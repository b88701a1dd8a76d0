/* SPDX-License-Identifier: MIT
 *
 * reduce.c: one value per column from a run of frames: sum, extremum, its position, spread, area.
 * Each continues from the state of the frames before, in order of time, so that message boundaries
 * do not matter (S1). Samples that are not finite are left out (S5). The meaning of the state, and
 * the last step (a mean from a sum), are in dsp/reduce.c.
 *
 * A block of columns processes all frames with its state in registers. It first assumes that all
 * samples are finite and tests this at the end; if it was wrong, the block is computed again with a
 * mask, by the same operations. So a damaged channel slows down its own block only, and clean ones
 * cost nothing more.
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
