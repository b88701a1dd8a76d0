/* SPDX-License-Identifier: MIT
 *
 * aggregate_shared.c: bands of entries of an inner dimension, each aggregated into one entry.
 */
#include "unit/aggregate_shared.h"
#include "dsp/reduce.h"
#include "kernel/kernel.h"

#include <math.h>
#include <string.h>

static const double *coordinates_of(const weiri_aggregate *a)
{
    return (const double *)(weiri_aggregate_bands(a) + a->bands);
}

static weiri_reduce_what
what_of(const weiri_aggregate *a, const weir_spec *in, weiri_aggregate_band band)
{
    return (weiri_reduce_what){
        .operations = &a->operation,
        .count = 1,
        .dtype = in->dtype,
        .columns = weiri_spec_split(in, a->dim).inner,
        .longest = band.count,
        .whole = true,
        .strict = true,
        .start = a->start + (double)band.first * a->step,
        .step = a->step,
        .spacing = a->spacing,
        .values = a->values > 0 ? coordinates_of(a) + band.first : NULL,
    };
}

/* Everything is scratch: each band of each frame is aggregated by itself. */
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

weir_err weiri_aggregate_find_axis(const weir_spec *in, const char *name, int *ret_dim)
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

/* What a row's sum in the tree is divided by. */
static double divisor_of(int operation, uint64_t count)
{
    return operation == WEIRI_SUM || operation == WEIRI_NANSUM ? 1.0 : (double)count;
}

static weir_err plan_units(weiri_unit_plan *plan, int operation, const weir_axis *axis)
{
    const char *unit = axis->labels != NULL || axis->unit == NULL ? "" : axis->unit;
    weiri_reduce_unit result = weiri_reduce_unit_of(&operation, 1);
    return result == WEIRI_REDUCE_SAMPLE
               ? WEIR_OK
               : weiri_units_follow(plan, result == WEIRI_REDUCE_AREA ? 1.0 : 0.0, unit);
}

weir_err weiri_aggregate_plan(weiri_unit_plan *plan, int operation, int dim, uint64_t bands)
{
    const weir_spec *in = plan->in;
    const weir_axis *axis = &in->dims[dim];
    weir_err err = check_units(in, dim);
    if (err != WEIR_OK) {
        return err;
    }
    weiri_aggregate a = {.operation = operation, .dim = dim};
    weiri_reduce_what what = what_of(&a, in, (weiri_aggregate_band){0, axis->size});
    err = weiri_reduce_check(&what, "axis");
    if (err == WEIR_OK) {
        err = plan_units(plan, operation, axis);
    }
    if (err != WEIR_OK) {
        return err;
    }
    plan->columnwise = strcmp(axis->name, "ch") != 0;
    plan->constant_bytes = sizeof a + bands * sizeof(weiri_aggregate_band) +
                           (axis->values != NULL ? axis->size * sizeof(double) : 0);
    weiri_carver carver = {.base = NULL, .used = 0};
    void *scratch = NULL;
    (void)place(&what, &carver, &scratch);
    plan->scratch_bytes = carver.used; /* of all channels, which is enough for some of them */
    return WEIR_OK;
}

/* A sum over channels goes in the fixed tree (S1), 5 us for 300 x 256 where in order it is 74. */
void weiri_aggregate_prepare(
    const weir_spec *in, int operation, int dim, uint64_t bands, weiri_aggregate *ret_aggregate)
{
    const weir_axis *axis = &in->dims[dim];
    bool indexed = axis->labels != NULL; /* names have no place on a line: entry i is at i */
    bool sums = operation == WEIRI_SUM || operation == WEIRI_NANSUM || operation == WEIRI_MEAN ||
                operation == WEIRI_NANMEAN;
    *ret_aggregate = (weiri_aggregate){
        .operation = operation,
        .dim = dim,
        .tree = sums && strcmp(axis->name, "ch") == 0 && weiri_spec_split(in, dim).inner == 1,
        .start = indexed ? 0.0 : axis->start,
        .step = indexed ? 1.0 : axis->step,
        .spacing = indexed ? 1.0 : axis->step,
        .values = axis->values != NULL ? axis->size : 0,
        .bands = bands,
    };
    if (axis->values != NULL) {
        memcpy((double *)(weiri_aggregate_bands(ret_aggregate) + bands), axis->values,
               (size_t)axis->size * sizeof(double));
    }
}

