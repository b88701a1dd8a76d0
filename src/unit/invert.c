/* SPDX-License-Identifier: MIT
 *
 * invert.c: reciprocal of each value. That of 0 is infinite, which the next unit treats as missing (S5).
 */
#include "kernel/kernel.h"
#include "unit/elementwise.h"

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    (void)settings;
    return weiri_units_follow(plan, -1.0, "");
}

static void compute(const weiri_block *block, const void *in, void *out, size_t first, size_t count)
{
    (void)first;
    if (block->in->dtype == WEIR_F32) {
        weiri_kernels_get()->reciprocal_f32(in, out, count);
    } else {
        weiri_kernels_get()->reciprocal_f64(in, out, count);
    }
}

static const weir_setting table[] = {{0}};

const weiri_unit_ops weiri_unit_invert = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "invert",
             .summary = "reciprocal of each value",
             .formula = "y = 1 / x, value by value. That of 0 is infinite: the next unit treats it "
                        "as missing.",
             .ezmsg = "math.invert.InvertTransformer",
             .flags = WEIR_UNIT_IN_PLACE | WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .plan = plan,
    .run = weiri_elementwise_run,
    .compute = compute,
};
