/* SPDX-License-Identifier: MIT
 *
 * cache.h: the cache's inside, and the one inequality that its limit is.
 */
#ifndef WEIRI_CACHE_H
#define WEIRI_CACHE_H

#include "cache/lock.h"
#include "cache/policy.h"
#include "cache/watch.h"

struct weir_cache {
    /* Set once, read without the lock. */
    weir_heap *heap;
    weir_heap
        *book_heap; /* of the cache's own records: heap, or the host's where that is a device's */
    weiri_policy *policy;
    size_t own_asked;     /* this block: the struct, the policy's state, the first slab */
    uint64_t policy_book; /* what the policy's init took */
    uint64_t max_buffers;
    size_t slab_charged;

    /* What every take and give writes, two lines of 64 B, so that they move between processors together. */
    _Alignas(64) weiri_lock lock; /* of all below; never held over a call of a heap */
    uint64_t live, idle, book, transit, charged; /* held = their sum */
    uint64_t live_buffers;
    uint64_t live_peak;
    uint64_t hits;
    uint64_t cache_limit, memory_limit;
    bool watched; /* there is a watcher */
    bool growing; /* a thread is in the policy's grow() */
    bool closing; /* destroyed: what comes back goes to the heap */
    bool closed;  /* ends with its last buffer */

    weiri_condition less; /* something has left, or a reservation was withdrawn */
    uint64_t held_peak;
    uint64_t leaving; /* the part of transit that is on its way back */
    uint64_t leaving_buffers;
    uint64_t pending_buffers; /* placed, and being acquired */
    uint64_t misses, evictions, evicted_bytes, refusals, heap_failures;
    weiri_records records;

    weiri_watcher *watchers[WEIRI_WATCHERS]; /* a trace is written; cache_limit was once `auto` */
    bool tracing;                            /* a trace is started, written or stopped */
    bool automatic;      /* the tuner's choice counts: nobody has set a limit since */
    uint64_t auto_limit; /* it; 0 = none yet */
    uint64_t traced;     /* takes that were numbered so far */
    uint64_t watch_book; /* bytes of both, a part of book */
};

/* M2, the one inequality: what is held and what is asked fit the limit. WEIR_NO_LIMIT holds everything
 * that can be counted. */
static inline bool weiri_cache_fits(uint64_t held, uint64_t asked, uint64_t limit)
{
    return asked <= limit && held <= limit - asked;
}

/* Lock held. */
static inline uint64_t weiri_cache_held(const weir_cache *cache)
{
    return cache->live + cache->idle + cache->book + cache->transit + cache->charged;
}

/* Lock held on entry and return, released between. Drops idle bytes, least recently used first, and
 * waits until they have left. `evicts`: for a limit's sake, so counted as evictions. */
void weiri_cache_drop(weir_cache *cache, uint64_t bytes, bool evicts);
/* As above, for what is on a list already. */
void weiri_cache_leave(weir_cache *cache, weiri_leaving *list);
/* Lock held, released between. Gives empty slabs back while `spare` free records are left. */
void weiri_cache_trim(weir_cache *cache, uint64_t spare);
/* Lock held; lets go of it. Ends the cache if it was closed and this was the last. */
void weiri_cache_unlock_closed(weir_cache *cache);
static inline void weiri_cache_unlock(weir_cache *cache)
{
    if (cache->closed) {
        weiri_cache_unlock_closed(cache);
    } else {
        weiri_lock_give(&cache->lock);
    }
}
/* Lock held. Idle bytes that have to go at this moment. */
uint64_t weiri_cache_excess(weir_cache *cache, weiri_moment moment, uint64_t asked);
/* Lock held. Raises the peaks (M4). */
void weiri_cache_peaks(weir_cache *cache);

/* What one take of so many bytes adds to live and book-keeping now, at most: the buffer, and records for
 * it. UINT64_MAX where it cannot be had. */
uint64_t weiri_cache_cost(weir_cache *cache, size_t bytes);

/* As weir_limit_parse, from the environment; leaves *limit as it is where the variable is not set. WEIR_E_USAGE
 * names the variable. */
weir_err weiri_limit_environment(const char *name, bool automatic, uint64_t *limit);

#endif
