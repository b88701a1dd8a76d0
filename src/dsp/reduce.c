/* SPDX-License-Identifier: MIT
 *
 * reduce.c: aggregations over a run of frames. The kernels go through the frames; here is which arrays an
 * operation has, how it begins, and the last step from them to a value. Sums are made in the order of time,
 * column by column, in double: however a run is split, the bits are the same (S1).
 */
#include "dsp/reduce.h"

#include <math.h>
#include <string.h>

#include "base/base.h"

#define CHOICE(name, text) {text, NULL},
const weir_choice weiri_operations[] = {WEIRI_OPERATION_LIST(CHOICE){NULL, NULL}};

/* ---- operations -------------------------------------------------------------------------------- */

/* What an operation accumulates. */
typedef enum kind { KIND_SUM, KIND_EXTREME, KIND_SPREAD, KIND_MEDIAN, KIND_WHERE, KIND_AREA } kind;

typedef struct operation {
    kind kind;
    bool most;            /* looks for the largest */
    bool ignores_missing; /* also where `strict` is set */
} operation;

static const operation operations[WEIRI_OPERATION_COUNT] = {
    [WEIRI_MAX] = {KIND_EXTREME, true, false},     [WEIRI_MIN] = {KIND_EXTREME, false, false},
    [WEIRI_MEAN] = {KIND_SUM, false, false},       [WEIRI_MEDIAN] = {KIND_MEDIAN, false, false},
    [WEIRI_STD] = {KIND_SPREAD, false, false},     [WEIRI_SUM] = {KIND_SUM, false, false},
    [WEIRI_NANMAX] = {KIND_EXTREME, true, true},   [WEIRI_NANMIN] = {KIND_EXTREME, false, true},
    [WEIRI_NANMEAN] = {KIND_SUM, false, true},     [WEIRI_NANMEDIAN] = {KIND_MEDIAN, false, true},
    [WEIRI_NANSTD] = {KIND_SPREAD, false, true},   [WEIRI_NANSUM] = {KIND_SUM, false, true},
    [WEIRI_ARGMIN] = {KIND_WHERE, false, false},   [WEIRI_ARGMAX] = {KIND_WHERE, true, false},
    [WEIRI_TRAPEZOID] = {KIND_AREA, false, false},
};

/* Arrays of a kind, in order: of doubles, or as wide as a sample. */
enum { FIRST, SECOND, THIRD, ARRAYS_MAX };
typedef struct array {
    const char *name; /* NULL = no further one */
    char kind;
    bool as_sample;
} array;

static const array arrays[][ARRAYS_MAX + 1] = {
    [KIND_SUM] = {{"sum", 'f', false}},
    [KIND_EXTREME] = {{"best", 'f', true}},
    [KIND_SPREAD] = {{"mean", 'f', false}, {"squares", 'f', false}},
    [KIND_MEDIAN] = {{NULL, 0, false}},
    [KIND_WHERE] = {{"best", 'f', true}, {"at", 'i', true}},
    [KIND_AREA] = {{"area", 'f', false}, {"last", 'f', false}, {"last_x", 'f', false}},
};

static size_t array_count(int number)
{
    size_t count = 0;
    while (arrays[operations[number].kind][count].name != NULL) {
        count++;
    }
    return count;
}

static bool has_median(const weiri_reduce_what *what)
{
    for (size_t i = 0; i < what->count; i++) {
        if (operations[what->operations[i]].kind == KIND_MEDIAN) {
            return true;
        }
    }
    return false;
}

weiri_reduce_unit weiri_reduce_unit_of(const int *numbers, size_t count)
{
    weiri_reduce_unit unit = WEIRI_REDUCE_SAMPLE;
    for (size_t i = 0; i < count; i++) {
        kind k = operations[numbers[i]].kind;
        weiri_reduce_unit one = k == KIND_WHERE  ? WEIRI_REDUCE_COORDINATE
                                : k == KIND_AREA ? WEIRI_REDUCE_AREA
                                                 : WEIRI_REDUCE_SAMPLE;
        unit = i == 0 || unit == one ? one : WEIRI_REDUCE_SEVERAL;
    }
    return unit;
}

