/* SPDX-License-Identifier: MIT
 *
 * arena.c: blocks from a cache, filled from the front. Nothing is freed before the arena is.
 */
#include "cache/arena.h"

#include <string.h>

typedef struct weiri_arena_block {
    struct weiri_arena_block *next;
    weir_buffer *buffer;
    size_t bytes; /* of the block, this header included */
} weiri_arena_block;

/* Together with the host heap's header just below a page; anything larger than half of this gets
 * a block of its own. */
#define BLOCK_BYTES  4016
#define HEADER_BYTES 32
#define ALIGNMENT    16

void weiri_arena_init(weiri_arena *arena, weir_cache *cache)
{
    memset(arena, 0, sizeof *arena);
    arena->cache = cache;
}

static weiri_arena_block *take_block(weiri_arena *arena, size_t bytes)
{
    weir_buffer *buffer = NULL;
    if (weir_cache_take(arena->cache, bytes, &buffer) != WEIR_OK) {
        return NULL;
    }
    weiri_arena_block *block = buffer->memory;
    block->buffer = buffer;
    block->bytes = buffer->bytes;
    arena->taken_bytes += buffer->charged;
    return block;
}

void *weiri_arena_get(weiri_arena *arena, size_t bytes)
{
    size_t size = weiri_round_up(bytes > 0 ? bytes : 1, ALIGNMENT);
    if (size > SIZE_MAX - HEADER_BYTES) {
        weiri_fail(WEIR_E_NOMEM, "arena: %zu bytes asked", bytes);
        return NULL;
    }
    weiri_arena_block *block = arena->blocks;
    if (block != NULL && size <= block->bytes - arena->used) {
        void *memory = (char *)block + arena->used;
        arena->used += size;
        return memset(memory, 0, bytes);
    }
    if (size > (BLOCK_BYTES - HEADER_BYTES) / 2) {
        /* Gets its own block, behind the newest one, which can still be filled. */
        weiri_arena_block *own = take_block(arena, HEADER_BYTES + size);
        if (own == NULL) {
            return NULL;
        }
        own->next = block != NULL ? block->next : NULL;
        *(block != NULL ? &block->next : &arena->blocks) = own;
        arena->used = block != NULL ? arena->used : own->bytes;
        return memset((char *)own + HEADER_BYTES, 0, bytes);
    }
    block = take_block(arena, BLOCK_BYTES);
    if (block == NULL) {
        return NULL;
    }
    block->next = arena->blocks;
    arena->blocks = block;
    arena->used = HEADER_BYTES + size;
    return memset((char *)block + HEADER_BYTES, 0, bytes);
}

const char *weiri_arena_text(weiri_arena *arena, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = weiri_arena_get(arena, size);
    return copy != NULL ? memcpy(copy, text, size) : NULL;
}

void weiri_arena_fini(weiri_arena *arena)
{
    while (arena->blocks != NULL) {
        weiri_arena_block *block = arena->blocks;
        arena->blocks = block->next;
        weir_buffer_unref(block->buffer);
    }
    arena->used = 0;
    arena->taken_bytes = 0;
}

static void *arena_get(void *user, size_t bytes)
{
    return weiri_arena_get(user, bytes);
}

weiri_memory weiri_arena_memory(weiri_arena *arena)
{
    return (weiri_memory){.get = arena_get, .user = arena};
}
