/* SPDX-License-Identifier: MIT
 *
 * default.h: the process's default caches, one per heap, used by conversions to that heap. The
 * host's is public (weir_cache_default).
 */
#ifndef WEIRI_DEFAULT_H
#define WEIRI_DEFAULT_H

#include <weir/cache.h>

/* As weir_cache_default and weir_cache_default_limit, for a heap that lives as long as the
 * process. Any thread. WEIR_E_USAGE also if there are more heaps than WEIRI_DEFAULTS. */
#define WEIRI_DEFAULTS     8
#define WEIRI_LIMIT_PRESET (UINT64_MAX - 5) /* to request: from the environment, else 512 MiB */
weir_err weiri_cache_default_of(weir_heap *heap, weir_cache **ret_cache);
weir_err weiri_cache_default_limit_of(weir_heap *heap, uint64_t cache_limit);

#endif
