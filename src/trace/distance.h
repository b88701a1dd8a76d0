/* SPDX-License-Identifier: MIT
 *
 * distance.h: the stack distance of takes, in bytes: how large a cache_limit would have to be for an idle
 * buffer to be still there when it is asked for. Serves `weir trace tune` and `cache_limit: auto`.
 *
 * What it is, exactly. Think of a cache without a limit: a stack of idle buffers, the last one given back on
 * top. With a limit L, least recently used first, what is idle is always a prefix of that stack from the
 * top: a give puts on top, the excess leaves from the bottom, a hit takes one out of the prefix. So a buffer
 * x is there if and only if the bytes from the top through x have never been above L since x was put. Their
 * highest value so far is x's distance, and a take that is served by x hits exactly for limits L >= it.
 *
 * The highest value needs no search: a buffer that is taken leaves a hole of its size, what is put fills the
 * topmost holes first, and the distance of x is the bytes and holes from the top through x.
 *
 * Which buffers serve a request is the policy's rule: idle sizes from the request up to serves(). The distance
 * of a take is that of the topmost of them, since a limit that keeps it serves the take. Which of them is
 * taken out depends on the limit, where sizes serve each other: the policy takes the best fit among those that
 * are there. So the model is of one limit, `limit`: the best fit of those within it goes, else the topmost; it
 * is exact at that limit, and at all others where buffers are reused for requests of their own size only.
 * Asked for the limit that it finds itself, it comes to rest there.
 *
 * Not in the model: a buffer that is larger than the limit is not admitted and pushes nothing out. The takes
 * and gives of such are to be left out for such limits; tune.c does. A replay has the last word.
 * Where idle bytes have no shape (serves = NULL: `pages`) a take is served by the topmost bytes.
 *
 * Memory: a fixed number of runs (neighbours of one size and without holes between them). When they are used
 * up the deepest quarter is forgotten, and what would have come from there counts as never seen: distances
 * that are given stay exact.
 */
#ifndef WEIRI_DISTANCE_H
#define WEIRI_DISTANCE_H

#include "cache/idle.h"
#include "cache/policy.h"

#define WEIRI_DISTANCE_NEVER UINT64_MAX

typedef struct weiri_stretch {
    weiri_record record; /* asked: size of one; stamp: position */
    uint64_t count;
    uint64_t hole;  /* bytes of holes above its buffers, below the next run */
    size_t heap_at; /* from 1; 0 = not in the heap of holes */
} weiri_stretch;

typedef struct weiri_distance {
    const weiri_policy *policy; /* for serves; NULL: only equal sizes serve */
    bool shapeless;
    uint64_t limit; /* see above; WEIR_NO_LIMIT at the start. May be set at any time */
    size_t room;    /* runs at most */
    size_t heap_count;
    uint64_t total;     /* bytes and holes */
    uint64_t forgotten; /* runs */
    weiri_idle idle;    /* of runs */
    weiri_record *free;
    weiri_stretch *runs;  /* room */
    weiri_stretch **heap; /* room + 1: those with holes, the topmost first */
    uint64_t *sums;       /* Fenwick tree over 2 * room positions */
} weiri_distance;

/* Bytes that so many runs take; how many fit so many bytes. */
size_t weiri_distance_bytes(size_t runs);
size_t weiri_distance_runs(size_t bytes);
/* `memory` of weiri_distance_bytes(runs), aligned to 8 B, lent until the end. runs >= 8. */
void weiri_distance_init(weiri_distance *d, const weiri_policy *policy, void *memory, size_t runs);
/* A take that is charged so much: its distance, or NEVER. *ret_size is what serves it. */
uint64_t weiri_distance_take(weiri_distance *d, uint64_t charged, uint64_t *ret_size);
/* A give of what was charged so much. */
void weiri_distance_give(weiri_distance *d, uint64_t charged);

#endif
