/* SPDX-License-Identifier: MIT
 *
 * cache.c: creating and destroying a cache, its limits, its statistics. Allocating and freeing
 * buffers is in take.c, the reuse of cached buffers in the policies, the consistency check in
 * check.c.
 */
#include "cache/cache.h"

#include <pthread.h>
#include <string.h>

static const weiri_policy_ops *const policies[] = {
#define X(name) &weiri_policy_##name,
#include "cache/policies.def"
#undef X
};
#define POLICY_COUNT (sizeof policies / sizeof policies[0])

/* Minimum number of records in the cache's own block; more if the block has space for them. */
#define RECORDS_LEAST    4
#define POLICY_BYTES_MAX 2048

static const char *policy_names[POLICY_COUNT + 1];

static void policy_names_fill(void)
{
    for (size_t i = 0; i < POLICY_COUNT; i++) {
        policy_names[i] = policies[i]->name;
    }
}

const char *const *weir_cache_policies(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, policy_names_fill);
    return policy_names;
}

weir_cache_options weir_cache_options_default(void)
{
    weir_cache_options options = {
        .options_size = sizeof options,
        .cache_limit = WEIR_NO_LIMIT,
        .memory_limit = WEIR_NO_LIMIT,
    };
    return options;
}

/* ---- making one ---------------------------------------------------------------------------- */

static weir_err find_policy(const char *name, weir_heap *heap, const weiri_policy_ops **ret_ops)
{
    const char *names[POLICY_COUNT];
    name = name != NULL ? name : "fit";
    for (size_t i = 0; i < POLICY_COUNT; i++) {
        names[i] = policies[i]->name;
        if (!weiri_equal_blind(names[i], name)) {
            continue;
        }
        if ((policies[i]->heap_flags & ~heap->ops->flags) != 0) {
            return weiri_fail(WEIR_E_USAGE,
                              "policy %s cannot serve heap %s, which has no pages to commit",
                              names[i], heap->ops->name);
        }
        *ret_ops = policies[i];
        return WEIR_OK;
    }
    const char *near = weiri_nearest(name, names, POLICY_COUNT);
    return weiri_fail(WEIR_E_USAGE, "no policy '%.40s'; the nearest is '%s'", name,
                      near != NULL ? near : names[0]);
}

/* Layout of the cache's own block. */
typedef struct layout {
    size_t policy, slab, asked, charged;
} layout;

static layout lay_out(const weiri_policy_ops *ops, weir_heap *book_heap)
{
    layout at;
    at.policy = weiri_round_up(sizeof(weir_cache), 64);
    at.slab = at.policy + weiri_round_up(ops->policy_bytes, 64);
    size_t least = at.slab + sizeof(weiri_slab) + RECORDS_LEAST * sizeof(weiri_record);
    at.asked = least > WEIRI_SLAB_BYTES ? least : WEIRI_SLAB_BYTES;
    at.charged = book_heap->ops->good_size(book_heap, at.asked);
    return at;
}

static weir_err build(weir_cache *cache, const weiri_policy_ops *ops, const layout *at)
{
    cache->policy = (weiri_policy *)(void *)((char *)cache + at->policy);
    cache->policy->ops = ops;
    cache->policy->heap = cache->heap;
    cache->policy->records = &cache->records;
    cache->policy->book_heap = cache->book_heap;
    cache->policy->cache_limit = cache->cache_limit;
    cache->policy->memory_limit = cache->memory_limit;
    weiri_records_init(&cache->records, cache);
    weiri_records_add(&cache->records, (char *)cache + at->slab, at->asked - at->slab, at->charged,
                      true);
    cache->book = cache->held_peak = at->charged;
    if (ops->init != NULL) {
        uint64_t room = cache->memory_limit - cache->book;
        weir_err err = ops->init(cache->policy, room, &cache->policy_book);
        if (err != WEIR_OK) {
            return err;
        }
        cache->book += cache->policy_book;
        cache->held_peak = cache->book;
    }
    return WEIR_OK;
}

