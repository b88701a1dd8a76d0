/* SPDX-License-Identifier: MIT
 *
 * forward_backward.c: see forward_backward.h.
 *
 * Columns go in groups of WEIRI_BLOCK, one after the other: rows of a group are adjacent, so the backward filter reads
 * a stretch of memory that stays in the cache. A ring holds grain + ahead rows of the forward filter's output. When it
 * is full, the backward filter goes over all of them, and its output takes the place of the first `grain` rows. From
 * then on one frame is output for each that is consumed, so no buffer has to hold a block.
 *
 * Before the first padding + 1 frames have come nothing is known of the extension: they wait in the ring of the newest
 * input rows, which the other end needs too.
 */
#include "unit/forward_backward.h"

#include <math.h>
#include <string.h>

#include "unit/elementwise.h"

enum { N = WEIRI_BLOCK, ROWS = 128 /* rows of a group in scratch: 16 KiB */ };
enum {
    STATE = WEIRI_RECURSIVE_STATE,
    STARTED = WEIRI_RECURSIVE_STARTED,
    RING,
    NEWEST
}; /* fields */

/* Rows of a group in scratch; padding is at most ROWS. */
typedef struct scratch {
    double rows[ROWS * N];
    double extension[]; /* [padding x N] */
} scratch;

/* A block's call. */
typedef struct call {
    const weiri_forward_backward *constants;
    weiri_block *block;
    const weiri_work *work;
    scratch *scratch;
    size_t columns;
    bool f32;
    uint64_t ring_rows, newest_rows;
} call;

/* ---- one group of columns ------------------------------------------------------------------------ */

static double *ring_of(const call *c, size_t first)
{
    return (double *)c->block->state[RING] + first * c->ring_rows;
}

static double *newest_of(const call *c, size_t first)
{
    return (double *)c->block->state[NEWEST] + first * c->newest_rows;
}

static size_t lanes_of(const call *c, size_t first)
{
    return c->columns - first < N ? c->columns - first : N;
}

/* Rows of the group through sections whose state and starts are given; missing samples are counted elsewhere. Lanes
 * past the last column hold zeros. */
static void filter(const call *c,
                   double *state,
                   uint8_t *started,
                   const double *in,
                   ptrdiff_t in_stride,
                   double *out,
                   ptrdiff_t out_stride,
                   size_t frames)
{
    const weiri_recursive *constants = &c->constants->filter;
    uint64_t missing = 0;
    weiri_recurrence recurrence = {
        .run = weiri_kernels_get()->sos_f64,
        .params = &constants->params,
        .start = weiri_recursive_start(constants),
        .words = constants->words,
        .columns = N,
        .in_stride = in_stride,
        .out_stride = out_stride,
        .value_bytes = sizeof(double),
        .missing = &missing,
        .inner = 1,
        .channels = 1,
        .state = state,
        .started = started,
    };
    weiri_recurrence_process(&recurrence, in, out, frames);
}

static void
filter_forward(const call *c, size_t first, const double *in, double *out, size_t frames)
{
    uint8_t started[N];
    uint8_t *kept = (uint8_t *)c->block->state[STARTED] + first;
    double *state = (double *)c->block->state[STATE] + first * c->constants->filter.words;
    memset(started, 1, sizeof started);
    memcpy(started, kept, lanes_of(c, first));
    filter(c, state, started, in, N, out, N, frames);
    memcpy(kept, started, lanes_of(c, first));
}

/* Row j = 1.. of the odd extension of a row, by the rows on its other side. */
static void extend(double *ret_row, const double *edge, const double *inner)
{
    for (size_t i = 0; i < N; i++) {
        ret_row[i] = 2.0 * edge[i] - inner[i];
    }
}

/* Frames 0..padding, which are all in NEWEST: the extension before them, then they themselves. */
static void start_forward(const call *c, size_t first, uint64_t padding)
{
    const double *newest = newest_of(c, first);
    double *rows = c->scratch->rows;
    for (uint64_t j = padding; j > 0; j--) {
        extend(rows + (padding - j) * N, newest, newest + j * N);
    }
    filter_forward(c, first, rows, c->scratch->extension, (size_t)padding);
    filter_forward(c, first, newest, ring_of(c, first), (size_t)padding + 1);
}

/* The backward filter from the extension (rows that come after frame `last`, the furthest first; or none) and from
 * frame last down to frame `least`. What it makes of the frames before `end` takes their place. */
static void filter_backward(
    const call *c, size_t first, uint64_t padding, uint64_t last, uint64_t least, uint64_t end)
{
    double state[WEIRI_RECURRENCE_WORDS * N], *rows = c->scratch->rows;
    double *ring = ring_of(c, first);
    uint8_t started[N] = {0};
    memset(state, 0, c->constants->filter.words * N * sizeof(double));
    if (padding > 0) {
        filter(c, state, started, c->scratch->extension + (padding - 1) * N, -N, rows, N,
               (size_t)padding);
    }
    for (uint64_t left = last + 1; left > least;) { /* frames least .. left - 1 */
        uint64_t slot = (left - 1) % c->ring_rows;
        uint64_t some = left - least < slot + 1 ? left - least : slot + 1;
        some = some < ROWS ? some : ROWS;
        filter(c, state, started, ring + slot * N, -N, rows + (some - 1) * N, -N, (size_t)some);
        left -= some;
        if (left < end) {
            uint64_t kept = end - left < some ? end - left : some;
            memcpy(ring + left % c->ring_rows * N, rows, (size_t)kept * N * sizeof(double));
        }
    }
}

