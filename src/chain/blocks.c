/* SPDX-License-Identifier: MIT
 *
 * blocks.c: one call of a group. First how many frames each of its steps consumes and produces, by counts alone
 * (due.h); then the steps run, block by block. For a group of one block and one step this only calls the unit's run.
 * Otherwise each block's channels are copied into a scratch buffer, or read where they are if the first unit can,
 * processed by all steps from buffer to buffer, and the result is copied to its place in the edge, or written there
 * if the last unit can. Blocks are independent, so the bits are those of the whole width (S1).
 */
#include <string.h>

#include "chain/chain.h"

/* ---- how many frames ----------------------------------------------------------------------------- */

/* Of one step in one call. */
typedef struct share {
    const weiri_step *step;
    weiri_step_run *run;
    size_t consume, produce;
    bool ended; /* it outputs what is left at the segment's end */
} share;

static weiri_step_run *run_of(const weir_chain *chain, const weiri_step *step)
{
    return &chain->running->steps[step->number];
}

/* Most of `have` frames whose output fits into `room` frames; one always does. */
static size_t frames_that_fit(const share *s, size_t have, size_t room)
{
    uint64_t most = weiri_due_inverse(&s->step->unit.due, s->run->produced + room);
    most = most < s->run->consumed ? 0 : most - s->run->consumed;
    most = most < 1 ? 1 : most;
    return most < have ? (size_t)most : have;
}

/* What a step may produce, once it has consumed its share. */
static uint64_t due_of(const share *s)
{
    if (s->step->same) {
        return s->consume;
    }
    uint64_t due = weiri_due_at(&s->step->unit.due, s->run->consumed + s->consume, s->ended);
    return due > s->run->produced ? due - s->run->produced : 0;
}

/* A step alone: output due from frames already consumed comes first; one input frame may produce more than
 * `room` frames. */
static void share_alone(share *s, const weiri_call *call)
{
    s->consume = 0;
    s->ended = false;
    uint64_t produce = s->step->same ? 0 : due_of(s);
    if (produce == 0) {
        s->consume = s->step->same ? (call->have < call->room ? call->have : call->room)
                                   : frames_that_fit(s, call->have, call->room);
        s->ended = call->ended;
        produce = due_of(s);
    }
    s->produce = produce < call->room ? (size_t)produce : call->room;
}

/* How many frames each step may produce, from the last one's output space backwards. Returns how many the first one may
 * consume. */
static size_t rooms_in_row(const share *shares, int count, size_t room, size_t *ret_rooms)
{
    for (int i = count - 1; i >= 0; i--) {
        size_t most = i == count - 1 ? room : shares[i].step->strip_frames;
        ret_rooms[i] = room < most ? room : most;
        room = frames_that_fit(&shares[i], SIZE_MAX, ret_rooms[i]);
    }
    return room;
}

/* Steps in a row: what one produces the next consumes at once. So each may produce only what fits into the next
 * one's output; no step outputs more frames than it consumes, so one always fits. At the segment's end one
 * step after the other outputs what is left. Returns how many steps have something to do. */
static int share_in_row(const weiri_group *group, const weiri_call *call, share *shares)
{
    size_t rooms[WEIRI_GROUP_STEPS], have = call->have;
    bool plenty = !call->ended && call->room >= group->last->strip_frames; /* all of one call */
    if (!plenty) {
        size_t room = rooms_in_row(shares, group->length, call->room, rooms);
        have = have < room ? have : room;
    }
    bool ended = call->ended;
    for (int i = 0; i < group->length; i++) {
        share *s = &shares[i];
        if (have == 0 && !ended) {
            return i;
        }
        s->consume = have;
        s->ended = ended && have == 0;
        uint64_t produce = due_of(s);
        s->produce = plenty || produce < rooms[i] ? (size_t)produce : rooms[i];
        ended = s->ended && s->produce == produce;
        have = s->produce;
    }
    return group->length;
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
    int steps; /* that have something to do */
    share shares[WEIRI_GROUP_STEPS];
} group_run;

static unsigned char *scratch_of(const weir_chain *chain, int thread)
{
    return weiri_chain_memory(chain, chain->plan->work_at) +
           (uint64_t)thread * chain->plan->work_bytes;
}

