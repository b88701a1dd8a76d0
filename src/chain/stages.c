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

/* Where a head is applied on the way into a strip, that is no more work than the copy, and strips that stay
 * in L1 cost little. 256 channels: 16 KiB of 64 frames 79 us a message, of 32 85, 8 KiB 80, 64 KiB 80. */
#define PIECE_BYTES  ((uint64_t)16 << 10)
#define PIECE_FRAMES 64

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

/* Whether nothing but this step needs what the one before it puts out. */
static bool follows_alone(const weir_chain *chain, const weiri_step *step)
{
    const weiri_step *before = step->parent < 0 ? NULL : &chain->steps[step->parent];
    return before != NULL && before->children == 1 && before->output < 0;
}

/* Whether rows are so wide, or threads so many, that a stage is cut into bands, and a copy into strips is
 * there anyway. Where not, a whole row is moved while it is in L1: 75 us a message of 256 channels, 79 with
 * a head; 1024 channels 87 and 78. */
static bool wants_head(const weir_chain *chain, const weiri_step *head)
{
    double least = (double)WEIRI_TILE_LEAST * (double)head->frame_bytes;
    return head->shared_bytes > 0 &&
           (chain->options.threads > 1 || least * WEIRI_BAND_SLACK > (double)WEIRI_STRIP_BYTES);
}

static bool joins(const weir_chain *chain, const weiri_step *step)
{
    if (!chain->options.fuse || weiri_chain_is_whole(chain) || !follows_alone(chain, step) ||
        !has_bands(step)) {
        return false;
    }
    const weiri_step *before = &chain->steps[step->parent];
    const weiri_stage *stage = &chain->stages[before->stage];
    return has_bands(before) || (wants_head(chain, before) && stage->first == before);
}

