/* SPDX-License-Identifier: MIT
 *
 * rolling_scaler.c: each value minus the mean of the last k samples before it, in their standard deviations.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernel/kernel.h"
#include "unit/iir.h"

typedef struct scaler_settings {
    int64_t k_samples, min_samples;
    double window_s, min_s, artifact, clip;
    bool update;
    const char *axis;
} scaler_settings;

typedef struct scaler {
    uint64_t size, least; /* samples in a full window (0 = all so far), and in one that is used */
    double clip;          /* the largest number of the type = not */
    double artifact;      /* INFINITY = none */
} scaler;

/* The window only where size is not 0. */
enum { MEAN, SQUARE, COUNT /* samples that entered the window so far */, WINDOW };

static scaler scaler_of(const scaler_settings *settings, const weir_spec *in)
{
    double rate_hz = in->rate_hz, most = in->dtype == WEIR_F32 ? (double)FLT_MAX : DBL_MAX;
    bool timed = !isnan(settings->window_s);
    uint64_t size =
        timed ? weiri_frames_ceil(settings->window_s, rate_hz) : (uint64_t)settings->k_samples;
    uint64_t least =
        timed ? weiri_frames_ceil(settings->min_s, rate_hz) : (uint64_t)settings->min_samples;
    least = least > 0 ? least : 1;
    return (scaler){
        .size = size,
        .least = size > 0 && least > size ? size : least,
        .clip = settings->clip > 0.0 ? fmin(settings->clip, most) : most,
        .artifact = isnan(settings->artifact) ? (double)INFINITY : settings->artifact,
    };
}

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    const scaler_settings *given = settings;
    scaler s = scaler_of(given, plan->in);
    weir_err err = weiri_axis_is_stream(plan->in, given->axis);
    if (err == WEIR_OK && !given->update) {
        err = weiri_fail(WEIR_E_CHAIN,
                         "update_with_signal: with false the window would stay empty: samples come "
                         "from the signal only; only true is allowed");
    }
    err = err == WEIR_OK ? weiri_units_follow(plan, 0.0, "") : err;
    weiri_field fields[] = {
        {.name = "mean", .kind = 'f', .bytes = 8, .rows = 1},
        {.name = "square", .kind = 'f', .bytes = 8, .rows = 1},
        {.name = "count", .kind = 'u', .bytes = 8, .rows = 1},
        {.name = "window",
         .kind = 'f',
         .bytes = plan->in->dtype == WEIR_F32 ? 4 : 8,
         .rows = s.size},
    };
    for (size_t i = 0; err == WEIR_OK && i < (s.size > 0 ? 4 : 3); i++) {
        err = weiri_plan_field(plan, fields[i]);
    }
    plan->columnwise = plan->columnwise && isinf(s.artifact);
    plan->delay_frames = (double)NAN;
    plan->constant_bytes = sizeof(scaler);
    return err;
}

static void prepare(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    *(scaler *)constants = scaler_of(settings, plan->in);
}

/* A window that holds no sample of before; another one, and its sums are computed anew. */
static uint64_t settle(const void *settings, const weiri_unit_plan *plan, double tolerance)
{
    (void)tolerance;
    scaler s = scaler_of(settings, plan->in);
    return s.size == 0 || !isinf(s.artifact) ? WEIR_SETTLES_NEVER : 2 * s.size;
}

static void reset(weiri_block *block)
{
    size_t bytes = (size_t)block->columns * sizeof(double);
    memset(block->state[MEAN], 0, bytes);
    memset(block->state[SQUARE], 0, bytes);
    memset(block->state[COUNT], 0, bytes);
}

/* ---- running ------------------------------------------------------------------------------------- */

/* A block's call. */
typedef struct call {
    const scaler *scaler;
    double *mean, *square;
    uint64_t *count;
    void *window;
    size_t columns;
    bool f32;
} call;

