/* SPDX-License-Identifier: MIT
 *
 * records.h: the cache's records, one per buffer, in slabs allocated from the heap like everything
 * else, so that this metadata is counted and nothing is hidden (M3). These functions allocate and
 * free records within slabs; the heap is called by the core, outside its lock. All functions need
 * the cache's lock.
 */
#ifndef WEIRI_RECORDS_H
#define WEIRI_RECORDS_H

#include <stdatomic.h>

#include <weir/cache.h>

#include "base/base.h"

typedef enum weiri_record_state {
    WEIRI_RECORD_FREE,
    WEIRI_RECORD_TAKEN, /* given to a policy, which has not used it yet */
    WEIRI_RECORD_LIVE,
    WEIRI_RECORD_IDLE,
    WEIRI_RECORD_LEAVING /* being freed to the heap */
} weiri_record_state;

typedef struct weiri_record {
    /* must be first: what users see. memory, bytes, charged are set by the policy */
    weir_buffer buffer;
    _Atomic size_t refs; /* owners of a buffer in use; the only field used without the lock */
    size_t asked;        /* size requested from the heap, needed to free it */
    struct weiri_slab *slab;
    struct weiri_record *next; /* in the free list, or in the list of buffers being freed */
    uint8_t state;             /* weiri_record_state */
    uint8_t kind;              /* from here on for the policy, while it has the record */
    uint16_t space;
    uint32_t priority;
    uint64_t stamp;
    struct weiri_record *left, *right; /* of a tree or a stack */
    union {
        struct weiri_record *newer; /* in the order of use */
        struct weiri_record *above; /* or in order of addresses */
    };
    union {
        struct weiri_record *older;
        struct weiri_record *below;
    };
    uint64_t number; /* for the core: number of its allocation while a trace is recorded */
} weiri_record;

typedef struct weiri_slab {
    struct weiri_slab *next, *previous; /* all slabs, in the order in which they were added */
    size_t charged;
    size_t asked;
    uint32_t count, used;
    weiri_record *free;
    struct weiri_slab *next_free, *previous_free; /* in with_free or empty */
    bool built_in;                                /* part of the cache's own block, not freed */
    weiri_record records[];
} weiri_slab;

typedef struct weiri_records {
    weir_cache *cache;
    weiri_slab *slabs, *last;
    weiri_slab *with_free; /* those with free and used records, and the built-in one */
    weiri_slab *empty;     /* those with free records only */
    uint64_t free_count, used_count;
} weiri_records;

/* Requested size of a slab: with the host heap's header less than a page (host.c). */
#define WEIRI_SLAB_BYTES 4016

void weiri_records_init(weiri_records *records, weir_cache *cache);
/* Adds a block of memory as a slab. */
void weiri_records_add(
    weiri_records *records, void *memory, size_t asked, size_t charged, bool built_in);
/* NULL: none is free. Zeroed except slab and cache; state TAKEN. */
weiri_record *weiri_records_get(weiri_records *records);
void weiri_records_put(weiri_records *records, weiri_record *record);
/* Removes a slab without a used record, if at least `spare` free records remain without it; the
 * caller frees it. NULL: none. */
weiri_slab *weiri_records_trim(weiri_records *records, uint64_t spare);

#endif
