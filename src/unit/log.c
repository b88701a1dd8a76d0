/* SPDX-License-Identifier: MIT
 *
 * log.c: logarithm of each value. What has none gives -inf (|x| < DBL_MIN) or NaN (below
 * that), which the next unit treats as missing (S5).
 */
#include <float.h>
#include <math.h>

#include "kernel/kernel.h"
#include "unit/elementwise.h"

typedef struct log_settings {
    double base;
    bool clip_zero;
} log_settings;

typedef struct log_constants {
    double divisor;
    double least; /* smaller values are clamped to it */
} log_constants;

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    const log_settings *given = settings;
    plan->constant_bytes = sizeof(log_constants);
    if (given->base == 1.0) {
        return weiri_fail(WEIR_E_CHAIN, "base: 1 is not allowed: its logarithm is undefined");
    }
    return weiri_units_follow(plan, 0.0, "");
}

static void prepare(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    const log_settings *given = settings;
    double least = plan->in->dtype == WEIR_F32 ? (double)FLT_MIN : DBL_MIN;
    *(log_constants *)constants = (log_constants){
        .divisor = log(given->base),
        .least = given->clip_zero ? least : (double)-INFINITY,
    };
}

static void compute(const weiri_block *block, const void *in, void *out, size_t first, size_t count)
{
    const log_constants *constants = block->constants;
    (void)first;
    if (block->in->dtype == WEIR_F32) {
        weiri_kernels_get()->log_f32(in, out, count, constants->divisor, constants->least);
    } else {
        weiri_kernels_get()->log_f64(in, out, count, constants->divisor, constants->least);
    }
}

static const weir_setting table[] = {
    {.name = "base",
     .type = WEIR_SETTING_NUMBER,
     .preset = "10",
     .min = 1e-300,
     .max = 1e300,
     .offset = offsetof(log_settings, base),
     .help = "base of the logarithm; not 1",
     .live = true},
    {.name = "clip_zero",
     .type = WEIR_SETTING_BOOL,
     .preset = "false",
     .offset = offsetof(log_settings, clip_zero),
     .help = "clamp inputs to the smallest normal number of the dtype before the logarithm",
     .live = true},
    {0},
};

const weiri_unit_ops weiri_unit_log = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "log",
             .summary = "logarithm of each value",
             .formula =
                 "y = log(x) / log(base). 0 gives -inf, negative values NaN: the next unit treats "
                 "both as missing; with clip_zero the smallest positive number takes their place.",
             .ezmsg = "math.log.LogTransformer",
             .flags = WEIR_UNIT_IN_PLACE | WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(log_settings),
    .plan = plan,
    .prepare = prepare,
    .run = weiri_elementwise_run,
    .compute = compute,
};
