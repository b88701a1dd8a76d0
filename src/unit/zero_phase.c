/* SPDX-License-Identifier: MIT
 *
 * zero_phase.c: Butterworth filters forward and backward over the whole recording, to a stated tolerance.
 */
#include <math.h>

#include "unit/forward_backward.h"

typedef struct zero_phase_settings {
    weiri_butterworth filter;
    double tolerance;
    int64_t grain;
} zero_phase_settings;

/* As scipy.signal.sosfiltfilt: 3 times the length of the filter, zeros and poles at 0 that cancel left out. */
static uint64_t padding_of(const weiri_sos_params *sections)
{
    uint64_t zeros = 0, poles = 0;
    for (size_t i = 0; i < sections->sections; i++) {
        zeros += sections->coefs[i][1] == 0.0;
        poles += sections->coefs[i][3] == 0.0;
    }
    return 3 * (2 * sections->sections + 1 - (zeros < poles ? zeros : poles));
}

/* Every error of the settings. */
static weir_err make(const zero_phase_settings *settings,
                     const weir_spec *in,
                     weiri_forward_backward_design *ret_design)
{
    weir_err err = weiri_butterworth_design(&settings->filter, in, &ret_design->sections);
    if (err != WEIR_OK || ret_design->sections.sections == 0) {
        return err;
    }
    ret_design->padding = padding_of(&ret_design->sections);
    ret_design->ahead = weiri_sos_settle(&ret_design->sections, settings->tolerance);
    if (ret_design->ahead < ret_design->padding + 1) {
        ret_design->ahead = ret_design->padding + 1;
    }
    ret_design->grain =
        settings->grain == INT64_MIN ? ret_design->ahead : (uint64_t)settings->grain;
    return WEIR_OK;
}

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    weiri_forward_backward_design d = {0};
    weir_err err = make(settings, plan->in, &d);
    if (err == WEIR_OK && d.sections.sections == 0) {
        weiri_notice(plan->notices, "zero_phase: order 0 passes the signal through unchanged");
    }
    return err == WEIR_OK ? weiri_forward_backward_plan(plan, &d) : err;
}

static const weir_setting table[] = {
    WEIRI_BUTTERWORTH_SETTINGS(zero_phase_settings, filter, ""),
    {.name = "tolerance",
     .type = WEIR_SETTING_NUMBER,
     .preset = "1e-6",
     .min = 1e-15,
     .max = 0.5,
     .offset = offsetof(zero_phase_settings, tolerance),
     .help = "largest error, in parts of the largest change of the filtered signal; smaller looks "
             "further ahead, with more memory and lag"},
    WEIRI_GRAIN_SETTING(zero_phase_settings, grain),
    {0},
};

const weiri_unit_ops weiri_unit_zero_phase = {
    .ops_size = sizeof(weiri_unit_ops),
    .info =
        {.name = "zero_phase",
         .summary = "Butterworth filter forward and backward: no delay at any frequency",
         .formula =
             "The filter of butterworth over the signal, then over its output backward: gain "
             "|H(w)|^2, phase 0. Frames are output in blocks of `grain` on a grid that begins with "
             "the segment; for each the backward filter begins L frames later, where the sum of "
             "|h[j]| over j > L is at most `tolerance`, or at the segment's end.",
         .source = "Gustafsson, IEEE Transactions on Signal Processing 44(4), 1996; agrees with "
                   "scipy.signal.sosfiltfilt within `tolerance`.",
         .start = "Both ends of a segment are extended oddly (2 x[0] - x[j]) by SciPy's padlen, "
                  "shorter segments by all of them but one frame; each filter starts from the "
                  "steady state of its first sample. A channel whose end sample is missing is not "
                  "extended.",
         .checks = "values of scipy.signal.sosfiltfilt",
         .flags = WEIR_UNIT_STATEFUL | WEIR_UNIT_CHANGES_RATE | WEIR_UNIT_COLUMNWISE,
         .settings = table},
    .settings_bytes = sizeof(zero_phase_settings),
    .plan = plan,
    .prepare = weiri_forward_backward_prepare,
    .settle = weiri_forward_backward_settle,
    .reset = weiri_forward_backward_reset,
    .run = weiri_forward_backward_run,
};
