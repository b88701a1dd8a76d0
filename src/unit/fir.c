/* SPDX-License-Identifier: MIT
 *
 * fir.c: linear-phase filters by the window method.
 */
#include <math.h>

#include "dsp/fir.h"
#include "unit/windowed.h"

typedef struct fir_settings {
    int64_t order;
    weiri_windowed_settings windowed;
    double width;
    const weir_value *window;
    bool scale;
} fir_settings;

static weir_err design(const fir_settings *settings, weiri_unit_plan *plan, weiri_taps **ret_taps)
{
    uint64_t count = (uint64_t)settings->order;
    weiri_fir_bands bands;
    weiri_window window;
    weir_err err = weiri_windowed_bands(&settings->windowed, plan, &bands);
    if (err == WEIR_OK && !isnan(settings->width)) {
        double width =
            2.0 * weiri_edge_of(&(weiri_edges){plan->in->rate_hz, settings->windowed.wn_hz},
                                settings->width);
        double beta = weiri_kaiser_beta(weiri_kaiser_attenuation(count, width));
        if (!(settings->width > 0.0) || beta > 700.0) {
            return weiri_fail(WEIR_E_CHAIN, "width: %.15g is %s", settings->width,
                              beta > 700.0 ? "far wider than these taps need; lower order"
                                           : "not above 0");
        }
        window = weiri_window_kaiser(beta);
    } else if (err == WEIR_OK) {
        err = weiri_window_read("window", settings->window, &window);
        if (err == WEIR_OK && settings->window == NULL) {
            weir_value preset = weir_text("window", "hamming");
            err = weiri_window_read("window", &preset, &window);
        }
    }
    if (err == WEIR_OK) {
        err = weiri_window_check("window", &window, count, false);
    }
    if (err == WEIR_OK && count % 2 == 0 && weiri_fir_passes_nyquist(&bands)) {
        err = weiri_fail(WEIR_E_CHAIN,
                         "order: a filter with an even number of taps, %llu, is 0 at the Nyquist "
                         "frequency, which is to pass; use %llu",
                         (unsigned long long)count, (unsigned long long)count + 1);
    }
    if (err == WEIR_OK) {
        err = weiri_taps_make(plan, "order", 1, &count, ret_taps);
    }
    if (err == WEIR_OK) {
        weiri_fir_windowed(&bands, &window, settings->scale, count, (*ret_taps)->kernels[0].taps);
    }
    return err;
}

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    const fir_settings *given = settings;
    weiri_taps *taps = NULL;
    weir_err err = weiri_axis_is_stream(plan->in, given->windowed.axis);
    if (err == WEIR_OK && given->order == 0) {
        weiri_notice(plan->notices, "fir: order 0 passes the signal through unchanged");
        err = weiri_taps_make(plan, "order", 0, NULL, &taps);
    } else if (err == WEIR_OK) {
        err = design(given, plan, &taps);
    }
    if (err != WEIR_OK) {
        return err;
    }
    taps->starts = true;
    return weiri_convolve_plan(plan, taps);
}

static const weir_setting table[] = {
    {.name = "order",
     .type = WEIR_SETTING_INTEGER,
     .preset = "0",
     .min = 0,
     .max = WEIRI_TAPS_MAX,
     .offset = offsetof(fir_settings, order),
     .help = "number of taps; 0 passes the signal through unchanged",
     .example = "63"},
    WEIRI_WINDOWED_SETTINGS(fir_settings, windowed),
    {.name = "width",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_FREQUENCY,
     .preset = "null",
     .offset = offsetof(fir_settings, width),
     .help = "width of the transition: a Kaiser window for it, instead of window"},
    {.name = "window",
     .type = WEIR_SETTING_ANY,
     .preset = "null",
     .offset = offsetof(fir_settings, window),
     .help = "window function, as in scipy.signal.get_window: a name, or a list of name and "
             "parameters ([kaiser, 8.6]); null: hamming"},
    {.name = "scale",
     .type = WEIR_SETTING_BOOL,
     .preset = "true",
     .offset = offsetof(fir_settings, scale),
     .help = "true: gain exactly 1 in the middle of the first pass band (at 0 Hz, or at the "
             "Nyquist frequency, if it reaches there)"},
    WEIRI_IGNORED_FIR_SETTINGS,
    {0},
};

const weiri_unit_ops weiri_unit_fir = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "fir",
             .summary = "linear-phase filter with a given number of taps, by the window method",
             .formula = "y[n] = sum of h[k] x[n-k], k = 0 to order - 1; h = w times the sum over "
                        "pass bands [f, g] of (sin(g t) - sin(f t)) / (pi t), t = k - (order - 1) "
                        "/ 2, f and g in radians per sample, w the window.",
             .source = "Oppenheim and Schafer, Discrete-Time Signal Processing, 3rd ed., section "
                       "7.5; agrees with scipy.signal.firwin.",
             .start = WEIRI_CONVOLVE_START,
             .ezmsg = "firfilter.FIRFilterTransformer",
             .differs = "Sums are taken directly at any length, in float64 (there by FFT from "
                        "fir_fft_min_taps taps).",
             .flags = WEIR_UNIT_STATEFUL | WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(fir_settings),
    .plan = plan,
    .prepare = weiri_convolve_prepare,
    .settle = weiri_convolve_settle,
    .reset = weiri_convolve_reset,
    .run = weiri_convolve_run,
};
