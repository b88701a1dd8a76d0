/* SPDX-License-Identifier: MIT
 *
 * pages.h: the inside of policy `pages`: spaces, granules, runs.
 *
 * A space is one reserved range of addresses. It is covered without a gap by runs: buffers, free bytes that
 * are committed, and bytes that are not. Runs begin and end at units of 4 KiB and stand in the order of
 * their addresses. What is committed and decommitted is the granule, 64 KiB to 2 MiB; a granule with any
 * live byte counts as live. Granules of a space are of one size; there are at most two, fine and coarse, and
 * most caches have coarse ones only (pages.c says why).
 *
 *   granules   |        |        |        |        |        |
 *   runs       [ LIVE ][ FREE ][LIVE][     FREE    ][ NONE   ...
 *                         pinned                idle: the granules with no live byte
 *
 * All under the cache's lock but weiri_pages_commit, _decommit and _grow.
 */
#ifndef WEIRI_PAGES_H
#define WEIRI_PAGES_H

#include "cache/front.h"
#include "cache/idle.h"
#include "cache/policy.h"

#define WEIRI_UNIT 4096

typedef enum weiri_run_kind {
    WEIRI_RUN_LIVE = 1, /* a buffer in a user's hands */
    WEIRI_RUN_SLAB,     /* as live: holds small buffers */
    WEIRI_RUN_CLAIMED,  /* to be live; some of its granules are being committed */
    WEIRI_RUN_QUICK,    /* free, committed, not joined with its neighbours yet: in the front */
    WEIRI_RUN_FREE,     /* free, committed: in the tree `ready` */
    WEIRI_RUN_NURSERY,  /* the same in granules for small requests: in the tree `nursery` */
    WEIRI_RUN_NONE,     /* not committed, whole granules: in the tree `none` */
    WEIRI_RUN_LEAVING,  /* whole granules, being decommitted */
    WEIRI_RUN_SMALL     /* no run: a small buffer, part of a slab */
} weiri_run_kind;

typedef enum weiri_granule_state {
    WEIRI_GRANULE_NONE,
    WEIRI_GRANULE_COMMITTING,
    WEIRI_GRANULE_READY,
    WEIRI_GRANULE_LEAVING
} weiri_granule_state;

/* Its record serves the run that begins where the granule does, where the pool need not: so drop() can
 * cut an idle granule out of a run without asking for records. */
typedef struct weiri_granule {
    weiri_record record;
    weiri_record *first; /* lowest run that begins in it; NULL = covered by one from before */
    struct weiri_granule *newer, *older; /* while idle: in the order of use */
    uint32_t live_units;
    uint16_t state; /* weiri_granule_state */
    uint16_t small; /* serves small requests only, until nothing of it is live */
} weiri_granule;

/* Granules of one size, over all spaces of them. */
typedef struct weiri_grain {
    size_t granule;                  /* bytes, a power of two; 0 = there are none */
    weiri_tree ready, nursery, none; /* by size, then address */
} weiri_grain;

enum { WEIRI_FINE, WEIRI_COARSE, WEIRI_GRAINS };

typedef struct weiri_space {
    char *base;           /* first granule: range, aligned */
    weiri_granule *table; /* a range of the book heap, committed as far as it is needed */
    size_t granule;       /* of its grain: at hand for the hot path */
    uint32_t shift;       /* granule as a power of two */
    weiri_grain *grain;
    void *range; /* of the heap */
    size_t range_bytes;
    size_t granules; /* that it has addresses for */
    size_t table_bytes;
    size_t table_committed;
    size_t used; /* granules that have a place in the table, and are covered by runs */
} weiri_space;

#define WEIRI_SPACES        4
#define WEIRI_SMALL_CLASSES 14

