/* SPDX-License-Identifier: MIT
 *
 * watch.c: reports a cache's allocations and frees to its watchers.
 */
#include "cache/watch.h"

#include "cache/cache.h"

void weiri_watch_take(weir_cache *cache, weiri_record *record, size_t asked)
{
    for (size_t i = 0; i < WEIRI_WATCHERS; i++) {
        weiri_watcher *watcher = cache->watchers[i];
        if (watcher != NULL) {
            watcher->ops->take(watcher, cache, record, asked);
        }
    }
}

void weiri_watch_give(weir_cache *cache, weiri_record *record)
{
    for (size_t i = 0; i < WEIRI_WATCHERS; i++) {
        weiri_watcher *watcher = cache->watchers[i];
        if (watcher != NULL) {
            watcher->ops->give(watcher, record);
        }
    }
}

void weiri_watch_mark(weir_cache *cache, weiri_mark mark, uint64_t value)
{
    for (size_t i = 0; i < WEIRI_WATCHERS; i++) {
        weiri_watcher *watcher = cache->watchers[i];
        if (watcher != NULL && watcher->ops->mark != NULL) {
            watcher->ops->mark(watcher, mark, value);
        }
    }
}

weir_err weiri_watch_stop(weir_cache *cache)
{
    weir_err err = WEIR_OK;
    for (size_t i = 0; i < WEIRI_WATCHERS; i++) {
        const weiri_watcher *watcher = cache->watchers[i];
        if (watcher != NULL && watcher->ops->stop != NULL) {
            weir_err stopped = watcher->ops->stop(cache);
            err = err == WEIR_OK ? stopped : err;
        }
    }
    return err;
}