static weir_err read_options(const weir_cache_options *from, weir_cache_options *ret_options)
{
    static const weiri_sized rule = {
        .field = "cache options: options_size",
        .make = "weir_cache_options_default() makes them",
        .least = WEIRI_THROUGH(weir_cache_options, max_buffers),
        .known = offsetof(weir_cache_options, reserved),
    };
    weir_cache_options options = weir_cache_options_default();
    weir_err given = from == NULL ? WEIR_OK : weiri_sized_read(&rule, from, &options);
    if (given != WEIR_OK) {
        return given;
    }
    if (options.heap == NULL) {
        weir_err err = weir_heap_find("host", &options.heap);
        if (err != WEIR_OK) {
            return err;
        }
    }
    *ret_options = options;
    return weir_heap_check(options.heap);
}

/* The heap for the cache's own records. Memory of a device heap cannot be written by the host. */
static weir_err find_book_heap(weir_heap *heap, weir_heap **ret_heap)
{
    if ((heap->ops->flags & WEIR_HEAP_DEVICE) != 0) {
        return weir_heap_find("host", ret_heap);
    }
    *ret_heap = heap;
    return WEIR_OK;
}

/* Lock held, or the cache is not shared yet: then there is no tuner. */
static void set_limit(weir_cache *cache, uint64_t cache_limit, uint64_t own_limit)
{
    cache->automatic = cache_limit == WEIR_LIMIT_AUTO && cache->watchers[WEIRI_WATCH_TUNER] != NULL;
    if (cache_limit == WEIR_LIMIT_AUTO) {
        cache_limit = cache->auto_limit != 0 ? cache->auto_limit : WEIRI_AUTO_START;
    } else if (cache_limit == WEIR_LIMIT_OWN) {
        cache_limit = own_limit != 0 ? own_limit : WEIR_NO_LIMIT;
    }
    cache->cache_limit = cache_limit;
    if (cache->policy != NULL) {
        cache->policy->cache_limit = cache_limit;
    }
}

static void fill(weir_cache *cache,
                 const weir_cache_options *options,
                 const weiri_policy_ops *ops,
                 const layout *at)
{
    weir_heap *heap = options->heap, *book_heap = cache->book_heap;
    cache->heap = heap;
    cache->own_asked = at->asked;
    set_limit(cache, options->cache_limit, ops->own_limit);
    cache->memory_limit = options->memory_limit;
    cache->slab_charged = book_heap->ops->good_size(book_heap, WEIRI_SLAB_BYTES);
    cache->max_buffers = ops->cuts ? UINT64_MAX : heap->ops->max_buffers(heap);
    if (options->max_buffers != 0 && options->max_buffers < cache->max_buffers) {
        cache->max_buffers = options->max_buffers;
    }
}

static void end(weir_cache *cache)
{
    weir_heap *book_heap = cache->book_heap;
    if (cache->policy->ops->fini != NULL) {
        cache->policy->ops->fini(cache->policy);
    }
    if (cache->watchers[WEIRI_WATCH_TUNER] != NULL) {
        book_heap->ops->free(book_heap, cache->watchers[WEIRI_WATCH_TUNER], WEIRI_TUNER_BYTES);
    }
    weiri_slab *slab = cache->records.slabs;
    while (slab != NULL) {
        weiri_slab *next = slab->next;
        if (!slab->built_in) {
            book_heap->ops->free(book_heap, slab, slab->asked);
        }
        slab = next;
    }
    book_heap->ops->free(book_heap, cache, cache->own_asked);
}

/* The model for cache_limit `auto`: its size is fixed, and counted. */
static weir_err tuner_make(weir_cache *cache)
{
    weir_heap *heap = cache->book_heap;
    uint64_t charged = heap->ops->good_size(heap, WEIRI_TUNER_BYTES);
    if (!weiri_cache_fits(cache->book, charged, cache->memory_limit)) { /* M2 */
        return weiri_fail(WEIR_E_LIMIT,
                          "cache_limit: auto: its model asks %llu bytes, %llu held, limit %llu",
                          (unsigned long long)charged, (unsigned long long)cache->book,
                          (unsigned long long)cache->memory_limit);
    }
    void *memory = NULL;
    weir_err err = heap->ops->alloc(heap, WEIRI_TUNER_BYTES, &memory);
    if (err != WEIR_OK) {
        return err;
    }
    cache->watchers[WEIRI_WATCH_TUNER] = weiri_tuner_init(memory, cache->policy);
    cache->watched = cache->automatic = true;
    cache->watch_book = charged;
    cache->book += charged;
    cache->held_peak = cache->book;
    return WEIR_OK;
}