/* Whether this is the last call of a segment, in which a unit with records adds those that are left. */
static bool is_told(const share *s)
{
    return s->ended && s->consume == 0 && s->produce == 0 && s->step->unit.record_frames > 0 &&
           !s->run->told;
}

static void run_step(const weir_chain *chain,
                     const share *s,
                     weiri_block *block,
                     weiri_work *work,
                     unsigned char *scratch)
{
    if (s->consume == 0 && s->produce == 0 && !is_told(s)) {
        return;
    }
    work->consumed = s->run->consumed;
    work->produced = s->run->produced;
    work->consume = s->consume;
    work->produce = s->produce;
    work->ended = s->ended;
    work->scratch = scratch + chain->plan->scratch_at;
    s->step->ops->run(block, work);
}

/* All steps of the group for one block. */
static void one_block(void *user, int number, int thread)
{
    const group_run *at = user;
    const weiri_group *group = at->group;
    unsigned char *scratch = scratch_of(at->chain, thread);
    unsigned char *strips[2] = {scratch, scratch + at->chain->plan->strip1_at};
    const weiri_block *first = &at->shares[0].run->blocks[number];
    weiri_work work;
    work.in[0] = at->call->in[0] + (size_t)first->first_channel * group->in.channel_bytes;
    work.in_stride = group->in_stride;
    work.out_stride = 0;
    if (group->gathers) {
        gather(&group->in, first, at->call->in[0], strips[0], at->shares[0].consume);
        work.in[0] = strips[0];
    }
    for (int i = 0; i < at->steps; i++) {
        const share *s = &at->shares[i];
        int strip = s->step->strip;
        if (strip != WEIRI_STRIP_NONE) {
            work.out = strips[strip];
        } else {
            work.out = at->call->out + (size_t)first->first_channel * group->out.channel_bytes;
            work.out_stride = group->out_stride;
        }
        run_step(at->chain, s, &s->run->blocks[number], &work, scratch);
        work.in[0] = work.out;
        work.in_stride = 0;
    }
    if (group->scatters && at->steps == group->length) {
        scatter(&group->out, first, work.out, at->call->out, at->shares[at->steps - 1].produce);
    }
}

/* A thread's share of the frames of a stateless step; each thread has a block of its own, for its counts. */
static void some_frames(void *user, int piece, int thread)
{
    const group_run *at = user;
    share s = at->shares[0];
    size_t all = s.consume, threads = (size_t)s.step->blocks;
    size_t from = all * (size_t)piece / threads, to = all * (size_t)(piece + 1) / threads;
    weiri_work work = {.out = at->call->out + from * s.step->frame_bytes};
    for (int k = 0; k < s.step->inputs; k++) {
        work.in[k] = at->call->in[k] + from * s.step->in_bytes[k];
    }
    s.consume = s.produce = to - from;
    run_step(at->chain, &s, &s.run->blocks[piece], &work, scratch_of(at->chain, thread));
}

/* Less is done by the caller before a worker has looked. */
#define LEAST_SHARED_BYTES 32768

static void do_pieces(group_run *at, weiri_pool_fn run, int count)
{
    weiri_pool *pool = at->chain->running->pool;
    size_t bytes = at->shares[0].consume * at->group->in.frame_bytes;
    if (pool != NULL && count > 1 && bytes >= LEAST_SHARED_BYTES) {
        weiri_pool_run(pool, run, at, count, bytes);
        return;
    }
    for (int piece = 0; piece < count; piece++) {
        run(at, piece, 0);
    }
}

/* The steps' places move on; at the segment's end, which of them are done. Returns whether all are. */
static bool advance(const group_run *at)
{
    bool ended = at->call->ended && at->steps == at->group->length;
    for (int i = 0; i < at->steps; i++) {
        const share *s = &at->shares[i];
        s->run->told = s->run->told || is_told(s);
        s->run->consumed += s->consume;
        s->run->produced += s->produce;
        ended = ended && (s->run->told || s->step->unit.record_frames == 0);
        ended =
            ended && s->run->produced >= weiri_due_at(&s->step->unit.due, s->run->consumed, true);
    }
    return ended;
}

