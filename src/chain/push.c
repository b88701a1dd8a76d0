/* SPDX-License-Identifier: MIT
 *
 * push.c: the calls on a planned chain: push, pull, finish, reset, reports. Each call that runs
 * units enters the mode of S6 and leaves it before it returns and around callbacks.
 */
#include <string.h>

#include "chain/chain.h"

/* Checks made first by every call that runs units. */
weir_err weiri_chain_enter(weir_chain *chain, const char *call, bool with_source)
{
    if (chain == NULL) {
        return weiri_fail(WEIR_E_USAGE, "%s: the chain is NULL", call);
    }
    if (chain->plan == NULL) {
        return weiri_fail(WEIR_E_USAGE, "%s: the chain has no plan yet", call);
    }
    if (chain->running->busy) {
        return weiri_fail(WEIR_E_USAGE,
                          "%s: called while the chain runs, from its own sink or source; do this "
                          "after that call has returned",
                          call);
    }
    if ((chain->plan->source != NULL) != with_source) {
        return weiri_fail(WEIR_E_USAGE, "%s: the chain is planned for %s", call,
                          with_source ? "pushes, not for a source" : "a source, not for pushes");
    }
    if (chain->running->start_failed) {
        return weiri_fail(WEIR_E_USAGE,
                          "%s: a file of the chain could not be started; plan it anew", call);
    }
    return chain->running->buffer == NULL ? weiri_chain_start(chain) : WEIR_OK;
}

/* ---- push ----------------------------------------------------------------------------------------- */

/* A sink of the user's runs in the user's arithmetic mode (S6). After it that mode stays until a unit runs
 * again: for most pushes none does, and each switch costs 10 ns. */
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

static bool same_shape(const weir_spec *a, const weir_spec *b)
{
    bool same = a->dim_count == b->dim_count && a->dtype == b->dtype && a->rate_hz == b->rate_hz;
    for (uint32_t i = 1; same && i < a->dim_count; i++) {
        const char *name = a->dims[i].name;
        same = a->dims[i].size == b->dims[i].size && name != NULL &&
               (name == b->dims[i].name || strcmp(name, b->dims[i].name) == 0);
    }
    return same;
}

weir_err weiri_chain_check_count(int64_t index, size_t frames)
{
    if (frames > INT64_MAX || index > INT64_MAX - (int64_t)frames) {
        return weiri_fail(WEIR_E_USAGE,
                          "%zu frames from frame %lld on: frames are counted to 2^63 - 1", frames,
                          (long long)index);
    }
    return WEIR_OK;
}

static weir_err check_message(const weir_chain *chain, const weir_message *message)
{
    if (message == NULL) {
        return weiri_fail(WEIR_E_USAGE, "the message is NULL");
    }
    if (message->spec != NULL && message->spec != &chain->plan->input &&
        !same_shape(message->spec, &chain->plan->input)) {
        return weiri_fail(WEIR_E_USAGE,
                          "the message's spec (dtype, dimensions, rate) is not the one that "
                          "was planned for");
    }
    if (message->data == NULL && message->frames > 0) {
        return weiri_fail(WEIR_E_USAGE, "the message has %zu frames and no data", message->frames);
    }
    return WEIR_OK;
}

/* Checks the message's first index and time: times are 64 bits of ns (292 years), frame counts 63 bits; larger
 * values would overflow. */
static weir_err check_place(const weir_chain *chain, const weir_message *message)
{
    int64_t index = message->first_index == WEIR_INDEX_NEXT ? 0 : message->first_index;
    weir_err err = weiri_chain_check_count(index, message->frames);
    if (err != WEIR_OK) {
        return err;
    }
    int64_t shift = weiri_frames_ns(index, weiri_fraction_of(chain->plan->input.rate_hz));
    int64_t start = weiri_ns_sum(message->segment_start_ns, shift);
    if (start == INT64_MAX || start == INT64_MIN || shift == INT64_MAX || shift == -INT64_MAX) {
        return weiri_fail(WEIR_E_USAGE,
                          "the message's first frame, %lld after %lld ns at %g Hz, is not within "
                          "292 years of the origin",
                          (long long)index, (long long)message->segment_start_ns,
                          chain->plan->input.rate_hz);
    }
    return WEIR_OK;
}

