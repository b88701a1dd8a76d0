/* SPDX-License-Identifier: MIT
 *
 * lock.h: the cache's lock: tries a while, then sleeps; and a condition beside it.
 *
 * The critical sections are some 20 ns, far shorter than a sleep and a wake (5 us and more), so who finds
 * the lock taken turns a while before it sleeps. A pthread mutex sleeps at once. Not recursive, not fair.
 */
#ifndef WEIRI_LOCK_H
#define WEIRI_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct weiri_lock {
    _Atomic uint32_t state; /* 0 free, 1 taken, 2 taken and somebody may sleep */
} weiri_lock;

/* Zeroed is ready. */
typedef struct weiri_condition {
    _Atomic uint32_t turn;
    uint32_t waiters; /* under the lock */
} weiri_condition;

void weiri_lock_slow(weiri_lock *lock);
void weiri_unlock_slow(weiri_lock *lock);

static inline void weiri_lock_take(weiri_lock *lock)
{
    uint32_t free = 0;
    if (!atomic_compare_exchange_strong_explicit(&lock->state, &free, 1, memory_order_acquire,
                                                 memory_order_relaxed)) {
        weiri_lock_slow(lock);
    }
}

static inline void weiri_lock_give(weiri_lock *lock)
{
    if (atomic_exchange_explicit(&lock->state, 0, memory_order_release) == 2) {
        weiri_unlock_slow(lock);
    }
}

/* Lock held on entry and return, not between. May return early: look again at what was waited for. */
void weiri_condition_wait(weiri_condition *condition, weiri_lock *lock);
/* Lock held. */
void weiri_condition_wake(weiri_condition *condition);

#endif
