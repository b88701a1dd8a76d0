/* SPDX-License-Identifier: MIT
 *
 * run.c: from a source through the chain to its sinks, to the end or until it is interrupted. Message
 * boundaries only end tiles early: a message is never in memory as a whole.
 */
#include "chain/chain.h"
#include "chain/checkpoint.h"

#include <math.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

typedef struct run {
    weir_chain *chain;
    const weir_run_options *options;
    weir_run_report *report;
    weiri_mode mode;
    uint64_t left; /* of the message, frames */
    double started, flushed;
    uint64_t flushed_frames; /* of the input, at the last flush */
    const char *checkpoint;  /* path, or NULL */
    uint64_t resumed_frames;
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
    weiri_delivery delivery = {.sink = to_sink, .user = at};
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

/* Makes what was written readable, and with a checkpoint durable. */
static weir_err flush(run *at)
{
    at->flushed = now_s();
    at->flushed_frames = at->chain->running->frames_in;
    return at->checkpoint == NULL ? each_sink(at->chain, false)
                                  : weiri_checkpoint_write(at->chain, at->checkpoint, false);
}

static bool goes_on(run *at, double now)
{
    weir_chain *chain = at->chain;
    if (at->options->progress == NULL) {
        return true;
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
        .resumed_frames = at->resumed_frames,
    };
    chain->running->at_rest = true;
    bool on = at->options->progress(at->options->user, &progress);
    chain->running->at_rest = false;
    return on;
}

/* After each tile, and while the source waits, the program may interrupt the run or change a setting; then, once a
 * second, outputs are flushed. In this order a checkpoint includes the settings of its frame. */
static weir_err between_tiles(void *user)
{
    run *at = user;
    double now = now_s();
    if (!goes_on(at, now)) {
        return weiri_fail(WEIR_E_INTERRUPTED, "interrupted");
    }
    bool due = now - at->flushed >= 1.0 && at->chain->running->frames_in != at->flushed_frames;
    return due ? flush(at) : WEIR_OK;
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
        weiri_step_gather_counts(chain, i);
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
    report->resumed_frames = at->resumed_frames;
    report->seconds = now_s() - at->started;
    double now_in = (double)(running->frames_in - at->resumed_frames);
    report->x_real_time =
        report->seconds > 0 ? now_in / chain->plan->input.rate_hz / report->seconds : 0;
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

/* ---- start and end --------------------------------------------------------------------------------- */

/* Reads and drops frames that a source cannot skip. */
static weir_err seek(weir_chain *chain, uint64_t frames)
{
    weir_source *source = chain->plan->source;
    void *rows = weiri_chain_memory(chain, chain->plan->tile_at);
    uint64_t tile = chain->plan->shown.tile_frames, at = 0;
    weir_err err = WEIR_OK;
    if (source->ops->ops_size > offsetof(weir_source_ops, seek) && source->ops->seek != NULL) {
        err = source->ops->seek(source, frames, &at);
    }
    while (err == WEIR_OK && at < frames) {
        weir_message message = {.frames = 0};
        err = source->ops->read(source, rows, (size_t)(frames - at < tile ? frames - at : tile),
                                &message);
        if (err == WEIR_OK && message.frames == 0) {
            err = weiri_fail(WEIR_E_RECORDING,
                             "the input ends after %llu frames; %llu were read before",
                             (unsigned long long)at, (unsigned long long)frames);
        }
        at += message.frames;
    }
    return err;
}

/* A checkpoint is there before the first file of an output is: what has no checkpoint is never ours. */
static weir_err start(run *at, bool *ret_ended)
{
    weir_chain *chain = at->chain;
    weiri_checkpoint_about about = {.ended = false};
    weir_err err = weiri_chain_start_units(chain);
    if (err == WEIR_OK && at->checkpoint != NULL) {
        err = weiri_checkpoint_begin(chain, at->checkpoint, at->options->resume,
                                     &at->report->resumed, &about);
    }
    bool first = err == WEIR_OK && at->checkpoint != NULL && !at->report->resumed;
    if (err == WEIR_OK && at->report->resumed) {
        at->resumed_frames = at->flushed_frames = chain->running->frames_in;
    }
    if (err == WEIR_OK) {
        err = weiri_chain_start_source(chain);
    }
    if (err == WEIR_OK && at->resumed_frames > 0 && !about.ended) {
        err = seek(chain, at->resumed_frames);
    }
    if (err == WEIR_OK) {
        err = weiri_chain_start_sinks(chain);
    }
    if (err != WEIR_OK && first) {
        weiri_checkpoint_remove(at->checkpoint);
    }
    *ret_ended = about.ended;
    return err;
}

/* What was interrupted keeps the name of a part: a file under its own name is whole. */
static weir_err finish(run *at, weir_err err, bool complete)
{
    weir_chain *chain = at->chain;
    if (err == WEIR_E_INTERRUPTED) {
        /* Within a tile the state cannot be saved: the last checkpoint stays. */
        weir_err flushed = at->checkpoint != NULL && chain->running->pending ? WEIR_OK : flush(at);
        return flushed == WEIR_OK ? err : flushed;
    }
    if (err == WEIR_OK && at->checkpoint != NULL && !complete) {
        err = weiri_checkpoint_write(chain, at->checkpoint, true);
    }
    if (err == WEIR_OK) {
        err = each_sink(chain, true);
    }
    if (err == WEIR_OK && at->checkpoint != NULL) {
        weiri_checkpoint_remove(at->checkpoint);
    }
    return err;
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
    bool complete = false;
    weir_rss_read(&now, &at->report->rss_before_bytes);
    weir_err err = start(at, &complete);
    chain->running->start_failed = err != WEIR_OK && chain->running->buffer != NULL;
    chain->running->busy = true;
    if (err == WEIR_OK) {
        err = complete ? WEIR_OK : run_tiles(at);
        err = finish(at, err, complete);
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
        at.checkpoint = known.checkpoint;
        err = whole_run(&at);
    }
    weir_err written = weiri_sized_write(&report_rule, &report, ret_report);
    return err != WEIR_OK ? err : written;
}
