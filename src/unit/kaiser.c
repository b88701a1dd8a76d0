/* SPDX-License-Identifier: MIT
 *
 * kaiser.c: linear-phase filters by a Kaiser window, as long as ripple and width need.
 */
#include <math.h>

#include "dsp/fir.h"
#include "unit/kaiser.h"

weir_err
weiri_kaiser_length(const weiri_kaiser_settings *settings, double rate_hz, uint64_t *ret_count)
{
    double ripple = fabs(settings->ripple_db);
    double width = settings->windowed.wn_hz ? settings->width / (0.5 * rate_hz) : settings->width;
    if (ripple < 8.0) {
        return weiri_fail(WEIR_E_CHAIN,
                          "ripple: %.15g dB is below 8 dB, which any Kaiser window reaches",
                          settings->ripple_db);
    }
    if (!(width > 0.0 && width < 1.0)) {
        return weiri_fail(WEIR_E_CHAIN, "width: %.15g is not between 0 and %s", settings->width,
                          "the Nyquist frequency");
    }
    double count = weiri_kaiser_count(ripple, width);
    if (!(count <= WEIRI_TAPS_MAX)) {
        return weiri_fail(WEIR_E_CHAIN,
                          "width: %.15g needs %.0f taps; at most %d are allowed; use a wider "
                          "transition, or lower the rate before it (downsample)",
                          settings->width, count, WEIRI_TAPS_MAX);
    }
    *ret_count = (uint64_t)count | 1;
    return WEIR_OK;
}

weir_err weiri_kaiser_design(const weiri_kaiser_settings *settings,
                             weiri_unit_plan *plan,
                             weiri_kernel_taps *taps)
{
    weiri_fir_bands bands;
    weir_err err = weiri_windowed_bands(&settings->windowed, plan, &bands);
    if (err == WEIR_OK) {
        weiri_window window = weiri_window_kaiser(weiri_kaiser_beta(fabs(settings->ripple_db)));
        weiri_fir_windowed(&bands, &window, false, taps->count, taps->taps);
    }
    return err;
}

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    const weiri_kaiser_settings *given = settings;
    weiri_taps *taps = NULL;
    uint64_t count = 0;
    bool passes =
        given->windowed.cutoff.count == 0 || isnan(given->ripple_db) || isnan(given->width);
    weir_err err = weiri_axis_is_stream(plan->in, given->windowed.axis);
    if (err == WEIR_OK && passes) {
        weiri_notice(plan->notices, "kaiser: without cutoff, ripple and width the signal passes "
                                    "through unchanged");
    } else if (err == WEIR_OK) {
        err = weiri_kaiser_length(given, plan->in->rate_hz, &count);
    }
    if (err == WEIR_OK) {
        err = weiri_taps_make(plan, "width", passes ? 0 : 1, &count, &taps);
    }
    if (err == WEIR_OK && !passes) {
        err = weiri_kaiser_design(given, plan, &taps->kernels[0]);
    }
    if (err != WEIR_OK) {
        return err;
    }
    taps->starts = true;
    return weiri_convolve_plan(plan, taps);
}

static const weir_setting table[] = {
    WEIRI_WINDOWED_SETTINGS(weiri_kaiser_settings, windowed),
    {.name = "ripple",
     .type = WEIR_SETTING_NUMBER,
     .preset = "null",
     .min = -300,
     .max = 300,
     .offset = offsetof(weiri_kaiser_settings, ripple_db),
     .help = "dB: largest deviation of the gain in pass and stop bands is 10^(-ripple / 20)",
     .example = "60"},
    {.name = "width",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_FREQUENCY,
     .preset = "null",
     .offset = offsetof(weiri_kaiser_settings, width),
     .help = "width of the transition from pass to stop band",
     .example = "1 kHz"},
    WEIRI_IGNORED_FIR_SETTINGS,
    {0},
};

const weiri_unit_ops weiri_unit_kaiser = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "kaiser",
             .summary = "linear-phase filter by a Kaiser window, as long as ripple and width need",
             .formula = "y[n] = sum of h[k] x[n-k], k = 0 to N - 1; h as of fir with window "
                        "[kaiser, b] and scale: false; N = (A - 7.95) / (2.285 pi w) + 1, rounded "
                        "up to an odd number, A = ripple, w = width / Nyquist frequency; b = "
                        "0.1102 (A - 8.7) for A > 50, 0.5842 (A - 21)^0.4 + 0.07886 (A - 21) for A "
                        "from 21 to 50, else 0.",
             .source = "Oppenheim and Schafer, Discrete-Time Signal Processing, 3rd ed., section "
                       "7.5.3; agrees with scipy.signal.kaiserord and firwin.",
             .start = WEIRI_CONVOLVE_START,
             .ezmsg = "kaiser.KaiserFilterTransformer",
             .differs = "Sums are taken directly at any length, in float64 (there by FFT from "
                        "fir_fft_min_taps taps).",
             .flags = WEIR_UNIT_STATEFUL | WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(weiri_kaiser_settings),
    .plan = plan,
    .prepare = weiri_convolve_prepare,
    .settle = weiri_convolve_settle,
    .reset = weiri_convolve_reset,
    .run = weiri_convolve_run,
};
