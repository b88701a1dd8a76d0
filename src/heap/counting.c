/* SPDX-License-Identifier: MIT
 *
 * counting.c: the counting heap: forwards every call to another heap and counts, as an independent check of
 * a cache (M3); and makes calls fail on request of a test. It exchanges no information with a cache. Its own
 * records are small, are allocated by malloc and are not counted.
 *
 * Bytes are counted from after their allocation until they are freed: at every instant the count is what is
 * really allocated, or less. The pages of a range are recorded one by one, so that a page that is
 * committed twice, or released without having been decommitted, is still counted right.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "heap/heap.h"

typedef struct range {
    struct range *next;
    unsigned char *start;
    size_t bytes;
    unsigned char pages[]; /* 1 = committed */
} range;

typedef struct counting {
    weir_heap heap; /* first */
    weir_heap *under;
    weir_heap_ops ops;    /* its own table: flags and optional slots are those of the heap below */
    pthread_mutex_t lock; /* of all below; never held while the heap below is called */
    weir_heap_counts counts;
    uint64_t fail_in;     /* this many calls from now on fails; 0 = none */
    uint64_t fail_repeat; /* number of calls to fail */
    range *ranges;
} counting;

static counting *self(weir_heap *heap)
{
    return (counting *)heap;
}

/* Counts a call and returns whether it must fail. */
static bool call_fails(counting *c)
{
    pthread_mutex_lock(&c->lock);
    c->counts.calls++;
    bool fails = false;
    if (c->fail_in > 1) {
        c->fail_in--;
    } else if (c->fail_in == 1) {
        fails = true;
        c->fail_repeat--;
        c->fail_in = c->fail_repeat > 0 ? 1 : 0;
    }
    pthread_mutex_unlock(&c->lock);
    return fails;
}

static weir_err fail_call(size_t bytes)
{
    return weiri_fail(WEIR_E_NOMEM, "counting heap: refuses %zu bytes, as requested by the test",
                      bytes);
}

/* Under the lock. */
static void add(counting *c, uint64_t bytes)
{
    c->counts.bytes += bytes;
    if (c->counts.bytes > c->counts.bytes_peak) {
        c->counts.bytes_peak = c->counts.bytes;
    }
}

static size_t good_size(weir_heap *heap, size_t bytes)
{
    weir_heap *under = self(heap)->under;
    return under->ops->good_size(under, bytes);
}

static weir_err counting_alloc(weir_heap *heap, size_t bytes, void **ret_memory)
{
    counting *c = self(heap);
    if (call_fails(c)) {
        return fail_call(bytes);
    }
    weir_err err = c->under->ops->alloc(c->under, bytes, ret_memory);
    if (err == WEIR_OK) {
        pthread_mutex_lock(&c->lock);
        add(c, good_size(heap, bytes));
        c->counts.buffers++;
        pthread_mutex_unlock(&c->lock);
    }
    return err;
}

static void counting_free(weir_heap *heap, void *memory, size_t bytes)
{
    counting *c = self(heap);
    if (memory == NULL) {
        return;
    }
    c->under->ops->free(c->under, memory, bytes);
    pthread_mutex_lock(&c->lock);
    c->counts.bytes -= good_size(heap, bytes);
    c->counts.buffers--;
    c->counts.frees++;
    pthread_mutex_unlock(&c->lock);
}

static size_t max_buffers(weir_heap *heap)
{
    weir_heap *under = self(heap)->under;
    return under->ops->max_buffers(under);
}

static size_t page_size(weir_heap *heap)
{
    weir_heap *under = self(heap)->under;
    return under->ops->page_size(under);
}

static weir_err counting_reserve(weir_heap *heap, size_t bytes, void **ret_range)
{
    counting *c = self(heap);
    if (call_fails(c)) {
        return fail_call(bytes);
    }
    range *r = calloc(1, sizeof *r + bytes / page_size(heap) + 1);
    if (r == NULL) {
        return fail_call(bytes);
    }
    void *start = NULL;
    weir_err err = c->under->ops->reserve(c->under, bytes, &start);
    if (err != WEIR_OK) {
        free(r);
        return err;
    }
    r->start = start;
    r->bytes = bytes;
    pthread_mutex_lock(&c->lock);
    r->next = c->ranges;
    c->ranges = r;
    pthread_mutex_unlock(&c->lock);
    *ret_range = start;
    return WEIR_OK;
}

/* Under the lock: marks pages and returns the bytes that changed. */
static uint64_t mark(counting *c, void *start, size_t offset, size_t bytes, unsigned char to)
{
    size_t page = page_size(&c->heap);
    uint64_t changed = 0;
    for (range *r = c->ranges; r != NULL; r = r->next) {
        if (r->start != start) {
            continue;
        }
        for (size_t at = offset; at < offset + bytes && at < r->bytes; at += page) {
            changed += r->pages[at / page] != to ? page : 0;
            r->pages[at / page] = to;
        }
    }
    return changed;
}

static weir_err counting_commit(weir_heap *heap, void *start, size_t offset, size_t bytes)
{
    counting *c = self(heap);
    if (call_fails(c)) {
        return fail_call(bytes);
    }
    weir_err err = c->under->ops->commit(c->under, start, offset, bytes);
    if (err == WEIR_OK) {
        pthread_mutex_lock(&c->lock);
        add(c, mark(c, start, offset, bytes, 1));
        pthread_mutex_unlock(&c->lock);
    }
    return err;
}

