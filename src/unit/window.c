/* SPDX-License-Identifier: MIT
 *
 * window.c: cuts the stream into windows: one output frame a window, its samples along an inner
 * dimension. Duration and shift are floor(seconds x rate) frames, computed as decimals (S3). Windows
 * may overlap or leave gaps. Of zero_pad_until only what does not depend on message boundaries is there
 * (S1): none and shift.
 *
 * Frames are counted from the zeros before the stream: frame g is in row g mod W of the ring, and
 * window m has the frames from m x shift on.
 */
#include "unit/spectrum.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct window_settings {
    const char *axis;
    const char *newaxis;
    double window_dur_s, window_shift_s;
    int zero_pad_until;
    int anchor;
    bool batch_windows;
} window_settings;

typedef struct window {
    uint64_t frames, shift;
    uint64_t zeros; /* frames of zeros before the first */
} window;

enum { PAD_NONE, PAD_SHIFT, PAD_FULL, PAD_INPUT };
static const weir_choice paddings[] = {
    {"none", NULL}, {"shift", NULL}, {"full", NULL}, {"input", NULL}, {NULL, NULL}};

enum { ANCHOR_BEGINNING, ANCHOR_MIDDLE, ANCHOR_END };
const weir_choice weiri_window_anchors[] = {
    {"beginning", NULL}, {"middle", NULL}, {"end", NULL}, {NULL, NULL}};

static const weir_setting table[] = {
    {.name = "axis",
     .type = WEIR_SETTING_STRING,
     .preset = "null",
     .offset = offsetof(window_settings, axis),
     .help = "name of the stream's dimension; no other can be divided into windows"},
    {.name = "newaxis",
     .type = WEIR_SETTING_STRING,
     .preset = "win",
     .offset = offsetof(window_settings, newaxis),
     .help = "name of the dimension that counts the windows"},
    {.name = "window_dur",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_TIME,
     .preset = NULL,
     .min = 1e-9,
     .max = 1e9,
     .offset = offsetof(window_settings, window_dur_s),
     .help = "duration of a window, floor(duration x rate) frames, computed as decimals: 9 ms at "
             "25 kHz are 225 (ezmsg-sigproc: 224)",
     .example = "20 ms"},
    {.name = "window_shift",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_TIME,
     .preset = NULL,
     .min = 1e-9,
     .max = 1e9,
     .offset = offsetof(window_settings, window_shift_s),
     .help = "time from a window's start to the next one's; may exceed window_dur",
     .example = "5 ms"},
    {.name = "zero_pad_until",
     .type = WEIR_SETTING_ENUM,
     .preset = "none",
     .choices = paddings,
     .offset = offsetof(window_settings, zero_pad_until),
     .help = "none: the first window is output after window_dur; shift: the stream is padded with "
             "zeros "
             "before its start, so it is output after window_shift"},
    {.name = "anchor",
     .type = WEIR_SETTING_ENUM,
     .preset = "beginning",
     .choices = weiri_window_anchors,
     .offset = offsetof(window_settings, anchor),
     .help = "which point of the window gets the timestamp and is 0 on the inner axis"},
    {.name = "batch_windows",
     .type = WEIR_SETTING_BOOL,
     .preset = "false",
     .offset = offsetof(window_settings, batch_windows),
     .help = "only false is allowed: windows are not joined again"},
    {.name = "buffer_update_strategy",
     .type = WEIR_SETTING_IGNORED,
     .preset = "null",
     .help = "accepted for ezmsg-sigproc compatibility; ignored"},
    {.name = NULL},
};

/* ---- plan ---------------------------------------------------------------------------------- */

static weir_err whole_frames(const char *name, double seconds, double rate_hz, uint64_t *ret_frames)
{
    if (isnan(seconds)) {
        return weiri_fail(
            WEIR_E_CHAIN,
            "%s: is required: one window per message would depend on message boundaries", name);
    }
    uint64_t frames = weiri_frames_floor(seconds, rate_hz);
    if (frames < 1 || frames > INT32_MAX) {
        return weiri_fail(WEIR_E_CHAIN, "%s: %g s is %llu frames at %g Hz; 1 to %d are allowed",
                          name, seconds, (unsigned long long)frames, rate_hz, INT32_MAX);
    }
    *ret_frames = frames;
    return WEIR_OK;
}