weir_err weir_cache_create(const weir_cache_options *given, weir_cache **ret_cache)
{
    if (ret_cache == NULL) {
        return weiri_null(__func__);
    }
    weir_cache_options options = {0};
    const weiri_policy_ops *ops = NULL;
    weir_heap *book_heap = NULL;
    weir_err err = read_options(given, &options);
    if (err == WEIR_OK) {
        err = find_policy(options.policy, options.heap, &ops);
    }
    if (err == WEIR_OK) {
        err = find_book_heap(options.heap, &book_heap);
    }
    if (err != WEIR_OK) {
        return err;
    }
    if (ops->ops_size != sizeof *ops || ops->policy_bytes > POLICY_BYTES_MAX) {
        return weiri_fail(WEIR_E_INTERNAL, "policy %s: its table is of another build", ops->name);
    }
    layout at = lay_out(ops, book_heap);
    if (!weiri_cache_fits(0, at.charged, options.memory_limit)) { /* M2 */
        return weiri_fail(WEIR_E_LIMIT,
                          "cache: %zu bytes asked for its records, 0 held, limit %llu", at.charged,
                          (unsigned long long)options.memory_limit);
    }
    void *memory = NULL;
    err = book_heap->ops->alloc(book_heap, at.asked, &memory);
    if (err != WEIR_OK) {
        return err;
    }
    weir_cache *cache = memory;
    memset(cache, 0, at.slab);
    cache->book_heap = book_heap;
    fill(cache, &options, ops, &at);
    err = build(cache, ops, &at);
    if (err != WEIR_OK) {
        book_heap->ops->free(book_heap, cache, at.asked);
        return err;
    }
    if (options.cache_limit == WEIR_LIMIT_AUTO) {
        err = tuner_make(cache);
        if (err != WEIR_OK) {
            end(cache);
            return err;
        }
    }
    *ret_cache = cache;
    return WEIR_OK;
}

/* ---- ending one ---------------------------------------------------------------------------- */

/* After closing, only threads that hold a buffer or are in the middle of a call can return; the
 * one that finds none left frees the cache. The others have released the lock for the last time
 * by then. */
void weiri_cache_unlock_closed(weir_cache *cache)
{
    bool last = cache->live_buffers == 0 && cache->idle == 0 && cache->transit == 0 &&
                cache->pending_buffers == 0;
    weiri_lock_give(&cache->lock);
    if (last) {
        end(cache);
    }
}

void weir_cache_destroy(weir_cache *cache)
{
    if (cache == NULL) {
        return;
    }
    /* a program that needs the error stops the trace itself */
    weir_err lost = weiri_watch_stop(cache);
    (void)lost;
    weiri_lock_take(&cache->lock);
    cache->watched = false;
    cache->closing = true;
    weiri_cache_drop(cache, UINT64_MAX, false); /* M3: freed within the call */
    cache->closed = true;
    weiri_cache_unlock(cache);
}

void weir_cache_clear(weir_cache *cache)
{
    if (cache == NULL) {
        return;
    }
    weiri_lock_take(&cache->lock);
    weiri_watch_mark(cache, WEIRI_MARK_CLEAR, 0);
    weiri_cache_drop(cache, UINT64_MAX, false);
    weiri_cache_trim(cache, 0);
    weiri_cache_unlock(cache);
}

/* ---- limits -------------------------------------------------------------------------------- */

