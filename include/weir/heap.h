/* SPDX-License-Identifier: MIT
 *
 * weir/heap.h: where bytes come from. A heap hands out whole buffers and says beforehand what a
 * request will really occupy. It keeps nothing that was freed: that is the cache's work.
 */
#ifndef WEIR_HEAP_H
#define WEIR_HEAP_H

#include <weir/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_heap weir_heap;

/* Copies and kernels of one device that run one after another, in the order in which they were given. Opaque: each
 * heap knows its own. NULL = none: the call returns when its work is done. */
typedef struct weir_queue weir_queue;

/* What a heap can do beyond the required slots. */
#define WEIR_HEAP_PAGES 1u  /* reserve, commit, decommit and release are there */
#define WEIR_HEAP_DEVICE 2u /* the host cannot address the bytes: `memory` is a handle, not to be read, written or
                               added to; copies and queues are there */

/* A heap's functions. Every slot may be called from any thread at once, holds no lock of the cache,
 * may block, never prints. Required slots first; optional ones say what NULL means. */
typedef struct weir_heap_ops {
    size_t ops_size; /* sizeof(weir_heap_ops) of who filled it */
    const char *name;
    uint32_t flags;
    uint32_t reserved;
    /* Bytes that a request occupies in truth (rounding and header), >= bytes; SIZE_MAX where it
     * cannot be had. Pure. */
    size_t (*good_size)(weir_heap *heap, size_t bytes);
    /* A buffer of at least `bytes`, aligned to 64 B, contents undefined. Occupies good_size(bytes).
     * WEIR_E_NOMEM: the system has no more. */
    weir_err (*alloc)(weir_heap *heap, size_t bytes, void **ret_memory);
    /* Gives back a buffer; `bytes` as asked in alloc. NULL is ignored. Cannot fail. */
    void (*free)(weir_heap *heap, void *memory, size_t bytes);
    /* How many buffers it bears at once. */
    size_t (*max_buffers)(weir_heap *heap);
    /* Optional, all or none (NULL: no WEIR_HEAP_PAGES): address space without memory; memory for a
     * part of it, zeroed; that memory back; the whole back. Offsets and sizes are multiples of
     * page_size. */
    size_t (*page_size)(weir_heap *heap);
    weir_err (*reserve)(weir_heap *heap, size_t bytes, void **ret_range);
    weir_err (*commit)(weir_heap *heap, void *range, size_t offset, size_t bytes);
    weir_err (*decommit)(weir_heap *heap, void *range, size_t offset, size_t bytes);
    void (*release)(weir_heap *heap, void *range, size_t bytes);
    /* Optional: waits until work that uses freed buffers is done (NULL: nothing to wait for). */
    weir_err (*synchronise)(weir_heap *heap);
    /* Optional: ends the heap (NULL: it lives as long as the process). */
    void (*destroy)(weir_heap *heap);
    /* Optional, all or none (NULL: no WEIR_HEAP_DEVICE; the host copies by memcpy and there are no queues). Copy between host memory and a part of a buffer; with a queue they may return before, and `from`
     * and `to` must stay until its work has been waited for. WEIR_E_IO: the device has failed. */
    weir_err (*copy_in)(weir_heap *heap, void *memory, size_t offset, const void *from, size_t bytes,
                        weir_queue *queue);
    weir_err (*copy_out)(weir_heap *heap, void *to, void *memory, size_t offset, size_t bytes,
                         weir_queue *queue);
    /* WEIR_E_NOMEM: the device has no more queues. */
    weir_err (*queue_create)(weir_heap *heap, weir_queue **ret_queue);
    /* Waits until all work given to it is done, and returns the first error of it. */
    weir_err (*queue_wait)(weir_heap *heap, weir_queue *queue);
    /* Waits, and ends it. NULL is ignored. */
    void (*queue_destroy)(weir_heap *heap, weir_queue *queue);
} weir_heap_ops;

/* Every heap starts so. */
struct weir_heap {
    const weir_heap_ops *ops;
};

/* The heap of that name in heaps.def ("host"), lent for the life of the process.
 * WEIR_E_USAGE: no such heap; the detail names those there are. Any thread. */
WEIR_API WEIR_NODISCARD weir_err weir_heap_find(const char *name, weir_heap **ret_heap);

/* Checks the table of a heap that comes from outside: sizes, required slots, flags against slots.
 * WEIR_E_USAGE names the slot. */
WEIR_API WEIR_NODISCARD weir_err weir_heap_check(const weir_heap *heap);

/* Ends a heap that was created by a _create call. NULL is ignored. */
WEIR_API void weir_heap_destroy(weir_heap *heap);

/* ---- the counting heap: the second witness (M3), and the place where faults are made ------- */

typedef struct weir_heap_counts {
    uint64_t bytes;       /* outstanding now, by good_size */
    uint64_t bytes_peak;
    uint64_t buffers;     /* outstanding now */
    uint64_t calls;       /* allocs, reserves and commits so far, failed ones too */
    uint64_t frees;
} weir_heap_counts;

/* A heap that hands on to `under` and counts, independent of any cache. Any thread may use it.
 * WEIR_E_NOMEM. */
WEIR_API WEIR_NODISCARD weir_err weir_heap_counting_create(weir_heap *under, weir_heap **ret_heap);

/* Reads the counts of a counting heap (and of no other). */
WEIR_API weir_heap_counts weir_heap_counting_counts(const weir_heap *heap);

/* The call number `nth` from now on (1 = the next) fails with WEIR_E_NOMEM, and `repeat - 1` after it;
 * 0 = none. */
WEIR_API void weir_heap_counting_fail(weir_heap *heap, uint64_t nth, uint64_t repeat);

#ifdef __cplusplus
}
#endif
#endif
