/* SPDX-License-Identifier: MIT
 *
 * const_difference.c: each value minus a constant, or the constant minus each value.
 */
#include "kernel/kernel.h"
#include "unit/elementwise.h"

typedef struct difference_settings {
    double value;
    bool subtrahend;
} difference_settings;

typedef struct difference_constants {
    double sign, value; /* y = sign x + value */
} difference_constants;

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    (void)settings;
    plan->constant_bytes = sizeof(difference_constants);
    return WEIR_OK;
}

static void prepare(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    const difference_settings *given = settings;
    (void)plan;
    *(difference_constants *)constants = given->subtrahend
                                             ? (difference_constants){1.0, -given->value}
                                             : (difference_constants){-1.0, given->value};
}

static void compute(const weiri_block *block, const void *in, void *out, size_t first, size_t count)
{
    const difference_constants *constants = block->constants;
    double sign = constants->sign, value = constants->value;
    (void)first;
    if (block->in->dtype == WEIR_F32) {
        weiri_kernels_get()->offset_f32(in, out, count, (float)sign, (float)value);
    } else {
        weiri_kernels_get()->offset_f64(in, out, count, sign, value);
    }
}

static const weir_setting table[] = {
    {.name = "value",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_AMPLITUDE,
     .preset = "0",
     .offset = offsetof(difference_settings, value),
     .help = "number subtracted from each value, or the number that values are subtracted from",
     .live = true},
    {.name = "subtrahend",
     .type = WEIR_SETTING_BOOL,
     .preset = "true",
     .offset = offsetof(difference_settings, subtrahend),
     .help = "true: x - value; false: value - x",
     .live = true},
    {0},
};

const weiri_unit_ops weiri_unit_const_difference = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "const_difference",
             .summary = "each value minus a constant, or the constant minus each value",
             .formula = "y = x - value; with subtrahend: false, y = value - x.",
             .ezmsg = "math.difference.ConstDifferenceTransformer",
             .flags = WEIR_UNIT_IN_PLACE | WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(difference_settings),
    .plan = plan,
    .prepare = prepare,
    .run = weiri_elementwise_run,
    .compute = compute,
};
