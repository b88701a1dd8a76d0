/* SPDX-License-Identifier: MIT
 *
 * heap.h: how to write a heap, and how to query its optional functions. A heap is one file that
 * ends in its descriptor, plus one line in heaps.def.
 */
#ifndef WEIRI_HEAP_H
#define WEIRI_HEAP_H

#include <weir/heap.h>

#include "base/base.h"

typedef struct weiri_heap_kind {
    const char *name;
    const char *summary; /* one line */
    /* Returns the process's one heap of this kind, created by the first call. Any thread; may block (a
     * device's library is loaded here). WEIR_E_USAGE: not on this machine, and why. */
    weir_err (*open)(weir_heap **ret_heap);
} weiri_heap_kind;

#define X(name) extern const weiri_heap_kind weiri_heap_##name;
#include "heap/heaps.def"
#undef X

/* All of heaps.def, NULL at the end. */
extern const weiri_heap_kind *const weiri_heaps[];

/* Whether the host cannot address its bytes. NULL is the host. */
static inline bool weiri_heap_is_device(const weir_heap *heap)
{
    return heap != NULL && (heap->ops->flags & WEIR_HEAP_DEVICE) != 0;
}

/* Copies between host memory and a part of a heap's memory: by memcpy where the host can address it. */
weir_err weiri_heap_copy_in(weir_heap *heap,
                            void *memory,
                            size_t offset,
                            const void *from,
                            size_t bytes,
                            weir_queue *queue);
weir_err weiri_heap_copy_out(
    weir_heap *heap, void *to, void *memory, size_t offset, size_t bytes, weir_queue *queue);

/* Waits for work on freed buffers, where there can be such. */
weir_err weiri_heap_synchronise(weir_heap *heap);

#endif
