/* SPDX-License-Identifier: MIT
 *
 * units_of_test.h: units for tests only, for properties that no unit of units.def has yet:
 * look-ahead with a grain, more output frames than input frames, state shared by all blocks, state
 * with several inputs, a late first frame. Written for clarity: values are read and written as
 * double, one by one.
 */
#ifndef WEIR_UNITS_OF_TEST_H
#define WEIR_UNITS_OF_TEST_H

#include "unit/unit.h"

#include <math.h>
#include <string.h>

/* Missing values are NaN (S5). */
static inline double value_get(weir_dtype dtype, const void *values, size_t at)
{
    double value =
        dtype == WEIR_F32 ? (double)((const float *)values)[at] : ((const double *)values)[at];
    return isfinite(value) ? value : (double)NAN;
}

static inline void value_set(weir_dtype dtype, void *values, size_t at, double value)
{
    if (dtype == WEIR_F32) {
        ((float *)values)[at] = (float)value;
    } else {
        ((double *)values)[at] = value;
    }
}

/* ---- the frames that came last ------------------------------------------------------------------- */

/* Field 0 of a unit contains the last `rows` frames: frame n is in row n mod rows. */
static inline double
kept_get(const weiri_block *block, const weiri_field *field, uint64_t frame, size_t column)
{
    uint64_t columns = weir_spec_columns(block->in);
    uint64_t at = weiri_field_at(field, columns, frame % field->rows, column);
    return value_get(block->in->dtype, block->state[0], (size_t)at);
}

static inline void kept_add(const weiri_block *block,
                            const weiri_field *field,
                            const weiri_work *work,
                            const void *rows)
{
    size_t columns = (size_t)weir_spec_columns(block->in);
    size_t from = work->consume > field->rows ? work->consume - (size_t)field->rows : 0;
    for (size_t i = from; i < work->consume; i++) {
        for (size_t c = 0; c < columns; c++) {
            uint64_t row = (work->consumed + i) % field->rows;
            value_set(block->in->dtype, block->state[0],
                      (size_t)weiri_field_at(field, columns, row, c),
                      value_get(block->in->dtype, rows, i * columns + c));
        }
    }
}

/* Input frame n: from this call, or kept from one before. */
static inline double input_at(const weiri_block *block,
                              const weiri_field *field,
                              const weiri_work *work,
                              uint64_t n,
                              size_t column)
{
    size_t columns = (size_t)weir_spec_columns(block->in);
    return n >= work->consumed ? value_get(block->in->dtype, work->in[0],
                                           (size_t)(n - work->consumed) * columns + column)
                               : kept_get(block, field, n, column);
}

static inline void count_what_is_missing(weiri_block *block, const weiri_work *work)
{
    if (work->consume > 0) {
        weiri_count_missing(block, work->in[0], work->consume);
    }
}

/* ---- t_ahead: centred mean ----------------------------------------------------------------------- */

/* Output m is the mean of inputs m - ahead .. m + ahead, as far as they are in the segment; it
 * is output in multiples of `grain`, the rest at the segment's end. */
typedef struct ahead_settings {
    int64_t ahead, grain, lanes;
} ahead_settings;

typedef struct ahead_constants {
    uint64_t ahead;
    weiri_field field; /* without its name: constants contain no pointers */
} ahead_constants;

static const weir_setting ahead_table[] = {
    {.name = "ahead",
     .type = WEIR_SETTING_INTEGER,
     .preset = "3",
     .min = 0,
     .max = 1e6,
     .offset = offsetof(ahead_settings, ahead),
     .help = "frames to each side"},
    {.name = "grain",
     .type = WEIR_SETTING_INTEGER,
     .preset = "1",
     .min = 1,
     .max = 1e6,
     .offset = offsetof(ahead_settings, grain),
     .help = "output frames come in multiples of it"},
    {.name = "lanes",
     .type = WEIR_SETTING_INTEGER,
     .preset = "0",
     .min = 0,
     .max = 64,
     .offset = offsetof(ahead_settings, lanes),
     .help = "how its state is stored"},
    {.name = NULL},
};

/* Frames kept until they are used: `ahead` to each side, a grain that waits, and one for which
 * there was no space. */
