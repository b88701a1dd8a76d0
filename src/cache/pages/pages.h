/* SPDX-License-Identifier: MIT
 *
 * pages.h: internals of policy `pages`: spaces, granules, runs.
 *
 * A space is one reserved range of addresses. Runs cover it without gaps: buffers, free bytes that
 * are committed, and bytes that are not. Runs begin and end at multiples of 4 KiB and are kept in
 * order of address. Memory is committed and decommitted in granules of 64 KiB to 2 MiB; a granule
 * with any live byte counts as live. All granules of a space have one size; there are at most two
 * sizes, fine and coarse, and most caches have coarse ones only (pages.c explains why).
 *
 *   granules   |        |        |        |        |        |
 *   runs       [ LIVE ][ FREE ][LIVE][     FREE    ][ NONE   ...
 *                         pinned                idle: the granules with no live byte
 *
 * All functions need the cache's lock except weiri_pages_commit, _decommit and _grow.
 */
#ifndef WEIRI_PAGES_H
#define WEIRI_PAGES_H

#include "cache/front.h"
#include "cache/idle.h"
#include "cache/policy.h"

#define WEIRI_UNIT 4096

typedef enum weiri_run_kind {
    WEIRI_RUN_LIVE = 1, /* a buffer in use */
    WEIRI_RUN_SLAB,     /* live: contains small buffers */
    WEIRI_RUN_CLAIMED,  /* becoming live; some of its granules are being committed */
    WEIRI_RUN_QUICK,    /* free, committed, not joined with its neighbours yet: in the front */
    WEIRI_RUN_FREE,     /* free, committed: in the tree `ready` */
    WEIRI_RUN_NURSERY,  /* the same in granules for small requests: in the tree `nursery` */
    WEIRI_RUN_NONE,     /* not committed, whole granules: in the tree `none` */
    WEIRI_RUN_LEAVING,  /* whole granules, being decommitted */
    WEIRI_RUN_SMALL     /* not a run: a small buffer, part of a slab */
} weiri_run_kind;

typedef enum weiri_granule_state {
    WEIRI_GRANULE_NONE,
    WEIRI_GRANULE_COMMITTING,
    WEIRI_GRANULE_READY,
    WEIRI_GRANULE_LEAVING
} weiri_granule_state;

/* Its record is for the run that begins where the granule does, if the pool need not supply one:
 * so drop() can take an idle granule out of a run without needing a record. */
typedef struct weiri_granule {
    weiri_record record;
    /* lowest run that begins in it; NULL = covered by a run that begins before it */
    weiri_record *first;
    struct weiri_granule *newer, *older; /* while idle: in the order of use */
    uint32_t live_units;
    uint16_t state; /* weiri_granule_state */
    uint16_t small; /* serves small requests only, until none of it is live */
} weiri_granule;

/* Granules of one size, over all their spaces. */
typedef struct weiri_grain {
    size_t granule;                  /* bytes, a power of two; 0 = there are none */
    weiri_tree ready, nursery, none; /* by size, then address */
} weiri_grain;

enum { WEIRI_FINE, WEIRI_COARSE, WEIRI_GRAINS };

typedef struct weiri_space {
    char *base;           /* first granule: range, aligned */
    weiri_granule *table; /* a range of the book heap, committed as far as needed */
    size_t granule;       /* copied from its grain for the hot path */
    uint32_t shift;       /* granule as a power of two */
    weiri_grain *grain;
    void *range; /* of the heap */
    size_t range_bytes;
    size_t granules; /* for which it has addresses */
    size_t table_bytes;
    size_t table_committed;
    size_t used; /* granules that have an entry in the table and are covered by runs */
} weiri_space;

#define WEIRI_SPACES        4
#define WEIRI_SMALL_CLASSES 14

typedef struct weiri_pages {
    weiri_policy policy; /* must be first */
    weiri_grain grains[WEIRI_GRAINS];
    uint32_t space_count;
    weiri_space spaces[WEIRI_SPACES]; /* the fine one first, if there is one; it does not grow */
    weiri_space grown;                /* for the current weiri_pages_grow, until it is settled */
    size_t small_max;                 /* a request of at most this size is small */
    uint64_t small_granules;
    weiri_front front;
    weiri_granule *newest, *oldest; /* idle granules */
    /* those with a free place; linked by left and right */
    weiri_record *slabs[WEIRI_SMALL_CLASSES];
} weiri_pages;

static inline weiri_pages *weiri_pages_of(weiri_policy *policy)
{
    return (weiri_pages *)(void *)policy;
}

static inline weiri_space *weiri_space_of(weiri_pages *p, const weiri_record *run)
{
    return &p->spaces[run->space];
}

static inline char *weiri_run_start(const weiri_record *run)
{
    return run->buffer.memory;
}

static inline char *weiri_run_end(const weiri_record *run)
{
    return weiri_run_start(run) + run->buffer.bytes;
}

/* The granule that holds an address. */
static inline weiri_granule *weiri_granule_of(const weiri_space *space, const char *at)
{
    return &space->table[(size_t)(at - space->base) >> space->shift];
}

static inline char *weiri_granule_start(const weiri_space *space, const weiri_granule *granule)
{
    return space->base + ((size_t)(granule - space->table) << space->shift);
}

static inline bool weiri_at_granule(const weiri_space *space, const char *at)
{
    return ((size_t)(at - space->base) & (space->granule - 1)) == 0;
}

/* ---- runs.c -------------------------------------------------------------------------------- */

