/* SPDX-License-Identifier: MIT
 *
 * activation.c: sigmoid, its inverse and its logarithm, value by value.
 */
#include "kernel/kernel.h"
#include "unit/elementwise.h"

typedef struct activation_settings {
    int function;
} activation_settings;

typedef struct activation_constants {
    int function;
} activation_constants;

enum { NONE, SIGMOID, EXPIT, LOGIT, LOG_EXPIT };
static const weir_choice functions[] = {{"none", NULL},  {"sigmoid", NULL},   {"expit", NULL},
                                        {"logit", NULL}, {"log_expit", NULL}, {NULL, NULL}};

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    const activation_settings *given = settings;
    plan->constant_bytes = sizeof(activation_constants);
    return given->function == NONE ? WEIR_OK : weiri_units_follow(plan, 0.0, "");
}

static void prepare(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    const activation_settings *given = settings;
    (void)plan;
    *(activation_constants *)constants = (activation_constants){given->function};
}

#define COMPUTE(type_name)                                                                         \
    static void compute_##type_name(int function, const void *in, void *out, size_t count)         \
    {                                                                                              \
        const weiri_kernels *kernels = weiri_kernels_get();                                        \
        if (function == NONE) {                                                                    \
            kernels->copy_##type_name(in, out, count);                                             \
        } else if (function == LOGIT) {                                                            \
            kernels->logit_##type_name(in, out, count);                                            \
        } else if (function == LOG_EXPIT) {                                                        \
            kernels->log_expit_##type_name(in, out, count);                                        \
        } else {                                                                                   \
            kernels->expit_##type_name(in, out, count);                                            \
        }                                                                                          \
    }

COMPUTE(f32)
COMPUTE(f64)

static void compute(const weiri_block *block, const void *in, void *out, size_t first, size_t count)
{
    const activation_constants *constants = block->constants;
    (void)first;
    if (block->in->dtype == WEIR_F32) {
        compute_f32(constants->function, in, out, count);
    } else {
        compute_f64(constants->function, in, out, count);
    }
}

static const weir_setting table[] = {
    {.name = "function",
     .type = WEIR_SETTING_ENUM,
     .preset = "none",
     .choices = functions,
     .offset = offsetof(activation_settings, function),
     .help = "sigmoid and expit: 1 / (1 + exp(-x)); logit: their inverse; log_expit: their "
             "logarithm; none: unchanged",
     .example = "expit"},
    {0},
};

const weiri_unit_ops weiri_unit_activation = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "activation",
             .summary = "sigmoid function, its inverse or its logarithm",
             .formula = "expit: y = 1 / (1 + exp(-x)); logit: y = log(x / (1 - x)), infinite at 0 "
                        "and 1, NaN outside, all treated as missing by the next unit; log_expit: y "
                        "= -log(1 + exp(-x)), exact for large |x| too.",
             .ezmsg = "activation.ActivationTransformer",
             .flags = WEIR_UNIT_IN_PLACE | WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(activation_settings),
    .plan = plan,
    .prepare = prepare,
    .run = weiri_elementwise_run,
    .compute = compute,
};
