/* SPDX-License-Identifier: MIT
 *
 * engine.c: tiles through groups. There is one rule: of all groups that can run (each input has frames, and the
 * edge after it has space), the first in post-order runs. Groups downstream come first in that order, so frames
 * are processed to the end before new ones enter, and an edge is empty when its group runs, unless a join
 * waits there for another branch. A unit whose output exceeds its edge simply runs again. Nothing
 * recurses, so a run can stop at any point (the caller's rows are full, a sink refuses) and continue later.
 *
 * Time (S3, S4) is kept here and nowhere else: units know neither rate nor index.
 */
#include <string.h>

#include "base/decimal.h"
#include "cache/default.h"
#include "chain/chain.h"

/* ---- edges --------------------------------------------------------------------------------------- */

static weiri_edge *edge_before(const weir_chain *chain, const weiri_group *group, int input)
{
    int parent = group->parents[input];
    return parent < 0 ? &chain->running->input : &chain->running->groups[parent].edge;
}

static bool ended_before(const weir_chain *chain, const weiri_group *group, int input)
{
    int parent = group->parents[input];
    return parent < 0 ? chain->running->ending : chain->running->groups[parent].ended;
}

/* Frames of an input that the group has not taken. */
static size_t frames_before(const weiri_edge *edge, const weiri_group_run *run, int input)
{
    uint64_t end = edge->first + edge->frames;
    return end > run->taken[input] ? (size_t)(end - run->taken[input]) : 0;
}

/* Where the frames go that a group outputs may be in use by the one that works in place there. */
static bool is_lent(const weir_chain *chain, int lends)
{
    return lends >= 0 && (chain->running->groups[lends].edge.frames > 0 ||
                          is_lent(chain, chain->plan->groups[lends].lends));
}

static size_t room_behind(const weir_chain *chain,
                          const weiri_group *group,
                          const weiri_group_run *run,
                          const weiri_delivery *delivery)
{
    if (delivery->rows != NULL && group->output >= 0) {
        return delivery->capacity - delivery->got;
    }
    if (run->undelivered > 0 || (group->lends >= 0 && is_lent(chain, group->lends))) {
        return 0;
    }
    if (group->in_place) {
        return run->edge.frames == 0 ? SIZE_MAX : 0;
    }
    return group->capacity - run->edge.frames;
}

/* Removes frames that no group after an edge still needs. Groups whose segment has ended need nothing. */
static void release(weir_chain *chain, int parent)
{
    const weiri_plan *plan = chain->plan;
    weiri_edge *edge = parent < 0 ? &chain->running->input : &chain->running->groups[parent].edge;
    size_t bytes = parent < 0 ? plan->input_bytes : plan->groups[parent].last->frame_bytes;
    uint64_t least = edge->first + edge->frames;
    for (int i = parent + 1; i < plan->group_count; i++) {
        const weiri_group_run *run = &chain->running->groups[i];
        for (int k = 0; k < plan->groups[i].inputs; k++) {
            if (plan->groups[i].parents[k] == parent && !run->ended && run->taken[k] < least) {
                least = run->taken[k];
            }
        }
    }
    size_t gone = least > edge->first ? (size_t)(least - edge->first) : 0;
    edge->first += gone;
    edge->frames -= gone;
    edge->data = edge->frames == 0 ? edge->base : edge->data + gone * bytes;
}

static void take(weir_chain *chain,
                 const weiri_group *group,
                 weiri_group_run *run,
                 int input,
                 weiri_edge *edge,
                 size_t frames)
{
    run->taken[input] += frames;
    if (frames == edge->frames && group->alone) {
        edge->first += frames; /* all frames, and no other group waits for them */
        edge->frames = 0;
        edge->data = edge->base;
    } else {
        release(chain, group->parents[input]);
    }
}

/* ---- what can run -------------------------------------------------------------------------------- */

/* Drops frames before the first common time of a join's inputs. */
static void skip_frames(weir_chain *chain, int number)
{
    const weiri_group *group = &chain->plan->groups[number];
    weiri_group_run *run = &chain->running->groups[number];
    for (int k = 0; k < group->inputs; k++) {
        uint64_t skip = group->first->skip[k];
        if (run->taken[k] < skip) {
            weiri_edge *edge = edge_before(chain, group, k);
            uint64_t frames = frames_before(edge, run, k), left = skip - run->taken[k];
            take(chain, group, run, k, edge, (size_t)(frames < left ? frames : left));
        }
    }
}

/* What a group would run with. */
typedef struct ready {
    size_t have, room;
    bool ended; /* no frames, and there will be none */
} ready;

