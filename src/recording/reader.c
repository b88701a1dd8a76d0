/* SPDX-License-Identifier: MIT
 *
 * reader.c: what makes a format a source: position, segments, the loop that fills a tile, and the two
 * ways in which most formats lie: row by row, and column by column.
 */
#include <errno.h>
#include <fenv.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/decimal.h"
#include "chain/chain.h"
#include "recording/reader.h"

#define PLANES_BYTES (1024u * 1024u)
#define BATCH_FRAMES 16 /* rows converted column by column at a time: their lines stay in L1 */

weir_err weiri_malformed(const weiri_reader *reader, uint64_t offset, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    weiri_format(text, sizeof text, format, args);
    va_end(args);
    return weiri_fail(WEIR_E_RECORDING, "%s: offset %llu: %s",
                      reader->input.fd >= 0 ? reader->input.name : reader->path,
                      (unsigned long long)offset, text);
}

weir_err weiri_reader_get(weiri_reader *reader, uint64_t count, size_t size, void *ret_pointer)
{
    uint64_t bytes = 0;
    void *memory = NULL;
    if (weiri_mul(count ? count : 1, size, &bytes) && bytes < SIZE_MAX) {
        memory = weiri_arena_get(&reader->arena, (size_t)bytes);
    }
    if (memory == NULL) {
        return WEIR_E_NOMEM;
    }
    memcpy(ret_pointer, &memory, sizeof memory);
    return WEIR_OK;
}

weir_err weiri_reader_charge(weiri_reader *reader, uint64_t bytes)
{
    weir_err err = weir_cache_charge(reader->arena.cache, bytes);
    if (err != WEIR_OK) {
        return weiri_fail_prefix(err, "%s: memory for its library: ", reader->path);
    }
    reader->charged_bytes += bytes;
    return WEIR_OK;
}

bool weiri_is_utf8(const char *bytes, size_t count)
{
    const unsigned char *text = (const unsigned char *)bytes;
    for (size_t i = 0; i < count;) {
        size_t more = text[i] < 0x80   ? 0
                      : text[i] < 0xc2 ? 9
                      : text[i] < 0xe0 ? 1
                      : text[i] < 0xf0 ? 2
                      : text[i] < 0xf5 ? 3
                                       : 9;
        if (more == 9 || i + more >= count) {
            return false;
        }
        if ((text[i] == 0xe0 && text[i + 1] < 0xa0) || (text[i] == 0xed && text[i + 1] > 0x9f) ||
            (text[i] == 0xf0 && text[i + 1] < 0x90) || (text[i] == 0xf4 && text[i + 1] > 0x8f)) {
            return false;
        }
        for (size_t k = 1; k <= more; k++) {
            if ((text[i + k] & 0xc0) != 0x80) {
                return false;
            }
        }
        i += more + 1;
    }
    return true;
}

static weir_err
read_text(weiri_reader *reader, const char *bytes, size_t count, bool lines, const char **ret_text)
{
    const unsigned char *from = (const unsigned char *)bytes;
    while (count && (*from <= ' ')) {
        from++;
        count--;
    }
    while (count && from[count - 1] <= ' ') {
        count--;
    }
    bool utf8 = weiri_is_utf8((const char *)from, count);
    char *text;
    weir_err err = weiri_reader_get(reader, count * 2 + 1, 1, &text);
    if (err != WEIR_OK) {
        return err;
    }
    *ret_text = text;
    for (size_t i = 0; i < count; i++) {
        bool keeps = lines && (from[i] == '\t' || from[i] == '\n' || from[i] == '\r');
        if ((from[i] < ' ' && !keeps) || from[i] == 0x7f) {
            *text++ = '?'; /* a control character in a header would break lines of messages */
        } else if (utf8 || from[i] < 0x80) {
            *text++ = (char)from[i];
        } else {
            *text++ = (char)(0xc0 | from[i] >> 6);
            *text++ = (char)(0x80 | (from[i] & 0x3f));
        }
    }
    *text = 0;
    return WEIR_OK;
}

weir_err
weiri_reader_text(weiri_reader *reader, const char *bytes, size_t count, const char **ret_text)
{
    return read_text(reader, bytes, count, false, ret_text);
}

weir_err
weiri_reader_lines(weiri_reader *reader, const char *bytes, size_t count, const char **ret_text)
{
    return read_text(reader, bytes, count, true, ret_text);
}

bool weiri_is_date(int year, int month, int day)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1] + (leap && month == 2);
}

