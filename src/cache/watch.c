/* SPDX-License-Identifier: MIT
 *
 * watch.c: hands a cache's takes and gives to what watches it.
 */
#include "cache/watch.h"

#include "cache/cache.h"

void weiri_watch_take(weir_cache *cache, weiri_record *record, size_t asked)
{
    if (cache->recorder != NULL) {
        weiri_recorder_take(cache->recorder, record, asked);
    }
    uint64_t limit = 0;
    if (cache->tuner != NULL) {
        /* Where sizes matter, that of the request, not of what happened to serve it. */
        uint64_t charged = cache->policy->ops->serves != NULL
                               ? cache->policy->ops->size(cache->policy, asked)
                               : record->buffer.charged;
        if (weiri_tuner_take(cache->tuner, charged, cache->hits, &limit) && cache->automatic) {
            cache->auto_limit = limit;
            cache->cache_limit = cache->policy->cache_limit = limit;
            weiri_watch_mark(cache, WEIRI_MARK_CACHE_LIMIT, limit);
        }
    }
}

void weiri_watch_give(weir_cache *cache, weiri_record *record)
{
    if (cache->recorder != NULL) {
        weiri_recorder_give(cache->recorder, record);
    }
    if (cache->tuner != NULL) {
        weiri_tuner_give(cache->tuner, record->buffer.charged);
    }
}

void weiri_watch_mark(weir_cache *cache, weiri_mark mark, uint64_t value)
{
    if (cache->recorder != NULL) {
        weiri_recorder_mark(cache->recorder, mark, value);
    }
}
