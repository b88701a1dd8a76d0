/* SPDX-License-Identifier: MIT
 *
 * choose.c: policy `pages`: chooses the free run that serves a request for which no stack has a
 * run: best fit, and fresh granules if there are too few committed bytes. It claims nothing (runs.c
 * does) and uses no sums of the core.
 */
#include "cache/pages/pages.h"

/* The smallest run of fresh granules. */
static bool choose_alone(const weiri_grain *grain, size_t bytes, weiri_spot *ret_spot)
{
    weiri_record *fresh = weiri_tree_find(&grain->none, bytes);
    if (fresh != NULL) {
        *ret_spot = (weiri_spot){fresh, weiri_run_start(fresh)};
    }
    return fresh != NULL;
}

/* A run of fresh granules next to free bytes that are too few by themselves: both are used, so
 * that held does not exceed live by remainders (without this, the held peak of the stall stream
 * was 5 % above the live peak). First the largest free run with a fresh neighbour; else the
 * smallest fresh one. */
static bool choose_beside(const weiri_grain *grain, size_t bytes, weiri_spot *ret_spot)
{
    weiri_record *largest = grain->ready.root;
    while (largest != NULL && largest->right != NULL) {
        largest = largest->right;
    }
    if (largest != NULL) {
        weiri_record *above = largest->above, *below = largest->below;
        size_t lacking = bytes - largest->buffer.bytes;
        if (above != NULL && above->kind == WEIRI_RUN_NONE && above->buffer.bytes >= lacking) {
            *ret_spot = (weiri_spot){largest, weiri_run_start(largest)};
            return true;
        }
        if (below != NULL && below->kind == WEIRI_RUN_NONE && below->buffer.bytes >= lacking) {
            *ret_spot = (weiri_spot){below, weiri_run_end(largest) - bytes};
            return true;
        }
    }
    if (!choose_alone(grain, bytes, ret_spot)) {
        return false;
    }
    weiri_record *below = ret_spot->first->below;
    if (below != NULL && below->kind == WEIRI_RUN_FREE) {
        *ret_spot = (weiri_spot){below, weiri_run_start(below)};
    }
    return true;
}

/* Bytes of granules with a byte in use. Counted only when a commit follows, which takes a
 * thousand times as long: maintaining a sum would be a cost in the hot path. */
static uint64_t live_bytes(const weiri_space *space)
{
    uint64_t live = 0;
    for (size_t i = 0; i < space->used; i++) {
        live += space->table[i].live_units > 0 ? space->granule : 0;
    }
    return live;
}

/* Fine granules for memory that may be kept after it is freed, coarse ones for the rest. */
static bool choose_fresh(weiri_pages *p, size_t bytes, weiri_spot *ret_spot)
{
    bool (*in)(const weiri_grain *, size_t, weiri_spot *) =
        bytes <= p->small_max ? choose_alone : choose_beside;
    const weiri_grain *fine = &p->grains[WEIRI_FINE], *coarse = &p->grains[WEIRI_COARSE];
    uint64_t limit = p->policy.cache_limit;
    if (limit < coarse->granule && in(fine, bytes, ret_spot)) {
        const weiri_space *space = weiri_space_of(p, ret_spot->first);
        if (live_bytes(space) + weiri_granules_missing(space, ret_spot->start, bytes) <= limit) {
            return true;
        }
    }
    return in(coarse, bytes, ret_spot);
}

/* Free bytes that are committed, if they suffice. */
static weiri_record *find_ready(const weiri_pages *p, size_t bytes)
{
    weiri_record *run = weiri_tree_find(&p->grains[WEIRI_FINE].ready, bytes);
    return run != NULL ? run : weiri_tree_find(&p->grains[WEIRI_COARSE].ready, bytes);
}

static weiri_record *find_nursery(const weiri_pages *p, size_t bytes)
{
    weiri_record *run = weiri_tree_find(&p->grains[WEIRI_FINE].nursery, bytes);
    return run != NULL ? run : weiri_tree_find(&p->grains[WEIRI_COARSE].nursery, bytes);
}

/* Granules that served small requests and are idle now can serve any. */
static void end_nurseries(weiri_pages *p)
{
    if (p->small_granules == 0) {
        return;
    }
    for (weiri_granule *granule = p->oldest; granule != NULL; granule = granule->newer) {
        if (granule->small != 0) {
            weiri_run_free(p, weiri_run_cut_out(p, granule), WEIRI_RUN_FREE);
        }
    }
}

/* Small buffers share granules of their own. Between large buffers each long-lived small one
 * would keep a granule: 400 of 5 KiB, one per message of the stall stream, kept 37 MiB; this way
 * they keep 4. */
static bool choose_small(weiri_pages *p, size_t bytes, weiri_spot *ret_spot)
{
    weiri_record *run = find_nursery(p, bytes);
    if (run == NULL && p->front.count > 0) {
        weiri_runs_join_front(p);
        run = find_nursery(p, bytes);
    }
    if (run == NULL && p->oldest != NULL) {
        weiri_granule *granule = p->oldest;
        run = weiri_run_cut_out(p, granule);
        weiri_granule_set_small(p, granule, true);
        run = weiri_run_free(p, run, WEIRI_RUN_NURSERY);
    }
    if (run == NULL) {
        return choose_fresh(p, bytes, ret_spot);
    }
    *ret_spot = (weiri_spot){run, weiri_run_start(run)};
    return true;
}

bool weiri_pages_choose(weiri_pages *p, size_t bytes, weiri_spot *ret_spot)
{
    if (bytes <= p->small_max) {
        return choose_small(p, bytes, ret_spot);
    }
    if (p->front.count > 0) {
        weiri_runs_join_front(p);
    }
    weiri_record *run = find_ready(p, bytes);
    if (run == NULL) {
        end_nurseries(p);
        run = find_ready(p, bytes);
    }
    if (run == NULL) {
        return choose_fresh(p, bytes, ret_spot);
    }
    *ret_spot = (weiri_spot){run, weiri_run_start(run)};
    return true;
}
