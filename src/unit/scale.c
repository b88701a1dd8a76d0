/* SPDX-License-Identifier: MIT
 *
 * scale.c: each value times one factor.
 */
#include "kernel/kernel.h"
#include "unit/elementwise.h"

typedef struct scale_settings {
    double scale;
} scale_settings;

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    (void)settings;
    (void)plan;
    return WEIR_OK;
}

static void compute(const weiri_unit *unit, const void *in, void *out, size_t first, size_t count)
{
    const scale_settings *settings = unit->settings;
    (void)first;
    if (unit->in->dtype == WEIR_F32) {
        weiri_kernels_get()->scale_f32(in, out, count, settings->scale);
    } else {
        weiri_kernels_get()->scale_f64(in, out, count, settings->scale);
    }
}

static const weir_setting table[] = {
    {.name = "scale",
     .type = WEIR_SETTING_NUMBER,
     .preset = "1",
     .offset = offsetof(scale_settings, scale),
     .help = "the factor"},
    {0},
};

const weiri_unit_ops weiri_unit_scale = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "scale",
             .summary = "each value times one factor",
             .flags = WEIR_UNIT_IN_PLACE | WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(scale_settings),
    .plan = plan,
    .process = weiri_elementwise_process,
    .compute = compute,
};
