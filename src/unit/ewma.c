/* SPDX-License-Identifier: MIT
 *
 * ewma.c: exponentially weighted moving average, from zero with bias correction (S9).
 */
#include "unit/ewma_shared.h"

enum { WORDS = 2 }; /* weight, mean */

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    return weiri_ewma_plan(settings, plan, WORDS);
}

static void init(weiri_unit *unit)
{
    const weiri_kernels *kernels = weiri_kernels_get();
    weiri_ewma_init(unit, kernels->ewma_f32, kernels->ewma_f64, WORDS);
}

const weiri_unit_ops weiri_unit_ewma = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "ewma",
             .summary = "exponentially weighted moving average",
             .flags = WEIR_UNIT_STATEFUL | WEIR_UNIT_HOLDS_OVER_GAP | WEIR_UNIT_COLUMNWISE,
             .settings = weiri_ewma_table},
    .settings_bytes = sizeof(weiri_ewma_settings),
    .plan = plan,
    .init = init,
    .process = weiri_ewma_process,
    .reset = weiri_ewma_reset,
};
