/* SPDX-License-Identifier: MIT
 *
 * as_array.h: what a conversion asks of the process, for who drives it: a unit itself touches no cache.
 */
#ifndef WEIRI_AS_ARRAY_H
#define WEIRI_AS_ARRAY_H

#include <weir/heap.h>

#include "unit/unit.h"

/* The limit that the default cache of a heap is to have, from as_array's settings: *ret_heap is NULL where none
 * is to be set (the host's heap; cache_limit: none). To be set by weiri_cache_default_limit_of in the process that
 * converts, before its first message: what is set while a chain is built does not survive a spawn (B5). That it
 * could not be set is no reason to lose the message. WEIR_E_CHAIN: as plan. Any thread. */
weir_err weiri_as_array_limit(const void *settings, weir_heap **ret_heap, uint64_t *ret_limit);

#endif
