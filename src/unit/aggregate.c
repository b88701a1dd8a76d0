/* SPDX-License-Identifier: MIT
 *
 * aggregate.c: one value for a whole inner dimension (the samples of a window, the frequencies of a
 * spectrum), which goes from the output. Along the stream's own dimension there is binned_aggregate.
 */
#include "unit/reduce.h"

#include <math.h>
#include <string.h>

typedef struct aggregate_settings {
    const char *axis;
    int operation;
} aggregate_settings;

typedef struct aggregate {
    weiri_reduce reduce;
    size_t outer;       /* blocks [size x inner] in a frame */
    size_t size;        /* rows of a block: what is joined */
    size_t block_bytes; /* in */
    size_t value_bytes; /* out: [inner] of a block */
    double divisor;     /* see divisor_of */
} aggregate;

static const weir_setting table[] = {
    {.name = "axis",
     .type = WEIR_SETTING_STRING,
     .preset = NULL,
     .offset = offsetof(aggregate_settings, axis),
     .help = "the dimension to join; not the stream's own",
     .example = "time"},
    {.name = "operation",
     .type = WEIR_SETTING_ENUM,
     .preset = "mean",
     .choices = weiri_operations,
     .offset = offsetof(aggregate_settings, operation),
     .help = "what it becomes; argmin and argmax give the coordinate, where the dimension has one"},
    {.name = NULL},
};

static weiri_reduce_what what_of(const aggregate_settings *set, const weir_spec *in)
{
    int dim = weir_spec_dim(in, set->axis);
    const weir_axis *axis = &in->dims[dim];
    bool indexed = axis->labels != NULL; /* names have no place on a line: frame i is at i */
    weiri_split split = weiri_spec_split(in, dim);
    return (weiri_reduce_what){
        .operations = &set->operation,
        .count = 1,
        .dtype = in->dtype,
        .columns = split.inner,
        .longest = split.size,
        .whole = true,
        .strict = true,
        .start = indexed ? 0.0 : axis->start,
        .step = indexed ? 1.0 : axis->step,
        .spacing = indexed ? 1.0 : axis->step,
        .values = indexed ? NULL : axis->values,
    };
}

static aggregate *place(const weiri_reduce_what *what, weiri_carver *carver)
{
    aggregate *a = weiri_carve(carver, 1, sizeof *a);
    weiri_reduce_place(a != NULL ? &a->reduce : NULL, what, carver);
    return a;
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
        return weiri_fail(
            WEIR_E_CHAIN,
            "axis: '%s' is the stream's own dimension; use binned_aggregate, or window "
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
                              "axis: channels of different units cannot be joined: channel 0 is in "
                              "'%s', channel %llu in '%s'",
                              in->units[0], (unsigned long long)i, in->units[i]);
        }
    }
    return WEIR_OK;
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
    weiri_reduce_what what = what_of(set, in);
    err = weiri_reduce_check(&what, "axis");
    if (err != WEIR_OK) {
        return err;
    }
    weir_spec *out = &plan->out;
    size_t after = in->dim_count - (size_t)dim - 1;
    memmove(&out->dims[dim], &out->dims[dim + 1], after * sizeof out->dims[0]);
    out->dim_count--;
    const weir_axis *axis = &in->dims[dim];
    const char *unit = axis->labels != NULL || axis->unit == NULL ? "" : axis->unit;
    err = weiri_reduce_units(plan, &set->operation, 1, unit, unit);
    if (err != WEIR_OK) {
        return err;
    }
    weiri_carver carver = {.base = NULL, .used = 0};
    (void)place(&what, &carver);
    plan->state_bytes = carver.used;
    return WEIR_OK;
}

/* ---- running ------------------------------------------------------------------------------- */

/* A sum over channels goes in the fixed tree (S1), 5 us for 300 x 256 where in order it is 74: what it is
 * divided by, or 0 where something else is asked. */
static double divisor_of(const aggregate_settings *set, weiri_split split)
{
    if (strcmp(set->axis, "ch") != 0 || split.inner != 1) {
        return 0.0;
    }
    bool sum = set->operation == WEIRI_SUM || set->operation == WEIRI_NANSUM;
    bool mean = set->operation == WEIRI_MEAN || set->operation == WEIRI_NANMEAN;
    return sum ? 1.0 : mean ? (double)split.size : 0.0;
}

static void init_aggregate(weiri_unit *unit)
{
    const aggregate_settings *set = unit->settings;
    weiri_split split = weiri_spec_split(unit->in, weir_spec_dim(unit->in, set->axis));
    size_t bytes = weir_dtype_bytes(unit->in->dtype);
    weiri_reduce_what what = what_of(set, unit->in);
    weiri_carver carver = {.base = unit->state, .used = 0};
    aggregate *a = place(&what, &carver);
    a->outer = (size_t)split.outer;
    a->size = (size_t)split.size;
    a->block_bytes = (size_t)(split.size * split.inner) * bytes;
    a->value_bytes = (size_t)split.inner * bytes;
    a->divisor = divisor_of(set, split);
}

/* False: a sample is missing (or finite ones overflow), and the block is for join_block. */
static bool join_row(const aggregate *a, const void *row, void *value)
{
    const weiri_kernels *k = a->reduce.kernels;
    bool f32 = a->reduce.what.dtype == WEIR_F32;
    double sum = f32 ? k->sum_f32(row, a->size) : k->sum_f64(row, a->size);
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

static bool join_block(aggregate *a, const void *block, void *values)
{
    weiri_reduce_begin(&a->reduce);
    bool finite = weiri_reduce_add(&a->reduce, block, a->size);
    weiri_reduce_finish(&a->reduce, values);
    return finite;
}

static void process_aggregate(weiri_unit *unit,
                              const weiri_tile *in,
                              size_t *ret_consumed,
                              weiri_tile *out,
                              size_t *ret_produced)
{
    aggregate *a = unit->state;
    const unsigned char *block = in->data;
    unsigned char *values = out->data;
    size_t frames = in->frames < out->frames ? in->frames : out->frames;
    bool finite = true;
    for (size_t i = 0; i < frames * a->outer; i++) {
        if (a->divisor == 0.0 || !join_row(a, block, values)) {
            finite &= join_block(a, block, values);
        }
        block += a->block_bytes;
        values += a->value_bytes;
    }
    if (!finite) {
        weiri_count_missing(unit, in->data, frames);
    }
    *ret_consumed = frames;
    *ret_produced = frames;
}

const weiri_unit_ops weiri_unit_aggregate = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "aggregate",
             .summary = "joins an inner dimension into one value: mean, max, std and so on",
             .flags = 0,
             .settings = table},
    .settings_bytes = sizeof(aggregate_settings),
    .plan = plan_aggregate,
    .init = init_aggregate,
    .process = process_aggregate,
};