/* The frames that all inputs of a join have. */
static void join_frames(weir_chain *chain, int number, ready *r)
{
    const weiri_group *group = &chain->plan->groups[number];
    const weiri_group_run *run = &chain->running->groups[number];
    skip_frames(chain, number);
    r->have = SIZE_MAX;
    for (int k = 0; k < group->inputs; k++) {
        size_t frames = frames_before(edge_before(chain, group, k), run, k);
        r->have = frames < r->have ? frames : r->have;
    }
    for (int k = 0; r->have == 0 && k < group->inputs; k++) {
        r->ended |= ended_before(chain, group, k) &&
                    frames_before(edge_before(chain, group, k), run, k) == 0;
    }
}

static bool can_run(weir_chain *chain, int number, const weiri_delivery *delivery, ready *r)
{
    const weiri_group *group = &chain->plan->groups[number];
    const weiri_group_run *run = &chain->running->groups[number];
    if (run->ended) {
        return false;
    }
    r->ended = false;
    if (group->joins) {
        join_frames(chain, number, r);
    } else {
        r->have = frames_before(edge_before(chain, group, 0), run, 0);
        r->ended = r->have == 0 && chain->running->ending && ended_before(chain, group, 0);
    }
    if (r->have == 0 && !run->more && !r->ended) {
        return false;
    }
    r->room = room_behind(chain, group, run, delivery);
    return r->room > 0;
}

/* The first in post-order, from place `at` on, that can run: its place, or group_count. */
static int next_to_run(weir_chain *chain, int at, const weiri_delivery *delivery, ready *ret_ready)
{
    const weiri_plan *plan = chain->plan;
    while (at < plan->group_count && !can_run(chain, plan->order[at], delivery, ret_ready)) {
        at++;
    }
    return at;
}

/* Place in the order from which to search after `group` has output something, when no earlier group could
 * run. An only child is right before it and the groups after that one are idle, so a push proceeds through the
 * chain without checking all groups for each step. */
static int place_below(const weiri_plan *plan, int group, int place)
{
    return plan->groups[group].children == 1 && !plan->groups[group].feeds_join ? place - 1 : 0;
}

/* ---- running one --------------------------------------------------------------------------------- */

weir_message weiri_chain_block(const weir_chain *chain,
                               const weiri_group *group,
                               const void *data,
                               size_t frames,
                               uint64_t index)
{
    return (weir_message){
        .spec = &group->last->out,
        .data = data,
        .frames = frames,
        .segment = chain->running->segment,
        .segment_start_ns = chain->running->segment_start_ns,
        .first_index = (int64_t)index,
        .output = group->output,
    };
}

/* Offers the last frames of an edge to the sink; what it refuses is offered again by the next call. */
static weir_err
deliver(weir_chain *chain, const weiri_group *group, weiri_group_run *run, weiri_delivery *delivery)
{
    size_t frames = run->undelivered, before = run->edge.frames - frames;
    weir_message block =
        weiri_chain_block(chain, group, run->edge.data + before * group->last->frame_bytes, frames,
                          run->edge.first + before);
    weir_err err = delivery->sink == NULL ? WEIR_OK : delivery->sink(delivery->user, &block);
    if (err == WEIR_OK) {
        run->undelivered = 0;
        chain->running->frames_out += frames;
    }
    return err;
}

/* Removes frames that were output and that no group needs. A join that has ended consumes nothing more. */
static void let_go(weir_chain *chain, int number)
{
    const weiri_group *group = &chain->plan->groups[number];
    weiri_edge *edge = &chain->running->groups[number].edge;
    if (group->children == 0) {
        edge->first += edge->frames;
        edge->frames = 0;
    } else if (group->feeds_join && edge->frames > 0) {
        release(chain, number);
    }
}

static void into_rows(weir_chain *chain, int number, weiri_delivery *delivery, size_t produced)
{
    const weiri_group_run *run = &chain->running->groups[number];
    if (produced > 0 && delivery->got == 0) {
        delivery->first = weiri_chain_block(chain, &chain->plan->groups[number], delivery->rows, 0,
                                            run->edge.first);
    }
    delivery->got += produced;
    delivery->first.frames = delivery->got;
    chain->running->frames_out += produced;
}

/* Memory for a group's next output. An edge in which frames wait is moved to the front of its memory. */
static unsigned char *place_behind(weir_chain *chain, int number, const weiri_call *call)
{
    const weiri_group *group = &chain->plan->groups[number];
    weiri_edge *edge = &chain->running->groups[number].edge;
    size_t bytes = group->last->frame_bytes;
    if (group->in_place) {
        edge->data = edge->base = (unsigned char *)(uintptr_t)call->in[0];
        return edge->base;
    }
    if (edge->frames > 0 && edge->data != edge->base) {
        memmove(edge->base, edge->data, edge->frames * bytes);
        edge->data = edge->base;
    }
    return edge->base + edge->frames * bytes;
}

