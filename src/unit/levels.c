/* SPDX-License-Identifier: MIT
 *
 * levels.c: see levels.h.
 */
#include "unit/levels.h"

#include <math.h>
#include <string.h>

enum { PIECE = 2048 }; /* values at once: still in L1 after the search for missing ones */

weir_err weiri_levels_plan(weiri_unit_plan *plan, double min_val, double max_val, weir_dtype dtype)
{
    if (!(max_val > min_val)) {
        return weiri_fail(WEIR_E_CHAIN, "max_val: %.15g must be above min_val, %.15g", max_val,
                          min_val);
    }
    if (!isfinite(max_val - min_val)) {
        return weiri_fail(WEIR_E_CHAIN, "max_val: %.15g is too far above min_val, %.15g", max_val,
                          min_val);
    }
    plan->out.dtype = dtype;
    plan->constant_bytes = sizeof(weiri_levels);
    return weiri_units_follow(plan, 0.0, "");
}

#define CONVERT(type_name, type)                                                                   \
    static uint32_t convert_##type_name(const weiri_block *block, const type *in, void *out,       \
                                        size_t count)                                              \
    {                                                                                              \
        const weiri_kernels *kernels = weiri_kernels_get();                                        \
        switch (block->out->dtype) {                                                               \
        case WEIR_U8:                                                                              \
            return kernels->levels_u8_##type_name(in, out, count, block->constants);               \
        case WEIR_U16:                                                                             \
            return kernels->levels_u16_##type_name(in, out, count, block->constants);              \
        case WEIR_I16:                                                                             \
            return kernels->levels_i16_##type_name(in, out, count, block->constants);              \
        default:                                                                                   \
            return kernels->levels_i32_##type_name(in, out, count, block->constants);              \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* The samples that are missing: counted, and the lower end of the range instead. */           \
    static void fill_##type_name(weiri_block *block, const type *in, size_t first, size_t count,   \
                                 type *ret_values, bool *ret_missing)                              \
    {                                                                                              \
        const weiri_levels *levels = block->constants;                                             \
        size_t columns = (size_t)block->columns;                                                   \
        weiri_split split = weiri_spec_channels(block->in);                                        \
        for (size_t i = 0; i < count; i++) {                                                       \
            ret_missing[i] = !isfinite(in[i]);                                                     \
            ret_values[i] = ret_missing[i] ? (type)levels->low : in[i];                            \
            if (ret_missing[i]) {                                                                  \
                block->missing[(first + i) % columns / split.inner % block->channels]++;           \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void run_##type_name(weiri_block *block, const type *in, unsigned char *out,            \
                                size_t first, size_t count)                                        \
    {                                                                                              \
        if (weiri_kernels_get()->finite_##type_name(in, count)) {                                  \
            block->saturated += convert_##type_name(block, in, out, count);                        \
            return;                                                                                \
        }                                                                                          \
        type values[PIECE];                                                                        \
        bool missing[PIECE];                                                                       \
        size_t bytes = weir_dtype_bytes(block->out->dtype);                                        \
        fill_##type_name(block, in, first, count, values, missing);                                \
        block->saturated += convert_##type_name(block, values, out, count);                        \
        for (size_t i = 0; i < count; i++) {                                                       \
            if (missing[i]) {                                                                      \
                memset(out + i * bytes, 0, bytes);                                                 \
            }                                                                                      \
        }                                                                                          \
    }

CONVERT(f32, float)
CONVERT(f64, double)

void weiri_levels_run(weiri_block *block, const weiri_work *work)
{
    size_t count = work->consume * (size_t)block->columns;
    size_t bytes = weir_dtype_bytes(block->out->dtype);
    unsigned char *out = work->out;
    for (size_t first = 0; first < count; first += PIECE) {
        size_t some = count - first < PIECE ? count - first : PIECE;
        if (block->in->dtype == WEIR_F32) {
            run_f32(block, (const float *)work->in[0] + first, out + first * bytes, first, some);
        } else {
            run_f64(block, (const double *)work->in[0] + first, out + first * bytes, first, some);
        }
    }
}
