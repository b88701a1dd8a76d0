/* SPDX-License-Identifier: MIT
 *
 * runs.c: runs of policy `pages`: splitting, joining, and carving a claim out of them. pages.c
 * chooses the run for a request, granules.c commits granules.
 */
#include "cache/pages/pages.h"

/* ---- neighbours ---------------------------------------------------------------------------- */

static weiri_granule *granule_of_start(weiri_pages *p, const weiri_record *run)
{
    return weiri_granule_of(weiri_space_of(p, run), weiri_run_start(run));
}

static void link_run(weiri_pages *p, weiri_record *run, weiri_record *below, weiri_record *above)
{
    run->below = below;
    run->above = above;
    if (below != NULL) {
        below->above = run;
    }
    if (above != NULL) {
        above->below = run;
    }
    weiri_granule *granule = granule_of_start(p, run);
    if (granule->first == NULL || weiri_run_start(run) < weiri_run_start(granule->first)) {
        granule->first = run;
    }
}

static void unlink_run(weiri_pages *p, weiri_record *run)
{
    weiri_granule *granule = granule_of_start(p, run);
    weiri_record *above = run->above;
    if (granule->first == run) {
        bool next = above != NULL && granule_of_start(p, above) == granule;
        granule->first = next ? above : NULL;
    }
    if (run->below != NULL) {
        run->below->above = above;
    }
    if (above != NULL) {
        above->below = run->below;
    }
}

/* A granule's own record has no slab: it is just unused. */
static void let_go(weiri_pages *p, weiri_record *run)
{
    if (run->slab != NULL) {
        weiri_records_put(p->policy.records, run);
    }
}

static void set_start(weiri_pages *p, weiri_record *run, char *start)
{
    weiri_record *below = run->below, *above = run->above;
    size_t bytes = (size_t)(weiri_run_end(run) - start);
    unlink_run(p, run);
    run->buffer.memory = start;
    run->buffer.bytes = bytes;
    link_run(p, run, below, above);
}

/* ---- cutting and joining ------------------------------------------------------------------- */

static weiri_tree *tree_of(weiri_pages *p, const weiri_record *run)
{
    weiri_grain *grain = weiri_space_of(p, run)->grain;
    return run->kind == WEIRI_RUN_FREE      ? &grain->ready
           : run->kind == WEIRI_RUN_NURSERY ? &grain->nursery
                                            : &grain->none;
}

static void enter(weiri_pages *p, weiri_record *run)
{
    run->asked = run->buffer.bytes;
    /* of equal ones the lowest address: memory in use stays together */
    run->stamp = (uintptr_t)weiri_run_start(run);
    weiri_tree_insert(tree_of(p, run), run);
}

void weiri_run_lift(weiri_pages *p, weiri_record *run)
{
    weiri_tree_remove(tree_of(p, run), run);
}

weiri_record *weiri_run_split(weiri_pages *p, weiri_record *run, char *at, weiri_record *spare)
{
    weiri_space *space = weiri_space_of(p, run);
    weiri_record *upper =
        weiri_at_granule(space, at) ? &weiri_granule_of(space, at)->record : spare;
    upper->buffer.memory = at;
    upper->buffer.bytes = (size_t)(weiri_run_end(run) - at);
    upper->kind = run->kind;
    upper->space = run->space;
    run->buffer.bytes = (size_t)(at - weiri_run_start(run));
    link_run(p, upper, run, run->above);
    return upper;
}

void weiri_run_join(weiri_pages *p, weiri_record *lower, weiri_record *upper)
{
    lower->buffer.bytes += upper->buffer.bytes;
    unlink_run(p, upper);
    let_go(p, upper);
}

weiri_record *weiri_run_free(weiri_pages *p, weiri_record *run, weiri_run_kind kind)
{
    run->kind = (uint8_t)kind;
    weiri_record *below = run->below, *above = run->above;
    if (above != NULL && above->kind == kind) {
        weiri_run_lift(p, above);
        weiri_run_join(p, run, above);
    }
    if (below != NULL && below->kind == kind) {
        weiri_run_lift(p, below);
        weiri_run_join(p, below, run);
        run = below;
    }
    enter(p, run);
    return run;
}

