/* SPDX-License-Identifier: MIT
 *
 * pow.c: each value raised to a constant power. 2, 0.5, 1 and -1 are a product, a root, the value and a
 * quotient, each rounded once in the stream's dtype; all else is libm's pow in float64.
 */
#include "kernel/kernel.h"
#include "unit/elementwise.h"

typedef struct pow_settings {
    double exponent;
} pow_settings;

typedef struct pow_constants {
    double exponent;
} pow_constants;

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    plan->constant_bytes = sizeof(pow_constants);
    double exponent = ((const pow_settings *)settings)->exponent;
    return exponent == 1.0 ? WEIR_OK : weiri_units_follow(plan, exponent, "");
}

static void prepare(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    const pow_settings *given = settings;
    (void)plan;
    *(pow_constants *)constants = (pow_constants){given->exponent};
}

static void compute(const weiri_block *block, const void *in, void *out, size_t first, size_t count)
{
    const weiri_kernels *kernels = weiri_kernels_get();
    double exponent = ((const pow_constants *)block->constants)->exponent;
    (void)first;
    if (block->in->dtype == WEIR_F32) {
        if (exponent == 2.0) {
            kernels->square_f32(in, out, count);
        } else if (exponent == 0.5) {
            kernels->root_f32(in, out, count);
        } else if (exponent == 1.0) {
            kernels->copy_f32(in, out, count);
        } else if (exponent == -1.0) {
            kernels->reciprocal_f32(in, out, count);
        } else {
            kernels->power_f32(in, out, count, exponent);
        }
    } else {
        if (exponent == 2.0) {
            kernels->square_f64(in, out, count);
        } else if (exponent == 0.5) {
            kernels->root_f64(in, out, count);
        } else if (exponent == 1.0) {
            kernels->copy_f64(in, out, count);
        } else if (exponent == -1.0) {
            kernels->reciprocal_f64(in, out, count);
        } else {
            kernels->power_f64(in, out, count, exponent);
        }
    }
}

static const weir_setting table[] = {
    {.name = "exponent",
     .type = WEIR_SETTING_NUMBER,
     .preset = "2",
     .offset = offsetof(pow_settings, exponent),
     .help = "exponent; 2 squares each value",
     .live = true},
    {0},
};

const weiri_unit_ops weiri_unit_pow = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "pow",
             .summary = "each value raised to a constant power",
             .formula = "y = x^exponent, value by value.",
             .ezmsg = "math.pow.PowTransformer",
             .differs = "Physical units follow: uV becomes uV^2.",
             .flags = WEIR_UNIT_IN_PLACE | WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(pow_settings),
    .plan = plan,
    .prepare = prepare,
    .run = weiri_elementwise_run,
    .compute = compute,
};
