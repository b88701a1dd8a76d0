/* SPDX-License-Identifier: MIT
 *
 * rows.c: stored values to rows of a tile, for the two layouts that most formats have: row by row, and column by
 * column.
 */
#include <math.h>

#include "recording/reader.h"

#define PLANES_BYTES (1024u * 1024u)
#define BATCH_FRAMES 16 /* rows converted column by column at a time, so that they stay in L1 */

/* ---- integers of 64 bits ----------------------------------------------------------------------- */

/* An f64 can hold every integer up to 2^53; this reports larger ones. */
static void tell_rounded(weiri_reader *reader, uint64_t index, const void *rows, size_t frames)
{
    weiri_coding coding = reader->stored.coding;
    if (reader->rounded || (coding != WEIRI_CODING_I64 && coding != WEIRI_CODING_U64)) {
        return;
    }
    uint64_t columns = reader->pick_count * reader->inner;
    for (uint64_t i = 0; i < frames * columns; i++) {
        if (fabs(((const double *)rows)[i]) >= 0x1p53) {
            reader->rounded = true;
            weiri_notice(&reader->notices,
                         "row %llu: an integer beyond 2^53 is rounded, as values are f64",
                         (unsigned long long)(index + i / columns));
            return;
        }
    }
}

/* ---- rows ---------------------------------------------------------------------------------- */

static uint64_t stored_frame_bytes(const weiri_reader *reader)
{
    return reader->channel_count * reader->inner * weiri_stored_bytes(reader->stored);
}

const weiri_scale *weiri_reader_scale(const weiri_reader *reader, uint64_t channel)
{
    const weiri_scale *own = reader->channels ? &reader->channels[channel].scale : NULL;
    return own && own->denom != 0 ? own : reader->scale.denom != 0 ? &reader->scale : NULL;
}

static const weiri_scale *scale_of(const weiri_reader *reader, uint64_t channel)
{
    const weiri_scale *scale = weiri_reader_scale(reader, channel);
    /* If counts are requested their dtype is the stored one. */
    weir_dtype dtype = reader->info.spec.dtype;
    return dtype == WEIR_F32 || dtype == WEIR_F64 ? scale : NULL;
}

static bool scaled(const weiri_reader *reader)
{
    uint64_t count = reader->channels ? reader->channel_count : 1;
    for (uint64_t i = 0; i < count; i++) {
        if (scale_of(reader, i)) {
            return true;
        }
    }
    return false;
}

/* Rows that can be read directly into the tile. */
static bool direct(const weiri_reader *reader)
{
    return reader->picks == NULL && weiri_stored_is(reader->stored, reader->info.spec.dtype) &&
           !scaled(reader);
}

static uint64_t block_frames(const weiri_reader *reader, uint64_t tile_frames)
{
    uint64_t frames = WEIRI_BLOCK_BYTES / stored_frame_bytes(reader);
    frames = frames < tile_frames ? frames : tile_frames;
    return frames ? frames : 1;
}

weir_err weiri_rows_plan(const weiri_reader *reader, uint64_t tile_frames, uint64_t *ret_bytes)
{
    *ret_bytes =
        direct(reader) ? 0 : block_frames(reader, tile_frames) * stored_frame_bytes(reader);
    return WEIR_OK;
}

void weiri_rows_convert(const weiri_reader *reader,
                        const unsigned char *from,
                        size_t frame_bytes,
                        size_t frames,
                        void *rows)
{
    weiri_run run = {.stored = reader->stored,
                     .from_step = weiri_stored_bytes(reader->stored),
                     .from = from,
                     .dtype = reader->info.spec.dtype,
                     .to = rows,
                     .to_step = 1};
    if (reader->picks == NULL && !scaled(reader) && frame_bytes == stored_frame_bytes(reader)) {
        weiri_convert(&run, frames * (size_t)(reader->channel_count * reader->inner));
        return;
    }
    size_t width = run.from_step;
    size_t columns = (size_t)(reader->pick_count * reader->inner);
    size_t to_width = weir_dtype_bytes(run.dtype);
    run.from_step = frame_bytes;
    run.to_step = columns;
    for (size_t first = 0; first < frames; first += BATCH_FRAMES) {
        size_t count = frames - first < BATCH_FRAMES ? frames - first : BATCH_FRAMES;
        for (size_t i = 0; i < columns; i++) {
            /* Channels can only be selected if they have one value each (select.c). */
            uint64_t channel = reader->picks ? reader->picks[i] : i / reader->inner;
            uint64_t column = reader->picks ? reader->picks[i] : i;
            run.from = from + first * frame_bytes + (size_t)column * width;
            run.scale = scale_of(reader, channel);
            run.to = (unsigned char *)rows + (first * columns + i) * to_width;
            weiri_convert(&run, count);
        }
    }
}

