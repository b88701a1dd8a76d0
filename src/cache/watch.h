/* SPDX-License-Identifier: MIT
 *
 * watch.h: watchers of a cache's allocations and frees: a trace that is recorded, and the model
 * that chooses the limit if cache_limit is `auto`. Both are in src/trace, above this module, and
 * are called through a table of functions. Without watchers the cost is one test of `watched`.
 */
#ifndef WEIRI_WATCH_H
#define WEIRI_WATCH_H

#include "cache/records.h"

typedef enum weiri_mark {
    WEIRI_MARK_END,
    WEIRI_MARK_CACHE_LIMIT,
    WEIRI_MARK_MEMORY_LIMIT,
    WEIRI_MARK_CLEAR,
    WEIRI_MARK_CHARGE,
    WEIRI_MARK_UNCHARGE
} weiri_mark;

/* Its first field is its table. All under the cache's lock unless stated otherwise. */
typedef struct weiri_watcher weiri_watcher;
typedef struct weiri_watcher_ops {
    /* After a request was served and counted. May change cache_limit (auto). */
    void (*take)(weiri_watcher *watcher, weir_cache *cache, weiri_record *record, size_t asked);
    /* Before a buffer is freed. */
    void (*give)(weiri_watcher *watcher, const weiri_record *record);
    void (*mark)(weiri_watcher *watcher, weiri_mark mark, uint64_t value); /* NULL = ignored */
    /* no lock; before the cache is freed. NULL = nothing to do */
    weir_err (*stop)(weir_cache *cache);
} weiri_watcher_ops;

struct weiri_watcher {
    const weiri_watcher_ops *ops;
};

enum { WEIRI_WATCH_RECORDER, WEIRI_WATCH_TUNER, WEIRI_WATCHERS };

void weiri_watch_take(weir_cache *cache, weiri_record *record, size_t asked);
void weiri_watch_give(weir_cache *cache, weiri_record *record);
void weiri_watch_mark(weir_cache *cache, weiri_mark mark, uint64_t value);
/* No lock: the caller is the only user. Returns the first error. */
weir_err weiri_watch_stop(weir_cache *cache);

/* ---- the model of cache_limit: auto (src/trace/auto.c) -------------------------------------- */

/* The model's total memory. Fixed, whatever the cache does. */
#define WEIRI_TUNER_BYTES ((size_t)96 << 10)
#define WEIRI_TUNER_RATE  0.99
/* The limit until the model has chosen one. */
#define WEIRI_AUTO_START (UINT64_C(512) << 20)

struct weiri_policy;
/* In memory of WEIRI_TUNER_BYTES, which becomes the watcher. As with the policies in
 * policies.def only its name is known here. */
weiri_watcher *weiri_tuner_init(void *memory, const struct weiri_policy *policy);

#endif
