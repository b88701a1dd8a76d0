/* SPDX-License-Identifier: MIT
 *
 * recurrence.c: see recurrence.h.
 *
 * A block of columns is processed by its kernel as if no sample could be missing. A sample that is
 * not finite makes the state not finite, and it stays so; the state at the end therefore shows
 * whether there was one, and the clean case costs a test of a few words per block. Only then are
 * the affected columns computed again from the state before: without their missing samples (state
 * held, S5), compacted, by the same kernel, so that the bits are equal by construction.
 *
 * A finite sample that overflows the state would leave it infinite permanently: it is treated as
 * missing, and the column starts again after it. This is decided sample by sample, so message
 * boundaries cannot change it.
 */
#include "scan/recurrence.h"

#include <math.h>
#include <string.h>

enum { N = WEIRI_BLOCK, CHUNK = 64 };

/* Copies of a block's rows, if they must be padded or compacted. */
typedef struct staging {
    double in[CHUNK * N]; /* of either dtype */
    double out[CHUNK * N];
} staging;

/* One block of one call. */
typedef struct block {
    weiri_recurrence *recurrence;
    double *state;  /* [words x N] */
    size_t first;   /* column */
    size_t lanes;   /* columns here, <= N */
    const void *in; /* of the first column */
    void *out;
    size_t frames;
} block;

size_t weiri_recurrence_state_words(size_t columns, size_t words)
{
    return (columns + N - 1) / N * N * words;
}

void weiri_recurrence_reset(weiri_recurrence *recurrence)
{
    memset(recurrence->state, 0,
           weiri_recurrence_state_words(recurrence->columns, recurrence->words) * sizeof(double));
    if (recurrence->start != NULL) {
        memset(recurrence->started, 0, recurrence->columns);
    }
}

/* ---- one value ------------------------------------------------------------------------------- */

static ptrdiff_t in_at(const block *b, size_t frame, size_t lane)
{
    return (ptrdiff_t)frame * b->recurrence->in_stride + (ptrdiff_t)lane;
}

static ptrdiff_t out_at(const block *b, size_t frame, size_t lane)
{
    return (ptrdiff_t)frame * b->recurrence->out_stride + (ptrdiff_t)lane;
}

static double value_at(const block *b, size_t frame, size_t lane)
{
    ptrdiff_t at = in_at(b, frame, lane);
    return b->recurrence->value_bytes == 4 ? (double)((const float *)b->in)[at]
                                           : ((const double *)b->in)[at];
}

static void put_missing(const block *b, size_t frame, size_t lane)
{
    const weiri_recurrence *recurrence = b->recurrence;
    ptrdiff_t at = out_at(b, frame, lane);
    if (recurrence->value_bytes == 4) {
        ((float *)b->out)[at] = NAN;
    } else {
        ((double *)b->out)[at] = (double)NAN;
    }
    recurrence->missing[(b->first + lane) / recurrence->inner % recurrence->channels]++;
}

/* Copies one value; both places in values. */
static void
move(const weiri_recurrence *recurrence, void *to, ptrdiff_t to_at, const void *from, ptrdiff_t at)
{
    if (recurrence->value_bytes == 4) {
        ((float *)to)[to_at] = ((const float *)from)[at];
    } else {
        ((double *)to)[to_at] = ((const double *)from)[at];
    }
}

/* S9: the steady state of the first sample that is not missing. */
static void start_lane(const block *b, size_t lane, double first)
{
    weiri_recurrence *recurrence = b->recurrence;
    for (size_t word = 0; word < recurrence->words; word++) {
        b->state[word * N + lane] = recurrence->start[word] * first;
    }
    recurrence->started[b->first + lane] = 1;
}

static bool is_waiting(const block *b, size_t lane)
{
    return b->recurrence->start != NULL && b->recurrence->started[b->first + lane] == 0;
}

static void unstart_lane(const block *b, size_t lane)
{
    weiri_recurrence *recurrence = b->recurrence;
    for (size_t word = 0; word < recurrence->words; word++) {
        b->state[word * N + lane] = 0.0;
    }
    if (recurrence->start != NULL) {
        recurrence->started[b->first + lane] = 0;
    }
}