static weir_err run_group(weir_chain *chain, int number, ready *r, weiri_delivery *delivery)
{
    const weiri_group *group = &chain->plan->groups[number];
    weiri_group_run *run = &chain->running->groups[number];
    weiri_call call;
    call.have = r->have < group->take ? r->have : group->take;
    call.ended = r->ended;
    call.room = r->room;
    for (int k = 0; k < group->inputs; k++) {
        const weiri_edge *edge = edge_before(chain, group, k);
        call.in[k] = edge->data + (run->taken[k] - edge->first) * group->first->in_bytes[k];
    }
    bool pulled = delivery->rows != NULL && group->output >= 0;
    call.out = pulled ? delivery->rows + delivery->got * group->last->frame_bytes
                      : place_behind(chain, number, &call);
    weiri_group_call(chain, group, run, &call);
    r->have -= call.consumed;
    for (int k = 0; k < group->inputs; k++) {
        take(chain, group, run, k, edge_before(chain, group, k), call.consumed);
    }
    weir_err err = group->finds ? weiri_chain_records_deliver(chain, number, delivery) : WEIR_OK;
    if (pulled) {
        into_rows(chain, number, delivery, call.produced);
        run->edge.first += call.produced;
        return err;
    }
    run->edge.frames += call.produced;
    if (group->output >= 0 && call.produced > 0) {
        run->undelivered = call.produced;
        err = err == WEIR_OK ? deliver(chain, group, run, delivery) : err;
    }
    if (run->undelivered == 0) {
        let_go(chain, number);
    }
    return err;
}

/* Frames that sinks refused before come first. */
static weir_err deliver_refused(weir_chain *chain, weiri_delivery *delivery)
{
    for (int i = 0; i < chain->plan->group_count; i++) {
        weiri_group_run *run = &chain->running->groups[i];
        weir_err err = chain->plan->groups[i].finds
                           ? weiri_chain_records_deliver(chain, i, delivery)
                           : WEIR_OK;
        if (err != WEIR_OK) {
            return err;
        }
        if (run->undelivered > 0) {
            err = deliver(chain, &chain->plan->groups[i], run, delivery);
            if (err != WEIR_OK) {
                return err;
            }
            let_go(chain, i);
        }
    }
    return WEIR_OK;
}

weir_err weiri_chain_drain(weir_chain *chain, weiri_delivery *delivery)
{
    weiri_running *running = chain->running;
    const weiri_plan *plan = chain->plan;
    weir_err err = running->pending ? deliver_refused(chain, delivery) : WEIR_OK;
    /* Where nothing was left, only the input can be taken. */
    int at = running->pending || running->ending ? 0 : plan->entry;
    running->pending = true;
    ready r = {0, 0, false};
    while (err == WEIR_OK && (delivery->rows == NULL || delivery->got < delivery->capacity)) {
        at = next_to_run(chain, at, delivery, &r);
        if (at == plan->group_count) {
            running->pending = false;
            break;
        }
        if (delivery->outside) {
            weiri_mode_enter();
            delivery->outside = false;
        }
        int number = plan->order[at];
        err = run_group(chain, number, &r, delivery);
        const weiri_group_run *run = &running->groups[number];
        if (running->ending) {
            at = 0;
        } else if (run->edge.frames > 0) {
            at = place_below(plan, number, at);
        } else if (!run->more && r.have == 0) {
            at++; /* nothing before it could run, and it has consumed all */
        }
    }
    return err;
}

/* ---- time ----------------------------------------------------------------------------------------- */

bool weiri_chain_breaks(const weir_chain *chain, const weir_message *message)
{
    const weiri_running *running = chain->running;
    if (!running->in_segment || message->segment != running->segment_in) {
        return true;
    }
    return message->first_index != WEIR_INDEX_NEXT && message->first_index != running->index_in;
}

/* Input frames of a step that no output came of, though they are not passed over on purpose. */
static uint64_t unfinished_now(const weiri_step *step, const weiri_step_run *run)
{
    weiri_due due = step->unit.due;
    if (weiri_due_is_same(&due) || (due.p == due.q && due.end != due.offset)) {
        return 0; /* a frame for each: at the segment's end all of them are out */
    }
    due.offset = due.end; /* bins that wait for frames after their last are not unfinished in the end */
    due.grain = 1;
    uint64_t done = run->produced == 0 ? 0 : weiri_due_inverse(&due, run->produced - 1) + 1;
    done += run->produced == 0 ? 0 : step->unit.skipped_frames;
    return run->consumed > done ? run->consumed - done : 0;
}

