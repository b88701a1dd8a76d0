/* SPDX-License-Identifier: MIT
 *
 * pages_check.c: verifies the structure of policy `pages`, for weir_cache_check. It trusts no
 * counter: it follows runs by address, counts the units of each granule again, and compares trees,
 * stacks, slabs and the order of use with them. It changes nothing.
 */
#include "cache/pages/pages.h"

typedef struct found_grain {
    uint64_t free_runs, nursery_runs, none_runs;
} found_grain;

typedef struct found {
    found_grain grains[WEIRI_GRAINS];
    uint64_t live, live_units; /* bytes of granules; units; claimed ones too, as in pinned_bytes */
    uint64_t ready_live, ready_idle; /* bytes */
    uint64_t idle_granules, quick_runs;
    uint64_t small_granules;
    uint64_t slabs_open[WEIRI_SMALL_CLASSES];
    uint64_t small_places; /* taken */
} found;

static weir_err broken(const char *what, const void *at)
{
    return weiri_fail(WEIR_E_INTERNAL, "pages: %s (%p)", what, at);
}

static weir_err check_run(weiri_pages *p, const weiri_record *run, found *f)
{
    const weiri_record *above = run->above;
    found_grain *grain = &f->grains[weiri_space_of(p, run)->grain - p->grains];
    switch ((weiri_run_kind)run->kind) {
    case WEIRI_RUN_SLAB:
        f->slabs_open[run->priority] += run->buffer.charged != 0;
        f->small_places += (uint64_t)__builtin_popcountll(weiri_slab_places(run)) -
                           (uint64_t)__builtin_popcountll(run->buffer.charged);
        if ((run->buffer.charged & ~weiri_slab_places(run)) != 0 ||
            run->buffer.charged == weiri_slab_places(run) || run->buffer.bytes != WEIRI_UNIT) {
            return broken("a slab is out of order", run);
        }
        break;
    case WEIRI_RUN_LIVE:
        if (run->buffer.charged != run->buffer.bytes || run->asked != run->buffer.bytes) {
            return broken("a live run is charged wrongly", run);
        }
        break;
    case WEIRI_RUN_QUICK:
        f->quick_runs++;
        if (!weiri_front_has(&p->front, run)) {
            return broken("a run is not in its stack", run);
        }
        break;
    case WEIRI_RUN_FREE:
    case WEIRI_RUN_NURSERY:
    case WEIRI_RUN_NONE:
        grain->nursery_runs += run->kind == WEIRI_RUN_NURSERY;
        grain->free_runs += run->kind == WEIRI_RUN_FREE;
        grain->none_runs += run->kind == WEIRI_RUN_NONE;
        if (above != NULL && above->kind == run->kind) {
            return broken("two free runs are not joined", run);
        }
        if (run->asked != run->buffer.bytes || run->stamp != (uintptr_t)run->buffer.memory) {
            return broken("a free run's key is wrong", run);
        }
        break;
    case WEIRI_RUN_CLAIMED:
    case WEIRI_RUN_LEAVING:
        break;
    case WEIRI_RUN_SMALL:
        return broken("a small buffer stands among runs", run);
    }
    return WEIR_OK;
}

/* The part of a granule [start, end) that a run uses, and whether the granule's state allows the
 * run there. */
