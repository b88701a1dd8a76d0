/* SPDX-License-Identifier: MIT
 *
 * witness.h: a cache on a counting heap, and what must be true of the two between calls. The heap's
 * own count is an independent check of the cache's (M3).
 */
#ifndef WEIR_WITNESS_H
#define WEIR_WITNESS_H

#include <string.h>

#include "caches.h"

/* All policies: M2, M3 and M4 hold for each, and M5's memory_limit. The first two also keep M1
 * and all of M5; mlx has MLX's rules there. A promise is tested with all policies that make it. */
static const char *const keeping_policies[] = {"fit", "pages", "mlx:cpu", "mlx:cuda", "mlx:metal"};
#define KEEPING_POLICIES ((size_t)2)
#define ALL_POLICIES     (sizeof keeping_policies / sizeof keeping_policies[0])

typedef struct witness {
    weir_heap *heap; /* counting */
    weir_cache *cache;
} witness;

static inline weir_heap *counting_heap(void)
{
    weir_heap *host = NULL, *heap = NULL;
    assert_ok(weir_heap_find("host", &host));
    assert_ok(weir_heap_counting_create(host, &heap));
    return heap;
}

static inline witness witness_make(const char *policy, uint64_t cache_limit, uint64_t memory_limit)
{
    witness w = {.heap = counting_heap()};
    weir_cache_options options = weir_cache_options_default();
    options.heap = w.heap;
    options.policy = policy;
    options.cache_limit = cache_limit;
    options.memory_limit = memory_limit;
    assert_ok(weir_cache_create(&options, &w.cache));
    return w;
}

/* Holds whenever no call is in progress. */
static inline void witness_agrees(const witness *w)
{
    weir_cache_stats s = stats_of(w->cache);
    weir_heap_counts counts = weir_heap_counting_counts(w->heap);
    assert_true(s.transit_bytes == 0);                           /* M3 */
    assert_true(counts.bytes == s.held_bytes - s.charged_bytes); /* M3 */
    assert_true(counts.bytes_peak <= s.held_peak_bytes);         /* M4 */
    assert_true(s.held_bytes <= s.memory_limit_bytes);           /* M2 */
    assert_true(s.held_peak_bytes >= s.live_peak_bytes);
    assert_true(s.held_bytes == s.live_bytes + s.idle_bytes + s.book_bytes + s.charged_bytes);
    assert_ok(weir_cache_check(w->cache));
}

/* Frees both; nothing may remain allocated. */
static inline void witness_end(witness *w)
{
    weir_cache_destroy(w->cache);
    assert_true(weir_heap_counting_counts(w->heap).bytes == 0);
    weir_heap_destroy(w->heap);
}

static inline weir_buffer *take(weir_cache *cache, size_t bytes)
{
    weir_buffer *buffer = NULL;
    assert_ok(weir_cache_take(cache, bytes, &buffer));
    assert_true(buffer->bytes >= bytes && buffer->charged >= bytes && buffer->cache == cache);
    assert_true((uintptr_t)buffer->memory % 64 == 0);
    memset(buffer->memory, 0xa5, bytes);
    return buffer;
}

#endif