weir_err weiri_reduce_check(const weiri_reduce_what *what, const char *setting)
{
    uint64_t bytes = 0;
    if (what->longest > INT32_MAX) {
        return weiri_fail(WEIR_E_CHAIN,
                          "%s: %llu frames would be aggregated into one; at most %d are allowed",
                          setting, (unsigned long long)what->longest, INT32_MAX);
    }
    /* 64 B a column and operation cover its accumulators; 2^62 leaves room for sums of such products. */
    if (!weiri_mul(what->columns, what->longest + 64, &bytes) ||
        !weiri_mul(bytes, 64 * (uint64_t)what->count, &bytes) || bytes > UINT64_MAX / 4) {
        return weiri_fail(WEIR_E_CHAIN, "%s: %llu frames of %llu values do not fit into memory",
                          setting, (unsigned long long)what->longest,
                          (unsigned long long)what->columns);
    }
    return WEIR_OK;
}

/* The counts of missing samples come first, what a median keeps last. */
bool weiri_reduce_array_of(const weiri_reduce_what *what,
                           size_t number,
                           weiri_reduce_array *ret_array)
{
    uint32_t size = (uint32_t)weir_dtype_bytes(what->dtype);
    if (number == 0) {
        *ret_array = (weiri_reduce_array){"", "absent", 'u', sizeof(uint32_t), 1};
        return true;
    }
    number--;
    for (size_t i = 0; i < what->count; i++) {
        size_t count = array_count(what->operations[i]);
        if (number < count) {
            const array *a = &arrays[operations[what->operations[i]].kind][number];
            *ret_array = (weiri_reduce_array){
                .operation = weiri_operations[what->operations[i]].name,
                .name = a->name,
                .kind = a->kind,
                .bytes = a->as_sample ? size : (uint32_t)sizeof(double),
                .rows = 1,
            };
            return true;
        }
        number -= count;
    }
    if (number == 0 && !what->whole && has_median(what)) {
        *ret_array = (weiri_reduce_array){"", "samples", 'f', size, what->longest};
        return true;
    }
    return false;
}

/* What a median sorts in, and the medians. */
void weiri_reduce_scratch(const weiri_reduce_what *what,
                          uint64_t *ret_bytes,
                          uint64_t *ret_column_bytes)
{
    bool median = has_median(what);
    *ret_bytes = median ? what->longest * weiri_kernels_get()->lanes * sizeof(double) : 0;
    *ret_column_bytes = median ? sizeof(double) : 0;
}

static double *medians_of(const weiri_reduce *r)
{
    return (double *)(void *)((unsigned char *)r->scratch +
                              r->what.longest * weiri_kernels_get()->lanes * sizeof(double));
}

/* ---- a run --------------------------------------------------------------------------------------- */

static void fill(double *values, uint64_t count, double value)
{
    for (uint64_t i = 0; i < count; i++) {
        values[i] = value;
    }
}

static void begin_extreme(const weiri_reduce_what *what, void *best, bool most)
{
    if (what->dtype == WEIR_F32) {
        for (uint64_t c = 0; c < what->columns; c++) {
            ((float *)best)[c] = most ? -INFINITY : INFINITY;
        }
    } else {
        fill(best, what->columns, most ? (double)-INFINITY : (double)INFINITY);
    }
}

void weiri_reduce_begin(weiri_reduce *r)
{
    const weiri_reduce_what *what = &r->what;
    uint64_t columns = what->columns;
    void *const *at = r->arrays + 1;
    memset(r->arrays[0], 0, (size_t)columns * sizeof(uint32_t));
    for (size_t i = 0; i < what->count; i++) {
        const operation *o = &operations[what->operations[i]];
        switch (o->kind) {
        case KIND_SUM:
            fill(at[FIRST], columns, 0.0);
            break;
        case KIND_SPREAD:
            fill(at[FIRST], columns, 0.0);
            fill(at[SECOND], columns, 0.0);
            break;
        case KIND_AREA:
            fill(at[FIRST], columns, 0.0);
            fill(at[SECOND], columns, 0.0);
            fill(at[THIRD], columns, NAN);
            break;
        case KIND_EXTREME:
            begin_extreme(what, at[FIRST], o->most);
            break;
        case KIND_WHERE:
            begin_extreme(what, at[FIRST], o->most);
            memset(at[SECOND], 0, (size_t)columns * weir_dtype_bytes(what->dtype));
            break;
        case KIND_MEDIAN:
            break;
        }
        at += array_count(what->operations[i]);
    }
    r->frames = 0;
}

