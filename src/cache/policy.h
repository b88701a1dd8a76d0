/* SPDX-License-Identifier: MIT
 *
 * policy.h: how to write a policy, which decides how freed buffers are reused. A policy is one file
 * that ends in its table of functions, plus one line in policies.def.
 *
 * Responsibilities. The core (cache.c, take.c) has the lock, the limits, all sums and statistics,
 * the order of reservation, heap call and count (M2, M3), retries, refusals, and records. A policy
 * has the structure of cached (idle) memory and decides what serves a request, how much that really
 * occupies, and what is freed first. It never changes a sum: each function returns how many bytes
 * changed between in use (live) and cached (idle), and the core counts them. It calls the heap only
 * in acquire() and release(), which run without the lock, for what was reserved before.
 *
 * An allocation (L = under the lock):
 *   1. L place(): claims cached bytes that are in use from now on (`from_idle`) and bytes that must
 *        come from the heap (`from_heap`). Without a free record it claims nothing and only returns
 *        what it would need; the core allocates records and calls it again.
 *   2. L the core compares from_heap with the limit (M2); if cached memory must be freed first it
 *        calls cancel(), drop(), release() and place() again, since the structure may have changed
 *        meanwhile.
 *   3. acquire(), if from_heap > 0. If it fails, all cached memory is freed and it is tried once
 *        more, then cancel().
 *   4. L the bytes are in use. excess() at WEIRI_AT_TAKE.
 * A free:
 *   1. L admits(). If false, the buffer is a whole one and is freed to the heap. If true, put()
 *        returns how many bytes are now cached instead of in use.
 *   2. L excess() at WEIRI_AT_GIVE: how many cached bytes must be freed; drop() moves them to a
 *        list.
 *   3. release() of the list. L left(); only now are its bytes subtracted (M3).
 *
 * Which policy uses what:
 *   `fit` keeps whole buffers and needs the required functions only.
 *   `mlx` has its own rounding and range of reuse (place), keeps a freed buffer whenever the cache
 *     was below the limit before (admits), evicts when allocating and not when freeing (excess, by
 *     moment; it also gets the live bytes, for a limit on memory pressure), and applies a lowered
 *     limit at the next allocation (excess at WEIRI_AT_LIMIT = 0). Whole buffers: acquire, release,
 *     left and cancel are NULL.
 *   `pages` carves buffers from reserved ranges (`cuts`). place() finds a run of pages and returns
 *     which cached granules it touches (from_idle) and which are not committed (from_heap), or by
 *     how many bytes its table of granules (metadata) has to grow first (book, grow, grown);
 *     acquire() commits, settle() frees what was claimed beyond need. put() returns the granules
 *     without any byte in use; free bytes in a granule with a byte in use are not idle but
 *     `pinned`. drop() takes out the least recently used idle granules and links their runs
 *     (list->token); release() decommits them, left() returns what could not be decommitted.
 *     Granules are charged and not buffers, so its check() computes the live bytes itself.
 */
#ifndef WEIRI_POLICY_H
#define WEIRI_POLICY_H

#include "cache/records.h"
#include "heap/heap.h"

/* The first part of every policy's state. */
typedef struct weiri_policy {
    const struct weiri_policy_ops *ops;
    weir_heap *heap;
    weiri_records *records; /* lock required */
    /* maintained by the policy; 0 if cached memory is not made of buffers */
    uint64_t idle_buffers;
    uint64_t pinned_bytes;              /* maintained by the policy */
    weir_heap *book_heap;               /* for the policy's own metadata */
    uint64_t cache_limit, memory_limit; /* maintained by the core */
    uint64_t grain; /* cached memory changes in multiples of it; 0 = by whole buffers */
} weiri_policy;

typedef struct weiri_place {
    /* with its buffer filled in (memory by acquire, if called); NULL = no record */
    weiri_record *record;
    uint64_t from_idle; /* cached until now, in use from now on */
    uint64_t from_heap; /* to be allocated; UINT64_MAX = impossible */
    uint64_t book;      /* without a record: the metadata has to grow by this many bytes first */
} weiri_place;

/* Memory that is being freed to the heap. */
typedef struct weiri_leaving {
    weiri_record *records; /* whole buffers, linked by next */
    uint64_t token;        /* a list of the policy's own */
    uint64_t bytes;
    uint64_t count; /* buffers, or pieces */
} weiri_leaving;

/* Puts a whole buffer on the list. */
static inline void weiri_leaving_add(weiri_leaving *list, weiri_record *record)
{
    record->state = WEIRI_RECORD_LEAVING;
    record->next = list->records;
    list->records = record;
    list->count++;
    list->bytes += record->buffer.charged;
}

