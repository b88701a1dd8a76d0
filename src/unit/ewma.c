/* SPDX-License-Identifier: MIT
 *
 * ewma.c: exponentially weighted moving average, from zero with bias correction (S9).
 */
#include <math.h>

#include "unit/ewma_shared.h"

enum { WORDS = 2 }; /* weight, mean */

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    return weiri_ewma_plan(settings, plan, WORDS);
}

static void prepare(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    weiri_ewma_prepare(settings, plan, constants);
}

/* Weights of samples before a frame, k frames later: (beta^(k + 1) - beta^(n + 1)) / (1 - beta^(n + 1)) in all,
 * at most beta^(k + 1), with beta = exp(-1 / (time constant x rate)). */
static uint64_t settle(const void *settings, const weiri_unit_plan *plan, double tolerance)
{
    const weiri_ewma_settings *given = settings;
    if (given->passthrough || tolerance >= 1.0) {
        return 0;
    }
    double frames = ceil(-log(tolerance) * given->time_constant * plan->in->rate_hz) - 1.0;
    return frames < 0x1p63 ? (uint64_t)fmax(frames, 0.0)
                           : WEIR_SETTLES_NEVER; /* a tolerance of 0 too */
}

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
    .plan = plan,
    .prepare = prepare,
    .settle = settle,
    .reset = weiri_recursive_reset,
    .run = run,
};
