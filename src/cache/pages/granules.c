/* SPDX-License-Identifier: MIT
 *
 * granules.c: granules of policy `pages`: which are live or idle and in what order of use,
 * committing and decommitting; and the spaces and tables that contain them.
 */
#include "cache/pages/pages.h"

#include <string.h>

/* ---- order of use -------------------------------------------------------------------------- */

void weiri_granule_idle(weiri_pages *p, weiri_granule *granule, bool first_to_go)
{
    if (first_to_go) {
        granule->older = NULL;
        granule->newer = p->oldest;
        *(p->oldest != NULL ? &p->oldest->older : &p->newest) = granule;
        p->oldest = granule;
        return;
    }
    granule->newer = NULL;
    granule->older = p->newest;
    *(p->newest != NULL ? &p->newest->newer : &p->oldest) = granule;
    p->newest = granule;
}

void weiri_granule_not_idle(weiri_pages *p, weiri_granule *granule)
{
    *(granule->newer != NULL ? &granule->newer->older : &p->newest) = granule->older;
    *(granule->older != NULL ? &granule->older->newer : &p->oldest) = granule->newer;
}

void weiri_granule_set_small(weiri_pages *p, weiri_granule *granule, bool small)
{
    p->small_granules += (uint64_t)small - granule->small;
    granule->small = small;
}

/* ---- live and idle ------------------------------------------------------------------------- */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Bytes from an address to the end of its granule. */
static inline size_t room_at(const weiri_space *space, const char *start)
{
    size_t granule = space->granule;
    return granule - ((size_t)(start - space->base) & (granule - 1));
}

/* A part of a run, within one granule: most runs have only one. Returns how many bytes were
 * idle. */
static inline uint64_t
use_part(weiri_pages *p, weiri_granule *granule, size_t whole, size_t bytes, uint64_t *from_heap)
{
    uint32_t others = granule->live_units;
    granule->live_units = others + (uint32_t)(bytes / WEIRI_UNIT);
    if (others > 0) {
        return 0;
    }
    if (granule->state == WEIRI_GRANULE_READY) {
        weiri_granule_not_idle(p, granule);
        return whole;
    }
    granule->state = WEIRI_GRANULE_COMMITTING;
    *from_heap += whole;
    return 0;
}

uint64_t weiri_granules_use(
    weiri_pages *p, weiri_space *space, char *start, size_t bytes, uint64_t *ret_from_heap)
{
    weiri_granule *granule = weiri_granule_of(space, start);
    size_t whole = space->granule, part = least(bytes, room_at(space, start));
    uint64_t from_heap = 0, from_idle = use_part(p, granule, whole, part, &from_heap);
    for (size_t left = bytes - part; left > 0; left -= part) {
        part = least(left, whole);
        from_idle += use_part(p, ++granule, whole, part, &from_heap);
    }
    p->policy.pinned_bytes += from_idle + from_heap - bytes;
    *ret_from_heap = from_heap;
    return from_idle;
}

/* The opposite; returns how many bytes became idle. `gone`: they were never committed after all. */
static inline uint64_t unuse_part(weiri_pages *p,
                                  weiri_granule *granule,
                                  size_t whole,
                                  size_t bytes,
                                  bool first_to_go,
                                  uint64_t *gone)
{
    granule->live_units -= (uint32_t)(bytes / WEIRI_UNIT);
    if (granule->live_units > 0) {
        return 0;
    }
    if (granule->state == WEIRI_GRANULE_READY) {
        weiri_granule_idle(p, granule, first_to_go);
        return whole;
    }
    granule->state = WEIRI_GRANULE_NONE;
    weiri_granule_set_small(p, granule, false);
    *gone += whole;
    return 0;
}

uint64_t weiri_granules_unuse(
    weiri_pages *p, weiri_space *space, char *start, size_t bytes, bool first_to_go)
{
    weiri_granule *granule = weiri_granule_of(space, start);
    size_t whole = space->granule, part = least(bytes, room_at(space, start));
    uint64_t gone = 0, idle = unuse_part(p, granule, whole, part, first_to_go, &gone);
    for (size_t left = bytes - part; left > 0; left -= part) {
        part = least(left, whole);
        idle += unuse_part(p, ++granule, whole, part, first_to_go, &gone);
    }
    p->policy.pinned_bytes += bytes - idle - gone;
    return idle;
}

