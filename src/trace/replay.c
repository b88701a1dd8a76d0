/* SPDX-License-Identifier: MIT
 *
 * replay.c: replays a trace through a real cache: the same allocations and frees under any policy
 * and limit, on a heap that provides addresses only (nominal.c), with the state after each step.
 * Not a model: the result is what such a cache does.
 */
#include <stdlib.h>
#include <string.h>

#include <weir/trace.h>

#include "base/base.h"

weir_replay_options weir_replay_options_default(void)
{
    return (weir_replay_options){
        .options_size = sizeof(weir_replay_options),
        .cache_limit = WEIR_LIMIT_TRACE,
        .memory_limit = WEIR_NO_LIMIT,
    };
}

static const weiri_sized options_rule = {
    .field = "replay options: options_size",
    .make = "weir_replay_options_default() makes them",
    .least = WEIRI_THROUGH(weir_replay_options, user),
    .known = offsetof(weir_replay_options, reserved),
};
static const weiri_sized report_rule = {
    .field = "replay report: report_size",
    .make = "set it to sizeof(weir_replay_report)",
    .least = WEIRI_THROUGH(weir_replay_report, stats),
    .known = sizeof(weir_replay_report),
};

typedef struct replay {
    const weir_replay_options *options;
    weir_replay_report report;
    weir_cache *cache;
    weir_buffer **slots;
    size_t slot_count;
} replay;

static weir_err slot_at(replay *r, uint64_t slot, weir_buffer ***ret_slot)
{
    if (slot >= r->slot_count) {
        size_t count = r->slot_count == 0 ? 256 : r->slot_count;
        while (count <= slot) {
            count *= 2;
        }
        weir_buffer **more = realloc(r->slots, count * sizeof(weir_buffer *));
        if (more == NULL) {
            return weiri_fail(WEIR_E_NOMEM, "replay: no memory for %zu slots", count);
        }
        memset(more + r->slot_count, 0, (count - r->slot_count) * sizeof(weir_buffer *));
        r->slots = more;
        r->slot_count = count;
    }
    *ret_slot = &r->slots[slot];
    return WEIR_OK;
}

static weir_err take(replay *r, const weir_trace_step *step)
{
    weir_buffer **slot = NULL;
    weir_err err = slot_at(r, step->slot, &slot);
    if (err != WEIR_OK) {
        return err;
    }
    if (*slot != NULL) {
        return weiri_fail(WEIR_E_RECORDING, "step %llu: slot %llu is taken already",
                          (unsigned long long)step->step, (unsigned long long)step->slot);
    }
    r->report.takes++;
    err = weir_cache_take(r->cache, (size_t)step->bytes, slot);
    if (err == WEIR_E_LIMIT) { /* its free will find nothing */
        r->report.refused++;
        return WEIR_OK;
    }
    return err;
}

static weir_err give(replay *r, const weir_trace_step *step)
{
    weir_buffer **slot = NULL;
    weir_err err = slot_at(r, step->slot, &slot);
    if (err == WEIR_OK) {
        weir_buffer_unref(*slot);
        *slot = NULL;
    }
    return err;
}

static weir_err apply(replay *r, const weir_trace_step *step)
{
    switch (step->op) {
    case WEIR_TRACE_TAKE:
        return take(r, step);
    case WEIR_TRACE_GIVE:
        return give(r, step);
    case WEIR_TRACE_LIMIT:
        if (!r->options->fixed) {
            weir_cache_limit_idle(r->cache, step->bytes);
        }
        return WEIR_OK;
    case WEIR_TRACE_CLEAR:
        weir_cache_clear(r->cache);
        return WEIR_OK;
    case WEIR_TRACE_CHARGE: {
        weir_err err = weir_cache_charge(r->cache, step->bytes);
        return err == WEIR_E_LIMIT ? WEIR_OK : err;
    }
    case WEIR_TRACE_UNCHARGE:
        weir_cache_uncharge(r->cache, step->bytes);
        return WEIR_OK;
    case WEIR_TRACE_MEMORY: /* metadata of another policy: has no meaning here */
    case WEIR_TRACE_END:
        break;
    }
    return WEIR_OK;
}

static void compare(weir_replay_report *report, const weir_trace_step *step)
{
    const weir_cache_stats *stats = &report->stats;
    report->rows++;
    if (stats->live_bytes == step->live && stats->idle_bytes == step->idle) {
        return;
    }
    if (report->rows_failed++ == 0) {
        report->first_failed = *step;
        report->found_live = stats->live_bytes;
        report->found_idle = stats->idle_bytes;
    }
}

static weir_err run(replay *r, weir_trace *trace)
{
    weir_trace_step step;
    for (;;) {
        weir_err err = weir_trace_next(trace, &step);
        if (err != WEIR_OK || step.op == WEIR_TRACE_END) {
            return err;
        }
        err = apply(r, &step);
        if (err != WEIR_OK) {
            return err;
        }
        r->report.steps++;
        if (step.recorded || r->options->step != NULL) {
            weir_cache_stats_read(r->cache, &r->report.stats);
        }
        if (step.recorded) {
            compare(&r->report, &step);
        }
        if (r->options->step != NULL) {
            err = r->options->step(r->options->user, &step, &r->report.stats);
            if (err != WEIR_OK) {
                return err;
            }
        }
    }
}

static weir_err make_cache(replay *r, const weir_trace_info *info)
{
    const weir_replay_options *options = r->options;
    weir_cache_options cache_options = weir_cache_options_default();
    cache_options.policy = options->policy != NULL ? options->policy : info->policy;
    cache_options.heap = options->heap;
    cache_options.cache_limit =
        options->cache_limit == WEIR_LIMIT_TRACE ? info->cache_limit : options->cache_limit;
    cache_options.memory_limit = options->memory_limit;
    weir_err err = WEIR_OK;
    if (cache_options.heap == NULL) {
        bool exact = strncmp(cache_options.policy, "mlx", 3) == 0; /* the policy rounds by itself */
        err = weir_heap_find(exact ? "nominal" : "nominal:host", &cache_options.heap);
    }
    return err == WEIR_OK ? weir_cache_create(&cache_options, &r->cache) : err;
}

weir_err weir_trace_replay(weir_trace *trace,
                           const weir_replay_options *options,
                           weir_replay_report *ret_report)
{
    if (trace == NULL) {
        return weiri_null(__func__);
    }
    weir_replay_options known = weir_replay_options_default();
    weir_err err = options == NULL ? WEIR_OK : weiri_sized_read(&options_rule, options, &known);
    if (err == WEIR_OK) { /* the size of the report too, before the work */
        err = weiri_sized_write(&report_rule, &(weir_replay_report){0}, ret_report);
    }
    if (err == WEIR_OK) {
        err = weir_trace_rewind(trace);
    }
    replay r = {.options = &known, .report = {.stats = {.stats_size = sizeof(weir_cache_stats)}}};
    if (err == WEIR_OK) {
        err = make_cache(&r, weir_trace_info_get(trace));
    }
    if (err != WEIR_OK) {
        return err;
    }
    err = run(&r, trace);
    (void)weir_cache_stats_read(r.cache, &r.report.stats);
    for (size_t i = 0; i < r.slot_count; i++) {
        weir_buffer_unref(r.slots[i]);
    }
    free(r.slots);
    weir_cache_destroy(r.cache);
    return err == WEIR_OK ? weiri_sized_write(&report_rule, &r.report, ret_report) : err;
}
