/* SPDX-License-Identifier: MIT
 *
 * butterworth.c: Butterworth filters: low-pass, high-pass, band-pass, band-stop.
 */
#include <math.h>
#include <stdio.h>

#include "dsp/design.h"
#include "dsp/sos.h"
#include "unit/recursive.h"

typedef struct butterworth_settings {
    int64_t order;
    double cuton, cutoff; /* NAN = not given */
    bool wn_hz;
    const char *axis;
} butterworth_settings;

/* What the settings mean at a rate; edges in fractions of it. */
typedef struct filter {
    weiri_band band;
    double low, high;
} filter;

static double edge(const butterworth_settings *settings, double frequency, double rate_hz)
{
    return settings->wn_hz ? frequency / rate_hz : frequency / 2.0;
}

static filter filter_of(const butterworth_settings *settings, double rate_hz)
{
    double cuton = edge(settings, settings->cuton, rate_hz);
    double cutoff = edge(settings, settings->cutoff, rate_hz);
    if (isnan(cuton)) {
        return (filter){WEIRI_LOWPASS, 0.25, cutoff};
    }
    if (isnan(cutoff)) {
        return (filter){WEIRI_HIGHPASS, cuton, 0.25};
    }
    return cuton < cutoff ? (filter){WEIRI_BANDPASS, cuton, cutoff}
                          : (filter){WEIRI_BANDSTOP, cutoff, cuton};
}

static weir_err
check_edge(const butterworth_settings *settings, const char *name, double frequency, double rate_hz)
{
    const char *unit = settings->wn_hz ? " Hz" : "";
    double limit = settings->wn_hz ? rate_hz / 2.0 : 1.0;
    if (frequency <= 0.0) {
        return weiri_fail(WEIR_E_CHAIN, "%s: %.15g%s is not above 0", name, frequency, unit);
    }
    if (frequency >= limit) {
        return weiri_fail(WEIR_E_CHAIN, "%s: %.15g%s is %s the Nyquist frequency, %.15g%s", name,
                          frequency, unit, frequency > limit ? "above" : "not below", limit, unit);
    }
    return WEIR_OK;
}

/* The response may be off by so much, relative to it: more than any use notices, and far below what a rounded
 * pole does soon after. */
#define ERROR_MOST 0.01

/* The sections of settings that are in range; how far they are from the design. */
static double
design(const butterworth_settings *settings, double rate_hz, weiri_sos_params *ret_sections)
{
    filter wanted = filter_of(settings, rate_hz);
    weiri_zpk prototype = weiri_butterworth_prototype((int)settings->order);
    weiri_design_sections(&prototype, wanted.band, wanted.low, wanted.high, ret_sections);
    return weiri_design_error(&prototype, wanted.band, wanted.low, wanted.high, ret_sections);
}

/* S8: an edge so near 0 Hz or the Nyquist frequency that float64 does not hold the poles' distance from it. */
static weir_err check_design(const butterworth_settings *settings, double rate_hz, double error)
{
    if (error <= ERROR_MOST) {
        return WEIR_OK;
    }
    const char *name = isnan(settings->cuton) ? "cutoff" : "cuton";
    double edge_hz = isnan(settings->cuton) ? settings->cutoff : settings->cuton;
    char how[64] = "it would not be stable";
    if (isfinite(error)) {
        snprintf(how, sizeof how, "its response would be off by %.2g %%", 100.0 * error);
    }
    return weiri_fail(
        WEIR_E_CHAIN,
        "%s: float64 cannot represent a filter of order %d with an edge at %.15g%s for %.15g "
        "Hz: %s; lower the rate before it (downsample), or the order",
        name, (int)settings->order, edge_hz, settings->wn_hz ? " Hz" : "", rate_hz, how);
}

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    const butterworth_settings *given = settings;
    double rate_hz = plan->in->rate_hz;
    weir_err err = weiri_axis_is_stream(plan->in, given->axis);
    if (err == WEIR_OK && given->order == 0) {
        weiri_notice(plan->notices, "butterworth: order 0 passes the signal through unchanged");
        return weiri_recursive_plan(plan, 0, false);
    }
    if (err == WEIR_OK && isnan(given->cuton) && isnan(given->cutoff)) {
        err =
            weiri_fail(WEIR_E_CHAIN,
                       "cutoff: neither cuton (high-pass) nor cutoff (low-pass) is given; order: 0 "
                       "passes the signal through unchanged");
    }
    if (err == WEIR_OK && !isnan(given->cuton)) {
        err = check_edge(given, "cuton", given->cuton, rate_hz);
    }
    if (err == WEIR_OK && !isnan(given->cutoff)) {
        err = check_edge(given, "cutoff", given->cutoff, rate_hz);
    }
    if (err == WEIR_OK && given->cuton == given->cutoff) {
        err = weiri_fail(WEIR_E_CHAIN, "cutoff: %.15g%s equals cuton: the band is empty",
                         given->cutoff, given->wn_hz ? " Hz" : "");
    }
    if (err == WEIR_OK) {
        weiri_sos_params sections;
        err = check_design(given, rate_hz, design(given, rate_hz, &sections));
        plan->delay_frames = (double)NAN;
        err = err == WEIR_OK ? weiri_recursive_plan(plan, 2 * sections.sections, true) : err;
    }
    return err;
}

