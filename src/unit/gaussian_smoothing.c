/* SPDX-License-Identifier: MIT
 *
 * gaussian_smoothing.c: weighted mean by a Gaussian, symmetric or of the past only.
 */
#include <math.h>

#include "unit/convolve.h"

typedef struct gaussian_settings {
    double sigma_s;
    int64_t width, kernel_size;
    bool causal;
    const char *axis;
} gaussian_settings;

static bool passes(const gaussian_settings *set)
{
    return isnan(set->sigma_s) || set->sigma_s <= 0.0 || set->width <= 0 ||
           (set->kernel_size != INT64_MIN && set->kernel_size <= 1);
}

/* Frames that `width` standard deviations on one or both sides span, as decimals have it. */
static uint64_t length_of(const gaussian_settings *set, double rate_hz)
{
    uint64_t sides = (uint64_t)set->width * (set->causal ? 1 : 2);
    return weiri_frames_floor(weiri_decimal_scaled(set->sigma_s, sides, 1), rate_hz) + 1;
}

static void design(const gaussian_settings *set, double rate_hz, weiri_kernel_taps *taps)
{
    double sigma = set->sigma_s * rate_hz;
    double middle = set->causal ? 0.0 : 0.5 * (double)(taps->count - 1);
    long double sum = 0.0L;
    for (size_t k = 0; k < taps->count; k++) {
        double t = ((double)k - middle) / sigma;
        taps->taps[k] = exp(-0.5 * t * t);
        sum += taps->taps[k];
    }
    for (size_t k = 0; k < taps->count; k++) {
        taps->taps[k] = (double)(taps->taps[k] / sum);
    }
}

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    const gaussian_settings *set = settings;
    weiri_taps *taps = NULL;
    bool off = passes(set);
    weir_err err = weiri_axis_is_stream(plan->in, set->axis);
    uint64_t expected = off ? 0 : length_of(set, plan->in->rate_hz);
    uint64_t count = set->kernel_size == INT64_MIN || off ? expected : (uint64_t)set->kernel_size;
    if (err == WEIR_OK) {
        err = weiri_taps_make(plan, count == expected ? "sigma" : "kernel_size", off ? 0 : 1,
                              &count, &taps);
    }
    if (err != WEIR_OK) {
        return err;
    }
    if (off || count == 1) {
        weiri_notice(plan->notices, "gaussian_smoothing: these settings do not smooth: the signal "
                                    "passes through unchanged");
    } else if (count < expected) {
        weiri_notice(plan->notices,
                     "gaussian_smoothing: kernel_size %llu cuts the Gaussian off: %lld standard "
                     "deviations span %llu frames",
                     (unsigned long long)count, (long long)set->width,
                     (unsigned long long)expected);
    }
    if (!off) {
        design(set, plan->in->rate_hz, &taps->kernels[0]);
    }
    taps->starts = true;
    return weiri_convolve_plan(plan, taps);
}

static const weir_setting table[] = {
    {.name = "sigma",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_TIME,
     .preset = "0.01",
     .offset = offsetof(gaussian_settings, sigma_s),
     .help = "standard deviation of the Gaussian; 0 or null passes the signal through unchanged",
     .example = "1 ms"},
    {.name = "width",
     .type = WEIR_SETTING_INTEGER,
     .preset = "4",
     .min = 0,
     .max = 100,
     .offset = offsetof(gaussian_settings, width),
     .help = "standard deviations on each side of the middle"},
    {.name = "kernel_size",
     .type = WEIR_SETTING_INTEGER,
     .preset = "null",
     .min = 0,
     .max = WEIRI_TAPS_MAX,
     .offset = offsetof(gaussian_settings, kernel_size),
     .help = "number of taps, instead of width"},
    {.name = "causal",
     .type = WEIR_SETTING_BOOL,
     .preset = "false",
     .offset = offsetof(gaussian_settings, causal),
     .help = "true: the half of the Gaussian that lies in the past, with its peak at the present "
             "sample: less delay, less smoothing"},
    WEIRI_AXIS_SETTING(gaussian_settings, axis),
    WEIRI_IGNORED_FIR_SETTINGS,
    {0},
};

const weiri_unit_ops weiri_unit_gaussian_smoothing = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "gaussian_smoothing",
             .summary = "weighted mean of the last samples by a Gaussian",
             .formula = "y[n] = sum of h[k] x[n-k], k = 0 to N - 1; h[k] in proportion to "
                        "exp(-((k - m) / sigma)^2 / 2), with sum 1; N = floor(2 width sigma rate) "
                        "+ 1 and m = (N - 1) / 2, or, causal, N = floor(width sigma rate) + 1 and "
                        "m = 0.",
             .start = WEIRI_CONVOLVE_START,
             .ezmsg = "gaussiansmoothing.GaussianSmoothingFilterTransformer",
             .differs = "N is computed from the decimals of sigma and rate, so that it may differ "
                        "by one where binary rounding changes it there.",
             .flags = WEIR_UNIT_STATEFUL | WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(gaussian_settings),
    .plan = plan,
    .prepare = weiri_convolve_prepare,
    .settle = weiri_convolve_settle,
    .reset = weiri_convolve_reset,
    .run = weiri_convolve_run,
};
