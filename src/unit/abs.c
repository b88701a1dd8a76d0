/* SPDX-License-Identifier: MIT
 *
 * abs.c: magnitude of each value.
 */
#include "kernel/kernel.h"
#include "unit/elementwise.h"

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    (void)settings;
    (void)plan;
    return WEIR_OK;
}

static void compute(const weiri_block *block, const void *in, void *out, size_t first, size_t count)
{
    (void)first;
    if (block->in->dtype == WEIR_F32) {
        weiri_kernels_get()->abs_f32(in, out, count);
    } else {
        weiri_kernels_get()->abs_f64(in, out, count);
    }
}

static const weir_setting table[] = {{0}};

const weiri_unit_ops weiri_unit_abs = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "abs",
             .summary = "magnitude of each value",
             .formula = "y = |x|; the magnitude of complex values.",
             .ezmsg = "math.abs.AbsTransformer",
             .flags = WEIR_UNIT_IN_PLACE | WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .plan = plan,
    .run = weiri_elementwise_run,
    .compute = compute,
};
