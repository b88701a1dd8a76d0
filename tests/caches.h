/* SPDX-License-Identifier: MIT
 *
 * caches.h: a cache with stated limits, and its statistics.
 */
#ifndef WEIR_TEST_CACHES_H
#define WEIR_TEST_CACHES_H

#include <weir/cache.h>

#include "testing.h"

static inline weir_cache *new_cache(const char *policy, uint64_t cache_limit, uint64_t memory_limit)
{
    weir_cache_options options = weir_cache_options_default();
    options.policy = policy;
    options.cache_limit = cache_limit;
    options.memory_limit = memory_limit;
    weir_cache *cache = NULL;
    assert_ok(weir_cache_create(&options, &cache));
    return cache;
}

static inline weir_cache_stats stats_of(weir_cache *cache)
{
    weir_cache_stats stats = {.stats_size = sizeof stats};
    weir_cache_stats_read(cache, &stats);
    return stats;
}

#endif
