/* SPDX-License-Identifier: MIT
 *
 * groups.c: from steps to groups: which steps process a tile together, how their channels are divided
 * into blocks, in which order groups run.
 *
 * Why blocks: a tile of 1024 channels and its intermediates do not fit into L2, and its rows are a multiple
 * of 4 KiB apart, so all rows of some columns map to one set of L1. Divided into blocks that are
 * copied into scratch buffers, the chain of spike-band power costs the same per sample at 1024 channels as at
 * 128 (before: 3 times as much). Narrower blocks, for L1, cost more in calls than they save.
 */
#include "chain/chain.h"

#include <math.h>

#define BLOCK_STEP  16 /* a cache line of f32 */
#define BLOCK_LEAST 16

/* ---- what runs together -------------------------------------------------------------------------- */

/* A step outputs whole scratch buffers, so it must not output more frames than it consumes. */
static bool may_be_fused(const weiri_step *step)
{
    return step->has_blocks && step->unit.due.grain == 1 && step->unit.due.q <= step->unit.due.p;
}

/* Whether a step joins the group of the one before it: nothing else needs what that one outputs. */
static bool joins_before(const weir_chain *chain, const weiri_plan *plan, const weiri_step *step)
{
    if (!chain->options.fuse || step->parents[0] < 0 || !may_be_fused(step)) {
        return false;
    }
    const weiri_step *before = &plan->steps[step->parents[0]];
    return before->children == 1 && before->output < 0 && may_be_fused(before) &&
           plan->groups[before->group].length < WEIRI_GROUP_STEPS;
}

static void open_group(weiri_plan *plan, weiri_step *step)
{
    weiri_group *group = &plan->groups[plan->group_count];
    step->group = plan->group_count++;
    *group = (weiri_group){.first = step, .inputs = step->inputs, .joins = step->inputs > 1};
    group->same = true;
    for (int i = 0; i < step->inputs; i++) {
        group->parents[i] = step->parents[i] < 0 ? -1 : plan->steps[step->parents[i]].group;
        if (group->parents[i] < 0) {
            plan->input_children++;
        } else {
            plan->groups[group->parents[i]].children++;
            plan->groups[group->parents[i]].feeds_join |= group->joins;
        }
    }
}

static void add_to_groups(const weir_chain *chain, weiri_plan *plan, weiri_step *step)
{
    if (joins_before(chain, plan, step)) {
        weiri_step *before = &plan->steps[step->parents[0]];
        step->group = before->group;
        before->next = step;
    } else {
        open_group(plan, step);
    }
    weiri_group *group = &plan->groups[step->group];
    group->last = step;
    group->length++;
    group->output = step->output;
    group->same = group->same && step->same;
    group->finds = group->finds || step->unit.record_frames > 0;
}

/* Post-order: a group after all that follow it. The first in this order that can run is then always one
 * whose own edge has space, and branches run in file order. */
static int order_from(weiri_plan *plan, bool *seen, int group, int at)
{
    for (int i = group + 1; i < plan->group_count; i++) {
        for (int k = 0; k < plan->groups[i].inputs && !seen[i]; k++) {
            if (plan->groups[i].parents[k] == group) {
                at = order_from(plan, seen, i, at);
            }
        }
    }
    if (group >= 0) {
        seen[group] = true;
        plan->order[at++] = group;
    }
    return at;
}

weir_err weiri_plan_groups(weir_chain *chain, weiri_plan *plan)
{
    uint64_t most = (uint64_t)plan->step_count;
    plan->groups = weiri_plan_get(chain, most, sizeof *plan->groups);
    plan->order = weiri_plan_get(chain, most, sizeof *plan->order);
    bool *seen = weiri_plan_get(chain, most, sizeof *seen);
    if (plan->groups == NULL || plan->order == NULL || seen == NULL) {
        return weiri_fail_prefix(WEIR_E_NOMEM, "groups: ");
    }
    for (int i = 0; i < plan->step_count; i++) {
        add_to_groups(chain, plan, &plan->steps[i]);
    }
    order_from(plan, seen, -1, 0);
    plan->entry = plan->input_children == 1 ? plan->group_count - 1 : 0;
    for (int i = 0; i < plan->group_count; i++) {
        weiri_group *group = &plan->groups[i];
        int parent = group->parents[0];
        int children = parent < 0 ? plan->input_children : plan->groups[parent].children;
        group->alone = !group->joins && children == 1;
    }
    return WEIR_OK;
}