static double value_at(const call *c, const void *row, size_t column)
{
    return c->f32 ? (double)((const float *)row)[column] : ((const double *)row)[column];
}

static uint64_t held(const call *c, size_t column)
{
    uint64_t size = c->scaler->size, count = c->count[column];
    return size > 0 && count > size ? size : count;
}

/* Whether a sample of the frame is so far out that the frame is not to enter the window. */
static bool is_artifact(const call *c, const void *row)
{
    for (size_t i = 0; !isinf(c->scaler->artifact) && i < c->columns; i++) {
        double deviation = fmax(sqrt(c->square[i] / (double)held(c, i)), 1e-8);
        if (c->count[i] > 0 &&
            fabs(value_at(c, row, i) - c->mean[i]) / deviation > c->scaler->artifact) {
            return true;
        }
    }
    return false;
}

/* Columns first .. first + some - 1, whose windows hold as many samples. */
static void
run_columns(const call *c, const void *in, void *out, size_t first, size_t some, bool update)
{
    const weiri_kernels *k = weiri_kernels_get();
    uint64_t size = c->scaler->size, count = c->count[first];
    uint64_t n = held(c, first);
    weiri_roll roll = {.count = (double)n,
                       .clip = c->scaler->clip,
                       .ready = n >= c->scaler->least,
                       .full = size > 0 && n == size,
                       .update = update};
    size_t slot = size > 0 ? (size_t)(count % size) * c->columns + first : 0;
    double *mean = c->mean + first, *square = c->square + first;
    float *window32 = size > 0 ? (float *)c->window : NULL;
    double *window64 = size > 0 ? (double *)c->window : NULL;
    if (c->f32) {
        k->roll_f32(&roll, (const float *)in + first, (float *)out + first, some,
                    size > 0 ? window32 + slot : NULL, mean, square);
    } else {
        k->roll_f64(&roll, (const double *)in + first, (double *)out + first, some,
                    size > 0 ? window64 + slot : NULL, mean, square);
    }
    for (size_t i = 0; update && i < some; i++) {
        c->count[first + i]++;
    }
    /* Sums that lose and gain samples drift: once a window they are computed anew. */
    if (update && size > 0 && (count + 1) % size == 0) {
        if (c->f32) {
            k->roll_again_f32(window32 + first, (size_t)size, c->columns, some, mean, square);
        } else {
            k->roll_again_f64(window64 + first, (size_t)size, c->columns, some, mean, square);
        }
    }
}

/* A frame: columns that are alike together. Missing samples do not enter the window. alike: all columns are. */
static void run_frame(const call *c, const void *in, void *out, bool alike)
{
    bool update = !is_artifact(c, in);
    for (size_t first = 0, next; first < c->columns; first = next) {
        next = alike ? c->columns : first + 1;
        if (!alike && !isfinite(value_at(c, in, first))) {
            if (c->f32) {
                ((float *)out)[first] = NAN;
            } else {
                ((double *)out)[first] = (double)NAN;
            }
            continue;
        }
        while (next < c->columns && c->count[next] == c->count[first] &&
               isfinite(value_at(c, in, next))) {
            next++;
        }
        run_columns(c, in, out, first, next - first, update);
    }
}

static void run(weiri_block *block, const weiri_work *work)
{
    const weiri_kernels *k = weiri_kernels_get();
    call c = {.scaler = block->constants,
              .mean = block->state[MEAN],
              .square = block->state[SQUARE],
              .count = block->state[COUNT],
              .columns = (size_t)block->columns,
              .f32 = block->in->dtype == WEIR_F32};
    c.window = c.scaler->size > 0 ? block->state[WINDOW] : NULL;
    bool same = true; /* as many samples in all windows */
    for (size_t i = 1; i < c.columns; i++) {
        same = same && c.count[i] == c.count[0];
    }
    size_t row_bytes = c.columns * (c.f32 ? sizeof(float) : sizeof(double));
    for (size_t i = 0; i < work->consume; i++) {
        const void *in = (const unsigned char *)work->in[0] + i * row_bytes;
        bool clean = c.f32 ? k->finite_f32(in, c.columns) : k->finite_f64(in, c.columns);
        same = same && clean;
        run_frame(&c, in, (unsigned char *)work->out + i * row_bytes, same);
        if (!clean) {
            weiri_count_missing(block, in, 1);
        }
    }
}

