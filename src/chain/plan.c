/* SPDX-License-Identifier: MIT
 *
 * plan.c: how long a tile is, how much each edge holds, how many bytes all of it is; and the one buffer
 * that a run takes, laid out as planned. Nothing else is taken for the life of the chain (but edges where
 * messages are not cut into tiles: messages.c): states, tiles,
 * edges, the reader's and writers' buffers lie in it side by side (M6), and its pages are touched at the
 * start, so that a run which has begun cannot meet a machine without memory half-way.
 */
#include "chain/chain.h"

#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cache/cache.h"
#include "cache/cost.h"

/* A tile goes through the whole chain before the next: input, edges, strips and states should be found in
 * L2 by the next stage. The rest of it is for coefficients, code and the neighbours: with 9/16 a tile of 256
 * channels has 80 frames (121 x real time in its good moments), with 3/4 it has 112 (113 x). */
#define L2_ASSUMED ((uint64_t)512 << 10)
#define L2_MOST    ((uint64_t)4 << 20)
#define TILE_MOST  4096

uint64_t weiri_l2_bytes(void)
{
    long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
    uint64_t bytes = l2 > 0 ? (uint64_t)l2 : L2_ASSUMED;
    return bytes > L2_MOST ? L2_MOST : bytes;
}

static uint64_t working_bytes(void)
{
    return weiri_l2_bytes() / 16 * 9;
}

static bool in_place(const weir_chain *chain, const weiri_stage *stage)
{
    if (stage->head != NULL || stage->first != stage->last || !weiri_step_in_place(stage->first) ||
        weiri_chain_is_whole(chain)) {
        return false;
    }
    if (stage->parent < 0) {
        /* What is pushed is borrowed (S7); a tile that a source fills is ours. */
        return chain->source != NULL && chain->input_children == 1;
    }
    const weiri_stage *parent = &chain->stages[stage->parent];
    return parent->children == 1 && parent->output < 0;
}

static double widest_row(const weir_chain *chain)
{
    double widest = (double)weir_spec_frame_bytes(&chain->input);
    for (int i = 0; i < chain->step_count; i++) {
        const weiri_step *step = &chain->steps[i];
        double bytes = (double)weir_spec_frame_bytes(step->in);
        widest = step->columnwise && bytes > widest ? bytes : widest;
    }
    return widest;
}

static uint64_t choose_tile(weir_chain *chain)
{
    uint64_t stated = chain->options.tile_frames;
    if (weiri_chain_is_whole(chain)) {
        return chain->options.longest_message;
    }
    if (stated != WEIR_TILE_AUTO) {
        return stated;
    }
    double frame_bytes = (double)weir_spec_frame_bytes(&chain->input);
    for (int i = 0; i < chain->stage_count; i++) {
        const weiri_stage *stage = &chain->stages[i];
        if (!stage->edge.in_place) {
            frame_bytes += (double)stage->edge.frame_bytes * chain->input.dims[0].step /
                           stage->last->spec.dims[0].step;
        }
    }
    double frames = (double)(working_bytes() - 2 * WEIRI_STRIP_BYTES) / frame_bytes;
    /* Where L2 is large, rows that one strip holds enough of are not cut into bands for it: 256 channels in
     * tiles of 496 frames, 11 bands of copies, 80 us a message; 1024 channels, a head and L1, 68 (Xeon, L2 of
     * 2 MiB). Threads have bands anyway. */
    double strip = (double)WEIRI_STRIP_BYTES / WEIRI_BAND_SLACK / widest_row(chain);
    if (chain->options.threads == 1 && strip > WEIRI_TILE_LEAST && frames > strip) {
        frames = strip;
    }
    if (!(frames > WEIRI_TILE_LEAST)) {
        return WEIRI_TILE_LEAST;
    }
    return frames > TILE_MOST ? TILE_MOST : (uint64_t)frames / 16 * 16;
}

/* Most frames that come out of n in one call, unless the room is less: a unit is then called again. An
 * edge that grows what it holds (windows) gets room for what stays in the cache, one frame at least. */
