/* SPDX-License-Identifier: MIT
 *
 * binned_aggregate.c: one value a bin and channel, for bins of a fixed duration over the stream's
 * dimension. Bin k ends at frame floor((k + 1) * length): a length that is no whole number of frames
 * gives bins that differ by one frame and never drift (S3). The arithmetic is reduce.c's.
 */
#include "base/decimal.h"
#include "unit/reduce.h"

#include <string.h>

typedef struct binned_settings {
    const char *axis;
    double bin_duration_s;
    weir_list operations;
    const char *newaxis;
    bool fractional;
    bool passthrough;
} binned_settings;

typedef struct binned {
    weiri_reduce reduce;
    weiri_fraction length; /* frames a bin */
    uint64_t bin;          /* number of the open one */
    uint64_t position;     /* frames since the start of the segment */
    uint64_t end;          /* of the open bin, the same way */
} binned;

static const weir_setting table[] = {
    {.name = "axis",
     .type = WEIR_SETTING_STRING,
     .preset = "null",
     .offset = offsetof(binned_settings, axis),
     .help = "the stream's dimension; nothing else can be binned"},
    {.name = "bin_duration",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_TIME,
     .preset = "20 ms",
     .min = 1e-9,
     .max = 1e9,
     .offset = offsetof(binned_settings, bin_duration_s),
     .help = "duration of a bin, at least one frame; computed as decimals: 9 ms at 25 kHz are 225 "
             "frames, 43 ms at 5 kHz 215 (ezmsg-sigproc: 224 and 214)",
     .example = "10 ms"},
    {.name = "operation",
     .type = WEIR_SETTING_ENUM_LIST,
     .preset = "mean",
     .choices = weiri_operations,
     .offset = offsetof(binned_settings, operations),
     .help =
         "what a bin becomes (argmin, argmax: the number of the frame within it); a list adds a "
         "last dimension, one entry an operation"},
    {.name = "newaxis",
     .type = WEIR_SETTING_STRING,
     .preset = "metric",
     .offset = offsetof(binned_settings, newaxis),
     .help = "name of the dimension that a list of operations adds"},
    {.name = "fractional",
     .type = WEIR_SETTING_BOOL,
     .preset = "true",
     .offset = offsetof(binned_settings, fractional),
     .help = "true: bins of exactly bin_duration on average; false: of floor(bin_duration x rate) "
             "frames each"},
    {.name = "passthrough",
     .type = WEIR_SETTING_BOOL,
     .preset = "false",
     .offset = offsetof(binned_settings, passthrough),
     .help = "true: let the stream through as it is"},
    {.name = NULL},
};

static weiri_fraction bin_length(const binned_settings *set, const weir_spec *in)
{
    double duration_s = set->bin_duration_s;
    return set->fractional ? weiri_frames_exact(duration_s, in->rate_hz)
                           : (weiri_fraction){weiri_frames_floor(duration_s, in->rate_hz), 1};
}

static uint64_t longest(weiri_fraction length)
{
    return length.over / length.under + (length.over % length.under != 0);
}

static weiri_reduce_what what_of(const binned_settings *set, const weir_spec *in)
{
    return (weiri_reduce_what){
        .operations = set->operations.of.choices,
        .count = set->operations.count,
        .dtype = in->dtype,
        .columns = weir_spec_columns(in),
        .longest = longest(bin_length(set, in)),
        .start = 0.0, /* argmin and argmax: the frame's number within its bin */
        .step = 1.0,
        .spacing = 1.0 / in->rate_hz,
    };
}

static binned *place(const weiri_reduce_what *what, weiri_carver *carver)
{
    binned *b = weiri_carve(carver, 1, sizeof *b);
    weiri_reduce_place(b != NULL ? &b->reduce : NULL, what, carver);
    return b;
}

/* ---- plan ---------------------------------------------------------------------------------- */

static weir_err plan_metrics(const binned_settings *set, weiri_unit_plan *plan)
{
    size_t count = set->operations.count;
    if (plan->in->dim_count >= WEIR_MAX_DIMS) {
        return weiri_fail(
            WEIR_E_CHAIN,
            "operation: a list adds a dimension, and the stream has %d already; name one",
            WEIR_MAX_DIMS);
    }
    if (weir_spec_dim(plan->in, set->newaxis) >= 0) {
        return weiri_fail(WEIR_E_CHAIN, "newaxis: the stream has a dimension '%s' already",
                          set->newaxis);
    }
    const char **labels = plan->memory.get(plan->memory.user, count * sizeof *labels);
    if (labels == NULL) {
        return WEIR_E_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        labels[i] = weiri_operations[set->operations.of.choices[i]].name;
    }
    plan->out.dims[plan->out.dim_count++] =
        (weir_axis){.name = set->newaxis, .unit = "", .size = count, .labels = labels};
    return WEIR_OK;
}

