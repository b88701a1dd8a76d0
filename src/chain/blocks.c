/* SPDX-License-Identifier: MIT
 *
 * blocks.c: one call of a group. First how many frames each of its steps consumes and produces, by counts alone
 * (due.h); then the steps run, block by block. A group of one block and one step is that unit's run, no more. Else
 * each block's channels are copied into a scratch buffer, go through all steps from buffer to buffer, and what
 * comes of them is copied to its place in the edge. Units never see a stride, and no column sees another: the bits
 * are those of the whole width (S1).
 */
#include <string.h>

#include "chain/chain.h"

/* ---- how many frames ----------------------------------------------------------------------------- */

/* Of one step in one call. */
typedef struct share {
    size_t consume, produce;
} share;

static weiri_step_run *run_of(const weir_chain *chain, const weiri_step *step)
{
    return &chain->running->steps[step - chain->plan->steps];
}

/* The most of `have` frames so that what comes of them fits `room`; one always does. */
static size_t frames_that_fit(const weiri_step *step, const weiri_step_run *run, size_t have, size_t room)
{
    uint64_t most = weiri_due_inverse(&step->unit.due, run->produced + room);
    most = most < run->consumed ? 0 : most - run->consumed;
    most = most < 1 ? 1 : most;
    return most < have ? (size_t)most : have;
}

/* A step alone: what is due of frames consumed already goes first; one input frame may make more than there is
 * room for. */
static share share_alone(const weiri_step *step, const weiri_step_run *run, const weiri_call *call)
{
    const weiri_due *due = &step->unit.due;
    share s = {0, 0};
    uint64_t now = weiri_due_at(due, run->consumed, false);
    if (now <= run->produced && call->have > 0) {
        s.consume = frames_that_fit(step, run, call->have, call->room);
        now = weiri_due_at(due, run->consumed + s.consume, false);
    } else if (now <= run->produced && call->ended) {
        now = weiri_due_at(due, run->consumed, true);
    }
    uint64_t produce = now > run->produced ? now - run->produced : 0;
    s.produce = produce < call->room ? (size_t)produce : call->room;
    return s;
}

/* How many frames each step may produce, from the last one's room backwards. Returns how many the first one may
 * consume. */
static size_t
rooms_in_row(const weir_chain *chain, const weiri_group *group, size_t room, size_t *ret_rooms)
{
    const weiri_step *steps[WEIRI_GROUP_STEPS];
    int count = 0;
    for (const weiri_step *step = group->first; step != NULL; step = step->next) {
        steps[count++] = step;
    }
    for (int i = count - 1; i >= 0; i--) {
        bool last = i == count - 1;
        ret_rooms[i] = last || room < steps[i]->strip_frames ? room : steps[i]->strip_frames;
        room = frames_that_fit(steps[i], run_of(chain, steps[i]), SIZE_MAX, ret_rooms[i]);
    }
    return room;
}

/* Steps in a row: what one produces the next consumes at once. So each may produce no more than what the next
 * one's output has room for; none makes more frames than it takes, so one always fits. At the segment's end one
 * step after the other outputs what is left. */
static void share_in_row(const weir_chain *chain, const weiri_group *group, const weiri_call *call, share *shares)
{
    size_t rooms[WEIRI_GROUP_STEPS], have = call->have, i = 0;
    bool plenty = !call->ended && call->room >= group->capacity; /* for whatever one call makes */
    if (!plenty) {
        size_t room = rooms_in_row(chain, group, call->room, rooms);
        have = have < room ? have : room;
    }
    bool ended = call->ended && have == call->have;
    for (const weiri_step *step = group->first; step != NULL; step = step->next, i++) {
        const weiri_step_run *run = run_of(chain, step);
        const weiri_due *due = &step->unit.due;
        uint64_t after = run->consumed + have;
        uint64_t now = weiri_due_at(due, after, false);
        bool flush = ended && have == 0;
        if (flush) {
            now = weiri_due_at(due, after, true);
        }
        uint64_t produce = now > run->produced ? now - run->produced : 0;
        shares[i].consume = have;
        shares[i].produce = plenty || produce < rooms[i] ? (size_t)produce : rooms[i];
        ended = flush && shares[i].produce == produce;
        have = shares[i].produce;
    }
}

