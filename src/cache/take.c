/* SPDX-License-Identifier: MIT
 *
 * take.c: allocating and freeing buffers: the order of reservation, heap call and count, which
 * makes the limit strict (M2, M3):
 *
 *   allocating: 1. reserve under the lock (transit) 2. call the heap without it 3. count as live A
 *           failure withdraws the reservation.
 *   freeing: 1. count as transit under the lock 2. call the heap 3. subtract
 *
 * So at every instant held is at least what was allocated from the heap. The structure of cached
 * memory is the policy's.
 */
#include "cache/cache.h"

#include <string.h>

/* ---- small things, lock held --------------------------------------------------------------- */

void weiri_cache_peaks(weir_cache *cache)
{
    uint64_t held = weiri_cache_held(cache);
    cache->held_peak = held > cache->held_peak ? held : cache->held_peak;
    cache->live_peak = cache->live > cache->live_peak ? cache->live : cache->live_peak;
}

static weiri_sums sums_of(const weir_cache *cache, uint64_t asked)
{
    return (weiri_sums){
        .live = cache->live,
        .idle = cache->idle,
        .held = weiri_cache_held(cache),
        .cache_limit = cache->cache_limit,
        .memory_limit = cache->memory_limit,
        .asked = asked,
    };
}

uint64_t weiri_cache_excess(weir_cache *cache, weiri_moment moment, uint64_t asked)
{
    if (cache->closing) {
        return cache->idle;
    }
    if (cache->policy->ops->excess != NULL) {
        weiri_sums sums = sums_of(cache, asked);
        uint64_t excess = cache->policy->ops->excess(cache->policy, moment, &sums);
        return excess < cache->idle ? excess : cache->idle;
    }
    return cache->idle > cache->cache_limit ? cache->idle - cache->cache_limit : 0; /* M1 */
}

/* The hot path: by the common rule, nothing has to be freed. Inlining saves a fifth of a pair's
 * time. */
static inline bool is_quiet(const weir_cache *cache)
{
    return cache->idle <= cache->cache_limit && !cache->closing &&
           cache->policy->ops->excess == NULL; /* M1 */
}

/* ---- leaving: lock held, released between -------------------------------------------------- */

static void free_records(weir_cache *cache, weiri_leaving *list)
{
    if (cache->policy->ops->release != NULL) {
        cache->policy->ops->release(cache->policy, list);
        return;
    }
    for (weiri_record *record = list->records; record != NULL; record = record->next) {
        cache->heap->ops->free(cache->heap, record->buffer.memory, record->asked);
    }
}

void weiri_cache_leave(weir_cache *cache, weiri_leaving *list)
{
    const weiri_policy_ops *ops = cache->policy->ops;
    uint64_t buffers = 0;
    for (weiri_record *record = list->records; record != NULL; record = record->next) {
        buffers++;
    }
    cache->transit += list->bytes; /* still held: M2, M3 */
    cache->leaving += list->bytes;
    cache->leaving_buffers += buffers;
    weiri_lock_give(&cache->lock);
    free_records(cache, list);
    weiri_lock_take(&cache->lock);
    uint64_t back = ops->left != NULL ? ops->left(cache->policy, list) : 0;
    cache->transit -= list->bytes;
    cache->leaving -= list->bytes;
    cache->leaving_buffers -= buffers;
    cache->idle += back;
    while (list->records != NULL) {
        weiri_record *record = list->records;
        list->records = record->next;
        weiri_records_put(&cache->records, record);
    }
    weiri_condition_wake(&cache->less);
    /* One slab's worth of free records is kept; otherwise one buffer more or less could allocate
     * and free a slab each time. */
    weiri_cache_trim(cache, WEIRI_SLAB_BYTES / sizeof(weiri_record));
}

void weiri_cache_drop(weir_cache *cache, uint64_t bytes, bool evicts)
{
    weiri_leaving list = {0};
    cache->policy->ops->drop(cache->policy, bytes, &list);
    if (list.count == 0) {
        return;
    }
    cache->idle -= list.bytes;
    if (evicts) {
        cache->evictions += list.count;
        cache->evicted_bytes += list.bytes;
    }
    weiri_cache_leave(cache, &list);
}

