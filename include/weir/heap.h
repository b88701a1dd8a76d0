/* SPDX-License-Identifier: MIT
 *
 * weir/heap.h: memory sources. A heap allocates whole buffers and states beforehand the bytes that a request
 * will really occupy. It keeps nothing after a free: reuse is the cache's task.
 */
#ifndef WEIR_HEAP_H
#define WEIR_HEAP_H

#include <weir/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_heap weir_heap;

/* Copies and kernels of one device, which run one after another in the order of submission. Opaque: each
 * heap defines its own. NULL = none: the call returns when its work is done. */
typedef struct weir_queue weir_queue;

/* Optional capabilities of a heap. PAGES: has reserve, commit, decommit and release. DEVICE: the host cannot
 * address the bytes (`memory` is a handle, not an address); has copies and queues. */
#define WEIR_HEAP_PAGES  1u
#define WEIR_HEAP_DEVICE 2u

/* Functions of a heap. Each may be called by several threads at once and without the cache's lock, may block,
 * and never prints. Required functions first; optional ones state what NULL means. */
typedef struct weir_heap_ops {
    size_t ops_size; /* sizeof(weir_heap_ops), set by the heap */
    const char *name;
    uint32_t flags;
    uint32_t reserved;
    /* Bytes that a request really occupies (with rounding and header), >= bytes; SIZE_MAX if it is
     * impossible. Pure. */
    size_t (*good_size)(weir_heap *heap, size_t bytes);
    /* A buffer of at least `bytes`, aligned to 64 B, contents undefined. Occupies good_size(bytes).
     * WEIR_E_NOMEM: the system has no more. */
    weir_err (*alloc)(weir_heap *heap, size_t bytes, void **ret_memory);
    /* Frees a buffer; `bytes` as requested in alloc. NULL is ignored. Cannot fail. */
    void (*free)(weir_heap *heap, void *memory, size_t bytes);
    /* Largest number of buffers at once. */
    size_t (*max_buffers)(weir_heap *heap);
    /* Optional, all or none (NULL: no WEIR_HEAP_PAGES): address space without memory; commit zeroed
     * memory for a part of it; free that memory; free the whole range. Offsets and sizes are multiples of
     * page_size. */
    size_t (*page_size)(weir_heap *heap);
    weir_err (*reserve)(weir_heap *heap, size_t bytes, void **ret_range);
    weir_err (*commit)(weir_heap *heap, void *range, size_t offset, size_t bytes);
    weir_err (*decommit)(weir_heap *heap, void *range, size_t offset, size_t bytes);
    void (*release)(weir_heap *heap, void *range, size_t bytes);
    /* Optional: waits until work that uses freed buffers is done (NULL: there is none). */
    weir_err (*synchronise)(weir_heap *heap);
    /* Optional: destroys the heap (NULL: it exists as long as the process). */
    void (*destroy)(weir_heap *heap);
    /* Optional, all or none (NULL: no WEIR_HEAP_DEVICE; the host copies by memcpy and there are no queues). Copy
     * between host memory and a part of a buffer. With a queue they may return before the copy is done; `from` and
     * `to` must stay valid until the queue was waited for. WEIR_E_IO: the device has failed. */
    weir_err (*copy_in)(weir_heap *heap,
                        void *memory,
                        size_t offset,
                        const void *from,
                        size_t bytes,
                        weir_queue *queue);
    weir_err (*copy_out)(
        weir_heap *heap, void *to, void *memory, size_t offset, size_t bytes, weir_queue *queue);
    /* WEIR_E_NOMEM: the device has no more queues. */
    weir_err (*queue_create)(weir_heap *heap, weir_queue **ret_queue);
    /* Waits until all submitted work is done, and returns its first error. */
    weir_err (*queue_wait)(weir_heap *heap, weir_queue *queue);
    /* Waits, then destroys the queue. NULL is ignored. */
    void (*queue_destroy)(weir_heap *heap, weir_queue *queue);
} weir_heap_ops;

/* First member of every heap. */
struct weir_heap {
    const weir_heap_ops *ops;
};

/* Finds a heap of heaps.def ("host") by name. It is valid as long as the process.
 * WEIR_E_USAGE: no such heap; the detail lists the known ones. Any thread. */
WEIR_API WEIR_NODISCARD weir_err weir_heap_find(const char *name, weir_heap **ret_heap);

/* Checks the functions of a program's own heap: size of the table, required functions, and that the flags match.
 * WEIR_E_USAGE names the function. */
WEIR_API WEIR_NODISCARD weir_err weir_heap_check(const weir_heap *heap);

/* Destroys a heap made by a _create call. NULL is ignored. */
WEIR_API void weir_heap_destroy(weir_heap *heap);

/* ---- the counting heap: an independent check (M3), and fault injection ---------------- */

typedef struct weir_heap_counts {
    uint64_t bytes; /* allocated now, by good_size */
    uint64_t bytes_peak;
    uint64_t buffers; /* allocated now */
    uint64_t calls;   /* allocs, reserves and commits so far, failed ones too */
    uint64_t frees;
} weir_heap_counts;

/* A heap that forwards to `under` and counts, independently of any cache. Any thread may use it.
 * WEIR_E_NOMEM. */
WEIR_API WEIR_NODISCARD weir_err weir_heap_counting_create(weir_heap *under, weir_heap **ret_heap);

/* Reads the counts of a counting heap. Not for other heaps. */
WEIR_API weir_heap_counts weir_heap_counting_counts(const weir_heap *heap);

/* The `nth` call from now on (1 = the next) fails with WEIR_E_NOMEM, and so do the `repeat - 1` calls after
 * it; 0 = none. */
WEIR_API void weir_heap_counting_fail(weir_heap *heap, uint64_t nth, uint64_t repeat);

#ifdef __cplusplus
}
#endif
#endif
