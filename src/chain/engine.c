/* SPDX-License-Identifier: MIT
 *
 * engine.c: tiles through stages. There is one rule: of all stages that have something to do, the first
 * in post-order runs. What follows a stage comes before it in that order, so its edge is always free when
 * its turn comes; a unit that yields more than its edge holds simply has its turn again. Nothing recurses,
 * so a run can be left at any point (pull: the caller's rows are full) and taken up again.
 *
 * Time (S3, S4) is kept here and nowhere else: units know neither rate nor index.
 */
#include "base/decimal.h"
#include "chain/chain.h"

#include <string.h>

/* ---- time ----------------------------------------------------------------------------------------- */

bool weiri_chain_breaks(const weir_chain *chain, const weir_message *message)
{
    if (!chain->in_segment) {
        return true;
    }
    if (message->segment != chain->segment_in) {
        return true;
    }
    return message->first_index != WEIR_INDEX_NEXT && message->first_index != chain->index_in;
}

/* All bands of a unit stand at the same frame. */
uint64_t weiri_chain_unfinished(const weir_chain *chain, const weiri_step *step)
{
    bool held = chain->buffer != NULL && step->ops->unfinished != NULL;
    return step->unfinished + (held ? step->ops->unfinished(&step->units[0]) : 0);
}

/* S4, S9: as for a first frame, unless the unit holds over gaps. A stage's head has no memory. */
static void reset_stage(weir_chain *chain, weiri_stage *stage, bool gap)
{
    for (weiri_step *step = stage->first; step != NULL; step = step->next) {
        if (gap && step->node != NULL && step->node->holds) {
            continue;
        }
        step->unfinished = weiri_chain_unfinished(chain, step);
        int instances = step->ops->reset == NULL ? 0 : step->instances;
        for (int band = 0; band < instances; band++) {
            step->ops->reset(&step->units[band]);
        }
    }
    stage->next_index = 0;
}

void weiri_chain_feed(weir_chain *chain, const weir_message *message)
{
    if (weiri_chain_breaks(chain, message)) {
        bool first = !chain->in_segment;
        for (int i = 0; !first && i < chain->stage_count; i++) {
            reset_stage(chain, &chain->stages[i], true);
        }
        int64_t index = message->first_index == WEIR_INDEX_NEXT ? 0 : message->first_index;
        /* A segment is counted from its first frame here, wherever the input's count begins. */
        chain->segment_start_ns =
            weiri_ns_sum(message->segment_start_ns,
                         weiri_frames_ns(index, weiri_fraction_of(chain->input.rate_hz)));
        chain->segment = chain->segments++;
        chain->segment_in = message->segment;
        chain->index_in = index;
        chain->in_segment = true;
    }
    chain->index_in += (int64_t)message->frames;
    chain->frames_in += message->frames;
}

/* ---- stages --------------------------------------------------------------------------------------- */

static weiri_edge *edge_before(weir_chain *chain, const weiri_stage *stage)
{
    return stage->parent < 0 ? &chain->input_edge : &chain->stages[stage->parent].edge;
}

static bool is_pending(weir_chain *chain, const weiri_stage *stage)
{
    return stage->more || stage->consumed < edge_before(chain, stage)->frames;
}

static int children_of(const weir_chain *chain, int stage)
{
    return stage < 0 ? chain->input_children : chain->stages[stage].children;
}

/* The first in post-order, from place `at` on, with something to do: its place, or stage_count. */
static int next_pending(weir_chain *chain, int at)
{
    while (at < chain->stage_count && !is_pending(chain, &chain->stages[chain->order[at]])) {
        at++;
    }
    return at;
}

/* From where to look when `stage`, at a place of the order where nothing before it was pending, has put
 * something out. An only child stands right before it, and what follows that one is idle: so a push goes
 * down the chain without looking at all of it for each step. */
static int place_below(const weir_chain *chain, int stage, int place)
{
    return children_of(chain, stage) == 1 ? place - 1 : 0;
}

/* An edge is free once all that follow it have taken all of it. */
static void release_edge(weir_chain *chain, weiri_stage *taker)
{
    int before = taker->parent;
    weiri_edge *edge = before < 0 ? &chain->input_edge : &chain->stages[before].edge;
    bool alone = children_of(chain, before) == 1;
    for (int i = 0; !alone && i < chain->stage_count; i++) {
        const weiri_stage *stage = &chain->stages[i];
        if (stage->parent == before && stage->consumed < edge->frames) {
            return;
        }
    }
    taker->consumed = 0;
    for (int i = 0; !alone && i < chain->stage_count; i++) {
        if (chain->stages[i].parent == before) {
            chain->stages[i].consumed = 0;
        }
    }
    edge->frames = 0;
    weiri_edge_close(chain, edge);
}

