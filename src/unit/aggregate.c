/* SPDX-License-Identifier: MIT
 *
 * aggregate.c: one value for a whole inner dimension (the samples of a window, the frequencies of a
 * spectrum), which goes from the output. Along the stream's own dimension there is binned_aggregate.
 */
#include "dsp/reduce.h"
#include "kernel/kernel.h"
#include "unit/unit.h"

#include <math.h>
#include <string.h>

typedef struct aggregate_settings {
    const char *axis;
    int operation;
} aggregate_settings;

typedef struct aggregate {
    int operation;
    int dim;        /* that is joined */
    double divisor; /* see divisor_of */
    double start, step, spacing;
    uint64_t value_count; /* of values: as many as entries, or 0 */
    double values[];      /* coordinates of the entries */
} aggregate;

static const weir_setting table[] = {
    {.name = "axis",
     .type = WEIR_SETTING_STRING,
     .preset = NULL,
     .offset = offsetof(aggregate_settings, axis),
     .help = "dimension to aggregate; not the stream's dimension",
     .example = "time"},
    {.name = "operation",
     .type = WEIR_SETTING_ENUM,
     .preset = "mean",
     .choices = weiri_operations,
     .offset = offsetof(aggregate_settings, operation),
     .help =
         "aggregation; argmin and argmax give the coordinate, if the dimension has coordinates"},
    {.name = NULL},
};

static weiri_reduce_what what_of(const aggregate *a, const weir_spec *in)
{
    weiri_split split = weiri_spec_split(in, a->dim);
    return (weiri_reduce_what){
        .operations = &a->operation,
        .count = 1,
        .dtype = in->dtype,
        .columns = split.inner,
        .longest = split.size,
        .whole = true,
        .strict = true,
        .start = a->start,
        .step = a->step,
        .spacing = a->spacing,
        .values = a->value_count > 0 ? a->values : NULL,
    };
}

/* Everything is scratch: a frame is joined by itself. */
enum { ARRAYS_MAX = 8 };
typedef struct arrays {
    void *at[ARRAYS_MAX];
} arrays;

static arrays place(const weiri_reduce_what *what, weiri_carver *carver, void **ret_scratch)
{
    arrays all = {{NULL}};
    weiri_reduce_array array;
    uint64_t bytes = 0, column_bytes = 0;
    weiri_reduce_scratch(what, &bytes, &column_bytes);
    *ret_scratch = weiri_carve(carver, bytes + what->columns * column_bytes, 1);
    for (size_t i = 0; i < ARRAYS_MAX && weiri_reduce_array_of(what, i, &array); i++) {
        all.at[i] = weiri_carve(carver, array.rows * what->columns, array.bytes);
    }
    return all;
}

/* ---- plan ---------------------------------------------------------------------------------- */

static weir_err find_axis(const weir_spec *in, const char *name, int *ret_dim)
{
    int dim = weir_spec_dim(in, name);
    if (dim > 0) {
        *ret_dim = dim;
        return WEIR_OK;
    }
    if (dim == 0) {
        return weiri_fail(WEIR_E_CHAIN,
                          "axis: '%s' is the stream's dimension; use binned_aggregate, or window "
                          "before it",
                          name);
    }
    const char *d[WEIR_MAX_DIMS];
    for (size_t i = 0; i < WEIR_MAX_DIMS; i++) {
        d[i] = i < in->dim_count && i > 0 ? in->dims[i].name : "";
    }
    return weiri_fail(WEIR_E_CHAIN, "axis: there is no dimension '%s'; there are: %s %s %s", name,
                      d[1], d[2], d[3]);
}

