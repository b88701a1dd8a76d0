/* SPDX-License-Identifier: MIT
 *
 * start.c: from a plan to a chain that runs: allocates the one buffer, computes constants, places blocks, starts
 * threads and files; and measures afterwards what of the buffer was used (M6).
 */
#include <string.h>

#include "cache/cache.h"
#include "chain/chain.h"

/* Pattern written into the buffer at the start: it touches the planned pages, makes reads of unwritten memory
 * visible in tests, and marks bytes that were never used. A signal is unlikely to contain it. */
#define PATTERN UINT64_C(0x7ff4a5c35a3c96e1)

static void fill(void *memory, uint64_t bytes)
{
    uint64_t *words = memory;
    for (uint64_t i = 0; i < bytes / sizeof *words; i++) {
        words[i] = PATTERN;
    }
}

weir_err weiri_running_create(weir_chain *chain, weiri_plan *plan)
{
    weiri_running *running = weiri_plan_get(chain, 1, sizeof *running);
    if (running == NULL) {
        return weiri_fail_prefix(WEIR_E_NOMEM, "the plan: ");
    }
    running->steps = weiri_plan_get(chain, (uint64_t)plan->step_count, sizeof *running->steps);
    running->groups = weiri_plan_get(chain, (uint64_t)plan->group_count, sizeof *running->groups);
    bool there = running->steps != NULL && running->groups != NULL;
    for (int i = 0; there && i < plan->step_count; i++) {
        const weiri_step *step = &plan->steps[i];
        weiri_block *blocks = weiri_plan_get(chain, (uint64_t)step->blocks, sizeof *blocks);
        void **state =
            weiri_plan_get(chain, (uint64_t)step->blocks * step->unit.field_count, sizeof *state);
        there = blocks != NULL && state != NULL;
        for (int b = 0; there && b < step->blocks; b++) {
            blocks[b].state = state + (size_t)b * step->unit.field_count;
        }
        running->steps[i].blocks = blocks;
    }
    if (!there) {
        return weiri_fail_prefix(WEIR_E_NOMEM, "the plan: ");
    }
    chain->running = running;
    return WEIR_OK;
}

/* ---- placing ------------------------------------------------------------------------------------- */

static void place_block(weir_chain *chain, const weiri_step *step, int number)
{
    const weiri_group *group = &chain->plan->groups[step->group];
    weiri_step_run *run = &chain->running->steps[step->number];
    uint64_t width = step->by_frame ? step->channels : group->block_channels;
    uint64_t first = step->by_frame ? 0 : (uint64_t)number * width;
    int shape = !step->by_frame && step->blocks > 1 && number == step->blocks - 1 ? 1 : 0;
    uint64_t counts = step->by_frame ? (uint64_t)number * step->channels : first;
    uint64_t *missing = (uint64_t *)(void *)weiri_chain_memory(chain, step->missing_at) + counts;
    weiri_block *block = &run->blocks[number];
    void **state = (void **)(uintptr_t)block->state;
    unsigned char *at = weiri_chain_memory(chain, step->state_at) +
                        (uint64_t)number * step->state_bytes[0];
    *block = (weiri_block){
        .ops = step->ops,
        .constants = run->constants,
        .in = step->block_in[shape],
        .out = &step->block_out[shape],
        .first_channel = first,
        .channels = step->channels - first < width ? step->channels - first : width,
        .columns = weir_spec_columns(step->block_in[shape]),
        .state = state,
        .missing = missing,
        .records = {.list = (weir_record *)(void *)weiri_chain_memory(chain, step->records_at) +
                            (uint64_t)number * step->records_room[0],
                    .room = (size_t)step->records_room[shape]},
        .ahead = &chain->running->ahead,
    };
    memset(missing, 0, block->channels * sizeof *missing);
    for (size_t i = 0; i < step->unit.field_count; i++) {
        state[i] = at;
        at += (weiri_field_bytes(&step->unit.fields[i], block->columns) + 63) / 64 * 64;
    }
}

static void place_step(weir_chain *chain, weiri_step *step)
{
    weiri_step_run *run = &chain->running->steps[step->number];
    void *constants = weiri_chain_memory(chain, step->constants_at);
    memset(constants, 0, (size_t)step->unit.constant_bytes);
    weiri_live_prepare(chain, step, constants);
    run->constants = constants;
    run->spare = weiri_chain_memory(chain, step->spare_at);
    for (int b = 0; b < step->blocks; b++) {
        place_block(chain, step, b);
    }
    weiri_step_reset(chain, step->number, false);
}

static void place(weir_chain *chain)
{
    weiri_plan *plan = chain->plan;
    weiri_running *running = chain->running;
    fill(running->buffer->memory, plan->buffer_bytes); /* M6: planned pages are touched at the start */
    /* Prefetched data share L2 with the current tile. 1024 channels from memory: with a quarter of L2 181 us
     * per message, with half 165, with twice 171; without prefetching 198. */
    running->ahead_most = (size_t)weiri_l2_bytes() / 2;
    running->input = (weiri_edge){.data = NULL};
    running->batch = (weir_record *)(void *)weiri_chain_memory(chain, plan->batch_at);
    running->batch_count = 0;
    if (plan->source != NULL) {
        running->input.base = running->input.data = weiri_chain_memory(chain, plan->tile_at);
    }
    for (int i = 0; i < plan->group_count; i++) {
        running->groups[i] = (weiri_group_run){.more = false};
        weiri_edge *edge = &running->groups[i].edge;
        edge->base = edge->data = weiri_chain_memory(chain, plan->groups[i].edge_at);
    }
    for (int i = 0; i < plan->step_count; i++) {
        place_step(chain, &plan->steps[i]);
    }
}

