/* SPDX-License-Identifier: MIT
 *
 * plan.c: tile length, capacity of each edge, total bytes, and the place of each part in the one buffer that a
 * run allocates. Nothing else is allocated for the life of the chain: states,
 * constants, tiles, edges, the reader's and writers' buffers are in it (M6), and its pages are
 * written at the start, so a run cannot fail half-way for lack of memory.
 */
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "cache/cache.h"
#include "chain/chain.h"

/* A tile goes through the whole chain before the next: input, edges, scratch and states should be found in
 * L2 by the next group. The rest of L2 is for coefficients, code and other programs: with 9/16 a tile of 256
 * channels has 80 frames (121 x real time at best), with 3/4 it has 112 (113 x). */
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

/* ---- tile and capacities ------------------------------------------------------------------------- */

static bool in_place(const weiri_plan *plan, const weiri_group *group)
{
    if (group->first != group->last || !weiri_step_in_place(group->first) || group->feeds_join) {
        return false;
    }
    if (group->parents[0] < 0) {
        /* What is pushed is borrowed (S7); a tile that a source fills is ours. */
        return plan->source != NULL && plan->input_children == 1;
    }
    const weiri_group *parent = &plan->groups[group->parents[0]];
    return parent->children == 1 && parent->output < 0;
}

static void choose_in_place(weiri_plan *plan)
{
    plan->input_bytes = (size_t)weir_spec_frame_bytes(&plan->input);
    for (int i = 0; i < plan->group_count; i++) {
        weiri_group *group = &plan->groups[i];
        group->lends = -1;
        group->in_place = in_place(plan, group);
        if (group->in_place && group->parents[0] >= 0) {
            plan->groups[group->parents[0]].lends = i;
        }
    }
}

static double widest_row(const weiri_plan *plan)
{
    double widest = (double)weir_spec_frame_bytes(&plan->input);
    for (int i = 0; i < plan->step_count; i++) {
        const weiri_step *step = &plan->steps[i];
        if (step->has_blocks) {
            widest = fmax(widest, (double)weir_spec_frame_bytes(step->in));
        }
    }
    return widest;
}

static uint64_t choose_tile(const weir_chain *chain, const weiri_plan *plan)
{
    if (chain->options.tile_frames != WEIR_TILE_AUTO) {
        return chain->options.tile_frames;
    }
    double frame_bytes = (double)weir_spec_frame_bytes(&plan->input);
    uint64_t least = WEIRI_TILE_LEAST;
    if ((double)least * frame_bytes > (double)weiri_l2_bytes() / 2) {
        least /= 2;
    }
    for (int i = 0; i < plan->group_count; i++) {
        const weiri_group *group = &plan->groups[i];
        if (!group->in_place) {
            frame_bytes += (double)group->last->frame_bytes * plan->input.dims[0].step /
                           group->last->out.dims[0].step;
        }
    }
    double frames = (double)(working_bytes() - 2 * WEIRI_STRIP_BYTES) / frame_bytes;
    /* Where L2 is large, rows that one scratch buffer holds enough of are not divided into blocks for it: 256
     * channels in tiles of 496 frames, 11 blocks of copies, 80 us a message; 1024 channels and L1, 68 (Xeon, L2
     * of 2 MiB). With threads too: while they do not pay (pool.c), one does all, 14 % slower with longer tiles. */
    double strip = (double)WEIRI_STRIP_BYTES / WEIRI_STRIP_SLACK / widest_row(plan);
    if (strip > (double)least && frames > strip) {
        frames = strip;
    }
    if (!(frames > (double)least)) {
        return least;
    }
    return frames > TILE_MOST ? TILE_MOST : (uint64_t)frames / 16 * 16;
}

/* What is known of a step's count of frames, over all n input frames of the chain: it is between
 * slope * n + lower and slope * n + upper, or 0; and a tile of the input adds `tile` frames at most. */
typedef struct bounds {
    long double upper, lower;
    uint64_t tile;
} bounds;

static bounds bounds_of(const weiri_plan *plan, const bounds *all, int parent)
{
    return parent < 0 ? (bounds){0, 0, plan->shown.tile_frames} : all[parent];
}