weir_err weiri_reader_need_rate(weiri_reader *reader)
{
    double rate_hz = reader->options->rate_hz != 0 ? reader->options->rate_hz : reader->rate_hz;
    if (rate_hz == 0) {
        return weiri_fail(WEIR_E_USAGE, "%s: a %s file does not state its rate; use --rate HZ",
                          reader->path, reader->format->info.name);
    }
    if (!(rate_hz > 0 && rate_hz <= 1e12)) {
        return weiri_fail(WEIR_E_USAGE, "%s: rate %g Hz: must be above 0 and at most 1e12",
                          reader->path, rate_hz);
    }
    reader->rate_hz = rate_hz;
    return WEIR_OK;
}

void weiri_reader_rest(weiri_reader *reader, uint64_t bytes, uint64_t frame_bytes)
{
    if (bytes > 0) {
        weiri_notice(
            &reader->notices,
            "the file ends within a frame: the last %llu bytes are ignored (a frame has %llu)",
            (unsigned long long)bytes, (unsigned long long)frame_bytes);
    }
}

/* ---- segments ------------------------------------------------------------------------------------- */

void weiri_reader_segment(weiri_reader *reader, int64_t start_ns, uint64_t frames)
{
    weir_segment segment = {.start_ns = start_ns, .frames = frames};
    if (!reader->laid_out) {
        reader->laid_out = true;
        reader->first_ns = start_ns;
        reader->current = segment;
    }
    uint64_t first, count;
    weiri_reader_window(reader, &segment, &first, &count);
    if (count == 0) {
        return;
    }
    weir_source_info *info = &reader->info;
    if (frames == WEIR_FRAMES_UNKNOWN || info->frames == WEIR_FRAMES_UNKNOWN) {
        info->frames = WEIR_FRAMES_UNKNOWN; /* a pipe may end before the window does */
    } else {
        info->frames += count;
    }
    if (info->segment_count == WEIRI_MAX_SEGMENTS) {
        info->segments_left_out++;
        return;
    }
    int64_t shift_ns = weiri_frames_ns((int64_t)first, weiri_fraction_of(info->spec.rate_hz));
    reader->segments[info->segment_count++] =
        (weir_segment){.start_ns = weiri_ns_sum(start_ns, shift_ns), .frames = count};
}

weir_err weiri_reader_annotate(
    weiri_reader *reader, int64_t onset_ns, int64_t duration_ns, const char *bytes, size_t count)
{
    weir_source_info *info = &reader->info;
    double onset_s = ((double)onset_ns - (double)reader->first_ns) * 1e-9;
    double end_s = onset_s + (duration_ns > 0 ? (double)duration_ns * 1e-9 : 0);
    if ((reader->from_s > 0 && end_s < reader->from_s) || onset_s >= reader->to_s) {
        return WEIR_OK;
    }
    if (info->annotation_count == WEIRI_MAX_ANNOTATIONS) {
        info->annotations_left_out++;
        return WEIR_OK;
    }
    weir_err err = WEIR_OK;
    if (reader->annotations == NULL) {
        err = weiri_reader_get(reader, WEIRI_MAX_ANNOTATIONS, sizeof *reader->annotations,
                               &reader->annotations);
        info->annotations = reader->annotations;
    }
    if (count > WEIRI_NOTE_BYTES) {
        count = WEIRI_NOTE_BYTES;
        while (count > WEIRI_NOTE_BYTES - 4 && ((unsigned char)bytes[count] & 0xc0) == 0x80) {
            count--; /* not within a character */
        }
    }
    weir_annotation annotation = {.onset_ns = onset_ns, .duration_ns = duration_ns};
    if (err == WEIR_OK) {
        err = weiri_reader_lines(reader, bytes, count, &annotation.text);
    }
    if (err == WEIR_OK) {
        reader->annotations[info->annotation_count++] = annotation;
    }
    return err;
}

static weir_err next_segment(weiri_reader *reader)
{
    for (;;) {
        bool any = reader->upcoming == 0 && reader->laid_out;
        if (reader->format->segment) {
            weir_err err = reader->format->segment(reader, reader->upcoming, &any);
            if (err != WEIR_OK) {
                return err;
            }
        }
        if (!any) {
            reader->ended = true;
            return WEIR_OK;
        }
        reader->segment = reader->upcoming++;
        reader->loaded = reader->loaded_end = 0;
        weiri_reader_window(reader, &reader->current, &reader->index, &reader->left);
        if (reader->left > 0) {
            return WEIR_OK;
        }
    }
}

/* ---- the source ------------------------------------------------------------------------------------ */