static void choose_capacities(weir_chain *chain, uint64_t tile)
{
    bool whole = weiri_chain_is_whole(chain);
    for (int i = 0; i < chain->stage_count; i++) {
        weiri_stage *stage = &chain->stages[i];
        uint64_t before = stage->parent < 0 ? tile : chain->stages[stage->parent].edge.capacity;
        uint64_t capacity = weiri_stage_out(stage, before);
        uint64_t room = working_bytes() / 4 / stage->edge.frame_bytes;
        bool grows = (double)capacity * (double)stage->edge.frame_bytes >
                     (double)before * (double)weir_spec_frame_bytes(stage->first->in);
        if (!stage->edge.in_place && grows && !whole && !stage->first->columnwise &&
            capacity > room) {
            capacity = room < 1 ? 1 : room;
        }
        stage->edge.capacity = (size_t)capacity;
    }
}

/* ---- parts --------------------------------------------------------------------------------------- */

typedef struct layout {
    weir_chain *chain;
    uint64_t bytes; /* so far; UINT64_MAX after an overflow */
} layout;

static uint64_t add_bytes(layout *at, uint64_t bytes)
{
    uint64_t offset = at->bytes;
    uint64_t rounded = bytes > UINT64_MAX / 4 ? UINT64_MAX : (bytes + 63) / 64 * 64;
    at->bytes = rounded > UINT64_MAX / 4 || offset > UINT64_MAX / 4 ? UINT64_MAX : offset + rounded;
    return offset;
}

static weir_plan_part *add_part(
    weir_chain *chain, const char *name, const char *kind, uint64_t bytes, const weir_spec *spec)
{
    weir_plan_part *part = &chain->parts[chain->plan.part_count++];
    *part = (weir_plan_part){.name = name == NULL ? "" : name,
                             .kind = kind,
                             .bytes = (bytes + 63) / 64 * 64,
                             .spec = spec};
    return part;
}

static uint64_t edge_bytes(uint64_t frames, uint64_t frame_bytes)
{
    uint64_t bytes = 0;
    return weiri_mul(frames, frame_bytes, &bytes) ? bytes : UINT64_MAX / 2;
}

static void lay_step(layout *at, weiri_step *step)
{
    weir_chain *chain = at->chain;
    weiri_stage *stage = &chain->stages[step->stage];
    char name[96];
    snprintf(name, sizeof name, "%d %s", (int)(step - chain->steps) + 1, step->ops->info.name);
    uint64_t before = at->bytes;
    uint64_t copies = (uint64_t)step->instances;
    bool in_bands = !step->by_frame && stage->bands > 1;
    uint64_t last = step->band_state_bytes[in_bands ? 1 : 0];
    step->state_offset =
        add_bytes(at, (step->band_state_bytes[0] + 63) / 64 * 64 * (copies - 1) + last);
    step->missing_offset =
        add_bytes(at, step->channels * sizeof(uint64_t) * (step->by_frame ? copies : 1));
    if (step == stage->head) {
        stage->shared_offset = add_bytes(at, weiri_stage_room(chain, stage) * step->shared_bytes);
    }
    weir_plan_part *part = add_part(chain, weiri_arena_text(&chain->plan_arena, name), "unit",
                                    at->bytes - before, &step->spec);
    part->used_bytes = part->bytes;
}

/* The edge is listed under the stage's last unit, whose output it holds. */
static void lay_edge(layout *at, weiri_stage *stage)
{
    weir_chain *chain = at->chain;
    uint64_t bytes = stage->edge.in_place || weiri_chain_is_whole(chain)
                         ? 0
                         : edge_bytes(stage->edge.capacity, stage->edge.frame_bytes);
    stage->edge_offset = add_bytes(at, bytes);
    stage->edge_part = add_part(chain, chain->parts[chain->plan.part_count - 1].name, "edge", bytes,
                                &stage->last->spec);
    stage->edge_part->capacity_frames = stage->edge.capacity;
}