static weir_err plan_binned(const void *settings, weiri_unit_plan *plan)
{
    const binned_settings *set = settings;
    const weir_spec *in = plan->in;
    weir_err err = weiri_axis_is_stream(in, set->axis);
    if (err != WEIR_OK) {
        return err;
    }
    if (set->axis != NULL) {
        weiri_notice(plan->notices, "axis: '%s' is what bins go along anyway", set->axis);
    }
    if (set->passthrough) {
        plan->state_bytes = 0;
        return WEIR_OK;
    }
    weiri_fraction length = bin_length(set, in);
    if (length.over < length.under) {
        return weiri_fail(WEIR_E_CHAIN, "bin_duration: %g s is less than one frame (%g s at %g Hz)",
                          set->bin_duration_s, 1.0 / in->rate_hz, in->rate_hz);
    }
    if (longest(length) > INT32_MAX) {
        return weiri_fail(WEIR_E_CHAIN, "bin_duration: %g s is %llu frames; at most %d are allowed",
                          set->bin_duration_s, (unsigned long long)longest(length), INT32_MAX);
    }
    if (set->operations.count == 0) {
        return weiri_fail(WEIR_E_CHAIN, "operation: the list is empty");
    }
    weiri_reduce_what what = what_of(set, in);
    err = weiri_reduce_check(&what, "bin_duration");
    if (err == WEIR_OK && set->operations.listed) {
        err = plan_metrics(set, plan);
    }
    if (err != WEIR_OK) {
        return err;
    }
    err = weiri_reduce_units(plan, set->operations.of.choices, set->operations.count, "",
                             in->dims[0].unit); /* argmin, argmax: a number of frames */
    if (err != WEIR_OK) {
        return err;
    }
    plan->frames_per_output = (double)length.over / (double)length.under;
    weiri_carver carver = {.base = NULL, .used = 0};
    (void)place(&what, &carver);
    plan->state_bytes = carver.used;
    return WEIR_OK;
}

/* ---- running ------------------------------------------------------------------------------- */

static void start(binned *b)
{
    b->bin = 0;
    b->position = 0;
    b->end = weiri_fraction_times(b->length, 1);
    weiri_reduce_begin(&b->reduce);
}

static void init_binned(weiri_unit *unit)
{
    const binned_settings *set = unit->settings;
    if (set->passthrough) {
        return;
    }
    weiri_reduce_what what = what_of(set, unit->in);
    weiri_carver carver = {.base = unit->state, .used = 0};
    binned *b = place(&what, &carver);
    b->length = bin_length(set, unit->in);
    start(b);
}

static void reset_binned(weiri_unit *unit)
{
    const binned_settings *set = unit->settings;
    if (!set->passthrough) {
        start(unit->state);
    }
}

static void close_bin(binned *b, void *results)
{
    weiri_reduce_finish(&b->reduce, results);
    weiri_reduce_begin(&b->reduce);
    b->bin++;
    b->end = weiri_fraction_times(b->length, b->bin + 1); /* from its number: nothing adds up */
}

static void let_through(weiri_unit *unit,
                        const weiri_tile *in,
                        size_t *ret_consumed,
                        weiri_tile *out,
                        size_t *ret_produced)
{
    size_t frames = in->frames < out->frames ? in->frames : out->frames;
    memcpy(out->data, in->data, frames * (size_t)weir_spec_frame_bytes(unit->in));
    *ret_consumed = frames;
    *ret_produced = frames;
}

static void process_binned(weiri_unit *unit,
                           const weiri_tile *in,
                           size_t *ret_consumed,
                           weiri_tile *out,
                           size_t *ret_produced)
{
    const binned_settings *set = unit->settings;
    if (set->passthrough) {
        let_through(unit, in, ret_consumed, out, ret_produced);
        return;
    }
    binned *b = unit->state;
    size_t in_bytes = (size_t)weir_spec_frame_bytes(unit->in);
    size_t out_bytes = (size_t)weir_spec_frame_bytes(unit->out);
    size_t consumed = 0, produced = 0;
    while (consumed < in->frames) {
        const unsigned char *rows = (const unsigned char *)in->data + consumed * in_bytes;
        uint64_t left = b->end - b->position;
        if (produced == out->frames) { /* without room all is taken but what would end the bin */
            left--;
        }
        size_t frames = in->frames - consumed;
        frames = frames < left ? frames : (size_t)left;
        if (frames == 0) {
            break;
        }
        if (!weiri_reduce_add(&b->reduce, rows, frames)) {
            weiri_count_missing(unit, rows, frames);
        }
        consumed += frames;
        b->position += frames;
        if (b->position == b->end) {
            close_bin(b, (unsigned char *)out->data + produced * out_bytes);
            produced++;
        }
    }
    *ret_consumed = consumed;
    *ret_produced = produced;
}

static uint64_t unfinished_binned(const weiri_unit *unit)
{
    const binned_settings *set = unit->settings;
    const binned *b = unit->state;
    return set->passthrough ? 0 : b->reduce.frames;
}

const weiri_unit_ops weiri_unit_binned_aggregate = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "binned_aggregate",
             .summary = "one value for each bin of a fixed duration: mean, max, std and so on",
             .flags = WEIR_UNIT_CHANGES_RATE | WEIR_UNIT_STATEFUL | WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(binned_settings),
    .plan = plan_binned,
    .init = init_binned,
    .process = process_binned,
    .reset = reset_binned,
    .unfinished = unfinished_binned,
};
