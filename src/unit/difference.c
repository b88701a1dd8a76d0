/* SPDX-License-Identifier: MIT
 *
 * difference.c: the first input minus the second, value by value: two branches, or a reference computed in one.
 */
#include "unit/join.h"

static weir_err plan_difference(const void *settings, weiri_unit_plan *plan)
{
    (void)settings;
    return weiri_sum_plan(plan, 2);
}

static void prepare_difference(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    (void)settings;
    weiri_sum_prepare(plan, -1.0, constants);
}

static const weir_setting table[] = {{0}};

const weiri_unit_ops weiri_unit_difference = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "difference",
             .summary = "first input minus the second; a second with one channel is subtracted "
                        "from every channel",
             .formula = "y[n] = first input - second input, frames of the same time.",
             .ezmsg = "math.difference.DifferenceProcessor",
             .checks = "differences of two branches",
             .flags =
                 WEIR_UNIT_JOINS | WEIR_UNIT_COMPLEX | WEIR_UNIT_IN_PLACE | WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .plan = plan_difference,
    .prepare = prepare_difference,
    .run = weiri_sum_run,
};