/* What the widest stage needs between its steps. */
static void lay_strips(layout *at)
{
    weir_chain *chain = at->chain;
    uint64_t most[2] = {0, 0};
    for (int i = 0; i < chain->stage_count; i++) {
        uint64_t bytes[2];
        weiri_stage_strips(&chain->stages[i], bytes);
        most[0] = bytes[0] > most[0] ? bytes[0] : most[0];
        most[1] = bytes[1] > most[1] ? bytes[1] : most[1];
    }
    chain->strip_bytes = (most[0] + 63) / 64 * 64;
    chain->strips_bytes = chain->strip_bytes + (most[1] + 63) / 64 * 64;
    uint64_t bytes = chain->strips_bytes * chain->options.threads;
    chain->strip_offset = add_bytes(at, bytes);
    if (bytes > 0) {
        chain->strip_part = add_part(chain, "between units", "strips", bytes, NULL);
    }
}

/* Threads beside the caller's, and their stacks. */
static void lay_pool(layout *at)
{
    weir_chain *chain = at->chain;
    uint64_t threads = chain->options.threads, bytes = weiri_pool_bytes(threads);
    char name[48];
    snprintf(name, sizeof name, "%llu %s", (unsigned long long)threads,
             threads == 1 ? "thread, the caller's" : "threads, with the caller's");
    chain->pool_offset = add_bytes(at, bytes);
    weir_plan_part *part =
        add_part(chain, weiri_arena_text(&chain->plan_arena, name), "threads", bytes, NULL);
    part->used_bytes = part->bytes;
}

static weir_err lay_files(layout *at, uint64_t tile)
{
    weir_chain *chain = at->chain;
    uint64_t reader = 0;
    if (chain->source != NULL) {
        uint64_t bytes = edge_bytes(tile, weir_spec_frame_bytes(&chain->input));
        chain->tile_offset = add_bytes(at, bytes);
        chain->tile_part = add_part(chain, "input", "tile", bytes, &chain->input);
        chain->tile_part->capacity_frames = tile;
        weir_err err = chain->source->ops->plan(chain->source, tile, &reader);
        if (err != WEIR_OK) {
            return err;
        }
        chain->reader_offset = add_bytes(at, reader);
        add_part(chain, chain->source->ops->name, "reader", reader, &chain->input)->used_bytes =
            (reader + 63) / 64 * 64;
    }
    for (int i = 0; chain->sinks != NULL && i < chain->exit_count; i++) {
        weir_sink *sink = chain->sinks[i];
        uint64_t writer = 0;
        const weir_spec *spec = weiri_chain_exit_spec(chain, i);
        if (sink == NULL) {
            continue;
        }
        weir_err err = sink->ops->plan(sink, spec, &writer);
        if (err != WEIR_OK) {
            return err;
        }
        chain->writer_offsets[i] = add_bytes(at, writer);
        add_part(chain, chain->exits[i].name, "writer", writer, spec)->used_bytes =
            (writer + 63) / 64 * 64;
    }
    return WEIR_OK;
}