static bounds bounds_after(const weiri_plan *plan, const bounds *all, const weiri_step *step)
{
    const weiri_due *due = &step->unit.due;
    long double q = (long double)due->q, p = (long double)due->p;
    bounds least = {INFINITY, INFINITY, 0};
    for (int k = 0; k < step->inputs; k++) {
        bounds in = bounds_of(plan, all, step->parents[k]);
        least.upper = fminl(least.upper, in.upper - (long double)step->skip[k]);
        least.lower = fminl(least.lower, in.lower - (long double)step->skip[k]);
        least.tile = in.tile > least.tile ? in.tile : least.tile;
    }
    long double offset = (long double)due->offset;
    return (bounds){
        (least.upper * q + offset) / p,
        (least.lower * q + offset - (p * (long double)due->grain - 1)) / p,
        weiri_due_most(due, least.tile),
    };
}

/* Before a join, an edge holds what a tile adds and what its branch may be ahead of the slowest one: taken over
 * all n, after all lags have passed. */
static weir_err choose_leads(weir_chain *chain, weiri_plan *plan)
{
    bounds *all = weiri_plan_get(chain, (uint64_t)plan->step_count, sizeof *all);
    if (all == NULL) {
        return weiri_fail_prefix(WEIR_E_NOMEM, "the plan: ");
    }
    for (int i = 0; i < plan->step_count; i++) {
        const weiri_step *step = &plan->steps[i];
        all[i] = bounds_after(plan, all, step);
        long double slowest = INFINITY;
        for (int k = 0; step->inputs > 1 && k < step->inputs; k++) {
            slowest = fminl(slowest, all[step->parents[k]].lower - (long double)step->skip[k]);
        }
        for (int k = 0; step->inputs > 1 && k < step->inputs; k++) {
            const bounds *in = &all[step->parents[k]];
            long double lead = floorl(in->upper - (long double)step->skip[k] - slowest + 1e-6L);
            lead = lead < 0 ? 0 : lead;
            if (!(lead < 0x1p60L)) {
                return weiri_fail(WEIR_E_CHAIN, "%s: a branch is too far ahead of another",
                                  step->ops->info.name);
            }
            weiri_group *group = &plan->groups[plan->steps[step->parents[k]].group];
            uint64_t capacity = in->tile + (uint64_t)lead;
            group->lead = (uint64_t)lead > group->lead ? (uint64_t)lead : group->lead;
            group->capacity = capacity > group->capacity ? (size_t)capacity : group->capacity;
        }
    }
    return WEIR_OK;
}

static uint64_t capacity_before(const weiri_plan *plan, const weiri_group *group)
{
    uint64_t least = UINT64_MAX;
    for (int k = 0; k < group->inputs; k++) {
        uint64_t capacity = group->parents[k] < 0 ? plan->shown.tile_frames
                                                  : plan->groups[group->parents[k]].capacity;
        least = capacity < least ? capacity : least;
    }
    return least;
}

/* Most output frames of one call; if an edge has less space, the unit is called again. After a unit that
 * multiplies the data (windows) the edge holds what stays in L2, at least one frame. */
static weir_err choose_capacities(weir_chain *chain, weiri_plan *plan)
{
    weir_err err = choose_leads(chain, plan);
    for (int i = 0; err == WEIR_OK && i < plan->group_count; i++) {
        weiri_group *group = &plan->groups[i];
        const weiri_step *last = group->last;
        group->take = (size_t)capacity_before(plan, group);
        uint64_t capacity = weiri_group_most(group, group->take);
        uint64_t room = working_bytes() / 4 / last->frame_bytes;
        bool grows = (double)capacity * (double)last->frame_bytes >
                     (double)group->take * (double)weir_spec_frame_bytes(group->first->in);
        if (!group->in_place && grows && group->first == last && !group->feeds_join &&
            capacity > room) {
            capacity = room < 1 ? 1 : room;
        }
        group->capacity = capacity > group->capacity ? (size_t)capacity : group->capacity;
    }
    return err;
}

/* ---- parts --------------------------------------------------------------------------------------- */

typedef struct layout {
    weir_chain *chain;
    weiri_plan *plan;
    uint64_t bytes; /* so far; UINT64_MAX after an overflow */
} layout;

