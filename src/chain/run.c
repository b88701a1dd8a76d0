/* SPDX-License-Identifier: MIT
 *
 * run.c: from a source through the chain to its sinks, to the end or until somebody says stop. The cut of
 * the input into messages ends tiles early, and nothing else: a message is never held as a whole.
 */
#include "chain/chain.h"

#include <math.h>
#include <stddef.h>
#include <time.h>

typedef struct run {
    weir_chain *chain;
    const weir_run_options *options;
    weir_run_report *report;
    weiri_mode mode;
    uint64_t left; /* of the message, frames */
    double started, flushed;
    uint64_t flushed_frames; /* of the input, at the last flush */
} run;

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static weir_err to_sink(void *user, const weir_message *block)
{
    run *at = user;
    weir_sink *sink = at->chain->plan->sinks == NULL ? NULL : at->chain->plan->sinks[block->output];
    if (sink == NULL) {
        return WEIR_OK;
    }
    weiri_mode_leave(at->mode);
    weir_err err = sink->ops->write(sink, block);
    weiri_mode_enter();
    return err;
}

static weir_err each_sink(weir_chain *chain, bool finish)
{
    weir_err first = WEIR_OK;
    for (int i = 0; chain->plan->sinks != NULL && i < chain->plan->exit_count; i++) {
        weir_sink *sink = chain->plan->sinks[i];
        if (sink != NULL) {
            weir_err err = finish ? sink->ops->finish(sink) : sink->ops->flush(sink);
            first = first == WEIR_OK ? err : first;
        }
    }
    return first;
}

/* Frames that the next tile may have: to the message's end at most. Messages of 0 frames pass by. */
static weir_err tile_room(run *at, size_t *ret_frames)
{
    const weir_run_options *options = at->options;
    size_t tile = (size_t)at->chain->plan->shown.tile_frames;
    bool cut = options->next_message != NULL || options->message_frames > 0;
    /* A list without an end of zeros would never come to a frame. */
    for (uint64_t zeros = 0; cut && at->left == 0;) {
        at->left = options->message_frames;
        if (options->next_message != NULL) {
            weir_err err = options->next_message(options->user, &at->left);
            if (err != WEIR_OK) {
                return err;
            }
        }
        at->report->messages++;
        if (at->left == 0 && ++zeros > 1000000) {
            return weiri_fail(WEIR_E_USAGE, "a million messages of 0 frames one after another");
        }
    }
    *ret_frames = cut && at->left < tile ? (size_t)at->left : tile;
    return WEIR_OK;
}

static weir_err one_tile(run *at, bool *ret_ended)
{
    size_t room = 0;
    weir_message message;
    weir_err err = tile_room(at, &room);
    if (err == WEIR_OK) {
        err = weiri_chain_read(at->chain, room, at->mode, &message);
    }
    if (err != WEIR_OK) {
        return err;
    }
    weiri_delivery delivery = {.sink = to_sink, .user = at, .mode = at->mode};
    *ret_ended = message.frames == 0;
    if (*ret_ended || weiri_chain_breaks(at->chain, &message)) {
        err = weiri_chain_end_segment(at->chain, &delivery);
    }
    if (*ret_ended || err != WEIR_OK) {
        return err;
    }
    at->left -= at->left < message.frames ? at->left : message.frames;
    weiri_chain_take(at->chain, &message);
    return weiri_chain_drain(at->chain, &delivery);
}

/* Each second what was written is made readable, also while the source has nothing; after each tile, and while it
 * waits, somebody may say stop. */
static weir_err between_tiles(void *user)
{
    run *at = user;
    weir_chain *chain = at->chain;
    double now = now_s();
    weir_err err = WEIR_OK;
    if (now - at->flushed >= 1.0 && chain->running->frames_in != at->flushed_frames) {
        at->flushed = now;
        at->flushed_frames = chain->running->frames_in;
        err = each_sink(chain, false);
    }
    if (err != WEIR_OK || at->options->progress == NULL) {
        return err;
    }
    weir_progress progress = {
        .progress_size = sizeof progress,
        .frames_in = chain->running->frames_in,
        .frames_total = weir_source_info_get(chain->plan->source)->frames,
        .seconds = now - at->started,
        .rate_hz = chain->plan->input.rate_hz,
        .plan_bytes = chain->plan->shown.total_bytes,
        .memory_limit_bytes = chain->options.memory_limit,
        .cache = weir_chain_cache(chain),
    };
    return at->options->progress(at->options->user, &progress)
               ? WEIR_OK
               : weiri_fail(WEIR_E_INTERRUPTED, "interrupted");
}

