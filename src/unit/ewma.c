/* SPDX-License-Identifier: MIT
 *
 * ewma.c: exponentially weighted moving average, from zero with bias correction (S9).
 */
#include "unit/ewma_shared.h"

static void run(weiri_block *block, const weiri_work *work)
{
    const weiri_kernels *kernels = weiri_kernels_get();
    weiri_recursive_run(block, work, kernels->ewma_f32, kernels->ewma_f64);
}

const weiri_unit_ops weiri_unit_ewma = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "ewma",
             .summary = "exponentially weighted moving average",
             .formula = "m[n] = b m[n-1] + (1 - b) x[n], y[n] = m[n] / (1 - b^(n+1)), b = exp(-1 / "
                        "(time_constant rate)).",
             .start = "m = 0; the division removes the bias of this start.",
             .ezmsg = "ewma.EWMATransformer",
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