static weir_message block_of(const weir_chain *chain,
                             const weiri_stage *stage,
                             const void *data,
                             size_t frames,
                             int64_t index)
{
    return (weir_message){
        .spec = &stage->last->spec,
        .data = data,
        .frames = frames,
        .segment = chain->segment,
        .segment_start_ns = chain->segment_start_ns,
        .first_index = index,
        .output = stage->output,
    };
}

static weir_err hand_out(weir_chain *chain, weiri_stage *stage, weiri_delivery *delivery)
{
    weir_message block =
        block_of(chain, stage, stage->edge.data, stage->edge.frames, stage->edge.index);
    chain->frames_out += block.frames;
    if (delivery->sink == NULL) {
        return WEIR_OK;
    }
    return delivery->sink(delivery->user, &block);
}

/* Pull: the last stage writes into the caller's rows. */
static void run_into_rows(weir_chain *chain,
                          weiri_stage *stage,
                          const weiri_tile *in,
                          size_t *ret_consumed,
                          size_t *ret_produced,
                          weiri_delivery *delivery)
{
    weiri_tile out = {delivery->rows + delivery->got * stage->edge.frame_bytes,
                      delivery->capacity - delivery->got};
    size_t room = out.frames;
    weiri_stage_process(chain, stage, in, ret_consumed, &out, ret_produced);
    if (*ret_produced > 0) {
        if (delivery->got == 0) {
            delivery->first = block_of(chain, stage, delivery->rows, 0, stage->next_index);
        }
        delivery->got += *ret_produced;
        delivery->first.frames = delivery->got;
        chain->frames_out += *ret_produced;
    }
    stage->more = *ret_produced == room && *ret_produced > 0 && *ret_consumed == in->frames;
}

static weir_err run_into_edge(weir_chain *chain,
                              weiri_stage *stage,
                              const weiri_tile *in,
                              size_t *ret_consumed,
                              size_t *ret_produced)
{
    weiri_edge *edge = &stage->edge;
    size_t room = edge->capacity;
    bool whole = weiri_chain_is_whole(chain);
    if (whole) {
        weir_err err = weiri_edge_open(chain, stage, in->frames, &room);
        if (err != WEIR_OK) {
            return err;
        }
    } else if (edge->in_place) {
        edge->data = in->data;
    }
    weiri_tile out = {edge->data, room};
    weiri_stage_process(chain, stage, in, ret_consumed, &out, ret_produced);
    edge->frames = *ret_produced;
    edge->index = stage->next_index;
    if (edge->frames > edge->frames_max) {
        edge->frames_max = edge->frames;
        if (!edge->in_place && !whole) {
            stage->edge_part->used_bytes = (edge->frames_max * edge->frame_bytes + 63) / 64 * 64;
        }
    }
    stage->more = *ret_produced == room && *ret_consumed == in->frames &&
                  weiri_stage_is_plain(stage) &&
                  (stage->last->ops->info.flags & WEIR_UNIT_CHANGES_RATE) != 0;
    return WEIR_OK;
}

static weir_err run_stage(weir_chain *chain, weiri_stage *stage, weiri_delivery *delivery)
{
    weiri_edge *before = edge_before(chain, stage);
    /* What is still to come of frames that are gone already: there is nothing to look at. */
    unsigned char *from = before->data != NULL ? before->data : chain->buffer->memory;
    weiri_tile in = {from + stage->consumed * before->frame_bytes,
                     before->frames - stage->consumed};
    size_t consumed = 0, produced = 0;
    bool pulled = delivery->rows != NULL && stage->output >= 0;
    if (pulled) {
        run_into_rows(chain, stage, &in, &consumed, &produced, delivery);
    } else {
        weir_err err = run_into_edge(chain, stage, &in, &consumed, &produced);
        if (err != WEIR_OK) {
            return err;
        }
    }
    if (consumed > in.frames || (consumed == 0 && produced == 0 && in.frames > 0)) {
        return weiri_fail(WEIR_E_INTERNAL, "%s took %zu of %zu frames and put out none",
                          stage->last->ops->info.name, consumed, in.frames);
    }
    stage->consumed += consumed;
    stage->next_index += (int64_t)produced;
    weir_err err = WEIR_OK;
    if (!pulled && produced > 0 && stage->output >= 0) {
        err = hand_out(chain, stage, delivery);
    }
    if (stage->children == 0) {
        stage->edge.frames = 0;
    }
    if (stage->edge.frames == 0) {
        weiri_edge_close(chain, &stage->edge);
    }
    if (stage->consumed >= before->frames) {
        release_edge(chain, stage);
    }
    return err;
}

