/* SPDX-License-Identifier: MIT
 *
 * binned_aggregate.c: one value a bin and channel, for bins of a fixed duration over the stream's
 * dimension. Bin k ends at frame floor((k + 1) * length), computed exactly: a length that is no whole
 * number of frames gives bins that differ by one frame and never drift (S3). The arithmetic is
 * dsp/reduce.c's.
 */
#include "dsp/reduce.h"
#include "unit/unit.h"

#include <stdio.h>
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
    weiri_fraction length; /* frames a bin */
    uint64_t longest;      /* frames of the longest */
    double spacing_s;      /* between frames */
    uint64_t count;        /* operations; 0: passthrough */
    int operations[];
} binned;

static const weir_setting table[] = {
    {.name = "axis",
     .type = WEIR_SETTING_STRING,
     .preset = "null",
     .offset = offsetof(binned_settings, axis),
     .help = "name of the stream's dimension; no other can be binned"},
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
         "aggregation of a bin (argmin, argmax: number of the frame within the bin); a list adds a "
         "last dimension with one entry per operation"},
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
     .help = "true: pass the stream through unchanged"},
    {.name = NULL},
};

static weiri_fraction bin_length(const binned_settings *set, const weir_spec *in)
{
    double duration_s = set->bin_duration_s;
    weiri_fraction frames = set->fractional
                                ? weiri_frames_exact(duration_s, in->rate_hz)
                                : (weiri_fraction){weiri_frames_floor(duration_s, in->rate_hz), 1};
    return weiri_bin_length(frames, 0);
}

static weiri_reduce_what what_of(const binned *b, const weir_spec *in, uint64_t columns)
{
    return (weiri_reduce_what){
        .operations = b->operations,
        .count = (size_t)b->count,
        .dtype = in->dtype,
        .columns = columns,
        .longest = b->longest,
        .start = 0.0, /* argmin and argmax: the frame's number within its bin */
        .step = 1.0,
        .spacing = b->spacing_s,
    };
}

/* ---- plan ---------------------------------------------------------------------------------- */