typedef struct weiri_pages {
    weiri_policy policy; /* first */
    weiri_grain grains[WEIRI_GRAINS];
    uint32_t space_count;
    weiri_space spaces[WEIRI_SPACES]; /* the fine one first, if there is one; it does not grow */
    weiri_space grown;                /* of the one weiri_pages_grow at work, until it is settled */
    size_t small_max;                 /* a request up to here is small */
    uint64_t small_granules;
    weiri_front front;
    weiri_granule *newest, *oldest;           /* idle granules */
    weiri_record *slabs[WEIRI_SMALL_CLASSES]; /* with a free place; linked by left and right */
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

/* Cuts a run that stands in no tree at `at`; returns the upper part, of the same kind, in the granule's
 * record where one begins there, else in `spare`. */
weiri_record *weiri_run_split(weiri_pages *p, weiri_record *run, char *at, weiri_record *spare);
/* Makes a run that stands in no tree FREE or NONE and joins it with neighbours of its kind; returns what
 * came of it. */
weiri_record *weiri_run_free(weiri_pages *p, weiri_record *run, weiri_run_kind kind);
/* Joins two neighbours that stand in no tree; the upper one's record is gone. */
void weiri_run_join(weiri_pages *p, weiri_record *lower, weiri_record *upper);
/* Takes a FREE or NONE run out of its tree. */
void weiri_run_lift(weiri_pages *p, weiri_record *run);
/* The run that covers a granule's first byte. */
weiri_record *weiri_run_covering(weiri_space *space, weiri_granule *granule);
/* Cuts an idle granule out of the free bytes around it: all of its bytes are free and committed. */
weiri_record *weiri_run_cut_out(weiri_pages *p, weiri_granule *granule);
/* FREE or NURSERY, as the granule says that it begins in. */
weiri_run_kind weiri_run_zone(const weiri_pages *p, const weiri_record *run);
void weiri_granule_set_small(weiri_pages *p, weiri_granule *granule, bool small);
/* Joins all of the front. */
void weiri_runs_join_front(weiri_pages *p);
/* Claims [start, start + bytes) from `first`, the free run that holds start, and those above it, for
 * `record`; `spare` for what is left above, back in the pool where it was not needed. Granules that are
 * not committed are claimed whole: the record covers them until weiri_run_settle cuts off the rest. */
void weiri_run_carve(weiri_pages *p,
                     weiri_record *first,
                     char *start,
                     size_t bytes,
                     weiri_record *record,
                     weiri_record *spare);
void weiri_run_settle(weiri_pages *p, weiri_record *record);
/* Back to free runs, as the granules' states say. */
void weiri_run_uncarve(weiri_pages *p, weiri_record *record);
/* A new run [start, end) of kind NONE at the end of a space. */
void weiri_run_append(weiri_pages *p, weiri_space *space, char *start, char *end);

/* ---- choose.c ------------------------------------------------------------------------------ */

typedef struct weiri_spot {
    weiri_record *first; /* the free run that holds its start */
    char *start;
} weiri_spot;

/* False: addresses have to grow. */
bool weiri_pages_choose(weiri_pages *p, size_t bytes, weiri_spot *ret_spot);

/* ---- granules.c ---------------------------------------------------------------------------- */

/* Counts bytes as live; returns how many were idle. *ret_from_heap: how many must be committed. */
uint64_t weiri_granules_use(
    weiri_pages *p, weiri_space *space, char *start, size_t bytes, uint64_t *ret_from_heap);
/* The opposite; returns how many bytes are idle now. first_to_go: they go before all others. */
uint64_t weiri_granules_unuse(
    weiri_pages *p, weiri_space *space, char *start, size_t bytes, bool first_to_go);
/* What use() would say. */
uint64_t weiri_granules_missing(const weiri_space *space, const char *start, size_t bytes);
void weiri_granule_idle(weiri_pages *p, weiri_granule *granule, bool first_to_go);
void weiri_granule_not_idle(weiri_pages *p, weiri_granule *granule);
void weiri_granules_mark(weiri_pages *p,
                         const weiri_record *run,
                         weiri_granule_state from,
                         weiri_granule_state to);
/* No lock. What is marked COMMITTING of a claimed run; all or nothing. */
weir_err weiri_granules_commit(weiri_pages *p, weiri_record *run);
/* No lock. */
weir_err weiri_granules_decommit(weiri_pages *p, weiri_record *run);
/* No lock, before all else: the first space, of fine granules where there are any; one page of book-keeping. */
weir_err weiri_pages_begin(weiri_pages *p);
/* Bytes of book-keeping that addresses for a run of so many bytes, in coarse granules, take, or 0 where they
 * cannot be had. */
uint64_t weiri_pages_growth(const weiri_pages *p, size_t bytes);
/* No lock, one at a time; and under it, what came of it. */
weir_err weiri_pages_grow(weiri_policy *policy, uint64_t book);
void weiri_pages_grown(weiri_policy *policy);
void weiri_pages_fini(weiri_policy *policy);

/* ---- small.c ------------------------------------------------------------------------------- */

#define WEIRI_SMALL_MAX 2048

/* The class of a small request, and what it occupies. */
size_t weiri_small_class(size_t bytes);
size_t weiri_small_bytes(size_t class);
/* A place in a slab that is committed. False: there is none. */
bool weiri_small_place(weiri_pages *p, size_t class, weiri_record *record);
/* Makes a claimed run of a unit a slab for record; and gives record its first place once it is there. */
void weiri_slab_make(weiri_record *slab, size_t class, weiri_record *record);
void weiri_slab_open(weiri_pages *p, weiri_record *slab, weiri_record *record);
/* Takes a place back; true: the slab is empty, and off its list. */
bool weiri_small_put(weiri_pages *p, weiri_record *record);
/* A bit for each place of a slab. */
uint64_t weiri_slab_places(const weiri_record *slab);

/* ---- pages_check.c ------------------------------------------------------------------------- */

weir_err weiri_pages_check(weiri_policy *policy, uint64_t *ret_live, uint64_t *ret_idle);

#endif