static const weir_source_info *source_info(weir_source *source)
{
    weiri_reader *reader = (weiri_reader *)source;
    reader->info.start_time = reader->start_time ? reader->start_time : "";
    reader->info.notices = reader->notices.lines;
    reader->info.notice_count = reader->notices.count;
    reader->info.notices_left_out = reader->notices.left_out;
    return &reader->info;
}

static weir_err source_plan(weir_source *source, uint64_t tile_frames, uint64_t *ret_bytes)
{
    const weiri_reader *reader = (const weiri_reader *)source;
    return reader->format->plan(reader, tile_frames, ret_bytes);
}

static weir_err source_start(weir_source *source, uint64_t tile_frames, void *memory)
{
    weiri_reader *reader = (weiri_reader *)source;
    reader->buffer = memory;
    reader->tile_frames = tile_frames;
    return WEIR_OK;
}

static weir_err read_some(weiri_reader *reader, void *rows, size_t frames, size_t *ret_frames)
{
    size_t got = 0;
    weir_err err = reader->format->read(reader, reader->index, frames, rows, &got);
    if (err != WEIR_OK) {
        return err;
    }
    if (got == 0 && reader->current.frames != WEIR_FRAMES_UNKNOWN && reader->input.pipe) {
        weiri_notice(&reader->notices,
                     "the file ends early: %llu of the %llu stated frames are present",
                     (unsigned long long)reader->index, (unsigned long long)reader->current.frames);
    } else if (got == 0 && reader->current.frames != WEIR_FRAMES_UNKNOWN) {
        return weiri_fail(WEIR_E_RECORDING, "%s: ends after %llu of %llu frames",
                          reader->input.fd >= 0 ? reader->input.name : reader->path,
                          (unsigned long long)reader->index,
                          (unsigned long long)reader->current.frames);
    }
    reader->index += got;
    reader->left = got == 0                              ? 0
                   : reader->left == WEIR_FRAMES_UNKNOWN ? reader->left
                                                         : reader->left - got;
    *ret_frames = got;
    return WEIR_OK;
}

static weir_err fill(weir_source *source, void *rows, size_t capacity, weir_message *ret)
{
    weiri_reader *reader = (weiri_reader *)source;
    size_t frame_bytes = (size_t)weir_spec_frame_bytes(&reader->info.spec);
    weir_message message = {.spec = &reader->info.spec, .data = rows};
    while (message.frames == 0 && !reader->ended && capacity > 0) {
        if (reader->left == 0) {
            weir_err err = next_segment(reader);
            if (err != WEIR_OK) {
                return err;
            }
            continue;
        }
        message.segment = reader->segment;
        message.segment_start_ns = reader->current.start_ns;
        message.first_index = (int64_t)reader->index;
        while (reader->left > 0 && message.frames < capacity) {
            size_t want = capacity - message.frames;
            want = want < reader->left ? want : (size_t)reader->left;
            size_t got = 0;
            weir_err err =
                read_some(reader, (unsigned char *)rows + message.frames * frame_bytes, want, &got);
            /* What is whole goes out first; the next call meets the error again. */
            if (err != WEIR_OK && message.frames == 0) {
                return err;
            }
            message.frames += got;
            if (err != WEIR_OK || reader->input.pipe) {
                break; /* a live pipe is not held back until a tile is full */
            }
        }
    }
    *ret = message;
    return WEIR_OK;
}

/* Times are nanoseconds in 64 bits: 292 years to either side. A segment's start may be anywhere, as a damaged
 * stamp says it, and stays at that end; its frames cannot be further apart than that. */
static weir_err check_time(const weiri_reader *reader, const weir_message *message)
{
    double last = (double)message->first_index + (double)message->frames;
    double end_s = last / reader->info.spec.rate_hz;
    return end_s < 9.22e9
               ? WEIR_OK
               : weiri_fail(WEIR_E_RECORDING,
                            "%s: frame %.0f is %.0f years after the start; at most 292 years are "
                            "allowed; is the rate, %g Hz, right?",
                            reader->path, last, end_s / 31557600.0, reader->info.spec.rate_hz);
}

/* S6: a value that is too large for its dtype is inf, also for a caller whose arithmetic traps. */
static weir_err source_read(weir_source *source, void *rows, size_t capacity, weir_message *ret)
{
    fenv_t callers;
    feholdexcept(&callers);
    weir_message message;
    weir_err err = fill(source, rows, capacity, &message);
    err = err == WEIR_OK ? check_time((const weiri_reader *)source, &message) : err;
    fesetenv(&callers);
    if (err == WEIR_OK) {
        *ret = message;
    }
    return err;
}