uint64_t weiri_granules_missing(const weiri_space *space, const char *start, size_t bytes)
{
    const weiri_granule *granule = weiri_granule_of(space, start);
    const weiri_granule *last = weiri_granule_of(space, start + bytes - 1);
    uint64_t missing = 0;
    for (; granule <= last; granule++) {
        missing += granule->state == WEIRI_GRANULE_NONE ? space->granule : 0;
    }
    return missing;
}

void weiri_granules_mark(weiri_pages *p,
                         const weiri_record *run,
                         weiri_granule_state from,
                         weiri_granule_state to)
{
    weiri_space *space = weiri_space_of(p, run);
    weiri_granule *granule = weiri_granule_of(space, weiri_run_start(run));
    weiri_granule *last = weiri_granule_of(space, weiri_run_end(run) - 1);
    for (; granule <= last; granule++) {
        if (granule->state ==
            /* not written otherwise: threads that commit at the same time read it without the
             * lock */
            from) {
            granule->state = (uint16_t)to;
        }
    }
}

/* ---- heap calls, without the lock ---------------------------------------------------------- */

static size_t offset_of(const weiri_space *space, const weiri_granule *granule)
{
    return (size_t)(weiri_granule_start(space, granule) - (char *)space->range);
}

/* Commits the uncommitted granules between `from` and `to`, piece by piece. Nobody else changes
 * the state of a granule with a claim in it: it counts as live. */
weir_err weiri_granules_commit(weiri_pages *p, weiri_record *run)
{
    weir_heap *heap = p->policy.heap;
    weiri_space *space = weiri_space_of(p, run);
    weiri_granule *first = weiri_granule_of(space, weiri_run_start(run));
    weiri_granule *end = weiri_granule_of(space, weiri_run_end(run) - 1) + 1;
    for (weiri_granule *at = first; at < end;) {
        weiri_granule *from = at;
        while (at < end && at->state == WEIRI_GRANULE_COMMITTING) {
            at++;
        }
        if (at == from) {
            at++;
            continue;
        }
        weir_err err = heap->ops->commit(heap, space->range, offset_of(space, from),
                                         (size_t)(at - from) << space->shift);
        if (err == WEIR_OK) {
            continue;
        }
        for (weiri_granule *done = first; done < from; done++) { /* all or nothing */
            if (done->state == WEIRI_GRANULE_COMMITTING) {
                (void)heap->ops->decommit(heap, space->range, offset_of(space, done),
                                          space->granule);
            }
        }
        return err;
    }
    return WEIR_OK;
}

weir_err weiri_granules_decommit(weiri_pages *p, weiri_record *run)
{
    weir_heap *heap = p->policy.heap;
    weiri_space *space = weiri_space_of(p, run);
    size_t offset = (size_t)(weiri_run_start(run) - (char *)space->range);
    return heap->ops->decommit(heap, space->range, offset, run->buffer.bytes);
}

/* ---- spaces and tables --------------------------------------------------------------------- */

/* Reserved addresses cost nothing until they are used: 64 GiB, and four times as much for each
 * further space. */
#define SPACE_BYTES (UINT64_C(64) << 30)
#define SPACE_MAX   (UINT64_C(1) << 46)

static size_t table_page(const weiri_pages *p)
{
    weir_heap *book = p->policy.book_heap;
    return book->ops->page_size(book);
}

uint64_t weiri_pages_growth(const weiri_pages *p, size_t bytes)
{
    if (bytes > SPACE_MAX) {
        return 0;
    }
    const weiri_grain *grain = &p->grains[WEIRI_COARSE];
    size_t wanted = (bytes + grain->granule - 1) / grain->granule;
    const weiri_space *last = p->space_count > 0 ? &p->spaces[p->space_count - 1] : NULL;
    if (last != NULL && last->granules - last->used >= wanted) {
        size_t table = weiri_round_up((last->used + wanted) * sizeof(weiri_granule), table_page(p));
        return table > last->table_committed ? table - last->table_committed : 0;
    }
    return p->space_count < WEIRI_SPACES
               ? weiri_round_up(wanted * sizeof(weiri_granule), table_page(p))
               : 0;
}