static void run_alone(group_run *at)
{
    const share *s = &at->shares[0];
    share_alone(&at->shares[0], at->call);
    if (s->step->by_frame) {
        do_pieces(at, some_frames, s->step->blocks);
    } else if (at->group->blocks > 1) {
        do_pieces(at, one_block, at->group->blocks);
    } else {
        weiri_work work;
        work.in_stride = work.out_stride = 0;
        work.out = at->call->out;
        for (int k = 0; k < s->step->inputs; k++) {
            work.in[k] = at->call->in[k];
        }
        run_step(at->chain, s, &s->run->blocks[0], &work, scratch_of(at->chain, 0));
    }
}

/* One step that is one for one, over all channels: nothing has to be counted or divided. */
static void
run_plain(weir_chain *chain, const weiri_group *group, weiri_group_run *run, weiri_call *call)
{
    const weiri_step *step = group->first;
    weiri_step_run *step_run = run_of(chain, step);
    size_t frames = call->have < call->room ? call->have : call->room;
    call->consumed = call->produced = frames;
    run->ended = call->ended;
    if (frames > 0) {
        weiri_work work;
        work.consumed = work.produced = step_run->consumed;
        work.consume = work.produce = frames;
        work.ended = false;
        work.in_stride = work.out_stride = 0;
        work.in[0] = call->in[0];
        for (int k = 1; k < step->inputs; k++) {
            work.in[k] = call->in[k];
        }
        work.out = call->out;
        work.scratch = weiri_chain_memory(chain, chain->plan->work_at + chain->plan->scratch_at);
        step->ops->run(&step_run->blocks[0], &work);
        step_run->consumed += frames;
        step_run->produced += frames;
    }
}

/* Any group. A function of its own: a plain one has no need of its stack frame. */
static __attribute__((noinline)) void
run_steps(weir_chain *chain, const weiri_group *group, weiri_group_run *run, weiri_call *call)
{
    if (group->blocks > 1 && call->room > group->last->strip_frames) {
        call->room = group->last->strip_frames; /* it is made in a scratch buffer: rows may hold more */
    }
    group_run at;
    at.chain = chain;
    at.group = group;
    at.call = call;
    int count = 0;
    for (const weiri_step *step = group->first; step != NULL; step = step->next, count++) {
        at.shares[count].step = step;
        at.shares[count].run = run_of(chain, step);
    }
    at.steps = 1;
    if (count == 1) {
        run_alone(&at);
    } else {
        at.steps = share_in_row(group, call, at.shares);
        do_pieces(&at, one_block, group->blocks);
    }
    run->ended = advance(&at);
    call->consumed = at.shares[0].consume;
    call->produced = at.steps == count ? at.shares[count - 1].produce : 0;
    if (count == 1 && !group->same) {
        at.shares[0].consume = 0;
        at.shares[0].ended = false;
        run->more = due_of(&at.shares[0]) > 0;
    }
}

void weiri_group_call(weir_chain *chain,
                      const weiri_group *group,
                      weiri_group_run *run,
                      weiri_call *call)
{
    if (group->plain) {
        run_plain(chain, group, run, call);
    } else {
        run_steps(chain, group, run, call);
    }
}

void weiri_step_gather_counts(const weir_chain *chain, int number)
{
    const weiri_step *step = &chain->plan->steps[number];
    weiri_block *blocks = chain->running->steps[number].blocks;
    for (int b = 1; step->by_frame && b < step->blocks; b++) {
        for (uint64_t c = 0; c < step->channels; c++) {
            blocks[0].missing[c] += blocks[b].missing[c];
            blocks[b].missing[c] = 0;
        }
        blocks[0].saturated += blocks[b].saturated;
        blocks[b].saturated = 0;
    }
}

void weiri_step_reset(weir_chain *chain, int number, bool hold)
{
    const weiri_step *step = &chain->plan->steps[number];
    weiri_step_run *run = &chain->running->steps[number];
    run->consumed = run->produced = 0;
    run->told = false;
    for (int b = 0; !hold && step->ops->reset != NULL && b < step->blocks; b++) {
        step->ops->reset(&run->blocks[b]);
    }
}