static void add_to_stages(weir_chain *chain, weiri_step *step)
{
    if (!joins(chain, step)) {
        weiri_stage *opened = &chain->stages[chain->stage_count];
        step->stage = chain->stage_count++;
        opened->first = step;
        opened->parent = step->parent < 0 ? -1 : chain->steps[step->parent].stage;
        if (opened->parent < 0) {
            chain->input_children++;
        } else {
            chain->stages[opened->parent].children++;
        }
    } else {
        weiri_step *before = &chain->steps[step->parent];
        weiri_stage *stage = &chain->stages[before->stage];
        step->stage = before->stage;
        if (has_bands(before)) {
            before->next = step;
        } else {
            stage->head = before;
            stage->first = step;
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
    /* Not rounded first: a bin that is shorter than a part of the tile by 1e-12 has two ends in it some day. */
    double most = ceil((double)frames / frames_per_output);
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

/* Bytes of the widest strip that so many frames of all channels would take. */
static double widest_strip(const weiri_stage *stage, uint64_t frames)
{
    double widest = (double)frames * (double)weir_spec_frame_bytes(stage->first->in);
    for (const weiri_step *step = stage->first; step != NULL; step = step->next) {
        frames = weiri_frames_out(frames, step->frames_per_output);
        double bytes = (double)frames * (double)step->frame_bytes;
        widest = bytes > widest ? bytes : widest;
    }
    return widest;
}

/* Channels a band and frames a piece, so that the widest strip is WEIRI_STRIP_BYTES and every thread has a
 * band. */
static void choose_pieces(const weir_chain *chain, weiri_stage *stage)
{
    uint64_t channels = stage->first->channels;
    uint64_t frames = weiri_stage_room(chain, stage);
    double most = (double)WEIRI_STRIP_BYTES;
    if (stage->head != NULL) { /* the copy into strips is what is wanted of it: then for L1 */
        frames = frames < PIECE_FRAMES ? frames : PIECE_FRAMES;
        most = (double)PIECE_BYTES;
    }
    double pieces = ceil(widest_strip(stage, frames) / most * WEIRI_BAND_SLACK);
    double threads = (double)chain->options.threads;
    pieces = ceil(pieces / threads) * threads;
    uint64_t width = round_up((uint64_t)ceil((double)channels / pieces));
    uint64_t least = round_up((channels + WEIRI_PIECES_MOST - 1) / WEIRI_PIECES_MOST);
    width = width < BAND_LEAST ? BAND_LEAST : width;
    width = width < least ? least : width;
    stage->band_channels = width < channels ? width : channels;
    stage->piece_frames = (size_t)frames;
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

static weir_err plan_step(weir_chain *chain, const weiri_stage *stage, weiri_step *step)
{
    uint64_t channels = step->channels, width = step->by_frame ? channels : stage->band_channels;
    step->instances = step->by_frame ? (int)chain->options.threads : stage->bands;
    step->units = get(chain, (uint64_t)step->instances, sizeof *step->units);
    if (step->units == NULL) {
        return weiri_fail_prefix(WEIR_E_NOMEM, "bands: ");
    }
    weir_err err = plan_shape(chain, step, 0, width);
    if (err == WEIR_OK && width < channels) {
        err = plan_shape(chain, step, 1, channels - (uint64_t)(stage->bands - 1) * width);
    }
    return err;
}

/* Which strip each step writes to: where its input lies if it may, else the other one; the first gets what is
 * gathered. Only the last of a stage that gathers nothing writes to the edge: behind a gathering one each step
 * has room for all, whatever is left in the edge. */
static void choose_strips(weiri_stage *stage)
{
    bool gathers = weiri_stage_gathers(stage);
    int here = gathers ? 0 : WEIRI_STRIP_NONE; /* the input is not ours to write to */
    for (weiri_step *step = stage->first; step != NULL; step = step->next) {
        if (step == stage->last && !gathers) {
            step->strip = WEIRI_STRIP_NONE;
        } else if (here == WEIRI_STRIP_NONE || !weiri_step_in_place(step)) {
            step->strip = here == 0 ? 1 : 0;
        } else {
            step->strip = here;
        }
        here = step->strip;
    }
}

/* A unit alone has nothing to hand on in L1: where its tile lies in L2, copies into strips and back are all that
 * bands would add. A filter of 1024 channels f32 60 -> 49 us a 76,800 samples, of 256 f64 73 -> 53. Beyond L2 its
 * walk down the columns would wait for each line (1024 f64: 80, and out of memory 170 with bands, 280 without). */
static bool goes_alone(const weir_chain *chain, const weiri_stage *stage)
{
    double tile =
        (double)weiri_stage_room(chain, stage) * (double)weir_spec_frame_bytes(stage->first->in);
    return stage->first == stage->last && stage->head == NULL && chain->options.threads == 1 &&
           tile <= (double)weiri_l2_bytes() / 2;
}

static weir_err cut(weir_chain *chain, weiri_stage *stage)
{
    uint64_t channels = stage->first->channels;
    stage->band_channels = channels;
    stage->piece_frames = (size_t)weiri_stage_room(chain, stage);
    if (has_bands(stage->first) && !weiri_chain_is_whole(chain) && !goes_alone(chain, stage)) {
        choose_pieces(chain, stage);
    }
    stage->bands = (int)((channels + stage->band_channels - 1) / stage->band_channels);
    stage->first->by_frame = divides_by_frame(chain, stage);
    choose_strips(stage);
    weir_err err = WEIR_OK;
    if (stage->head != NULL) {
        stage->head->by_frame = true;
        err = plan_step(chain, stage, stage->head);
    }
    for (weiri_step *step = stage->first; err == WEIR_OK && step != NULL; step = step->next) {
        err = plan_step(chain, stage, step);
    }
    return err;
}

weir_err weiri_chain_bands(weir_chain *chain)
{
    weir_err err = WEIR_OK;
    for (int i = 0; err == WEIR_OK && i < chain->stage_count; i++) {
        err = cut(chain, &chain->stages[i]);
    }
    return err;
}

void weiri_stage_strips(const weiri_stage *stage, uint64_t ret_bytes[2])
{
    uint64_t frames = stage->piece_frames;
    bool gathers = weiri_stage_gathers(stage);
    ret_bytes[0] = gathers ? frames * weir_spec_frame_bytes(&stage->first->band_in[0]) : 0;
    ret_bytes[1] = 0;
    for (const weiri_step *step = stage->first; step != NULL; step = step->next) {
        frames = weiri_frames_out(frames, step->frames_per_output);
        uint64_t bytes = frames * weir_spec_frame_bytes(&step->band_out[0]);
        if (step->strip != WEIRI_STRIP_NONE && bytes > ret_bytes[step->strip]) {
            ret_bytes[step->strip] = bytes;
        }
    }
}
