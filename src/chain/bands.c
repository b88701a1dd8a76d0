/* SPDX-License-Identifier: MIT
 *
 * bands.c: one tile through one stage. A stage of one band and one step is that unit's process, no more.
 * Else each band is copied into a strip, goes through all steps from strip to strip, and what comes of it
 * is copied to its place in the edge. Units never see a stride, and no column sees another: the bits are
 * those of the whole width (S1).
 */
#include "chain/chain.h"

#include <string.h>

/* Rows of one piece each: the same as memcpy row by row, but rows are short. */
static void copy_rows(unsigned char *to,
                      size_t to_stride,
                      const unsigned char *from,
                      size_t from_stride,
                      size_t row_bytes,
                      size_t rows)
{
    for (size_t row = 0; row < rows; row++) {
        memcpy(to + row * to_stride, from + row * from_stride, row_bytes);
    }
}

typedef struct band_run {
    weiri_stage *stage;
    int band, shape;
    unsigned char *strips[2];
    int strip; /* the one that is free */
} band_run;

/* Input of the band, in a strip of its own unless it is all channels. */
static weiri_tile gather(band_run *at, const weiri_tile *in)
{
    const weiri_stage *stage = at->stage;
    if (stage->bands == 1) {
        return *in;
    }
    const weiri_step *first = stage->first;
    size_t frame_bytes = (size_t)weir_spec_frame_bytes(first->in);
    size_t channel_bytes = frame_bytes / (size_t)first->channels;
    size_t row_bytes = (size_t)weir_spec_frame_bytes(&first->band_in[at->shape]);
    weiri_tile strip = {at->strips[at->strip], in->frames};
    at->strip ^= 1;
    copy_rows(strip.data, row_bytes,
              (const unsigned char *)in->data +
                  (size_t)at->band * (size_t)stage->band_channels * channel_bytes,
              frame_bytes, row_bytes, in->frames);
    return strip;
}

static void scatter(const band_run *at, const weiri_tile *strip, const weiri_tile *out)
{
    const weiri_step *last = at->stage->last;
    size_t channel_bytes = last->frame_bytes / (size_t)last->channels;
    size_t row_bytes = (size_t)weir_spec_frame_bytes(&last->band_out[at->shape]);
    copy_rows((unsigned char *)out->data +
                  (size_t)at->band * (size_t)at->stage->band_channels * channel_bytes,
              last->frame_bytes, strip->data, row_bytes, row_bytes, strip->frames);
}

/* All steps over one band. Takes all of `in`: the caller has seen to the room. */
static void
run_band(band_run *at, const weiri_tile *in, const weiri_tile *out, size_t *ret_produced)
{
    const weiri_stage *stage = at->stage;
    weiri_tile here = gather(at, in);
    bool ours = stage->bands > 1; /* a strip, that may be written to */
    for (weiri_step *step = stage->first; step != NULL; step = step->next) {
        bool last = step == stage->last;
        weiri_tile there = {NULL, here.frames};
        if (last && stage->bands == 1) {
            there = *out;
        } else if (ours && weiri_step_in_place(step)) {
            there.data = here.data;
        } else {
            there.data = at->strips[at->strip];
            at->strip ^= 1;
        }
        size_t consumed = 0, produced = 0;
        if (there.frames > 0) {
            step->ops->process(&step->units[at->band], &here, &consumed, &there, &produced);
        }
        here = (weiri_tile){there.data, produced};
        ours = true;
    }
    if (stage->bands > 1) {
        scatter(at, &here, out);
    }
    *ret_produced = here.frames;
}

bool weiri_step_in_place(const weiri_step *step)
{
    return (step->ops->info.flags & WEIR_UNIT_IN_PLACE) != 0 &&
           weir_spec_frame_bytes(step->in) == step->frame_bytes;
}

bool weiri_stage_is_plain(const weiri_stage *stage)
{
    return stage->bands == 1 && stage->first == stage->last;
}

/* M6: the most that was used of the strips. */
static void note_strips(weir_chain *chain, const weiri_stage *stage, size_t frames)
{
    weir_plan_part *part = chain->strip_part;
    uint64_t room = weiri_stage_room(chain, stage);
    if (part != NULL && part->used_bytes < part->bytes && frames > 0) {
        uint64_t used = part->bytes * (frames < room ? frames : room) / room;
        part->used_bytes = used > part->used_bytes ? used : part->used_bytes;
    }
}