static void prepare(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    const butterworth_settings *given = settings;
    if (given->order == 0) {
        weiri_recursive_prepare(plan, constants);
    } else {
        weiri_sos_params sections;
        (void)design(given, plan->in->rate_hz, &sections);
        weiri_recursive_sections(plan, &sections, constants);
    }
}

static uint64_t settle(const void *settings, const weiri_unit_plan *plan, double tolerance)
{
    const butterworth_settings *given = settings;
    if (given->order == 0) {
        return 0;
    }
    weiri_sos_params sections;
    (void)design(given, plan->in->rate_hz, &sections);
    return weiri_sos_settle(&sections, tolerance);
}

static void run(weiri_block *block, const weiri_work *work)
{
    const weiri_kernels *kernels = weiri_kernels_get();
    weiri_recursive_run(block, work, kernels->sos_f32, kernels->sos_f64);
}

static const weir_setting table[] = {
    {.name = "order",
     .type = WEIR_SETTING_INTEGER,
     .min = 0,
     .max = WEIRI_ORDER_MAX,
     .offset = offsetof(butterworth_settings, order),
     .help = "prototype low-pass order; 0 passes the signal through unchanged",
     .example = "4"},
    {.name = "cuton",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_FREQUENCY,
     .preset = "null",
     .offset = offsetof(butterworth_settings, cuton),
     .help =
         "lower edge: alone a high-pass; below cutoff a band-pass, above it a band-stop; a change "
         "while running keeps the filter's state",
     .example = "300 Hz",
     .live = true},
    {.name = "cutoff",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_FREQUENCY,
     .preset = "null",
     .offset = offsetof(butterworth_settings, cutoff),
     .help = "upper edge: alone a low-pass; a change while running keeps the filter's state",
     .example = "6 kHz",
     .live = true},
    {.name = "wn_hz",
     .type = WEIR_SETTING_BOOL,
     .preset = "true",
     .offset = offsetof(butterworth_settings, wn_hz),
     .help = "false: edges are fractions of the Nyquist frequency, plain numbers from 0 to 1"},
    {.name = "axis",
     .type = WEIR_SETTING_STRING,
     .preset = "null",
     .offset = offsetof(butterworth_settings, axis),
     .help = "name of the stream's dimension; no other is allowed"},
    {.name = "coef_type",
     .type = WEIR_SETTING_IGNORED,
     .help = "accepted for ezmsg-sigproc compatibility; ignored: always second-order sections"},
    {.name = "use_fast_sosfilt",
     .type = WEIR_SETTING_IGNORED,
     .help = "accepted for ezmsg-sigproc compatibility; ignored"},
    {.name = "use_mlx_metal",
     .type = WEIR_SETTING_IGNORED,
     .help = "accepted for ezmsg-sigproc compatibility; ignored"},
    {.name = "mlx_metal_chunk_sizes",
     .type = WEIR_SETTING_IGNORED,
     .help = "accepted for ezmsg-sigproc compatibility; ignored"},
    {.name = "thread_min_bytes",
     .type = WEIR_SETTING_IGNORED,
     .help = "accepted for ezmsg-sigproc compatibility; ignored"},
    {.name = "fir_fft_min_taps",
     .type = WEIR_SETTING_IGNORED,
     .help = "accepted for ezmsg-sigproc compatibility; ignored"},
    {0},
};

const weiri_unit_ops weiri_unit_butterworth = {
    .ops_size = sizeof(weiri_unit_ops),
    .info =
        {.name = "butterworth",
         .summary = "Butterworth filter: low-pass, high-pass, band-pass or band-stop",
         .formula =
             "Second-order sections of the Butterworth low-pass prototype |H(w)|^2 = 1 / (1 + w^(2 "
             "order)), transformed to the band and to discrete time by the bilinear transform with "
             "pre-warped edges; direct form II transposed, coefficients and state in float64.",
         .source = "Oppenheim and Schafer, Discrete-Time Signal Processing, 3rd ed., sections 7.3 "
                   "and 6.3; agrees with scipy.signal.butter(output='sos').",
         .start = "The steady state of a constant signal equal to the channel's first sample that "
                  "is not missing.",
         .ezmsg = "butterworthfilter.ButterworthFilterTransformer",
         .differs = "Always second-order sections in float64, whatever coef_type is; a design that "
                    "float64 cannot represent is an error.",
         .flags = WEIR_UNIT_STATEFUL | WEIR_UNIT_COLUMNWISE,
         .settings = table},
    .settings_bytes = sizeof(butterworth_settings),
    .plan = plan,
    .prepare = prepare,
    .settle = settle,
    .reset = weiri_recursive_reset,
    .run = run,
    .strided = true,
};
