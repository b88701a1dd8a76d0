/* SPDX-License-Identifier: MIT
 *
 * window.c: cuts the stream into windows: one output frame a window, its samples along an inner
 * dimension. Duration and shift are floor(seconds x rate) frames as decimals (S3). Windows may overlap or leave
 * gaps. Only what does not depend on the cut of the stream is there (S1): zero_pad_until none and shift.
 */
#include "base/decimal.h"
#include "unit/reduce.h"

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
    const weiri_kernels *kernels;
    unsigned char *ring; /* the last frames, up to `frames` of them */
    size_t frames, shift, row_bytes, columns;
    size_t head;  /* where in the ring the oldest lies */
    size_t held;  /* frames in the ring */
    size_t fresh; /* of them, those that came in and were in no window yet */
    size_t skip;  /* frames still to pass before the next window, where windows leave gaps */
    size_t zeros; /* frames of zeros that stand before the first */
} window;

enum { PAD_NONE, PAD_SHIFT, PAD_FULL, PAD_INPUT };
static const weir_choice paddings[] = {
    {"none", NULL}, {"shift", NULL}, {"full", NULL}, {"input", NULL}, {NULL, NULL}};

enum { ANCHOR_BEGINNING, ANCHOR_MIDDLE, ANCHOR_END };
static const weir_choice anchors[] = {
    {"beginning", NULL}, {"middle", NULL}, {"end", NULL}, {NULL, NULL}};

static const weir_setting table[] = {
    {.name = "axis",
     .type = WEIR_SETTING_STRING,
     .preset = "null",
     .offset = offsetof(window_settings, axis),
     .help = "the stream's dimension; nothing else can be cut into windows"},
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
             "25 kHz "
             "are 225 (ezmsg-sigproc: 224)",
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
     .help =
         "none: the first window waits for window_dur; shift: zeros stand before the stream, so "
         "that it waits for window_shift only"},
    {.name = "anchor",
     .type = WEIR_SETTING_ENUM,
     .preset = "beginning",
     .choices = anchors,
     .offset = offsetof(window_settings, anchor),
     .help = "the point of a window that its time is of, and 0 within it"},
    {.name = "batch_windows",
     .type = WEIR_SETTING_BOOL,
     .preset = "false",
     .offset = offsetof(window_settings, batch_windows),
     .help = "false only: windows are not joined again"},
    {.name = "buffer_update_strategy",
     .type = WEIR_SETTING_IGNORED,
     .preset = "null",
     .help = "without effect: frames are always copied as they come"},
    {.name = NULL},
};

static window *place(weiri_carver *carver, uint64_t frames, uint64_t row_bytes)
{
    window *w = weiri_carve(carver, 1, sizeof *w);
    unsigned char *ring = weiri_carve(carver, frames, (size_t)row_bytes);
    if (w != NULL) {
        w->ring = ring;
    }
    return w;
}

/* ---- plan ---------------------------------------------------------------------------------- */

static weir_err whole_frames(const char *name, double seconds, double rate_hz, uint64_t *ret_frames)
{
    if (isnan(seconds)) {
        return weiri_fail(
            WEIR_E_CHAIN,
            "%s: must be given: one window a message depends on how the stream is cut", name);
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
        return weiri_fail(
            WEIR_E_CHAIN,
            "zero_pad_until: '%s' depends on how the stream is cut into messages; use "
            "'shift' (zeros before the stream) or 'none'",
            paddings[set->zero_pad_until].name);
    }
    if (set->batch_windows) {
        return weiri_fail(
            WEIR_E_CHAIN,
            "batch_windows: joined windows are the stream as it was; leave the unit out");
    }
    if (plan->in->dim_count >= WEIR_MAX_DIMS) {
        return weiri_fail(WEIR_E_CHAIN, "window: adds a dimension, and the stream has %d already",
                          WEIR_MAX_DIMS);
    }
    if (set->axis != NULL) {
        weiri_notice(plan->notices, "axis: '%s' is what windows go along anyway", set->axis);
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
        return weiri_fail(WEIR_E_CHAIN, "newaxis: the stream has dimensions '%s' and '%s' already",
                          set->newaxis, name);
    }
    weiri_notice(plan->notices, "newaxis: '%s' is there already, '%s' is taken", set->newaxis,
                 name);
    *ret_name = name;
    return WEIR_OK;
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
                          "window_dur: %llu frames of %llu bytes are more than can be held",
                          (unsigned long long)frames, (unsigned long long)row_bytes);
    }
    /* The time of a window is that of its first frame, of which zeros may stand before the stream; the
     * anchor moves it by the duration as set, not as rounded. */
    double anchor = set->anchor == ANCHOR_MIDDLE ? set->window_dur_s / 2
                    : set->anchor == ANCHOR_END  ? set->window_dur_s
                                                 : 0.0;
    uint64_t zeros = set->zero_pad_until == PAD_SHIFT && shift < frames ? frames - shift : 0;
    weir_spec *out = &plan->out;
    memmove(&out->dims[2], &out->dims[1], (in->dim_count - 1) * sizeof out->dims[0]);
    out->dim_count = in->dim_count + 1;
    out->dims[1] = in->dims[0];
    out->dims[1].size = frames;
    out->dims[1].start = -anchor;
    out->dims[1].step = 1.0 / in->rate_hz;
    out->dims[0].name = name;
    out->dims[0].start = in->dims[0].start - (double)zeros / in->rate_hz + anchor;
    plan->frames_per_output = (double)shift;
    weiri_carver carver = {.base = NULL, .used = 0};
    (void)place(&carver, frames, row_bytes);
    plan->state_bytes = carver.used;
    return WEIR_OK;
}

