/* SPDX-License-Identifier: MIT
 *
 * policy.h: how a policy is written: what becomes of buffers that are given back. One file that ends in
 * its table, plus one line in policies.def.
 *
 * Who does what. The core (cache.c, take.c) owns the lock, the limits, every sum and statistic, the order
 * of reserve, heap call and count (M2, M3), retries, refusals, and records. A policy owns the structure of
 * idle memory and decides: what serves a request, what it really occupies, what goes first. It never adds
 * to a sum: each call says how many bytes have changed their standing, and the core counts them. It
 * calls the heap only in acquire() and release(), which run without the lock, on what was
 * reserved for them.
 *
 * A request passes so (L = under the lock):
 *   1. L place(): claims what serves it: idle bytes that are live from now on (`from_idle`) and bytes that
 *        must come from the heap (`from_heap`). Without a free record it claims nothing and only says what
 *        it would need; the core gets records and asks again.
 *   2. L the core holds from_heap against the limit (M2); where idle must go first it cancel()s, drop()s,
 *        releases and places anew: the structure may have changed meanwhile.
 *   3.   acquire(), if from_heap > 0. Fails: everything idle is dropped, once more, then cancel().
 *   4. L the bytes are live. excess() at WEIRI_AT_TAKE.
 * One that is given back:
 *   1. L admits()? If not, it is taken to be a whole buffer and goes to the heap. If so put(): how many
 *        bytes are idle now instead of live.
 *   2. L excess() at WEIRI_AT_GIVE: how many idle bytes have to go; drop() moves them onto a list.
 *   3.   release() of the list. L left(); only now do its bytes leave the count (M3).
 *
 * Who uses what:
 *   `fit` keeps whole buffers and needs the required slots only.
 *   `mlx` has its own rounding and range of reuse (place), takes a freed buffer whenever the cache is below
 *     the limit before it (admits), evicts at a take and not at a give (excess by moment, which also knows
 *     of live bytes for its pressure limit), and acts on a lowered limit at the next take (excess at
 *     WEIRI_AT_LIMIT = 0). Whole buffers: acquire, release, left and cancel stay NULL.
 *   `pages` cuts buffers out of reserved ranges (`cuts`). place() finds a run of pages and says which idle
 *     granules it touches (from_idle) and which are not committed (from_heap), or how many bytes of
 *     book-keeping its table of granules has to grow by first (book, grow, grown); acquire() commits,
 *     settle() gives back what was claimed beyond need. put() says the granules that hold nothing live any
 *     more; bytes that stay with a live neighbour are not idle but `pinned`. drop() cuts out the least
 *     recently used idle granules and links their runs (list->token); release() decommits them, left() says
 *     what could not be decommitted. Charges are of granules and not of buffers, hence its check() says live.
 */
#ifndef WEIRI_POLICY_H
#define WEIRI_POLICY_H

#include "cache/records.h"
#include "heap/heap.h"

/* What every policy's state starts with. */
typedef struct weiri_policy {
    const struct weiri_policy_ops *ops;
    weir_heap *heap;
    weiri_records *records; /* under the lock only */
    uint64_t idle_buffers;  /* kept up by the policy; 0 where idle is not made of buffers */
    uint64_t pinned_bytes;  /* kept up by the policy */
    weir_heap *book_heap;   /* for what it keeps beside its state */
    uint64_t cache_limit, memory_limit; /* kept up by the core */
    uint64_t grain; /* idle comes and goes in multiples of it; 0 = by the buffer */
} weiri_policy;

typedef struct weiri_place {
    weiri_record
        *record; /* its buffer filled in (memory by acquire, if that is called); NULL = no record */
    uint64_t from_idle; /* idle until now, live from now on */
    uint64_t from_heap; /* to be acquired; UINT64_MAX = can never be had */
    uint64_t book; /* without a record: it has to grow by so many bytes of book-keeping first */
} weiri_place;

/* What is on the way back to the heap. */
typedef struct weiri_leaving {
    weiri_record *records; /* whole buffers, linked by next */
    uint64_t token;        /* a policy's own list */
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
    WEIRI_AT_MISS, /* bytes are about to be asked of the heap */
    WEIRI_AT_TAKE, /* a take has been served */
    WEIRI_AT_GIVE, /* a buffer has been put */
    WEIRI_AT_LIMIT /* cache_limit has been changed */
} weiri_moment;

