/* SPDX-License-Identifier: MIT
 *
 * fit.c: policy `fit`: whole buffers, best fit with bounded waste, least recently used buffers are
 * freed first. For any heap.
 *
 * Cached buffers are kept in a tree sorted by size (idle.h); of equal ones the last freed comes
 * first, since it is still in the processor's caches. Stacks of one size each are searched before
 * the tree (front.h). Buffers are not split or joined: that is for heaps with pages, and another
 * policy.
 */
#include "cache/idle.h"
#include "cache/policy.h"

/* Bound on waste. A buffer is charged in full to its user, so waste is memory in use that nobody
 * requested: a quarter of the request bounds how far it can exceed what was requested, and a
 * fixed bound keeps one long-lived buffer from occupying megabytes. In few streams do message
 * lengths vary by more than a quarter; otherwise they vary by factors (a stall), which no useful
 * bound would cover. */
#define WASTE_RATIO 4
#define WASTE_BYTES ((size_t)1 << 20)

typedef struct fit {
    weiri_policy policy; /* must be first */
    weiri_idle idle;
    weiri_front front; /* for cached buffers */
} fit;

static fit *self(weiri_policy *policy)
{
    return (fit *)policy;
}

static void idle_remove(fit *f, weiri_record *record)
{
    weiri_idle_remove(&f->idle, record);
    f->policy.idle_buffers = f->idle.count;
}

/* ---- slots --------------------------------------------------------------------------------- */

/* What the heap is asked for: all that the buffer will occupy if the heap would not return more
 * anyway (pages), so that it can serve any request for the same number of pages. */
static size_t ask_for(weir_heap *heap, size_t bytes, size_t good)
{
    return heap->ops->good_size(heap, good) == good ? good : bytes;
}

static weir_err init(weiri_policy *policy, uint64_t book_limit, uint64_t *ret_book)
{
    (void)book_limit;
    self(policy)->idle.front = &self(policy)->front;
    *ret_book = 0;
    return WEIR_OK;
}

static uint64_t size(const weiri_policy *policy, size_t bytes)
{
    size_t good = policy->heap->ops->good_size(policy->heap, bytes);
    return good == SIZE_MAX ? UINT64_MAX : good;
}

static void place(weiri_policy *policy, size_t bytes, weiri_place *ret_place)
{
    fit *f = self(policy);
    uint64_t good = size(policy, bytes);
    *ret_place = (weiri_place){.from_heap = good};
    if (good == UINT64_MAX) {
        return;
    }
    size_t asked = ask_for(policy->heap, bytes, (size_t)good);
    weiri_record *record = weiri_idle_find(&f->idle, asked, bytes);
    if (record != NULL) {
        uint64_t waste = record->buffer.charged > good ? record->buffer.charged - good : 0;
        if (waste <= good / WASTE_RATIO && waste <= WASTE_BYTES) {
            idle_remove(f, record);
            *ret_place = (weiri_place){.record = record, .from_idle = record->buffer.charged};
            return;
        }
    }
    record = weiri_records_get(policy->records);
    if (record != NULL) {
        record->asked = asked;
        record->buffer.bytes = record->asked;
        record->buffer.charged = (size_t)good;
        ret_place->record = record;
    }
}

static uint64_t serves(const weiri_policy *policy, uint64_t charged)
{
    (void)policy;
    uint64_t waste = charged / WASTE_RATIO < WASTE_BYTES ? charged / WASTE_RATIO : WASTE_BYTES;
    return charged + waste;
}

static uint64_t put(weiri_policy *policy, weiri_record *record)
{
    fit *f = self(policy);
    weiri_idle_add(&f->idle, record);
    policy->idle_buffers = f->idle.count;
    return record->buffer.charged;
}

static void drop(weiri_policy *policy, uint64_t bytes, weiri_leaving *list)
{
    fit *f = self(policy);
    uint64_t dropped = 0;
    while (f->idle.oldest != NULL && dropped < bytes) {
        weiri_record *record = f->idle.oldest;
        idle_remove(f, record);
        weiri_leaving_add(list, record);
        dropped += record->buffer.charged;
    }
}

static weir_err check(weiri_policy *policy, uint64_t *ret_live, uint64_t *ret_idle)
{
    const fit *f = self(policy);
    weir_err err = weiri_idle_check(&f->idle, "fit");
    if (err == WEIR_OK && f->idle.count != policy->idle_buffers) {
        err =
            weiri_fail(WEIR_E_INTERNAL, "fit: %llu buffers in the list, %llu counted",
                       (unsigned long long)f->idle.count, (unsigned long long)policy->idle_buffers);
    }
    *ret_live = UINT64_MAX;
    *ret_idle = f->idle.bytes;
    return err;
}

const weiri_policy_ops weiri_policy_fit = {
    .ops_size = sizeof(weiri_policy_ops),
    .name = "fit",
    .summary =
        "whole buffers, best fit with at most a quarter wasted, least recently used go first",
    .records = 1,
    .policy_bytes = sizeof(fit),
    .init = init,
    .size = size,
    .place = place,
    .put = put,
    .drop = drop,
    .check = check,
    .serves = serves,
};
