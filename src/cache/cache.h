/* SPDX-License-Identifier: MIT
 *
 * cache.h: internals of a cache, and the inequality that defines its limit.
 */
#ifndef WEIRI_CACHE_H
#define WEIRI_CACHE_H

#include "cache/lock.h"
#include "cache/policy.h"
#include "cache/watch.h"

struct weir_cache {
    /* Set once, read without the lock. */
    weir_heap *heap;
    weir_heap *book_heap; /* for the cache's own records; the host's if `heap` is a device heap */
    weiri_policy *policy;
    /* this block: the struct, the policy's state, the first slab of records */
    size_t own_asked;
    uint64_t policy_book; /* allocated by the policy's init */
    uint64_t max_buffers;
    size_t slab_charged;

    /* What every allocation and free writes, in two lines of 64 bytes, so that they move between
     * processors together. */
    _Alignas(64) weiri_lock lock; /* protects all fields below; never held during a heap call */
    uint64_t live, idle, book, transit, charged; /* held_bytes is their sum */
    uint64_t live_buffers;
    uint64_t live_peak;
    uint64_t hits;
    uint64_t cache_limit, memory_limit;
    bool watched; /* there is a watcher */
    bool growing; /* a thread is in the policy's grow() */
    bool closing; /* destroyed: returned buffers are freed to the heap */
    bool closed;  /* the cache is freed with its last buffer */

    weiri_condition less; /* something was freed, or a reservation was withdrawn */
    uint64_t held_peak;
    uint64_t leaving; /* the part of transit that is being freed */
    uint64_t leaving_buffers;
    uint64_t pending_buffers; /* claimed by a policy, and being allocated */
    uint64_t misses, evictions, evicted_bytes, refusals, heap_failures;
    weiri_records records;

    /* a trace is recorded, or cache_limit was once `auto` */
    weiri_watcher *watchers[WEIRI_WATCHERS];
    bool tracing;        /* a trace is started, written or stopped */
    bool automatic;      /* the tuner's choice applies: nobody has set a limit */
    uint64_t auto_limit; /* since; 0 = no choice yet */
    uint64_t traced;     /* allocations numbered so far */
    uint64_t watch_book; /* bytes of both, a part of the metadata */
};

/* M2, the one inequality: allocated plus requested bytes are within the limit. With
 * WEIR_NO_LIMIT everything that can be counted fits. */
static inline bool weiri_cache_fits(uint64_t held, uint64_t asked, uint64_t limit)
{
    return asked <= limit && held <= limit - asked;
}

/* Lock held. */
static inline uint64_t weiri_cache_held(const weir_cache *cache)
{
    return cache->live + cache->idle + cache->book + cache->transit + cache->charged;
}

/* Lock held on entry and return, released in between. Frees cached bytes, least recently used
 * first, and waits until they are freed. `evicts`: because of a limit, so counted as evictions. */
void weiri_cache_drop(weir_cache *cache, uint64_t bytes, bool evicts);
/* The same for buffers that are on a list already. */
void weiri_cache_leave(weir_cache *cache, weiri_leaving *list);
/* Lock held, released in between. Frees empty slabs as long as `spare` free records remain. */
void weiri_cache_trim(weir_cache *cache, uint64_t spare);
/* Lock held; releases it. Frees the cache if it was closed and this was the last user. */
void weiri_cache_unlock_closed(weir_cache *cache);
static inline void weiri_cache_unlock(weir_cache *cache)
{
    if (cache->closed) {
        weiri_cache_unlock_closed(cache);
    } else {
        weiri_lock_give(&cache->lock);
    }
}
/* Lock held. Cached bytes that must be freed at this moment. */
uint64_t weiri_cache_excess(weir_cache *cache, weiri_moment moment, uint64_t asked);
/* Lock held. Raises the peaks (M4). */
void weiri_cache_peaks(weir_cache *cache);

/* The most that allocating this many bytes can add to live and metadata now: the buffer, and
 * records for it. UINT64_MAX if it cannot be allocated. */
uint64_t weiri_cache_cost(weir_cache *cache, size_t bytes);

/* As weir_limit_parse, from the environment; leaves *limit unchanged if the variable is not set.
 * WEIR_E_USAGE names the variable. */
weir_err weiri_limit_environment(const char *name, bool automatic, uint64_t *limit);

#endif