void weiri_cache_trim(weir_cache *cache, uint64_t spare)
{
    weiri_slab *slab;
    while ((slab = weiri_records_trim(&cache->records, spare)) != NULL) {
        uint64_t charged = slab->charged;
        cache->book -= charged;
        cache->transit += charged;
        cache->leaving += charged;
        weiri_lock_give(&cache->lock);
        cache->book_heap->ops->free(cache->book_heap, slab, slab->asked);
        weiri_lock_take(&cache->lock);
        cache->transit -= charged;
        cache->leaving -= charged;
        weiri_condition_wake(&cache->less);
    }
}

/* ---- the limit, lock held ------------------------------------------------------------------ */

typedef enum verdict { GO, DROP, WAIT, REFUSE_BYTES, REFUSE_COUNT } verdict;

/* What an allocation or a charge needs. */
typedef struct want {
    uint64_t bytes;   /* from the heap, or charged */
    uint64_t records; /* in addition, for a slab of records; 0 = not needed */
    uint64_t buffers; /* 1 for an allocation */
    uint64_t claimed; /* idle bytes already claimed by place() */
} want;

/* Whether it may continue, and if not, what must be done first; *ret_drop: how many idle bytes
 * must be freed. */
static verdict judge(weir_cache *cache, const want *w, uint64_t *ret_drop)
{
    uint64_t limit = cache->memory_limit;
    uint64_t held = weiri_cache_held(cache);
    uint64_t droppable = cache->idle - w->claimed;
    uint64_t stays = held - droppable;
    if (w->bytes > UINT64_MAX - w->records) {
        return REFUSE_BYTES;
    }
    uint64_t asked = w->bytes + w->records;
    *ret_drop = 1;
    if (!weiri_cache_fits(stays, asked, limit)) { /* M2: refused before anything is freed */
        /* If a new slab of records does not fit, the record of a cached buffer will do: cached
         * memory is never the cause of a refusal. Neither is memory that another thread is
         * freeing at this moment. */
        if (w->records > 0 && cache->policy->idle_buffers > 0 &&
            weiri_cache_fits(stays, w->bytes, limit)) {
            return DROP;
        }
        bool soon = weiri_cache_fits(stays - cache->leaving, asked, limit) ||
                    (cache->leaving_buffers > 0 &&
                     weiri_cache_fits(stays - cache->leaving, w->bytes, limit));
        return cache->leaving > 0 && soon ? WAIT : REFUSE_BYTES;
    }
    uint64_t idle = cache->policy->idle_buffers;
    uint64_t buffers = cache->live_buffers + idle + cache->leaving_buffers + cache->pending_buffers;
    if (w->buffers > 0 && buffers >= cache->max_buffers) { /* M4 */
        return idle > 0 ? DROP : cache->leaving_buffers > 0 ? WAIT : REFUSE_COUNT;
    }
    if (!weiri_cache_fits(held, asked, limit)) {
        *ret_drop = held - (limit - asked);
        return DROP;
    }
    *ret_drop = w->buffers > 0 ? weiri_cache_excess(cache, WEIRI_AT_MISS, w->bytes) : 0;
    return *ret_drop > 0 ? DROP : GO;
}

static weir_err refuse(weir_cache *cache, verdict why, uint64_t asked)
{
    cache->refusals++;
    if (why == REFUSE_COUNT) {
        return weiri_fail(WEIR_E_LIMIT,
                          "cache: %llu bytes asked, %llu buffers held, limit %llu buffers",
                          (unsigned long long)asked, (unsigned long long)cache->live_buffers,
                          (unsigned long long)cache->max_buffers);
    }
    return weiri_fail(WEIR_E_LIMIT,
                      "cache: %llu bytes asked, %llu held (%llu live, %llu idle), limit %llu",
                      (unsigned long long)asked, (unsigned long long)weiri_cache_held(cache),
                      (unsigned long long)cache->live, (unsigned long long)cache->idle,
                      (unsigned long long)cache->memory_limit);
}