static weir_err plan_metrics(const binned_settings *set, weiri_unit_plan *plan)
{
    size_t count = set->operations.count;
    if (plan->in->dim_count >= WEIR_MAX_DIMS) {
        return weiri_fail(
            WEIR_E_CHAIN,
            "operation: a list adds a dimension, and the stream already has %d; use one name",
            WEIR_MAX_DIMS);
    }
    if (weir_spec_dim(plan->in, set->newaxis) >= 0) {
        return weiri_fail(WEIR_E_CHAIN, "newaxis: the stream already has a dimension '%s'",
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

/* Arrays of several operations have the same names: "std.mean". */
static weir_err plan_fields(const weiri_reduce_what *what, weiri_unit_plan *plan)
{
    weir_err err = WEIR_OK;
    weiri_reduce_array a;
    for (size_t i = 0; err == WEIR_OK && weiri_reduce_array_of(what, i, &a); i++) {
        size_t size = strlen(a.operation) + strlen(a.name) + 2;
        char *name = plan->memory.get(plan->memory.user, size);
        if (name == NULL) {
            return WEIR_E_NOMEM;
        }
        snprintf(name, size, "%s%s%s", a.operation, a.operation[0] != '\0' ? "." : "", a.name);
        err = weiri_plan_field(
            plan, (weiri_field){.name = name, .kind = a.kind, .bytes = a.bytes, .rows = a.rows});
    }
    return err;
}

/* argmin and argmax are a number of frames. */
static weir_err plan_units(const binned_settings *set, weiri_unit_plan *plan)
{
    switch (weiri_reduce_unit_of(set->operations.of.choices, set->operations.count)) {
    case WEIRI_REDUCE_COORDINATE:
        return weiri_units_follow(plan, 0.0, "");
    case WEIRI_REDUCE_AREA:
        return weiri_units_follow(plan, 1.0, plan->in->dims[0].unit);
    case WEIRI_REDUCE_SEVERAL:
        plan->out.units = NULL;
        break;
    case WEIRI_REDUCE_SAMPLE:
        break;
    }
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
        weiri_notice(plan->notices, "axis: ignored: bins are always along '%s'", set->axis);
    }
    plan->constant_bytes = sizeof(binned);
    if (set->passthrough) {
        return WEIR_OK;
    }
    binned sizes = {.length = bin_length(set, in), .count = set->operations.count};
    err = weiri_bin_check(sizes.length, set->bin_duration_s, in->rate_hz);
    if (err == WEIR_OK && sizes.count == 0) {
        err = weiri_fail(WEIR_E_CHAIN, "operation: the list is empty");
    }
    if (err != WEIR_OK) {
        return err;
    }
    sizes.longest = weiri_bin_longest(sizes.length);
    weiri_reduce_what what = what_of(&sizes, in, weir_spec_columns(in));
    what.operations = set->operations.of.choices;
    err = weiri_reduce_check(&what, "bin_duration");
    if (err == WEIR_OK && set->operations.listed) {
        err = plan_metrics(set, plan);
    }
    if (err == WEIR_OK) {
        err = plan_fields(&what, plan);
    }
    if (err != WEIR_OK) {
        return err;
    }
    err = plan_units(set, plan);
    if (err != WEIR_OK) {
        return err;
    }
    plan->due = weiri_bin_due(sizes.length, 0);
    plan->constant_bytes += sizes.count * sizeof sizes.operations[0];
    weiri_reduce_scratch(&what, &plan->scratch_bytes, &plan->scratch_column_bytes);
    return WEIR_OK;
}

static void prepare_binned(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    const binned_settings *set = settings;
    binned *b = constants;
    if (set->passthrough) {
        return;
    }
    b->length = bin_length(set, plan->in);
    b->longest = weiri_bin_longest(b->length);
    b->spacing_s = 1.0 / plan->in->rate_hz;
    b->count = set->operations.count;
    memcpy(b->operations, set->operations.of.choices, b->count * sizeof b->operations[0]);
}

/* A bin that frame n - 1 is in ends at most this much later. */
static uint64_t settle_binned(const void *settings, const weiri_unit_plan *plan, double tolerance)
{
    const binned_settings *set = settings;
    (void)tolerance;
    return set->passthrough ? 0 : weiri_bin_longest(bin_length(set, plan->in)) - 1;
}

/* ---- running ------------------------------------------------------------------------------- */

static void reset_binned(weiri_block *block)
{
    const binned *b = block->constants;
    if (b->count > 0) {
        weiri_reduce r = {.what = what_of(b, block->in, block->columns), .arrays = block->state};
        weiri_reduce_begin(&r);
    }
}

static void run_binned(weiri_block *block, const weiri_work *work)
{
    const binned *b = block->constants;
    size_t in_bytes = (size_t)block->columns * weir_dtype_bytes(block->in->dtype);
    if (b->count == 0) {
        memcpy(work->out, work->in[0], work->consume * in_bytes);
        return;
    }
    size_t out_bytes = (size_t)weir_spec_frame_bytes(block->out);
    const unsigned char *rows = work->in[0];
    unsigned char *results = work->out;
    uint64_t bin = work->produced, position = work->consumed;
    uint64_t last = position + work->consume, end = weiri_fraction_times(b->length, bin + 1);
    weiri_reduce r = {.what = what_of(b, block->in, block->columns),
                      .arrays = block->state,
                      .scratch = work->scratch,
                      .frames = position - weiri_fraction_times(b->length, bin)};
    while (position < last) {
        size_t frames = (size_t)((end < last ? end : last) - position);
        if (!weiri_reduce_add(&r, rows, frames)) {
            weiri_count_missing(block, rows, frames);
        }
        rows += frames * in_bytes;
        position += frames;
        if (position == end) {
            weiri_reduce_finish(&r, results);
            weiri_reduce_begin(&r);
            results += out_bytes;
            bin++;
            end = weiri_fraction_times(b->length, bin + 1); /* from its number: nothing adds up */
        }
    }
}

const weiri_unit_ops weiri_unit_binned_aggregate = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "binned_aggregate",
             .summary = "one value for each bin of a fixed duration: mean, max, std and so on",
             .formula = "y[k] = operation over the frames floor(k L) .. floor((k + 1) L) - 1 with "
                        "L = bin_duration rate, computed exactly from the decimals.",
             .start = "Bin 0 begins at the segment's first frame; a bin that is not full at the "
                      "end is dropped and counted.",
             .ezmsg = "binned_aggregate.BinnedAggregateTransformer",
             .flags = WEIR_UNIT_CHANGES_RATE | WEIR_UNIT_STATEFUL | WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(binned_settings),
    .plan = plan_binned,
    .prepare = prepare_binned,
    .settle = settle_binned,
    .reset = reset_binned,
    .run = run_binned,
};
