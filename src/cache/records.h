/* SPDX-License-Identifier: MIT
 *
 * records.h: the cache's records, one a buffer, in slabs that come from the heap like everything else, so
 * that book-keeping is counted and nothing is hidden (M3). This file hands records out; it never calls a
 * heap: the core does, outside its lock. All calls under the cache's lock.
 */
#ifndef WEIRI_RECORDS_H
#define WEIRI_RECORDS_H

#include <stdatomic.h>

#include <weir/cache.h>

#include "base/base.h"

typedef enum weiri_record_state {
    WEIRI_RECORD_FREE,
    WEIRI_RECORD_TAKEN, /* handed to a policy, which has not said yet what for */
    WEIRI_RECORD_LIVE,
    WEIRI_RECORD_IDLE,
    WEIRI_RECORD_LEAVING /* on the way back to the heap */
} weiri_record_state;

typedef struct weiri_record {
    weir_buffer buffer;  /* first: what users hold. memory, bytes, charged: by the policy */
    _Atomic size_t refs; /* owners of a live buffer; the one field that is used without the lock */
    size_t asked;        /* what the heap was asked for, and must be told at free */
    struct weiri_slab *slab;
    struct weiri_record *next; /* free list, or list of those that leave */
    uint8_t state;             /* weiri_record_state */
    uint8_t kind;              /* from here on: the policy's, while it has the record */
    uint16_t space;
    uint32_t priority;
    uint64_t stamp;
    struct weiri_record *left, *right; /* of a tree or a stack */
    union {
        struct weiri_record *newer; /* in the order of use */
        struct weiri_record *above; /* or of addresses */
    };
    union {
        struct weiri_record *older;
        struct weiri_record *below;
    };
    uint64_t number; /* the core's: of its take, while a trace is recorded */
} weiri_record;

typedef struct weiri_slab {
    struct weiri_slab *next, *previous; /* all slabs, in the order they came */
    size_t charged;
    size_t asked;
    uint32_t count, used;
    weiri_record *free;
    struct weiri_slab *next_free, *previous_free; /* of with_free or of empty */
    bool built_in;                                /* lies in the cache's own block and stays */
    weiri_record records[];
} weiri_slab;

typedef struct weiri_records {
    weir_cache *cache;
    weiri_slab *slabs, *last;
    weiri_slab *with_free; /* those with free and used records, and the built in one */
    weiri_slab *empty;     /* those with free records only */
    uint64_t free_count, used_count;
} weiri_records;

/* What a slab is asked as: with its header it stays below a page of the host (host.c). */
#define WEIRI_SLAB_BYTES 4016

void weiri_records_init(weiri_records *records, weir_cache *cache);
/* Adds a block of memory as a slab. */
void weiri_records_add(
    weiri_records *records, void *memory, size_t asked, size_t charged, bool built_in);
/* NULL: none is free. Zeroed but for slab and cache; state TAKEN. */
weiri_record *weiri_records_get(weiri_records *records);
void weiri_records_put(weiri_records *records, weiri_record *record);
/* A slab without a used record, if at least `spare` free ones are left without it: taken off, to be given
 * back by the caller. NULL: none. */
weiri_slab *weiri_records_trim(weiri_records *records, uint64_t spare);

#endif
