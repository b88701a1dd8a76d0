/* SPDX-License-Identifier: MIT
 *
 * messages.c: message-wise running (tile: none), the way of array libraries: what lies behind a stage has
 * the shape of the message, is taken from the chain's cache when the message comes and given back when all
 * that follow have taken it. So the cache's policy and limit decide what is kept; tiled runs never take
 * anything after their start.
 *
 * What is alive at once follows from the order in which stages run: each one before those that follow it,
 * branches in file order. The plan is that of the longest message, at its fullest moment (M6). Where the user
 * states a memory limit, what it leaves is planned for idle buffers, up to cache_limit; else these have only
 * the room that shorter messages leave, and go where it is needed (M2).
 */
#include "cache/cost.h"
#include "chain/chain.h"

/* Idle buffers have records, planned as if each were of so many bytes: under 1 %. Smaller ones go sooner. */
#define IDLE_EACH ((uint64_t)16 << 10)

static uint64_t edge_bytes(const weiri_stage *stage)
{
    uint64_t bytes = 0;
    bool fits = weiri_mul(stage->edge.capacity, stage->edge.frame_bytes, &bytes);
    return fits && bytes <= SIZE_MAX / 2 ? bytes : SIZE_MAX / 2;
}

/* ---- plan ---------------------------------------------------------------------------------------- */

/* One message on its way. */
typedef struct walk {
    weir_chain *chain;
    uint64_t alive, fullest; /* bytes of edges: now, and at the fullest moment */
    uint64_t count, most;    /* edges alive: now, and most of them */
} walk;

static bool is_last_child(const weir_chain *chain, int stage)
{
    for (int i = stage + 1; i < chain->stage_count; i++) {
        if (chain->stages[i].parent == chain->stages[stage].parent) {
            return false;
        }
    }
    return true;
}

static void let_go(walk *w, int stage)
{
    weiri_edge *edge = &w->chain->stages[stage].edge;
    w->alive -= edge->most_bytes;
    w->count--;
}

static void visit(walk *w, int number)
{
    weir_chain *chain = w->chain;
    weiri_stage *stage = &chain->stages[number];
    w->alive = w->alive > UINT64_MAX - stage->edge.most_bytes ? UINT64_MAX
                                                              : w->alive + stage->edge.most_bytes;
    w->count++;
    w->most = w->count > w->most ? w->count : w->most;
    w->fullest = w->alive > w->fullest ? w->alive : w->fullest;
    if (stage->parent >= 0 && is_last_child(chain, number)) {
        let_go(w, stage->parent);
    }
    for (int i = number + 1; i < chain->stage_count; i++) {
        if (chain->stages[i].parent == number) {
            visit(w, i);
        }
    }
    if (stage->children == 0) {
        let_go(w, number);
    }
}

void weiri_messages_plan(weir_chain *chain, uint64_t *ret_edges, uint64_t *ret_records)
{
    uint64_t largest = 0;
    for (int i = 0; i < chain->stage_count; i++) {
        uint64_t bytes = edge_bytes(&chain->stages[i]);
        largest = bytes > largest ? bytes : largest;
    }
    for (int i = 0; i < chain->stage_count; i++) {
        weiri_edge *edge = &chain->stages[i].edge;
        uint64_t most =
            weiri_cost_buffer(chain->cache, (size_t)edge_bytes(&chain->stages[i]), (size_t)largest);
        edge->most_bytes = most < UINT64_MAX / 4096 ? most : UINT64_MAX / 4096;
    }
    walk w = {.chain = chain};
    for (int i = 0; i < chain->stage_count; i++) {
        if (chain->stages[i].parent < 0) {
            visit(&w, i);
        }
    }
    chain->edges_most = w.most;
    *ret_edges = w.fullest;
    *ret_records = weiri_cost_records(chain->cache, w.most + 1);
}

uint64_t weiri_messages_idle(weir_chain *chain, uint64_t total, uint64_t *ret_records)
{
    uint64_t limit = chain->options.memory_limit;
    weir_cache_stats stats = {.stats_size = sizeof stats};
    weir_cache_stats_read(chain->cache, &stats);
    uint64_t left = limit == WEIR_NO_LIMIT || limit < total ? 0 : limit - total;
    uint64_t idle = stats.cache_limit_bytes < left ? stats.cache_limit_bytes : left;
    uint64_t live = chain->edges_most + 1, kept = idle / IDLE_EACH;
    uint64_t records =
        weiri_cost_records(chain->cache, live + kept) - weiri_cost_records(chain->cache, live);
    if (records > left) {
        kept = records = 0;
    }
    chain->edges_most += kept;
    *ret_records = records;
    return idle < left - records ? idle : left - records;
}

/* ---- running ------------------------------------------------------------------------------------- */

weir_err weiri_edge_open(weir_chain *chain, weiri_stage *stage, size_t frames_in, size_t *ret_room)
{
    weiri_edge *edge = &stage->edge;
    uint64_t frames = weiri_stage_out(stage, frames_in);
    frames = frames < edge->capacity ? frames : edge->capacity;
    weir_err err = weir_cache_take(chain->cache, (size_t)frames * edge->frame_bytes, &edge->buffer);
    if (err != WEIR_OK) {
        return weiri_fail_prefix(err, "a message behind %s: ", stage->last->ops->info.name);
    }
    edge->data = edge->buffer->memory;
    weir_plan_part *part = chain->edges_part;
    chain->edges_bytes += edge->buffer->charged;
    part->used_bytes =
        chain->edges_bytes > part->used_bytes ? chain->edges_bytes : part->used_bytes; /* M6 */
    *ret_room = (size_t)frames;
    return WEIR_OK;
}

/* M6: the most that was kept. */
static void note_idle(weir_chain *chain)
{
    weir_plan_part *part = chain->idle_part;
    if (part != NULL && part->used_bytes < part->bytes) {
        weir_cache_stats stats = {.stats_size = sizeof stats};
        weir_cache_stats_read(chain->cache, &stats);
        /* More may be kept, in the room that shorter messages leave of other parts. */
        uint64_t idle = stats.idle_bytes < part->bytes ? stats.idle_bytes : part->bytes;
        part->used_bytes = idle > part->used_bytes ? idle : part->used_bytes;
    }
}

void weiri_edge_close(weir_chain *chain, weiri_edge *edge)
{
    if (edge->buffer != NULL) {
        chain->edges_bytes -= edge->buffer->charged;
        weir_buffer_unref(edge->buffer);
        edge->buffer = NULL;
        edge->data = NULL;
        note_idle(chain);
    }
}
