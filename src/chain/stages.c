/* SPDX-License-Identifier: MIT
 *
 * stages.c: from steps to stages: which steps go through a tile together, into which bands their channels
 * are cut, in which order stages run.
 *
 * Why bands: a tile of 1024 channels does not fit in L2 with what is made of it, and its rows lie a
 * multiple of 4 KiB apart, so that a block of columns has all its rows in one set of L1. Cut into bands
 * that are copied into strips of their own, the chain of spike-band power costs the same a sample at 1024
 * channels as at 128 (before: 3 times as much). Narrower bands, for L1, cost more in calls than they save.
 */
#include "chain/chain.h"

#include <math.h>

#define BAND_STEP  16 /* a cache line of f32 */
#define BAND_LEAST 16
static void *get(weir_chain *chain, uint64_t count, size_t size)
{
    return weiri_arena_get(&chain->plan_arena, (size_t)(count + 1) * size);
}

/* ---- what runs together -------------------------------------------------------------------------- */

/* Channels are the first dimension behind the stream's, so that a band of them is one piece of a frame. */
static bool has_bands(const weiri_step *step)
{
    return step->columnwise && weir_spec_dim(step->in, "ch") == 1 &&
           weir_spec_dim(&step->spec, "ch") == 1 &&
           step->in->dims[1].size == step->spec.dims[1].size;
}

static bool joins(const weir_chain *chain, const weiri_step *step)
{
    if (step->parent < 0 || weiri_chain_is_whole(chain)) {
        return false;
    }
    const weiri_step *before = &chain->steps[step->parent];
    return has_bands(step) && has_bands(before) && before->children == 1 && before->output < 0;
}

static void add_to_stages(weir_chain *chain, weiri_step *step)
{
    if (joins(chain, step)) {
        step->stage = chain->steps[step->parent].stage;
        chain->steps[step->parent].next = step;
    } else {
        weiri_stage *opened = &chain->stages[chain->stage_count];
        step->stage = chain->stage_count++;
        opened->first = step;
        opened->parent = step->parent < 0 ? -1 : chain->steps[step->parent].stage;
        if (opened->parent < 0) {
            chain->input_children++;
        } else {
            chain->stages[opened->parent].children++;
        }
    }
    weiri_stage *stage = &chain->stages[step->stage];
    stage->last = step;
    stage->output = step->output;
    stage->edge.frame_bytes = step->frame_bytes;
}

/* Post-order: a stage after all that follow it. The first pending one in this order is then always one
 * whose own edge is free, and branches run in file order. */
static int order_from(weir_chain *chain, int stage, int at)
{
    for (int i = stage + 1; i < chain->stage_count; i++) {
        if (chain->stages[i].parent == stage) {
            at = order_from(chain, i, at);
        }
    }
    if (stage >= 0) {
        chain->order[at++] = stage;
    }
    return at;
}

weir_err weiri_chain_stages(weir_chain *chain)
{
    chain->stages = get(chain, (uint64_t)chain->step_count, sizeof *chain->stages);
    chain->order = get(chain, (uint64_t)chain->step_count, sizeof *chain->order);
    if (chain->stages == NULL || chain->order == NULL) {
        return weiri_fail_prefix(WEIR_E_NOMEM, "stages: ");
    }
    for (int i = 0; i < chain->step_count; i++) {
        add_to_stages(chain, &chain->steps[i]);
    }
    order_from(chain, -1, 0);
    return WEIR_OK;
}

/* ---- bands --------------------------------------------------------------------------------------- */

uint64_t weiri_frames_out(uint64_t frames, double frames_per_output)
{
    double most = ceil((double)frames / frames_per_output - 1e-9);
    return most < 1.0 ? 1 : most > 0x1p40 ? UINT64_C(1) << 40 : (uint64_t)most;
}

/* Rounded up behind each step: what comes out of several is not what comes out of their product. */
uint64_t weiri_stage_out(const weiri_stage *stage, uint64_t frames)
{
    for (const weiri_step *step = stage->first; step != NULL; step = step->next) {
        frames = weiri_frames_out(frames, step->frames_per_output);
    }
    return frames;
}

uint64_t weiri_stage_room(const weir_chain *chain, const weiri_stage *stage)
{
    return stage->parent < 0 ? chain->plan.tile_frames : chain->stages[stage->parent].edge.capacity;
}

static uint64_t round_up(uint64_t channels)
{
    return (channels + BAND_STEP - 1) / BAND_STEP * BAND_STEP;
}

