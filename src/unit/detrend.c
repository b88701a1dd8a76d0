/* SPDX-License-Identifier: MIT
 *
 * detrend.c: each value minus the exponentially weighted mean so far, itself included.
 */
#include "unit/ewma_shared.h"

static void run(weiri_block *block, const weiri_work *work)
{
    const weiri_kernels *kernels = weiri_kernels_get();
    weiri_recursive_run(block, work, kernels->detrend_f32, kernels->detrend_f64);
}

const weiri_unit_ops weiri_unit_detrend = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "detrend",
             .summary = "distance from the exponentially weighted moving average",
             .formula = "y[n] = x[n] - m[n], m the output of ewma with the same settings.",
             .start = "As ewma: the first output is 0.",
             .ezmsg = "detrend.DetrendTransformer",
             .differs =
                 "accumulate: false is not allowed: its output would depend on message boundaries.",
             .flags = WEIR_UNIT_STATEFUL | WEIR_UNIT_HOLDS_OVER_GAP | WEIR_UNIT_COLUMNWISE,
             .settings = weiri_ewma_table},
    .settings_bytes = sizeof(weiri_ewma_settings),
    .plan = weiri_ewma_plan_mean,
    .prepare = weiri_ewma_prepare,
    .settle = weiri_ewma_settle,
    .reset = weiri_recursive_reset,
    .run = run,
    .strided = true,
};
