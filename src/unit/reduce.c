/* SPDX-License-Identifier: MIT
 *
 * reduce.c: aggregations over a run of frames. The kernels go through the frames; here is which
 * accumulators an operation has, how it begins, and the last step from them to a value. Sums go in the
 * order of time, column by column, in double: any cut of a run gives the same bits (S1).
 */
#include "unit/reduce.h"

#include <math.h>
#include <string.h>

#define CHOICE(name, text) {text, NULL},
const weir_choice weiri_operations[] = {WEIRI_OPERATION_LIST(CHOICE){NULL, NULL}};

/* What an operation accumulates. */
typedef enum kind { KIND_SUM, KIND_EXTREME, KIND_SPREAD, KIND_MEDIAN, KIND_WHERE, KIND_AREA } kind;

static kind kind_of(int operation)
{
    switch ((weiri_operation)operation) {
    case WEIRI_MAX:
    case WEIRI_MIN:
    case WEIRI_NANMAX:
    case WEIRI_NANMIN:
        return KIND_EXTREME;
    case WEIRI_STD:
    case WEIRI_NANSTD:
        return KIND_SPREAD;
    case WEIRI_MEDIAN:
    case WEIRI_NANMEDIAN:
        return KIND_MEDIAN;
    case WEIRI_ARGMIN:
    case WEIRI_ARGMAX:
        return KIND_WHERE;
    case WEIRI_TRAPEZOID:
        return KIND_AREA;
    case WEIRI_MEAN:
    case WEIRI_SUM:
    case WEIRI_NANMEAN:
    case WEIRI_NANSUM:
    case WEIRI_OPERATION_COUNT:
        break;
    }
    return KIND_SUM;
}

static bool wants_most(int operation)
{
    return operation == WEIRI_MAX || operation == WEIRI_NANMAX || operation == WEIRI_ARGMAX;
}

static bool ignores_missing(int operation)
{
    return operation >= WEIRI_NANMAX && operation <= WEIRI_NANSUM;
}

static bool keeps_unit(int operation)
{
    return kind_of(operation) != KIND_WHERE && kind_of(operation) != KIND_AREA;
}

weir_err weiri_reduce_units(weiri_unit_plan *plan,
                            const int *operations,
                            size_t count,
                            const char *axis_unit,
                            const char *spacing_unit)
{
    bool keeps = keeps_unit(operations[0]);
    for (size_t i = 1; i < count; i++) {
        if (keeps != keeps_unit(operations[i]) ||
            (!keeps && kind_of(operations[i]) != kind_of(operations[0]))) {
            plan->out.units = NULL;
            return WEIR_OK;
        }
    }
    if (keeps) {
        return WEIR_OK;
    }
    return kind_of(operations[0]) == KIND_WHERE ? weiri_units_follow(plan, 0.0, axis_unit)
                                                : weiri_units_follow(plan, 1.0, spacing_unit);
}

weir_err weiri_reduce_check(const weiri_reduce_what *what, const char *setting)
{
    uint64_t bytes = 0;
    if (what->longest > INT32_MAX) {
        return weiri_fail(WEIR_E_CHAIN,
                          "%s: %llu frames are to be joined into one; at most %d are allowed",
                          setting, (unsigned long long)what->longest, INT32_MAX);
    }
    /* 64 B a column and operation cover its accumulators; 2^62 leaves room for sums of such products. */
    if (!weiri_mul(what->columns, what->longest + 64, &bytes) ||
        !weiri_mul(bytes, 64 * (uint64_t)what->count, &bytes) || bytes > UINT64_MAX / 4) {
        return weiri_fail(WEIR_E_CHAIN, "%s: %llu frames of %llu values are more than can be held",
                          setting, (unsigned long long)what->longest,
                          (unsigned long long)what->columns);
    }
    return WEIR_OK;
}

