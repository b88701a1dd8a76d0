/* SPDX-License-Identifier: MIT
 *
 * tune.c: the smallest cache_limit that serves a given share of a trace's allocations from cached
 * memory.
 *
 * In three steps:
 *   1. The stack distance of every allocation (distance.h), in one pass: the hit rate as a function
 *   of the limit.
 *   2. A candidate: a limit at which the model of that limit arrives. A buffer larger than the
 *      limit is never cached, so for limits between two occurring sizes only buffers up to the
 *      smaller size are modelled. From the first such interval with enough allocations on, the
 *      smallest limit of each is computed; the first that is within its own interval is chosen.
 *      (The hit rate does not always rise with the limit: a limit that admits one more size may let
 *      it evict others.)
 *   3. Replays through the real policy confirm the result: if the candidate does not reach the
 *      rate, or one byte less still does, the limit is found by bisection down to one byte. So the
 *      result always reaches the rate while one byte less does not; that no smaller limit anywhere
 *      does is certain where distance.h states that distances are exact.
 *
 * If the rate cannot be reached (each size is missed at least once), the target is the same share
 * of the hits of a cache without a limit.
 */
#include <stdlib.h>
#include <string.h>

#include <weir/trace.h>

#include "cache/cache.h"
#include "trace/distance.h"

/* Beyond this many intervals in step 2 the rest is treated as one. */
#define MOST_INTERVALS 256
#define MOST_ROUNDS    8
#define FIRST_ROOM     4096

typedef struct event {
    uint64_t charged; /* of an allocation */
    uint32_t slot;
    uint32_t op; /* weir_trace_op; TAKE, GIVE and CLEAR only */
} event;

typedef struct tune {
    weir_trace *trace;
    const char *policy;
    weir_cache *cache; /* not used to allocate: for the policy's pure functions */
    event *events;
    size_t count, room;
    uint64_t takes, slots;
    uint64_t *sizes;     /* charges of all allocations, sorted */
    uint64_t *distances; /* of those that hit, sorted */
    uint64_t hits;
    uint64_t *of_slot; /* memory for the model */
    void *memory;      /* the model's */
    size_t stretches;
    uint64_t limit;  /* of the model */
    uint64_t unit;   /* all charges are multiples of it */
    uint64_t target; /* hits required */
    weir_tune_report *report;
} tune;