uint64_t weiri_group_most(const weiri_group *group, uint64_t frames)
{
    for (const weiri_step *step = group->first; step != NULL; step = step->next) {
        frames = weiri_due_most(&step->unit.due, frames);
    }
    return frames < 1 ? 1 : frames;
}

bool weiri_step_in_place(const weiri_step *step)
{
    return (step->ops->info.flags & WEIR_UNIT_IN_PLACE) != 0 && step->inputs == 1 &&
           weir_spec_frame_bytes(step->in) == step->frame_bytes;
}

/* ---- channel blocks ------------------------------------------------------------------------------ */

weir_spec weiri_spec_narrow(const weir_spec *spec, uint64_t first, uint64_t channels)
{
    weir_spec narrow = *spec;
    int dim = weir_spec_dim(spec, "ch");
    if (dim > 0) {
        weir_axis *axis = &narrow.dims[dim];
        axis->size = channels;
        axis->labels = axis->labels == NULL ? NULL : axis->labels + first;
        axis->values = axis->values == NULL ? NULL : axis->values + first;
        axis->start += (double)first * axis->step;
        narrow.units = narrow.units == NULL ? NULL : narrow.units + first;
    }
    return narrow;
}

static uint64_t round_up(uint64_t channels)
{
    return (channels + BLOCK_STEP - 1) / BLOCK_STEP * BLOCK_STEP;
}

/* Bytes of the widest of the scratch buffers needed for that number of frames of all channels. */
static double widest_strip(const weiri_group *group, uint64_t frames)
{
    double widest = (double)frames * (double)weir_spec_frame_bytes(group->first->in);
    for (const weiri_step *step = group->first; step != NULL; step = step->next) {
        frames = weiri_due_most(&step->unit.due, frames);
        widest = fmax(widest, (double)frames * (double)step->frame_bytes);
    }
    return widest;
}

/* Channels of a block, so that the widest buffer is WEIRI_STRIP_BYTES and every thread has a block. */
static uint64_t choose_width(const weiri_plan *plan, const weiri_group *group)
{
    uint64_t channels = group->first->channels;
    double blocks =
        ceil(widest_strip(group, group->take) / (double)WEIRI_STRIP_BYTES * WEIRI_STRIP_SLACK);
    double threads = (double)plan->threads;
    blocks = ceil(blocks / threads) * threads;
    uint64_t width = round_up((uint64_t)ceil((double)channels / blocks));
    uint64_t least = round_up((channels + WEIRI_PIECES_MOST - 1) / WEIRI_PIECES_MOST);
    width = width < BLOCK_LEAST ? BLOCK_LEAST : width;
    width = width < least ? least : width;
    return width < channels ? width : channels;
}

static weiri_layout layout_of(const weir_spec *spec)
{
    weiri_split split = weiri_spec_channels(spec);
    size_t channel = (size_t)split.inner * weir_dtype_bytes(spec->dtype);
    return (weiri_layout){(size_t)weir_spec_frame_bytes(spec), (size_t)split.outer,
                          (size_t)split.size * channel, channel};
}

static bool is_strided(const weiri_step *step)
{
    return step->ops->strided || step->ops->compute != NULL;
}

static bool stays_in_l2(const weiri_group *group)
{
    double tile = (double)group->take * (double)weir_spec_frame_bytes(group->first->in);
    return tile <= (double)weiri_l2_bytes() / 2;
}

/* A unit alone has nothing to pass on in L1: where its tile fits in L2, copies into scratch buffers and back are
 * all that blocks would add. A filter of 1024 channels f32 60 -> 49 us a 76,800 samples, of 256 f64 73 -> 53.
 * Beyond L2 its walk down the columns would wait for each line (1024 f64: 80, and out of memory 170 with blocks,
 * 280 without). */
static bool goes_alone(const weiri_plan *plan, const weiri_group *group)
{
    return group->first == group->last && plan->threads == 1 && stays_in_l2(group);
}

/* Whether the channels of a block are read where they are in the rows. Beyond L2 the copy is better: its lines are
 * read in order, and each once. */
static bool reads_in_rows(const weiri_group *group)
{
    return is_strided(group->first) && group->in.outer == 1 && stays_in_l2(group);
}

/* And of its output: where there are several steps they are in L1, and each line of a row is written as a whole. */
static bool writes_in_rows(const weiri_group *group)
{
    return is_strided(group->last) && group->out.outer == 1 && stays_in_l2(group);
}

