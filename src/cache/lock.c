/* SPDX-License-Identifier: MIT
 *
 * lock.c: waiting for the lock when it is taken, and the condition, with the kernel's futex.
 */
#include "cache/lock.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Pauses between two attempts: doubled each time, up to some microseconds; then the thread
 * sleeps. */
#define PAUSES_FIRST 8
#define PAUSES_MAX   128
#define LOOKS        24

#define SLEEP_NS 1000000

static void sleep_while(_Atomic uint32_t *word, uint32_t is, const struct timespec *at_most)
{
    (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, is, at_most, NULL, 0);
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

static bool try(weiri_lock *lock)
{
    uint32_t free = 0;
    return atomic_load_explicit(&lock->taken, memory_order_relaxed) == 0 &&
           atomic_compare_exchange_strong_explicit(&lock->taken, &free, 1, memory_order_acquire,
                                                   memory_order_relaxed);
}

void weiri_lock_slow(weiri_lock *lock)
{
    int pauses = PAUSES_FIRST;
    for (int look = 0; look < LOOKS; look++) {
        for (int i = 0; i < pauses; i++) {
            pause_a_little();
        }
        if (try(lock)) {
            return;
        }
        pauses = pauses < PAUSES_MAX ? 2 * pauses : PAUSES_MAX;
    }
    const struct timespec at_most = {.tv_nsec = SLEEP_NS};
    atomic_fetch_add_explicit(&lock->sleepers, 1, memory_order_seq_cst);
    while (!try(lock)) {
        sleep_while(&lock->taken, 1, &at_most);
    }
    atomic_fetch_sub_explicit(&lock->sleepers, 1, memory_order_relaxed);
}

void weiri_unlock_slow(weiri_lock *lock)
{
    wake(&lock->taken, 1);
}

void weiri_condition_wait(weiri_condition *condition, weiri_lock *lock)
{
    uint32_t turn = atomic_load_explicit(&condition->turn, memory_order_relaxed);
    condition->waiters++;
    weiri_lock_give(lock);
    sleep_while(&condition->turn, turn, NULL);
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
