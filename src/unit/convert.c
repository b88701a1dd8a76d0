/* SPDX-License-Identifier: MIT
 *
 * convert.c: two units that the chain inserts: `convert`, from stored integers to floating point before a
 * unit that needs it (8 and 16 bit -> f32, 32 bit -> f64, so that counts stay distinct), and `copy`, which
 * lets an empty chain have an output. Neither is in units.def: as_array is the one that a user writes.
 */
#include "unit/unit.h"

#include <string.h>

static weir_err convert_plan(const void *settings, weiri_unit_plan *plan)
{
    (void)settings;
    weir_dtype in = plan->in->dtype;
    plan->out.dtype = in == WEIR_I32 || in == WEIR_F64 ? WEIR_F64 : WEIR_F32;
    plan->out.scale = 0;
    return WEIR_OK;
}

static void convert_run(weiri_block *block, const weiri_work *work)
{
    size_t count = work->consume * (size_t)weir_spec_columns(block->in);
    const void *in = work->in[0];
    float *f32 = work->out;
    double scale = block->in->scale != 0 ? block->in->scale : 1;
    switch (block->in->dtype) {
    case WEIR_U8:
        for (size_t i = 0; i < count; i++) {
            f32[i] = (float)(((const uint8_t *)in)[i] * scale);
        }
        break;
    case WEIR_U16:
        for (size_t i = 0; i < count; i++) {
            f32[i] = (float)(((const uint16_t *)in)[i] * scale);
        }
        break;
    case WEIR_I16:
        for (size_t i = 0; i < count; i++) {
            f32[i] = (float)(((const int16_t *)in)[i] * scale);
        }
        break;
    case WEIR_I32:
        for (size_t i = 0; i < count; i++) {
            ((double *)work->out)[i] = ((const int32_t *)in)[i] * scale;
        }
        break;
    default:
        memcpy(work->out, in, count * weir_dtype_bytes(block->in->dtype));
        break;
    }
}

const weiri_unit_ops weiri_unit_convert = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "convert",
             .summary = "integers to floating point (inserted by the chain)",
             .flags = WEIR_UNIT_ANY_DTYPE | WEIR_UNIT_COLUMNWISE},
    .plan = convert_plan,
    .run = convert_run,
};

static weir_err copy_plan(const void *settings, weiri_unit_plan *plan)
{
    (void)settings;
    (void)plan;
    return WEIR_OK;
}

static void copy_run(weiri_block *block, const weiri_work *work)
{
    if (work->consume > 0 && work->in[0] != work->out) {
        memcpy(work->out, work->in[0], work->consume * (size_t)weir_spec_frame_bytes(block->in));
    }
}

const weiri_unit_ops weiri_unit_copy = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "copy",
             .summary = "copy (inserted by the chain)",
             .flags = WEIR_UNIT_ANY_DTYPE | WEIR_UNIT_COMPLEX | WEIR_UNIT_IN_PLACE |
                      WEIR_UNIT_COLUMNWISE},
    .plan = copy_plan,
    .run = copy_run,
};
