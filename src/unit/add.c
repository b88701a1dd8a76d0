/* SPDX-License-Identifier: MIT
 *
 * add.c: the sum of two or more inputs, value by value.
 */
#include "unit/join.h"

static weir_err plan_add(const void *settings, weiri_unit_plan *plan)
{
    (void)settings;
    return weiri_sum_plan(plan, WEIRI_INPUTS_MAX);
}

static void prepare_add(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    (void)settings;
    weiri_sum_prepare(plan, 1.0, constants);
}

static const weir_setting table[] = {{0}};

const weiri_unit_ops weiri_unit_add = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "add",
             .summary = "sum of its inputs, value by value; an input with one channel is added to "
                        "every channel",
             .formula = "y[n] = the sum of the inputs' frames of the same time.",
             .ezmsg = "math.add.AddProcessor",
             .checks = "sums of two branches",
             .flags =
                 WEIR_UNIT_JOINS | WEIR_UNIT_COMPLEX | WEIR_UNIT_IN_PLACE | WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .plan = plan_add,
    .prepare = prepare_add,
    .run = weiri_sum_run,
};
