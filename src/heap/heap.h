/* SPDX-License-Identifier: MIT
 *
 * heap.h: how a heap is written, and how its optional slots are asked for. A heap is one file that ends
 * in its descriptor, plus one line in heaps.def.
 */
#ifndef WEIRI_HEAP_H
#define WEIRI_HEAP_H

#include <weir/heap.h>

#include "base/base.h"

typedef struct weiri_heap_kind {
    const char *name;
    const char *summary; /* one line */
    /* Says the process's one heap of this kind, making it at the first call. Any thread; may block (a
     * device's library is loaded here). WEIR_E_USAGE: not on this machine, and why. */
    weir_err (*open)(weir_heap **ret_heap);
} weiri_heap_kind;

#define X(name) extern const weiri_heap_kind weiri_heap_##name;
#include "heap/heaps.def"
#undef X

/* All of heaps.def, NULL at the end. */
extern const weiri_heap_kind *const weiri_heaps[];

/* Whether the table has a slot: it may have been filled by a program that knew fewer. */
#define WEIRI_HEAP_HAS(heap, slot)                                                                 \
    ((heap)->ops->ops_size >= offsetof(weir_heap_ops, slot) + sizeof((heap)->ops->slot) &&         \
     (heap)->ops->slot != NULL)

/* Waits for work on freed buffers, where there can be such. */
weir_err weiri_heap_synchronise(weir_heap *heap);

#endif
