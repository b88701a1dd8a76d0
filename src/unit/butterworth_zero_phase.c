/* SPDX-License-Identifier: MIT
 *
 * butterworth_zero_phase.c: Butterworth filters forward and backward, with the look-ahead of ezmsg-sigproc.
 */
#include <math.h>

#include "unit/forward_backward.h"

typedef struct zero_phase_settings {
    weiri_butterworth filter;
    double settle_cutoff, most_s;
    int64_t grain;
} zero_phase_settings;

/* What follows from the settings; every error of them. */
typedef struct design {
    weiri_sos_params sections;
    uint64_t grain, ahead;
} design;

static weir_err make(const zero_phase_settings *settings, const weir_spec *in, design *ret_design)
{
    weir_err err = weiri_butterworth_design(&settings->filter, in, &ret_design->sections);
    if (err != WEIR_OK || ret_design->sections.sections == 0) {
        return err;
    }
    uint64_t least = 3 * ((uint64_t)settings->filter.order + 1);
    uint64_t ahead = weiri_sos_fade(&ret_design->sections, settings->settle_cutoff);
    ahead = ahead > least ? ahead : least;
    if (!isnan(settings->most_s)) {
        uint64_t most = weiri_frames_floor(settings->most_s, in->rate_hz);
        ahead = ahead < most ? ahead : most;
    }
    ret_design->ahead = ahead > 0 ? ahead : 1;
    ret_design->grain =
        settings->grain == INT64_MIN ? ret_design->ahead : (uint64_t)settings->grain;
    return WEIR_OK;
}

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    design d = {0};
    weir_err err = make(settings, plan->in, &d);
    if (err == WEIR_OK && d.sections.sections == 0) {
        weiri_notice(plan->notices,
                     "butterworth_zero_phase: order 0 passes the signal through unchanged");
    }
    err =
        err == WEIR_OK ? weiri_forward_backward_plan(plan, &d.sections, d.grain, d.ahead, 0) : err;
    /* What the look-ahead cuts off is not the same at all frequencies: 0.05 frames at settle_cutoff 0.01. */
    plan->delay_frames = d.sections.sections > 0 ? (double)NAN : 0.0;
    return err;
}

static void prepare(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    design d = {0};
    (void)make(settings, plan->in, &d);
    weiri_forward_backward_prepare(plan, &d.sections, d.grain, d.ahead, 0, constants);
}

static uint64_t settle(const void *settings, const weiri_unit_plan *plan, double tolerance)
{
    design d = {0};
    (void)make(settings, plan->in, &d);
    return weiri_forward_backward_settle(plan, &d.sections, tolerance);
}

static const weir_setting table[] = {
    WEIRI_BUTTERWORTH_SETTINGS(zero_phase_settings, filter, ""),
    {.name = "settle_cutoff",
     .type = WEIR_SETTING_NUMBER,
     .preset = "0.01",
     .min = 1e-15,
     .max = 1,
     .offset = offsetof(zero_phase_settings, settle_cutoff),
     .help = "part of its peak to which the impulse response has fallen at the end of the "
             "look-ahead"},
    {.name = "max_pad_duration",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_TIME,
     .preset = "null",
     .min = 0,
     .max = 1e9,
     .offset = offsetof(zero_phase_settings, most_s),
     .help = "longest look-ahead"},
    WEIRI_GRAIN_SETTING(zero_phase_settings, grain),
    WEIRI_COEF_TYPE_IGNORED,
    WEIRI_IGNORED_FILTER_SETTINGS,
    {0},
};

const weiri_unit_ops weiri_unit_butterworth_zero_phase = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "butterworth_zero_phase",
             .summary = "Butterworth filter forward and backward, as ezmsg-sigproc; see zero_phase",
             .formula =
                 "As zero_phase; the backward filter begins L frames after a block of `grain` "
                 "frames, where |h[j]| is at most settle_cutoff max |h| for all j >= L; L is at "
                 "least 3 (order + 1), and at most max_pad_duration.",
             .source = "Gustafsson, IEEE Transactions on Signal Processing 44(4), 1996.",
             .start = "Each filter starts from the steady state of its first sample that is not "
                      "missing; ends are not extended.",
             .ezmsg = "butterworthzerophase.ButterworthZeroPhaseTransformer "
                      "butterworthzerophase.ButterworthBackwardFilterTransformer",
             .differs =
                 "There the backward filter begins at each message's end, so the output depends on "
                 "message boundaries; here on a grid of frames. The last L frames, which are never "
                 "output there, are output at a segment's end. The backward filter alone is not a "
                 "unit. L is searched in the whole response (there: in 10000 frames or "
                 "30 (order + 1)).",
             .flags = WEIR_UNIT_STATEFUL | WEIR_UNIT_CHANGES_RATE | WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(zero_phase_settings),
    .plan = plan,
    .prepare = prepare,
    .settle = settle,
    .reset = weiri_forward_backward_reset,
    .run = weiri_forward_backward_run,
};
