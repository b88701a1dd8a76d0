/* SPDX-License-Identifier: MIT
 *
 * lock.c: what the lock does when it is not free, and the condition, by the kernel's futex.
 */
#include "cache/lock.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Some 4 us of turning: a critical section of a cache is far shorter, and a thread that was put aside
 * by the system inside one comes back much later. */
#define TURNS 200

static void sleep_while(_Atomic uint32_t *word, uint32_t is)
{
    (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, is, NULL, NULL, 0);
}

static void wake(_Atomic uint32_t *word, int count)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static inline void pause_a_little(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

void weiri_lock_slow(weiri_lock *lock)
{
    for (int i = 0; i < TURNS; i++) {
        uint32_t free = 0;
        if (atomic_load_explicit(&lock->state, memory_order_relaxed) == 0 &&
            atomic_compare_exchange_weak_explicit(&lock->state, &free, 1, memory_order_acquire,
                                                  memory_order_relaxed)) {
            return;
        }
        pause_a_little();
    }
    while (atomic_exchange_explicit(&lock->state, 2, memory_order_acquire) != 0) {
        sleep_while(&lock->state, 2);
    }
}

void weiri_unlock_slow(weiri_lock *lock)
{
    wake(&lock->state, 1);
}

void weiri_condition_wait(weiri_condition *condition, weiri_lock *lock)
{
    uint32_t turn = atomic_load_explicit(&condition->turn, memory_order_relaxed);
    condition->waiters++;
    weiri_lock_give(lock);
    sleep_while(&condition->turn, turn);
    weiri_lock_take(lock);
    condition->waiters--;
}

void weiri_condition_wake(weiri_condition *condition)
{
    if (condition->waiters > 0) {
        atomic_fetch_add_explicit(&condition->turn, 1, memory_order_relaxed);
        wake(&condition->turn, INT_MAX);
    }
}