/* ---- the clean way --------------------------------------------------------------------------- */

/* Runs the kernel over the whole block; the last block of a row is padded to N columns. */
static void run_block(const block *b)
{
    const weiri_recurrence *recurrence = b->recurrence;
    size_t bytes = recurrence->value_bytes;
    if (b->lanes == N) {
        recurrence->run(recurrence->params, b->state, b->in, recurrence->in_stride, b->out,
                        recurrence->out_stride, b->frames,
                        weiri_ahead_take(recurrence->ahead, b->frames));
        return;
    }
    staging rows;
    /* Only as much as is read: a push of one frame should not clear 8 KiB (100 of 420 ns). */
    memset(rows.in, 0, (b->frames < CHUNK ? b->frames : CHUNK) * N * bytes);
    const unsigned char *in = b->in;
    unsigned char *out = b->out;
    for (size_t done = 0; done < b->frames; done += CHUNK) {
        size_t some = b->frames - done < CHUNK ? b->frames - done : CHUNK;
        for (size_t i = 0; i < some; i++) {
            memcpy((unsigned char *)rows.in + i * N * bytes,
                   in + in_at(b, done + i, 0) * (ptrdiff_t)bytes, b->lanes * bytes);
        }
        recurrence->run(recurrence->params, b->state, rows.in, N, rows.out, N, some, NULL);
        for (size_t i = 0; i < some; i++) {
            memcpy(out + out_at(b, done + i, 0) * (ptrdiff_t)bytes,
                   (const unsigned char *)rows.out + i * N * bytes, b->lanes * bytes);
        }
    }
}

/* The lanes whose state is not finite, as bits. */
static uint32_t broken_lanes(const block *b)
{
    if (weiri_kernels_get()->finite_f64(b->state, b->recurrence->words * N)) {
        return 0;
    }
    double sums[N] = {0};
    for (size_t word = 0; word < b->recurrence->words; word++) {
        for (size_t lane = 0; lane < N; lane++) {
            sums[lane] += 0.0 * b->state[word * N + lane];
        }
    }
    uint32_t broken = 0;
    for (size_t lane = 0; lane < b->lanes; lane++) {
        broken |= sums[lane] == 0.0 ? 0 : 1u << lane;
    }
    return broken;
}

/* ---- with samples missing -------------------------------------------------------------------- */

static void copy_lane(const block *b, double *to, const double *from, size_t lane)
{
    for (size_t word = 0; word < b->recurrence->words; word++) {
        to[word * N + lane] = from[word * N + lane];
    }
}

/* Sample by sample, for a lane whose state overflows on finite samples: such a sample counts as
 * missing, and the lane starts again after it. */
static void run_lane_slowly(const block *b, size_t lane)
{
    const weiri_recurrence *recurrence = b->recurrence;
    for (size_t frame = 0; frame < b->frames; frame++) {
        double x = value_at(b, frame, lane);
        if (!isfinite(x)) {
            put_missing(b, frame, lane);
            continue;
        }
        double state[WEIRI_RECURRENCE_WORDS * N], row_in[N] = {0}, row_out[N];
        block one = *b;
        memset(state, 0, recurrence->words * N * sizeof(double));
        one.state = state;
        if (is_waiting(b, lane)) {
            start_lane(&one, lane, x);
        } else {
            copy_lane(b, state, b->state, lane);
        }
        move(recurrence, row_in, (ptrdiff_t)lane, b->in, in_at(b, frame, lane));
        recurrence->run(recurrence->params, state, row_in, N, row_out, N, 1, NULL);
        if (broken_lanes(&one) == 0) {
            copy_lane(b, b->state, state, lane);
            move(recurrence, b->out, out_at(b, frame, lane), row_out, (ptrdiff_t)lane);
        } else {
            put_missing(b, frame, lane);
            unstart_lane(b, lane);
        }
    }
}

/* Compacts the next `some` good samples of a lane, from *frame on, into rows. */
static void gather(const block *b, size_t lane, size_t *frame, size_t some, double *rows)
{
    for (size_t i = 0; i < some; i++, (*frame)++) {
        while (!isfinite(value_at(b, *frame, lane))) {
            (*frame)++;
        }
        move(b->recurrence, rows, (ptrdiff_t)(i * N + lane), b->in, in_at(b, *frame, lane));
    }
}

