/* SPDX-License-Identifier: MIT
 *
 * lookahead.c: see lookahead.h.
 */
#include "unit/lookahead.h"

#include <math.h>
#include <string.h>

enum { VALUES, ABSENT, STARTED }; /* fields */
enum { N = WEIRI_BLOCK };

/* Each frame is moved twice; moved once, they would need a third more memory. */
static uint64_t step_of(const weiri_lookahead *lookahead)
{
    return lookahead->before / 2 + 32;
}

weir_err weiri_lookahead_plan(weiri_unit_plan *plan, const weiri_lookahead *lookahead)
{
    uint64_t rows = lookahead->before + step_of(lookahead);
    const weiri_field fields[] = {
        {.name = "frames",
         .kind = 'f',
         .bytes = (uint32_t)weir_dtype_bytes(plan->in->dtype),
         .rows = rows,
         .lanes = N},
        {.name = "absent", .kind = 'u', .bytes = 1, .rows = rows, .lanes = N},
        {.name = "started", .kind = 'u', .bytes = 1, .rows = 1},
    };
    plan->due = lookahead->due;
    weir_err err = WEIR_OK;
    for (size_t i = 0; err == WEIR_OK && i < 3; i++) {
        err = weiri_plan_field(plan, fields[i]);
    }
    return err;
}

static weiri_history history_of(const weiri_block *block)
{
    const weiri_lookahead *lookahead = block->constants;
    return (weiri_history){
        .columns = (size_t)block->columns,
        .value_bytes = weir_dtype_bytes(block->in->dtype),
        .before = (size_t)lookahead->before,
        .step = (size_t)step_of(lookahead),
        .values = block->state[VALUES],
        .absent = block->state[ABSENT],
        .started = block->state[STARTED],
    };
}

void weiri_lookahead_reset(weiri_block *block)
{
    weiri_history history = history_of(block);
    weiri_history_reset(&history);
}

/* Marks of the frames that outputs from..to are nearest to; rows of a group, row 0 is frame `first`. */
static void mark(const weiri_block *block,
                 const uint8_t *absent,
                 int64_t first,
                 uint64_t from,
                 uint64_t to,
                 size_t column,
                 size_t lanes,
                 weiri_nearest_fn *nearest,
                 void *out)
{
    size_t columns = (size_t)block->columns;
    for (uint64_t m = from; m < to; m++) {
        for (size_t lane = 0; lane < lanes; lane++) {
            int64_t row = nearest(block, m, column + lane) - first;
            size_t at = (size_t)(m - from) * columns + lane;
            if (absent[(size_t)row * N + lane] == 0) {
                continue;
            }
            if (block->in->dtype == WEIR_F32) {
                ((float *)out)[at] = NAN;
            } else {
                ((double *)out)[at] = (double)NAN;
            }
        }
    }
}

/* Output frames from..to, all due, of the run that began with frame `begin`. */
static void compute_groups(const weiri_block *block,
                           const weiri_history *history,
                           uint64_t begin,
                           uint64_t from,
                           uint64_t to,
                           unsigned char *out,
                           weiri_lookahead_fn *compute,
                           weiri_nearest_fn *nearest)
{
    const weiri_lookahead *lookahead = block->constants;
    const weiri_fraction pace = {lookahead->due.p, lookahead->due.q};
    size_t columns = history->columns;
    int64_t first = (int64_t)begin - (int64_t)history->before;
    int64_t low = (int64_t)weiri_fraction_times(pace, from) + lookahead->least - first;
    int64_t high = (int64_t)weiri_fraction_times(pace, to - 1) + lookahead->most - first;
    for (size_t column = 0; column < columns; column += N) {
        size_t group = column / N, lanes = columns - column < N ? columns - column : N;
        unsigned char *to_column = out + column * history->value_bytes;
        const uint8_t *absent = weiri_history_absent(history, begin, group);
        compute(block, group, weiri_history_values(history, begin, group), first, from, to,
                to_column, lanes);
        if (memchr(absent + (size_t)low * N, 1, (size_t)(high - low + 1) * N) != NULL) {
            mark(block, absent, first, from, to, column, lanes, nearest, to_column);
        }
    }
}

void weiri_lookahead_run(weiri_block *block,
                         const weiri_work *work,
                         weiri_lookahead_fn *compute,
                         weiri_nearest_fn *nearest)
{
    const weiri_lookahead *constants = block->constants;
    weiri_history history = history_of(block);
    const unsigned char *in = work->in[0];
    unsigned char *out = work->out;
    size_t in_bytes = (size_t)weir_spec_frame_bytes(block->in);
    size_t out_bytes = (size_t)weir_spec_frame_bytes(block->out), taken = 0;
    uint64_t n = work->consumed, m = work->produced, end = m + work->produce;
    if (work->ended && m > weiri_due_at(&constants->due, n, false)) {
        n = weiri_due_inverse(&constants->due, m - 1) + 1; /* with those held by earlier calls */
    }
    while (taken < work->consume || m < end) {
        uint64_t ready = weiri_due_at(&constants->due, n, false), begin = n - 1;
        if (ready <= m) {
            begin = n;
            if (work->ended) {
                weiri_history_hold(&history, n);
                n++;
            } else {
                bool clean = true;
                const void *rows = in + taken * in_bytes;
                size_t some =
                    weiri_history_append(&history, n, rows, work->consume - taken, &clean);
                if (!clean) {
                    weiri_count_missing(block, rows, some);
                }
                taken += some;
                n += some;
            }
            ready = weiri_due_at(&constants->due, n, false);
        }
        ready = ready < end ? ready : end;
        if (ready > m) {
            compute_groups(block, &history, begin, m, ready, out, compute, nearest);
            out += (size_t)(ready - m) * out_bytes;
            m = ready;
        }
    }
}
