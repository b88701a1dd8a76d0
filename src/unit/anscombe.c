/* SPDX-License-Identifier: MIT
 *
 * anscombe.c: counts to values whose variance does not depend on the rate.
 */
#include "kernel/kernel.h"
#include "unit/elementwise.h"

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    (void)settings;
    return weiri_units_follow(plan, 0.0, "");
}

static void compute(const weiri_block *block, const void *in, void *out, size_t first, size_t count)
{
    (void)first;
    if (block->in->dtype == WEIR_F32) {
        weiri_kernels_get()->anscombe_f32(in, out, count);
    } else {
        weiri_kernels_get()->anscombe_f64(in, out, count);
    }
}

static const weir_setting table[] = {{0}};

const weiri_unit_ops weiri_unit_anscombe = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "anscombe",
             .summary = "counts to values of constant variance",
             .before = "- abs",
             .formula = "y = 2 sqrt(x + 3/8). Values below -3/8 give NaN, which the next unit "
                        "treats as missing. For Poisson counts y has a variance of about 1, "
                        "whatever the rate.",
             .source = "F. J. Anscombe, The transformation of Poisson, binomial and "
                       "negative-binomial data, Biometrika 35 (1948)",
             .ezmsg = "math.anscombe.AnscombeTransformer",
             .flags = WEIR_UNIT_IN_PLACE | WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .plan = plan,
    .run = weiri_elementwise_run,
    .compute = compute,
};