static weir_err lay_out(weir_chain *chain, uint64_t tile)
{
    size_t most = 2 * (size_t)chain->step_count + (size_t)chain->exit_count + 8;
    chain->parts = weiri_arena_get(&chain->plan_arena, most * sizeof *chain->parts);
    chain->writer_offsets =
        weiri_arena_get(&chain->plan_arena, (size_t)(chain->exit_count + 1) * sizeof(uint64_t));
    if (chain->parts == NULL || chain->writer_offsets == NULL) {
        return weiri_fail_prefix(WEIR_E_NOMEM, "the plan: ");
    }
    layout at = {.chain = chain};
    uint64_t edges = 0, edge_records = 0;
    if (weiri_chain_is_whole(chain)) {
        weiri_messages_plan(chain, &edges, &edge_records);
    }
    for (int i = 0; i < chain->step_count; i++) {
        weiri_step *step = &chain->steps[i];
        lay_step(&at, step);
        if (step == chain->stages[step->stage].last) {
            lay_edge(&at, &chain->stages[step->stage]);
        }
    }
    lay_strips(&at);
    if (weiri_chain_is_whole(chain)) { /* of the cache, not of the one buffer */
        chain->edges_part = add_part(chain, "between units", "messages", 0, NULL);
        chain->edges_part->bytes = edges;
    }
    weir_err err = lay_files(&at, tile);
    if (err != WEIR_OK) {
        return err;
    }
    lay_pool(&at);
    weir_cache_stats stats = {.stats_size = sizeof stats};
    weir_cache_stats_read(chain->cache, &stats);
    /* M7: what libraries of formats hold beside our buffers, as they declared it. */
    if (stats.charged_bytes > 0) {
        weir_plan_part *part = add_part(chain, "declared", "charges", 0, NULL);
        part->bytes = part->used_bytes = stats.charged_bytes;
    }
    weir_plan_part *records = add_part(chain, "descriptions, cache", "records", 0, NULL);
    if (at.bytes > SIZE_MAX / 2 || edges > SIZE_MAX / 2) {
        return weiri_fail(WEIR_E_PLAN, "the plan needs more bytes than there are addresses");
    }
    /* What is held already (settings, labels, this plan), and what the cache adds to a take. */
    chain->buffer_bytes = at.bytes;
    uint64_t cost = weiri_cache_cost(chain->cache, (size_t)at.bytes);
    chain->plan.total_bytes = stats.held_bytes - stats.idle_bytes + cost + edges + edge_records;
    uint64_t idle = 0, idle_records = 0;
    if (weiri_chain_is_whole(chain)) {
        idle = weiri_messages_idle(chain, chain->plan.total_bytes, &idle_records);
        chain->plan.total_bytes += idle_records;
    }
    records->bytes = records->used_bytes =
        chain->plan.total_bytes - at.bytes - edges - stats.charged_bytes;
    if (idle > 0) {
        chain->idle_part = add_part(chain, "kept for reuse", "idle", 0, NULL);
        chain->idle_part->bytes = idle;
        chain->plan.total_bytes += idle;
    }
    return WEIR_OK;
}

/* ---- plan ---------------------------------------------------------------------------------------- */

void weiri_chain_unplan(weir_chain *chain)
{
    weiri_pool_destroy(chain->pool);
    chain->pool = NULL;
    for (int i = 0; i < chain->stage_count; i++) {
        weiri_edge_close(chain, &chain->stages[i].edge);
    }
    weir_buffer_unref(chain->buffer);
    chain->buffer = NULL;
    weiri_arena_fini(&chain->plan_arena);
    weiri_arena_init(&chain->plan_arena, chain->cache);
    chain->planned = false;
    chain->steps = NULL;
    chain->stages = NULL;
    chain->strip_part = chain->edges_part = chain->idle_part = NULL;
    chain->order = NULL;
    chain->exits = NULL;
    chain->parts = NULL;
    chain->sinks = NULL;
    chain->source = NULL;
    chain->tile_part = NULL;
    chain->step_count = chain->stage_count = chain->exit_count = chain->input_children = 0;
    chain->plan = (weir_plan){0};
}

static weir_err plan_all(weir_chain *chain)
{
    if (weiri_chain_is_whole(chain) && chain->options.longest_message == 0) {
        return weiri_fail(WEIR_E_USAGE,
                          "tile: none needs the longest message to be stated (--message-frames or "
                          "--message-lengths)");
    }
    weir_err err = weiri_chain_steps(chain);
    if (err == WEIR_OK) {
        err = weiri_chain_stages(chain);
    }
    if (err != WEIR_OK) {
        return err;
    }
    for (int i = 0; i < chain->stage_count; i++) {
        chain->stages[i].edge.in_place = in_place(chain, &chain->stages[i]);
    }
    uint64_t tile = choose_tile(chain);
    chain->plan.tile_frames = tile;
    choose_capacities(chain, tile);
    err = weiri_chain_bands(chain);
    if (err != WEIR_OK) {
        return err;
    }
    err = lay_out(chain, tile);
    if (err != WEIR_OK) {
        return err;
    }
    chain->plan.parts = chain->parts;
    chain->plan.threads = chain->options.threads;
    chain->plan.memory_limit_bytes = chain->options.memory_limit;
    chain->plan.whole_messages = weiri_chain_is_whole(chain);
    chain->plan.fits = chain->plan.total_bytes <= chain->options.memory_limit;
    return WEIR_OK;
}

