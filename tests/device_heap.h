/* SPDX-License-Identifier: MIT
 *
 * device_heap.h: a heap whose memory the host cannot address, like a device's: pages without access
 * permission, which end the process when touched. Copies permit access while they run; a queue
 * delays its copies until it is waited for.
 */
#ifndef WEIR_DEVICE_HEAP_H
#define WEIR_DEVICE_HEAP_H

#include <string.h>
#include <sys/mman.h>

#include <weir/cache.h>

#include "testing.h"

#define DEVICE_PAGE ((size_t)4096)

static inline size_t device_good_size(weir_heap *heap, size_t bytes)
{
    (void)heap;
    bytes = bytes > 0 ? bytes : 1;
    return bytes > PTRDIFF_MAX ? SIZE_MAX : (bytes + DEVICE_PAGE - 1) / DEVICE_PAGE * DEVICE_PAGE;
}

static inline weir_err device_alloc(weir_heap *heap, size_t bytes, void **ret_memory)
{
    size_t good = device_good_size(heap, bytes);
    void *memory = MAP_FAILED;
    if (good != SIZE_MAX) {
        memory = mmap(NULL, good, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    *ret_memory = memory == MAP_FAILED ? *ret_memory : memory;
    return memory == MAP_FAILED ? WEIR_E_NOMEM : WEIR_OK;
}

static inline void device_free(weir_heap *heap, void *memory, size_t bytes)
{
    if (memory != NULL) {
        munmap(memory, device_good_size(heap, bytes));
    }
}

static inline size_t device_max_buffers(weir_heap *heap)
{
    (void)heap;
    return 10000;
}

static inline size_t device_page_size(weir_heap *heap)
{
    (void)heap;
    return DEVICE_PAGE;
}

/* A range has no access from the start, and stays so when committed. */
static inline weir_err device_commit(weir_heap *heap, void *range, size_t offset, size_t bytes)
{
    (void)heap;
    (void)range;
    (void)offset;
    (void)bytes;
    return WEIR_OK;
}

struct weir_queue {
    struct {
        unsigned char *to;
        const unsigned char *from;
        size_t bytes;
    } copies[16];
    int count;
};

static inline void device_copy(void *to, const void *from, size_t bytes, void *pages)
{
    unsigned char *first = (unsigned char *)pages - (uintptr_t)pages % DEVICE_PAGE;
    size_t whole = (size_t)((unsigned char *)pages - first) + bytes;
    assert_int_equal(mprotect(first, whole, PROT_READ | PROT_WRITE), 0);
    memcpy(to, from, bytes);
    assert_int_equal(mprotect(first, whole, PROT_NONE), 0);
}

static inline weir_err device_copy_in(
    weir_heap *heap, void *memory, size_t offset, const void *from, size_t bytes, weir_queue *queue)
{
    (void)heap;
    unsigned char *to = (unsigned char *)memory + offset;
    if (queue != NULL) {
        queue->copies[queue->count].to = to;
        queue->copies[queue->count].from = from;
        queue->copies[queue->count++].bytes = bytes;
        return WEIR_OK;
    }
    device_copy(to, from, bytes, to);
    return WEIR_OK;
}

/* Reads wait for what was queued before; nothing more is needed here. */
static inline weir_err device_copy_out(
    weir_heap *heap, void *to, void *memory, size_t offset, size_t bytes, weir_queue *queue)
{
    (void)heap;
    (void)queue;
    unsigned char *from = (unsigned char *)memory + offset;
    device_copy(to, from, bytes, from);
    return WEIR_OK;
}

static inline weir_err device_queue_create(weir_heap *heap, weir_queue **ret_queue)
{
    (void)heap;
    *ret_queue = calloc(1, sizeof **ret_queue);
    return *ret_queue == NULL ? WEIR_E_NOMEM : WEIR_OK;
}

static inline weir_err device_queue_wait(weir_heap *heap, weir_queue *queue)
{
    (void)heap;
    for (int i = 0; i < queue->count; i++) {
        device_copy(queue->copies[i].to, queue->copies[i].from, queue->copies[i].bytes,
                    queue->copies[i].to);
    }
    queue->count = 0;
    return WEIR_OK;
}

static inline void device_queue_destroy(weir_heap *heap, weir_queue *queue)
{
    (void)heap;
    free(queue);
}

static inline weir_heap *device_heap(void)
{
    static const weir_heap_ops ops = {
        .ops_size = sizeof ops,
        .name = "fake device",
        .flags = WEIR_HEAP_DEVICE | WEIR_HEAP_PAGES,
        .good_size = device_good_size,
        .alloc = device_alloc,
        .free = device_free,
        .max_buffers = device_max_buffers,
        .page_size = device_page_size,
        .reserve = device_alloc,
        .commit = device_commit,
        .decommit = device_commit,
        .release = device_free,
        .copy_in = device_copy_in,
        .copy_out = device_copy_out,
        .queue_create = device_queue_create,
        .queue_wait = device_queue_wait,
        .queue_destroy = device_queue_destroy,
    };
    static weir_heap heap = {&ops};
    return &heap;
}

#endif