/* States what to prefetch: of the `frames` frames after this tile those of the next one, as far as L2 allows. */
static void look_ahead(weir_chain *chain, const unsigned char *next, size_t frames)
{
    weiri_running *running = chain->running;
    size_t tile = (size_t)chain->plan->shown.tile_frames;
    size_t bytes = (frames < tile ? frames : tile) * chain->plan->input_bytes;
    weiri_ahead_set(&running->ahead, bytes == 0 ? NULL : next,
                    bytes < running->ahead_most ? bytes : running->ahead_most);
}

/* Tile by tile. What groups have not taken of a tile when the call ends early is the caller's again. */
static weir_err push_tiles(weir_chain *chain, const weir_message *message, weiri_delivery *delivery)
{
    weiri_running *running = chain->running;
    const size_t tile = (size_t)chain->plan->shown.tile_frames, bytes = chain->plan->input_bytes;
    weiri_edge *input = &running->input;
    weir_err err = WEIR_OK;
    for (size_t at = 0; err == WEIR_OK && at < message->frames && input->frames == 0;) {
        /* S7: the tile points into borrowed memory; the edge drops it before we return. */
        size_t frames = message->frames - at < tile ? message->frames - at : tile;
        input->data = (unsigned char *)(uintptr_t)message->data + at * bytes;
        input->frames = frames;
        if (message->frames > tile) {
            look_ahead(chain, input->data + frames * bytes, message->frames - at - frames);
        }
        err = weiri_chain_drain(chain, delivery);
        at += frames - input->frames;
        running->consumed = at;
    }
    running->index_in += (int64_t)running->consumed;
    running->frames_in += running->consumed;
    input->frames = 0;
    input->data = NULL;
    if (message->frames > tile) {
        look_ahead(chain, NULL, 0);
    }
    return err;
}

static weir_err push_to(weir_chain *chain, const weir_message *message, weiri_delivery *delivery)
{
    weiri_running *running = chain->running;
    running->consumed = 0;
    if (message->frames == 0) { /* it starts nothing: it has no frame that could (S1) */
        return running->pending ? weiri_chain_drain(chain, delivery) : WEIR_OK;
    }
    bool breaks = weiri_chain_breaks(chain, message);
    weir_err err = breaks ? check_place(chain, message)
                          : weiri_chain_check_count(running->index_in, message->frames);
    if (err == WEIR_OK && breaks) {
        err = weiri_chain_end_segment(chain, delivery);
        if (err != WEIR_OK || running->in_segment || delivery->got > 0) {
            return err;
        }
        weiri_chain_feed(chain, message);
    }
    return err == WEIR_OK ? push_tiles(chain, message, delivery) : err;
}

/* With the sink in the caller's mode; `finish`: no message, the segment's end. */
static weir_err
with_sink(weir_chain *chain, const weir_message *message, weir_sink_fn sink, void *user)
{
    outside to = {.sink = sink, .user = user, .mode = weiri_mode_enter()};
    weiri_delivery delivery;
    to.delivery = &delivery;
    chain->running->callers_mode = to.mode;
    delivery.sink = sink == NULL ? NULL : call_outside;
    delivery.user = &to;
    delivery.rows = NULL; /* nothing below is looked at without rows, but `got` */
    delivery.got = 0;
    delivery.outside = false;
    chain->running->busy = true;
    weir_err err = message == NULL ? weiri_chain_end_segment(chain, &delivery)
                                   : push_to(chain, message, &delivery);
    chain->running->busy = false;
    if (!delivery.outside) {
        weiri_mode_leave(to.mode);
    }
    return err;
}

weir_err
weir_chain_push(weir_chain *chain, const weir_message *message, weir_sink_fn sink, void *user)
{
    weir_err err = weiri_chain_enter(chain, "weir_chain_push", false);
    if (err == WEIR_OK) {
        err = check_message(chain, message);
    }
    return err == WEIR_OK ? with_sink(chain, message, sink, user) : err;
}

weir_err weir_chain_finish(weir_chain *chain, weir_sink_fn sink, void *user)
{
    weir_err err = weiri_chain_enter(chain, "weir_chain_finish", false);
    return err == WEIR_OK ? with_sink(chain, NULL, sink, user) : err;
}