weiri_run_kind weiri_run_zone(const weiri_pages *p, const weiri_record *run)
{
    const weiri_space *space = &p->spaces[run->space];
    bool small = weiri_granule_of(space, weiri_run_start(run))->small != 0;
    return small ? WEIRI_RUN_NURSERY : WEIRI_RUN_FREE;
}

void weiri_runs_join_front(weiri_pages *p)
{
    weiri_record *list = weiri_front_drain(&p->front);
    while (list != NULL) {
        weiri_record *next = list->next;
        weiri_run_free(p, list, weiri_run_zone(p, list));
        list = next;
    }
}

/* Searches downwards for a granule in which a run begins: granules are few compared with bytes,
 * and those searched for (the least recently used) mostly are at the end of a run. */
weiri_record *weiri_run_covering(weiri_space *space, weiri_granule *granule)
{
    char *start = weiri_granule_start(space, granule);
    if (granule->first != NULL && weiri_run_start(granule->first) == start) {
        return granule->first;
    }
    do {
        granule--; /* a run begins at the space's start */
    } while (granule->first == NULL);
    weiri_record *run = granule->first;
    while (weiri_run_end(run) <= start) {
        run = run->above;
    }
    return run;
}

void weiri_run_append(weiri_pages *p, weiri_space *space, char *start, char *end)
{
    weiri_granule *granule = weiri_granule_of(space, start);
    weiri_record *last = NULL;
    if (granule > space->table) {
        last = weiri_run_covering(space, granule - 1);
        while (last->above != NULL) {
            last = last->above;
        }
    }
    weiri_record *run = &granule->record;
    run->space = (uint16_t)(space - p->spaces);
    run->buffer.memory = start;
    run->buffer.bytes = (size_t)(end - start);
    link_run(p, run, last, NULL);
    weiri_run_free(p, run, WEIRI_RUN_NONE);
}

/* ---- an idle granule ----------------------------------------------------------------------- */

/* The space whose table contains a granule. */
static weiri_space *space_of_granule(weiri_pages *p, const weiri_granule *granule)
{
    weiri_space *space = p->spaces;
    while (granule < space->table || granule >= space->table + space->used) {
        space++;
    }
    return space;
}

weiri_record *weiri_run_cut_out(weiri_pages *p, weiri_granule *granule)
{
    weiri_space *space = space_of_granule(p, granule);
    char *start = weiri_granule_start(space, granule), *end = start + space->granule;
    weiri_record *run = weiri_run_covering(space, granule);
    while (run != NULL && weiri_run_start(run) < end) {
        if (run->kind == WEIRI_RUN_QUICK) {
            weiri_front_remove(&p->front, run);
            run = weiri_run_free(p, run, weiri_run_zone(p, run));
        }
        run = run->above;
    }
    run = weiri_run_covering(space, granule);
    weiri_run_kind kind = run->kind;
    weiri_run_lift(p, run);
    run->kind = WEIRI_RUN_LEAVING; /* must not be joined with the part that was split off */
    if (weiri_run_end(run) > end) {
        weiri_run_free(p, weiri_run_split(p, run, end, NULL), kind);
    }
    if (weiri_run_start(run) < start) {
        weiri_record *upper = weiri_run_split(p, run, start, NULL);
        weiri_run_free(p, run, kind);
        run = upper;
    }
    weiri_granule_set_small(p, granule, false);
    return run;
}

/* ---- claims -------------------------------------------------------------------------------- */

static char *round_down(const weiri_space *space, const char *at)
{
    return space->base + ((size_t)(at - space->base) & ~(space->granule - 1));
}

static char *round_up(const weiri_space *space, const char *at)
{
    return round_down(space, at + space->granule - 1);
}

