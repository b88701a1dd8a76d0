/* SPDX-License-Identifier: MIT
 *
 * weir/cache.h: what freed bytes become. A cache takes buffers from a heap, keeps those that are
 * given back, and holds to two limits at every instant:
 *
 *     idle <= cache_limit                                                        (M1)
 *     live + idle + book-keeping + transit + charges = held <= memory_limit      (M2)
 *
 * live: handed out. idle: given back and kept. book-keeping: the cache's own records. transit:
 * reserved and not yet allocated, or on the way back to the heap. charges: memory that others
 * declared (thread stacks, a library's own). All in bytes that the heap says are occupied (M4).
 */
#ifndef WEIR_CACHE_H
#define WEIR_CACHE_H

#include <weir/heap.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR_NO_LIMIT UINT64_MAX
/* Of cache_limit alone. AUTO, at creation: chosen from the takes and gives as they come (96 KiB of
 * book-keeping), 512 MiB until it is; setting a number ends that, setting AUTO resumes it. */
#define WEIR_LIMIT_AUTO (UINT64_MAX - 2)
#define WEIR_LIMIT_OWN (UINT64_MAX - 3) /* the policy's own: mlx:cpu 32 MiB, others none */

/* Reads a limit, as files, options and the environment state one: bytes ("64 MiB", as weir_bytes_parse),
 * "none" (WEIR_NO_LIMIT) and, where `automatic`, "auto" (WEIR_LIMIT_AUTO). Capitals make no difference. */
WEIR_API WEIR_NODISCARD weir_err weir_limit_parse(const char *text, bool automatic, uint64_t *ret_limit);

typedef struct weir_cache weir_cache;

/* A buffer in a user's hands. It remembers its cache, heap and real bytes. */
typedef struct weir_buffer {
    void *memory;    /* aligned to 64 B, contents undefined; of a device's heap a handle (heap.h) */
    size_t bytes;    /* usable: at least what was asked */
    size_t charged;  /* what it occupies and is counted as */
    weir_cache *cache;
} weir_buffer;

typedef struct weir_cache_options {
    size_t options_size;   /* sizeof(weir_cache_options) */
    weir_heap *heap;       /* NULL = host; must outlive the cache and its buffers */
    const char *policy;    /* NULL = "fit"; see below, and weir_cache_policies */
    uint64_t cache_limit;  /* bound of idle, bytes; WEIR_NO_LIMIT = none; or LIMIT_AUTO, LIMIT_OWN */
    uint64_t memory_limit; /* bound of held, bytes; WEIR_NO_LIMIT = none */
    uint64_t max_buffers;  /* bound of live + idle buffers; 0 = what the heap bears */
    uint64_t reserved[4];  /* 0 */
} weir_cache_options;

/* Defaults: host, fit, no limits.
 *
 * Which policy? `fit` charges what is asked and no more, for any heap: right where buffers are taken once,
 * as a chain does. `pages` where they come and go in sizes that change; it charges by granules (up to
 * 2 MiB). By `weir trace` on the stall stream (tests/cli/trace_auto.sh): without a limit `pages` holds 230 MiB
 * where 228.5 are live, `fit` 838; both serve 0.99 of the takes from a cache_limit of 6 MiB on. Timed
 * (bench/alloc_stream.c) at 16 MiB fit took 5.5 s and pages 1.9.
 */
WEIR_API weir_cache_options weir_cache_options_default(void);

/* Makes a cache. The records of a device heap's cache are in host memory and count against its limit too.
 * WEIR_E_USAGE: unknown policy, or a heap that it cannot serve. WEIR_E_NOMEM,
 * WEIR_E_LIMIT: its records do not fit. */
WEIR_API WEIR_NODISCARD weir_err weir_cache_create(const weir_cache_options *options,
                                                   weir_cache **ret_cache);

/* Returns idle to the heap at once, and the cache itself with its last live buffer (M3). NULL is
 * ignored. No call on the cache after it but weir_buffer_unref. */
WEIR_API void weir_cache_destroy(weir_cache *cache);

/* Lends a buffer of at least `bytes` (0 counts as 1), the caller its sole owner. Any thread.
 * WEIR_E_LIMIT: above memory_limit or the number of buffers; nothing changes but the count of
 * refusals; the detail names bytes asked, held and limit. WEIR_E_NOMEM: the heap refused, also after
 * idle was dropped and it was asked once more. */
WEIR_API WEIR_NODISCARD weir_err weir_cache_take(weir_cache *cache,
                                                 size_t bytes,
                                                 weir_buffer **ret_buffer);

/* One more owner. Returns buffer. Any thread. */
WEIR_API weir_buffer *weir_buffer_ref(weir_buffer *buffer);

/* One owner less; the last gives the buffer back to its cache. NULL is ignored. Any thread. */
WEIR_API void weir_buffer_unref(weir_buffer *buffer);

