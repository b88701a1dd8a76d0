/* SPDX-License-Identifier: MIT
 *
 * const_add.c: each value plus a constant.
 */
#include "kernel/kernel.h"
#include "unit/elementwise.h"

typedef struct add_settings {
    double value;
} add_settings;

typedef struct add_constants {
    double value;
} add_constants;

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    (void)settings;
    plan->constant_bytes = sizeof(add_constants);
    return WEIR_OK;
}

static void prepare(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    const add_settings *given = settings;
    (void)plan;
    *(add_constants *)constants = (add_constants){given->value};
}

static void compute(const weiri_block *block, const void *in, void *out, size_t first, size_t count)
{
    const add_constants *constants = block->constants;
    (void)first;
    if (block->in->dtype == WEIR_F32) {
        weiri_kernels_get()->offset_f32(in, out, count, 1.0f, (float)constants->value);
    } else {
        weiri_kernels_get()->offset_f64(in, out, count, 1.0, constants->value);
    }
}

static const weir_setting table[] = {
    {.name = "value",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_AMPLITUDE,
     .preset = "0",
     .offset = offsetof(add_settings, value),
     .help = "number added to each value",
     .live = true},
    {0},
};

const weiri_unit_ops weiri_unit_const_add = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "const_add",
             .summary = "each value plus a constant",
             .formula = "y = x + value.",
             .ezmsg = "math.add.ConstAddTransformer",
             .flags = WEIR_UNIT_IN_PLACE | WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(add_settings),
    .plan = plan,
    .prepare = prepare,
    .run = weiri_elementwise_run,
    .compute = compute,
};
