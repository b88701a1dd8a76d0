/* SPDX-License-Identifier: MIT
 *
 * diff.c: each value minus the channel's previous one. The state is one frame: the last good sample of each column,
 * NaN before the first.
 */
#include <math.h>
#include <string.h>

#include "kernel/kernel.h"
#include "unit/unit.h"

typedef struct diff_settings {
    const char *axis;
    bool scale_by_fs;
} diff_settings;

typedef struct diff_constants {
    double scale;
} diff_constants;

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    const diff_settings *given = settings;
    weir_err err = weiri_axis_is_stream(plan->in, given->axis);
    if (err == WEIR_OK && given->scale_by_fs) {
        err = weiri_units_follow(plan, 1.0, "s^-1");
    }
    plan->constant_bytes = sizeof(diff_constants);
    plan->delay_frames = 0.5;
    uint32_t bytes = (uint32_t)weir_dtype_bytes(plan->in->dtype);
    return err != WEIR_OK
               ? err
               : weiri_plan_field(
                     plan, (weiri_field){.name = "last", .kind = 'f', .bytes = bytes, .rows = 1});
}

static void prepare(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    const diff_settings *given = settings;
    *(diff_constants *)constants = (diff_constants){given->scale_by_fs ? plan->in->rate_hz : 1.0};
}

static uint64_t settle(const void *settings, const weiri_unit_plan *plan, double tolerance)
{
    (void)settings;
    (void)plan;
    return tolerance < 1.0 ? 1 : 0;
}

static void reset(weiri_block *block)
{
    for (size_t i = 0; i < block->columns; i++) {
        if (block->in->dtype == WEIR_F32) {
            ((float *)block->state[0])[i] = NAN;
        } else {
            ((double *)block->state[0])[i] = (double)NAN;
        }
    }
}

/* All frames after the first in one call where no sample is missing: the frame before each is in the input. */
#define RUN(type_name, type)                                                                         \
    static void run_##type_name(const weiri_block *block, const type *in, type *out,                 \
                                size_t frames, double scale)                                         \
    {                                                                                                \
        const weiri_kernels *kernels = weiri_kernels_get();                                          \
        size_t columns = (size_t)block->columns, rest = (frames - 1) * columns;                      \
        type *last = block->state[0];                                                                \
        kernels->subtract_##type_name(in, last, out, columns, scale);                                \
        kernels->subtract_##type_name(in + columns, in, out + columns, rest, scale);                 \
        memcpy(last, in + rest, columns * sizeof *last);                                             \
    }                                                                                                \
                                                                                                     \
    /* The same by value: a missing sample gives NaN, and the next good one is compared with the   \
     * last good one; the first one with itself. */ \
    static void run_dirty_##type_name(const weiri_block *block, const type *in, type *out,           \
                                      size_t frames, double scale)                                   \
    {                                                                                                \
        size_t columns = (size_t)block->columns;                                                     \
        type *last = block->state[0];                                                                \
        for (size_t i = 0; i < frames * columns; i++) {                                              \
            type *before = &last[i % columns];                                                       \
            if (!isfinite(in[i])) {                                                                  \
                out[i] = (type)NAN;                                                                  \
                continue;                                                                            \
            }                                                                                        \
            double step = isnan(*before) ? 0.0 : (double)in[i] - (double)*before;                    \
            out[i] = (type)(step * scale);                                                           \
            *before = in[i];                                                                         \
        }                                                                                            \
    }

RUN(f32, float)
RUN(f64, double)

static void run(weiri_block *block, const weiri_work *work)
{
    const weiri_kernels *kernels = weiri_kernels_get();
    double scale = ((const diff_constants *)block->constants)->scale;
    size_t columns = (size_t)block->columns, frames = work->consume, count = frames * columns;
    const void *in = work->in[0], *last = block->state[0];
    if (frames == 0) {
        return;
    }
    if (block->in->dtype == WEIR_F32) {
        bool clean = kernels->finite_f32(in, count);
        bool all = clean && kernels->finite_f32(last, columns);
        (all ? run_f32 : run_dirty_f32)(block, in, work->out, frames, scale);
        if (!clean) {
            weiri_count_missing(block, in, frames);
        }
    } else {
        bool clean = kernels->finite_f64(in, count);
        bool all = clean && kernels->finite_f64(last, columns);
        (all ? run_f64 : run_dirty_f64)(block, in, work->out, frames, scale);
        if (!clean) {
            weiri_count_missing(block, in, frames);
        }
    }
}

static const weir_setting table[] = {
    {.name = "axis",
     .type = WEIR_SETTING_STRING,
     .preset = "null",
     .offset = offsetof(diff_settings, axis),
     .help = "name of the stream's dimension; no other is possible"},
    {.name = "scale_by_fs",
     .type = WEIR_SETTING_BOOL,
     .preset = "false",
     .offset = offsetof(diff_settings, scale_by_fs),
     .help = "true: times the rate: change per second"},
    {0},
};

const weiri_unit_ops weiri_unit_diff = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "diff",
             .summary = "each value minus the previous one",
             .formula = "y[n] = (x[n] - x[n-1]) s; s = 1, or the rate with scale_by_fs. After "
                        "missing samples x[n-1] is the last good one.",
             .start = "x[-1] = x[0]: the first output frame is 0.",
             .ezmsg = "diff.DiffTransformer",
             .flags = WEIR_UNIT_STATEFUL | WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(diff_settings),
    .plan = plan,
    .prepare = prepare,
    .settle = settle,
    .reset = reset,
    .run = run,
};