size_t weir_chain_consumed(const weir_chain *chain)
{
    return chain == NULL || chain->running == NULL ? 0 : chain->running->consumed;
}

/* ---- into the caller's rows ----------------------------------------------------------------------- */

static weir_err check_rows(const weir_chain *chain,
                           const char *call,
                           const void *rows,
                           size_t capacity,
                           const weir_message *ret_block)
{
    if (ret_block == NULL) {
        return weiri_null(call);
    }
    if (chain->plan->exit_count != 1) {
        return weiri_fail(WEIR_E_USAGE, "%s: only for chains with one output; this one has %d",
                          call, chain->plan->exit_count);
    }
    if (rows == NULL || capacity == 0) {
        return weiri_fail(WEIR_E_USAGE, "%s: needs rows for one frame at least", call);
    }
    return WEIR_OK;
}

static void
say_what_came(const weir_chain *chain, weiri_delivery *delivery, weir_message *ret_block)
{
    if (delivery->got == 0) {
        int group = chain->plan->steps[chain->plan->exits[0].step].group;
        delivery->first =
            weiri_chain_block(chain, &chain->plan->groups[group], delivery->rows, 0, 0);
    }
    *ret_block = delivery->first;
}

weir_err weir_chain_push_into(weir_chain *chain,
                              const weir_message *message,
                              void *rows,
                              size_t capacity,
                              weir_message *ret_block)
{
    weir_err err = weiri_chain_enter(chain, "weir_chain_push_into", false);
    if (err == WEIR_OK) {
        err = check_message(chain, message);
    }
    if (err == WEIR_OK) {
        err = check_rows(chain, "weir_chain_push_into", rows, capacity, ret_block);
    }
    if (err != WEIR_OK) {
        return err;
    }
    weiri_mode mode = chain->running->callers_mode = weiri_mode_enter();
    weiri_delivery delivery = {.rows = rows, .capacity = capacity};
    chain->running->busy = true;
    err = push_to(chain, message, &delivery);
    chain->running->busy = false;
    weiri_mode_leave(mode);
    if (err == WEIR_OK || delivery.got > 0) {
        say_what_came(chain, &delivery, ret_block);
    }
    return delivery.got > 0 ? WEIR_OK : err;
}

/* ---- pull ----------------------------------------------------------------------------------------- */

static void tell_notices(weir_chain *chain, weir_source *source)
{
    const weir_source_info *info = weir_source_info_get(source);
    size_t *seen = &chain->running->source_notices;
    for (; *seen < info->notice_count; ++*seen) {
        weiri_chain_tell(chain,
                         (weir_event){.kind = WEIR_EVENT_NOTICE, .text = info->notices[*seen]});
    }
}

weir_err
weiri_chain_read(weir_chain *chain, size_t frames, weiri_mode mode, weir_message *ret_message)
{
    weiri_running *running = chain->running;
    weir_source *source = chain->plan->source;
    weir_message message = {.segment = running->segment_in, .first_index = WEIR_INDEX_NEXT};
    weiri_mode_leave(mode);
    weir_err err = source->ops->read(source, running->input.base, frames, &message);
    weiri_mode_enter();
    if (err == WEIR_OK && message.frames > frames) {
        return weiri_fail(WEIR_E_INTERNAL, "source %s put %zu frames into room for %zu",
                          source->ops->name, message.frames, frames);
    }
    tell_notices(chain, source);
    if (err == WEIR_OK && message.first_index != WEIR_INDEX_NEXT) {
        err = weiri_chain_check_count(message.first_index, message.frames);
    }
    if (err == WEIR_OK) {
        *ret_message = message;
    }
    return err;
}

void weiri_chain_take(weir_chain *chain, const weir_message *message)
{
    weiri_running *running = chain->running;
    weiri_chain_feed(chain, message);
    running->index_in += (int64_t)message->frames;
    running->frames_in += message->frames;
    running->input.data = running->input.base;
    running->input.frames = message->frames;
    running->holding = false;
}

