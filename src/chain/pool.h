/* SPDX-License-Identifier: MIT
 *
 * pool.h: a few threads that do pieces of work together with the caller. Made once, before the first
 * sample; their stacks are in memory of the caller, so the plan includes them (M6).
 */
#ifndef WEIRI_POOL_H
#define WEIRI_POOL_H

#include <weir/base.h>

/* Of one thread's stack (M6). The sanitizers keep a megabyte of their own in it. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define WEIRI_POOL_STACK_BYTES ((uint64_t)2 << 20)
#else
#define WEIRI_POOL_STACK_BYTES ((uint64_t)256 << 10)
#endif

typedef struct weiri_pool weiri_pool;

/* Does piece number `piece`; `thread` is 0 for the caller, else 1 .. threads - 1. */
typedef void (*weiri_pool_fn)(void *user, int piece, int thread);

/* Bytes of a pool of that number of threads, including the caller's. */
uint64_t weiri_pool_bytes(uint64_t threads);

/* Starts the threads in those bytes (64-byte aligned). They run in the mode of S6. WEIR_E_NOMEM: the
 * system allows no more threads. */
weir_err weiri_pool_create(uint64_t threads, void *memory, weiri_pool **ret_pool);

/* Pieces of one call: the ticket has 16 bits for them. */
#define WEIRI_PIECES_MOST 65535

/* Does all pieces (at most WEIRI_PIECES_MOST), in any order, and returns when all are done. One call at a time.
 * `bytes`: of their input, a measure of the work: while workers cost more time than they save, the caller does all
 * pieces itself. */
void weiri_pool_run(weiri_pool *pool, weiri_pool_fn run, void *user, int pieces, uint64_t bytes);

/* For tests, set before any pool is made. */
typedef struct weiri_pool_test {
    bool always;               /* workers work, whether that pays or not */
    void (*before_work)(void); /* each worker calls it before it looks for pieces of a round */
} weiri_pool_test;
extern weiri_pool_test weiri_pool_testing;

/* Ends the threads; the memory is the caller's again. NULL is ignored. */
void weiri_pool_destroy(weiri_pool *pool);

#endif