/* The opposite: from rows to their frames. */
static void scatter(const block *b, size_t lane, size_t *frame, size_t some, const double *rows)
{
    for (size_t i = 0; i < some; i++, (*frame)++) {
        while (!isfinite(value_at(b, *frame, lane))) {
            (*frame)++;
        }
        move(b->recurrence, b->out, out_at(b, *frame, lane), rows, (ptrdiff_t)(i * N + lane));
    }
}

/* The lanes of `together`, all with `good` samples that are not missing: compacts those samples
 * and runs the kernel over them. Other lanes run on zeros with a state of their own. */
static void run_lanes(const block *b, uint32_t together, size_t good)
{
    const weiri_recurrence *recurrence = b->recurrence;
    double state[WEIRI_RECURRENCE_WORDS * N];
    size_t next_in[N] = {0}, next_out[N] = {0};
    uint32_t fresh = 0;
    memset(state, 0, recurrence->words * N * sizeof(double));
    for (size_t lane = 0; lane < b->lanes; lane++) {
        if ((together >> lane & 1) == 0) {
            continue;
        }
        if (good > 0 && is_waiting(b, lane)) {
            size_t frame = 0;
            while (!isfinite(value_at(b, frame, lane))) {
                frame++;
            }
            start_lane(b, lane, value_at(b, frame, lane));
            fresh |= 1u << lane;
        }
        copy_lane(b, state, b->state, lane);
    }
    staging rows;
    memset(rows.in, 0, sizeof rows.in);
    for (size_t done = 0; done < good; done += CHUNK) {
        size_t some = good - done < CHUNK ? good - done : CHUNK;
        for (size_t lane = 0; lane < b->lanes; lane++) {
            if ((together >> lane & 1) != 0) {
                gather(b, lane, &next_in[lane], some, rows.in);
            }
        }
        recurrence->run(recurrence->params, state, rows.in, N, rows.out, N, some, NULL);
        for (size_t lane = 0; lane < b->lanes; lane++) {
            if ((together >> lane & 1) != 0) {
                scatter(b, lane, &next_out[lane], some, rows.out);
            }
        }
    }
    block ended = *b;
    ended.state = state;
    uint32_t broken = broken_lanes(&ended);
    for (size_t lane = 0; lane < b->lanes; lane++) {
        if ((together >> lane & 1) == 0) {
            continue;
        }
        if ((broken >> lane & 1) != 0) {
            if ((fresh >> lane & 1) != 0) {
                unstart_lane(b, lane);
            }
            run_lane_slowly(b, lane);
            continue;
        }
        copy_lane(b, b->state, state, lane);
        for (size_t frame = 0; frame < b->frames; frame++) {
            if (!isfinite(value_at(b, frame, lane))) {
                put_missing(b, frame, lane);
            }
        }
    }
}

/* Whether a frame's samples are all present (1), all missing (-1), or partly (0). */
static int frame_state(const block *b, size_t frame)
{
    size_t good = 0;
    for (size_t lane = 0; lane < b->lanes; lane++) {
        good += isfinite(value_at(b, frame, lane)) ? 1 : 0;
    }
    return good == b->lanes ? 1 : good == 0 ? -1 : 0;
}

/* If only whole frames are missing, as when an artefact is blanked, the stretches between them
 * are processed in place. false: that is not so, or a state overflows; nothing is changed. */
