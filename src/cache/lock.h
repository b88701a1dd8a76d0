/* SPDX-License-Identifier: MIT
 *
 * lock.h: the cache's lock: tries a while, then sleeps; and a condition beside it.
 *
 * The critical sections are some 20 ns, far shorter than a sleep and a wake (5 us and more), so who finds
 * the lock taken turns a while before it sleeps. It looks again ever more rarely: the thread that has the
 * lock then goes on with all that it works on in its own processor's cache. On 16 cores two threads take
 * 1000 ns a pair when the loser looks all the time. Not recursive, not fair: a thread may wait some
 * microseconds for others that come again and again.
 *
 * Why not a pthread_mutex_t: a pair of a take and a free that is served from the cache took 28 ns of processor time
 * with this lock and 41 with either kind of mutex, normal or adaptive (fit; pages 23 and 37; two threads, pages 45
 * and 72; Zen 5, glibc 2.36, medians of 21 runs in turns). Releasing this lock is a plain store; a mutex is released
 * by an exchange, which is that difference: with one this lock takes 38 and 35 ns. The store has a price: a thread that
 * goes to sleep just then may miss it, hence it sleeps for a millisecond at most and looks again. Sleeping is the
 * kernel's futex and not a condition variable, since the memory that the lock is in may be freed by another thread
 * as soon as the lock is released: a wake by address still is safe then, one of an object in it is not.
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
    if (!atomic_compare_exchange_strong_explicit(&lock->taken, &free, 1, memory_order_acquire,
                                                 memory_order_relaxed)) {
        weiri_lock_slow(lock);
    }
}

static inline void weiri_lock_give(weiri_lock *lock)
{
    bool wakes = atomic_load_explicit(&lock->sleepers, memory_order_relaxed) > 0;
    atomic_store_explicit(&lock->taken, 0, memory_order_release);
    if (wakes) { /* what the lock lies in may be gone by now; its address is all that is used */
        weiri_unlock_slow(lock);
    }
}

/* Lock held on entry and return, not between. May return early: look again at what was waited for. */
void weiri_condition_wait(weiri_condition *condition, weiri_lock *lock);
/* Lock held. */
void weiri_condition_wake(weiri_condition *condition);

#endif