static uint64_t add_bytes(layout *at, uint64_t bytes)
{
    uint64_t offset = at->bytes;
    uint64_t rounded = bytes > UINT64_MAX / 4 ? UINT64_MAX : (bytes + 63) / 64 * 64;
    at->bytes = rounded > UINT64_MAX / 4 || offset > UINT64_MAX / 4 ? UINT64_MAX : offset + rounded;
    return offset;
}

/* A part of what was added since `from`. */
static weir_plan_part *
add_part(layout *at, const char *name, const char *kind, uint64_t from, const weir_spec *spec)
{
    weiri_plan *plan = at->plan;
    size_t number = plan->shown.part_count++;
    plan->ranges[number] = (weiri_range){from, at->bytes - from};
    plan->parts[number] = (weir_plan_part){.part_size = sizeof(weir_plan_part),
                                           .name = name == NULL ? "" : name,
                                           .kind = kind,
                                           .bytes = at->bytes - from,
                                           .spec = spec};
    return &plan->parts[number];
}

static uint64_t times(uint64_t a, uint64_t b)
{
    uint64_t product = 0;
    return weiri_mul(a, b, &product) ? product : UINT64_MAX / 2;
}

static void lay_step(layout *at, weiri_step *step)
{
    uint64_t from = at->bytes;
    step->constants_at = add_bytes(at, step->unit.constant_bytes);
    uint64_t blocks = (uint64_t)step->blocks;
    uint64_t last = step->state_bytes[!step->by_frame && blocks > 1 ? 1 : 0];
    step->state_at = add_bytes(at, times(step->state_bytes[0], blocks - 1) + last);
    step->missing_at =
        add_bytes(at, times(step->channels * sizeof(uint64_t), step->by_frame ? blocks : 1));
    weir_plan_part *part = add_part(at, step->name, "unit", from, &step->out);
    part->input_rate_hz = step->in[0].rate_hz;
    part->lag_frames = weiri_due_lag(&step->unit.due);
    part->delay_frames = step->unit.delay_frames;
    part->settle_frames = step->settle_frames;
}

/* Constants of a live setting's new value, until they are exchanged. */
static void lay_spare(layout *at)
{
    weiri_plan *plan = at->plan;
    uint64_t from = at->bytes;
    for (int i = 0; i < plan->step_count; i++) {
        if (weiri_step_is_live(&plan->steps[i])) {
            plan->steps[i].spare_at = add_bytes(at, plan->steps[i].unit.constant_bytes);
        }
    }
    if (at->bytes > from) {
        add_part(at, "spare constants", "spare", from, NULL);
    }
}

/* Of each block, and a batch in which they are put in order. */
static void lay_records(layout *at)
{
    weiri_plan *plan = at->plan;
    for (int i = 0; i < plan->step_count; i++) {
        weiri_step *step = &plan->steps[i];
        uint64_t from = at->bytes, blocks = (uint64_t)step->blocks;
        if (step->unit.record_frames > 0) {
            uint64_t last = step->records_room[blocks > 1 ? 1 : 0];
            uint64_t room = times(step->records_room[0], blocks - 1) + last;
            step->records_at = add_bytes(at, times(room, sizeof(weir_record)));
            add_part(at, step->name, "record port", from, NULL);
        }
    }
    uint64_t from = at->bytes;
    plan->batch_at = add_bytes(at, plan->batch_room * sizeof(weir_record));
    if (plan->batch_room > 0) {
        add_part(at, "in order", "record port", from, NULL);
    }
}

/* The edge is listed after the group's last unit, whose output it holds. */
static void lay_edge(layout *at, weiri_group *group)
{
    uint64_t from = at->bytes;
    uint64_t bytes = group->in_place ? 0 : times(group->capacity, group->last->frame_bytes);
    group->edge_at = add_bytes(at, bytes);
    weir_plan_part *part = add_part(at, group->last->name, "edge", from, &group->last->out);
    part->capacity_frames = group->capacity;
}