static inline weiri_field ahead_field(const ahead_settings *set, const weiri_unit_plan *plan)
{
    return (weiri_field){.kind = 'f',
                         .bytes = (uint32_t)weir_dtype_bytes(plan->in->dtype),
                         .rows = (uint64_t)(2 * set->ahead + 2 * set->grain + 1),
                         .lanes = (uint32_t)set->lanes};
}

static inline weir_err ahead_plan(const void *settings, weiri_unit_plan *plan)
{
    const ahead_settings *set = settings;
    weiri_field field = ahead_field(set, plan);
    field.name = "kept";
    plan->due.offset = -set->ahead;
    plan->due.end = 0;
    plan->due.grain = (uint64_t)set->grain;
    plan->constant_bytes = sizeof(ahead_constants);
    return weiri_plan_field(plan, field);
}

static inline void ahead_prepare(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    ahead_constants *a = constants;
    a->ahead = (uint64_t)((const ahead_settings *)settings)->ahead;
    a->field = ahead_field(settings, plan);
}

static inline void nothing_to_reset(weiri_block *block)
{
    (void)block; /* what is read has been overwritten since */
}

static inline void ahead_run(weiri_block *block, const weiri_work *work)
{
    const ahead_constants *a = block->constants;
    size_t columns = (size_t)weir_spec_columns(block->in);
    uint64_t n = work->consumed + work->consume;
    for (size_t i = 0; i < work->produce; i++) {
        uint64_t m = work->produced + i;
        uint64_t from = m < a->ahead ? 0 : m - a->ahead;
        uint64_t to = m + a->ahead + 1 < n ? m + a->ahead + 1 : n;
        for (size_t c = 0; c < columns; c++) {
            double sum = 0;
            for (uint64_t k = from; k < to; k++) {
                sum += input_at(block, &a->field, work, k, c);
            }
            value_set(block->out->dtype, work->out, i * columns + c, sum / (double)(to - from));
        }
    }
    kept_add(block, &a->field, work, work->in[0]);
    count_what_is_missing(block, work);
}

static const weiri_unit_ops unit_ahead = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "t_ahead",
             .summary = "centred mean",
             .flags = WEIR_UNIT_STATEFUL | WEIR_UNIT_COLUMNWISE | WEIR_UNIT_CHANGES_RATE,
             .settings = ahead_table},
    .settings_bytes = sizeof(ahead_settings),
    .plan = ahead_plan,
    .prepare = ahead_prepare,
    .reset = nothing_to_reset,
    .run = ahead_run,
};

/* ---- t_resample: the largest around -------------------------------------------------------------- */

/* q output frames for p input frames: output m is the largest of the inputs within `half` frames of
 * floor(m p / q). */
typedef struct resample_settings {
    int64_t p, q, half;
} resample_settings;

typedef struct resample_constants {
    uint64_t p, q, half;
    weiri_field field;
} resample_constants;

static const weir_setting resample_table[] = {
    {.name = "p",
     .type = WEIR_SETTING_INTEGER,
     .preset = "1",
     .min = 1,
     .max = 1e6,
     .offset = offsetof(resample_settings, p),
     .help = "input frames"},
    {.name = "q",
     .type = WEIR_SETTING_INTEGER,
     .preset = "3",
     .min = 1,
     .max = 1e6,
     .offset = offsetof(resample_settings, q),
     .help = "output frames"},
    {.name = "half",
     .type = WEIR_SETTING_INTEGER,
     .preset = "2",
     .min = 0,
     .max = 1e6,
     .offset = offsetof(resample_settings, half),
     .help = "frames to each side"},
    {.name = NULL},
};

static inline weiri_field resample_field(const resample_settings *set, const weiri_unit_plan *plan)
{
    return (weiri_field){.kind = 'f',
                         .bytes = (uint32_t)weir_dtype_bytes(plan->in->dtype),
                         .rows = (uint64_t)(2 * set->half + 2),
                         .lanes = 1};
}

