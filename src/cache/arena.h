/* SPDX-License-Identifier: MIT
 *
 * arena.h: many small objects with one lifetime (settings, labels, plans), in blocks allocated from
 * a cache, so that they are counted like everything else.
 */
#ifndef WEIRI_ARENA_H
#define WEIRI_ARENA_H

#include <weir/cache.h>

#include "base/base.h"

typedef struct weiri_arena {
    weir_cache *cache;
    struct weiri_arena_block *blocks; /* newest first */
    size_t used;                      /* of the newest block */
    uint64_t taken_bytes;             /* charged for all blocks */
} weiri_arena;

void weiri_arena_init(weiri_arena *arena, weir_cache *cache);
/* Zeroed, aligned to 16 bytes; NULL if the cache refuses (its error detail is kept). */
void *weiri_arena_get(weiri_arena *arena, size_t bytes);
/* Copies a text; NULL as above. */
const char *weiri_arena_text(weiri_arena *arena, const char *text);
/* Frees all blocks. */
void weiri_arena_fini(weiri_arena *arena);
/* For functions that copy settings and values. */
weiri_memory weiri_arena_memory(weiri_arena *arena);

#endif