void weiri_reduce_place(weiri_reduce *reduce, const weiri_reduce_what *what, weiri_carver *carver)
{
    size_t size = weir_dtype_bytes(what->dtype);
    weiri_reduce r = {.what = *what, .kernels = weiri_kernels_get()};
    bool median = false;
    r.sums = weiri_carve(carver, what->count, sizeof *r.sums);
    r.absent = weiri_carve(carver, what->columns, sizeof *r.absent);
    for (size_t i = 0; i < what->count; i++) {
        weiri_reduce_sums s = {NULL, NULL, NULL, NULL, NULL};
        kind k = kind_of(what->operations[i]);
        if (k == KIND_SUM || k == KIND_SPREAD || k == KIND_AREA) {
            s.first = weiri_carve(carver, what->columns, sizeof *s.first);
        }
        if (k == KIND_SPREAD || k == KIND_AREA) {
            s.second = weiri_carve(carver, what->columns, sizeof *s.second);
        }
        if (k == KIND_AREA) {
            s.third = weiri_carve(carver, what->columns, sizeof *s.third);
        }
        if (k == KIND_EXTREME || k == KIND_WHERE) {
            s.best = weiri_carve(carver, what->columns, size);
        }
        if (k == KIND_WHERE) {
            s.at = weiri_carve(carver, what->columns, size);
        }
        median = median || k == KIND_MEDIAN;
        if (r.sums != NULL) {
            r.sums[i] = s;
        }
    }
    if (median) {
        r.samples = what->whole ? NULL : weiri_carve(carver, what->longest * what->columns, size);
        r.scratch = weiri_carve(carver, what->longest, 64);
        r.medians = weiri_carve(carver, what->columns, sizeof *r.medians);
    }
    if (reduce != NULL) {
        *reduce = r;
    }
}

/* ---- a run --------------------------------------------------------------------------------- */

static void fill(double *values, uint64_t count, double value)
{
    for (uint64_t i = 0; i < count; i++) {
        values[i] = value;
    }
}

static void begin_extreme(const weiri_reduce *r, void *best, bool most)
{
    if (r->what.dtype == WEIR_F32) {
        for (uint64_t c = 0; c < r->what.columns; c++) {
            ((float *)best)[c] = most ? -INFINITY : INFINITY;
        }
    } else {
        fill(best, r->what.columns, most ? (double)-INFINITY : (double)INFINITY);
    }
}

void weiri_reduce_begin(weiri_reduce *r)
{
    uint64_t columns = r->what.columns;
    for (size_t i = 0; i < r->what.count; i++) {
        weiri_reduce_sums *s = &r->sums[i];
        switch (kind_of(r->what.operations[i])) {
        case KIND_SPREAD:
            fill(s->second, columns, 0.0);
            fill(s->first, columns, 0.0);
            break;
        case KIND_SUM:
            fill(s->first, columns, 0.0);
            break;
        case KIND_AREA:
            fill(s->first, columns, 0.0);
            fill(s->second, columns, 0.0);
            fill(s->third, columns, NAN);
            break;
        case KIND_EXTREME:
        case KIND_WHERE:
            begin_extreme(r, s->best, wants_most(r->what.operations[i]));
            break;
        case KIND_MEDIAN:
            break;
        }
    }
    if (r->any_absent) {
        memset(r->absent, 0, columns * sizeof *r->absent);
    }
    r->any_absent = false;
    r->frames = 0;
    r->borrowed = NULL;
}

/* Of a median nothing is done here but the look at what is missing. */
#define ADD(type_name, type)                                                                       \
    static bool add_##type_name(weiri_reduce *r, size_t i, const type *rows, size_t frames)        \
    {                                                                                              \
        const weiri_kernels *k = r->kernels;                                                       \
        const weiri_reduce_sums *s = &r->sums[i];                                                  \
        size_t columns = (size_t)r->what.columns;                                                  \
        int operation = r->what.operations[i];                                                     \
        bool most = wants_most(operation);                                                         \
        uint64_t before = r->frames;                                                               \
        switch (kind_of(operation)) {                                                              \
        case KIND_SUM:                                                                             \
            return k->reduce_sum_##type_name(rows, frames, columns, s->first);                     \
        case KIND_EXTREME:                                                                         \
            return k->reduce_extreme_##type_name(rows, frames, columns, most, s->best);            \
        case KIND_WHERE:                                                                           \
            return k->reduce_where_##type_name(rows, frames, columns, most, before, s->best,       \
                                               s->at);                                             \
        case KIND_SPREAD:                                                                          \
            return k->reduce_spread_##type_name(rows, frames, columns, before, r->absent,          \
                                                s->first, s->second);                              \
        case KIND_AREA:                                                                            \
            return k->reduce_area_##type_name(rows, frames, columns, before, r->what.values,       \
                                              s->third, s->second, s->first);                      \
        case KIND_MEDIAN:                                                                          \
            break;                                                                                 \
        }                                                                                          \
        return k->finite_##type_name(rows, frames * columns);                                      \
    }

ADD(f32, float)
ADD(f64, double)

static void keep_for_median(weiri_reduce *r, const void *rows, size_t frames)
{
    if (r->what.whole) {
        r->borrowed = rows;
        return;
    }
    size_t row_bytes = (size_t)r->what.columns * weir_dtype_bytes(r->what.dtype);
    memcpy((unsigned char *)r->samples + (size_t)r->frames * row_bytes, rows, frames * row_bytes);
}

