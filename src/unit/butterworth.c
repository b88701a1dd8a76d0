/* SPDX-License-Identifier: MIT
 *
 * butterworth.c: Butterworth filters: low-pass, high-pass, band-pass, band-stop.
 */
#include "unit/iir.h"

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    weiri_sos_params sections;
    weir_err err = weiri_butterworth_design(settings, plan->in, &sections);
    if (err == WEIR_OK && sections.sections == 0) {
        weiri_notice(plan->notices, "butterworth: order 0 passes the signal through unchanged");
    }
    return err == WEIR_OK ? weiri_iir_plan(plan, &sections) : err;
}

typedef struct butterworth_settings {
    weiri_butterworth filter;
} butterworth_settings;

#define KEEPS "; a change while running keeps the filter's state"

static const weir_setting table[] = {
    WEIRI_BUTTERWORTH_SETTINGS(butterworth_settings, filter, KEEPS),
    WEIRI_COEF_TYPE_IGNORED,
    WEIRI_IGNORED_FILTER_SETTINGS,
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
    .prepare = weiri_iir_prepare,
    .settle = weiri_iir_settle,
    .reset = weiri_recursive_reset,
    .run = weiri_iir_run,
    .strided = true,
    .changed = weiri_recursive_changed,
};