/* Copies between host memory and a part of a buffer, whatever heap it is on: by memcpy where the host can address
 * it, else by the heap, in `queue` (NULL: done on return). WEIR_E_USAGE: beyond the buffer's end. WEIR_E_IO. */
WEIR_API WEIR_NODISCARD weir_err weir_buffer_copy_in(
    weir_buffer *buffer, size_t offset, const void *from, size_t bytes, weir_queue *queue);
WEIR_API WEIR_NODISCARD weir_err weir_buffer_copy_out(
    weir_buffer *buffer, size_t offset, void *to, size_t bytes, weir_queue *queue);

/* Counts memory that lies elsewhere against memory_limit. WEIR_E_LIMIT: it does not fit. */
WEIR_API WEIR_NODISCARD weir_err weir_cache_charge(weir_cache *cache, uint64_t bytes);
WEIR_API void weir_cache_uncharge(weir_cache *cache, uint64_t bytes);

/* Acts within the call: idle above the new limit goes back to the heap (M5; policy mlx: at the next
 * take). */
WEIR_API void weir_cache_limit_idle(weir_cache *cache, uint64_t cache_limit);

/* Drops idle as needed. WEIR_E_LIMIT: live is above the new limit; it is named, the old limit stays,
 * idle is dropped (M5). */
WEIR_API WEIR_NODISCARD weir_err weir_cache_limit_held(weir_cache *cache, uint64_t memory_limit);

/* Returns all idle buffers to the heap. */
WEIR_API void weir_cache_clear(weir_cache *cache);

/* Every statistic: X(name, what it is). All uint64_t; bytes unless named otherwise. */
#define WEIR_CACHE_STATS_LIST(X)                                                                   \
    X(live_bytes, "handed out")                                                                    \
    X(idle_bytes, "given back and kept")                                                           \
    X(book_bytes, "the cache's own records")                                                       \
    X(transit_bytes, "reserved and not yet allocated, or being freed")                             \
    X(charged_bytes, "declared by others")                                                         \
    X(held_bytes, "sum of the five")                                                               \
    X(pinned_bytes, "free bytes that live neighbours keep from going back")                        \
    X(live_peak_bytes, "highest live so far")                                                      \
    X(held_peak_bytes, "highest held so far")                                                      \
    X(cache_limit_bytes, "bound of idle")                                                          \
    X(memory_limit_bytes, "bound of held")                                                         \
    X(live_buffers, "number handed out")                                                           \
    X(idle_buffers, "number kept")                                                                 \
    X(hits, "takes served from idle")                                                              \
    X(misses, "takes that asked the heap")                                                         \
    X(evictions, "idle buffers returned to keep a limit")                                          \
    X(evicted_bytes, "their bytes")                                                                \
    X(refusals, "takes and charges refused by a limit")                                            \
    X(heap_failures, "heap calls that failed")                                                       \
    X(auto_limit_bytes, "where cache_limit auto stands; 0 = not auto")

#define WEIR_CACHE_STATS_FIELD(name, text) uint64_t name;
typedef struct weir_cache_stats {
    size_t stats_size; /* sizeof(weir_cache_stats), set by the caller */
    uint32_t version;  /* 1, set by the call */
    uint32_t reserved;
    WEIR_CACHE_STATS_LIST(WEIR_CACHE_STATS_FIELD)
} weir_cache_stats;

/* All figures at one instant. Any thread. WEIR_E_USAGE: stats_size is not set; the only error. */
WEIR_API weir_err weir_cache_stats_read(weir_cache *cache, weir_cache_stats *ret_stats);

/* Walks the records and compares every sum with its counter. WEIR_E_INTERNAL names the first that
 * is wrong. For tests; holds the lock for the whole walk. */
WEIR_API WEIR_NODISCARD weir_err weir_cache_check(weir_cache *cache);

/* Names of the policies, NULL at the end. Lent for ever. */
WEIR_API const char *const *weir_cache_policies(void);

/* The process's one default cache (M8): host, pages, cache_limit 512 MiB unless WEIR_CACHE_LIMIT says
 * otherwise, memory_limit from WEIR_MEMORY_LIMIT. Made at the first call. WEIR_E_USAGE: a variable
 * that is not a number of bytes. */
WEIR_API WEIR_NODISCARD weir_err weir_cache_default(weir_cache **ret_cache);

/* Asks for a limit of the default cache: the first sets it, the same again is silent, another value
 * warns once through the log and names both; the first stays (M8). */
WEIR_API WEIR_NODISCARD weir_err weir_cache_default_limit(uint64_t cache_limit);

/* Writes both limits into the environment, so that they reach children through fork, exec and spawn
 * (M8). Not while other threads read the environment. */
WEIR_API WEIR_NODISCARD weir_err weir_limits_export(uint64_t cache_limit, uint64_t memory_limit);

#ifdef __cplusplus
}
#endif
#endif
