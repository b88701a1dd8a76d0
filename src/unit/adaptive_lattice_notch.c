/* SPDX-License-Identifier: MIT
 *
 * adaptive_lattice_notch.c: a notch that follows the strongest sinusoid of each channel.
 */
#include <math.h>

#include "unit/iir.h"

enum { WORDS = 5 };
enum { SIGNAL, FREQUENCY };

typedef struct notch_settings {
    double gamma, mu, eta, initial_hz;
    bool chunkwise;
    int output;
    const char *axis;
} notch_settings;

/* Where init_notch_freq is not given: ezmsg-sigproc's, 0.0718 of the rate. */
#define INITIAL 0.07178314656435313

static double initial_of(const notch_settings *settings, double rate_hz)
{
    return isnan(settings->initial_hz) ? INITIAL : settings->initial_hz / rate_hz;
}

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    const notch_settings *given = settings;
    weir_err err = weiri_axis_is_stream(plan->in, given->axis);
    if (err == WEIR_OK && given->chunkwise) {
        err = weiri_fail(WEIR_E_CHAIN,
                         "chunkwise: true would update once per message, so the output would "
                         "depend on message boundaries; only false is allowed");
    }
    double nyquist_hz = plan->in->rate_hz / 2.0;
    if (err == WEIR_OK && given->initial_hz >= nyquist_hz) {
        err = weiri_fail(WEIR_E_CHAIN,
                         "init_notch_freq: %.15g Hz is not below the Nyquist frequency, %.15g Hz",
                         given->initial_hz, nyquist_hz);
    }
    if (err == WEIR_OK && given->output == FREQUENCY) {
        err = weiri_units_follow(plan, 0.0, "Hz");
    }
    if (err != WEIR_OK) {
        return err;
    }
    plan->delay_frames = (double)NAN;
    return weiri_recursive_plan(plan, WORDS, sizeof(weiri_lattice_params), false);
}

static void prepare(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    const notch_settings *given = settings;
    double rate_hz = plan->in->rate_hz;
    weiri_lattice_params params = {
        .initial = -cos(2.0 * M_PI * initial_of(given, rate_hz)),
        .gamma = given->gamma,
        .eta = given->eta,
        .mu = given->mu,
        .hz = given->output == FREQUENCY ? rate_hz / (2.0 * M_PI) : 0.0,
    };
    weiri_recursive_prepare(plan, &params, sizeof params, constants);
}

/* Reflection coefficients to frequencies. */
static void to_hz(const weiri_block *block, const weiri_work *work, double hz)
{
    size_t columns = (size_t)block->columns;
    size_t stride = work->out_stride > 0 ? work->out_stride : columns;
    bool f32 = block->in->dtype == WEIR_F32;
    for (size_t frame = 0; frame < work->produce; frame++) {
        float *floats = (float *)work->out + frame * stride;
        double *doubles = (double *)work->out + frame * stride;
        for (size_t i = 0; f32 && i < columns; i++) {
            floats[i] = (float)(hz * acos(-(double)floats[i]));
        }
        for (size_t i = 0; !f32 && i < columns; i++) {
            doubles[i] = hz * acos(-doubles[i]);
        }
    }
}

static void run(weiri_block *block, const weiri_work *work)
{
    const weiri_kernels *kernels = weiri_kernels_get();
    const weiri_recursive *constants = block->constants;
    double hz = constants->params.lattice.hz;
    if (hz > 0.0) {
        weiri_recursive_run(block, work, kernels->lattice_reflection_f32,
                            kernels->lattice_reflection_f64);
        to_hz(block, work, hz);
    } else {
        weiri_recursive_run(block, work, kernels->lattice_f32, kernels->lattice_f64);
    }
}

static const weir_choice outputs[] = {{.name = "signal"}, {.name = "frequency"}, {0}};

static const weir_setting table[] = {
    {.name = "gamma",
     .type = WEIR_SETTING_NUMBER,
     .preset = "0.995",
     .min = 0,
     .max = 0.999999999,
     .offset = offsetof(notch_settings, gamma),
     .help = "radius of the poles, squared; nearer 1 is a narrower notch; a change while running "
             "keeps the state",
     .live = true},
    {.name = "mu",
     .type = WEIR_SETTING_NUMBER,
     .preset = "0.99",
     .min = 0,
     .max = 1,
     .offset = offsetof(notch_settings, mu),
     .help = "smoothing of the frequency: the part of the old value that each frame keeps",
     .live = true},
    {.name = "eta",
     .type = WEIR_SETTING_NUMBER,
     .preset = "0.99",
     .min = 0,
     .max = 1,
     .offset = offsetof(notch_settings, eta),
     .help = "forgetting of the correlations: the part of the old value that each frame keeps",
     .live = true},
    {.name = "init_notch_freq",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_FREQUENCY,
     .preset = "null",
     .min = 0,
     .max = 1e9,
     .offset = offsetof(notch_settings, initial_hz),
     .help = "frequency at the start; default 0.0718 of the rate",
     .example = "60 Hz"},
    {.name = "output",
     .type = WEIR_SETTING_ENUM,
     .preset = "signal",
     .choices = outputs,
     .offset = offsetof(notch_settings, output),
     .help = "signal: the filtered signal; frequency: the notch's frequency in Hz"},
    {.name = "chunkwise",
     .type = WEIR_SETTING_BOOL,
     .preset = "false",
     .offset = offsetof(notch_settings, chunkwise),
     .help = "only false is allowed: with true the output would depend on message boundaries"},
    WEIRI_AXIS_SETTING(notch_settings, axis),
    {0},
};

const weiri_unit_ops weiri_unit_adaptive_lattice_notch = {
    .ops_size = sizeof(weiri_unit_ops),
    .info =
        {.name = "adaptive_lattice_notch",
         .summary = "notch that follows the strongest sinusoid of each channel",
         .formula =
             "s[n] = x[n] - k (1 + gamma) s[n-1] - gamma s[n-2]; y[n] = s[n] + 2 k s[n-1] + "
             "s[n-2]; then p = eta p + (1 - eta) s[n-1] (s[n] + s[n-2]), q = eta q + 2 (1 - eta) "
             "s[n-1]^2, k = mu k + (1 - mu) clip(-p / (q + 1e-8), -1, 1). The frequency is "
             "acos(-k) rate / (2 pi).",
         .source = "BioMedical Engineering OnLine 13:170, 2014 (doi 10.1186/1475-925X-13-170), the "
                   "source that ezmsg-sigproc names.",
         .start = "s, p and q are 0, k is that of init_notch_freq.",
         .ezmsg = "adaptive_lattice_notch.AdaptiveLatticeNotchFilterTransformer",
         .differs = "The frequency, which there is a coordinate axis beside the signal, is an "
                    "output of its own (output: frequency). chunkwise: true is not allowed: its "
                    "output would depend on message boundaries.",
         .checks = "values of ezmsg-sigproc",
         .flags = WEIR_UNIT_STATEFUL | WEIR_UNIT_COLUMNWISE,
         .settings = table},
    .settings_bytes = sizeof(notch_settings),
    .plan = plan,
    .prepare = prepare,
    .reset = weiri_recursive_reset,
    .run = run,
    .strided = true,
};
