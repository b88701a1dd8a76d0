/* SPDX-License-Identifier: MIT
 *
 * trace.c: writes a cache's allocations and frees to a file as they happen. The format is in
 * weir/trace.h; trace_read.c reads it. Bytes are collected in a fixed buffer and written when it is
 * full, under the cache's lock: the events are in the order in which the lock was acquired, which
 * is the order needed for a replay. Nothing grows.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <weir/trace.h>

#include "cache/cache.h"
#include "cache/watch.h"

#define BUFFER      3968 /* with the fields one page of the host, the heap's header included */
#define VARINT_MOST 10

typedef struct weiri_recorder {
    weiri_watcher watcher; /* must be first */
    int file;
    int failed; /* errno of the first failed write; nothing is written after it */
    uint64_t events, takes, last_size;
    uint64_t first; /* number of the first allocation in the file */
    size_t used;
    unsigned char buffer[BUFFER];
} weiri_recorder;

static void flush(weiri_recorder *r)
{
    for (size_t done = 0; done < r->used && r->failed == 0;) {
        ssize_t wrote = write(r->file, r->buffer + done, r->used - done);
        if (wrote > 0) {
            done += (size_t)wrote;
        } else if (wrote == 0 || errno != EINTR) {
            r->failed = wrote == 0 ? ENOSPC : errno;
        }
    }
    r->used = 0;
}

static void put(weiri_recorder *r, uint64_t value)
{
    if (r->used + VARINT_MOST > BUFFER) {
        flush(r);
    }
    for (; value >= 0x80; value >>= 7) {
        r->buffer[r->used++] = (unsigned char)(value | 0x80);
    }
    r->buffer[r->used++] = (unsigned char)value;
}

/* ---- events, lock held --------------------------------------------------------------------- */

/* Sizes are below 2^60: no heap can allocate more. Numbers of allocations continue from one
 * recording to the next, so that buffers of an earlier one are recognised by their number. */
static void record_take(weiri_recorder *r, weiri_record *record, uint64_t asked)
{
    int64_t more = (int64_t)(asked - r->last_size);
    uint64_t zigzag = more < 0 ? ~((uint64_t)more << 1) : (uint64_t)more << 1;
    put(r, zigzag << 2);
    r->last_size = asked;
    r->events++;
    record->number = ++r->takes;
}

static void take(weiri_watcher *watcher, weir_cache *cache, weiri_record *record, size_t asked)
{
    (void)cache;
    record_take((weiri_recorder *)(void *)watcher, record, asked);
}

static void give(weiri_watcher *watcher, const weiri_record *record)
{
    weiri_recorder *r = (weiri_recorder *)(void *)watcher;
    if (record->number >= r->first) {
        put(r, (r->takes - record->number) << 2 | 1);
        r->events++;
    }
}

static void mark_event(weiri_watcher *watcher, weiri_mark mark, uint64_t value)
{
    weiri_recorder *r = (weiri_recorder *)(void *)watcher;
    put(r, (uint64_t)mark << 2 | 2);
    if (mark == WEIRI_MARK_CACHE_LIMIT || mark == WEIRI_MARK_MEMORY_LIMIT) {
        put(r, value == WEIR_NO_LIMIT ? 0 : value + 1);
    } else if (mark == WEIRI_MARK_END) {
        put(r, r->events);
    } else if (mark != WEIRI_MARK_CLEAR) {
        put(r, value);
    }
    r->events++;
}

static const weiri_watcher_ops watcher_ops = {
    .take = take, .give = give, .mark = mark_event, .stop = weir_trace_stop};

/* ---- start and stop ------------------------------------------------------------------------ */

/* Lock held. */
static void write_head(weir_cache *cache, weiri_recorder *r)
{
    char limit[24] = "none";
    if (cache->cache_limit != WEIR_NO_LIMIT) {
        snprintf(limit, sizeof limit, "%llu", (unsigned long long)cache->cache_limit);
    }
    int length = snprintf((char *)r->buffer, BUFFER, "weir-trace 1 %.40s %.40s %s\n",
                          cache->policy->ops->name, cache->heap->ops->name, limit);
    r->used = length > 0 ? (size_t)length : 0;
}