void weiri_run_carve(weiri_pages *p,
                     weiri_record *first,
                     char *start,
                     size_t bytes,
                     weiri_record *record,
                     weiri_record *spare)
{
    weiri_space *space = weiri_space_of(p, first);
    char *end = start + bytes;
    /* 1. The end of the claim: whole granules if they are not committed. */
    weiri_record *last = first;
    while (weiri_run_end(last) < end) {
        last = last->above;
    }
    char *low = first->kind == WEIRI_RUN_NONE ? round_down(space, start) : start;
    char *high = last->kind == WEIRI_RUN_NONE ? round_up(space, end) : end;
    /* 2. The rest above and below stays free. */
    weiri_run_lift(p, last);
    if (high < weiri_run_end(last)) {
        weiri_record *rest = weiri_run_split(p, last, high, spare);
        spare = rest == spare ? NULL : spare;
        enter(p, rest);
    }
    weiri_record *above = last->above;
    if (first != last) {
        weiri_run_lift(p, first);
    }
    weiri_record *below = first->below, *gone = first;
    if (low > weiri_run_start(first)) {
        gone = first->above;
        if (first == last) {
            gone = above;
        }
        first->buffer.bytes = (size_t)(low - weiri_run_start(first));
        enter(p, first);
        below = first;
    }
    /* 3. The runs in between are removed, and the claim takes their place. */
    while (gone != above) {
        weiri_record *next = gone->above;
        if (gone != first && gone != last) {
            weiri_run_lift(p, gone);
        }
        unlink_run(p, gone);
        let_go(p, gone);
        gone = next;
    }
    record->buffer.memory = low;
    record->buffer.bytes = (size_t)(high - low);
    record->space = (uint16_t)(space - p->spaces);
    record->asked = bytes;
    record->stamp = (size_t)(start - low);
    record->kind = WEIRI_RUN_CLAIMED;
    record->next = spare; /* settle may need it */
    link_run(p, record, below, above);
}

void weiri_run_settle(weiri_pages *p, weiri_record *record)
{
    weiri_record *spare = record->next;
    char *start = weiri_run_start(record) + record->stamp;
    char *end = start + record->asked;
    record->next = NULL;
    record->kind = WEIRI_RUN_LIVE;
    if (end < weiri_run_end(record)) {
        weiri_record *rest = weiri_run_split(p, record, end, spare);
        spare = rest == spare ? NULL : spare;
        weiri_run_free(p, rest, weiri_run_zone(p, rest));
    }
    if (record->stamp > 0) { /* only whole granules are claimed beyond need, so it begins at one */
        weiri_space *space = weiri_space_of(p, record);
        char *low = weiri_run_start(record);
        weiri_record *below = record->below;
        set_start(p, record, start);
        weiri_record *rest = &weiri_granule_of(space, low)->record;
        rest->space = record->space;
        rest->buffer.memory = low;
        rest->buffer.bytes = (size_t)(start - low);
        link_run(p, rest, below, record);
        weiri_run_free(p, rest, weiri_run_zone(p, rest));
    }
    if (spare != NULL) {
        weiri_records_put(p->policy.records, spare);
    }
}

void weiri_run_uncarve(weiri_pages *p, weiri_record *record)
{
    weiri_space *space = weiri_space_of(p, record);
    weiri_record *spare = record->next;
    char *at = weiri_run_start(record), *end = weiri_run_end(record);
    weiri_record *run = record;
    while (run != NULL) {
        bool ready = weiri_granule_of(space, at)->state == WEIRI_GRANULE_READY;
        do {
            at = round_down(space, at) + space->granule;
        } while (at < end && (weiri_granule_of(space, at)->state == WEIRI_GRANULE_READY) == ready);
        weiri_record *rest = at < end ? weiri_run_split(p, run, at, NULL) : NULL;
        weiri_run_free(p, run, ready ? weiri_run_zone(p, run) : WEIRI_RUN_NONE);
        run = rest;
    }
    if (spare != NULL) {
        weiri_records_put(p->policy.records, spare);
    }
}