/* What the widest group needs between its steps, and units for their arithmetic: for each thread. */
static void lay_scratch(layout *at)
{
    weiri_plan *plan = at->plan;
    uint64_t strips[2] = {0, 0}, scratch = 0, from = at->bytes;
    for (int i = 0; i < plan->group_count; i++) {
        const weiri_group *group = &plan->groups[i];
        if (group->gathers) {
            uint64_t bytes = times(group->take, weir_spec_frame_bytes(group->first->block_in[0]));
            strips[0] = bytes > strips[0] ? bytes : strips[0];
        }
        for (const weiri_step *step = group->first; step != NULL; step = step->next) {
            uint64_t columns = weir_spec_columns(step->block_in[0]);
            uint64_t bytes = times(step->strip_frames, weir_spec_frame_bytes(&step->block_out[0]));
            if (step->strip != WEIRI_STRIP_NONE && bytes > strips[step->strip]) {
                strips[step->strip] = bytes;
            }
            bytes = step->unit.scratch_bytes + times(columns, step->unit.scratch_column_bytes);
            scratch = bytes > scratch ? bytes : scratch;
        }
    }
    layout one = {.bytes = 0};
    add_bytes(&one, strips[0]);
    plan->strip1_at = add_bytes(&one, strips[1]);
    plan->scratch_at = add_bytes(&one, scratch);
    plan->work_bytes = one.bytes;
    plan->work_at = add_bytes(at, times(plan->work_bytes, plan->threads));
    if (plan->work_bytes > 0) {
        add_part(at, "between units", "scratch", from, NULL);
    }
}

/* Threads in addition to the caller's, and their stacks. */
static void lay_pool(layout *at)
{
    uint64_t threads = at->plan->threads, from = at->bytes;
    char name[48];
    snprintf(name, sizeof name, "%llu %s", (unsigned long long)threads,
             threads == 1 ? "thread, the caller's" : "threads, with the caller's");
    at->plan->pool_at = add_bytes(at, weiri_pool_bytes(threads));
    add_part(at, weiri_arena_text(&at->chain->plan_arena, name), "threads", from, NULL);
}

/* Memory for the saved state of a chain, before it is written to the file. */
static void lay_checkpoint(layout *at)
{
    weiri_plan *plan = at->plan;
    uint64_t from = at->bytes;
    if (!at->chain->options.checkpoints || plan->source == NULL) {
        return;
    }
    plan->checkpoint_bytes = weiri_state_most(at->chain, plan);
    plan->checkpoint_at = add_bytes(at, plan->checkpoint_bytes);
    add_part(at, "saved state", "checkpoint", from, NULL);
}

static weir_err lay_files(layout *at)
{
    weiri_plan *plan = at->plan;
    uint64_t tile = plan->shown.tile_frames;
    if (plan->source != NULL) {
        uint64_t from = at->bytes, reader = 0;
        plan->tile_at = add_bytes(at, times(tile, weir_spec_frame_bytes(&plan->input)));
        add_part(at, "input", "tile", from, &plan->input)->capacity_frames = tile;
        from = at->bytes;
        weir_err err = plan->source->ops->plan(plan->source, tile, &reader);
        if (err != WEIR_OK) {
            return err;
        }
        plan->reader_at = add_bytes(at, reader);
        add_part(at, plan->source->ops->name, "reader", from, &plan->input);
    }
    for (int i = 0; plan->sinks != NULL && i < plan->exit_count; i++) {
        weir_sink *sink = plan->sinks[i];
        uint64_t from = at->bytes, writer = 0;
        const weir_spec *spec = &plan->steps[plan->exits[i].step].out;
        if (sink == NULL) {
            continue;
        }
        weir_err err = sink->ops->plan(sink, spec, &writer);
        if (err != WEIR_OK) {
            return err;
        }
        plan->writers_at[i] = add_bytes(at, writer);
        add_part(at, plan->exits[i].name, "writer", from, spec);
    }
    return WEIR_OK;
}

