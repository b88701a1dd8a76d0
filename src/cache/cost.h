/* SPDX-License-Identifier: MIT
 *
 * cost.h: the most memory that buffers can occupy, for plans (M6). weiri_cache_cost is the cost of
 * one allocation now.
 */
#ifndef WEIRI_COST_H
#define WEIRI_COST_H

#include "cache/cache.h"

/* The most that a buffer of this size is charged if no request is larger than `largest`: it may
 * be served by a larger cached buffer, or extend into one more piece. UINT64_MAX: cannot be
 * allocated. */
uint64_t weiri_cost_buffer(const weir_cache *cache, size_t bytes, size_t largest);

/* The most that the metadata grows so that this many more buffers can be in use. */
uint64_t weiri_cost_records(weir_cache *cache, uint64_t buffers);

/* Limits the metadata to what weiri_cost_records returned for this many more buffers: from now
 * on cached buffers, which have records too, are freed before another slab is allocated. */
void weiri_cost_keep(weir_cache *cache, uint64_t buffers);

#endif
