/* SPDX-License-Identifier: MIT
 *
 * distance.c: a stack of runs and holes (distance.h explains its use). Every call is O(log runs),
 * except a renumbering every 2 * runs calls. It calls no heap.
 */
#include "trace/distance.h"

#include <string.h>

/* ---- sums over positions: a Fenwick tree ---------------------------------------------------- */

static size_t positions(const weiri_distance *d)
{
    return 2 * d->room;
}

static void sums_add(weiri_distance *d, uint64_t at, uint64_t bytes) /* modulo 2^64: also less */
{
    d->total += bytes;
    for (; at <= positions(d); at += at & (~at + 1)) {
        d->sums[at] += bytes;
    }
}

/* Bytes and holes above a run. */
static uint64_t above(const weiri_distance *d, const weiri_stretch *run)
{
    uint64_t through = 0;
    for (uint64_t at = run->record.stamp; at > 0; at -= at & (~at + 1)) {
        through += d->sums[at];
    }
    return d->total - through;
}

/* ---- holes: a heap, the topmost first ------------------------------------------------------- */

static void heap_set(weiri_distance *d, size_t at, weiri_stretch *run)
{
    d->heap[at] = run;
    run->heap_at = at;
}

static void heap_up(weiri_distance *d, size_t at, weiri_stretch *run)
{
    while (at > 1 && d->heap[at / 2]->record.stamp < run->record.stamp) {
        heap_set(d, at, d->heap[at / 2]);
        at /= 2;
    }
    heap_set(d, at, run);
}

static void heap_add(weiri_distance *d, weiri_stretch *run)
{
    if (run->heap_at == 0) {
        heap_up(d, ++d->heap_count, run);
    }
}

static void heap_remove(weiri_distance *d, weiri_stretch *run)
{
    size_t at = run->heap_at;
    if (at == 0) {
        return;
    }
    run->heap_at = 0;
    weiri_stretch *last = d->heap[d->heap_count--];
    if (last == run) {
        return;
    }
    for (size_t child = 2 * at; child <= d->heap_count; child = 2 * at) { /* down */
        child += child < d->heap_count &&
                 d->heap[child + 1]->record.stamp > d->heap[child]->record.stamp;
        if (d->heap[child]->record.stamp < last->record.stamp) {
            break;
        }
        heap_set(d, at, d->heap[child]);
        at = child;
    }
    heap_up(d, at, last);
}

/* ---- runs ---------------------------------------------------------------------------------- */

static weiri_stretch *stretch_of(weiri_record *record)
{
    return (weiri_stretch *)(void *)record;
}

static void run_free(weiri_distance *d, weiri_stretch *run)
{
    heap_remove(d, run);
    weiri_idle_remove(&d->idle, &run->record);
    run->record.next = d->free;
    d->free = &run->record;
}

/* Only the hole of a run remains: it is added to the hole of the run below; under the lowest run
 * a hole has no meaning. */
static void run_empty(weiri_distance *d, weiri_stretch *run)
{
    weiri_record *older = run->record.older;
    uint64_t hole = run->hole;
    sums_add(d, run->record.stamp, 0 - hole);
    run_free(d, run);
    if (older != NULL && hole > 0) {
        stretch_of(older)->hole += hole;
        sums_add(d, older->stamp, hole);
        heap_add(d, stretch_of(older));
    }
}

/* Positions from 1 again, lowest first; the order is kept. */
static void renumber(weiri_distance *d)
{
    memset(d->sums, 0, (positions(d) + 1) * sizeof *d->sums);
    d->total = 0;
    d->idle.stamp = 0;
    for (weiri_record *at = d->idle.oldest; at != NULL; at = at->newer) {
        weiri_stretch *run = stretch_of(at);
        at->stamp = ++d->idle.stamp;
        sums_add(d, at->stamp, run->count * at->asked + run->hole);
    }
}

/* Forgets the lowest quarter: nothing above it depends on it. */
static void forget(weiri_distance *d)
{
    for (size_t i = 0; i < d->room / 4 && d->idle.oldest != NULL; i++) {
        weiri_stretch *run = stretch_of(d->idle.oldest);
        sums_add(d, run->record.stamp, 0 - (run->count * run->record.asked + run->hole));
        run_free(d, run);
        d->forgotten++;
    }
}

static void run_push(weiri_distance *d, uint64_t size, uint64_t count)
{
    weiri_record *top = d->idle.newest;
    if (top == NULL || top->asked != size || stretch_of(top)->hole > 0) {
        if (d->free == NULL) {
            forget(d);
        }
        if (d->idle.stamp == positions(d)) {
            renumber(d);
        }
        top = d->free;
        d->free = top->next;
        weiri_stretch *run = stretch_of(top);
        memset(run, 0, sizeof *run);
        top->asked = (size_t)size;
        weiri_idle_add(&d->idle, top);
    }
    stretch_of(top)->count += count;
    sums_add(d, top->stamp, size * count);
}