static weir_err lay_out(weir_chain *chain, weiri_plan *plan)
{
    uint64_t most = 3 * (uint64_t)plan->step_count + (uint64_t)plan->exit_count + 10;
    plan->parts = weiri_plan_get(chain, most, sizeof *plan->parts);
    plan->ranges = weiri_plan_get(chain, most, sizeof *plan->ranges);
    plan->writers_at = weiri_plan_get(chain, (uint64_t)plan->exit_count, sizeof(uint64_t));
    if (plan->parts == NULL || plan->ranges == NULL || plan->writers_at == NULL) {
        return weiri_fail_prefix(WEIR_E_NOMEM, "the plan: ");
    }
    layout at = {.chain = chain, .plan = plan};
    for (int i = 0; i < plan->step_count; i++) {
        weiri_step *step = &plan->steps[i];
        lay_step(&at, step);
        if (step == plan->groups[step->group].last) {
            lay_edge(&at, &plan->groups[step->group]);
        }
    }
    lay_records(&at);
    lay_spare(&at);
    lay_scratch(&at);
    weir_err err = lay_files(&at);
    if (err != WEIR_OK) {
        return err;
    }
    lay_checkpoint(&at);
    lay_pool(&at);
    if (at.bytes > SIZE_MAX / 2) {
        return weiri_fail(WEIR_E_PLAN, "the plan needs more bytes than there are addresses");
    }
    plan->buffer_bytes = at.bytes;
    return WEIR_OK;
}

/* Held and not merely cached. */
static uint64_t in_use(weir_cache *cache, weir_cache_stats *ret_stats)
{
    *ret_stats = (weir_cache_stats){.stats_size = sizeof *ret_stats};
    (void)weir_cache_stats_read(cache, ret_stats);
    return ret_stats->held_bytes - ret_stats->idle_bytes;
}

/* What is not in the one buffer: what is held already (settings, labels, this plan), what the cache adds to the
 * allocation, and what libraries of formats hold, as they declared it (M7). Last, after all of it is there. */
static void total_up(weir_chain *chain, weiri_plan *plan)
{
    layout none = {.plan = plan};
    weir_plan *shown = &plan->shown;
    weir_cache *host = chain->caches[WEIRI_HOST], *buffers = chain->caches[WEIRI_BUFFERS];
    weir_cache_stats stats, device;
    shown->total_bytes =
        in_use(host, &stats) + weiri_cache_cost(buffers, (size_t)plan->buffer_bytes);
    if (buffers != host) { /* the records of a device's cache are the host's */
        shown->total_bytes += in_use(buffers, &device);
        shown->device_bytes =
            shown->total_bytes - stats.held_bytes + stats.idle_bytes - device.book_bytes;
    }
    shown->host_bytes = shown->total_bytes - shown->device_bytes;
    if (stats.charged_bytes > 0) {
        add_part(&none, "declared", "charges", 0, NULL)->bytes = stats.charged_bytes;
    }
    weir_plan_part *records = add_part(&none, "descriptions, cache", "records", 0, NULL);
    records->bytes = shown->total_bytes - plan->buffer_bytes - stats.charged_bytes;
}

/* ---- plan ---------------------------------------------------------------------------------------- */

static weir_err plan_all(weir_chain *chain, weiri_plan *plan)
{
    weir_err err = weiri_plan_graph(chain, plan);
    if (err == WEIR_OK) {
        err = weiri_plan_groups(chain, plan);
    }
    if (err != WEIR_OK) {
        return err;
    }
    choose_in_place(plan);
    plan->shown.tile_frames = choose_tile(chain, plan);
    err = choose_capacities(chain, plan);
    if (err == WEIR_OK) {
        err = weiri_plan_blocks(chain, plan);
        weiri_plan_records(plan);
    }
    if (err == WEIR_OK) {
        err = lay_out(chain, plan);
    }
    if (err == WEIR_OK) {
        err = weiri_running_create(chain, plan);
    }
    if (err != WEIR_OK) {
        return err;
    }
    total_up(chain, plan);
    plan->shown.plan_size = sizeof plan->shown;
    plan->shown.parts = plan->parts;
    plan->shown.threads = plan->threads;
    plan->shown.memory_limit_bytes = chain->options.memory_limit;
    plan->shown.fits = plan->shown.host_bytes <= chain->options.memory_limit &&
                       plan->shown.device_bytes <= chain->options.memory_limit;
    return WEIR_OK;
}

