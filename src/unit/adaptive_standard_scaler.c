/* SPDX-License-Identifier: MIT
 *
 * adaptive_standard_scaler.c: each value less the exponentially weighted mean so far, in units of
 * the exponentially weighted standard deviation so far; 0 while there is no deviation.
 */
#include "unit/ewma_shared.h"

enum { WORDS = 3 }; /* weight, mean, variance */

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    const weiri_ewma_settings *given = settings;
    weir_err err = weiri_ewma_plan(given, plan, WORDS);
    return err == WEIR_OK && !given->passthrough ? weiri_units_follow(plan, 0.0, "") : err;
}

static void init(weiri_unit *unit)
{
    const weiri_kernels *kernels = weiri_kernels_get();
    weiri_ewma_init(unit, kernels->standardize_f32, kernels->standardize_f64, WORDS);
}

const weiri_unit_ops weiri_unit_adaptive_standard_scaler = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "adaptive_standard_scaler",
             .summary = "distance from the running mean in running standard deviations",
             .flags = WEIR_UNIT_STATEFUL | WEIR_UNIT_HOLDS_OVER_GAP | WEIR_UNIT_COLUMNWISE,
             .settings = weiri_ewma_table},
    .settings_bytes = sizeof(weiri_ewma_settings),
    .plan = plan,
    .init = init,
    .process = weiri_ewma_process,
    .reset = weiri_ewma_reset,
};
