/* SPDX-License-Identifier: MIT
 *
 * reduce.h: the aggregations (DESIGN 7) of a run of frames, one value a column and operation: for bins
 * over time and for inner dimensions. Streams: only a median keeps samples. Knows nothing of axes or
 * time.
 */
#ifndef WEIRI_REDUCE_H
#define WEIRI_REDUCE_H

#include "kernel/kernel.h"
#include "unit/unit.h"

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

/* Physical units of the results: the samples'; `axis_unit` ("" = a number) for argmin and argmax, the product of
 * both for trapezoid, over an axis in `spacing_unit`; not known where operations in a list differ. */
weir_err weiri_reduce_units(weiri_unit_plan *plan,
                            const int *operations,
                            size_t count,
                            const char *axis_unit,
                            const char *spacing_unit);

/* What is to be reduced, and how. */
typedef struct weiri_reduce_what {
    const int *operations; /* of weiri_operation; outlives the reduction */
    size_t count;
    weir_dtype dtype; /* F32 or F64, of samples and results; sums are double */
    uint64_t columns;
    uint64_t longest; /* frames of a run at most, < 2^31 */
    bool whole;  /* each run comes in one add, finished before its rows go: nothing is stored */
    bool strict; /* a missing sample makes the result NaN, but for the nan forms; else it is
                             left out, and NaN is what has none left */
    double start, step;   /* coordinate of frame i of a run, for argmin and argmax */
    double spacing;       /* between frames, for trapezoid */
    const double *values; /* instead of the three: coordinates of the frames; or NULL */
} weiri_reduce_what;

/* The accumulators of one operation; which are there depends on it. */
typedef struct weiri_reduce_sums {
    double *first, *second, *third; /* one a column */
    void *best;                     /* of the samples' type */
    void *at;                       /* of a signed integer as wide */
} weiri_reduce_sums;

typedef struct weiri_reduce {
    weiri_reduce_what what;
    const weiri_kernels *kernels;
    weiri_reduce_sums *sums; /* one an operation */
    uint32_t *absent;        /* missing samples of the run, one count a column */
    bool any_absent;
    uint64_t frames;      /* of the run so far */
    void *samples;        /* [longest x columns], for a median */
    void *scratch;        /* [longest x 64 B], for a median */
    double *medians;      /* one a column */
    const void *borrowed; /* the rows of a whole run, until its finish */
} weiri_reduce;

/* Whether it can be held: product and lengths. WEIR_E_CHAIN; the detail starts with `setting`. */
weir_err weiri_reduce_check(const weiri_reduce_what *what, const char *setting);

/* Places the arrays (see weiri_carve): once to learn the size, once for good. Does not begin. */
void weiri_reduce_place(weiri_reduce *reduce, const weiri_reduce_what *what, weiri_carver *carver);

/* Starts a run. */
void weiri_reduce_begin(weiri_reduce *reduce);

/* Takes the next frames of the run, [frames x columns]. False: some samples were missing. */
bool weiri_reduce_add(weiri_reduce *reduce, const void *rows, size_t frames);

/* Writes the results of the run, [columns x count], of the samples' type. */
void weiri_reduce_finish(weiri_reduce *reduce, void *results);

#endif