/* Values of several units are not joined. */
static weir_err check_units(const weir_spec *in, int dim)
{
    if (in->units == NULL || strcmp(in->dims[dim].name, "ch") != 0) {
        return WEIR_OK;
    }
    for (uint64_t i = 1; i < in->dims[dim].size; i++) {
        if (strcmp(in->units[0], in->units[i]) != 0) {
            return weiri_fail(WEIR_E_CHAIN,
                              "axis: channels with different physical units cannot be aggregated: "
                              "channel 0 is in "
                              "'%s', channel %llu in '%s'",
                              in->units[0], (unsigned long long)i, in->units[i]);
        }
    }
    return WEIR_OK;
}

/* A sum over channels goes in the fixed tree (S1), 5 us for 300 x 256 where in order it is 74: what it is
 * divided by, or 0 for anything else. */
static double divisor_of(int operation, const weir_spec *in, int dim)
{
    weiri_split split = weiri_spec_split(in, dim);
    if (strcmp(in->dims[dim].name, "ch") != 0 || split.inner != 1) {
        return 0.0;
    }
    bool sum = operation == WEIRI_SUM || operation == WEIRI_NANSUM;
    bool mean = operation == WEIRI_MEAN || operation == WEIRI_NANMEAN;
    return sum ? 1.0 : mean ? (double)split.size : 0.0;
}

static void prepare_aggregate(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    const aggregate_settings *set = settings;
    const weir_spec *in = plan->in;
    aggregate *a = constants;
    int dim = weir_spec_dim(in, set->axis);
    const weir_axis *axis = &in->dims[dim];
    bool indexed = axis->labels != NULL; /* names have no place on a line: entry i is at i */
    *a = (aggregate){
        .operation = set->operation,
        .dim = dim,
        .divisor = divisor_of(set->operation, in, dim),
        .start = indexed ? 0.0 : axis->start,
        .step = indexed ? 1.0 : axis->step,
        .spacing = indexed ? 1.0 : axis->step,
        .value_count = axis->values != NULL ? axis->size : 0,
    };
    if (axis->values != NULL) {
        memcpy(a->values, axis->values, (size_t)axis->size * sizeof *a->values);
    }
}

static weir_err
plan_units(const aggregate_settings *set, weiri_unit_plan *plan, const weir_axis *axis)
{
    const char *unit = axis->labels != NULL || axis->unit == NULL ? "" : axis->unit;
    weiri_reduce_unit result = weiri_reduce_unit_of(&set->operation, 1);
    return result == WEIRI_REDUCE_SAMPLE
               ? WEIR_OK
               : weiri_units_follow(plan, result == WEIRI_REDUCE_AREA ? 1.0 : 0.0, unit);
}

static weir_err plan_aggregate(const void *settings, weiri_unit_plan *plan)
{
    const aggregate_settings *set = settings;
    const weir_spec *in = plan->in;
    int dim = 0;
    weir_err err = find_axis(in, set->axis, &dim);
    if (err == WEIR_OK) {
        err = check_units(in, dim);
    }
    if (err != WEIR_OK) {
        return err;
    }
    aggregate a = {.operation = set->operation, .dim = dim};
    weiri_reduce_what what = what_of(&a, in);
    err = weiri_reduce_check(&what, "axis");
    if (err != WEIR_OK) {
        return err;
    }
    weir_spec *out = &plan->out;
    size_t after = in->dim_count - (size_t)dim - 1;
    memmove(&out->dims[dim], &out->dims[dim + 1], after * sizeof out->dims[0]);
    out->dim_count--;
    err = plan_units(set, plan, &in->dims[dim]);
    if (err != WEIR_OK) {
        return err;
    }
    plan->columnwise = strcmp(set->axis, "ch") != 0;
    plan->constant_bytes = sizeof a;
    if (in->dims[dim].values != NULL) {
        plan->constant_bytes += in->dims[dim].size * sizeof a.values[0];
    }
    weiri_carver carver = {.base = NULL, .used = 0};
    void *scratch = NULL;
    (void)place(&what, &carver, &scratch);
    plan->scratch_bytes = carver.used; /* of all channels, which is enough for some of them */
    return WEIR_OK;
}

/* ---- running ------------------------------------------------------------------------------- */