/* ---- consuming --------------------------------------------------------------------------------------- */

/* `frames` rows of the input from row `from` of the call on, as float64; zeros in lanes past the last column. */
static void gather(const call *c, size_t first, size_t from, size_t frames, double *ret_rows)
{
    size_t lanes = lanes_of(c, first);
    for (size_t i = 0; i < frames; i++) {
        size_t at = (from + i) * c->columns + first;
        double *row = ret_rows + i * N;
        for (size_t k = 0; c->f32 && k < lanes; k++) {
            row[k] = (double)((const float *)c->work->in[0])[at + k];
        }
        if (!c->f32) {
            memcpy(row, (const double *)c->work->in[0] + at, lanes * sizeof(double));
        }
        for (size_t k = lanes; k < N; k++) {
            row[k] = 0.0;
        }
    }
}

/* Rows of frames n .. n + frames - 1 into a ring of `size` rows. */
static void put(double *ring, uint64_t size, uint64_t n, const double *rows, size_t frames)
{
    for (size_t i = 0; i < frames; i++) {
        memcpy(ring + (n + i) % size * N, rows + i * N, N * sizeof(double));
    }
}

/* Consumes up to ROWS frames from row `from` of the call, the first of them frame n. */
static void consume(const call *c, size_t first, uint64_t n, size_t from, size_t frames)
{
    uint64_t padding = c->constants->padding, wait = n <= padding ? padding + 1 - n : 0;
    double *rows = c->scratch->rows;
    gather(c, first, from, frames, rows);
    if (wait > 0) { /* n + frames is at most padding + 1 */
        put(newest_of(c, first), c->newest_rows, n, rows, frames);
        if (frames == wait) {
            start_forward(c, first, padding);
        }
        return;
    }
    uint64_t slot = n % c->ring_rows;
    size_t some = c->ring_rows - slot < frames ? (size_t)(c->ring_rows - slot) : frames;
    size_t last = frames < c->newest_rows ? frames : (size_t)c->newest_rows;
    put(newest_of(c, first), c->newest_rows, n + frames - last, rows + (frames - last) * N, last);
    filter_forward(c, first, rows, ring_of(c, first) + slot * N, some);
    filter_forward(c, first, rows + some * N, ring_of(c, first), frames - some);
}

/* The segment has ended after n frames, of which those from `from` on have not gone backward. */
static void end_segment(const call *c, size_t first, uint64_t n, uint64_t from)
{
    uint64_t padding = c->constants->padding < n - 1 ? c->constants->padding : n - 1;
    const double *newest = newest_of(c, first);
    double *rows = c->scratch->rows;
    if (n <= c->constants->padding) { /* too short a segment for the whole extension */
        start_forward(c, first, padding);
    }
    for (uint64_t j = 1; j <= padding; j++) {
        extend(rows + (j - 1) * N, newest + (n - 1) % c->newest_rows * N,
               newest + (n - 1 - j) % c->newest_rows * N);
    }
    filter_forward(c, first, rows, c->scratch->extension, (size_t)padding);
    filter_backward(c, first, padding, n - 1, from, n);
}

/* ---- producing --------------------------------------------------------------------------------------- */

/* Frames m .. m + frames - 1 from the ring to row `to` of the call's output. */
static void output(const call *c, size_t first, uint64_t m, size_t to, size_t frames)
{
    size_t lanes = lanes_of(c, first);
    const double *ring = ring_of(c, first);
    for (size_t i = 0; i < frames; i++) {
        const double *row = ring + (m + i) % c->ring_rows * N;
        size_t at = (to + i) * c->columns + first;
        for (size_t k = 0; c->f32 && k < lanes; k++) {
            ((float *)c->work->out)[at + k] = (float)row[k];
        }
        if (!c->f32) {
            memcpy((double *)c->work->out + at, row, lanes * sizeof(double));
        }
    }
}

/* Where blocks have gone backward once n frames have come. */
static uint64_t done_at(const weiri_forward_backward *constants, uint64_t n)
{
    return n < constants->ahead ? 0 : (n - constants->ahead) / constants->grain * constants->grain;
}