bool weiri_reduce_add(weiri_reduce *r, const void *rows, size_t frames)
{
    size_t columns = (size_t)r->what.columns;
    bool finite = true;
    for (size_t i = 0; i < r->what.count; i++) {
        finite &=
            r->what.dtype == WEIR_F32 ? add_f32(r, i, rows, frames) : add_f64(r, i, rows, frames);
    }
    if (r->medians != NULL) {
        keep_for_median(r, rows, frames);
    }
    if (!finite) { /* last: a spread wants the counts of the frames before these */
        r->any_absent = true;
        if (r->what.dtype == WEIR_F32) {
            r->kernels->reduce_absent_f32(rows, frames, columns, columns, r->absent);
        } else {
            r->kernels->reduce_absent_f64(rows, frames, columns, columns, r->absent);
        }
    }
    r->frames += frames;
    return finite;
}

/* ---- its end ------------------------------------------------------------------------------- */

static void find_medians(weiri_reduce *r)
{
    const void *rows = r->what.whole ? r->borrowed : r->samples;
    size_t frames = (size_t)r->frames, columns = (size_t)r->what.columns;
    if (r->what.dtype == WEIR_F32) {
        r->kernels->reduce_median_f32(rows, frames, columns, r->scratch, r->medians);
    } else {
        r->kernels->reduce_median_f64(rows, frames, columns, r->scratch, r->medians);
    }
}

static double coordinate(const weiri_reduce_what *what, int64_t index)
{
    return what->values != NULL ? what->values[index] : what->start + (double)index * what->step;
}

/* The value of a column of which `present` samples came, at least one. */
static double value_of(const weiri_reduce *r, size_t i, uint64_t c, uint64_t present)
{
    const weiri_reduce_sums *s = &r->sums[i];
    int operation = r->what.operations[i];
    bool f32 = r->what.dtype == WEIR_F32;
    switch (kind_of(operation)) {
    case KIND_SUM:
        return operation == WEIRI_SUM || operation == WEIRI_NANSUM ? s->first[c]
                                                                   : s->first[c] / (double)present;
    case KIND_SPREAD:
        return sqrt(s->second[c] / (double)present);
    case KIND_EXTREME:
        return f32 ? (double)((const float *)s->best)[c] : ((const double *)s->best)[c];
    case KIND_WHERE:
        return coordinate(&r->what,
                          f32 ? ((const int32_t *)s->at)[c] : ((const int64_t *)s->at)[c]);
    case KIND_AREA:
        return r->what.values != NULL ? s->first[c] : s->first[c] * r->what.spacing;
    case KIND_MEDIAN:
        return r->medians[c];
    }
    return (double)NAN;
}

/* What stands for a column with missing samples: NaN, or the value of those that are there. */
static double value_of_some(const weiri_reduce *r, size_t i, uint64_t c)
{
    int operation = r->what.operations[i];
    uint64_t present = r->frames - r->absent[c];
    if (r->what.strict && r->absent[c] > 0 && !ignores_missing(operation)) {
        return (double)NAN;
    }
    if (present == 0) {
        /* NumPy's nansum of nothing is 0; a bin of nothing is NaN whatever is asked of it (S5). */
        return r->what.strict && operation == WEIRI_NANSUM ? 0.0 : (double)NAN;
    }
    return value_of(r, i, c, present);
}

/* Most results are a mean without missing samples: one loop that becomes vectors. */
static void finish_mean_f32(const double *sums, uint64_t columns, double count, float *results)
{
    for (uint64_t c = 0; c < columns; c++) {
        results[c] = (float)(sums[c] / count);
    }
}

void weiri_reduce_finish(weiri_reduce *r, void *results)
{
    size_t count = r->what.count;
    int only = r->what.operations[0];
    if (count == 1 && !r->any_absent && r->what.dtype == WEIR_F32 &&
        (only == WEIRI_MEAN || only == WEIRI_NANMEAN)) {
        finish_mean_f32(r->sums[0].first, r->what.columns, (double)r->frames, results);
        return;
    }
    if (r->medians != NULL) {
        find_medians(r);
    }
    for (size_t i = 0; i < count; i++) {
        for (uint64_t c = 0; c < r->what.columns; c++) {
            double value = r->any_absent ? value_of_some(r, i, c) : value_of(r, i, c, r->frames);
            if (r->what.dtype == WEIR_F32) {
                ((float *)results)[c * count + i] = (float)value;
            } else {
                ((double *)results)[c * count + i] = value;
            }
        }
    }
}
