/* SPDX-License-Identifier: MIT
 *
 * downsample.c: every factor-th frame, the first one included. No filter: that is decimate.
 */
#include "unit/unit.h"

#include <math.h>
#include <string.h>

typedef struct downsample_settings {
    const char *axis;
    double target_rate_hz;
    int64_t factor;
} downsample_settings;

typedef struct downsample {
    uint64_t factor;
} downsample;

#define MOST_FRAMES 4294967296.0 /* 2^32: 39 hours at 30 kHz */

static const weir_setting table[] = {
    {.name = "axis",
     .type = WEIR_SETTING_STRING,
     .preset = "null",
     .offset = offsetof(downsample_settings, axis),
     .help = "name of the stream's dimension; for others use slicer with '::2'"},
    {.name = "target_rate",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_FREQUENCY,
     .preset = "null",
     .min = 1e-9,
     .max = 1e9,
     .offset = offsetof(downsample_settings, target_rate_hz),
     .help = "target rate, rounded up to input rate / integer; 30 kHz to 10 kHz is every 3rd frame "
             "(ezmsg-sigproc: every 2nd)"},
    {.name = "factor",
     .type = WEIR_SETTING_INTEGER,
     .preset = "null",
     .min = 1,
     .max = MOST_FRAMES,
     .offset = offsetof(downsample_settings, factor),
     .help = "keep every factor-th frame; overrides target_rate",
     .example = "7"},
    {.name = NULL},
};

static uint64_t factor_of(const downsample_settings *set, double rate_hz)
{
    if (set->factor != INT64_MIN) {
        return (uint64_t)set->factor;
    }
    uint64_t most = (uint64_t)MOST_FRAMES;
    uint64_t factor =
        isnan(set->target_rate_hz) ? 1 : weiri_decimation(rate_hz, set->target_rate_hz);
    return factor < most ? factor : most;
}

static weir_err plan_downsample(const void *settings, weiri_unit_plan *plan)
{
    const downsample_settings *set = settings;
    double rate_hz = plan->in->rate_hz;
    weir_err err = weiri_axis_is_stream(plan->in, set->axis);
    if (err != WEIR_OK) {
        return err;
    }
    bool targeted = !isnan(set->target_rate_hz);
    if (set->axis != NULL) {
        weiri_notice(plan->notices, "axis: ignored: downsampling is always along '%s'", set->axis);
    }
    if (targeted && set->factor != INT64_MIN) {
        weiri_notice(plan->notices, "target_rate: ignored because factor is given");
    } else if (targeted && set->target_rate_hz > rate_hz) {
        weiri_notice(plan->notices,
                     "target_rate: %g Hz is above the stream's rate, %g Hz; every frame is kept",
                     set->target_rate_hz, rate_hz);
    } else if (!targeted && set->factor == INT64_MIN) {
        weiri_notice(plan->notices,
                     "factor: neither factor nor target_rate is given; every frame is kept");
    }
    uint64_t factor = factor_of(set, rate_hz);
    plan->skipped_frames = factor - 1;
    plan->due = (weiri_due){
        .p = factor, .q = 1, .offset = (int64_t)factor - 1, .end = (int64_t)factor - 1, .grain = 1};
    plan->skipped_frames = factor - 1;
    plan->constant_bytes = sizeof(downsample);
    return WEIR_OK;
}

static void prepare_downsample(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    downsample *d = constants;
    d->factor = factor_of(settings, plan->in->rate_hz);
}

/* A frame that is kept does not depend on others. */
static uint64_t
settle_downsample(const void *settings, const weiri_unit_plan *plan, double tolerance)
{
    (void)settings;
    (void)plan;
    (void)tolerance;
    return 0;
}

static void run_downsample(weiri_block *block, const weiri_work *work)
{
    const downsample *d = block->constants;
    size_t row_bytes = (size_t)weir_spec_frame_bytes(block->in);
    const unsigned char *rows = work->in[0];
    unsigned char *kept = work->out;
    size_t next = (size_t)(work->produced * d->factor - work->consumed); /* to keep, of `rows` */
    for (size_t i = 0; i < work->produce; i++) {
        memcpy(kept + i * row_bytes, rows + next * row_bytes, row_bytes);
        next += (size_t)d->factor;
    }
    /* S5: also where they are not kept: damage should show */
    weiri_look_for_missing(block, rows, work->consume);
}

const weiri_unit_ops weiri_unit_downsample = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "downsample",
             .summary = "keeps every n-th frame, without a filter",
             .formula = "y[m] = x[m factor]; factor = rate / target_rate.",
             .start = "The segment's first frame is the first output frame.",
             .ezmsg = "downsample.DownsampleTransformer",
             .differs = "The factor is computed from decimals: 100 Hz to 9.090909090909092 Hz is "
                        "11, 0.3 Hz to 0.1 Hz is 3.",
             .flags = WEIR_UNIT_CHANGES_RATE | WEIR_UNIT_STATEFUL | WEIR_UNIT_ANY_DTYPE |
                      WEIR_UNIT_COMPLEX | WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(downsample_settings),
    .plan = plan_downsample,
    .prepare = prepare_downsample,
    .settle = settle_downsample,
    .run = run_downsample,
};