static weir_err plan_for(weir_chain *chain,
                         const weir_spec *input,
                         weir_source *source,
                         weir_sink *const *sinks,
                         size_t sink_count,
                         const weir_plan **ret_plan)
{
    if (chain->running != NULL && chain->running->buffer != NULL) {
        return weiri_fail(WEIR_E_USAGE, "the chain has started; it cannot be planned again");
    }
    weiri_chain_unplan(chain);
    /* A plan that does not fit is stated all the same: its own tables may go beyond, until the start. */
    weir_err err = weir_cache_limit_held(chain->caches[WEIRI_HOST], WEIR_NO_LIMIT);
    weiri_plan *plan = err == WEIR_OK ? weiri_plan_get(chain, 1, sizeof *plan) : NULL;
    if (plan == NULL) {
        return err != WEIR_OK ? err : weiri_fail_prefix(WEIR_E_NOMEM, "the plan: ");
    }
    plan->input = *input;
    plan->source = source;
    plan->threads = chain->options.threads;
    if (err == WEIR_OK && sink_count > 0) {
        plan->sinks = weiri_plan_get(chain, sink_count, sizeof(weir_sink *));
        err = plan->sinks == NULL ? weiri_fail_prefix(WEIR_E_NOMEM, "outputs: ") : WEIR_OK;
        for (size_t i = 0; err == WEIR_OK && i < sink_count; i++) {
            plan->sinks[i] = sinks[i];
        }
    }
    if (err == WEIR_OK) {
        fenv_t callers; /* no traps of the caller's in designs of filters (S6) */
        feholdexcept(&callers);
        size_t notices = chain->notices.count;
        uint64_t left_out = chain->notices.left_out;
        err = plan_all(chain, plan);
        chain->plan_notices = chain->notices.count - notices;
        chain->plan_left_out = chain->notices.left_out - left_out;
        fesetenv(&callers);
    }
    if (err == WEIR_OK && sink_count > 0 && sink_count != (size_t)plan->exit_count) {
        err = weiri_fail(WEIR_E_USAGE, "%zu sinks for %d outputs of the chain", sink_count,
                         plan->exit_count);
    }
    if (err != WEIR_OK) {
        weiri_chain_unplan(chain);
        return err;
    }
    chain->plan = plan;
    *ret_plan = &plan->shown;
    return WEIR_OK;
}

weir_err weir_chain_plan(weir_chain *chain, const weir_spec *input, const weir_plan **ret_plan)
{
    if (chain == NULL || input == NULL || ret_plan == NULL) {
        return weiri_null(__func__);
    }
    return plan_for(chain, input, NULL, NULL, 0, ret_plan);
}

weir_err weir_chain_plan_run(weir_chain *chain,
                             weir_source *source,
                             weir_sink *const *sinks,
                             size_t sink_count,
                             const weir_plan **ret_plan)
{
    if (chain == NULL || source == NULL || ret_plan == NULL || (sinks == NULL && sink_count > 0)) {
        return weiri_null(__func__);
    }
    weir_err err = weiri_source_check(source);
    for (size_t i = 0; err == WEIR_OK && i < sink_count; i++) {
        err = weiri_sink_check(sinks[i]);
    }
    if (err != WEIR_OK) {
        return err;
    }
    return plan_for(chain, &weir_source_info_get(source)->spec, source, sinks, sink_count,
                    ret_plan);
}

const weir_plan_part *weir_plan_part_at(const weir_plan *plan, size_t number)
{
    if (plan == NULL || number >= plan->part_count) {
        return NULL;
    }
    const unsigned char *first = (const unsigned char *)plan->parts;
    return (const void *)(first + number * plan->parts->part_size);
}

size_t weir_chain_output_count(const weir_chain *chain)
{
    if (chain == NULL) {
        return 0;
    }
    return chain->plan == NULL ? 0 : (size_t)chain->plan->exit_count;
}

static const weiri_exit *exit_of(const weir_chain *chain, size_t output)
{
    return output < weir_chain_output_count(chain) ? &chain->plan->exits[output] : NULL;
}

const char *weir_chain_output_name(const weir_chain *chain, size_t output)
{
    const weiri_exit *exit = exit_of(chain, output);
    return exit == NULL ? NULL : exit->name;
}

const weir_spec *weir_chain_output_spec(const weir_chain *chain, size_t output)
{
    const weiri_exit *exit = exit_of(chain, output);
    return exit == NULL ? NULL : &chain->plan->steps[exit->step].out;
}

uint64_t weir_chain_due(const weir_chain *chain, size_t output, uint64_t frames)
{
    const weiri_exit *exit = exit_of(chain, output);
    return exit == NULL ? 0 : weiri_plan_due(chain->plan, exit->step, frames);
}