static inline weir_err resample_plan(const void *settings, weiri_unit_plan *plan)
{
    const resample_settings *set = settings;
    weiri_field field = resample_field(set, plan);
    field.name = "kept";
    plan->due = (weiri_due){.p = (uint64_t)set->p,
                            .q = (uint64_t)set->q,
                            .offset = set->p - 1 - set->half * set->q,
                            .end = set->p - 1,
                            .grain = 1};
    plan->constant_bytes = sizeof(resample_constants);
    return weiri_plan_field(plan, field);
}

static inline void
resample_prepare(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    const resample_settings *set = settings;
    resample_constants *r = constants;
    *r = (resample_constants){(uint64_t)set->p, (uint64_t)set->q, (uint64_t)set->half,
                              resample_field(set, plan)};
}

static inline void resample_run(weiri_block *block, const weiri_work *work)
{
    const resample_constants *r = block->constants;
    size_t columns = (size_t)weir_spec_columns(block->in);
    uint64_t n = work->consumed + work->consume;
    for (size_t i = 0; i < work->produce; i++) {
        uint64_t centre = (work->produced + i) * r->p / r->q;
        uint64_t from = centre < r->half ? 0 : centre - r->half;
        uint64_t to = centre + r->half + 1 < n ? centre + r->half + 1 : n;
        for (size_t c = 0; c < columns; c++) {
            double most = input_at(block, &r->field, work, from, c);
            for (uint64_t k = from + 1; k < to; k++) {
                most = fmax(most, input_at(block, &r->field, work, k, c));
            }
            value_set(block->out->dtype, work->out, i * columns + c, most);
        }
    }
    kept_add(block, &r->field, work, work->in[0]);
    count_what_is_missing(block, work);
}

static const weiri_unit_ops unit_resample = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "t_resample",
             .summary = "the largest around",
             .flags = WEIR_UNIT_STATEFUL | WEIR_UNIT_COLUMNWISE | WEIR_UNIT_CHANGES_RATE,
             .settings = resample_table},
    .settings_bytes = sizeof(resample_settings),
    .plan = resample_plan,
    .prepare = resample_prepare,
    .reset = nothing_to_reset,
    .run = resample_run,
};

/* ---- t_count: state of the whole block ----------------------------------------------------------- */

/* Adds gain x (frames so far mod 7), with a counter shared by all channels, and subtracts the
 * frame before. */
typedef struct count_settings {
    double gain;
} count_settings;

typedef struct count_constants {
    double gain;
} count_constants;

static const weir_setting count_table[] = {
    {.name = "gain",
     .type = WEIR_SETTING_NUMBER,
     .preset = "0.25",
     .offset = offsetof(count_settings, gain),
     .help = "of the counter",
     .live = true},
    {.name = NULL},
};

static inline weir_err count_plan(const void *settings, weiri_unit_plan *plan)
{
    (void)settings;
    plan->constant_bytes = sizeof(count_constants);
    weir_err err = weiri_plan_field(
        plan,
        (weiri_field){.name = "frames", .kind = 'u', .bytes = 8, .by_block = true, .rows = 2});
    return err != WEIR_OK
               ? err
               : weiri_plan_field(
                     plan, (weiri_field){.name = "before", .kind = 'f', .bytes = 8, .rows = 1});
}

static inline void count_prepare(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    (void)plan;
    ((count_constants *)constants)->gain = ((const count_settings *)settings)->gain;
}

static inline void count_reset(weiri_block *block)
{
    memset(block->state[0], 0, 2 * sizeof(uint64_t));
    memset(block->state[1], 0, (size_t)weir_spec_columns(block->in) * sizeof(double));
}

static inline void count_run(weiri_block *block, const weiri_work *work)
{
    const count_constants *c = block->constants;
    size_t columns = (size_t)weir_spec_columns(block->in);
    uint64_t *frames = block->state[0];
    double *before = block->state[1];
    for (size_t i = 0; i < work->produce; i++, frames[0]++, frames[1] += 3) {
        for (size_t k = 0; k < columns; k++) {
            double value = value_get(block->in->dtype, work->in[0], i * columns + k);
            double more = c->gain * (double)((frames[0] + frames[1]) % 7);
            value_set(block->out->dtype, work->out, i * columns + k,
                      isfinite(value) ? value - before[k] + more : (double)NAN); /* S5 */
            before[k] = isfinite(value) ? value : 0;
        }
    }
    count_what_is_missing(block, work);
}