static weir_err check_settings(const window_settings *set, weiri_unit_plan *plan)
{
    if (set->zero_pad_until == PAD_FULL || set->zero_pad_until == PAD_INPUT) {
        return weiri_fail(WEIR_E_CHAIN,
                          "zero_pad_until: '%s' depends on message boundaries; use "
                          "'shift' (zeros before the stream) or 'none'",
                          paddings[set->zero_pad_until].name);
    }
    if (set->batch_windows) {
        return weiri_fail(
            WEIR_E_CHAIN,
            "batch_windows: joined windows are the original stream; remove this unit");
    }
    if (plan->in->dim_count >= WEIR_MAX_DIMS) {
        return weiri_fail(WEIR_E_CHAIN, "window: adds a dimension, and the stream already has %d",
                          WEIR_MAX_DIMS);
    }
    if (set->axis != NULL) {
        weiri_notice(plan->notices, "axis: ignored: windows are always along '%s'", set->axis);
    }
    return weiri_axis_is_stream(plan->in, set->axis);
}

/* Another name where the stream has one such, as the reference does. */
static weir_err name_axis(const window_settings *set, weiri_unit_plan *plan, const char **ret_name)
{
    if (weir_spec_dim(plan->in, set->newaxis) < 0) {
        *ret_name = set->newaxis;
        return WEIR_OK;
    }
    size_t size = strlen(set->newaxis) + sizeof "_win";
    char *name = plan->memory.get(plan->memory.user, size);
    if (name == NULL) {
        return WEIR_E_NOMEM;
    }
    snprintf(name, size, "%s_win", set->newaxis);
    if (weir_spec_dim(plan->in, name) >= 0) {
        return weiri_fail(WEIR_E_CHAIN, "newaxis: the stream already has dimensions '%s' and '%s'",
                          set->newaxis, name);
    }
    weiri_notice(plan->notices, "newaxis: '%s' already exists; '%s' is used", set->newaxis, name);
    *ret_name = name;
    return WEIR_OK;
}

static window window_of(const window_settings *set, double rate_hz)
{
    window w = {.frames = weiri_frames_floor(set->window_dur_s, rate_hz),
                .shift = weiri_frames_floor(set->window_shift_s, rate_hz)};
    w.zeros = set->zero_pad_until == PAD_SHIFT && w.shift < w.frames ? w.frames - w.shift : 0;
    return w;
}

/* [time x ch] -> [win x time x ch]. The time of a window is that of its first frame, and zeros may be
 * before the stream; the anchor moves it by the duration as set, not as rounded. */
static void
plan_axes(const window_settings *set, const window *w, const char *name, weiri_unit_plan *plan)
{
    const weir_spec *in = plan->in;
    weir_spec *out = &plan->out;
    double anchor = set->anchor == ANCHOR_MIDDLE ? set->window_dur_s / 2
                    : set->anchor == ANCHOR_END  ? set->window_dur_s
                                                 : 0.0;
    memmove(&out->dims[2], &out->dims[1], (in->dim_count - 1) * sizeof out->dims[0]);
    out->dim_count = in->dim_count + 1;
    out->dims[1] = in->dims[0];
    out->dims[1].size = w->frames;
    out->dims[1].start = -anchor;
    out->dims[1].step = 1.0 / in->rate_hz;
    out->dims[0].name = name;
    out->dims[0].start = in->dims[0].start - (double)w->zeros / in->rate_hz + anchor;
}

static weir_err plan_window(const void *settings, weiri_unit_plan *plan)
{
    const window_settings *set = settings;
    const weir_spec *in = plan->in;
    uint64_t frames = 0, shift = 0, bytes = 0;
    const char *name = NULL;
    weir_err err = check_settings(set, plan);
    if (err == WEIR_OK) {
        err = whole_frames("window_dur", set->window_dur_s, in->rate_hz, &frames);
    }
    if (err == WEIR_OK) {
        err = whole_frames("window_shift", set->window_shift_s, in->rate_hz, &shift);
    }
    if (err == WEIR_OK) {
        err = name_axis(set, plan, &name);
    }
    if (err != WEIR_OK) {
        return err;
    }
    uint64_t row_bytes = weir_spec_frame_bytes(in);
    if (!weiri_mul(frames, row_bytes, &bytes) || bytes > UINT64_MAX / 4) {
        return weiri_fail(WEIR_E_CHAIN,
                          "window_dur: %llu frames of %llu bytes do not fit into memory",
                          (unsigned long long)frames, (unsigned long long)row_bytes);
    }
    window w = window_of(set, in->rate_hz);
    plan_axes(set, &w, name, plan);
    int64_t offset = (int64_t)shift - (int64_t)frames + (int64_t)w.zeros;
    plan->skipped_frames = shift > frames ? shift - frames : 0;
    plan->due = (weiri_due){.p = shift, .q = 1, .offset = offset, .end = offset, .grain = 1};
    plan->skipped_frames = shift > frames ? shift - frames : 0;
    plan->constant_bytes = sizeof w;
    bool is_complex = weir_dtype_parts(in->dtype) > 1;
    return weiri_plan_field(plan, (weiri_field){.name = "ring",
                                                .kind = is_complex ? 'c' : 'f',
                                                .bytes = (uint32_t)weir_dtype_bytes(in->dtype),
                                                .rows = frames});
}

