/* SPDX-License-Identifier: MIT
 *
 * scale.c: each value times one factor.
 */
#include "kernel/kernel.h"
#include "unit/elementwise.h"

typedef struct scale_settings {
    double scale;
} scale_settings;

typedef struct scale_constants {
    double factor;
} scale_constants;

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    (void)settings;
    plan->constant_bytes = sizeof(scale_constants);
    return WEIR_OK;
}

static void prepare(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    const scale_settings *given = settings;
    (void)plan;
    *(scale_constants *)constants = (scale_constants){given->scale};
}

static void compute(const weiri_block *block, const void *in, void *out, size_t first, size_t count)
{
    const scale_constants *constants = block->constants;
    (void)first;
    if (block->in->dtype == WEIR_F32) {
        weiri_kernels_get()->scale_f32(in, out, count, constants->factor);
    } else {
        weiri_kernels_get()->scale_f64(in, out, count, constants->factor);
    }
}

static const weir_setting table[] = {
    {.name = "scale",
     .type = WEIR_SETTING_NUMBER,
     .preset = "1",
     .offset = offsetof(scale_settings, scale),
     .help = "factor",
     .live = true},
    {0},
};

const weiri_unit_ops weiri_unit_scale = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "scale",
             .summary = "each value times one factor",
             .formula = "y = scale x, value by value.",
             .ezmsg = "math.scale.ScaleTransformer",
             .flags = WEIR_UNIT_IN_PLACE | WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(scale_settings),
    .plan = plan,
    .prepare = prepare,
    .run = weiri_elementwise_run,
    .compute = compute,
};
