/* SPDX-License-Identifier: MIT
 *
 * ahead.h: memory that will be read soon, and that a kernel may fetch into the cache while it computes. The
 * engine sets it; kernels take some lines of it when they have time. Optional. Any thread.
 */
#ifndef WEIRI_AHEAD_H
#define WEIRI_AHEAD_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define WEIRI_LINE 64 /* bytes of a cache line */

typedef struct weiri_ahead {
    _Atomic(uintptr_t) next;
    uintptr_t end;
} weiri_ahead;

/* Sets the memory, `bytes` from `from` on. Not while another thread takes lines. */
static inline void weiri_ahead_set(weiri_ahead *ahead, const void *from, size_t bytes)
{
    atomic_store_explicit(&ahead->next, (uintptr_t)from, memory_order_relaxed);
    ahead->end = (uintptr_t)from + bytes;
}

/* Takes `lines` adjacent cache lines for the caller to prefetch; NULL if fewer are left, or ahead is NULL. */
static inline const void *weiri_ahead_take(weiri_ahead *ahead, size_t lines)
{
    uintptr_t bytes = lines * WEIRI_LINE;
    if (ahead == NULL ||
        atomic_load_explicit(&ahead->next, memory_order_relaxed) + bytes > ahead->end) {
        return NULL;
    }
    uintptr_t at = atomic_fetch_add_explicit(&ahead->next, bytes, memory_order_relaxed);
    return at + bytes <= ahead->end ? (const void *)at : NULL; /* another may have come between */
}

#endif