/* A group of columns through the call. */
static void run_group(const call *c, size_t first)
{
    const weiri_forward_backward *constants = c->constants;
    const weiri_work *work = c->work;
    uint64_t n = work->consumed, m = work->produced, delay = c->ring_rows - 1;
    uint64_t end = n + work->consume, produced = m + work->produce;
    while (n < end) {
        uint64_t next =
            done_at(constants, n) + constants->grain + constants->ahead; /* block ends */
        uint64_t most = n <= constants->padding ? constants->padding + 1 - n : ROWS;
        most = most < ROWS ? most : ROWS;
        most = next - n < most ? next - n : most;
        size_t some = (size_t)(end - n < most ? end - n : most);
        uint64_t due = n + some <= delay ? 0 : n + some - delay;
        due = due < done_at(constants, n) ? due : done_at(constants, n);
        if (due > m) { /* before what is consumed takes their place */
            output(c, first, m, (size_t)(m - work->produced), (size_t)(due - m));
            m = due;
        }
        consume(c, first, n, (size_t)(n - work->consumed), some);
        n += some;
        if (n == next) {
            filter_backward(c, first, 0, n - 1, done_at(constants, n) - constants->grain,
                            done_at(constants, n));
        }
    }
    if (work->ended && m == (n <= delay ? 0 : n - delay)) {
        end_segment(c, first, n, done_at(constants, n));
    }
    output(c, first, m, (size_t)(m - work->produced), (size_t)(produced - m));
}

void weiri_forward_backward_run(weiri_block *block, const weiri_work *work)
{
    const weiri_forward_backward *constants = block->constants;
    if (constants->filter.words == 0) {
        weiri_elementwise_pass(block, work);
        return;
    }
    call c = {.constants = constants,
              .block = block,
              .work = work,
              .scratch = work->scratch,
              .columns = (size_t)block->columns,
              .f32 = block->in->dtype == WEIR_F32,
              .ring_rows = constants->grain + constants->ahead,
              .newest_rows = constants->padding + 1};
    weiri_look_for_missing(block, work->in[0], work->consume);
    for (size_t first = 0; first < c.columns && (work->consume > 0 || work->produce > 0);
         first += N) {
        run_group(&c, first);
    }
}

void weiri_forward_backward_reset(weiri_block *block)
{
    const weiri_forward_backward *constants = block->constants;
    size_t columns = (size_t)block->columns;
    if (constants->filter.words > 0) {
        memset(block->state[STATE], 0,
               weiri_recurrence_state_words(columns, constants->filter.words) * sizeof(double));
        memset(block->state[STARTED], 0, columns);
    }
}

/* ---- plan ---------------------------------------------------------------------------------------- */

#define FRAMES_MOST ((uint64_t)1 << 40)

weir_err weiri_forward_backward_plan(weiri_unit_plan *plan,
                                     const weiri_forward_backward_design *design)
{
    uint64_t grain = design->grain, ahead = design->ahead, padding = design->padding;
    weiri_forward_backward_design *made = plan->memory.get(plan->memory.user, sizeof *made);
    if (made == NULL) {
        return WEIR_E_NOMEM;
    }
    *made = *design;
    plan->made = made;
    weir_err err = weiri_recursive_plan_sections(plan, &design->sections);
    plan->constant_bytes += offsetof(weiri_forward_backward, filter);
    if (err != WEIR_OK || design->sections.sections == 0) {
        return err;
    }
    if (ahead > FRAMES_MOST || grain > FRAMES_MOST) {
        return weiri_fail(WEIR_E_CHAIN,
                          "cuton: the filter settles in more than 2^40 frames at %.15g Hz; lower "
                          "the rate before it (downsample)",
                          plan->in->rate_hz);
    }
    weiri_field ring = {.name = "ring", .kind = 'f', .bytes = 8, .rows = grain + ahead, .lanes = N};
    weiri_field newest = {
        .name = "newest", .kind = 'f', .bytes = 8, .rows = padding + 1, .lanes = N};
    err = weiri_plan_field(plan, ring);
    err = err == WEIR_OK ? weiri_plan_field(plan, newest) : err;
    plan->due.offset = -(int64_t)(grain + ahead - 1);
    plan->scratch_bytes = sizeof(scratch) + padding * N * sizeof(double);
    return err;
}

void weiri_forward_backward_prepare(const void *settings,
                                    const weiri_unit_plan *plan,
                                    void *constants)
{
    (void)settings;
    const weiri_forward_backward_design *design = plan->made;
    weiri_forward_backward *c = constants;
    c->grain = design->grain;
    c->ahead = design->ahead;
    c->padding = design->padding;
    weiri_recursive_sections(plan, &design->sections, &c->filter);
}

/* The forward filter's output differs by `rest` of it at most, 3 times that through the extension; the backward filter
 * makes at most the sum of its response of this. Then as many frames more as the output is behind. */
uint64_t
weiri_forward_backward_settle(const void *settings, const weiri_unit_plan *plan, double tolerance)
{
    (void)settings;
    const weiri_forward_backward_design *design = plan->made;
    const weiri_sos_params *sections = &design->sections;
    if (sections->sections == 0) {
        return 0;
    }
    uint64_t frames = weiri_sos_settle(sections, tolerance / (3.0 * weiri_sos_sum(sections)));
    return frames == WEIRI_SOS_NEVER ? WEIR_SETTLES_NEVER : frames - (uint64_t)plan->due.offset;
}