static void choose_copies(weiri_group *group)
{
    group->in = layout_of(group->first->in);
    group->out = layout_of(&group->last->out);
    group->gathers = group->blocks > 1 && !reads_in_rows(group);
    group->scatters = group->blocks > 1 && !writes_in_rows(group);
    if (group->blocks > 1 && !group->gathers) {
        group->in_stride = (size_t)weir_spec_columns(group->first->in);
    }
    if (group->blocks > 1 && !group->scatters) {
        group->out_stride = (size_t)weir_spec_columns(&group->last->out);
    }
}

/* A stateless step alone: its frames, not its channels, are divided among the threads: whole rows, and it may couple
 * channels. */
static bool divides_by_frame(const weiri_plan *plan, const weiri_group *group)
{
    const uint32_t memory = WEIR_UNIT_STATEFUL | WEIR_UNIT_CHANGES_RATE;
    return plan->threads > 1 && group->first == group->last && !group->finds &&
           (group->first->ops->info.flags & memory) == 0;
}

/* Which scratch buffer each step writes to: where its input is if it may, else the other one; the first gets
 * the gathered input. Only the last step of a group that copies no output writes to the edge. */
static void choose_strips(weiri_group *group)
{
    int here = group->gathers ? 0 : WEIRI_STRIP_NONE; /* the input must not be written to */
    for (weiri_step *step = group->first; step != NULL; step = step->next) {
        if (step == group->last && !group->scatters) {
            step->strip = WEIRI_STRIP_NONE;
        } else if (here == WEIRI_STRIP_NONE || !weiri_step_in_place(step)) {
            step->strip = here == 0 ? 1 : 0;
        } else {
            step->strip = here;
        }
        here = step->strip;
    }
}

/* The specs of a block, and the bytes of its state. */
static weir_err
shape_block(weir_chain *chain, weiri_step *step, int shape, uint64_t first, uint64_t channels)
{
    step->block_in[shape] = weiri_plan_get(chain, (uint64_t)step->inputs, sizeof(weir_spec));
    if (step->block_in[shape] == NULL) {
        return weiri_fail_prefix(WEIR_E_NOMEM, "channel blocks: ");
    }
    bool all = channels == step->channels;
    for (int i = 0; i < step->inputs; i++) {
        step->block_in[shape][i] =
            all ? step->in[i] : weiri_spec_narrow(&step->in[i], first, channels);
    }
    step->block_out[shape] = all ? step->out : weiri_spec_narrow(&step->out, first, channels);
    uint64_t columns = weir_spec_columns(step->block_in[shape]), bytes = 0;
    for (size_t i = 0; i < step->unit.field_count; i++) {
        uint64_t field = weiri_field_bytes(&step->unit.fields[i], columns);
        field = field > UINT64_MAX / 4 ? UINT64_MAX / 4 : (field + 63) / 64 * 64;
        bytes = bytes > UINT64_MAX / 4 ? bytes : bytes + field;
    }
    step->state_bytes[shape] = bytes;
    return WEIR_OK;
}

static weir_err divide(weir_chain *chain, weiri_plan *plan, weiri_group *group)
{
    uint64_t channels = group->first->channels;
    group->block_channels = channels;
    if (group->first->has_blocks && !goes_alone(plan, group) && !divides_by_frame(plan, group)) {
        group->block_channels = choose_width(plan, group);
    }
    group->blocks =
        channels == 0 ? 1 : (int)((channels + group->block_channels - 1) / group->block_channels);
    choose_copies(group);
    choose_strips(group);
    uint64_t frames = group->take, width = group->block_channels;
    weir_err err = WEIR_OK;
    for (weiri_step *step = group->first; err == WEIR_OK && step != NULL; step = step->next) {
        step->take_frames = (size_t)frames;
        frames = weiri_due_most(&step->unit.due, frames);
        frames = frames < 1 ? 1 : frames;
        step->strip_frames = (size_t)frames;
        step->by_frame = divides_by_frame(plan, group);
        step->blocks = step->by_frame ? (int)plan->threads : group->blocks;
        err = shape_block(chain, step, 0, 0, step->by_frame ? channels : width);
        uint64_t last = (uint64_t)(group->blocks - 1) * width;
        if (err == WEIR_OK && !step->by_frame && group->blocks > 1) {
            err = shape_block(chain, step, 1, last, channels - last);
        }
    }
    group->plain = group->same && group->length == 1 && group->blocks == 1 &&
                   !group->first->by_frame && !group->finds;
    return err;
}

weir_err weiri_plan_blocks(weir_chain *chain, weiri_plan *plan)
{
    weir_err err = WEIR_OK;
    for (int i = 0; err == WEIR_OK && i < plan->group_count; i++) {
        err = divide(chain, plan, &plan->groups[i]);
    }
    return err;
}
