/* SPDX-License-Identifier: MIT
 *
 * weir/cache.h: buffer reuse. A cache allocates buffers from a heap, keeps freed ones for reuse, and observes
 * two limits at every instant:
 *
 *     idle <= cache_limit                                                        (M1)
 *     live + idle + book + transit + charges = held <= memory_limit      (M2)
 *
 * live: in use. idle: cached, free for reuse. book: the cache's own metadata. transit: reserved and not yet
 * allocated, or being freed to the heap. charges: memory that others declared (thread stacks, memory of a
 * library). held: allocated, all of it. All in bytes that the heap states as occupied (M4).
 */
#ifndef WEIR_CACHE_H
#define WEIR_CACHE_H

#include <weir/heap.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR_NO_LIMIT UINT64_MAX
/* Of cache_limit alone. AUTO, at creation: chosen from the observed allocations and frees (96 KiB of
 * metadata), 512 MiB until then; setting a number stops that, setting AUTO resumes it. */
#define WEIR_LIMIT_AUTO (UINT64_MAX - 2)
#define WEIR_LIMIT_OWN  (UINT64_MAX - 3) /* the policy's own: mlx:cpu 32 MiB, others none */

/* Parses a limit as in files, options and the environment: bytes ("64 MiB", as weir_bytes_parse),
 * "none" (WEIR_NO_LIMIT) and, if `automatic`, "auto" (WEIR_LIMIT_AUTO). Case-insensitive. */
WEIR_API WEIR_NODISCARD weir_err weir_limit_parse(const char *text,
                                                  bool automatic,
                                                  uint64_t *ret_limit);

typedef struct weir_cache weir_cache;

/* A buffer in use. It stores its cache and real bytes. */
typedef struct weir_buffer {
    void *memory;   /* aligned to 64 B, contents undefined; of a device heap a handle (heap.h) */
    size_t bytes;   /* usable: at least the bytes requested */
    size_t charged; /* bytes that it occupies, as counted */
    weir_cache *cache;
} weir_buffer;

typedef struct weir_cache_options {
    size_t options_size;   /* sizeof(weir_cache_options) */
    weir_heap *heap;       /* NULL = host; must outlive the cache and its buffers */
    const char *policy;    /* NULL = "fit"; see below, and weir_cache_policies */
    uint64_t cache_limit;  /* largest idle, bytes; WEIR_NO_LIMIT = none; or LIMIT_AUTO, LIMIT_OWN */
    uint64_t memory_limit; /* largest held, bytes; WEIR_NO_LIMIT = none */
    uint64_t max_buffers;  /* most live + idle buffers; 0 = the heap's maximum */
    uint64_t reserved[4];  /* 0 */
} weir_cache_options;

/* Defaults: host, fit, no limits.
 *
 * Which policy? `fit` charges only what is requested and works with any heap: use it where buffers are allocated
 * once, as in a chain. Use `pages` where buffers of changing sizes are allocated and freed; it charges granules
 * (up to 2 MiB). Measured by `weir trace` on the stall stream (tests/cli/trace_auto.sh): without a limit `pages`
 * holds 230 MiB where 228.5 MiB are in use, `fit` 838 MiB; both reach a hit rate of 0.99 from a cache_limit of
 * 6 MiB on. Timed (bench/alloc_stream.c) at 16 MiB: fit 5.5 s, pages 1.9 s.
 */
WEIR_API weir_cache_options weir_cache_options_default(void);

/* Creates a cache. The metadata of a device heap's cache is in host memory and counts against its limit too.
 * WEIR_E_USAGE: unknown policy, or one that the heap does not support. WEIR_E_NOMEM,
 * WEIR_E_LIMIT: its metadata does not fit. */
WEIR_API WEIR_NODISCARD weir_err weir_cache_create(const weir_cache_options *options,
                                                   weir_cache **ret_cache);

/* Frees idle buffers at once, and the cache itself with its last buffer in use (M3). NULL is ignored.
 * Afterwards only weir_buffer_unref may be called. */
WEIR_API void weir_cache_destroy(weir_cache *cache);

/* Allocates a buffer of at least `bytes` (0 counts as 1); the caller is its sole owner. Any thread.
 * WEIR_E_LIMIT: above memory_limit or the number of buffers; nothing changes but the count of
 * refusals; the detail states the bytes requested, held and allowed. WEIR_E_NOMEM: the heap failed, and
 * failed again after idle buffers were freed. */
WEIR_API WEIR_NODISCARD weir_err weir_cache_take(weir_cache *cache,
                                                 size_t bytes,
                                                 weir_buffer **ret_buffer);

/* Adds an owner. Returns buffer. Any thread. */
WEIR_API weir_buffer *weir_buffer_ref(weir_buffer *buffer);

/* Removes an owner; the last one returns the buffer to its cache. NULL is ignored. Any thread. */
WEIR_API void weir_buffer_unref(weir_buffer *buffer);