static weir_err check_part(const weiri_pages *p,
                           const weiri_record *run,
                           const weiri_granule *granule,
                           const char *start,
                           const char *end,
                           uint32_t *units)
{
    static const bool allowed[][4] = {
        /* granule:           none   committing ready  leaving */
        [WEIRI_RUN_LIVE] = {false, false, true, false},
        [WEIRI_RUN_SLAB] = {false, false, true, false},
        [WEIRI_RUN_CLAIMED] = {false, true, true, false},
        [WEIRI_RUN_QUICK] = {false, false, true, false},
        [WEIRI_RUN_FREE] = {false, false, true, false},
        [WEIRI_RUN_NURSERY] = {false, false, true, false},
        [WEIRI_RUN_NONE] = {true, false, false, false},
        [WEIRI_RUN_LEAVING] = {false, false, false, true},
    };
    bool misplaced = (run->kind == WEIRI_RUN_FREE && granule->small != 0) ||
                     (run->kind == WEIRI_RUN_NURSERY && granule->small != 1) ||
                     (granule->small != 0 && run->buffer.bytes > p->small_max &&
                      (run->kind == WEIRI_RUN_LIVE || run->kind == WEIRI_RUN_QUICK));
    if (misplaced || !allowed[run->kind][granule->state]) {
        return broken("a granule's state is not that of a run in it", granule);
    }
    const char *from = weiri_run_start(run), *to = weiri_run_end(run);
    bool used = run->kind == WEIRI_RUN_LIVE || run->kind == WEIRI_RUN_SLAB;
    if (run->kind == WEIRI_RUN_CLAIMED) {
        used = true;
        from += run->stamp;
        to = from + run->asked;
    }
    from = from > start ? from : start;
    to = to < end ? to : end;
    *units += used && to > from ? (uint32_t)((size_t)(to - from) / WEIRI_UNIT) : 0;
    return WEIR_OK;
}

static weir_err check_granule(weiri_pages *p,
                              weiri_space *space,
                              const weiri_granule *granule,
                              const weiri_record **run,
                              found *f)
{
    const size_t whole = space->granule;
    const char *start = weiri_granule_start(space, granule), *end = start + whole;
    const weiri_record *first = NULL;
    uint32_t units = 0;
    for (const weiri_record *at = *run; at != NULL && weiri_run_start(at) < end; at = at->above) {
        if (weiri_run_start(at) >= start) {
            first = first != NULL ? first : at;
            weir_err err = check_run(p, at, f);
            if (err != WEIR_OK) {
                return err;
            }
        }
        weir_err err = check_part(p, at, granule, start, end, &units);
        if (err != WEIR_OK) {
            return err;
        }
        *run = at;
        if (at->above != NULL &&
            (at->above->below != at || weiri_run_end(at) != weiri_run_start(at->above))) {
            return broken("runs do not follow each other", at);
        }
        if (weiri_run_end(at) > end) {
            break;
        }
    }
    while (*run != NULL && weiri_run_end(*run) <= end) {
        *run = (*run)->above;
    }
    if (granule->first != first || granule->live_units != units) {
        return broken("a granule's first run or live units are wrong", granule);
    }
    bool ready = granule->state == WEIRI_GRANULE_READY;
    f->live += units > 0 ? whole : 0;
    f->small_granules += granule->small;
    f->live_units += units;
    f->ready_live += ready && units > 0 ? whole : 0;
    f->ready_idle += ready && units == 0 ? whole : 0;
    f->idle_granules += ready && units == 0;
    return WEIR_OK;
}

static weir_err check_space(weiri_pages *p, weiri_space *space, found *f)
{
    const weiri_record *run = space->table[0].first;
    if (run == NULL || weiri_run_start(run) != space->base || run->below != NULL) {
        return broken("a space does not begin with a run", space);
    }
    for (size_t i = 0; i < space->used; i++) {
        if (run == NULL) {
            return broken("a space is not covered by runs", space);
        }
        weir_err err = check_granule(p, space, &space->table[i], &run, f);
        if (err != WEIR_OK) {
            return err;
        }
    }
    return run == NULL ? WEIR_OK : broken("runs go on behind a space", run);
}

/* The depth depends on the priorities, about 3 log2(n). */
#define DEPTH_MAX 400

static weir_err check_tree(const weiri_record *at, weiri_run_kind kind, int depth, uint64_t *count)
{
    if (at == NULL) {
        return WEIR_OK;
    }
    const weiri_record *left = at->left, *right = at->right;
    if (depth > DEPTH_MAX || at->kind != kind || (left != NULL && left->asked > at->asked) ||
        (right != NULL && right->asked < at->asked)) {
        return broken("a tree is out of order", at);
    }
    (*count)++;
    weir_err err = check_tree(left, kind, depth + 1, count);
    return err == WEIR_OK ? check_tree(right, kind, depth + 1, count) : err;
}