void weir_cache_limit_idle(weir_cache *cache, uint64_t cache_limit)
{
    if (cache == NULL) {
        return;
    }
    weiri_lock_take(&cache->lock);
    set_limit(cache, cache_limit, cache->policy->ops->own_limit);
    weiri_watch_mark(cache, WEIRI_MARK_CACHE_LIMIT, cache->cache_limit);
    uint64_t excess = weiri_cache_excess(cache, WEIRI_AT_LIMIT, 0);
    if (excess > 0) { /* M5, M1 */
        weiri_cache_drop(cache, excess, true);
    }
    weiri_cache_unlock(cache);
}

weir_err weir_cache_limit_held(weir_cache *cache, uint64_t memory_limit)
{
    if (cache == NULL) {
        return weiri_null(__func__);
    }
    weir_err err = WEIR_OK;
    weiri_lock_take(&cache->lock);
    for (;;) {
        uint64_t held = weiri_cache_held(cache);
        if (weiri_cache_fits(held, 0, memory_limit)) { /* M2: only if it is respected already */
            cache->memory_limit = memory_limit;
            weiri_watch_mark(cache, WEIRI_MARK_MEMORY_LIMIT, memory_limit);
            break;
        }
        if (cache->idle > 0) { /* M5: first as much as needed; everything if that is not enough */
            bool enough = weiri_cache_fits(held - cache->idle, 0, memory_limit);
            weiri_cache_drop(cache, enough ? held - memory_limit : UINT64_MAX, true);
            continue;
        }
        if (cache->leaving > 0 && weiri_cache_fits(held - cache->leaving, 0, memory_limit)) {
            weiri_condition_wait(&cache->less, &cache->lock);
            continue;
        }
        err = weiri_fail(
            WEIR_E_LIMIT,
            "memory_limit: %llu bytes are below the %llu held (%llu live); it stays %llu",
            (unsigned long long)memory_limit, (unsigned long long)held,
            (unsigned long long)cache->live, (unsigned long long)cache->memory_limit);
        break;
    }
    weiri_cache_unlock(cache);
    return err;
}

/* ---- what it says -------------------------------------------------------------------------- */

weir_err weir_cache_stats_read(weir_cache *cache, weir_cache_stats *ret_stats)
{
    if (cache == NULL) {
        return weiri_null(__func__);
    }
    static const weiri_sized rule = {
        .field = "cache statistics: stats_size",
        .make = "set it to sizeof(weir_cache_stats)",
        .least = WEIRI_THROUGH(weir_cache_stats, auto_limit_bytes),
        .known = sizeof(weir_cache_stats),
    };
    weir_cache_stats stats = {.version = 1};
    weiri_lock_take(&cache->lock);
    stats.live_bytes = cache->live;
    stats.idle_bytes = cache->idle;
    stats.book_bytes = cache->book;
    stats.transit_bytes = cache->transit;
    stats.charged_bytes = cache->charged;
    stats.held_bytes = weiri_cache_held(cache);
    stats.pinned_bytes = cache->policy->pinned_bytes;
    stats.live_peak_bytes = cache->live_peak;
    stats.held_peak_bytes = cache->held_peak;
    stats.cache_limit_bytes = cache->cache_limit;
    stats.memory_limit_bytes = cache->memory_limit;
    stats.live_buffers = cache->live_buffers;
    stats.idle_buffers = cache->policy->idle_buffers;
    stats.hits = cache->hits;
    stats.misses = cache->misses;
    stats.evictions = cache->evictions;
    stats.evicted_bytes = cache->evicted_bytes;
    stats.refusals = cache->refusals;
    stats.heap_failures = cache->heap_failures;
    stats.auto_limit_bytes = cache->automatic ? cache->cache_limit : 0;
    weiri_lock_give(&cache->lock);
    return weiri_sized_write(&rule, &stats, ret_stats);
}

uint64_t weiri_cache_cost(weir_cache *cache, size_t bytes)
{
    const weiri_policy_ops *ops = cache->policy->ops;
    uint64_t cost = ops->size(cache->policy, bytes > 0 ? bytes : 1);
    weiri_lock_take(&cache->lock);
    bool short_of = cache->records.free_count < ops->records;
    weiri_lock_give(&cache->lock);
    if (short_of && cost <= UINT64_MAX - cache->slab_charged) {
        cost += cache->slab_charged;
    }
    return cost;
}