static void source_close(weir_source *source)
{
    weiri_reader *reader = (weiri_reader *)source;
    if (reader->format && reader->format->close) {
        reader->format->close(reader);
    }
    weir_cache_uncharge(reader->arena.cache, reader->charged_bytes);
    weiri_input_close(&reader->input);
    weiri_arena arena = reader->arena; /* the reader lies in it */
    weiri_arena_fini(&arena);
}

static void source_idle(weir_source *source, weir_err (*call)(void *user), void *user)
{
    weiri_reader *reader = (weiri_reader *)source;
    reader->input.idle = call;
    reader->input.idle_user = user;
}

/* What is read of a file: size, time of its last change, first bytes; where there are gaps; and with which
 * options. Its name may change. */
static weir_err source_identity(weir_source *source, char *text, size_t size)
{
    weiri_reader *reader = (weiri_reader *)source;
    const weir_source_info *info = &reader->info;
    uint64_t how =
        weiri_hash(reader->asked, info->segments, info->segment_count * sizeof(weir_segment));
    how = weiri_hash(how, &info->segments_left_out, sizeof info->segments_left_out);
    how = weiri_hash(how, &info->frames, sizeof info->frames);
    if (reader->input.fd < 0) {
        snprintf(text, size, "%.300s, read as %016llx", reader->path,
                 (unsigned long long)weiri_hash_text(how, reader->path));
        return WEIR_OK;
    }
    unsigned char first[4096];
    size_t count = 0;
    struct stat status;
    if (reader->input.pipe) {
        return weiri_fail(WEIR_E_USAGE,
                          "%s: a pipe cannot be read again; a checkpoint needs a file",
                          reader->input.name);
    }
    weir_err err = weiri_input_read(&reader->input, 0, first, sizeof first, 1, &count);
    if (err == WEIR_OK && fstat(reader->input.fd, &status) != 0) {
        err = weiri_fail(WEIR_E_IO, "%s: %s", reader->input.name, strerror(errno));
    }
    if (err == WEIR_OK) {
        snprintf(text, size,
                 "%s of %lld bytes changed at %lld.%09ld s, first bytes %016llx, read as %016llx",
                 info->format, (long long)status.st_size, (long long)status.st_mtim.tv_sec,
                 status.st_mtim.tv_nsec, (unsigned long long)weiri_hash(1, first, count),
                 (unsigned long long)how);
    }
    return err;
}

/* Frames of the segment that was begun, the `number`-th that has any; WEIR_FRAMES_UNKNOWN: only reading it tells. */
static uint64_t segment_length(const weiri_reader *reader, uint64_t number)
{
    if (number < reader->info.segment_count) {
        return reader->info.segments[number].frames;
    }
    return reader->current.frames == WEIR_FRAMES_UNKNOWN ? WEIR_FRAMES_UNKNOWN : reader->left;
}

/* Within a segment every format can go forward: reading from --start does so too. */
static weir_err source_seek(weir_source *source, uint64_t frames, uint64_t *ret_frames)
{
    weiri_reader *reader = (weiri_reader *)source;
    uint64_t at = 0;
    for (uint64_t number = 0; at < frames; number++) {
        weir_err err = next_segment(reader);
        if (err != WEIR_OK) {
            return err;
        }
        uint64_t length = reader->ended ? 0 : segment_length(reader, number);
        if (reader->ended || length == WEIR_FRAMES_UNKNOWN) {
            break;
        }
        uint64_t now = length < frames - at ? length : frames - at;
        at += now;
        reader->index += now;
        reader->left = now == length                         ? 0
                       : reader->left == WEIR_FRAMES_UNKNOWN ? reader->left
                                                             : reader->left - now;
    }
    *ret_frames = at;
    return WEIR_OK;
}

const weir_source_ops weiri_reader_ops = {
    .ops_size = sizeof(weir_source_ops),
    .name = "recording",
    .info = source_info,
    .plan = source_plan,
    .start = source_start,
    .read = source_read,
    .close = source_close,
    .idle = source_idle,
    .identity = source_identity,
    .seek = source_seek,
};

/* ---- helpers: counts of 64 bits ----------------------------------------------------------------------- */

/* An f64 holds every whole number up to 2^53, of which this tells where they go beyond. */
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

/* ---- helpers: rows ---------------------------------------------------------------------------------- */

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
    /* Counts asked for: their dtype is the stored one. */
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

/* Rows that can be read where they are wanted. */
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
            /* Only one value a channel can be picked from (select.c). */
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

/* ---- helpers: columns -------------------------------------------------------------------------------- */

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