/* ---- pieces --------------------------------------------------------------------------------------- */

/* A tile on its way through a stage, shared by the threads that work on it. */
typedef struct tile_run {
    weir_chain *chain;
    weiri_stage *stage;
    weiri_tile in, out;
    size_t produced; /* by the first band; all bands put out the same */
} tile_run;

static void one_band(void *user, int band, int thread)
{
    tile_run *at = user;
    weir_chain *chain = at->chain;
    unsigned char *strips = (unsigned char *)chain->buffer->memory + chain->strip_offset +
                            (size_t)thread * chain->strips_bytes;
    band_run run = {
        .stage = at->stage,
        .band = band,
        .shape = at->stage->bands > 1 && band == at->stage->bands - 1 ? 1 : 0,
        .strips = {strips, strips + chain->strip_bytes},
    };
    size_t produced = 0;
    run_band(&run, &at->in, &at->out, &produced);
    if (band == 0) {
        at->produced = produced;
    }
}

/* Frames of a unit without memory; each thread has an instance, for scratch and counts. */
static void some_frames(void *user, int piece, int thread)
{
    tile_run *at = user;
    const weiri_step *step = at->stage->first;
    size_t pieces = (size_t)at->chain->options.threads;
    size_t from = at->in.frames * (size_t)piece / pieces;
    size_t to = at->in.frames * (size_t)(piece + 1) / pieces;
    weiri_tile in = {(unsigned char *)at->in.data + from * (size_t)weir_spec_frame_bytes(step->in),
                     to - from};
    weiri_tile out = {(unsigned char *)at->out.data + from * step->frame_bytes, to - from};
    size_t consumed = 0, produced = 0;
    if (to > from) {
        step->ops->process(&step->units[thread], &in, &consumed, &out, &produced);
    }
}

/* The counts of the threads' instances go to the first. */
static void gather_counts(const weir_chain *chain, const weiri_step *step)
{
    uint64_t *sums = step->units[0].missing;
    for (uint64_t i = step->channels; i < step->channels * chain->options.threads; i++) {
        sums[i % step->channels] += sums[i];
        sums[i] = 0;
    }
}

/* Less is done by the caller before a worker has looked. */
#define LEAST_SHARED_BYTES 32768

static void do_pieces(weir_chain *chain, weiri_pool_fn run, tile_run *at, int pieces)
{
    size_t bytes = at->in.frames * (size_t)weir_spec_frame_bytes(at->stage->first->in);
    if (chain->pool != NULL && pieces > 1 && bytes >= LEAST_SHARED_BYTES) {
        weiri_pool_run(chain->pool, run, at, pieces);
        return;
    }
    for (int piece = 0; piece < pieces; piece++) {
        run(at, piece, 0);
    }
}

void weiri_stage_process(weir_chain *chain,
                         weiri_stage *stage,
                         const weiri_tile *in,
                         size_t *ret_consumed,
                         weiri_tile *out,
                         size_t *ret_produced)
{
    tile_run at = {.chain = chain, .stage = stage, .in = *in, .out = *out};
    if (stage->by_frame) {
        at.in.frames = in->frames < out->frames ? in->frames : out->frames;
        do_pieces(chain, some_frames, &at, (int)chain->options.threads);
        gather_counts(chain, stage->first);
        *ret_consumed = *ret_produced = at.in.frames;
        return;
    }
    if (weiri_stage_is_plain(stage)) {
        weiri_step *step = stage->first;
        step->ops->process(&step->units[0], in, ret_consumed, out, ret_produced);
        return;
    }
    /* No more than there is room for what comes of it: then all of it is taken. One frame always fits. */
    while (at.in.frames > 1 && weiri_stage_out(stage, at.in.frames) > out->frames) {
        at.in.frames--;
    }
    do_pieces(chain, one_band, &at, stage->bands);
    *ret_consumed = at.in.frames;
    *ret_produced = at.produced;
    note_strips(chain, stage, at.in.frames);
}
