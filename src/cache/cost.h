/* SPDX-License-Identifier: MIT
 *
 * cost.h: what buffers that come and go may cost at most, for plans (M6). What one take costs now is
 * weiri_cache_cost.
 */
#ifndef WEIRI_COST_H
#define WEIRI_COST_H

#include "cache/cache.h"

/* Most that a buffer of so many bytes is charged, where none of more than `largest` is ever asked for: it
 * may be served by an idle one that is larger, or lie across one piece more. UINT64_MAX: not to be had. */
uint64_t weiri_cost_buffer(const weir_cache *cache, size_t bytes, size_t largest);

/* Most that book-keeping grows by, so that so many more buffers can be live. */
uint64_t weiri_cost_records(weir_cache *cache, uint64_t buffers);

/* Keeps book-keeping to what weiri_cost_records said of so many more: from here on idle buffers, which
 * have records too, go before another slab is made. */
void weiri_cost_keep(weir_cache *cache, uint64_t buffers);

#endif
