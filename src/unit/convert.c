/* SPDX-License-Identifier: MIT
 *
 * convert.c: two units that the chain puts in by itself: `convert`, from stored integers to floating
 * point before a unit that needs it (8 and 16 bit -> f32, 32 bit -> f64, so that no count is merged),
 * and `copy`, which lets an empty chain have an output. Neither is in units.def: as_array is the one that
 * a user writes.
 */
#include "unit/unit.h"

#include <string.h>

static weir_err convert_plan(const void *settings, weiri_unit_plan *plan)
{
    (void)settings;
    weir_dtype in = plan->in->dtype;
    plan->out.dtype = in == WEIR_I32 || in == WEIR_F64 ? WEIR_F64 : WEIR_F32;
    return WEIR_OK;
}

static void convert_process(weiri_unit *unit,
                            const weiri_tile *in,
                            size_t *ret_consumed,
                            weiri_tile *out,
                            size_t *ret_produced)
{
    size_t frames = in->frames < out->frames ? in->frames : out->frames;
    size_t count = frames * (size_t)weir_spec_columns(unit->in);
    float *f32 = out->data;
    switch (unit->in->dtype) {
    case WEIR_U8:
        for (size_t i = 0; i < count; i++) {
            f32[i] = ((const uint8_t *)in->data)[i];
        }
        break;
    case WEIR_U16:
        for (size_t i = 0; i < count; i++) {
            f32[i] = ((const uint16_t *)in->data)[i];
        }
        break;
    case WEIR_I16:
        for (size_t i = 0; i < count; i++) {
            f32[i] = ((const int16_t *)in->data)[i];
        }
        break;
    case WEIR_I32:
        for (size_t i = 0; i < count; i++) {
            ((double *)out->data)[i] = ((const int32_t *)in->data)[i];
        }
        break;
    default:
        memcpy(out->data, in->data, count * weir_dtype_bytes(unit->in->dtype));
        break;
    }
    *ret_consumed = *ret_produced = frames;
}

const weiri_unit_ops weiri_unit_convert = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "convert",
             .summary = "integers to floating point (put in by the chain)",
             .flags = WEIR_UNIT_ANY_DTYPE | WEIR_UNIT_COLUMNWISE},
    .plan = convert_plan,
    .process = convert_process,
};

static weir_err copy_plan(const void *settings, weiri_unit_plan *plan)
{
    (void)settings;
    (void)plan;
    return WEIR_OK;
}

static void copy_process(weiri_unit *unit,
                         const weiri_tile *in,
                         size_t *ret_consumed,
                         weiri_tile *out,
                         size_t *ret_produced)
{
    size_t frames = in->frames < out->frames ? in->frames : out->frames;
    if (frames > 0 && in->data != out->data) {
        memcpy(out->data, in->data, frames * (size_t)weir_spec_frame_bytes(unit->in));
    }
    *ret_consumed = *ret_produced = frames;
}

const weiri_unit_ops weiri_unit_copy = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "copy",
             .summary = "as it is (put in by the chain)",
             .flags = WEIR_UNIT_ANY_DTYPE | WEIR_UNIT_IN_PLACE | WEIR_UNIT_COLUMNWISE},
    .plan = copy_plan,
    .process = copy_process,
};