/* ---- taking -------------------------------------------------------------------------------- */

static uint64_t cancel(weir_cache *cache, weiri_record *record)
{
    if (cache->policy->ops->cancel != NULL) {
        return cache->policy->ops->cancel(cache->policy, record);
    }
    weiri_records_put(&cache->records, record);
    return 0;
}

/* The heap refused: all cached memory is freed, and the device's pending work is waited for
 * (M2). Lock held, released in between. */
static void make_room(weir_cache *cache)
{
    cache->heap_failures++;
    weiri_cache_drop(cache, UINT64_MAX, true);
    weiri_lock_give(&cache->lock);
    (void)weiri_heap_synchronise(cache->heap); /* a failure shows in the second attempt */
    weiri_lock_take(&cache->lock);
}

static weir_err add_slab(weir_cache *cache)
{
    weir_heap *heap = cache->book_heap;
    void *memory = NULL;
    cache->transit += cache->slab_charged;
    weiri_cache_peaks(cache);
    weiri_lock_give(&cache->lock);
    weir_err err = heap->ops->alloc(heap, WEIRI_SLAB_BYTES, &memory);
    weiri_lock_take(&cache->lock);
    cache->transit -= cache->slab_charged;
    if (err == WEIR_OK) {
        cache->book += cache->slab_charged;
        weiri_records_add(&cache->records, memory, WEIRI_SLAB_BYTES, cache->slab_charged, false);
    }
    return err;
}

/* The policy's own structure has to grow first. Lock held, released in between. */
static weir_err grow(weir_cache *cache, uint64_t book)
{
    if (cache->growing) { /* by then there may be space */
        weiri_condition_wait(&cache->less, &cache->lock);
        return WEIR_OK;
    }
    const weiri_policy_ops *ops = cache->policy->ops;
    cache->growing = true;
    cache->transit += book; /* M2 */
    weiri_cache_peaks(cache);
    weiri_lock_give(&cache->lock);
    weir_err err = ops->grow(cache->policy, book);
    weiri_lock_take(&cache->lock);
    cache->growing = false;
    cache->transit -= book;
    if (err == WEIR_OK) {
        cache->book += book;
        cache->policy_book += book;
        ops->grown(cache->policy);
    }
    weiri_condition_wake(&cache->less);
    return err;
}

/* M4. With carved buffers each one is one more; otherwise judge() counts them. */
static inline bool is_full(const weir_cache *cache)
{
    return cache->live_buffers + cache->pending_buffers >= cache->max_buffers &&
           cache->policy->ops->cuts;
}

/* Serves a request without the heap, as nearly all are, into *ret_place. False: not possible;
 * then *ret_placed states whether *ret_place is valid all the same, for claim(). */
static inline bool
place_first(weir_cache *cache, size_t bytes, weiri_place *ret_place, bool *ret_placed)
{
    *ret_placed = !is_full(cache);
    if (!*ret_placed) {
        return false;
    }
    cache->policy->ops->place(cache->policy, bytes, ret_place);
    return ret_place->record != NULL && ret_place->from_heap == 0;
}

/* Makes space while keeping the claim. With a policy that carves buffers from cached memory,
 * eviction could free the very bytes claimed, and the next place() could need more than was
 * checked (M2: refused before anything is freed). The claimed part counts as live meanwhile.
 * Lock held, released in between. GO, or why it failed after all because others were faster. */
static verdict hold(weir_cache *cache, weiri_place *place, verdict v, uint64_t to_drop)
{
    want w = {.bytes = place->from_heap, .buffers = 1};
    cache->idle -= place->from_idle;
    cache->live += place->from_idle;
    cache->live_peak = cache->live > cache->live_peak ? cache->live : cache->live_peak;
    while (v == DROP || v == WAIT) {
        cache->pending_buffers++;
        if (v == DROP) {
            weiri_cache_drop(cache, to_drop, true);
        } else {
            weiri_condition_wait(&cache->less, &cache->lock);
        }
        cache->pending_buffers--;
        v = judge(cache, &w, &to_drop);
    }
    if (v == GO) {
        place->from_idle = 0; /* already counted */
        return v;
    }
    uint64_t back = cancel(cache, place->record);
    cache->live -= back;
    cache->idle += back;
    weiri_condition_wake(&cache->less); /* what it held may be all that another request lacks */
    return v;
}