weir_err weiri_chain_drain(weir_chain *chain, weiri_delivery *delivery)
{
    /* Pushes drain to the end, so that only the input is pending; a pull may have left anything. */
    int at = delivery->rows == NULL ? place_below(chain, -1, chain->stage_count) : 0;
    while (delivery->rows == NULL || delivery->got < delivery->capacity) {
        at = next_pending(chain, at);
        if (at == chain->stage_count) {
            break;
        }
        if (delivery->outside) {
            weiri_mode_enter();
            delivery->outside = false;
        }
        int number = chain->order[at];
        weir_err err = run_stage(chain, &chain->stages[number], delivery);
        if (err != WEIR_OK) {
            return err;
        }
        if (chain->stages[number].edge.frames > 0) {
            at = place_below(chain, number, at);
        }
    }
    return WEIR_OK;
}

/* ---- push ----------------------------------------------------------------------------------------- */

/* A sink of the user's runs in the user's arithmetic mode (S6). Behind it that mode stays until something
 * runs again: for most pushes nothing does, and each switch costs 10 ns. */
typedef struct outside {
    weir_sink_fn sink;
    void *user;
    weiri_mode mode;
    weiri_delivery *delivery;
} outside;

static weir_err call_outside(void *user, const weir_message *block)
{
    outside *to = user;
    if (!to->delivery->outside) {
        weiri_mode_leave(to->mode);
        to->delivery->outside = true;
    }
    return to->sink(to->user, block);
}

static weir_err check_message(const weir_chain *chain, const weir_message *message)
{
    const weir_spec *spec = message->spec;
    if (spec != NULL && (spec->dtype != chain->input.dtype ||
                         weir_spec_frame_bytes(spec) != chain->input_edge.frame_bytes ||
                         spec->rate_hz != chain->input.rate_hz)) {
        return weiri_fail(WEIR_E_USAGE, "the message's spec is not the one that was planned for");
    }
    if (message->data == NULL && message->frames > 0) {
        return weiri_fail(WEIR_E_USAGE, "the message has %zu frames and no data", message->frames);
    }
    if (weiri_chain_is_whole(chain) && message->frames > chain->plan.tile_frames) {
        return weiri_fail(WEIR_E_USAGE, "a message of %zu frames; the longest was stated as %llu",
                          message->frames, (unsigned long long)chain->plan.tile_frames);
    }
    return WEIR_OK;
}

/* So many frames lie behind this tile: of those that the next will have, what may lie in L2 beside it. */
static void look_ahead(weir_chain *chain, size_t frames)
{
    const weiri_edge *edge = &chain->input_edge;
    size_t bytes = (frames < edge->capacity ? frames : edge->capacity) * edge->frame_bytes;
    const unsigned char *next = bytes == 0 ? NULL : edge->data + edge->frames * edge->frame_bytes;
    weiri_ahead_set(&chain->ahead, next, bytes < chain->ahead_most ? bytes : chain->ahead_most);
}

weir_err
weir_chain_push(weir_chain *chain, const weir_message *message, weir_sink_fn sink, void *user)
{
    weir_err err = WEIR_OK;
    if (chain->buffer == NULL) {
        err = chain->source != NULL
                  ? weiri_fail(WEIR_E_USAGE, "the chain is planned for a source, not for pushes")
                  : weiri_chain_start(chain);
    }
    if (err == WEIR_OK) {
        err = check_message(chain, message);
    }
    if (err != WEIR_OK || message->frames == 0) {
        return err; /* an empty message starts nothing: it has no frame that could (S1) */
    }
    outside to = {.sink = sink, .user = user, .mode = weiri_mode_enter()};
    weiri_delivery delivery = {.sink = sink == NULL ? NULL : call_outside, .user = &to};
    to.delivery = &delivery;
    weiri_chain_feed(chain, message);
    const size_t tile = chain->input_edge.capacity;
    for (size_t at = 0; err == WEIR_OK && at < message->frames; at += tile) {
        /* S7: the tile is a view into what was lent; the edge forgets it before we return. */
        chain->input_edge.data =
            (unsigned char *)(uintptr_t)message->data + at * chain->input_edge.frame_bytes;
        chain->input_edge.frames = message->frames - at < tile ? message->frames - at : tile;
        look_ahead(chain, message->frames - at - chain->input_edge.frames);
        err = weiri_chain_drain(chain, &delivery);
    }
    chain->input_edge.data = NULL;
    look_ahead(chain, 0);
    if (err != WEIR_OK) {
        weir_chain_reset(chain); /* what was under way belongs to a message that is gone */
    }
    if (!delivery.outside) {
        weiri_mode_leave(to.mode);
    }
    return err;
}

/* ---- pull ----------------------------------------------------------------------------------------- */