static weir_err pull_rows(weir_chain *chain, weiri_delivery *delivery, weiri_mode mode)
{
    weiri_running *running = chain->running;
    for (;;) {
        weir_err err = weiri_chain_drain(chain, delivery);
        if (err != WEIR_OK || delivery->got == delivery->capacity) {
            return err;
        }
        if (!running->holding && !running->source_ended) {
            err = weiri_chain_read(chain, (size_t)chain->plan->shown.tile_frames, mode,
                                   &running->held);
            if (err != WEIR_OK) {
                return err;
            }
            running->source_ended = running->held.frames == 0;
            running->holding = !running->source_ended;
        }
        if (running->source_ended || weiri_chain_breaks(chain, &running->held)) {
            err = weiri_chain_end_segment(chain, delivery);
            if (err != WEIR_OK || running->in_segment || running->source_ended ||
                delivery->got > 0) {
                return err; /* a block never spans two segments */
            }
        }
        weiri_chain_take(chain, &running->held);
    }
}

weir_err weir_chain_pull(weir_chain *chain, void *rows, size_t capacity, weir_message *ret_block)
{
    weir_err err = weiri_chain_enter(chain, "weir_chain_pull", true);
    if (err == WEIR_OK) {
        err = check_rows(chain, "weir_chain_pull", rows, capacity, ret_block);
    }
    if (err != WEIR_OK) {
        return err;
    }
    weiri_mode mode = chain->running->callers_mode = weiri_mode_enter();
    weiri_delivery delivery = {.rows = rows, .capacity = capacity};
    chain->running->busy = true;
    err = pull_rows(chain, &delivery, mode);
    chain->running->busy = false;
    weiri_mode_leave(mode);
    if (err == WEIR_OK || delivery.got > 0) {
        say_what_came(chain, &delivery, ret_block);
    }
    return delivery.got > 0 ? WEIR_OK : err;
}

void weir_chain_on_event(weir_chain *chain, weir_event_fn call, void *user)
{
    if (chain == NULL) {
        return;
    }
    chain->on_event = call;
    chain->event_user = user;
}

/* ---- reset, reports ------------------------------------------------------------------------------- */

void weir_chain_reset(weir_chain *chain)
{
    if (chain == NULL || chain->running == NULL || chain->running->buffer == NULL ||
        chain->running->busy) {
        return;
    }
    weiri_chain_forget(chain, false);
    for (int i = 0; i < chain->plan->group_count; i++) {
        chain->running->groups[i].undelivered = 0;
    }
    chain->running->holding = false;
    weiri_chain_records_drop(chain);
}

size_t weir_chain_node_count(const weir_chain *chain)
{
    if (chain == NULL) {
        return 0;
    }
    return (size_t)chain->node_count;
}

weir_err
weir_chain_node_report(const weir_chain *chain, size_t number, weir_unit_report *ret_report)
{
    if (chain == NULL) {
        return weiri_null(__func__);
    }
    static const weiri_sized rule = {
        .field = "unit report: report_size",
        .make = "set it to sizeof(weir_unit_report)",
        .least = WEIRI_THROUGH(weir_unit_report, saturated),
        .known = sizeof(weir_unit_report),
    };
    const weiri_node *node =
        number < (size_t)chain->node_count ? weiri_chain_node(chain, (int)number) : NULL;
    if (node == NULL) {
        return weiri_fail(WEIR_E_USAGE, "weir_chain_node_report: the chain has no node %zu",
                          number);
    }
    weir_unit_report report = {.name = node->name};
    if (chain->running != NULL && chain->running->buffer != NULL) {
        int at = chain->plan->node_steps[node->number];
        const weiri_step *step = &chain->plan->steps[at];
        const weiri_step_run *run = &chain->running->steps[at];
        weiri_step_gather_counts(chain, at);
        report.missing = run->blocks[0].missing;
        report.channels = step->channels;
        for (uint64_t i = 0; i < report.channels; i++) {
            report.missing_total += report.missing[i];
        }
        for (int b = 0; b < step->blocks; b++) {
            report.saturated += run->blocks[b].saturated;
        }
        report.unfinished_frames = weiri_chain_unfinished(chain, at);
    }
    return weiri_sized_write(&rule, &report, ret_report);
}