static weir_err run_tiles(run *at)
{
    weir_err err = WEIR_OK;
    bool ended = false;
    const weir_source_ops *source = at->chain->plan->source->ops;
    bool waits = WEIRI_HAS(source, idle);
    if (waits) {
        source->idle(at->chain->plan->source, between_tiles, at);
    }
    at->mode = at->chain->running->callers_mode = weiri_mode_enter();
    while (err == WEIR_OK && !ended) {
        err = one_tile(at, &ended);
        if (err == WEIR_OK && !ended) {
            weiri_mode_leave(at->mode);
            err = between_tiles(at);
            weiri_mode_enter();
        }
    }
    weiri_mode_leave(at->mode);
    if (waits) {
        source->idle(at->chain->plan->source, NULL, NULL);
    }
    at->chain->running->source_ended = ended;
    return err;
}

/* Missing samples are counted where they come in: by the units that are first. */
static uint64_t missing_at_input(const weir_chain *chain)
{
    uint64_t most = 0;
    for (int i = 0; i < chain->plan->step_count; i++) {
        const weiri_step *step = &chain->plan->steps[i];
        uint64_t sum = 0;
        for (uint64_t c = 0; c < step->channels; c++) {
            sum += chain->running->steps[i].blocks[0].missing[c];
        }
        if (step->parents[0] < 0 && sum > most) {
            most = sum;
        }
    }
    return most;
}

static void fill_report(run *at)
{
    weir_chain *chain = at->chain;
    const weiri_running *running = chain->running;
    weir_run_report *report = at->report;
    uint64_t now = 0;
    report->frames_in = running->frames_in;
    report->frames_out = running->frames_out;
    report->seconds = now_s() - at->started;
    report->x_real_time = report->seconds > 0 ? (double)running->frames_in /
                                                    chain->plan->input.rate_hz / report->seconds
                                              : 0;
    report->segments = running->segments;
    weir_rss_read(&now, &report->rss_peak_bytes);
    if (running->buffer == NULL) {
        return;
    }
    report->missing_samples = missing_at_input(chain);
    for (int i = 0; i < chain->plan->step_count; i++) {
        report->unfinished_frames += weiri_chain_unfinished(chain, i);
    }
}

weir_run_options weir_run_options_default(void)
{
    return (weir_run_options){.options_size = sizeof(weir_run_options)};
}

static const weiri_sized options_rule = {
    .field = "run options: options_size",
    .make = "weir_run_options_default() makes them",
    .least = WEIRI_THROUGH(weir_run_options, user),
    .known = offsetof(weir_run_options, reserved),
};
static const weiri_sized report_rule = {
    .field = "run report: report_size",
    .make = "set it to sizeof(weir_run_report)",
    .least = WEIRI_THROUGH(weir_run_report, unfinished_frames),
    .known = sizeof(weir_run_report),
};

static weir_err whole_run(run *at)
{
    weir_chain *chain = at->chain;
    if (chain == NULL || chain->plan == NULL || chain->plan->source == NULL) {
        return weiri_fail(WEIR_E_USAGE, "a run needs weir_chain_plan_run before it");
    }
    at->report->plan_bytes = chain->plan->shown.total_bytes;
    at->report->memory_limit_bytes = chain->options.memory_limit;
    if (chain->running->buffer != NULL) {
        return weiri_fail(WEIR_E_USAGE, "the chain has run already");
    }
    uint64_t now = 0;
    weir_rss_read(&now, &at->report->rss_before_bytes);
    weir_err err = weiri_chain_start(chain);
    chain->running->busy = true;
    if (err == WEIR_OK) {
        err = run_tiles(at);
        /* What was interrupted keeps the name of a part: a file under its own name is whole. */
        if (err == WEIR_OK || err == WEIR_E_INTERRUPTED) {
            weir_err ended = each_sink(chain, err == WEIR_OK);
            err = ended == WEIR_OK ? err : ended;
        }
    }
    chain->running->busy = false;
    fill_report(at);
    return err;
}

weir_err
weir_chain_run(weir_chain *chain, const weir_run_options *options, weir_run_report *ret_report)
{
    weir_run_options known = weir_run_options_default();
    weir_run_report report = {.memory_limit_bytes = WEIR_NO_LIMIT};
    run at = {.chain = chain, .options = &known, .report = &report, .started = now_s()};
    at.flushed = at.started;
    weir_err err =
        weiri_sized_write(&report_rule, &report, ret_report); /* its size, before the work */
    if (err != WEIR_OK) {
        return err;
    }
    err = options == NULL ? WEIR_OK : weiri_sized_read(&options_rule, options, &known);
    if (err == WEIR_OK) {
        err = whole_run(&at);
    }
    weir_err written = weiri_sized_write(&report_rule, &report, ret_report);
    return err != WEIR_OK ? err : written;
}