static weir_err plan_for(weir_chain *chain,
                         const weir_spec *input,
                         weir_source *source,
                         weir_sink *const *sinks,
                         size_t sink_count,
                         const weir_plan **ret_plan)
{
    if (chain->buffer != NULL) {
        return weiri_fail(WEIR_E_USAGE, "the chain has started; its plan stands");
    }
    weiri_chain_unplan(chain);
    chain->input = *input;
    chain->source = source;
    /* A plan that does not fit is stated all the same: its own tables may go beyond, until the start. */
    weir_err err = weir_cache_limit_held(chain->cache, WEIR_NO_LIMIT);
    if (err == WEIR_OK && sink_count > 0) {
        chain->sinks = weiri_arena_get(&chain->plan_arena, sink_count * sizeof(weir_sink *));
        err = chain->sinks == NULL ? weiri_fail_prefix(WEIR_E_NOMEM, "outputs: ") : WEIR_OK;
        for (size_t i = 0; err == WEIR_OK && i < sink_count; i++) {
            chain->sinks[i] = sinks[i];
        }
    }
    if (err == WEIR_OK) {
        fenv_t callers; /* no traps of the caller's in designs of filters (S6) */
        feholdexcept(&callers);
        err = plan_all(chain);
        fesetenv(&callers);
    }
    if (err == WEIR_OK && sink_count > 0 && sink_count != (size_t)chain->exit_count) {
        err = weiri_fail(WEIR_E_USAGE, "%zu sinks for %d outputs of the chain", sink_count,
                         chain->exit_count);
    }
    if (err != WEIR_OK) {
        weiri_chain_unplan(chain);
        return err;
    }
    chain->planned = true;
    *ret_plan = &chain->plan;
    return WEIR_OK;
}

weir_err weir_chain_plan(weir_chain *chain, const weir_spec *input, const weir_plan **ret_plan)
{
    return plan_for(chain, input, NULL, NULL, 0, ret_plan);
}

weir_err weir_chain_plan_run(weir_chain *chain,
                             weir_source *source,
                             weir_sink *const *sinks,
                             size_t sink_count,
                             const weir_plan **ret_plan)
{
    return plan_for(chain, &weir_source_info_get(source)->spec, source, sinks, sink_count,
                    ret_plan);
}

size_t weir_chain_output_count(const weir_chain *chain)
{
    return (size_t)chain->exit_count;
}

const char *weir_chain_output_name(const weir_chain *chain, size_t output)
{
    return output < (size_t)chain->exit_count ? chain->exits[output].name : NULL;
}

const weir_spec *weir_chain_output_spec(const weir_chain *chain, size_t output)
{
    return output < (size_t)chain->exit_count ? weiri_chain_exit_spec(chain, (int)output) : NULL;
}

/* ---- start --------------------------------------------------------------------------------------- */

static weir_err refuse(const weir_chain *chain)
{
    char need[24], limit[24], over[24];
    uint64_t total = chain->plan.total_bytes, most = chain->options.memory_limit;
    return weiri_fail(
        WEIR_E_PLAN, "the plan is %s, the memory limit %s: %s too much (%llu B of %llu B)",
        weir_bytes_format(total, need, sizeof need), weir_bytes_format(most, limit, sizeof limit),
        weir_bytes_format(total - most, over, sizeof over), (unsigned long long)total,
        (unsigned long long)most);
}

/* One instance a band, each with its part of the states and counts. */
static void place_step(weir_chain *chain, const weiri_stage *stage, weiri_step *step)
{
    unsigned char *base = chain->buffer->memory;
    uint64_t width = step->by_frame ? step->channels : stage->band_channels;
    for (int band = 0; band < step->instances; band++) {
        int shape = !step->by_frame && stage->bands > 1 && band == stage->bands - 1 ? 1 : 0;
        uint64_t first = step->by_frame ? 0 : (uint64_t)band * width;
        uint64_t counts = step->by_frame ? (uint64_t)band * step->channels : first;
        uint64_t state_bytes = (step->band_state_bytes[0] + 63) / 64 * 64;
        weiri_unit *unit = &step->units[band];
        *unit = (weiri_unit){
            .ops = step->ops,
            .settings = step->node == NULL ? NULL : step->node->settings,
            .in = &step->band_in[shape],
            .out = &step->band_out[shape],
            .state = base + step->state_offset + (uint64_t)band * state_bytes,
            .missing = (uint64_t *)(void *)(base + step->missing_offset) + counts,
            .channels = step->channels - first < width ? step->channels - first : width,
            .ahead = &chain->ahead,
        };
        if (step->ops->init != NULL) {
            step->ops->init(unit);
        }
    }
}