static weir_err reserve(weiri_pages *p, weiri_grain *grain, size_t bytes, weiri_space *space)
{
    weir_heap *heap = p->policy.heap, *book = p->policy.book_heap;
    space->grain = grain;
    space->granule = grain->granule;
    space->shift = (uint32_t)__builtin_ctzll(grain->granule);
    space->range_bytes = bytes + grain->granule;
    weir_err err = heap->ops->reserve(heap, space->range_bytes, &space->range);
    if (err != WEIR_OK) {
        return err;
    }
    uintptr_t base =
        ((uintptr_t)space->range + grain->granule - 1) & ~(uintptr_t)(grain->granule - 1);
    space->base = (char *)base;
    space->granules = bytes / grain->granule;
    space->table_bytes = weiri_round_up(space->granules * sizeof(weiri_granule), table_page(p));
    void *table = NULL;
    err = book->ops->reserve(book, space->table_bytes, &table);
    if (err != WEIR_OK) {
        heap->ops->release(heap, space->range, space->range_bytes);
        return err;
    }
    space->table = table;
    return WEIR_OK;
}

static void release(weiri_pages *p, weiri_space *space)
{
    weir_heap *heap = p->policy.heap, *book = p->policy.book_heap;
    heap->ops->release(heap, space->range, space->range_bytes);
    book->ops->release(book, space->table, space->table_bytes);
}

weir_err weiri_pages_begin(weiri_pages *p)
{
    weiri_grain *fine = &p->grains[WEIRI_FINE];
    size_t page = table_page(p);
    if (fine->granule == 0) {
        return weiri_pages_grow(&p->policy, page);
    }
    weir_heap *book = p->policy.book_heap;
    weiri_space space = {0};
    weir_err err = reserve(p, fine, page / sizeof(weiri_granule) * fine->granule, &space);
    if (err != WEIR_OK) {
        return err;
    }
    err = book->ops->commit(book, space.table, 0, page);
    if (err != WEIR_OK) {
        release(p, &space);
        return err;
    }
    space.table_committed = page;
    p->grown = space;
    return WEIR_OK;
}

/* Either the last space's table grows, or a space is added; `grown` decides when it is settled.
 * Only the growing thread changes fields of the last space. */
weir_err weiri_pages_grow(weiri_policy *policy, uint64_t book)
{
    weiri_pages *p = weiri_pages_of(policy);
    weir_heap *heap = policy->book_heap;
    weiri_grain *grain = &p->grains[WEIRI_COARSE];
    p->grown = (weiri_space){0};
    weiri_space space = {0};
    if (p->space_count > 0) {
        const weiri_space *last = &p->spaces[p->space_count - 1];
        space = book <= last->table_bytes - last->table_committed ? *last : space;
    }
    bool fresh = space.range == NULL;
    if (fresh) {
        uint64_t least_bytes = book / sizeof(weiri_granule) * grain->granule;
        uint64_t bytes = SPACE_BYTES << (2 * p->space_count);
        bytes = bytes > least_bytes ? bytes : least_bytes;
        weir_err err = reserve(p, grain, bytes, &space);
        while (err != WEIR_OK && bytes / 2 >= least_bytes) { /* a process may have few addresses */
            bytes /= 2;
            err = reserve(p, grain, bytes, &space);
        }
        if (err != WEIR_OK) {
            return err;
        }
    }
    weir_err err = heap->ops->commit(heap, space.table, space.table_committed, book);
    if (err != WEIR_OK) {
        if (fresh) {
            release(p, &space);
        }
        return err;
    }
    space.table_committed += book;
    p->grown = space;
    return WEIR_OK;
}

void weiri_pages_grown(weiri_policy *policy)
{
    weiri_pages *p = weiri_pages_of(policy);
    if (p->grown.range == NULL) {
        return;
    }
    uint32_t last = p->space_count > 0 ? p->space_count - 1 : 0;
    if (p->space_count == 0 || p->spaces[last].range != p->grown.range) {
        last = p->space_count++;
    }
    weiri_space *space = &p->spaces[last];
    if (space->range == NULL) {
        *space = p->grown;
    }
    /* everything else is read without the lock */
    space->table_committed = p->grown.table_committed;
    uint32_t shift = space->shift;
    char *start = space->base + (space->used << shift);
    space->used = least(space->granules, space->table_committed / sizeof(weiri_granule));
    weiri_run_append(p, space, start, space->base + (space->used << shift));
    p->grown = (weiri_space){0};
}

void weiri_pages_fini(weiri_policy *policy)
{
    weiri_pages *p = weiri_pages_of(policy);
    for (uint32_t i = 0; i < p->space_count; i++) {
        release(p, &p->spaces[i]);
    }
    p->space_count = 0;
}