/* The distance of the lowest of the topmost `count` buffers of a run. */
static uint64_t depth(const weiri_distance *d, const weiri_stretch *run, uint64_t count)
{
    return above(d, run) + run->hole + run->record.asked * count;
}

static void run_pop(weiri_distance *d, weiri_stretch *run, uint64_t count)
{
    run->count -= count;
    run->hole += run->record.asked * count;
    if (run->count == 0) {
        run_empty(d, run);
    } else {
        heap_add(d, run);
    }
}

/* Number of sizes examined for one allocation, best fits first. */
#define SIZES_MOST 64

/* ---- calls --------------------------------------------------------------------------------- */

#define RUN_BYTES (sizeof(weiri_stretch) + sizeof(weiri_stretch *) + 2 * sizeof(uint64_t))
/* heap and sums are indexed from 1 */
#define ONE_MORE (sizeof(weiri_stretch *) + sizeof(uint64_t))

size_t weiri_distance_bytes(size_t runs)
{
    return runs * RUN_BYTES + ONE_MORE;
}

size_t weiri_distance_runs(size_t bytes)
{
    return (bytes - ONE_MORE) / RUN_BYTES;
}

void weiri_distance_init(weiri_distance *d, const weiri_policy *policy, void *memory, size_t runs)
{
    memset(d, 0, sizeof *d);
    memset(memory, 0, weiri_distance_bytes(runs));
    d->policy = policy;
    d->limit = WEIR_NO_LIMIT;
    d->shapeless = policy != NULL && policy->ops->serves == NULL;
    d->room = runs;
    d->runs = memory;
    d->sums = (uint64_t *)(void *)(d->runs + runs);
    d->heap = (weiri_stretch **)(void *)(d->sums + 2 * runs + 1);
    for (size_t i = runs; i-- > 0;) {
        d->runs[i].record.next = d->free;
        d->free = &d->runs[i].record;
    }
}

static uint64_t take_bytes(weiri_distance *d, uint64_t bytes)
{
    uint64_t distance = WEIRI_DISTANCE_NEVER;
    while (bytes > 0) {
        weiri_record *record = weiri_tree_find(&d->idle.tree, 1);
        if (record == NULL) {
            return WEIRI_DISTANCE_NEVER;
        }
        weiri_stretch *run = stretch_of(record);
        uint64_t count = run->count < bytes ? run->count : bytes;
        distance = depth(d, run, count);
        run_pop(d, run, count);
        bytes -= count;
    }
    return distance;
}

uint64_t weiri_distance_take(weiri_distance *d, uint64_t charged, uint64_t *ret_size)
{
    *ret_size = charged;
    if (d->shapeless) {
        return take_bytes(d, charged);
    }
    uint64_t most = d->policy != NULL ? d->policy->ops->serves(d->policy, charged) : charged;
    weiri_record *record = weiri_tree_find(&d->idle.tree, (size_t)charged);
    weiri_record *topmost = NULL, *best = NULL;
    for (int i = 0; i < SIZES_MOST && record != NULL && record->asked <= most; i++) {
        if (best == NULL &&
            (d->limit == WEIR_NO_LIMIT || depth(d, stretch_of(record), 1) <= d->limit)) {
            best = record;
        }
        topmost = topmost == NULL || record->stamp > topmost->stamp ? record : topmost;
        record = weiri_tree_find(&d->idle.tree, record->asked + 1);
    }
    if (topmost == NULL) {
        return WEIRI_DISTANCE_NEVER;
    }
    uint64_t distance = depth(d, stretch_of(topmost), 1);
    best = best != NULL ? best : topmost;
    *ret_size = best->asked;
    run_pop(d, stretch_of(best), 1);
    return distance;
}

void weiri_distance_give(weiri_distance *d, uint64_t charged)
{
    /* 1. The topmost holes are filled: the depth of what is below them does not change. */
    for (uint64_t left = charged; left > 0 && d->heap_count > 0;) {
        weiri_stretch *run = d->heap[1];
        uint64_t bytes = run->hole < left ? run->hole : left;
        run->hole -= bytes;
        left -= bytes;
        sums_add(d, run->record.stamp, 0 - bytes);
        if (run->hole == 0) {
            heap_remove(d, run);
        }
    }
    /* 2. It is pushed on top. */
    if (d->shapeless) {
        run_push(d, 1, charged);
    } else {
        run_push(d, charged, 1);
    }
}