/* False: a sample is missing (or finite ones overflow), and the group is for the reduction. */
static bool
join_row(const aggregate *a, const weiri_reduce_what *what, const void *row, void *value)
{
    const weiri_kernels *k = weiri_kernels_get();
    size_t size = (size_t)what->longest;
    bool f32 = what->dtype == WEIR_F32;
    double sum = f32 ? (double)k->sum_f32(row, size) : k->sum_f64(row, size);
    if (!isfinite(sum)) {
        return false;
    }
    if (f32) {
        *(float *)value = (float)(sum / a->divisor);
    } else {
        *(double *)value = sum / a->divisor;
    }
    return true;
}

static bool is_finite(const weiri_reduce_what *what, const void *values, size_t count)
{
    const weiri_kernels *k = weiri_kernels_get();
    return what->dtype == WEIR_F32 ? k->finite_f32(values, count) : k->finite_f64(values, count);
}

enum { ROWS = 16 };

/* Medians of rows, several at once (0.4 ns a sample of 256 channels; one after the other 10). Those of rows in which a
 * sample is missing are for the reduction. */
static void find_medians(const weiri_reduce *r, const void *rows, size_t count, void *values)
{
    const weiri_kernels *k = weiri_kernels_get();
    size_t size = (size_t)r->what.longest;
    weiri_shift medians[ROWS];
    if (r->what.dtype == WEIR_F32) {
        k->medians_f32(rows, size, count, NULL, size, false, r->scratch, medians);
    } else {
        k->medians_f64(rows, size, count, NULL, size, false, r->scratch, medians);
    }
    for (size_t i = 0; i < count; i++) {
        if (r->what.dtype == WEIR_F32) {
            ((float *)values)[i] = (float)medians[i].less;
        } else {
            ((double *)values)[i] = medians[i].less;
        }
    }
}

static void run_aggregate(weiri_block *block, const weiri_work *work)
{
    const aggregate *a = block->constants;
    weiri_reduce r = {.what = what_of(a, block->in)};
    weiri_carver carver = {.base = work->scratch, .used = 0};
    arrays all = place(&r.what, &carver, &r.scratch);
    r.arrays = all.at;
    size_t bytes = weir_dtype_bytes(block->in->dtype), size = (size_t)r.what.longest;
    size_t value_bytes = (size_t)r.what.columns * bytes;
    size_t group_bytes = size * value_bytes; /* [size x inner] */
    size_t groups = work->consume * (size_t)weiri_spec_split(block->in, a->dim).outer;
    const unsigned char *group = work->in[0];
    unsigned char *values = work->out;
    bool median = a->operation == WEIRI_MEDIAN || a->operation == WEIRI_NANMEDIAN, finite = true;
    bool rows = median && r.what.columns == 1;
    for (size_t i = 0; i < groups; i++) {
        if (rows && i % ROWS == 0) {
            find_medians(&r, group, groups - i < ROWS ? groups - i : ROWS, values);
        }
        bool done = rows                ? is_finite(&r.what, group, size)
                    : a->divisor != 0.0 ? join_row(a, &r.what, group, values)
                                        : false;
        if (!done) {
            weiri_reduce_begin(&r);
            finite &= weiri_reduce_add(&r, group, size);
            weiri_reduce_finish(&r, values);
        }
        group += group_bytes;
        values += value_bytes;
    }
    if (!finite) {
        weiri_count_missing(block, work->in[0], work->consume);
    }
}

const weiri_unit_ops weiri_unit_aggregate = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "aggregate",
             .summary = "aggregates an inner dimension into one value: mean, max, std and so on",
             .before = "- window: {window_dur: 20 ms, window_shift: 5 ms}",
             .formula = "y = operation over all entries of an axis, frame by frame.",
             .ezmsg = "aggregate.AggregateTransformer",
             .flags = WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(aggregate_settings),
    .plan = plan_aggregate,
    .prepare = prepare_aggregate,
    .run = run_aggregate,
};
