/* SPDX-License-Identifier: MIT
 *
 * inverse_anscombe.c: from values of anscombe back to counts, or to rates where the values were smoothed.
 */
#include "kernel/kernel.h"
#include "unit/elementwise.h"

typedef struct inverse_settings {
    int method;
} inverse_settings;

typedef struct inverse_constants {
    int method;
} inverse_constants;

enum { EXACT, ASYMPTOTIC, ALGEBRAIC };
static const weir_choice methods[] = {
    {"exact", NULL}, {"asymptotic", NULL}, {"algebraic", NULL}, {NULL, NULL}};

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    (void)settings;
    plan->constant_bytes = sizeof(inverse_constants);
    return weiri_units_follow(plan, 0.0, "");
}

static void prepare(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    const inverse_settings *given = settings;
    (void)plan;
    *(inverse_constants *)constants = (inverse_constants){given->method};
}

static void compute(const weiri_block *block, const void *in, void *out, size_t first, size_t count)
{
    const weiri_kernels *kernels = weiri_kernels_get();
    int method = ((const inverse_constants *)block->constants)->method;
    double value = method == ALGEBRAIC ? -0.375 : -0.125;
    (void)first;
    if (block->in->dtype == WEIR_F32 && method == EXACT) {
        kernels->inverse_anscombe_f32(in, out, count);
    } else if (block->in->dtype == WEIR_F32) {
        kernels->parabola_f32(in, out, count, 0.25, value);
    } else if (method == EXACT) {
        kernels->inverse_anscombe_f64(in, out, count);
    } else {
        kernels->parabola_f64(in, out, count, 0.25, value);
    }
}

static const weir_setting table[] = {
    {.name = "method",
     .type = WEIR_SETTING_ENUM,
     .preset = "exact",
     .choices = methods,
     .offset = offsetof(inverse_settings, method),
     .help = "exact: without bias for the mean of smoothed values; asymptotic: without bias for "
             "high rates; algebraic: restores the counts that anscombe was given",
     .live = true},
    {0},
};

const weiri_unit_ops weiri_unit_inverse_anscombe = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "inverse_anscombe",
             .summary = "from values of anscombe back to counts or rates",
             .before = "- abs\n- anscombe",
             .formula = "algebraic: y = x^2/4 - 3/8; asymptotic: y = x^2/4 - 1/8; exact: y = d^2/4 "
                        "+ a/(4 d) - 11/(8 d^2) + 5 a/(8 d^3) - 1/8, a = sqrt(3/2), d = max(x, 2 "
                        "sqrt(3/8)), so that 0 is the smallest result.",
             .source = "M. Makitalo, A. Foi, A closed-form approximation of the exact unbiased "
                       "inverse of the Anscombe variance-stabilizing transformation, IEEE "
                       "Transactions on Image Processing 20 (2011)",
             .ezmsg = "math.anscombe.InverseAnscombeTransformer",
             .flags = WEIR_UNIT_IN_PLACE | WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(inverse_settings),
    .plan = plan,
    .prepare = prepare,
    .run = weiri_elementwise_run,
    .compute = compute,
};