/* ---- copies -------------------------------------------------------------------------------------- */

/* A block's channels of whole frames, side by side. */
static void gather(const weiri_layout *l,
                   const weiri_block *block,
                   const unsigned char *from,
                   unsigned char *to,
                   size_t frames)
{
    size_t bytes = (size_t)block->channels * l->channel_bytes;
    from += (size_t)block->first_channel * l->channel_bytes;
    for (size_t frame = 0; frame < frames; frame++, from += l->frame_bytes) {
        for (size_t i = 0; i < l->outer; i++, to += bytes) {
            memcpy(to, from + i * l->outer_bytes, bytes);
        }
    }
}

/* The other way. */
static void scatter(const weiri_layout *l,
                    const weiri_block *block,
                    const unsigned char *from,
                    unsigned char *to,
                    size_t frames)
{
    size_t bytes = (size_t)block->channels * l->channel_bytes;
    to += (size_t)block->first_channel * l->channel_bytes;
    for (size_t frame = 0; frame < frames; frame++, to += l->frame_bytes) {
        for (size_t i = 0; i < l->outer; i++, from += bytes) {
            memcpy(to + i * l->outer_bytes, from, bytes);
        }
    }
}

/* ---- running ------------------------------------------------------------------------------------- */

/* One call on its way, shared by the threads that work on it. */
typedef struct group_run {
    weir_chain *chain;
    const weiri_group *group;
    const weiri_call *call;
    share shares[WEIRI_GROUP_STEPS];
} group_run;

static unsigned char *scratch_of(const weir_chain *chain, int thread)
{
    return weiri_chain_memory(chain, chain->plan->work_at) +
           (uint64_t)thread * chain->plan->work_bytes;
}

static void run_step(const weir_chain *chain,
                     const weiri_step *step,
                     weiri_block *block,
                     share s,
                     weiri_work *work,
                     int thread)
{
    const weiri_step_run *run = run_of(chain, step);
    if (s.consume == 0 && s.produce == 0) {
        return;
    }
    work->consumed = run->consumed;
    work->produced = run->produced;
    work->consume = s.consume;
    work->produce = s.produce;
    work->scratch = scratch_of(chain, thread) + chain->plan->scratch_at;
    step->ops->run(block, work);
}

/* All steps of the group for one block. */
static void one_block(void *user, int number, int thread)
{
    const group_run *at = user;
    const weiri_group *group = at->group;
    const weiri_plan *plan = at->chain->plan;
    unsigned char *scratch = scratch_of(at->chain, thread);
    unsigned char *strips[2] = {scratch, scratch + plan->strip1_at};
    const weiri_block *first = &run_of(at->chain, group->first)->blocks[number];
    const unsigned char *here = at->call->in[0];
    if (group->gathers) {
        gather(&group->in, first, here, strips[0], at->shares[0].consume);
        here = strips[0];
    }
    size_t i = 0;
    for (const weiri_step *step = group->first; step != NULL; step = step->next, i++) {
        weiri_block *block = &run_of(at->chain, step)->blocks[number];
        unsigned char *there = step->strip == WEIRI_STRIP_NONE ? at->call->out : strips[step->strip];
        weiri_work work = {.in = {here}, .out = there};
        run_step(at->chain, step, block, at->shares[i], &work, thread);
        here = there;
    }
    if (group->gathers) {
        scatter(&group->out, first, here, at->call->out, at->shares[i - 1].produce);
    }
}

/* A thread's share of the frames of a unit without memory; each thread has a block, for its counts. */
static void some_frames(void *user, int piece, int thread)
{
    const group_run *at = user;
    const weiri_step *step = at->group->first;
    size_t all = at->shares[0].consume, threads = (size_t)step->blocks;
    size_t from = all * (size_t)piece / threads, to = all * (size_t)(piece + 1) / threads;
    weiri_work work = {.out = at->call->out + from * step->frame_bytes};
    for (int k = 0; k < step->inputs; k++) {
        work.in[k] = at->call->in[k] + from * step->in_bytes[k];
    }
    run_step(at->chain, step, &run_of(at->chain, step)->blocks[piece], (share){to - from, to - from},
             &work, thread);
}

