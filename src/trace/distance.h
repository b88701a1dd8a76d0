/* SPDX-License-Identifier: MIT
 *
 * distance.h: the stack distance of allocations, in bytes: how large cache_limit must be so that a
 * cached buffer is still there when it is requested. For `weir trace tune` and `cache_limit: auto`.
 *
 * Exact definition. Imagine a cache without a limit: a stack of cached buffers, the last freed on
 * top. With a limit L and eviction of the least recently used, the cached buffers are always a
 * prefix of that stack from the top: freeing pushes on top, the excess is removed from the bottom,
 * a hit removes one from the prefix. So a buffer x is cached if and only if the bytes from the top
 * through x have never exceeded L since x was freed. Their highest value so far is x's distance,
 * and an allocation served by x is a hit exactly for limits L >= this distance.
 *
 * The highest value needs no search: an allocated buffer leaves a hole of its size, a freed buffer
 * fills the topmost holes first, and the distance of x is the sum of bytes and holes from the top
 * through x.
 *
 * Which buffers serve a request is the policy's rule: cached sizes from the request up to serves().
 * The distance of an allocation is that of the topmost of them, since a limit that keeps it serves
 * the request. If sizes can serve each other's requests, the buffer removed depends on the limit:
 * the policy uses the best fit among the cached ones. So the model is for one limit, `limit`: it
 * removes the best fit within that limit, else the topmost; it is exact at that limit, and at all
 * limits if buffers are reused only for requests of their own size. Applied to the limit it finds
 * itself, it converges.
 *
 * Not in the model: a buffer larger than the limit is not kept and evicts nothing. The caller must
 * leave out such buffers for such limits, as tune.c does, and the result is confirmed by replaying
 * the trace. If cached bytes are not divided into buffers (serves = NULL: `pages`), an allocation
 * is served by the topmost bytes.
 *
 * Memory: a fixed number of runs (neighbours of one size without holes between them). When they are
 * used up the deepest quarter is forgotten, and allocations that it would have served count as
 * never seen: distances that are returned stay exact.
 */
#ifndef WEIRI_DISTANCE_H
#define WEIRI_DISTANCE_H

#include "cache/idle.h"
#include "cache/policy.h"

#define WEIRI_DISTANCE_NEVER UINT64_MAX

typedef struct weiri_stretch {
    weiri_record record; /* asked: size of each buffer; stamp: position */
    uint64_t count;
    uint64_t hole;  /* bytes of holes above its buffers, below the next run */
    size_t heap_at; /* from 1; 0 = not in the heap of holes */
} weiri_stretch;

typedef struct weiri_distance {
    const weiri_policy *policy; /* for serves; NULL: only equal sizes serve */
    bool shapeless;
    uint64_t limit; /* see above; WEIR_NO_LIMIT at the start. Can be set at any time */
    size_t room;    /* maximum number of runs */
    size_t heap_count;
    uint64_t total;     /* bytes and holes */
    uint64_t forgotten; /* number of runs */
    weiri_idle idle;    /* of the runs */
    weiri_record *free;
    weiri_stretch *runs;  /* capacity */
    weiri_stretch **heap; /* capacity + 1: those with holes, the topmost first */
    uint64_t *sums;       /* Fenwick tree over 2 * capacity positions */
} weiri_distance;

/* Bytes needed for that many runs; number of runs that fit that many bytes. */
size_t weiri_distance_bytes(size_t runs);
size_t weiri_distance_runs(size_t bytes);
/* `memory` of weiri_distance_bytes(runs), aligned to 8 bytes, must stay valid. runs >= 8. */
void weiri_distance_init(weiri_distance *d, const weiri_policy *policy, void *memory, size_t runs);
/* An allocation with that charge: its distance, or NEVER. *ret_size is the size that serves it. */
uint64_t weiri_distance_take(weiri_distance *d, uint64_t charged, uint64_t *ret_size);
/* A free of a buffer with that charge. */
void weiri_distance_give(weiri_distance *d, uint64_t charged);

#endif