weir_err
weiri_chain_read(weir_chain *chain, size_t frames, weiri_mode mode, weir_message *ret_message)
{
    weir_message message = {.segment = chain->segment_in, .first_index = WEIR_INDEX_NEXT};
    weiri_mode_leave(mode);
    weir_err err =
        chain->source->ops->read(chain->source, chain->input_edge.data, frames, &message);
    weiri_mode_enter();
    if (err == WEIR_OK && message.frames > frames) {
        return weiri_fail(WEIR_E_INTERNAL, "source %s put %zu frames into room for %zu",
                          chain->source->ops->name, message.frames, frames);
    }
    if (err == WEIR_OK) {
        *ret_message = message;
    }
    return err;
}

void weiri_chain_take(weir_chain *chain, const weir_message *message)
{
    weiri_chain_feed(chain, message);
    chain->input_edge.frames = message->frames;
    chain->holding = false;
    if (message->frames > chain->input_edge.frames_max) {
        chain->input_edge.frames_max = message->frames;
        chain->tile_part->used_bytes =
            (message->frames * chain->input_edge.frame_bytes + 63) / 64 * 64;
    }
}

static weir_err pull_rows(weir_chain *chain, weiri_delivery *delivery, weiri_mode mode)
{
    for (;;) {
        weir_err err = weiri_chain_drain(chain, delivery);
        if (err != WEIR_OK || delivery->got == delivery->capacity || chain->ended) {
            return err;
        }
        if (!chain->holding) {
            err = weiri_chain_read(chain, chain->input_edge.capacity, mode, &chain->held);
            if (err != WEIR_OK) {
                return err;
            }
            chain->ended = chain->held.frames == 0;
            if (chain->ended) {
                return WEIR_OK;
            }
            chain->holding = true;
        }
        if (delivery->got > 0 && weiri_chain_breaks(chain, &chain->held)) {
            return WEIR_OK; /* a block never spans two segments */
        }
        weiri_chain_take(chain, &chain->held);
    }
}

weir_err weir_chain_pull(weir_chain *chain, void *rows, size_t capacity, weir_message *ret_block)
{
    if (chain->source == NULL || chain->exit_count != 1) {
        return weiri_fail(WEIR_E_USAGE,
                          "pull needs a chain that is planned for a source and has one output");
    }
    if (rows == NULL || capacity == 0) {
        return weiri_fail(WEIR_E_USAGE, "pull needs room for one frame at least");
    }
    weir_err err = chain->buffer == NULL ? weiri_chain_start(chain) : WEIR_OK;
    if (err != WEIR_OK) {
        return err;
    }
    weiri_mode mode = weiri_mode_enter();
    weiri_delivery delivery = {.rows = rows, .capacity = capacity};
    err = pull_rows(chain, &delivery, mode);
    weiri_mode_leave(mode);
    if (err != WEIR_OK) {
        return err;
    }
    if (delivery.got == 0) {
        delivery.first =
            block_of(chain, &chain->stages[chain->steps[chain->exits[0].step].stage], rows, 0, 0);
    }
    *ret_block = delivery.first;
    return WEIR_OK;
}

/* ---- reset, reports ------------------------------------------------------------------------------- */

void weir_chain_reset(weir_chain *chain)
{
    if (chain->buffer == NULL) {
        return;
    }
    for (int i = 0; i < chain->stage_count; i++) {
        weiri_stage *stage = &chain->stages[i];
        reset_stage(chain, stage, false);
        stage->edge.frames = 0;
        weiri_edge_close(chain, &stage->edge);
        stage->consumed = 0;
        stage->more = false;
    }
    chain->input_edge.frames = 0;
    chain->in_segment = false;
    chain->holding = false;
}

size_t weir_chain_node_count(const weir_chain *chain)
{
    return (size_t)chain->node_count;
}

weir_unit_report weir_chain_node_report(const weir_chain *chain, size_t number)
{
    const weiri_node *node = chain->nodes;
    for (size_t i = 0; node != NULL && i < number; i++) {
        node = node->next;
    }
    if (node == NULL) {
        return (weir_unit_report){.name = ""};
    }
    weir_unit_report report = {.name = node->ops->info.name};
    if (chain->buffer != NULL) {
        const weiri_step *step = &chain->steps[node->step];
        report.missing = step->units[0].missing;
        report.channels = step->channels;
        for (uint64_t i = 0; i < report.channels; i++) {
            report.missing_total += report.missing[i];
        }
        int instances = step->instances;
        for (int band = 0; band < instances; band++) {
            report.saturated += step->units[band].saturated;
        }
        report.unfinished_frames = weiri_chain_unfinished(chain, step);
    }
    return report;
}