static bool run_stretches(const block *b)
{
    size_t first = SIZE_MAX;
    for (size_t frame = 0; frame < b->frames; frame++) {
        int state = frame_state(b, frame);
        if (state == 0) {
            return false;
        }
        first = state == 1 && first == SIZE_MAX ? frame : first;
    }
    double held[WEIRI_RECURRENCE_WORDS * N];
    memcpy(held, b->state, b->recurrence->words * N * sizeof(double));
    uint32_t fresh = 0;
    for (size_t lane = 0; first != SIZE_MAX && lane < b->lanes; lane++) {
        if (is_waiting(b, lane)) {
            start_lane(b, lane, value_at(b, first, lane));
            fresh |= 1u << lane;
        }
    }
    ptrdiff_t bytes = (ptrdiff_t)b->recurrence->value_bytes;
    for (size_t frame = 0; frame < b->frames;) {
        block stretch = *b;
        stretch.in = (const unsigned char *)b->in + in_at(b, frame, 0) * bytes;
        stretch.out = (unsigned char *)b->out + out_at(b, frame, 0) * bytes;
        stretch.frames = 0;
        while (frame < b->frames && frame_state(b, frame) == 1) {
            stretch.frames++;
            frame++;
        }
        if (stretch.frames > 0) {
            run_block(&stretch);
        }
        frame += frame < b->frames ? 1 : 0;
    }
    if (broken_lanes(b) != 0) {
        for (size_t lane = 0; lane < b->lanes; lane++) {
            if ((fresh >> lane & 1) != 0) {
                unstart_lane(b, lane);
            }
        }
        memcpy(b->state, held, b->recurrence->words * N * sizeof(double));
        return false;
    }
    for (size_t frame = 0; frame < b->frames; frame++) {
        bool missing = frame_state(b, frame) == -1;
        for (size_t lane = 0; missing && lane < b->lanes; lane++) {
            put_missing(b, frame, lane);
        }
    }
    return true;
}

/* Computes the lanes of `again` once more; their state is as it was before the call. Lanes with
 * equally many missing samples are processed together: a stretch blanked on all channels costs
 * one pass. */
static void run_again(const block *b, uint32_t again)
{
    if (again == (1u << b->lanes) - 1 && run_stretches(b)) {
        return;
    }
    size_t good[N] = {0};
    for (size_t lane = 0; lane < b->lanes; lane++) {
        for (size_t frame = 0; (again >> lane & 1) != 0 && frame < b->frames; frame++) {
            good[lane] += isfinite(value_at(b, frame, lane)) ? 1 : 0;
        }
    }
    while (again != 0) {
        size_t lead = (size_t)__builtin_ctz(again);
        uint32_t together = 0;
        for (size_t lane = lead; lane < b->lanes; lane++) {
            together |= good[lane] == good[lead] ? again & 1u << lane : 0;
        }
        run_lanes(b, together, good[lead]);
        again &= ~together;
    }
}

/* ---- all blocks ------------------------------------------------------------------------------ */

/* Starts the lanes whose first sample of the stream is this tile's first one; run_again starts
 * the others, whose sample is not finite and makes their state so. */
static uint32_t start_lanes(const block *b)
{
    uint32_t started = 0;
    for (size_t lane = 0; lane < b->lanes; lane++) {
        if (b->recurrence->started[b->first + lane] == 0 && isfinite(value_at(b, 0, lane))) {
            start_lane(b, lane, value_at(b, 0, lane));
            started |= 1u << lane;
        }
    }
    return started;
}

void weiri_recurrence_process(weiri_recurrence *recurrence,
                              const void *in,
                              void *out,
                              size_t frames)
{
    if (frames == 0) {
        return;
    }
    double held[WEIRI_RECURRENCE_WORDS * N];
    size_t block_words = recurrence->words * N;
    bool waiting =
        recurrence->start != NULL && memchr(recurrence->started, 0, recurrence->columns) != NULL;
    for (size_t first = 0; first < recurrence->columns; first += N) {
        block b = {
            .recurrence = recurrence,
            .state = recurrence->state + first * recurrence->words,
            .first = first,
            .lanes = recurrence->columns - first < N ? recurrence->columns - first : N,
            .in = (const unsigned char *)in + first * recurrence->value_bytes,
            .out = (unsigned char *)out + first * recurrence->value_bytes,
            .frames = frames,
        };
        uint32_t fresh = waiting ? start_lanes(&b) : 0;
        memcpy(held, b.state, block_words * sizeof(double));
        run_block(&b);
        uint32_t broken = broken_lanes(&b);
        if (broken == 0) {
            continue;
        }
        for (size_t lane = 0; lane < N; lane++) {
            if ((broken >> lane & 1) == 0) {
                continue;
            }
            copy_lane(&b, b.state, held, lane);
            if ((fresh >> lane & 1) != 0) { /* run_again starts it */
                unstart_lane(&b, lane);
            }
        }
        run_again(&b, broken);
    }
}
