/* SPDX-License-Identifier: MIT
 *
 * convolve.c: see convolve.h.
 */
#include "unit/convolve.h"

#include <math.h>
#include <string.h>

#include "dsp/fir.h"
#include "unit/elementwise.h"

enum { N = WEIRI_BLOCK, CHUNK = 48, VALUES = 0, STARTED = 1 }; /* CHUNK: rows of the scratch */

/* A kernel of the constants; its taps are padded, the oldest sample's first (fir.c). */
typedef struct kernel {
    size_t count;
    size_t at; /* of its first padding zero, in doubles from the end of the table */
} kernel;

typedef struct convolve {
    size_t kernels;
    size_t before, step; /* of the history */
    bool starts, magnitude;
    kernel table[]; /* and the taps */
} convolve;

/* Less is moved with longer steps, and short filters need little memory anyway. */
static size_t step_of(size_t before)
{
    return before < 48 ? 48 : before;
}

static const double *taps_of(const convolve *c, size_t number)
{
    return (const double *)(const void *)(c->table + c->kernels) + c->table[number].at;
}

weir_err weiri_taps_make(weiri_unit_plan *plan,
                         const char *setting,
                         size_t count,
                         const uint64_t *lengths,
                         weiri_taps **ret_taps)
{
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        if (lengths[i] > WEIRI_TAPS_MAX) {
            return weiri_fail(WEIR_E_CHAIN,
                              "%s: the filter would have %llu taps; at most %d are allowed",
                              setting, (unsigned long long)lengths[i], WEIRI_TAPS_MAX);
        }
        total += lengths[i];
    }
    weiri_memory memory = plan->memory;
    weiri_taps *taps = memory.get(memory.user, sizeof *taps);
    weiri_kernel_taps *kernels = memory.get(memory.user, (count + 1) * sizeof *kernels);
    double *all = memory.get(memory.user, (size_t)(total + 1) * sizeof *all);
    if (taps == NULL || kernels == NULL || all == NULL) {
        return WEIR_E_NOMEM;
    }
    *taps = (weiri_taps){.kernels = kernels, .count = count};
    for (size_t i = 0; i < count; i++) {
        kernels[i] = (weiri_kernel_taps){.taps = all, .count = (size_t)lengths[i]};
        all += lengths[i];
    }
    *ret_taps = taps;
    return WEIR_OK;
}

static size_t longest_of(const weiri_taps *taps)
{
    size_t longest = 0;
    for (size_t i = 0; i < taps->count; i++) {
        longest = taps->kernels[i].count > longest ? taps->kernels[i].count : longest;
    }
    return longest;
}

weir_err weiri_convolve_plan(weiri_unit_plan *plan, const weiri_taps *taps)
{
    plan->made = taps;
    plan->constant_bytes = sizeof(convolve);
    if (taps->count == 0) {
        return WEIR_OK;
    }
    for (size_t i = 0; i < taps->count; i++) {
        plan->constant_bytes +=
            sizeof(kernel) + (taps->kernels[i].count + 2 * WEIRI_FIR_PAD) * sizeof(double);
    }
    plan->delay_frames = taps->count > 1
                             ? (double)NAN
                             : weiri_fir_delay(taps->kernels[0].taps, taps->kernels[0].count);
    size_t longest = longest_of(taps), before = longest > 1 ? longest - 1 : 1;
    weir_err err =
        weiri_plan_field(plan, (weiri_field){.name = "history",
                                             .kind = 'f',
                                             .bytes = plan->in->dtype == WEIR_F32 ? 4 : 8,
                                             .rows = before + step_of(before),
                                             .lanes = N});
    if (err == WEIR_OK && taps->starts) {
        err = weiri_plan_field(
            plan, (weiri_field){.name = "started", .kind = 'u', .bytes = 1, .rows = 1});
    }
    return err;
}

void weiri_convolve_prepare(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    (void)settings;
    const weiri_taps *taps = plan->made;
    convolve *c = constants;
    size_t longest = longest_of(taps), at = 0;
    c->kernels = taps->count;
    c->before = longest > 1 ? longest - 1 : 1;
    c->step = step_of(c->before);
    c->starts = taps->starts;
    c->magnitude = taps->magnitude;
    double *all = (double *)(void *)(c->table + c->kernels); /* zeroed */
    for (size_t i = 0; i < taps->count; i++) {
        const weiri_kernel_taps *from = &taps->kernels[i];
        c->table[i] = (kernel){.count = from->count, .at = at};
        for (size_t k = 0; k < from->count; k++) {
            all[at + WEIRI_FIR_PAD + k] = from->taps[from->count - 1 - k];
        }
        at += from->count + 2 * WEIRI_FIR_PAD;
    }
}

