/* SPDX-License-Identifier: MIT
 *
 * adaptive_standard_scaler.c: each value minus the exponentially weighted mean so far, in units of
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

static void run(weiri_block *block, const weiri_work *work)
{
    const weiri_kernels *kernels = weiri_kernels_get();
    weiri_recursive_run(block, work, kernels->standardize_f32, kernels->standardize_f64);
}

const weiri_unit_ops weiri_unit_adaptive_standard_scaler = {
    .ops_size = sizeof(weiri_unit_ops),
    .info =
        {.name = "adaptive_standard_scaler",
         .summary = "distance from the running mean in running standard deviations",
         .formula = "y[n] = (x[n] - m[n]) / sqrt(v[n]); with d = x[n] - m[n-1] and the "
                    "bias-corrected weight a[n] of the newest sample m[n] = m[n-1] + a d, v[n] = "
                    "(1 - a) (v[n-1] + a d^2). 0 while v is 0.",
         .start = "Means of 0 with bias correction, as ewma.",
         .ezmsg = "scaler.AdaptiveStandardScalerTransformer",
         .source =
             "West, Communications of the ACM 22(9), 1979 (weighted update of mean and variance).",
         .differs =
             "The variance is updated from the distance to the mean; ezmsg-sigproc subtracts two "
             "large numbers, mean of x^2 - mean^2, which loses digits where the offset is large.",
         .flags = WEIR_UNIT_STATEFUL | WEIR_UNIT_HOLDS_OVER_GAP | WEIR_UNIT_COLUMNWISE,
         .settings = weiri_ewma_table},
    .settings_bytes = sizeof(weiri_ewma_settings),
    .plan = plan,
    .prepare = weiri_ewma_prepare,
    .reset = weiri_recursive_reset,
    .run = run,
    .strided = true,
};