/* For a median nothing is done here except to see whether samples are missing. */
#define ADD(type_name, type)                                                                       \
    static bool add_##type_name(const weiri_reduce *r, const operation *o, void *const *at,        \
                                const type *rows, size_t frames)                                   \
    {                                                                                              \
        const weiri_kernels *k = weiri_kernels_get();                                              \
        size_t columns = (size_t)r->what.columns;                                                  \
        uint64_t before = r->frames;                                                               \
        switch (o->kind) {                                                                         \
        case KIND_SUM:                                                                             \
            return k->reduce_sum_##type_name(rows, frames, columns, at[FIRST]);                    \
        case KIND_EXTREME:                                                                         \
            return k->reduce_extreme_##type_name(rows, frames, columns, o->most, at[FIRST]);       \
        case KIND_WHERE:                                                                           \
            return k->reduce_where_##type_name(rows, frames, columns, o->most, before, at[FIRST],  \
                                               at[SECOND]);                                        \
        case KIND_SPREAD:                                                                          \
            return k->reduce_spread_##type_name(rows, frames, columns, before, r->arrays[0],       \
                                                at[FIRST], at[SECOND]);                            \
        case KIND_AREA:                                                                            \
            return k->reduce_area_##type_name(rows, frames, columns, before, r->what.values,       \
                                              at[THIRD], at[SECOND], at[FIRST]);                   \
        case KIND_MEDIAN:                                                                          \
            break;                                                                                 \
        }                                                                                          \
        return k->finite_##type_name(rows, frames * columns);                                      \
    }

ADD(f32, float)
ADD(f64, double)

/* `samples` comes after the arrays of the operations. */
static void keep_for_median(weiri_reduce *r, void *samples, const void *rows, size_t frames)
{
    if (r->what.whole) {
        r->whole = rows;
        return;
    }
    size_t row_bytes = (size_t)r->what.columns * weir_dtype_bytes(r->what.dtype);
    memcpy((unsigned char *)samples + (size_t)r->frames * row_bytes, rows, frames * row_bytes);
}

bool weiri_reduce_add(weiri_reduce *r, const void *rows, size_t frames)
{
    const weiri_reduce_what *what = &r->what;
    size_t columns = (size_t)what->columns;
    void *const *at = r->arrays + 1;
    bool finite = true, median = false;
    for (size_t i = 0; i < what->count; i++) {
        const operation *o = &operations[what->operations[i]];
        finite &= what->dtype == WEIR_F32 ? add_f32(r, o, at, rows, frames)
                                          : add_f64(r, o, at, rows, frames);
        median = median || o->kind == KIND_MEDIAN;
        at += array_count(what->operations[i]);
    }
    if (median) {
        keep_for_median(r, what->whole ? NULL : at[0], rows, frames);
    }
    if (!finite) { /* last: a spread needs the counts of the frames before these */
        const weiri_kernels *k = weiri_kernels_get();
        if (what->dtype == WEIR_F32) {
            k->reduce_absent_f32(rows, frames, columns, columns, r->arrays[0]);
        } else {
            k->reduce_absent_f64(rows, frames, columns, columns, r->arrays[0]);
        }
    }
    r->frames += frames;
    return finite;
}

/* ---- its end ------------------------------------------------------------------------------------- */