/* Copies between host memory and a part of a buffer, whatever heap it is on: by memcpy if the host can address
 * it, else by the heap, in `queue` (NULL: done on return). WEIR_E_USAGE: beyond the buffer's end. WEIR_E_IO. */
WEIR_API WEIR_NODISCARD weir_err weir_buffer_copy_in(
    weir_buffer *buffer, size_t offset, const void *from, size_t bytes, weir_queue *queue);
WEIR_API WEIR_NODISCARD weir_err
weir_buffer_copy_out(weir_buffer *buffer, size_t offset, void *to, size_t bytes, weir_queue *queue);

/* Counts memory allocated elsewhere against memory_limit. WEIR_E_LIMIT: it does not fit. */
WEIR_API WEIR_NODISCARD weir_err weir_cache_charge(weir_cache *cache, uint64_t bytes);
WEIR_API void weir_cache_uncharge(weir_cache *cache, uint64_t bytes);

/* Sets cache_limit. Idle buffers above it are freed within the call (M5; policy mlx: at the next allocation). */
WEIR_API void weir_cache_limit_idle(weir_cache *cache, uint64_t cache_limit);

/* Sets memory_limit; frees idle buffers as needed. WEIR_E_LIMIT: more is in use, as the detail states; the old
 * limit stays, idle buffers are freed (M5). */
WEIR_API WEIR_NODISCARD weir_err weir_cache_limit_held(weir_cache *cache, uint64_t memory_limit);

/* Frees all idle buffers. */
WEIR_API void weir_cache_clear(weir_cache *cache);

/* Every statistic: X(name, what it is). All uint64_t; bytes unless named otherwise. */
#define WEIR_CACHE_STATS_LIST(X)                                                                   \
    X(live_bytes, "in use")                                                                        \
    X(idle_bytes, "cached for reuse")                                                              \
    X(book_bytes, "the cache's own metadata")                                                      \
    X(transit_bytes, "reserved and not yet allocated, or being freed")                             \
    X(charged_bytes, "declared by others")                                                         \
    X(held_bytes, "sum of the five")                                                               \
    X(pinned_bytes, "unused bytes that cannot be freed: a neighbour is in use")                    \
    X(live_peak_bytes, "highest live so far")                                                      \
    X(held_peak_bytes, "highest held so far")                                                      \
    X(cache_limit_bytes, "largest idle allowed")                                                   \
    X(memory_limit_bytes, "largest held allowed")                                                  \
    X(live_buffers, "number in use")                                                               \
    X(idle_buffers, "number cached")                                                               \
    X(hits, "allocations served from the cache")                                                   \
    X(misses, "allocations served by the heap")                                                    \
    X(evictions, "idle buffers freed because of a limit")                                          \
    X(evicted_bytes, "their bytes")                                                                \
    X(refusals, "allocations and charges refused by a limit")                                      \
    X(heap_failures, "heap calls that failed")                                                     \
    X(auto_limit_bytes, "limit chosen by cache_limit auto; 0 = not auto")

#define WEIR_CACHE_STATS_FIELD(name, text) uint64_t name;
typedef struct weir_cache_stats {
    size_t stats_size; /* sizeof(weir_cache_stats), set by the caller */
    uint32_t version;  /* 1, set by the call */
    uint32_t reserved;
    WEIR_CACHE_STATS_LIST(WEIR_CACHE_STATS_FIELD)
} weir_cache_stats;

/* Reads all counters at one instant. Any thread. WEIR_E_USAGE, the only error: stats_size is not set. */
WEIR_API weir_err weir_cache_stats_read(weir_cache *cache, weir_cache_stats *ret_stats);

/* Recomputes every counter from the metadata and compares. WEIR_E_INTERNAL names the first wrong one. For
 * tests; holds the lock all the time. */
WEIR_API WEIR_NODISCARD weir_err weir_cache_check(weir_cache *cache);

/* Names of the policies, NULL at the end. Valid as long as the process. */
WEIR_API const char *const *weir_cache_policies(void);

/* The process's one default cache (M8): host, pages, cache_limit from WEIR_CACHE_LIMIT (512 MiB
 * if unset), memory_limit from WEIR_MEMORY_LIMIT. Created by the first call. WEIR_E_USAGE: a variable is not a
 * number of bytes. */
WEIR_API WEIR_NODISCARD weir_err weir_cache_default(weir_cache **ret_cache);

/* Sets the limit of the default cache. The first call sets it; a later call with another value changes nothing
 * and logs one warning that states both (M8). */
WEIR_API WEIR_NODISCARD weir_err weir_cache_default_limit(uint64_t cache_limit);

/* Writes both limits into the environment, so that child processes inherit them (M8). Not while other
 * threads read the environment. */
WEIR_API WEIR_NODISCARD weir_err weir_limits_export(uint64_t cache_limit, uint64_t memory_limit);

#ifdef __cplusplus
}
#endif
#endif