/* ---- running ------------------------------------------------------------------------------- */

static void reset_window(weiri_unit *unit)
{
    window *w = unit->state;
    memset(w->ring, 0, w->zeros * w->row_bytes);
    w->head = 0;
    w->held = w->zeros;
    w->fresh = 0;
    w->skip = 0;
}

static void init_window(weiri_unit *unit)
{
    const window_settings *set = unit->settings;
    size_t frames = (size_t)unit->out->dims[1].size;
    size_t row_bytes = (size_t)weir_spec_frame_bytes(unit->in);
    weiri_carver carver = {.base = unit->state, .used = 0};
    window *w = place(&carver, frames, row_bytes);
    w->kernels = weiri_kernels_get();
    w->frames = frames;
    w->shift = (size_t)weiri_frames_floor(set->window_shift_s, unit->in->rate_hz);
    w->row_bytes = row_bytes;
    w->columns = (size_t)weir_spec_columns(unit->in);
    w->zeros = set->zero_pad_until == PAD_SHIFT && w->shift < frames ? frames - w->shift : 0;
    reset_window(unit);
}

/* Copies the window out, oldest frame first, and moves on by a shift. */
static void put_out(window *w, unsigned char *to)
{
    size_t first = (w->frames - w->head) * w->row_bytes;
    memcpy(to, w->ring + w->head * w->row_bytes, first);
    memcpy(to + first, w->ring, w->head * w->row_bytes);
    if (w->shift < w->frames) {
        w->head = (w->head + w->shift) % w->frames;
        w->held -= w->shift;
    } else {
        w->head = 0;
        w->held = 0;
        w->skip = w->shift - w->frames;
    }
    w->fresh = 0;
}

/* Takes frames until a window is full; says how many. */
static size_t take_in(window *w, const unsigned char *rows, size_t frames)
{
    if (w->skip > 0) {
        size_t passed = frames < w->skip ? frames : w->skip;
        w->skip -= passed;
        return passed;
    }
    size_t tail = (w->head + w->held) % w->frames;
    size_t room = w->frames - w->held;
    size_t until_wrap = w->frames - tail;
    room = room < until_wrap ? room : until_wrap;
    frames = frames < room ? frames : room;
    memcpy(w->ring + tail * w->row_bytes, rows, frames * w->row_bytes);
    w->held += frames;
    w->fresh += frames;
    return frames;
}

/* A missing sample passes on as it is (S5); it is counted as it comes, in however many windows it is. */
static void count_missing(weiri_unit *unit, const window *w, const void *rows, size_t frames)
{
    bool finite = unit->in->dtype == WEIR_F32 ? w->kernels->finite_f32(rows, frames * w->columns)
                                              : w->kernels->finite_f64(rows, frames * w->columns);
    if (!finite) {
        weiri_count_missing(unit, rows, frames);
    }
}

static void process_window(weiri_unit *unit,
                           const weiri_tile *in,
                           size_t *ret_consumed,
                           weiri_tile *out,
                           size_t *ret_produced)
{
    window *w = unit->state;
    const unsigned char *rows = in->data;
    size_t consumed = 0, produced = 0;
    for (;;) {
        if (w->held == w->frames) {
            if (produced == out->frames) {
                break;
            }
            put_out(w, (unsigned char *)out->data + produced * w->frames * w->row_bytes);
            produced++;
        } else if (consumed < in->frames) {
            consumed += take_in(w, rows + consumed * w->row_bytes, in->frames - consumed);
        } else {
            break;
        }
    }
    count_missing(unit, w, in->data, consumed);
    *ret_consumed = consumed;
    *ret_produced = produced;
}

static uint64_t unfinished_window(const weiri_unit *unit)
{
    const window *w = unit->state;
    return w->fresh;
}

const weiri_unit_ops weiri_unit_window = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "window",
             .summary = "cuts the stream into windows, overlapping or apart",
             .flags = WEIR_UNIT_CHANGES_RATE | WEIR_UNIT_STATEFUL,
             .settings = table},
    .settings_bytes = sizeof(window_settings),
    .plan = plan_window,
    .init = init_window,
    .process = process_window,
    .reset = reset_window,
    .unfinished = unfinished_window,
};