static weir_err check_grain(const weiri_grain *grain, const found_grain *f)
{
    uint64_t ready = 0, nursery = 0, none = 0;
    weir_err err = check_tree(grain->ready.root, WEIRI_RUN_FREE, 0, &ready);
    if (err == WEIR_OK) {
        err = check_tree(grain->nursery.root, WEIRI_RUN_NURSERY, 0, &nursery);
    }
    if (err == WEIR_OK) {
        err = check_tree(grain->none.root, WEIRI_RUN_NONE, 0, &none);
    }
    if (err != WEIR_OK) {
        return err;
    }
    bool all = ready == f->free_runs && nursery == f->nursery_runs && none == f->none_runs;
    return all ? WEIR_OK : broken("a tree does not hold all free runs", grain);
}

static weir_err check_lists(weiri_pages *p, const found *f)
{
    uint64_t idle = 0;
    const weiri_granule *newer = NULL;
    for (const weiri_granule *at = p->newest; at != NULL && idle <= f->idle_granules;
         at = at->older) {
        if (at->newer != newer || at->live_units != 0 || at->state != WEIRI_GRANULE_READY) {
            return broken("the order of use is broken", at);
        }
        newer = at;
        idle++;
    }
    if (newer != p->oldest || idle != f->idle_granules) {
        return broken("the order of use does not hold all idle granules", newer);
    }
    for (size_t i = 0; i < WEIRI_GRAINS; i++) {
        weir_err err = check_grain(&p->grains[i], &f->grains[i]);
        if (err != WEIR_OK) {
            return err;
        }
    }
    if (p->small_granules != f->small_granules || p->front.count != f->quick_runs) {
        return broken("the stacks do not hold all free runs", p);
    }
    for (size_t class = 0; class < WEIRI_SMALL_CLASSES; class ++) {
        uint64_t open = 0;
        for (const weiri_record *slab = p->slabs[class];
             slab != NULL && open <= f->slabs_open[class]; slab = slab->right) {
            open++;
        }
        if (open != f->slabs_open[class]) {
            return broken("a list of slabs does not hold all that have a place", p->slabs[class]);
        }
    }
    return WEIR_OK;
}

/* Every small buffer has its own place: as many as are used, none twice. */
static weir_err check_small(const weiri_pages *p, const found *f)
{
    uint64_t small = 0;
    for (const weiri_slab *slab = p->policy.records->slabs; slab != NULL; slab = slab->next) {
        for (uint32_t i = 0; i < slab->count; i++) {
            const weiri_record *record = &slab->records[i];
            if (record->state == WEIRI_RECORD_FREE || record->kind != WEIRI_RUN_SMALL) {
                continue;
            }
            const weiri_record *run = record->left;
            if (run->kind == WEIRI_RUN_CLAIMED) {
                continue;
            }
            small++;
            if (run->kind != WEIRI_RUN_SLAB || (run->buffer.charged >> record->stamp & 1) != 0 ||
                (char *)record->buffer.memory !=
                    weiri_run_start(run) + record->stamp * record->buffer.bytes) {
                return broken("a small buffer is not where its slab says", record);
            }
        }
    }
    return small == f->small_places ? WEIR_OK : broken("places are taken without a buffer", p);
}

weir_err weiri_pages_check(weiri_policy *policy, uint64_t *ret_live, uint64_t *ret_idle)
{
    weiri_pages *p = weiri_pages_of(policy);
    found f = {0};
    weir_err err = WEIR_OK;
    for (uint32_t i = 0; i < p->space_count && err == WEIR_OK; i++) {
        err = check_space(p, &p->spaces[i], &f);
    }
    err = err == WEIR_OK ? check_lists(p, &f) : err;
    err = err == WEIR_OK ? check_small(p, &f) : err;
    if (err != WEIR_OK) {
        return err;
    }
    if (policy->pinned_bytes != f.live - f.live_units * WEIRI_UNIT) {
        return broken("pinned bytes are counted wrongly", p);
    }
    *ret_live = f.ready_live;
    *ret_idle = f.ready_idle;
    return WEIR_OK;
}