/* Lock held. Buffers that are already in use. */
static void write_live(weir_cache *cache, weiri_recorder *r)
{
    for (weiri_slab *slab = cache->records.slabs; slab != NULL; slab = slab->next) {
        for (uint32_t i = 0; i < slab->count; i++) {
            weiri_record *record = &slab->records[i];
            if (record->state == WEIRI_RECORD_LIVE) {
                record_take(r, record, record->buffer.bytes);
            }
        }
    }
}

static weir_err room_for(weir_cache *cache, uint64_t charged)
{
    weir_err err = WEIR_OK;
    weiri_lock_take(&cache->lock);
    uint64_t held = weiri_cache_held(cache);
    if (cache->watchers[WEIRI_WATCH_RECORDER] != NULL || cache->tracing) {
        err = weiri_fail(WEIR_E_USAGE, "trace: the cache records one already");
    } else if (!weiri_cache_fits(held, charged, cache->memory_limit)) { /* M2 */
        err = weiri_fail(WEIR_E_LIMIT, "trace: %llu bytes asked, %llu held, limit %llu",
                         (unsigned long long)charged, (unsigned long long)held,
                         (unsigned long long)cache->memory_limit);
    } else {
        cache->tracing = true;
        cache->transit += charged;
        weiri_cache_peaks(cache);
    }
    weiri_cache_unlock(cache);
    return err;
}

static weir_err open_file(const char *path, int *ret_file)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) {
        return weiri_fail(WEIR_E_IO, "%s: %s", path, strerror(errno));
    }
    *ret_file = file;
    return WEIR_OK;
}

weir_err weir_trace_start(weir_cache *cache, const char *path)
{
    if (cache == NULL || path == NULL) {
        return weiri_null(__func__);
    }
    weir_heap *heap = cache->book_heap;
    uint64_t charged = heap->ops->good_size(heap, sizeof(weiri_recorder));
    weir_err err = room_for(cache, charged);
    if (err != WEIR_OK) {
        return err;
    }
    int file = -1;
    void *memory = NULL;
    err = open_file(path, &file);
    if (err == WEIR_OK) {
        err = heap->ops->alloc(heap, sizeof(weiri_recorder), &memory);
    }
    weiri_lock_take(&cache->lock);
    cache->transit -= charged;
    if (err == WEIR_OK) {
        weiri_recorder *r = memory;
        memset(r, 0, sizeof *r);
        r->watcher.ops = &watcher_ops;
        r->file = file;
        r->takes = cache->traced;
        r->first = cache->traced + 1;
        write_head(cache, r);
        write_live(cache, r);
        cache->book += charged;
        cache->watch_book += charged;
        cache->watchers[WEIRI_WATCH_RECORDER] = &r->watcher;
        cache->watched = true;
    } else {
        cache->tracing = false;
    }
    weiri_cache_unlock(cache);
    if (err != WEIR_OK && file >= 0) {
        close(file);
    }
    return err;
}

weir_err weir_trace_stop(weir_cache *cache)
{
    if (cache == NULL) {
        return weiri_null(__func__);
    }
    weir_heap *heap = cache->book_heap;
    uint64_t charged = heap->ops->good_size(heap, sizeof(weiri_recorder));
    weiri_lock_take(&cache->lock);
    weiri_recorder *r = (weiri_recorder *)(void *)cache->watchers[WEIRI_WATCH_RECORDER];
    if (r == NULL) {
        weiri_cache_unlock(cache);
        return WEIR_OK;
    }
    mark_event(&r->watcher, WEIRI_MARK_END, 0);
    flush(r);
    int failed = r->failed, file = r->file;
    cache->traced = r->takes;
    cache->watchers[WEIRI_WATCH_RECORDER] = NULL;
    cache->watched = cache->watchers[WEIRI_WATCH_TUNER] != NULL;
    cache->book -= charged;
    cache->watch_book -= charged;
    cache->transit += charged; /* M3: until the heap has freed it */
    weiri_lock_give(&cache->lock);
    heap->ops->free(heap, r, sizeof *r);
    failed = close(file) != 0 && failed == 0 ? errno : failed;
    weiri_lock_take(&cache->lock);
    cache->transit -= charged;
    cache->tracing = false;
    weiri_cache_unlock(cache);
    return failed == 0 ? WEIR_OK : weiri_fail(WEIR_E_IO, "trace: %s", strerror(failed));
}