weir_err weiri_chain_start_source(weir_chain *chain)
{
    const weiri_plan *plan = chain->plan;
    if (plan->source == NULL) {
        return WEIR_OK;
    }
    return plan->source->ops->start(plan->source, plan->shown.tile_frames,
                                    weiri_chain_memory(chain, plan->reader_at));
}

weir_err weiri_chain_start_sinks(weir_chain *chain)
{
    const weiri_plan *plan = chain->plan;
    weir_err err = WEIR_OK;
    const weir_source_info *info = NULL;
    if (plan->source != NULL) {
        info = weir_source_info_get(plan->source);
        chain->running->source_notices = info->notice_count;
    }
    for (int i = 0; err == WEIR_OK && plan->sinks != NULL && i < plan->exit_count; i++) {
        weir_sink *sink = plan->sinks[i];
        if (sink != NULL) {
            err = sink->ops->start(sink, &plan->steps[plan->exits[i].step].out, info,
                                   chain->text == NULL ? "" : chain->text,
                                   weiri_chain_memory(chain, plan->writers_at[i]));
        }
    }
    return err;
}

/* ---- start and end ------------------------------------------------------------------------------- */

static weir_err refuse(const weir_chain *chain)
{
    char need[24], limit[24], over[24];
    uint64_t total = chain->plan->shown.total_bytes, most = chain->options.memory_limit;
    return weiri_fail(
        WEIR_E_PLAN, "the plan is %s, the memory limit %s: %s too much (%llu B of %llu B)",
        weir_bytes_format(total, need, sizeof need), weir_bytes_format(most, limit, sizeof limit),
        weir_bytes_format(total - most, over, sizeof over), (unsigned long long)total,
        (unsigned long long)most);
}

weir_err weiri_chain_start_units(weir_chain *chain)
{
    if (chain->plan == NULL) {
        return weiri_fail(WEIR_E_USAGE, "the chain has no plan yet");
    }
    weiri_plan *plan = chain->plan;
    weiri_running *running = chain->running;
    if (weiri_heap_is_device(chain->options.heap)) {
        return weiri_chain_refuse_device(chain->options.heap);
    }
    if (!plan->shown.fits) {
        return refuse(chain);
    }
    weir_cache *cache = chain->caches[WEIRI_BUFFERS];
    weir_cache_clear(cache);
    /* M8: without a limit of the user's, the plan itself is the limit. */
    bool stated = chain->options.memory_limit != WEIR_NO_LIMIT;
    uint64_t limit = stated ? chain->options.memory_limit : plan->shown.total_bytes;
    weir_err err = weir_cache_limit_held(cache, limit);
    if (err == WEIR_OK) {
        err = weir_cache_take(cache, (size_t)plan->buffer_bytes, &running->buffer);
    }
    if (err != WEIR_OK) {
        return err;
    }
    place(chain);
    if (plan->threads > 1) {
        err = weiri_pool_create(plan->threads, weiri_chain_memory(chain, plan->pool_at),
                                &running->pool);
    }
    if (err != WEIR_OK) {
        running->pool = NULL;
        weir_buffer_unref(running->buffer);
        running->buffer = NULL;
    }
    return err;
}

/* Files that were started use their part of the buffer until they are closed: it stays, whatever the next one
 * says. */
weir_err weiri_chain_start(weir_chain *chain)
{
    weir_err err = weiri_chain_start_units(chain);
    if (err != WEIR_OK) {
        return err;
    }
    err = weiri_chain_start_source(chain);
    err = err == WEIR_OK ? weiri_chain_start_sinks(chain) : err;
    chain->running->start_failed = err != WEIR_OK;
    return err;
}

void weiri_chain_unplan(weir_chain *chain)
{
    if (chain->running != NULL) {
        weiri_pool_destroy(chain->running->pool);
        weir_buffer_unref(chain->running->buffer);
    }
    weiri_arena_fini(&chain->plan_arena);
    weiri_arena_init(&chain->plan_arena, chain->caches[WEIRI_HOST]);
    chain->plan = NULL;
    chain->running = NULL;
    chain->notices.count -= chain->plan_notices;
    chain->notices.left_out -= chain->plan_left_out;
    chain->plan_notices = 0;
    chain->plan_left_out = 0;
}

/* ---- what was used ------------------------------------------------------------------------------- */

uint64_t weir_chain_used_bytes(const weir_chain *chain, size_t part)
{
    if (chain == NULL) {
        return 0;
    }
    const weiri_plan *plan = chain->plan;
    if (plan == NULL || part >= plan->shown.part_count || chain->running->buffer == NULL) {
        return 0;
    }
    weiri_range range = plan->ranges[part];
    const char *kind = plan->parts[part].kind;
    if (range.bytes == 0 || strcmp(kind, "threads") == 0 || strcmp(kind, "spare") == 0) {
        return plan->parts[part].bytes; /* stacks, records, declared charges, spare constants */
    }
    const uint64_t *words = (const uint64_t *)(const void *)weiri_chain_memory(chain, range.from);
    uint64_t used = 0;
    for (uint64_t i = 0; i < range.bytes / sizeof *words; i++) {
        used += words[i] == PATTERN ? 0 : sizeof *words;
    }
    return used;
}
