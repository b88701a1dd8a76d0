/* SPDX-License-Identifier: MIT
 *
 * reader.c: makes a format a source: memory, segments and annotations, reading position, and the loop that fills
 * a tile. rows.c has the rows themselves.
 */
#include <errno.h>
#include <fenv.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/decimal.h"
#include "chain/chain.h"
#include "recording/reader.h"

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

weir_err weiri_reader_header(weiri_reader *reader, uint64_t offset, void *to, size_t bytes)
{
    size_t got = 0;
    weir_err err = weiri_input_read(&reader->input, offset, to, bytes, bytes, &got);
    if (err == WEIR_OK && got < bytes) {
        return weiri_malformed(reader, offset + got,
                               "the file ends within its header: found %zu bytes, expected %zu",
                               got, bytes);
    }
    return err;
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
            /* Complete frames are delivered first; the next call returns the error again. */
            if (err != WEIR_OK && message.frames == 0) {
                return err;
            }
            message.frames += got;
            if (err != WEIR_OK || reader->input.pipe) {
                break; /* a live pipe does not wait until a tile is full */
            }
        }
    }
    *ret = message;
    return WEIR_OK;
}

/* Times are nanoseconds in 64 bits: 292 years in either direction. A segment's start may be any
 * time, from a damaged timestamp, and stays at that limit; its frames cannot be further apart
 * than that. */
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

/* S6: a value too large for its dtype becomes inf, also for a caller whose arithmetic traps. */
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
    weiri_arena arena = reader->arena; /* the reader is stored in it */
    weiri_arena_fini(&arena);
}

static void source_idle(weir_source *source, weir_err (*call)(void *user), void *user)
{
    weiri_reader *reader = (weiri_reader *)source;
    reader->input.idle = call;
    reader->input.idle_user = user;
}

/* What identifies the recording: size, time of last change, first bytes, gaps, and the options
 * with which it is read. Its name may change. */
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

/* Frames of the segment that has begun, the `number`-th that has any; WEIR_FRAMES_UNKNOWN: known
 * only after reading it. */
static uint64_t segment_length(const weiri_reader *reader, uint64_t number)
{
    if (number < reader->info.segment_count) {
        return reader->info.segments[number].frames;
    }
    return reader->current.frames == WEIR_FRAMES_UNKNOWN ? WEIR_FRAMES_UNKNOWN : reader->left;
}

/* Within a segment every format can move forward: reading from --start does so too. */
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
