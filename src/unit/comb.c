/* SPDX-License-Identifier: MIT
 *
 * comb.c: a notch or a peak at a frequency and each of its harmonics, one second-order section each.
 */
#include <float.h>
#include <math.h>

#include "unit/iir.h"

typedef struct comb_settings {
    double fundamental_hz, q_factor;
    int64_t harmonics;
    int peaks, proportional;
    const char *axis;
} comb_settings;

/* The section of a notch or peak at w rad a frame whose half-power points are `width` rad a frame apart. */
static void add(weiri_sos_params *sections, double w, double width, bool peak)
{
    double beta = tan(width / 2.0), gain = 1.0 / (1.0 + beta);
    double *c = sections->coefs[sections->sections++];
    c[0] = peak ? 0.0 : -2.0 * cos(w);
    c[1] = peak ? -1.0 : 1.0;
    c[2] = 2.0 * gain * cos(w);
    c[3] = 1.0 - 2.0 * gain;
    sections->gain *= peak ? beta * gain : gain;
}

/* Every error of the settings; no sections where all harmonics are above the Nyquist frequency. */
static weir_err
design(const comb_settings *settings, const weir_spec *in, weiri_sos_params *ret_sections)
{
    weir_err err = weiri_axis_is_stream(in, settings->axis);
    if (err != WEIR_OK) {
        return err;
    }
    bool peak = settings->peaks != 0;
    *ret_sections =
        (weiri_sos_params){.kind = peak ? WEIRI_SOS_BAND : WEIRI_SOS_CIRCLE, .gain = 1.0};
    for (int64_t k = 1; k <= settings->harmonics; k++) {
        double hz = settings->fundamental_hz * (double)k;
        double q = settings->q_factor * (settings->proportional != 0 ? (double)k : 1.0);
        if (hz * (1.0 + 4.0 * DBL_EPSILON) >= in->rate_hz / 2.0) { /* k f rounds */
            break;
        }
        double w = 2.0 * M_PI * hz / in->rate_hz, width = w / q;
        if (width >= M_PI) {
            return weiri_fail(WEIR_E_CHAIN,
                              "q_factor: a bandwidth of %.15g Hz (%.15g Hz / %.15g) is not below "
                              "the Nyquist frequency, %.15g Hz",
                              hz / q, hz, q, in->rate_hz / 2.0);
        }
        /* S8: cosine and radius round by DBL_EPSILON. That must move the frequency, and change the width, by no more
         * than a hundredth of the width. */
        if (DBL_EPSILON > 0.01 * width * sin(w) || DBL_EPSILON > 0.01 * width) {
            return weiri_fail(WEIR_E_CHAIN,
                              "q_factor: float64 cannot represent a %s of %.3g Hz at %.15g Hz for "
                              "%.15g Hz; lower q_factor, or the rate before it (downsample)",
                              peak ? "peak" : "notch", hz / q, hz, in->rate_hz);
        }
        add(ret_sections, w, width, peak);
    }
    return WEIR_OK;
}

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    const comb_settings *given = settings;
    weiri_sos_params sections;
    weir_err err = design(given, plan->in, &sections);
    if (err == WEIR_OK && sections.sections == 0) {
        weiri_notice(plan->notices,
                     "comb: %.15g Hz is not below the Nyquist frequency, %.15g Hz: passes the "
                     "signal through unchanged",
                     given->fundamental_hz, plan->in->rate_hz / 2.0);
    } else if (err == WEIR_OK && sections.sections < (size_t)given->harmonics) {
        weiri_notice(plan->notices,
                     "comb: %zu of %lld harmonics are below the Nyquist frequency; the others are "
                     "left out",
                     sections.sections, (long long)given->harmonics);
    }
    return err == WEIR_OK ? weiri_iir_plan(plan, &sections) : err;
}

static const weir_choice kinds[] = {{.name = "notch"}, {.name = "peak"}, {0}};
static const weir_choice scalings[] = {{.name = "constant"}, {.name = "proportional"}, {0}};

static const weir_setting table[] = {
    {.name = "fundamental_freq",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_FREQUENCY,
     .preset = "60 Hz",
     .min = 1e-9,
     .max = 1e9,
     .offset = offsetof(comb_settings, fundamental_hz),
     .help = "lowest frequency; a change while running keeps the filter's state",
     .example = "1 kHz",
     .live = true},
    {.name = "num_harmonics",
     .type = WEIR_SETTING_INTEGER,
     .preset = "3",
     .min = 1,
     .max = WEIRI_SOS_MAX,
     .offset = offsetof(comb_settings, harmonics),
     .help = "number of frequencies: 1 to num_harmonics times the lowest; those not below the "
             "Nyquist frequency are left out"},
    {.name = "q_factor",
     .type = WEIR_SETTING_NUMBER,
     .preset = "35",
     .min = 1e-3,
     .max = 1e9,
     .offset = offsetof(comb_settings, q_factor),
     .help = "frequency divided by the width at half power; a change while running keeps the "
             "filter's state",
     .example = "5",
     .live = true},
    {.name = "filter_type",
     .type = WEIR_SETTING_ENUM,
     .preset = "notch",
     .choices = kinds,
     .offset = offsetof(comb_settings, peaks),
     .help = "notch: remove these frequencies; peak: the product of one peak at each of them"},
    {.name = "quality_scaling",
     .type = WEIR_SETTING_ENUM,
     .preset = "constant",
     .choices = scalings,
     .offset = offsetof(comb_settings, proportional),
     .help = "constant: the same q_factor for all, so width grows with frequency; proportional: "
             "q_factor times the harmonic's number, so all have the same width"},
    WEIRI_AXIS_SETTING(comb_settings, axis),
    WEIRI_COEF_TYPE_IGNORED,
    WEIRI_IGNORED_FILTER_SETTINGS,
    {0},
};

const weiri_unit_ops weiri_unit_comb = {
    .ops_size = sizeof(weiri_unit_ops),
    .info =
        {.name = "comb",
         .summary = "notches (or peaks) at a frequency and its harmonics, as for line noise",
         .formula =
             "For each k f below the Nyquist frequency one section g (1 - 2 cos(w) z^-1 + z^-2) / "
             "(1 - 2 g cos(w) z^-1 + (2 g - 1) z^-2), w = 2 pi k f / rate, g = 1 / (1 + tan(w / "
             "(2 q_factor))); peak: numerator (1 - g) (1 - z^-2).",
         .source = "Orfanidis, Introduction to Signal Processing, section 11.3; agrees with "
                   "scipy.signal.iirnotch and iirpeak.",
         .start = "The steady state of a constant signal equal to the channel's first sample that "
                  "is not missing.",
         .ezmsg = "combfilter.CombFilterTransformer",
         .differs = "Always second-order sections in float64, whatever coef_type is; a bandwidth "
                    "that reaches the Nyquist frequency or is below what float64 can represent is "
                    "an error.",
         .flags = WEIR_UNIT_STATEFUL | WEIR_UNIT_COLUMNWISE,
         .settings = table},
    .settings_bytes = sizeof(comb_settings),
    .plan = plan,
    .prepare = weiri_iir_prepare,
    .settle = weiri_iir_settle,
    .reset = weiri_recursive_reset,
    .run = weiri_iir_run,
    .strided = true,
    .changed = weiri_recursive_changed,
};
