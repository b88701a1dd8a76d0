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
    const unsigned char *shared; /* what the head has prepared, of the tile's first frame */
} band_run;

/* Input of the band from a frame of the tile on, in a strip of its own unless it is all channels. A head is
 * applied on the way. */
static weiri_tile gather(band_run *at, const weiri_tile *in, size_t from)
{
    const weiri_stage *stage = at->stage;
    const weiri_step *first = stage->first, *head = stage->head;
    size_t frame_bytes = (size_t)weir_spec_frame_bytes(first->in);
    const unsigned char *rows = (const unsigned char *)in->data + from * frame_bytes;
    if (!weiri_stage_gathers(stage)) {
        return (weiri_tile){(void *)rows, in->frames};
    }
    size_t row_bytes = (size_t)weir_spec_frame_bytes(&first->band_in[at->shape]);
    weiri_tile strip = {at->strips[0], in->frames};
    size_t columns = (size_t)weir_spec_columns(first->in) / (size_t)first->channels;
    size_t before = (size_t)at->band * (size_t)stage->band_channels * columns;
    if (head != NULL) {
        weiri_part part = {.rows = rows,
                           .frames = in->frames,
                           .first = before,
                           .columns = (size_t)weir_spec_columns(&first->band_in[at->shape])};
        head->ops->apply(&head->units[0], &part, at->shared + from * head->shared_bytes,
                         strip.data);
    } else {
        copy_rows(strip.data, row_bytes, rows + before * weir_dtype_bytes(first->in->dtype),
                  frame_bytes, row_bytes, in->frames);
    }
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

/* All steps over some frames of one band, from strip to strip. Takes all of them: the caller has seen to the
 * room. */
static size_t
run_piece(band_run *at, const weiri_tile *in, size_t from, size_t frames, const weiri_tile *out)
{
    const weiri_stage *stage = at->stage;
    weiri_tile here = gather(at, &(weiri_tile){in->data, frames}, from);
    for (weiri_step *step = stage->first; step != NULL; step = step->next) {
        weiri_tile there = *out;
        if (step->strip != WEIRI_STRIP_NONE) {
            there = (weiri_tile){at->strips[step->strip], here.frames};
        }
        size_t consumed = 0, produced = 0;
        if (there.frames > 0) {
            step->ops->process(&step->units[at->band], &here, &consumed, &there, &produced);
        }
        here = (weiri_tile){there.data, produced};
    }
    if (weiri_stage_gathers(stage)) {
        scatter(at, &here, out);
    }
    return here.frames;
}

/* Piece by piece, so that what lies between two units stays in L1 (S1: units go on where they were). */
static size_t run_band(band_run *at, const weiri_tile *in, const weiri_tile *out)
{
    const weiri_stage *stage = at->stage;
    size_t out_bytes = stage->last->frame_bytes, produced = 0;
    for (size_t from = 0; from < in->frames; from += stage->piece_frames) {
        size_t some = in->frames - from;
        some = some < stage->piece_frames ? some : stage->piece_frames;
        weiri_tile room = {(unsigned char *)out->data + produced * out_bytes,
                           out->frames - produced};
        produced += run_piece(at, in, from, some, &room);
    }
    return produced;
}

bool weiri_step_in_place(const weiri_step *step)
{
    return (step->ops->info.flags & WEIR_UNIT_IN_PLACE) != 0 &&
           weir_spec_frame_bytes(step->in) == step->frame_bytes;
}

bool weiri_stage_is_plain(const weiri_stage *stage)
{
    return stage->bands == 1 && stage->first == stage->last && stage->head == NULL;
}

/* M6: the most that was used of the strips. */
static void note_strips(weir_chain *chain, const weiri_stage *stage, size_t frames)
{
    weir_plan_part *part = chain->strip_part;
    uint64_t room = stage->piece_frames;
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
        .shared = (const unsigned char *)chain->buffer->memory + at->stage->shared_offset,
    };
    size_t produced = run_band(&run, &at->in, &at->out);
    if (band == 0) {
        at->produced = produced;
    }
}

/* A thread's share of a tile's frames; the first is number *ret_from. */
static weiri_tile share_of(const tile_run *at, int piece, size_t *ret_from)
{
    size_t pieces = (size_t)at->chain->options.threads;
    size_t from = at->in.frames * (size_t)piece / pieces;
    size_t to = at->in.frames * (size_t)(piece + 1) / pieces;
    size_t frame_bytes = (size_t)weir_spec_frame_bytes(at->stage->first->in);
    *ret_from = from;
    return (weiri_tile){(unsigned char *)at->in.data + from * frame_bytes, to - from};
}

/* Frames of a unit without memory; each thread has an instance, for scratch and counts. */
static void some_frames(void *user, int piece, int thread)
{
    tile_run *at = user;
    const weiri_step *step = at->stage->first;
    size_t from, consumed = 0, produced = 0;
    weiri_tile in = share_of(at, piece, &from);
    weiri_tile out = {(unsigned char *)at->out.data + from * step->frame_bytes, in.frames};
    if (in.frames > 0) {
        step->ops->process(&step->units[thread], &in, &consumed, &out, &produced);
    }
}

/* A head's half over some frames: what it puts out has the shape of what comes in. */
static void some_shared(void *user, int piece, int thread)
{
    tile_run *at = user;
    const weiri_step *head = at->stage->head;
    size_t from;
    weiri_tile in = share_of(at, piece, &from);
    unsigned char *shared = (unsigned char *)at->chain->buffer->memory + at->stage->shared_offset;
    head->ops->prepare(&head->units[thread], &in, shared + from * head->shared_bytes);
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

/* The most of these frames that there is room for what comes of them: then all of it is taken. One always fits. */
static size_t frames_for_room(const weiri_stage *stage, size_t frames, size_t room)
{
    if (frames <= 1 || weiri_stage_out(stage, frames) <= room) {
        return frames;
    }
    size_t fits = 1, too_many = frames; /* what comes out never falls as frames grow */
    while (too_many - fits > 1) {
        size_t middle = fits + (too_many - fits) / 2;
        if (weiri_stage_out(stage, middle) <= room) {
            fits = middle;
        } else {
            too_many = middle;
        }
    }
    return fits;
}

void weiri_stage_process(weir_chain *chain,
                         weiri_stage *stage,
                         const weiri_tile *in,
                         size_t *ret_consumed,
                         weiri_tile *out,
                         size_t *ret_produced)
{
    tile_run at = {.chain = chain, .stage = stage, .in = *in, .out = *out};
    if (stage->first->by_frame) {
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
    at.in.frames = frames_for_room(stage, in->frames, out->frames);
    if (stage->head != NULL) {
        do_pieces(chain, some_shared, &at, (int)chain->options.threads);
    }
    do_pieces(chain, one_band, &at, stage->bands);
    *ret_consumed = at.in.frames;
    *ret_produced = at.produced;
    note_strips(chain, stage, at.in.frames);
}