weir_err
weiri_rows_read(weiri_reader *reader, uint64_t index, size_t frames, void *rows, size_t *ret_frames)
{
    bool straight = direct(reader);
    size_t frame_bytes = (size_t)stored_frame_bytes(reader);
    uint64_t most = block_frames(reader, reader->tile_frames);
    size_t want = straight || frames < most ? frames : (size_t)most;
    uint64_t skipped = 0;
    if (!weiri_mul(index, frame_bytes, &skipped) || skipped > UINT64_MAX - reader->data_offset) {
        *ret_frames = 0;
        return WEIR_OK;
    }
    size_t got = 0;
    weir_err err =
        weiri_input_read(&reader->input, reader->data_offset + skipped,
                         straight ? rows : reader->buffer, want * frame_bytes, frame_bytes, &got);
    if (err != WEIR_OK) {
        return err;
    }
    size_t whole = got / frame_bytes;
    if (reader->input.pipe) {
        weiri_reader_rest(reader, got % frame_bytes, frame_bytes);
    }
    if (!straight) {
        weiri_rows_convert(reader, reader->buffer, frame_bytes, whole, rows);
        tell_rounded(reader, index, rows, whole);
    }
    *ret_frames = whole;
    return WEIR_OK;
}

/* ---- columns -------------------------------------------------------------------------------- */

static uint64_t plane_frames(const weiri_reader *reader)
{
    uint64_t bytes = reader->pick_count * reader->inner * weiri_stored_bytes(reader->stored);
    uint64_t frames = PLANES_BYTES / bytes;
    uint64_t run = reader->run_frames ? reader->run_frames : reader->current.frames;
    frames = frames < run ? frames : run;
    return frames ? frames : 1;
}

weir_err weiri_planes_plan(const weiri_reader *reader, uint64_t tile_frames, uint64_t *ret_bytes)
{
    (void)tile_frames;
    *ret_bytes = plane_frames(reader) * reader->pick_count * reader->inner *
                 weiri_stored_bytes(reader->stored);
    return WEIR_OK;
}

static weir_err load_planes(weiri_reader *reader, weiri_plane_place place, uint64_t index)
{
    size_t width = weiri_stored_bytes(reader->stored);
    size_t stride = (size_t)plane_frames(reader) * width;
    uint64_t columns = reader->pick_count * reader->inner;
    uint64_t frames = plane_frames(reader);
    frames = frames < reader->left ? frames : reader->left;
    reader->loaded = reader->loaded_end = 0;
    for (uint64_t i = 0; i < columns; i++) {
        uint64_t follow = 0;
        uint64_t offset = place(reader, i, index, &follow);
        frames = frames < follow ? frames : follow;
        size_t bytes = (size_t)frames * width, got = 0;
        weir_err err = weiri_input_read(&reader->input, offset, reader->buffer + i * stride, bytes,
                                        bytes, &got);
        if (err != WEIR_OK) {
            return err;
        }
        if (got < bytes) {
            return weiri_malformed(reader, offset + got, "the file ends here, %zu bytes early",
                                   bytes - got);
        }
    }
    reader->loaded = index;
    reader->loaded_end = index + frames;
    return WEIR_OK;
}

static size_t plane_at(const weiri_reader *reader, uint64_t column)
{
    return (size_t)(column * plane_frames(reader)) * weiri_stored_bytes(reader->stored);
}

void weiri_columns_convert(
    const weiri_reader *reader, weiri_column_at at, uint64_t first, size_t count, void *rows)
{
    size_t width = weiri_stored_bytes(reader->stored);
    size_t columns = (size_t)(reader->pick_count * reader->inner);
    size_t to_width = weir_dtype_bytes(reader->info.spec.dtype);
    weiri_run run = {.stored = reader->stored,
                     .from_step = width,
                     .dtype = reader->info.spec.dtype,
                     .to_step = columns};
    for (size_t done = 0; done < count; done += BATCH_FRAMES) {
        size_t batch = count - done < BATCH_FRAMES ? count - done : BATCH_FRAMES;
        for (size_t i = 0; i < columns; i++) {
            uint64_t channel = reader->picks ? reader->picks[i] : i / reader->inner;
            run.from = reader->buffer + at(reader, i) + (size_t)(first + done) * width;
            run.scale = scale_of(reader, channel);
            run.to = (unsigned char *)rows + (done * columns + i) * to_width;
            weiri_convert(&run, batch);
        }
    }
}

weir_err weiri_planes_read(weiri_reader *reader,
                           weiri_plane_place place,
                           uint64_t index,
                           size_t frames,
                           void *rows,
                           size_t *ret_frames)
{
    if (index < reader->loaded || index >= reader->loaded_end) {
        weir_err err = load_planes(reader, place, index);
        if (err != WEIR_OK) {
            return err;
        }
    }
    uint64_t there = reader->loaded_end - index;
    size_t count = frames < there ? frames : (size_t)there;
    weiri_columns_convert(reader, plane_at, index - reader->loaded, count, rows);
    tell_rounded(reader, index, rows, count);
    *ret_frames = count;
    return WEIR_OK;
}