static void find_medians(const weiri_reduce *r, const void *samples)
{
    const weiri_kernels *k = weiri_kernels_get();
    const void *rows = r->what.whole ? r->whole : samples;
    size_t frames = (size_t)r->frames, columns = (size_t)r->what.columns;
    if (r->what.dtype == WEIR_F32) {
        k->reduce_median_f32(rows, frames, columns, r->scratch, medians_of(r));
    } else {
        k->reduce_median_f64(rows, frames, columns, r->scratch, medians_of(r));
    }
}

static double coordinate(const weiri_reduce_what *what, int64_t index)
{
    return what->values != NULL ? what->values[index] : what->start + (double)index * what->step;
}

/* The value of a column with `present` samples, at least one. */
static double
value_of(const weiri_reduce *r, int number, void *const *at, uint64_t c, uint64_t present)
{
    const weiri_reduce_what *what = &r->what;
    bool f32 = what->dtype == WEIR_F32;
    switch (operations[number].kind) {
    case KIND_SUM: {
        double sum = ((const double *)at[FIRST])[c];
        return number == WEIRI_SUM || number == WEIRI_NANSUM ? sum : sum / (double)present;
    }
    case KIND_SPREAD:
        return sqrt(((const double *)at[SECOND])[c] / (double)present);
    case KIND_EXTREME:
        return f32 ? (double)((const float *)at[FIRST])[c] : ((const double *)at[FIRST])[c];
    case KIND_WHERE:
        return coordinate(what, f32 ? ((const int32_t *)at[SECOND])[c]
                                    : ((const int64_t *)at[SECOND])[c]);
    case KIND_AREA: {
        double area = ((const double *)at[FIRST])[c];
        return what->values != NULL ? area : area * what->spacing;
    }
    case KIND_MEDIAN:
        return medians_of(r)[c];
    }
    return (double)NAN;
}

/* The same where `absent` of the samples were missing. */
static double
value_of_some(const weiri_reduce *r, int number, void *const *at, uint64_t c, uint64_t absent)
{
    bool strict = r->what.strict;
    uint64_t present = r->frames - absent;
    if (strict && absent > 0 && !operations[number].ignores_missing) {
        return (double)NAN;
    }
    if (present == 0) {
        /* NumPy's nansum of nothing is 0; a bin of nothing is NaN whatever the operation (S5). */
        return strict && number == WEIRI_NANSUM ? 0.0 : (double)NAN;
    }
    return value_of(r, number, at, c, present);
}

/* Most results are a mean without missing samples: one loop that becomes vectors. */
static void finish_mean_f32(const double *sums, uint64_t columns, double count, float *results)
{
    for (uint64_t c = 0; c < columns; c++) {
        results[c] = (float)(sums[c] / count);
    }
}

static bool any(const uint32_t *absent, uint64_t columns)
{
    uint32_t all = 0;
    for (uint64_t c = 0; c < columns; c++) {
        all |= absent[c];
    }
    return all != 0;
}

void weiri_reduce_finish(weiri_reduce *r, void *results)
{
    const weiri_reduce_what *what = &r->what;
    const uint32_t *absent = r->arrays[0];
    void *const *at = r->arrays + 1;
    size_t count = what->count;
    int only = what->operations[0];
    bool some = any(absent, what->columns);
    if (count == 1 && !some && what->dtype == WEIR_F32 &&
        (only == WEIRI_MEAN || only == WEIRI_NANMEAN)) {
        finish_mean_f32(at[FIRST], what->columns, (double)r->frames, results);
        return;
    }
    if (has_median(what)) {
        void *const *samples = at;
        for (size_t i = 0; i < count; i++) {
            samples += array_count(what->operations[i]);
        }
        find_medians(r, what->whole ? NULL : samples[0]);
    }
    for (size_t i = 0; i < count; i++) {
        int number = what->operations[i];
        for (uint64_t c = 0; c < what->columns; c++) {
            double value = some ? value_of_some(r, number, at, c, absent[c])
                                : value_of(r, number, at, c, r->frames);
            if (what->dtype == WEIR_F32) {
                ((float *)results)[c * count + i] = (float)value;
            } else {
                ((double *)results)[c * count + i] = value;
            }
        }
        at += array_count(number);
    }
}