static weir_err no_memory(void)
{
    return weiri_fail(WEIR_E_NOMEM, "tune: no memory for the trace");
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* ---- the trace in memory ------------------------------------------------------------------- */

static weir_err event_add(tune *t, event e)
{
    if (t->count == t->room) {
        size_t room = t->room == 0 ? FIRST_ROOM : t->room * 2;
        event *more = realloc(t->events, room * sizeof *more);
        if (more == NULL) {
            return no_memory();
        }
        t->events = more;
        t->room = room;
    }
    t->events[t->count++] = e;
    return WEIR_OK;
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static weir_err read_step(tune *t, const weir_trace_step *step)
{
    event e = {.slot = (uint32_t)step->slot, .op = step->op};
    if (step->op == WEIR_TRACE_TAKE) {
        weiri_policy *policy = t->cache->policy;
        weir_heap *heap =
            /* for a policy that does not keep whole buffers, the amount committed at once is not
             * a size */
            policy->heap;
        e.charged = policy->ops->serves != NULL ? policy->ops->size(policy, (size_t)step->bytes)
                                                : heap->ops->good_size(heap, (size_t)step->bytes);
        t->takes++;
        t->unit = gcd(e.charged, t->unit);
        t->slots = step->slot >= t->slots ? step->slot + 1 : t->slots;
    } else if (step->op != WEIR_TRACE_GIVE && step->op != WEIR_TRACE_CLEAR) {
        return WEIR_OK;
    }
    return event_add(t, e);
}

static weir_err read_all(tune *t)
{
    weir_trace_step step;
    weir_err err = weir_trace_rewind(t->trace);
    while (err == WEIR_OK) {
        err = weir_trace_next(t->trace, &step);
        if (err != WEIR_OK || step.op == WEIR_TRACE_END) {
            break;
        }
        err = read_step(t, &step);
    }
    if (err != WEIR_OK) {
        return err;
    }
    if (t->takes == 0) {
        return weiri_fail(WEIR_E_RECORDING, "tune: the trace has no takes");
    }
    t->sizes = malloc(t->takes * sizeof *t->sizes);
    t->distances = malloc(t->takes * sizeof *t->distances);
    t->of_slot = malloc(t->slots * sizeof *t->of_slot);
    if (t->sizes == NULL || t->distances == NULL || t->of_slot == NULL) {
        return no_memory();
    }
    for (size_t i = 0, n = 0; i < t->count; i++) {
        if (t->events[i].op == WEIR_TRACE_TAKE) {
            t->sizes[n++] = t->events[i].charged;
        }
    }
    qsort(t->sizes, t->takes, sizeof *t->sizes, by_value);
    return WEIR_OK;
}

/* ---- distances ----------------------------------------------------------------------------- */

/* One pass over the buffers charged at most `cap`. False: the model had too little memory. */
static bool pass(tune *t, uint64_t cap)
{
    weiri_distance d;
    weiri_distance_init(&d, t->cache->policy, t->memory, t->stretches);
    d.limit = t->limit;
    memset(t->of_slot, 0, t->slots * sizeof *t->of_slot);
    t->hits = 0;
    for (size_t i = 0; i < t->count; i++) {
        const event *e = &t->events[i];
        if (e->op == WEIR_TRACE_CLEAR) {
            weiri_distance_init(&d, t->cache->policy, t->memory, t->stretches);
            d.limit = t->limit;
        } else if (e->op == WEIR_TRACE_GIVE && e->slot < t->slots) {
            if (t->of_slot[e->slot] > 0) {
                weiri_distance_give(&d, t->of_slot[e->slot]);
                t->of_slot[e->slot] = 0;
            }
        } else if (e->op == WEIR_TRACE_TAKE && e->charged <= cap) {
            uint64_t distance = weiri_distance_take(&d, e->charged, &t->of_slot[e->slot]);
            if (distance != WEIRI_DISTANCE_NEVER) {
                t->distances[t->hits++] = distance;
            }
        }
        if (d.forgotten > 0) {
            return false;
        }
    }
    return true;
}

static weir_err measure(tune *t, uint64_t cap)
{
    while (t->memory == NULL || !pass(t, cap)) {
        size_t stretches = t->stretches == 0 ? FIRST_ROOM : t->stretches * 2;
        free(t->memory);
        t->memory = malloc(weiri_distance_bytes(stretches));
        if (t->memory == NULL) {
            return no_memory();
        }
        t->stretches = stretches;
    }
    qsort(t->distances, t->hits, sizeof *t->distances, by_value);
    return WEIR_OK;
}

/* The number of values in a sorted list that are <= most. */
static uint64_t count_to(const uint64_t *list, uint64_t count, uint64_t most)
{
    uint64_t low = 0, high = count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (list[middle] <= most) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The smallest limit found by a model for buffers up to `cap` at the limit that it finds itself.
 * It may cycle instead of converging: then the largest of the cycle. WEIR_NO_LIMIT: none. */
static weir_err settle(tune *t, uint64_t cap, uint64_t *ret_limit)
{
    uint64_t largest = 0;
    *ret_limit = t->limit = WEIR_NO_LIMIT;
    for (int i = 0; i < MOST_ROUNDS; i++) {
        weir_err err = measure(t, cap);
        if (err != WEIR_OK) {
            return err;
        }
        if (t->hits < t->target) {
            return WEIR_OK;
        }
        uint64_t limit = t->target > 0 ? t->distances[t->target - 1] : 0;
        largest = i >= MOST_ROUNDS / 2 && limit > largest ? limit : largest;
        bool rests = limit == t->limit;
        t->limit = limit;
        *ret_limit = largest > limit ? largest : limit;
        if (rests) {
            break;
        }
    }
    return WEIR_OK;
}

/* Step 2. */
static weir_err find_candidate(tune *t, uint64_t *ret_limit)
{
    *ret_limit = t->target == 0 ? 0 : WEIR_NO_LIMIT;
    uint64_t at = t->target - 1; /* sizes[at]: the first cap with enough allocations */
    for (int intervals = 0; t->target > 0 && at < t->takes; intervals++) {
        uint64_t size = t->sizes[at], end = count_to(t->sizes, t->takes, size), limit;
        bool last = end == t->takes || intervals == MOST_INTERVALS;
        weir_err err = settle(t, last ? UINT64_MAX : size, &limit);
        if (err != WEIR_OK) {
            return err;
        }
        if (limit != WEIR_NO_LIMIT) {
            limit = limit > size ? limit : size;
            if (last || limit < t->sizes[end]) {
                *ret_limit = limit;
                return WEIR_OK;
            }
        }
        if (last) {
            break;
        }
        at = end;
    }
    return WEIR_OK;
}

/* ---- replays ------------------------------------------------------------------------------- */

static weir_err hits_at(tune *t, uint64_t limit, uint64_t *ret_hits)
{
    weir_replay_options options = weir_replay_options_default();
    weir_replay_report report = {.report_size = sizeof report};
    options.policy = t->policy;
    options.cache_limit = limit;
    options.fixed = true;
    weir_err err = weir_trace_replay(t->trace, &options, &report);
    t->report->replays++;
    if (err == WEIR_OK) {
        *ret_hits = report.stats.hits;
    }
    return err;
}

/* Bisection between a limit that is too low and one that is not, down to multiples of `unit`. */
static weir_err halve(tune *t, uint64_t *low, uint64_t *high, uint64_t unit)
{
    while (*high - *low > unit) {
        uint64_t middle = *low + (*high - *low) / 2;
        middle -= middle % unit;
        if (middle <= *low) {
            middle = *low - *low % unit + unit;
        }
        if (middle >= *high) {
            break;
        }
        uint64_t hits = 0;
        weir_err err = hits_at(t, middle, &hits);
        if (err != WEIR_OK) {
            return err;
        }
        *(hits >= t->target ? high : low) = middle;
    }
    return WEIR_OK;
}

/* A limit that is too low and one that is not, around the candidate. *low = *high = 0: no cached
 * memory is needed at all. */
static weir_err bracket(tune *t, uint64_t candidate, uint64_t *low, uint64_t *high)
{
    uint64_t hits = 0, step = t->unit;
    weir_err err = hits_at(t, candidate, &hits);
    bool good = err == WEIR_OK && hits >= t->target;
    *low = *high = candidate;
    while (err == WEIR_OK && good && *low > 0) { /* down: one byte, then further and further */
        *low = *low == candidate ? *low - 1 : *low > step ? *low - step : 0;
        err = hits_at(t, *low, &hits);
        if (err == WEIR_OK && hits < t->target) {
            return WEIR_OK;
        }
        *high = *low;
        step *= 2;
    }
    while (err == WEIR_OK && !good) { /* up; without a limit the target is reached */
        *high = *high < UINT64_MAX / 4 ? *high + step : WEIR_NO_LIMIT;
        err = hits_at(t, *high, &hits);
        good = err == WEIR_OK && hits >= t->target;
        *low = good ? *low : *high;
        step *= 2;
    }
    return err;
}

/* Step 3. */
static weir_err find_limit(tune *t, uint64_t candidate)
{
    uint64_t low = 0, high = 0, at = 0, below = 0;
    if (candidate > UINT64_MAX / 4) {
        candidate = t->sizes[t->takes - 1];
    }
    weir_err err = bracket(t, candidate, &low, &high);
    for (uint64_t unit = t->unit; err == WEIR_OK && high - low > 1; unit = 1) {
        err = halve(t, &low, &high, unit);
        if (err == WEIR_OK && high - low > 1 && unit > 1) {
            err = hits_at(t, high - 1, &below);
            *(below >= t->target ? &high : &low) = high - 1;
        }
    }
    if (err == WEIR_OK) {
        err = hits_at(t, high, &at);
    }
    if (err == WEIR_OK && high > 0) {
        err = hits_at(t, high - 1, &below);
    }
    t->report->limit = high;
    t->report->limit_rate = (double)at / (double)t->takes;
    t->report->below_rate = (double)below / (double)t->takes;
    return err;
}

/* ---- the table ----------------------------------------------------------------------------- */

static weir_err add_point(tune *t, uint64_t limit)
{
    weir_tune_report *report = t->report;
    uint64_t hits = 0;
    if (report->point_count == WEIR_TUNE_POINTS) {
        return WEIR_OK;
    }
    weir_err err = hits_at(t, limit, &hits);
    report->points[report->point_count++] = (weir_tune_point){
        .limit = limit,
        .distance_rate = (double)count_to(t->distances, t->hits, limit) / (double)t->takes,
        .replay_rate = (double)hits / (double)t->takes,
    };
    return err;
}

/* Powers of two around all distances, the answer among them, and no limit. */
static weir_err make_table(tune *t)
{
    t->limit = WEIR_NO_LIMIT;
    weir_err err = measure(t, UINT64_MAX);
    uint64_t most = err == WEIR_OK && t->hits > 0 ? t->distances[t->hits - 1] : 1;
    most = most > t->report->limit ? most : t->report->limit;
    uint64_t limit = 1;
    while (limit < most / (UINT64_C(1) << (WEIR_TUNE_POINTS - 8)) ||
           (t->hits > 0 && limit * 2 < t->distances[0])) {
        limit *= 2;
    }
    bool answered = false;
    while (err == WEIR_OK) {
        if (!answered && t->report->limit <= limit) {
            answered = true;
            err = add_point(t, t->report->limit);
            limit = t->report->limit == limit ? limit * 2 : limit;
            continue;
        }
        err = add_point(t, limit);
        if (limit >= most) {
            break;
        }
        limit *= 2;
    }
    return err == WEIR_OK ? add_point(t, WEIR_NO_LIMIT) : err;
}

/* ---- the call ------------------------------------------------------------------------------ */

static weir_err make_cache(tune *t)
{
    weir_cache_options options = weir_cache_options_default();
    options.policy = t->policy;
    bool exact = strncmp(t->policy, "mlx", 3) == 0;
    weir_err err = weir_heap_find(exact ? "nominal" : "nominal:host", &options.heap);
    if (err == WEIR_OK) {
        err = weir_cache_create(&options, &t->cache);
    }
    if (err == WEIR_OK) {
        t->report->policy = t->cache->policy->ops->name;
    }
    return err;
}

static weir_err work(tune *t, double hit_rate)
{
    weir_err err = make_cache(t);
    if (err == WEIR_OK) {
        err = read_all(t);
    }
    uint64_t best = 0, candidate = 0;
    if (err == WEIR_OK) {
        err = hits_at(t, WEIR_NO_LIMIT, &best);
    }
    if (err != WEIR_OK) {
        return err;
    }
    weir_tune_report *report = t->report;
    double wanted = hit_rate * (double)t->takes;
    report->takes = t->takes;
    report->wanted_rate = hit_rate;
    report->best_rate = (double)best / (double)t->takes;
    report->reachable = (double)best >= wanted;
    wanted = report->reachable ? wanted : hit_rate * (double)best;
    t->target = (uint64_t)wanted;
    t->target += (double)t->target < wanted;
    err = find_candidate(t, &candidate);
    report->distance_limit = candidate;
    if (err == WEIR_OK) {
        err = find_limit(t, candidate);
    }
    return err == WEIR_OK ? make_table(t) : err;
}

weir_err weir_trace_tune(weir_trace *trace,
                         const char *policy,
                         double hit_rate,
                         weir_tune_report *ret_report)
{
    if (trace == NULL) {
        return weiri_null(__func__);
    }
    static const weiri_sized rule = {
        .field = "tune report: report_size",
        .make = "set it to sizeof(weir_tune_report)",
        .least = WEIRI_THROUGH(weir_tune_report, points),
        .known = sizeof(weir_tune_report),
    };
    weir_tune_report report = {0};
    weir_err err = weiri_sized_write(&rule, &report, ret_report); /* its size, before the work */
    if (err != WEIR_OK) {
        return err;
    }
    if (!(hit_rate >= 0 && hit_rate <= 1)) {
        return weiri_fail(WEIR_E_USAGE, "tune: a hit rate of %g; 0 to 1 are allowed", hit_rate);
    }
    tune t = {
        .trace = trace,
        .policy = policy != NULL ? policy : weir_trace_info_get(trace)->policy,
        .report = &report,
    };
    err = work(&t, hit_rate);
    weir_cache_destroy(t.cache);
    free(t.events);
    free(t.sizes);
    free(t.distances);
    free(t.of_slot);
    free(t.memory);
    return err == WEIR_OK ? weiri_sized_write(&rule, &report, ret_report) : err;
}
