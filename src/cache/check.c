/* SPDX-License-Identifier: MIT
 *
 * check.c: verifies a cache's metadata, for tests. It trusts no counter: it sums records and slabs
 * and compares. It changes nothing.
 */
#include "cache/cache.h"

typedef struct found {
    uint64_t live, idle, leaving;
    uint64_t live_buffers, idle_buffers, pending_buffers, leaving_buffers;
    uint64_t free_records, used_records, book;
} found;

static weir_err wrong(const char *what, uint64_t counted, uint64_t is)
{
    return weiri_fail(WEIR_E_INTERNAL, "cache: %s is counted as %llu and is %llu", what,
                      (unsigned long long)counted, (unsigned long long)is);
}

static weir_err walk_slab(const weir_cache *cache, const weiri_slab *slab, found *f)
{
    uint64_t used = 0, listed = 0;
    for (uint32_t i = 0; i < slab->count; i++) {
        const weiri_record *record = &slab->records[i];
        if (record->slab != slab) {
            return weiri_fail(WEIR_E_INTERNAL, "cache: a record points to another slab");
        }
        used += record->state != WEIRI_RECORD_FREE;
        if (record->state != WEIRI_RECORD_FREE && record->buffer.cache != cache) {
            return weiri_fail(WEIR_E_INTERNAL, "cache: a record points to another cache");
        }
        switch ((weiri_record_state)record->state) {
        case WEIRI_RECORD_LIVE:
            f->live += record->buffer.charged;
            f->live_buffers++;
            break;
        case WEIRI_RECORD_IDLE:
            f->idle += record->buffer.charged;
            f->idle_buffers++;
            break;
        case WEIRI_RECORD_LEAVING:
            f->leaving += record->buffer.charged;
            f->leaving_buffers++;
            break;
        case WEIRI_RECORD_TAKEN:
            f->pending_buffers++;
            break;
        case WEIRI_RECORD_FREE:
            break;
        }
    }
    for (const weiri_record *at = slab->free; at != NULL && listed <= slab->count; at = at->next) {
        listed++;
    }
    if (used != slab->used || listed + used != slab->count) {
        return wrong("a slab's number of used records", slab->used, used);
    }
    f->used_records += used;
    f->free_records += listed;
    f->book += slab->charged;
    return WEIR_OK;
}

static weir_err compare(const weir_cache *cache, const found *f, bool whole_buffers)
{
    const struct {
        const char *what;
        uint64_t counted, is;
    } rows[] = {
        {"live", cache->live, f->live},
        {"idle", cache->idle, f->idle},
        {"live_buffers", cache->live_buffers, f->live_buffers},
        {"book", cache->book, f->book},
        {"free records", cache->records.free_count, f->free_records},
        {"used records", cache->records.used_count, f->used_records},
        {"idle_buffers", cache->policy->idle_buffers, f->idle_buffers},
        {"pending_buffers", cache->pending_buffers, f->pending_buffers},
        {"leaving_buffers", cache->leaving_buffers, f->leaving_buffers},
    };
    size_t count = whole_buffers ? sizeof rows / sizeof rows[0] : 6;
    for (size_t i = 0; i < count; i++) {
        if (rows[i].counted != rows[i].is) {
            return wrong(rows[i].what, rows[i].counted, rows[i].is);
        }
    }
    if (f->leaving > cache->leaving || cache->leaving > cache->transit) {
        return wrong("leaving", cache->leaving, f->leaving);
    }
    uint64_t held = weiri_cache_held(cache);
    if (held > cache->memory_limit || held > cache->held_peak) { /* M2, M4 */
        return weiri_fail(WEIR_E_INTERNAL, "cache: %llu held, limit %llu, peak %llu",
                          (unsigned long long)held, (unsigned long long)cache->memory_limit,
                          (unsigned long long)cache->held_peak);
    }
    if (cache->live > cache->live_peak || cache->live_peak > cache->held_peak) {
        return wrong("live_peak", cache->live_peak, cache->live);
    }
    if (cache->policy->ops->excess == NULL && cache->idle > cache->cache_limit) { /* M1 */
        return weiri_fail(WEIR_E_INTERNAL, "cache: %llu idle, limit %llu",
                          (unsigned long long)cache->idle, (unsigned long long)cache->cache_limit);
    }
    return WEIR_OK;
}

weir_err weir_cache_check(weir_cache *cache)
{
    if (cache == NULL) {
        return weiri_null(__func__);
    }
    found f = {0};
    weir_err err = WEIR_OK;
    weiri_lock_take(&cache->lock);
    f.book = cache->policy_book + cache->watch_book;
    const weiri_slab *previous = NULL;
    for (const weiri_slab *slab = cache->records.slabs; slab != NULL; slab = slab->next) {
        if (slab->previous != previous) {
            err = weiri_fail(WEIR_E_INTERNAL, "cache: the list of slabs is broken");
            break;
        }
        previous = slab;
        err = walk_slab(cache, slab, &f);
        if (err != WEIR_OK) {
            break;
        }
    }
    if (err == WEIR_OK) {
        uint64_t live = UINT64_MAX, idle = 0;
        err = cache->policy->ops->check(cache->policy, &live, &idle);
        bool whole_buffers = live == UINT64_MAX;
        if (err == WEIR_OK && whole_buffers && idle != f.idle) {
            err = wrong("idle in the policy", idle, f.idle);
        }
        if (!whole_buffers) {
            f.live = live;
            f.idle = idle;
        }
        if (err == WEIR_OK) {
            err = compare(cache, &f, whole_buffers);
        }
    }
    weiri_lock_give(&cache->lock);
    return err;
}
