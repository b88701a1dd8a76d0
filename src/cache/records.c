/* SPDX-License-Identifier: MIT
 *
 * records.c: slabs of records. A record is allocated from a slab that is partly used, so that
 * others can become empty and be freed. The core makes the heap calls.
 */
#include "cache/records.h"

#include <string.h>

void weiri_records_init(weiri_records *records, weir_cache *cache)
{
    memset(records, 0, sizeof *records);
    records->cache = cache;
}

/* The list that contains a slab with a free record. */
static weiri_slab **list_of(weiri_records *records, const weiri_slab *slab)
{
    return slab->used == 0 && !slab->built_in ? &records->empty : &records->with_free;
}

static void link_free(weiri_records *records, weiri_slab *slab)
{
    weiri_slab **list = list_of(records, slab);
    slab->previous_free = NULL;
    slab->next_free = *list;
    if (slab->next_free != NULL) {
        slab->next_free->previous_free = slab;
    }
    *list = slab;
}

static void unlink_free(weiri_records *records, weiri_slab *slab)
{
    if (slab->previous_free != NULL) {
        slab->previous_free->next_free = slab->next_free;
    } else {
        *list_of(records, slab) = slab->next_free;
    }
    if (slab->next_free != NULL) {
        slab->next_free->previous_free = slab->previous_free;
    }
}

void weiri_records_add(
    weiri_records *records, void *memory, size_t asked, size_t charged, bool built_in)
{
    weiri_slab *slab = memory;
    memset(slab, 0, asked);
    slab->asked = asked;
    slab->charged = charged;
    slab->built_in = built_in;
    slab->count = (uint32_t)((asked - sizeof *slab) / sizeof(weiri_record));
    for (uint32_t i = slab->count; i-- > 0;) {
        slab->records[i].slab = slab;
        slab->records[i].next = slab->free;
        slab->free = &slab->records[i];
    }
    slab->previous = records->last;
    if (records->last != NULL) {
        records->last->next = slab;
    } else {
        records->slabs = slab;
    }
    records->last = slab;
    records->free_count += slab->count;
    link_free(records, slab);
}

weiri_record *weiri_records_get(weiri_records *records)
{
    weiri_slab *slab = records->with_free != NULL ? records->with_free : records->empty;
    if (slab == NULL) {
        return NULL;
    }
    weiri_record *record = slab->free;
    unlink_free(records, slab);
    slab->free = record->next;
    slab->used++;
    if (slab->free != NULL) {
        link_free(records, slab);
    }
    records->free_count--;
    records->used_count++;
    memset(record, 0, sizeof *record);
    record->slab = slab;
    record->buffer.cache = records->cache;
    record->state = WEIRI_RECORD_TAKEN;
    return record;
}

void weiri_records_put(weiri_records *records, weiri_record *record)
{
    weiri_slab *slab = record->slab;
    if (slab->free != NULL) {
        unlink_free(records, slab);
    }
    record->state = WEIRI_RECORD_FREE;
    record->next = slab->free;
    slab->free = record;
    slab->used--;
    link_free(records, slab);
    records->free_count++;
    records->used_count--;
}

weiri_slab *weiri_records_trim(weiri_records *records, uint64_t spare)
{
    weiri_slab *slab = records->empty;
    if (slab == NULL || records->free_count - slab->count < spare) {
        return NULL;
    }
    unlink_free(records, slab);
    *(slab->previous != NULL ? &slab->previous->next : &records->slabs) = slab->next;
    *(slab->next != NULL ? &slab->next->previous : &records->last) = slab->previous;
    records->free_count -= slab->count;
    return slab;
}
