/* SPDX-License-Identifier: MIT
 *
 * lock.h: the cache's lock, which spins for a while and then sleeps, and a condition.
 *
 * Critical sections take about 20 ns, far less than sleeping and waking (5 us and more), so a
 * thread that finds the lock taken spins before it sleeps. It tests the lock at growing intervals,
 * so that the data of the thread that has the lock stay in that processor's cache. On 16 cores two
 * threads take 1000 ns a pair if the waiting one tests all the time. Not recursive, not fair: a
 * thread may wait some microseconds while others acquire the lock repeatedly.
 *
 * Why not a pthread_mutex_t: an allocation served from the cache and its free took 28 ns of
 * processor time with this lock and 41 with either kind of mutex, normal or adaptive (fit; pages 23
 * and 37; two threads, pages 45 and 72; Zen 5, glibc 2.36, medians of 21 alternating runs).
 * Releasing this lock is a plain store; a mutex is released by an exchange, which is that
 * difference: with one this lock takes 38 and 35 ns. The store has a cost: a thread that goes to
 * sleep at that moment may miss it, so it sleeps for a millisecond at most and tests again.
 * Sleeping is the kernel's futex and not a condition variable, since the memory that contains the
 * lock may be freed by another thread as soon as the lock is released: waking by address is still
 * safe then, waking through an object in that memory is not.
 */
#ifndef WEIRI_LOCK_H
#define WEIRI_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct weiri_lock {
    _Atomic uint32_t taken; /* 0 or 1 */
    _Atomic uint32_t sleepers;
} weiri_lock;

/* Ready when zeroed. */
typedef struct weiri_condition {
    _Atomic uint32_t turn;
    uint32_t waiters; /* under the lock */
} weiri_condition;

void weiri_lock_slow(weiri_lock *lock);
void weiri_unlock_slow(weiri_lock *lock);

static inline void weiri_lock_take(weiri_lock *lock)
{
    uint32_t free = 0;
    if (!atomic_compare_exchange_strong_explicit(&lock->taken, &free, 1, memory_order_acquire,
                                                 memory_order_relaxed)) {
        weiri_lock_slow(lock);
    }
}

static inline void weiri_lock_give(weiri_lock *lock)
{
    bool wakes = atomic_load_explicit(&lock->sleepers, memory_order_relaxed) > 0;
    atomic_store_explicit(&lock->taken, 0, memory_order_release);
    if (wakes) { /* the memory of the lock may be freed by now; only its address is used */
        weiri_unlock_slow(lock);
    }
}

/* Lock held on entry and return, released in between. May return early: test the condition
 * again. */
void weiri_condition_wait(weiri_condition *condition, weiri_lock *lock);
/* Lock held. */
void weiri_condition_wake(weiri_condition *condition);

#endif
