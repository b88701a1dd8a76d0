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

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    const clip_settings *clip = settings;
    (void)plan;
    if (clip->min > clip->max) {
        return weiri_fail(WEIR_E_CHAIN, "min: %.15g is above max, %.15g", clip->min, clip->max);
    }
    return WEIR_OK;
}

static void compute(const weiri_unit *unit, const void *in, void *out, size_t first, size_t count)
{
    const clip_settings *clip = unit->settings;
    double low = isnan(clip->min) ? (double)-INFINITY : clip->min;
    double high = isnan(clip->max) ? (double)INFINITY : clip->max;
    (void)first;
    if (unit->in->dtype == WEIR_F32) {
        weiri_kernels_get()->clip_f32(in, out, count, (float)low, (float)high);
    } else {
        weiri_kernels_get()->clip_f64(in, out, count, low, high);
    }
}

static const weir_setting table[] = {
    {.name = "min",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_AMPLITUDE,
     .preset = "null",
     .offset = offsetof(clip_settings, min),
     .help = "lower bound; null = none"},
    {.name = "max",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_AMPLITUDE,
     .preset = "null",
     .offset = offsetof(clip_settings, max),
     .help = "upper bound; null = none"},
    {0},
};

const weiri_unit_ops weiri_unit_clip = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "clip",
             .summary = "keeps values within bounds",
             .flags = WEIR_UNIT_IN_PLACE | WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(clip_settings),
    .plan = plan,
    .process = weiri_elementwise_process,
    .compute = compute,
};