/* The counts of the threads' blocks go to the first. */
static void gather_counts(const weir_chain *chain, const weiri_step *step)
{
    weiri_step_run *run = run_of(chain, step);
    for (int b = 1; b < step->blocks; b++) {
        for (uint64_t c = 0; c < step->channels; c++) {
            run->blocks[0].missing[c] += run->blocks[b].missing[c];
            run->blocks[b].missing[c] = 0;
        }
        run->blocks[0].saturated += run->blocks[b].saturated;
        run->blocks[b].saturated = 0;
    }
}

/* Less is done by the caller before a worker has looked. */
#define LEAST_SHARED_BYTES 32768

static void do_pieces(group_run *at, weiri_pool_fn run, int count)
{
    weiri_pool *pool = at->chain->running->pool;
    size_t bytes = at->shares[0].consume * at->group->first->in_bytes[0];
    if (pool != NULL && count > 1 && bytes >= LEAST_SHARED_BYTES) {
        weiri_pool_run(pool, run, at, count);
        return;
    }
    for (int piece = 0; piece < count; piece++) {
        run(at, piece, 0);
    }
}

/* The steps' places move on; at the segment's end, which of them are done. Returns whether all are. */
static bool advance(weir_chain *chain, const weiri_group *group, const group_run *at)
{
    size_t i = 0;
    bool ended = at->call->ended && at->shares[0].consume == at->call->have;
    for (const weiri_step *step = group->first; step != NULL; step = step->next, i++) {
        weiri_step_run *run = run_of(chain, step);
        run->consumed += at->shares[i].consume;
        run->produced += at->shares[i].produce;
        run->ended = ended && run->produced >= weiri_due_at(&step->unit.due, run->consumed, true);
        ended = run->ended;
    }
    return ended;
}

static share share_same(const weiri_call *call)
{
    size_t frames = call->have < call->room ? call->have : call->room;
    return (share){frames, frames};
}

static void run_alone(group_run *at)
{
    const weiri_step *step = at->group->first;
    weiri_step_run *run = run_of(at->chain, step);
    at->shares[0] = at->group->same ? share_same(at->call) : share_alone(step, run, at->call);
    if (step->by_frame) {
        do_pieces(at, some_frames, step->blocks);
        gather_counts(at->chain, step);
    } else if (at->group->gathers) {
        do_pieces(at, one_block, at->group->blocks);
    } else {
        weiri_work work = {.out = at->call->out};
        for (int k = 0; k < step->inputs; k++) {
            work.in[k] = at->call->in[k];
        }
        run_step(at->chain, step, &run->blocks[0], at->shares[0], &work, 0);
    }
}

void weiri_group_call(weir_chain *chain, int number, weiri_call *call)
{
    const weiri_group *group = &chain->plan->groups[number];
    weiri_group_run *run = &chain->running->groups[number];
    group_run at;
    at.chain = chain;
    at.group = group;
    at.call = call;
    if (group->length == 1) {
        run_alone(&at);
    } else {
        share_in_row(chain, group, call, at.shares);
        do_pieces(&at, one_block, group->blocks);
    }
    run->ended = advance(chain, group, &at);
    call->consumed = at.shares[0].consume;
    call->produced = at.shares[group->length - 1].produce;
    if (!group->same && group->length == 1) {
        const weiri_step_run *step = run_of(chain, group->first);
        run->more =
            weiri_due_at(&group->first->unit.due, step->consumed, false) > step->produced;
    }
}

void weiri_step_reset(weir_chain *chain, int number, bool hold)
{
    const weiri_step *step = &chain->plan->steps[number];
    weiri_step_run *run = &chain->running->steps[number];
    run->consumed = run->produced = 0;
    run->ended = false;
    for (int b = 0; !hold && step->ops->reset != NULL && b < step->blocks; b++) {
        step->ops->reset(&run->blocks[b]);
    }
}