/* ---- running ------------------------------------------------------------------------------- */

/* False: a sample is missing (or finite ones overflow), and the group is for the reduction. */
static bool join_row(const weiri_reduce_what *what, const void *row, void *value)
{
    const weiri_kernels *k = weiri_kernels_get();
    size_t size = (size_t)what->longest;
    bool f32 = what->dtype == WEIR_F32;
    double divisor = divisor_of(what->operations[0], what->longest);
    double sum = f32 ? (double)k->sum_f32(row, size) : k->sum_f64(row, size);
    if (!isfinite(sum)) {
        return false;
    }
    if (f32) {
        *(float *)value = (float)(sum / divisor);
    } else {
        *(double *)value = sum / divisor;
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
 * sample is missing are for the reduction. Strides in values. */
static void find_medians(const weiri_reduce *r,
                         const void *rows,
                         size_t stride,
                         size_t count,
                         void *values,
                         size_t value_stride)
{
    const weiri_kernels *k = weiri_kernels_get();
    size_t size = (size_t)r->what.longest;
    weiri_shift medians[ROWS];
    if (r->what.dtype == WEIR_F32) {
        k->medians_f32(rows, stride, count, NULL, size, false, r->scratch, medians);
    } else {
        k->medians_f64(rows, stride, count, NULL, size, false, r->scratch, medians);
    }
    for (size_t i = 0; i < count; i++) {
        if (r->what.dtype == WEIR_F32) {
            ((float *)values)[i * value_stride] = (float)medians[i].less;
        } else {
            ((double *)values)[i * value_stride] = medians[i].less;
        }
    }
}

/* One band of all frames of a call. False: a sample was missing, or finite ones overflowed. */
static bool run_band(const weiri_aggregate *a,
                     const weiri_block *block,
                     const weiri_work *work,
                     uint64_t number)
{
    weiri_aggregate_band band = weiri_aggregate_bands(a)[number];
    weiri_split split = weiri_spec_split(block->in, a->dim);
    weiri_reduce r = {.what = what_of(a, block->in, band)};
    weiri_carver carver = {.base = work->scratch, .used = 0};
    arrays all = place(&r.what, &carver, &r.scratch);
    r.arrays = all.at;
    size_t count = (size_t)band.count;
    size_t value_bytes = (size_t)split.inner * weir_dtype_bytes(block->in->dtype);
    size_t group_bytes = (size_t)split.size * value_bytes; /* [size x inner] */
    size_t step_bytes = (size_t)a->bands * value_bytes;
    size_t groups = work->consume * (size_t)split.outer;
    const unsigned char *group = (const unsigned char *)work->in[0] + band.first * value_bytes;
    unsigned char *values = (unsigned char *)work->out + number * value_bytes;
    bool median = a->operation == WEIRI_MEDIAN || a->operation == WEIRI_NANMEDIAN, finite = true;
    bool rows = median && split.inner == 1;
    for (size_t i = 0; i < groups; i++) {
        if (rows && i % ROWS == 0) {
            find_medians(&r, group, (size_t)split.size, groups - i < ROWS ? groups - i : ROWS,
                         values, (size_t)a->bands);
        }
        bool done = rows      ? is_finite(&r.what, group, count)
                    : a->tree ? join_row(&r.what, group, values)
                              : false;
        if (!done) {
            weiri_reduce_begin(&r);
            finite &= weiri_reduce_add(&r, group, count);
            weiri_reduce_finish(&r, values);
        }
        group += group_bytes;
        values += step_bytes;
    }
    return finite;
}

void weiri_aggregate_run(weiri_block *block, const weiri_work *work)
{
    const weiri_aggregate *a = block->constants;
    uint64_t seen = 0;
    bool finite = true;
    for (uint64_t i = 0; i < a->bands; i++) {
        seen = weiri_aggregate_bands(a)[i].count;
        finite &= run_band(a, block, work, i);
    }
    /* S5: also in entries that are in no band: damage should show */
    if (!finite || a->bands != 1 || seen != block->in->dims[a->dim].size) {
        weiri_look_for_missing(block, work->in[0], work->consume);
    }
}