/* Without a record nothing is claimed, and freeing memory for records may free what would have
 * served the request: then it may need all that it can occupy. M2: refused before anything is
 * freed. */
static bool fits_at_most(const weir_cache *cache, size_t bytes)
{
    const weiri_policy *policy = cache->policy;
    if (!policy->ops->cuts) {
        return true;
    }
    uint64_t most = policy->ops->size(policy, bytes); /* includes the policy's own metadata */
    uint64_t slab = cache->records.free_count < policy->ops->records ? cache->slab_charged : 0;
    uint64_t stays = weiri_cache_held(cache) - cache->idle;
    return most <= UINT64_MAX - slab && weiri_cache_fits(stays, most + slab, cache->memory_limit);
}

/* Reserves what a request needs from the heap, after place_first. Lock held, released in
 * between; after each release everything is checked again. */
static weir_err
claim(weir_cache *cache, size_t bytes, bool placed, weiri_place *ret_place, bool *ret_slab)
{
    bool retried = false;
    for (bool first = true;; first = false) {
        if (!(first && placed) && place_first(cache, bytes, ret_place, &placed)) {
            return WEIR_OK;
        }
        if (!placed) {
            return refuse(cache, REFUSE_COUNT, bytes);
        }
        weiri_place place = *ret_place;
        if (place.from_heap == UINT64_MAX && cache->memory_limit == WEIR_NO_LIMIT) {
            cache->heap_failures++;
            return weiri_fail(WEIR_E_NOMEM, "cache: %zu bytes asked, more than a heap can have",
                              bytes);
        }
        uint64_t book = place.book > 0 ? place.book : cache->slab_charged;
        want w = {place.from_heap, place.record == NULL ? book : 0, 1, place.from_idle};
        uint64_t to_drop = 0;
        verdict v = judge(cache, &w, &to_drop);
        if (place.record == NULL && v == DROP && !fits_at_most(cache, bytes)) {
            return refuse(cache, REFUSE_BYTES, place.from_heap);
        }
        if (place.record != NULL && (v == DROP || v == WAIT) && cache->policy->ops->cuts) {
            v = hold(cache, ret_place, v, to_drop);
            if (v != GO) {
                return refuse(cache, v, place.from_heap);
            }
        }
        if (v == GO && place.record != NULL) {
            return WEIR_OK;
        }
        if (place.record != NULL) {
            /* the sums are those before the place: not yet applied */
            (void)cancel(cache, place.record);
        }
        if (v == REFUSE_BYTES || v == REFUSE_COUNT) {
            return refuse(cache, v, place.from_heap);
        }
        if (v == DROP) {
            weiri_cache_drop(cache, to_drop, true);
        } else if (v == WAIT) {
            weiri_condition_wait(&cache->less, &cache->lock);
        } else {
            weir_err err = place.book > 0 ? grow(cache, place.book) : add_slab(cache);
            if (err != WEIR_OK && retried) {
                cache->heap_failures++;
                return weiri_fail_prefix(WEIR_E_NOMEM, "cache: no memory for records: ");
            }
            if (err != WEIR_OK) {
                retried = true;
                make_room(cache);
            }
            *ret_slab = (err == WEIR_OK && place.book == 0) || *ret_slab;
        }
    }
}

static weir_err acquire(weir_cache *cache, weiri_record *record)
{
    if (cache->policy->ops->acquire != NULL) {
        return cache->policy->ops->acquire(cache->policy, record);
    }
    return cache->heap->ops->alloc(cache->heap, record->asked, &record->buffer.memory);
}