static const weiri_unit_ops unit_count = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "t_count",
             .summary = "counts frames",
             .flags = WEIR_UNIT_STATEFUL | WEIR_UNIT_COLUMNWISE,
             .settings = count_table},
    .settings_bytes = sizeof(count_settings),
    .plan = count_plan,
    .prepare = count_prepare,
    .reset = count_reset,
    .run = count_run,
};

/* ---- t_weave: state with several inputs ---------------------------------------------------------- */

/* The first input minus one frame of the other inputs, one frame older. */
static inline weir_err weave_plan(const void *settings, weiri_unit_plan *plan)
{
    (void)settings;
    for (size_t i = 1; i < plan->inputs; i++) {
        if (weir_spec_columns(&plan->in[i]) != weir_spec_columns(plan->in) ||
            plan->in[i].dtype != plan->in->dtype) {
            return weiri_fail(WEIR_E_CHAIN, "inputs: other shapes");
        }
    }
    return weiri_plan_field(
        plan, (weiri_field){.name = "before", .kind = 'f', .bytes = 8, .rows = 1, .lanes = 4});
}

static inline void weave_reset(weiri_block *block)
{
    weiri_field field = {.bytes = 8, .rows = 1, .lanes = 4};
    memset(block->state[0], 0, (size_t)weiri_field_bytes(&field, weir_spec_columns(block->in)));
}

/* A block does not have the number of inputs: only the second is used. */
static inline void weave_run(weiri_block *block, const weiri_work *work)
{
    size_t columns = (size_t)weir_spec_columns(block->in);
    double *before = block->state[0];
    for (size_t i = 0; i < work->produce; i++) {
        for (size_t k = 0; k < columns; k++) {
            size_t at = i * columns + k;
            double a = value_get(block->in->dtype, work->in[0], at);
            double b = value_get(block->in->dtype, work->in[1], at);
            value_set(block->out->dtype, work->out, at, a - before[k]);
            before[k] = b;
        }
    }
    count_what_is_missing(block, work);
}

static const weiri_unit_ops unit_weave = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "t_weave",
             .summary = "one minus the other, a frame older",
             .flags = WEIR_UNIT_STATEFUL | WEIR_UNIT_COLUMNWISE | WEIR_UNIT_JOINS},
    .plan = weave_plan,
    .reset = weave_reset,
    .run = weave_run,
};

/* ---- t_tail: a late first frame ------------------------------------------------------------------ */

/* Omits the first frames of a segment. */
typedef struct tail_settings {
    int64_t from;
} tail_settings;

static const weir_setting tail_table[] = {
    {.name = "from",
     .type = WEIR_SETTING_INTEGER,
     .preset = "5",
     .min = 0,
     .max = 1e6,
     .offset = offsetof(tail_settings, from),
     .help = "frames left out"},
    {.name = NULL},
};

static inline weir_err tail_plan(const void *settings, weiri_unit_plan *plan)
{
    int64_t from = ((const tail_settings *)settings)->from;
    plan->due.offset = plan->due.end = -from;
    plan->out.dims[0].start += (double)from / plan->in->rate_hz;
    return WEIR_OK;
}

static inline void tail_run(weiri_block *block, const weiri_work *work)
{
    size_t bytes = (size_t)weir_spec_frame_bytes(block->in);
    const unsigned char *rows = work->in[0];
    if (work->produce > 0) {
        memcpy(work->out, rows + (work->consume - work->produce) * bytes, work->produce * bytes);
    }
    count_what_is_missing(block, work);
}

static const weiri_unit_ops unit_tail = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "t_tail",
             .summary = "without the first frames",
             .flags = WEIR_UNIT_COLUMNWISE | WEIR_UNIT_CHANGES_RATE,
             .settings = tail_table},
    .settings_bytes = sizeof(tail_settings),
    .plan = tail_plan,
    .run = tail_run,
};

static const weiri_unit_ops *const units_of_test[] = {
    &unit_ahead, &unit_resample, &unit_count, &unit_weave, &unit_tail, NULL,
};

#endif