static void prepare_window(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    window *w = constants;
    *w = window_of(settings, plan->in->rate_hz);
}

/* A window that starts with frame n - 1 is out with the last of its frames. */
static uint64_t settle_window(const void *settings, const weiri_unit_plan *plan, double tolerance)
{
    (void)tolerance;
    return window_of(settings, plan->in->rate_hz).frames - 1;
}

/* ---- running ------------------------------------------------------------------------------- */

/* Only the zeros: of all else, what is read has been written. */
static void reset_window(weiri_block *block)
{
    const window *w = block->constants;
    memset(block->state[0], 0, (size_t)w->zeros * (size_t)weir_spec_frame_bytes(block->in));
}

/* Rows of the ring from frame g on, in the two parts in which they are there. */
static void copy_out(const window *w,
                     const unsigned char *ring,
                     uint64_t g,
                     size_t count,
                     size_t row_bytes,
                     void *out)
{
    size_t row = (size_t)(g % w->frames), until_wrap = (size_t)w->frames - row;
    size_t first = count < until_wrap ? count : until_wrap;
    memcpy(out, ring + row * row_bytes, first * row_bytes);
    memcpy((unsigned char *)out + first * row_bytes, ring, (count - first) * row_bytes);
}

static void copy_in(const window *w,
                    unsigned char *ring,
                    uint64_t g,
                    size_t count,
                    size_t row_bytes,
                    const void *in)
{
    size_t row = (size_t)(g % w->frames), until_wrap = (size_t)w->frames - row;
    size_t first = count < until_wrap ? count : until_wrap;
    memcpy(ring + row * row_bytes, in, first * row_bytes);
    memcpy(ring, (const unsigned char *)in + first * row_bytes, (count - first) * row_bytes);
}

/* A window is the part that came before this call, from the ring, and the part that comes with it. */
static void run_window(weiri_block *block, const weiri_work *work)
{
    const window *w = block->constants;
    const unsigned char *rows = work->in[0];
    unsigned char *ring = block->state[0], *out = work->out;
    size_t row_bytes = (size_t)weir_spec_frame_bytes(block->in);
    uint64_t here = work->consumed + w->zeros; /* the first frame of `rows` */
    for (size_t i = 0; i < work->produce; i++) {
        uint64_t start = (work->produced + i) * w->shift;
        uint64_t before = start < here ? here - start : 0;
        size_t kept = (size_t)(before < w->frames ? before : w->frames);
        copy_out(w, ring, start, kept, row_bytes, out);
        out += kept * row_bytes;
        if (kept < w->frames) {
            size_t fresh = (size_t)w->frames - kept;
            memcpy(out, rows + (size_t)(start + kept - here) * row_bytes, fresh * row_bytes);
            out += fresh * row_bytes;
        }
    }
    size_t keep = work->consume < w->frames ? work->consume : (size_t)w->frames;
    size_t first = work->consume - keep;
    if (keep > 0) {
        copy_in(w, ring, here + first, keep, row_bytes, rows + first * row_bytes);
    }
    /* S5: once, in however many windows they are */
    weiri_look_for_missing(block, rows, work->consume);
}

const weiri_unit_ops weiri_unit_window = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "window",
             .summary =
                 "divides the stream into windows, which may overlap or have gaps between them",
             .formula = "y[m, i] = x[m S - Z + i], i = 0 .. W - 1; W = floor(window_dur rate), S = "
                        "floor(window_shift rate), Z zeros before the first frame.",
             .start = "Z frames of zeros with zero_pad_until: shift, else none.",
             .ezmsg = "window.WindowTransformer",
             .differs = "zero_pad_until: input and full are not allowed: the output would depend "
                        "on message boundaries.",
             .flags = WEIR_UNIT_CHANGES_RATE | WEIR_UNIT_STATEFUL | WEIR_UNIT_COMPLEX |
                      WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(window_settings),
    .plan = plan_window,
    .prepare = prepare_window,
    .settle = settle_window,
    .reset = reset_window,
    .run = run_window,
};