/* Allocates what was reserved. Lock held, released in between. */
static weir_err fetch(weir_cache *cache, const weiri_place *place)
{
    cache->transit += place->from_heap; /* M2: reserved before it is allocated */
    cache->pending_buffers++;
    weiri_cache_peaks(cache);
    weiri_lock_give(&cache->lock);
    weir_err err = acquire(cache, place->record);
    weiri_lock_take(&cache->lock);
    if (err != WEIR_OK) {
        make_room(cache);
        weiri_lock_give(&cache->lock);
        err = acquire(cache, place->record);
        weiri_lock_take(&cache->lock);
    }
    cache->transit -= place->from_heap;
    cache->pending_buffers--;
    if (err == WEIR_OK) {
        cache->live += place->from_heap;
        weiri_cache_peaks(cache);
        cache->misses++;
        if (cache->policy->ops->settle != NULL) {
            cache->policy->ops->settle(cache->policy, place->record);
        }
        return WEIR_OK;
    }
    cache->heap_failures++;
    uint64_t back = cancel(cache, place->record);
    cache->live -= back;
    cache->idle += back;
    return weiri_fail_prefix(WEIR_E_NOMEM, "cache: %llu bytes asked, %llu held, nothing idle: ",
                             (unsigned long long)place->from_heap,
                             (unsigned long long)weiri_cache_held(cache));
}

weir_err weir_cache_take(weir_cache *cache, size_t bytes, weir_buffer **ret_buffer)
{
    if (cache == NULL || ret_buffer == NULL) {
        return weiri_null(__func__);
    }
    weiri_place place;
    bool slab = false, placed;
    weir_err err = WEIR_OK;
    bytes = bytes > 0 ? bytes : 1;
    weiri_lock_take(&cache->lock);
    if (!place_first(cache, bytes, &place, &placed)) {
        err = claim(cache, bytes, placed, &place, &slab);
    }
    if (err == WEIR_OK) {
        cache->idle -= place.from_idle;
        cache->live += place.from_idle;
        if (place.from_heap == 0) { /* held is unchanged: only live can have a new peak (M4) */
            cache->live_peak = cache->live > cache->live_peak ? cache->live : cache->live_peak;
            cache->hits++;
        } else {
            err = fetch(cache, &place);
        }
    }
    if (err != WEIR_OK) {
        if (slab) {
            weiri_cache_trim(cache, 0); /* M3: as before the call */
        }
        if (cache->idle > cache->cache_limit && cache->policy->ops->excess == NULL) {
            /* M1: the limit was lowered meanwhile, and claimed cached bytes were returned */
            weiri_cache_drop(cache, cache->idle - cache->cache_limit, true);
        }
        weiri_cache_unlock(cache);
        return err;
    }
    place.record->state = WEIRI_RECORD_LIVE;
    atomic_store_explicit(&place.record->refs, 1, memory_order_relaxed);
    cache->live_buffers++;
    if (cache->watched) {
        weiri_watch_take(cache, place.record, bytes);
    }
    if (!is_quiet(cache)) {
        uint64_t excess = weiri_cache_excess(cache, WEIRI_AT_TAKE, bytes);
        if (excess > 0) {
            weiri_cache_drop(cache, excess, true);
        }
    }
    weiri_cache_unlock(cache);
    *ret_buffer = &place.record->buffer;
    return WEIR_OK;
}

/* ---- giving back --------------------------------------------------------------------------- */

weir_buffer *weir_buffer_ref(weir_buffer *buffer)
{
    if (buffer == NULL) {
        return NULL;
    }
    weiri_record *record = (weiri_record *)(void *)buffer;
    atomic_fetch_add_explicit(&record->refs, 1, memory_order_relaxed);
    return buffer;
}

