/* SPDX-License-Identifier: MIT
 *
 * cost.c: see cost.h. Bounds that hold whatever was freed before: cached memory does not count,
 * since it is freed when a request needs the space (M2).
 */
#include "cache/cost.h"

/* Policies that carve buffers from runs keep a record for each free run too. Free runs are
 * joined when memory is short; these records are for the ones that are not yet. */
#define SLABS_OF_FREE_RUNS 4

uint64_t weiri_cost_buffer(const weir_cache *cache, size_t bytes, size_t largest)
{
    const weiri_policy *policy = cache->policy;
    uint64_t good = policy->ops->size(policy, bytes > 0 ? bytes : 1);
    uint64_t most = policy->ops->size(policy, largest > 0 ? largest : 1);
    if (good == UINT64_MAX || most == UINT64_MAX) {
        return UINT64_MAX;
    }
    /* without size classes: its ends lie in pieces that it may share */
    if (policy->ops->serves == NULL) {
        return good + policy->ops->size(policy, 1);
    }
    uint64_t served = policy->ops->serves(policy, good);
    served = served > good ? served : good;
    return served < most ? served : most > good ? most : good;
}

#define RECORDS_A_SLAB ((WEIRI_SLAB_BYTES - sizeof(weiri_slab)) / sizeof(weiri_record))

/* Number of slabs needed for that many more records. */
static uint64_t slabs_for(weir_cache *cache, uint64_t buffers)
{
    uint64_t wanted = buffers * cache->policy->ops->records, free_now = cache->records.free_count;
    return wanted > free_now ? (wanted - free_now + RECORDS_A_SLAB - 1) / RECORDS_A_SLAB : 0;
}

uint64_t weiri_cost_records(weir_cache *cache, uint64_t buffers)
{
    const weiri_policy_ops *ops = cache->policy->ops;
    weiri_lock_take(&cache->lock);
    uint64_t slabs = slabs_for(cache, buffers) + (ops->cuts ? SLABS_OF_FREE_RUNS : 0);
    weiri_lock_give(&cache->lock);
    return slabs * cache->slab_charged;
}

void weiri_cost_keep(weir_cache *cache, uint64_t buffers)
{
    if (cache->policy->ops->cuts) {
        return;
    }
    weiri_lock_take(&cache->lock);
    const weiri_records *records = &cache->records;
    uint64_t most =
        records->used_count + records->free_count + slabs_for(cache, buffers) * RECORDS_A_SLAB;
    cache->max_buffers = most < cache->max_buffers ? most : cache->max_buffers;
    weiri_lock_give(&cache->lock);
}