uint64_t weiri_convolve_settle(const void *settings, const weiri_unit_plan *plan, double tolerance)
{
    (void)settings;
    (void)tolerance;
    const weiri_taps *taps = plan->made;
    return taps->count == 0 ? 0 : longest_of(taps) - 1;
}

static weiri_history history_of(const weiri_block *block)
{
    const convolve *c = block->constants;
    return (weiri_history){
        .columns = (size_t)block->columns,
        .value_bytes = block->in->dtype == WEIR_F32 ? 4 : 8,
        .before = c->before,
        .step = c->step,
        .values = block->state[VALUES],
        .started = c->starts ? block->state[STARTED] : NULL,
    };
}

void weiri_convolve_reset(weiri_block *block)
{
    if (((const convolve *)block->constants)->kernels > 0) {
        weiri_history history = history_of(block);
        weiri_history_reset(&history);
    }
}

/* Of each type: a group's outputs into the rows of the output; and NaN where a sample is missing. */
#define TYPED(name, type)                                                                          \
    static void magnitude_##name(type *y, const type *x, size_t count)                             \
    {                                                                                              \
        for (size_t i = 0; i < count; i++) {                                                       \
            y[i] = (type)sqrt((double)x[i] * (double)x[i] + (double)y[i] * (double)y[i]);          \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void group_##name(const convolve *c, const type *rows, size_t frames, type *out,        \
                             size_t columns, size_t lanes)                                         \
    {                                                                                              \
        const weiri_kernels *kernels = weiri_kernels_get();                                        \
        type scratch[CHUNK * N] __attribute__((aligned(64)));                                      \
        for (size_t k = 0; k < c->kernels; k++) {                                                  \
            const double *taps = taps_of(c, k);                                                    \
            size_t count = c->table[k].count;                                                      \
            const type *from = rows + (c->before + 1 - count) * N;                                 \
            if (c->kernels == 1 && lanes == N && !c->magnitude) {                                  \
                kernels->fir_##name(taps, count, from, frames, out, columns);                      \
                continue;                                                                          \
            }                                                                                      \
            for (size_t done = 0; done < frames; done += CHUNK) {                                  \
                size_t some = frames - done < CHUNK ? frames - done : CHUNK;                       \
                kernels->fir_##name(taps, count, from + done * N, some, scratch, N);               \
                if (c->magnitude) {                                                                \
                    const type *now = rows + (c->before - (count - 1) / 2 + done) * N;             \
                    magnitude_##name(scratch, now, some *N);                                       \
                }                                                                                  \
                for (size_t i = 0; i < some * N; i++) {                                            \
                    if (i % N < lanes) {                                                           \
                        size_t at = (done + i / N) * columns + i % N;                              \
                        out[at * c->kernels + k] = scratch[i];                                     \
                    }                                                                              \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void missing_##name(const type *in, type *out, size_t count, size_t kernels)            \
    {                                                                                              \
        for (size_t i = 0; i < count * kernels; i++) {                                             \
            if (!isfinite(in[i / kernels])) {                                                      \
                out[i] = (type)NAN;                                                                \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void run_##name(weiri_block *block, const weiri_work *work)                             \
    {                                                                                              \
        const convolve *c = block->constants;                                                      \
        weiri_history history = history_of(block);                                                 \
        size_t columns = history.columns;                                                          \
        const type *in = work->in[0];                                                              \
        type *out = work->out;                                                                     \
        for (size_t done = 0; done < work->consume;) {                                             \
            bool clean = true;                                                                     \
            uint64_t now = work->consumed + done;                                                  \
            size_t some = weiri_history_append(&history, now, in, work->consume - done, &clean);   \
            for (size_t first = 0; first < columns; first += N) {                                  \
                group_##name(c, weiri_history_values(&history, now, first / N), some,              \
                             out + first * c->kernels, columns,                                    \
                             columns - first < N ? columns - first : N);                           \
            }                                                                                      \
            if (!clean) {                                                                          \
                missing_##name(in, out, some *columns, c->kernels);                                \
                weiri_count_missing(block, in, some);                                              \
            }                                                                                      \
            in += some * columns;                                                                  \
            out += some * columns * c->kernels;                                                    \
            done += some;                                                                          \
        }                                                                                          \
    }

TYPED(f32, float)
TYPED(f64, double)

void weiri_convolve_run(weiri_block *block, const weiri_work *work)
{
    if (((const convolve *)block->constants)->kernels == 0) {
        weiri_elementwise_pass(block, work);
    } else {
        (block->in->dtype == WEIR_F32 ? run_f32 : run_f64)(block, work);
    }
}