static void give(weir_cache *cache, weiri_record *record)
{
    const weiri_policy_ops *ops = cache->policy->ops;
    uint64_t charged = record->buffer.charged;
    weiri_lock_take(&cache->lock);
    if (cache->watched) {
        weiri_watch_give(cache, record);
    }
    cache->live_buffers--;
    bool kept = ops->cuts || cache->closing || charged <= cache->cache_limit;
    if (ops->admits != NULL && !cache->closing) { /* closing: put, and freed at once */
        weiri_sums sums = sums_of(cache, charged);
        kept = ops->admits(cache->policy, &sums);
    }
    if (kept) {
        uint64_t moved = ops->put(cache->policy, record);
        cache->live -= moved;
        cache->idle += moved;
        if (!is_quiet(cache)) {
            uint64_t excess = weiri_cache_excess(cache, WEIRI_AT_GIVE, charged);
            if (excess > 0) { /* M1: before the lock is released */
                weiri_cache_drop(cache, excess, !cache->closing);
            }
        }
    } else {
        weiri_leaving list = {.records = record, .bytes = charged, .count = 1};
        record->next = NULL;
        record->state = WEIRI_RECORD_LEAVING;
        cache->live -= charged;
        weiri_cache_leave(cache, &list);
    }
    weiri_cache_unlock(cache);
}

void weir_buffer_unref(weir_buffer *buffer)
{
    if (buffer == NULL) {
        return;
    }
    weiri_record *record = (weiri_record *)(void *)buffer;
    /* The only owner need not use an atomic operation: nobody else can add one. */
    if (atomic_load_explicit(&record->refs, memory_order_acquire) == 1 ||
        atomic_fetch_sub_explicit(&record->refs, 1, memory_order_acq_rel) == 1) {
        give(buffer->cache, record);
    }
}

/* ---- copies -------------------------------------------------------------------------------- */

static weir_err check_part(const weir_buffer *buffer, size_t offset, size_t bytes)
{
    if (offset > buffer->bytes || bytes > buffer->bytes - offset) {
        return weiri_fail(WEIR_E_USAGE, "copy of %zu bytes at offset %zu: the buffer has %zu",
                          bytes, offset, buffer->bytes);
    }
    return WEIR_OK;
}

weir_err weir_buffer_copy_in(
    weir_buffer *buffer, size_t offset, const void *from, size_t bytes, weir_queue *queue)
{
    if (buffer == NULL || (from == NULL && bytes > 0)) {
        return weiri_null(__func__);
    }
    weir_err err = check_part(buffer, offset, bytes);
    return err == WEIR_OK
               ? weiri_heap_copy_in(buffer->cache->heap, buffer->memory, offset, from, bytes, queue)
               : err;
}

weir_err
weir_buffer_copy_out(weir_buffer *buffer, size_t offset, void *to, size_t bytes, weir_queue *queue)
{
    if (buffer == NULL || (to == NULL && bytes > 0)) {
        return weiri_null(__func__);
    }
    weir_err err = check_part(buffer, offset, bytes);
    return err == WEIR_OK
               ? weiri_heap_copy_out(buffer->cache->heap, to, buffer->memory, offset, bytes, queue)
               : err;
}

/* ---- charges ------------------------------------------------------------------------------- */

weir_err weir_cache_charge(weir_cache *cache, uint64_t bytes)
{
    if (cache == NULL) {
        return weiri_null(__func__);
    }
    weir_err err = WEIR_OK;
    want w = {.bytes = bytes};
    weiri_lock_take(&cache->lock);
    for (bool done = false; !done;) {
        uint64_t to_drop = 0;
        switch (judge(cache, &w, &to_drop)) {
        case GO:
            cache->charged += bytes;
            weiri_watch_mark(cache, WEIRI_MARK_CHARGE, bytes);
            weiri_cache_peaks(cache);
            done = true;
            break;
        case DROP:
            weiri_cache_drop(cache, to_drop, true);
            break;
        case WAIT:
            weiri_condition_wait(&cache->less, &cache->lock);
            break;
        case REFUSE_BYTES:
        case REFUSE_COUNT:
            err = refuse(cache, REFUSE_BYTES, bytes);
            done = true;
            break;
        }
    }
    weiri_cache_unlock(cache);
    return err;
}

void weir_cache_uncharge(weir_cache *cache, uint64_t bytes)
{
    if (cache == NULL) {
        return;
    }
    weiri_lock_take(&cache->lock);
    cache->charged -= bytes < cache->charged ? bytes : cache->charged;
    weiri_watch_mark(cache, WEIRI_MARK_UNCHARGE, bytes);
    weiri_cache_unlock(cache);
}