uint64_t weiri_chain_unfinished(const weir_chain *chain, int number)
{
    const weiri_step_run *run = &chain->running->steps[number];
    return run->unfinished + unfinished_now(&chain->plan->steps[number], run);
}

void weiri_chain_forget(weir_chain *chain, bool gap)
{
    weiri_running *running = chain->running;
    if (running->in_segment) {
        running->segment_end_ns =
            weiri_ns_sum(running->segment_start_ns,
                         weiri_frames_ns((int64_t)(running->input.first + running->input.frames),
                                         weiri_fraction_of(chain->plan->input.rate_hz)));
    }
    running->after_segment = gap && (running->after_segment || running->in_segment);
    for (int i = 0; i < chain->plan->step_count; i++) {
        const weiri_node *node = chain->plan->steps[i].node;
        running->steps[i].unfinished = weiri_chain_unfinished(chain, i);
        weiri_step_reset(chain, i, gap && node != NULL && node->holds);
    }
    for (int i = 0; i < chain->plan->group_count; i++) {
        weiri_group_run *run = &running->groups[i];
        weiri_edge edge = {.base = run->edge.base, .data = run->edge.base};
        *run = (weiri_group_run){.edge = edge};
    }
    running->input.frames = 0;
    running->input.first = 0;
    running->input.data = running->input.base;
    running->in_segment = running->ending = running->pending = false;
}

/* S4, S9: what looks ahead outputs what is due; the rest is dropped; then as for a first frame, unless the unit
 * holds over gaps. */
weir_err weiri_chain_end_segment(weir_chain *chain, weiri_delivery *delivery)
{
    weiri_running *running = chain->running;
    if (!running->in_segment) {
        return WEIR_OK;
    }
    if (chain->plan->flushes || running->pending) {
        running->ending = true;
        weir_err err = weiri_chain_drain(chain, delivery);
        if (err != WEIR_OK || running->pending) {
            return err;
        }
    }
    weiri_chain_forget(chain, true);
    return WEIR_OK;
}

/* Conversions for other heaps limit what those keep in this process (SEEDS B5, M8), at the first message: that a
 * limit could not be set is no reason to lose it. */
static void set_heap_limits(weir_chain *chain)
{
    for (int i = 0; i < chain->plan->step_count; i++) {
        const weiri_step *step = &chain->plan->steps[i];
        weir_heap *heap = NULL;
        uint64_t limit = 0;
        if (step->ops->heap_limit != NULL &&
            step->ops->heap_limit(step->node->settings, &heap, &limit) == WEIR_OK && heap != NULL &&
            weiri_cache_default_limit_of(heap, limit) != WEIR_OK) {
            weiri_log("%s: the cache's limit is not set: %s", step->name, weir_err_detail());
        }
    }
    chain->running->announced = true;
}

/* The program's code runs in its own mode, whichever of the two is set now (S6). */
void weiri_chain_tell(weir_chain *chain, weir_event event)
{
    if (chain->on_event == NULL) {
        return;
    }
    event.event_size = sizeof event;
    weiri_mode before = weiri_mode_enter();
    weiri_mode_leave(chain->running->callers_mode);
    chain->on_event(chain->event_user, &event);
    weiri_mode_enter();
    weiri_mode_leave(before);
}

void weiri_chain_feed(weir_chain *chain, const weir_message *message)
{
    weiri_running *running = chain->running;
    if (!running->announced) {
        set_heap_limits(chain);
    }
    if (!running->in_segment) {
        int64_t index = message->first_index == WEIR_INDEX_NEXT ? 0 : message->first_index;
        /* A segment is counted from its first frame here, wherever the input's count begins. */
        running->segment_start_ns =
            weiri_ns_sum(message->segment_start_ns,
                         weiri_frames_ns(index, weiri_fraction_of(chain->plan->input.rate_hz)));
        running->segment = running->segments++;
        running->segment_in = message->segment;
        running->index_in = index;
        running->in_segment = true;
        weir_event event = {
            .kind = WEIR_EVENT_SEGMENT,
            .segment = running->segment,
            .start_ns = running->segment_start_ns,
        };
        if (running->after_segment) {
            int64_t end = running->segment_end_ns;
            event.gap_ns = weiri_ns_sum(event.start_ns, end == INT64_MIN ? INT64_MAX : -end);
        }
        weiri_chain_tell(chain, event);
    }
}