static void place(weir_chain *chain)
{
    unsigned char *base = chain->buffer->memory;
    memset(base, 0, (size_t)chain->buffer_bytes); /* M6: planned pages are touched at the start */
    /* In L2 beside the tile at work. 1024 channels out of memory, in turns: with a quarter of L2 181 us a
     * message, with half 165, with twice 171; without 198. */
    chain->ahead_most = (size_t)weiri_l2_bytes() / 2;
    chain->input_edge = (weiri_edge){
        .data = chain->source == NULL ? NULL : base + chain->tile_offset,
        .capacity = (size_t)chain->plan.tile_frames,
        .frame_bytes = (size_t)weir_spec_frame_bytes(&chain->input),
    };
    for (int i = 0; i < chain->stage_count; i++) {
        weiri_stage *stage = &chain->stages[i];
        stage->edge.data = weiri_chain_is_whole(chain) ? NULL : base + stage->edge_offset;
        if (stage->head != NULL) {
            place_step(chain, stage, stage->head);
        }
        for (weiri_step *step = stage->first; step != NULL; step = step->next) {
            place_step(chain, stage, step);
        }
    }
}

static weir_err start_files(weir_chain *chain)
{
    unsigned char *base = chain->buffer->memory;
    weir_err err = WEIR_OK;
    const weir_source_info *info = NULL;
    if (chain->source != NULL) {
        info = weir_source_info_get(chain->source);
        err = chain->source->ops->start(chain->source, chain->plan.tile_frames,
                                        base + chain->reader_offset);
    }
    for (int i = 0; err == WEIR_OK && chain->sinks != NULL && i < chain->exit_count; i++) {
        weir_sink *sink = chain->sinks[i];
        if (sink != NULL) {
            err = sink->ops->start(sink, &chain->steps[chain->exits[i].step].spec, info,
                                   chain->text == NULL ? "" : chain->text,
                                   base + chain->writer_offsets[i]);
        }
    }
    return err;
}

weir_err weiri_chain_start(weir_chain *chain)
{
    if (!chain->planned) {
        return weiri_fail(WEIR_E_USAGE, "the chain has no plan yet");
    }
    if (!chain->plan.fits) {
        return refuse(chain);
    }
    weir_cache_clear(chain->cache);
    /* M8: without a limit of the user's, the plan itself is the limit; and where something is given back
     * and kept, the plan says how much. */
    bool stated = chain->options.memory_limit != WEIR_NO_LIMIT && !weiri_chain_is_whole(chain);
    uint64_t limit = stated ? chain->options.memory_limit : chain->plan.total_bytes;
    weir_err err = weir_cache_limit_held(chain->cache, limit);
    if (err == WEIR_OK) {
        err = weir_cache_take(chain->cache, (size_t)chain->buffer_bytes, &chain->buffer);
    }
    if (err == WEIR_OK && weiri_chain_is_whole(chain)) {
        weiri_cost_keep(chain->cache, chain->edges_most); /* M6 */
    }
    if (err != WEIR_OK) {
        return err;
    }
    place(chain);
    if (chain->options.threads > 1) {
        err = weiri_pool_create(chain->options.threads,
                                (unsigned char *)chain->buffer->memory + chain->pool_offset,
                                &chain->pool);
    }
    if (err == WEIR_OK) {
        err = start_files(chain);
    }
    if (err != WEIR_OK) {
        weiri_pool_destroy(chain->pool);
        chain->pool = NULL;
        weir_buffer_unref(chain->buffer);
        chain->buffer = NULL;
    }
    return err;
}