/* Splits a run that is in no tree at `at`; returns the upper part, of the same kind, in the
 * granule's record if one begins there, else in `spare`. */
weiri_record *weiri_run_split(weiri_pages *p, weiri_record *run, char *at, weiri_record *spare);
/* Makes a run that is in no tree FREE or NONE and joins it with neighbours of its kind; returns
 * the result. */
weiri_record *weiri_run_free(weiri_pages *p, weiri_record *run, weiri_run_kind kind);
/* Joins two neighbours that are in no tree; the upper one's record is freed. */
void weiri_run_join(weiri_pages *p, weiri_record *lower, weiri_record *upper);
/* Removes a FREE or NONE run from its tree. */
void weiri_run_lift(weiri_pages *p, weiri_record *run);
/* The run that covers a granule's first byte. */
weiri_record *weiri_run_covering(weiri_space *space, weiri_granule *granule);
/* Splits an idle granule from the free bytes around it: all of its bytes are free and committed. */
weiri_record *weiri_run_cut_out(weiri_pages *p, weiri_granule *granule);
/* FREE or NURSERY, depending on the granule in which the run begins. */
weiri_run_kind weiri_run_zone(const weiri_pages *p, const weiri_record *run);
void weiri_granule_set_small(weiri_pages *p, weiri_granule *granule, bool small);
/* Joins all runs of the front. */
void weiri_runs_join_front(weiri_pages *p);
/* Claims [start, start + bytes) from `first`, the free run that contains start, and those above
 * it, for `record`; `spare` is for what remains above and is returned to the pool if not needed.
 * Uncommitted granules are claimed whole: the record covers them until weiri_run_settle splits
 * off the rest. */
void weiri_run_carve(weiri_pages *p,
                     weiri_record *first,
                     char *start,
                     size_t bytes,
                     weiri_record *record,
                     weiri_record *spare);
void weiri_run_settle(weiri_pages *p, weiri_record *record);
/* Back to free runs, according to the granules' states. */
void weiri_run_uncarve(weiri_pages *p, weiri_record *record);
/* A new run [start, end) of kind NONE at the end of a space. */
void weiri_run_append(weiri_pages *p, weiri_space *space, char *start, char *end);

/* ---- choose.c ------------------------------------------------------------------------------ */

typedef struct weiri_spot {
    weiri_record *first; /* the free run that contains its start */
    char *start;
} weiri_spot;

/* False: more addresses are needed. */
bool weiri_pages_choose(weiri_pages *p, size_t bytes, weiri_spot *ret_spot);

/* ---- granules.c ---------------------------------------------------------------------------- */

/* Counts bytes as live; returns how many were idle. *ret_from_heap: how many must be committed. */
uint64_t weiri_granules_use(
    weiri_pages *p, weiri_space *space, char *start, size_t bytes, uint64_t *ret_from_heap);
/* The opposite; returns how many bytes are idle now. first_to_go: they are evicted before all
 * others. */
uint64_t weiri_granules_unuse(
    weiri_pages *p, weiri_space *space, char *start, size_t bytes, bool first_to_go);
/* What use() would return. */
uint64_t weiri_granules_missing(const weiri_space *space, const char *start, size_t bytes);
void weiri_granule_idle(weiri_pages *p, weiri_granule *granule, bool first_to_go);
void weiri_granule_not_idle(weiri_pages *p, weiri_granule *granule);
void weiri_granules_mark(weiri_pages *p,
                         const weiri_record *run,
                         weiri_granule_state from,
                         weiri_granule_state to);
/* No lock. Commits the granules of a claimed run that are marked COMMITTING; all or nothing. */
weir_err weiri_granules_commit(weiri_pages *p, weiri_record *run);
/* No lock. */
weir_err weiri_granules_decommit(weiri_pages *p, weiri_record *run);
/* No lock, first of all: the first space, of fine granules if there are any; one page of
 * metadata. */
weir_err weiri_pages_begin(weiri_pages *p);
/* Bytes of metadata needed for the addresses of a run of that many bytes, in coarse granules, or
 * 0 if impossible. */
uint64_t weiri_pages_growth(const weiri_pages *p, size_t bytes);
/* No lock, one thread at a time; then, under the lock, its result. */
weir_err weiri_pages_grow(weiri_policy *policy, uint64_t book);
void weiri_pages_grown(weiri_policy *policy);
void weiri_pages_fini(weiri_policy *policy);

/* ---- small.c ------------------------------------------------------------------------------- */

#define WEIRI_SMALL_MAX 2048

/* The class of a small request, and the bytes it occupies. */
size_t weiri_small_class(size_t bytes);
size_t weiri_small_bytes(size_t class);
/* A place in a slab that is committed. False: there is none. */
bool weiri_small_place(weiri_pages *p, size_t class, weiri_record *record);
/* Makes a claimed run of one unit a slab for record; then gives record its first place. */
void weiri_slab_make(weiri_record *slab, size_t class, weiri_record *record);
void weiri_slab_open(weiri_pages *p, weiri_record *slab, weiri_record *record);
/* Frees a place; true: the slab is empty and no longer in its list. */
bool weiri_small_put(weiri_pages *p, weiri_record *record);
/* One bit per place of a slab. */
uint64_t weiri_slab_places(const weiri_record *slab);

/* ---- pages_check.c ------------------------------------------------------------------------- */

weir_err weiri_pages_check(weiri_policy *policy, uint64_t *ret_live, uint64_t *ret_idle);

#endif