/* Channels a band, so that the widest strip is WEIRI_STRIP_BYTES and every thread has a band. */
static uint64_t choose_width(const weir_chain *chain, const weiri_stage *stage)
{
    uint64_t channels = stage->first->channels;
    uint64_t frames = weiri_stage_room(chain, stage);
    double widest = (double)frames * (double)weir_spec_frame_bytes(stage->first->in);
    for (const weiri_step *step = stage->first; step != NULL; step = step->next) {
        frames = weiri_frames_out(frames, step->frames_per_output);
        double bytes = (double)frames * (double)step->frame_bytes;
        widest = bytes > widest ? bytes : widest;
    }
    double pieces = ceil(widest / (double)WEIRI_STRIP_BYTES * 0.75); /* a third more is fine */
    double threads = (double)chain->options.threads;
    pieces = ceil(pieces / threads) * threads;
    uint64_t width = round_up((uint64_t)ceil((double)channels / pieces));
    return width < BAND_LEAST ? BAND_LEAST : width;
}

static weir_spec band_spec(const weir_spec *whole, uint64_t channels)
{
    weir_spec spec = *whole;
    spec.dims[1].size = channels;
    return spec;
}

/* What the unit needs for a band of that many channels: [0] for all bands but the last. */
static weir_err plan_shape(weir_chain *chain, weiri_step *step, int shape, uint64_t channels)
{
    weiri_notices said_already = {0};
    weiri_unit_plan unit_plan = {
        .frames_per_output = 1.0,
        .columnwise = true,
        .memory = weiri_arena_memory(&chain->plan_arena),
        .notices = &said_already,
    };
    step->band_in[shape] = channels == step->channels ? *step->in : band_spec(step->in, channels);
    step->band_out[shape] =
        channels == step->channels ? step->spec : band_spec(&step->spec, channels);
    unit_plan.in = &step->band_in[shape];
    unit_plan.out = step->band_in[shape];
    weir_err err = step->ops->plan(step->node == NULL ? NULL : step->node->settings, &unit_plan);
    step->band_state_bytes[shape] = unit_plan.state_bytes;
    return err;
}

/* What has no memory may be divided anywhere: frames of a unit that couples channels, but keeps nothing. */
static bool divides_by_frame(const weir_chain *chain, const weiri_stage *stage)
{
    const uint32_t memory = WEIR_UNIT_STATEFUL | WEIR_UNIT_CHANGES_RATE;
    return chain->options.threads > 1 && stage->first == stage->last && !has_bands(stage->first) &&
           (stage->first->ops->info.flags & memory) == 0;
}

int weiri_stage_instances(const weir_chain *chain, const weiri_stage *stage)
{
    return stage->by_frame ? (int)chain->options.threads : stage->bands;
}

static weir_err cut(weir_chain *chain, weiri_stage *stage)
{
    uint64_t channels = stage->first->channels, width = channels;
    if (has_bands(stage->first) && !weiri_chain_is_whole(chain)) {
        width = choose_width(chain, stage);
        width = width < channels ? width : channels;
    }
    stage->by_frame = divides_by_frame(chain, stage);
    stage->band_channels = width;
    stage->bands = (int)((channels + width - 1) / width);
    uint64_t last = channels - (uint64_t)(stage->bands - 1) * width;
    for (weiri_step *step = stage->first; step != NULL; step = step->next) {
        step->units =
            get(chain, (uint64_t)weiri_stage_instances(chain, stage), sizeof *step->units);
        if (step->units == NULL) {
            return weiri_fail_prefix(WEIR_E_NOMEM, "bands: ");
        }
        weir_err err = plan_shape(chain, step, 0, width);
        if (err == WEIR_OK && stage->bands > 1) {
            err = plan_shape(chain, step, 1, last);
        }
        if (err != WEIR_OK) {
            return err;
        }
    }
    return WEIR_OK;
}

weir_err weiri_chain_bands(weir_chain *chain)
{
    weir_err err = WEIR_OK;
    for (int i = 0; err == WEIR_OK && i < chain->stage_count; i++) {
        err = cut(chain, &chain->stages[i]);
    }
    return err;
}

void weiri_stage_strips(const weir_chain *chain, const weiri_stage *stage, uint64_t ret_bytes[2])
{
    uint64_t frames = weiri_stage_room(chain, stage);
    int strip = 0;
    ret_bytes[0] = ret_bytes[1] = 0;
    if (weiri_stage_is_plain(stage)) {
        return;
    }
    if (stage->bands > 1) {
        ret_bytes[strip] = frames * weir_spec_frame_bytes(&stage->first->band_in[0]);
        strip ^= 1;
    }
    bool ours = stage->bands > 1;
    for (const weiri_step *step = stage->first; step != NULL; step = step->next) {
        frames = weiri_frames_out(frames, step->frames_per_output);
        bool direct = step == stage->last && stage->bands == 1;
        if (!direct && !(ours && weiri_step_in_place(step))) {
            uint64_t bytes = frames * weir_spec_frame_bytes(&step->band_out[0]);
            ret_bytes[strip] = bytes > ret_bytes[strip] ? bytes : ret_bytes[strip];
            strip ^= 1;
        }
        ours = true;
    }
}
