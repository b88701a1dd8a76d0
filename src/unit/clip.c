/* SPDX-License-Identifier: MIT
 *
 * clip.c: values below a lower or above an upper bound become that bound.
 */
#include <math.h>

#include "kernel/kernel.h"
#include "unit/elementwise.h"

typedef struct clip_settings {
    double min, max; /* NAN = none */
} clip_settings;

typedef struct clip_constants {
    double low, high;
} clip_constants;

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    const clip_settings *clip = settings;
    plan->constant_bytes = sizeof(clip_constants);
    if (clip->min > clip->max) {
        return weiri_fail(WEIR_E_CHAIN, "min: %.15g is above max, %.15g", clip->min, clip->max);
    }
    return WEIR_OK;
}

static void prepare(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    const clip_settings *clip = settings;
    (void)plan;
    *(clip_constants *)constants = (clip_constants){
        .low = isnan(clip->min) ? (double)-INFINITY : clip->min,
        .high = isnan(clip->max) ? (double)INFINITY : clip->max,
    };
}

static void compute(const weiri_block *block, const void *in, void *out, size_t first, size_t count)
{
    const clip_constants *clip = block->constants;
    (void)first;
    if (block->in->dtype == WEIR_F32) {
        weiri_kernels_get()->clip_f32(in, out, count, (float)clip->low, (float)clip->high);
    } else {
        weiri_kernels_get()->clip_f64(in, out, count, clip->low, clip->high);
    }
}

static const weir_setting table[] = {
    {.name = "min",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_AMPLITUDE,
     .preset = "null",
     .offset = offsetof(clip_settings, min),
     .help = "lower bound; null = none",
     .live = true},
    {.name = "max",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_AMPLITUDE,
     .preset = "null",
     .offset = offsetof(clip_settings, max),
     .help = "upper bound; null = none",
     .live = true},
    {0},
};

const weiri_unit_ops weiri_unit_clip = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "clip",
             .summary = "limits values to a range",
             .formula = "y = min(max(x, min), max), value by value.",
             .ezmsg = "math.clip.ClipTransformer",
             .flags = WEIR_UNIT_IN_PLACE | WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(clip_settings),
    .plan = plan,
    .prepare = prepare,
    .run = weiri_elementwise_run,
    .compute = compute,
};
