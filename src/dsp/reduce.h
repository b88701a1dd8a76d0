/* SPDX-License-Identifier: MIT
 *
 * reduce.h: aggregations of a run of frames, one value for each column and operation: for bins over time
 * and for inner dimensions. Only a median keeps samples. Knows nothing of units, axes or time, and has no
 * memory of its own: what a run accumulates is in arrays that the caller provides.
 */
#ifndef WEIRI_REDUCE_H
#define WEIRI_REDUCE_H

#include <weir/array.h>

#include "kernel/kernel.h"

/* Every operation: X(NAME, name). The order is the one of weiri_operations. */
#define WEIRI_OPERATION_LIST(X)                                                                    \
    X(MAX, "max")                                                                                  \
    X(MIN, "min")                                                                                  \
    X(MEAN, "mean")                                                                                \
    X(MEDIAN, "median")                                                                            \
    X(STD, "std")                                                                                  \
    X(SUM, "sum")                                                                                  \
    X(NANMAX, "nanmax")                                                                            \
    X(NANMIN, "nanmin")                                                                            \
    X(NANMEAN, "nanmean")                                                                          \
    X(NANMEDIAN, "nanmedian")                                                                      \
    X(NANSTD, "nanstd")                                                                            \
    X(NANSUM, "nansum")                                                                            \
    X(ARGMIN, "argmin")                                                                            \
    X(ARGMAX, "argmax")                                                                            \
    X(TRAPEZOID, "trapezoid")

#define WEIRI_OPERATION_ENUM(name, text) WEIRI_##name,
typedef enum weiri_operation {
    WEIRI_OPERATION_LIST(WEIRI_OPERATION_ENUM) WEIRI_OPERATION_COUNT
} weiri_operation;

/* For a settings table: a setting's value is a weiri_operation. */
extern const weir_choice weiri_operations[];

/* Physical unit of the results of one or several operations. */
typedef enum weiri_reduce_unit {
    WEIRI_REDUCE_SAMPLE,     /* that of the samples */
    WEIRI_REDUCE_COORDINATE, /* argmin, argmax: that of the axis */
    WEIRI_REDUCE_AREA,       /* trapezoid: the product of both */
    WEIRI_REDUCE_SEVERAL     /* operations differ in it */
} weiri_reduce_unit;
weiri_reduce_unit weiri_reduce_unit_of(const int *operations, size_t count);

/* What is to be reduced, and how. */
typedef struct weiri_reduce_what {
    const int *operations; /* of weiri_operation */
    size_t count;
    weir_dtype dtype; /* F32 or F64, of samples and results; sums are double */
    uint64_t columns;
    uint64_t longest; /* frames of a run at most, < 2^31 */
    bool whole;  /* each run comes in one add, and its rows stay until finish: no sample is kept */
    bool strict; /* a missing sample makes the result NaN, except for the nan forms; else it is
                         left out, and a column without any sample gives NaN */
    double start, step;   /* coordinate of frame i of a run, for argmin and argmax */
    double spacing;       /* between frames, for trapezoid */
    const double *values; /* instead of the three: coordinates of the frames; or NULL */
} weiri_reduce_what;

/* One of the arrays in which a run accumulates: [rows x columns]. */
typedef struct weiri_reduce_array {
    const char *operation; /* "mean"; "" = of all */
    const char *name;      /* "sum" */
    char kind;             /* 'f' float, 'i' signed, 'u' unsigned integer */
    uint32_t bytes;        /* of an entry */
    uint64_t rows;
} weiri_reduce_array;

/* A reduction as it runs: made anew for each call of add or finish; only the arrays persist. */
typedef struct weiri_reduce {
    weiri_reduce_what what;
    void *const *arrays; /* in the order of weiri_reduce_array_of */
    void *scratch;       /* see weiri_reduce_scratch; 64-byte aligned */
    uint64_t frames;     /* of the run so far */
    const void *whole;   /* the rows of a run that comes in one add, until its finish */
} weiri_reduce;

/* Whether sizes stay within their types. WEIR_E_CHAIN; the detail starts with `setting`. */
weir_err weiri_reduce_check(const weiri_reduce_what *what, const char *setting);

/* Array number `number` of a reduction; false: it has fewer. */
bool weiri_reduce_array_of(const weiri_reduce_what *what,
                           size_t number,
                           weiri_reduce_array *ret_array);

/* Bytes of scratch: so many, plus so many for each column. */
void weiri_reduce_scratch(const weiri_reduce_what *what,
                          uint64_t *ret_bytes,
                          uint64_t *ret_column_bytes);

/* Starts a run: writes the arrays, except for the samples of a median. */
void weiri_reduce_begin(weiri_reduce *reduce);

/* Adds the next frames of the run, [frames x columns]. False: some samples were missing. */
bool weiri_reduce_add(weiri_reduce *reduce, const void *rows, size_t frames);

/* Writes the results of the run, [columns x count], of the samples' type. */
void weiri_reduce_finish(weiri_reduce *reduce, void *results);

#endif