static weir_err counting_decommit(weir_heap *heap, void *start, size_t offset, size_t bytes)
{
    counting *c = self(heap);
    weir_err err = c->under->ops->decommit(c->under, start, offset, bytes);
    if (err == WEIR_OK) {
        pthread_mutex_lock(&c->lock);
        c->counts.bytes -= mark(c, start, offset, bytes, 0);
        c->counts.frees++;
        pthread_mutex_unlock(&c->lock);
    }
    return err;
}

static void counting_release(weir_heap *heap, void *start, size_t bytes)
{
    counting *c = self(heap);
    if (start == NULL) {
        return;
    }
    /* Remove the record first: once released, another thread may get the same addresses. */
    pthread_mutex_lock(&c->lock);
    uint64_t committed = mark(c, start, 0, bytes, 0);
    range *gone = NULL;
    for (range **at = &c->ranges; *at != NULL; at = &(*at)->next) {
        if ((*at)->start == start) {
            gone = *at;
            *at = gone->next;
            break;
        }
    }
    pthread_mutex_unlock(&c->lock);
    c->under->ops->release(c->under, start, bytes);
    pthread_mutex_lock(&c->lock);
    c->counts.bytes -= committed;
    pthread_mutex_unlock(&c->lock);
    free(gone);
}

static weir_err synchronise(weir_heap *heap)
{
    return weiri_heap_synchronise(self(heap)->under);
}

static weir_err copy_in(
    weir_heap *heap, void *memory, size_t offset, const void *from, size_t bytes, weir_queue *queue)
{
    weir_heap *under = self(heap)->under;
    return under->ops->copy_in(under, memory, offset, from, bytes, queue);
}

static weir_err
copy_out(weir_heap *heap, void *to, void *memory, size_t offset, size_t bytes, weir_queue *queue)
{
    weir_heap *under = self(heap)->under;
    return under->ops->copy_out(under, to, memory, offset, bytes, queue);
}

static weir_err queue_create(weir_heap *heap, weir_queue **ret_queue)
{
    weir_heap *under = self(heap)->under;
    return under->ops->queue_create(under, ret_queue);
}

static weir_err queue_wait(weir_heap *heap, weir_queue *queue)
{
    weir_heap *under = self(heap)->under;
    return under->ops->queue_wait(under, queue);
}

static void queue_destroy(weir_heap *heap, weir_queue *queue)
{
    weir_heap *under = self(heap)->under;
    under->ops->queue_destroy(under, queue);
}

static void counting_destroy(weir_heap *heap)
{
    counting *c = self(heap);
    while (c->ranges != NULL) {
        range *r = c->ranges;
        c->ranges = r->next;
        free(r);
    }
    pthread_mutex_destroy(&c->lock);
    free(c);
}

weir_err weir_heap_counting_create(weir_heap *under, weir_heap **ret_heap)
{
    if (ret_heap == NULL) {
        return weiri_null(__func__);
    }
    weir_err err = weir_heap_check(under);
    if (err != WEIR_OK) {
        return err;
    }
    counting *c = calloc(1, sizeof *c);
    if (c == NULL || pthread_mutex_init(&c->lock, NULL) != 0) {
        free(c);
        return weiri_fail(WEIR_E_NOMEM, "counting heap: no memory for itself");
    }
    c->ops = (weir_heap_ops){
        .ops_size = sizeof(weir_heap_ops),
        .name = "counting",
        .flags = under->ops->flags,
        .good_size = good_size,
        .alloc = counting_alloc,
        .free = counting_free,
        .max_buffers = max_buffers,
        .synchronise = synchronise,
        .destroy = counting_destroy,
    };
    if ((under->ops->flags & WEIR_HEAP_PAGES) != 0) {
        c->ops.page_size = page_size;
        c->ops.reserve = counting_reserve;
        c->ops.commit = counting_commit;
        c->ops.decommit = counting_decommit;
        c->ops.release = counting_release;
    }
    if (weiri_heap_is_device(under)) {
        c->ops.copy_in = copy_in;
        c->ops.copy_out = copy_out;
        c->ops.queue_create = queue_create;
        c->ops.queue_wait = queue_wait;
        c->ops.queue_destroy = queue_destroy;
    }
    c->heap.ops = &c->ops;
    c->under = under;
    *ret_heap = &c->heap;
    return WEIR_OK;
}

weir_heap_counts weir_heap_counting_counts(const weir_heap *heap)
{
    if (heap == NULL) {
        return (weir_heap_counts){0};
    }
    counting *c = self((weir_heap *)heap);
    pthread_mutex_lock(&c->lock);
    weir_heap_counts counts = c->counts;
    pthread_mutex_unlock(&c->lock);
    return counts;
}

void weir_heap_counting_fail(weir_heap *heap, uint64_t nth, uint64_t repeat)
{
    if (heap == NULL) {
        return;
    }
    counting *c = self(heap);
    pthread_mutex_lock(&c->lock);
    c->fail_in = repeat > 0 ? nth : 0;
    c->fail_repeat = repeat;
    pthread_mutex_unlock(&c->lock);
}