typedef enum weiri_moment {
    WEIRI_AT_MISS, /* before bytes are requested from the heap */
    WEIRI_AT_TAKE, /* after an allocation */
    WEIRI_AT_GIVE, /* after a put */
    WEIRI_AT_LIMIT /* cache_limit was changed */
} weiri_moment;

/* The core's sums, for excess and admits. */
typedef struct weiri_sums {
    uint64_t live, idle, held;
    uint64_t cache_limit, memory_limit;
    uint64_t asked; /* bytes of the current request or buffer */
} weiri_sums;

typedef struct weiri_policy_ops {
    size_t ops_size; /* sizeof(weiri_policy_ops) */
    const char *name;
    const char *summary;
    uint32_t heap_flags; /* required of the heap (WEIR_HEAP_PAGES) */
    uint32_t records;    /* the most that one place() may need */
    bool
        /* buffers are parts of larger pieces: all are put, and the heap's limit on the number of
         * buffers does not apply */
        cuts;
    size_t
        /* size of its state, at most 2 KiB; further memory comes from the heap in init and is
         * returned in *ret_book */
        policy_bytes;
    /* Without the lock, before the cache is used. Optional: NULL = zeroed state is valid. If it
     * fails, nothing remains allocated. *ret_book: further bytes allocated from the heap, at
     * most book_limit. */
    weir_err (*init)(weiri_policy *policy, uint64_t book_limit, uint64_t *ret_book);
    /* Without the lock, after the last buffer was freed and nothing is cached. Optional. */
    void (*fini)(weiri_policy *policy);
    /* No lock, pure. The most that an allocation of this size occupies if it is not served from
     * cached memory; UINT64_MAX if impossible. */
    uint64_t (*size)(const weiri_policy *policy, size_t bytes);
    /* Lock held. Never blocks. If from_heap is UINT64_MAX, nothing is claimed. */
    void (*place)(weiri_policy *policy, size_t bytes, weiri_place *ret_place);
    /* Lock held. Undoes a place() whose from_heap was not acquired (a hit is never cancelled).
     * Returns how many bytes of from_idle are idle again. Optional: NULL = the record is freed,
     * 0. */
    uint64_t (*cancel)(weiri_policy *policy, weiri_record *record);
    /* No lock; may block. Optional: NULL = heap->alloc(record->asked) into record->buffer.memory. */
    weir_err (*acquire)(weiri_policy *policy, weiri_record *record);
    /* Lock held. After acquire: the claimed memory is available. Optional: NULL = nothing to do. */
    void (*settle)(weiri_policy *policy, weiri_record *record);
    /* No lock, one thread at a time. Allocates `book` bytes (of weiri_place) for its own
     * structure, or none. */
    weir_err (*grow)(weiri_policy *policy, uint64_t book);
    /* Lock held. After a successful grow. Both NULL if place() never requires it. */
    void (*grown)(weiri_policy *policy);
    /* Lock held. Whether a freed buffer is kept. Optional: NULL = if it fits within cache_limit. */
    bool (*admits)(const weiri_policy *policy, const weiri_sums *sums);
    /* Lock held. Caches a freed buffer; returns how many bytes are now idle instead of live. */
    uint64_t (*put)(weiri_policy *policy, weiri_record *record);
    /* Lock held, pure. How many idle bytes must be freed. Optional: NULL = those above
     * cache_limit (M1). */
    uint64_t (*excess)(const weiri_policy *policy, weiri_moment moment, const weiri_sums *sums);
    /* Lock held. Moves idle memory to the list in eviction order until `bytes` more are on it or
     * nothing is idle. Adds to list->bytes and count. */
    void (*drop)(weiri_policy *policy, uint64_t bytes, weiri_leaving *list);
    /* No lock; may block. Optional: NULL = heap->free of each record. */
    void (*release)(weiri_policy *policy, weiri_leaving *list);
    /* Lock held. After release: returns how many bytes could not be freed and are idle again.
     * Optional: NULL = 0. The core frees the records on the list. */
    uint64_t (*left)(weiri_policy *policy, weiri_leaving *list);
    /* Lock held. Verifies its structure and returns the sums it finds. WEIR_E_INTERNAL names
     * what is broken. For live it may return UINT64_MAX: the charges of records in use are
     * summed instead. */
    weir_err (*check)(weiri_policy *policy, uint64_t *ret_live, uint64_t *ret_idle);
    /* No lock, pure. The largest charge of a cached buffer that may serve a request with this
     * charge; for models of reuse (trace/distance.h). Optional: NULL = cached bytes are not
     * divided into buffers; any size. */
    uint64_t (*serves)(const weiri_policy *policy, uint64_t charged);
    uint64_t own_limit; /* cache_limit for WEIR_LIMIT_OWN; 0 = none */
} weiri_policy_ops;

#define X(name) extern const weiri_policy_ops weiri_policy_##name;
#include "cache/policies.def"
#undef X

#endif