/* The core's sums, for excess and admits. */
typedef struct weiri_sums {
    uint64_t live, idle, held;
    uint64_t cache_limit, memory_limit;
    uint64_t asked; /* bytes of the request or of the buffer at hand */
} weiri_sums;

typedef struct weiri_policy_ops {
    size_t ops_size; /* sizeof(weiri_policy_ops) */
    const char *name;
    const char *summary;
    uint32_t heap_flags; /* that it needs of a heap (WEIR_HEAP_PAGES) */
    uint32_t records;    /* that one place() may take, at most */
    bool
        cuts; /* buffers are parts of larger pieces: all are put, and how many the heap bears is no bound */
    size_t
        policy_bytes; /* of its state, at most 2 KiB; what it needs beyond that comes from the heap in
                             init and is told in *ret_book */
    /* Without the lock, before the cache is used. Optional: NULL = zeroed state will do. Failing, it
     * leaves nothing behind. *ret_book: further bytes it took from the heap, at most book_limit. */
    weir_err (*init)(weiri_policy *policy, uint64_t book_limit, uint64_t *ret_book);
    /* Without the lock, after the last buffer has come back and all idle is gone. Optional. */
    void (*fini)(weiri_policy *policy);
    /* No lock, pure. What a take of so many bytes occupies at most, if it is not served from idle;
     * UINT64_MAX where it cannot be had. */
    uint64_t (*size)(const weiri_policy *policy, size_t bytes);
    /* Lock held. Never blocks. With from_heap UINT64_MAX nothing is claimed. */
    void (*place)(weiri_policy *policy, size_t bytes, weiri_place *ret_place);
    /* Lock held. Undoes a place whose from_heap was not acquired (a hit is never cancelled). Returns how
     * many bytes of from_idle are idle again. Optional: NULL = the record goes back, 0. */
    uint64_t (*cancel)(weiri_policy *policy, weiri_record *record);
    /* No lock; may block. Optional: NULL = heap->alloc(record->asked) into record->buffer.memory. */
    weir_err (*acquire)(weiri_policy *policy, weiri_record *record);
    /* Lock held. After acquire: what was claimed is there. Optional: NULL = nothing to do. */
    void (*settle)(weiri_policy *policy, weiri_record *record);
    /* No lock, one thread at a time. Gets `book` bytes (of weiri_place) for its own structure, or none. */
    weir_err (*grow)(weiri_policy *policy, uint64_t book);
    /* Lock held. After grow, where that succeeded. Both NULL where place() never asks. */
    void (*grown)(weiri_policy *policy);
    /* Lock held. Whether a buffer given back is kept. Optional: NULL = where it fits cache_limit. */
    bool (*admits)(const weiri_policy *policy, const weiri_sums *sums);
    /* Lock held. Takes a buffer back; returns how many bytes are idle now that were live. */
    uint64_t (*put)(weiri_policy *policy, weiri_record *record);
    /* Lock held, pure. How many idle bytes have to go. Optional: NULL = what is above cache_limit (M1). */
    uint64_t (*excess)(const weiri_policy *policy, weiri_moment moment, const weiri_sums *sums);
    /* Lock held. Moves idle onto the list, first what should go first, until `bytes` more are on it or
     * nothing is idle. Adds to list->bytes and count. */
    void (*drop)(weiri_policy *policy, uint64_t bytes, weiri_leaving *list);
    /* No lock; may block. Optional: NULL = heap->free of each record. */
    void (*release)(weiri_policy *policy, weiri_leaving *list);
    /* Lock held. After release: returns how many bytes did not leave after all and are idle again.
     * Optional: NULL = 0. Records on the list are put back by the core. */
    uint64_t (*left)(weiri_policy *policy, weiri_leaving *list);
    /* Lock held. Walks its structure; sums and numbers it finds. WEIR_E_INTERNAL names what is broken.
     * For live it may say UINT64_MAX: charges of live records are to be summed. */
    weir_err (*check)(weiri_policy *policy, uint64_t *ret_live, uint64_t *ret_idle);
    /* No lock, pure. The largest charge of an idle buffer that a request charged so much may be served
     * by; for models of reuse (trace/distance.h). Optional: NULL = idle bytes have no shape, any will do. */
    uint64_t (*serves)(const weiri_policy *policy, uint64_t charged);
    uint64_t own_limit; /* cache_limit where WEIR_LIMIT_OWN is asked for; 0 = none */
} weiri_policy_ops;

#define X(name) extern const weiri_policy_ops weiri_policy_##name;
#include "cache/policies.def"
#undef X

#endif