static const weir_setting table[] = {
    {.name = "k_samples",
     .type = WEIR_SETTING_INTEGER,
     .preset = "20",
     .min = 0,
     .max = 4294967296.0,
     .offset = offsetof(scaler_settings, k_samples),
     .help = "samples in the window; 0: all since the start"},
    {.name = "window_size",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_TIME,
     .preset = "null",
     .min = 1e-9,
     .max = 1e9,
     .offset = offsetof(scaler_settings, window_s),
     .help =
         "length of the window, rounded up to whole frames; overrides k_samples and min_samples",
     .example = "10 ms"},
    {.name = "min_samples",
     .type = WEIR_SETTING_INTEGER,
     .preset = "1",
     .min = 0,
     .max = 4294967296.0,
     .offset = offsetof(scaler_settings, min_samples),
     .help = "samples that must be in the window before values are scaled"},
    {.name = "min_seconds",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_TIME,
     .preset = "1 s",
     .min = 0,
     .max = 1e9,
     .offset = offsetof(scaler_settings, min_s),
     .help = "the same with window_size; longer than the window: the whole window",
     .example = "5 ms"},
    {.name = "artifact_z_thresh",
     .type = WEIR_SETTING_NUMBER,
     .preset = "null",
     .min = 0,
     .max = 1e300,
     .offset = offsetof(scaler_settings, artifact),
     .help = "frames with a channel further than this many standard deviations from its mean do "
             "not enter the window"},
    {.name = "clip",
     .type = WEIR_SETTING_NUMBER,
     .preset = "10",
     .min = 0,
     .max = 1e300,
     .offset = offsetof(scaler_settings, clip),
     .help = "largest magnitude of the output; 0: no limit",
     .live = true},
    {.name = "update_with_signal",
     .type = WEIR_SETTING_BOOL,
     .preset = "true",
     .offset = offsetof(scaler_settings, update),
     .help = "only true is allowed: the window has no other source of samples"},
    WEIRI_AXIS_SETTING(scaler_settings, axis),
    {0},
};

const weiri_unit_ops weiri_unit_rolling_scaler = {
    .ops_size = sizeof(weiri_unit_ops),
    .info =
        {.name = "rolling_scaler",
         .summary = "distance from the mean of the last k samples in their standard deviations",
         .formula =
             "y[n] = (x[n] - m) / max(s, 1e-8), m and s the mean and standard deviation (divided "
             "by k) of the k samples of the channel before x[n] that are not missing, clipped to "
             "+-clip; y = x while there are fewer than min_samples.",
         .source =
             "Welford, Technometrics 4(3), 1962 (update of mean and sum of squares); both are "
             "computed anew from the window every k samples, so they do not drift.",
         .start = "The window is empty.",
         .ezmsg = "rollingscaler.RollingScalerProcessor",
         .differs = "k_samples counts samples; there it counts messages, and all samples of a "
                    "message are scaled by what came before the message. update_with_signal is "
                    "true, since there is no second input. clip: 0 and k_samples: 0 stand for "
                    "None.",
         .checks = "values of ezmsg-sigproc",
         .flags = WEIR_UNIT_STATEFUL | WEIR_UNIT_HOLDS_OVER_GAP | WEIR_UNIT_COLUMNWISE,
         .settings = table},
    .settings_bytes = sizeof(scaler_settings),
    .plan = plan,
    .prepare = prepare,
    .settle = settle,
    .reset = reset,
    .run = run,
};
