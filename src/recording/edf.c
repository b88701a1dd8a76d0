/* SPDX-License-Identifier: MIT
 *
 * edf.c: reads EDF, EDF+, BDF and BDF+: data records in which each signal's samples are contiguous.
 * A reader of our own because the usual library refuses unusual files and cannot stream within a
 * limit. Every field is checked before it is used. Annotations and the onsets of records are in
 * edf_notes.c.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "recording/edf.h"

#define WHOLE_BYTES (4u * 1024u * 1024u)  /* records up to this size are read as a whole */
#define PIPE_BYTES  (64u * 1024u * 1024u) /* larger records are not read from a pipe */
#define MAX_SIGNALS 9999
#define MAX_SAMPLES 99999999.0
#define RESERVED_AT 192
#define RECORDS_AT  236
#define DURATION_AT 244
#define SIGNALS_AT  252

/* ---- fields --------------------------------------------------------------------------------------- */

/* A number in a field of blanks, zero bytes and digits; a comma is read as a point. */
static bool read_number(const char *field, size_t width, double *ret_number)
{
    char text[24];
    size_t used = 0;
    for (size_t i = 0; i < width && used + 1 < sizeof text; i++) {
        char byte = field[i] == 0 ? ' ' : field[i] == ',' ? '.' : field[i];
        if (byte != ' ' || used > 0) {
            text[used++] = byte;
        }
    }
    while (used > 0 && text[used - 1] == ' ') {
        used--;
    }
    text[used] = 0;
    const char *start = *text == '+' ? text + 1 : text;
    const char *end;
    return weiri_number_read(start, &end, ret_number) && *end == 0;
}

static weir_err wrong(
    const weiri_reader *reader, uint64_t at, const char *field, size_t width, const char *expected)
{
    char found[32] = "";
    snprintf(found, sizeof found, "%.*s", (int)(width < 24 ? width : 24), field);
    return weiri_malformed(reader, at, "found \"%s\", expected %s", found, expected);
}

/* A whole number from low to high in the fixed part of the header. */
static weir_err head_number(const weiri_reader *reader,
                            const edf *e,
                            size_t at,
                            size_t width,
                            double low,
                            double high,
                            const char *expected,
                            double *ret)
{
    double number = 0;
    if (!read_number(e->head + at, width, &number) || number < low || number > high ||
        number != floor(number)) {
        return wrong(reader, at, e->head + at, width, expected);
    }
    *ret = number;
    return WEIR_OK;
}

/* ---- start ---------------------------------------------------------------------------------------- */

static bool two_digits(const char *text, int *ret)
{
    if (text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9') {
        return false;
    }
    *ret = (text[0] - '0') * 10 + text[1] - '0';
    return true;
}

/* EDF+ states the year in full: "Startdate 24-JAN-2020 ...". */
static void full_year(const edf *e, struct tm *when)
{
    const char *field = e->head + 88;
    int high = 0, low = 0;
    if (memcmp(field, "Startdate ", 10) == 0 && field[12] == '-' && field[16] == '-' &&
        two_digits(field + 17, &high) && two_digits(field + 19, &low)) {
        when->tm_year = high * 100 + low - 1900;
    }
}

static weir_err read_start(weiri_reader *reader, const edf *e)
{
    struct tm when = {0};
    const char *date = e->head + 168, *clock = e->head + 176;
    bool fine = two_digits(date, &when.tm_mday) && two_digits(date + 3, &when.tm_mon) &&
                two_digits(date + 6, &when.tm_year) && two_digits(clock, &when.tm_hour) &&
                two_digits(clock + 3, &when.tm_min) && two_digits(clock + 6, &when.tm_sec);
    when.tm_year += when.tm_year < 85 ? 100 : 0;
    if (e->plus) {
        full_year(e, &when);
    }
    if (!fine || !weiri_is_date(when.tm_year + 1900, when.tm_mon, when.tm_mday) ||
        when.tm_hour > 23 || when.tm_min > 59 || when.tm_sec > 59) {
        weiri_notice(&reader->notices,
                     "start \"%.8s %.8s\": not a date and time; the start is unknown", date, clock);
        return WEIR_OK;
    }
    when.tm_mon--;
    /* Where the first record begins, after the second stated in the header. */
    int64_t second = 1000000000;
    int64_t behind =
        e->first_ns % second < 0 ? e->first_ns % second + second : e->first_ns % second;
    time_t seconds = timegm(&when) + (time_t)((e->first_ns - behind) / second);
    struct tm start;
    char text[64], fraction[16] = "";
    if (gmtime_r(&seconds, &start) == NULL) {
        return WEIR_OK;
    }
    if (behind > 0) {
        snprintf(fraction, sizeof fraction, ".%09lld", (long long)behind);
        for (size_t length = 10; length > 1 && fraction[length - 1] == '0'; length--) {
            fraction[length - 1] = 0;
        }
    }
    snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d%s", start.tm_year + 1900,
             start.tm_mon + 1, start.tm_mday, start.tm_hour, start.tm_min, start.tm_sec, fraction);
    return weiri_reader_text(reader, text, strlen(text), &reader->start_time);
}

/* ---- signals -------------------------------------------------------------------------------------- */

typedef struct signal {
    weiri_channel channel;
    double physical_min, physical_max, digital_min, digital_max;
    double samples;
    bool notes;
} signal;

/* Notes why a signal cannot be read, which is an error once it is selected: the first reason,
 * preferring one for which counts cannot be read either. */
static weir_err
flaw(weiri_reader *reader, signal *s, bool of_scale, uint64_t at, const char *format, ...)
    WEIRI_PRINTF(5, 6);
static weir_err
flaw(weiri_reader *reader, signal *s, bool of_scale, uint64_t at, const char *format, ...)
{
    char why[192], text[224];
    if (s->channel.flaw && (of_scale || !s->channel.flaw_of_scale)) {
        return WEIR_OK;
    }
    s->channel.flaw_of_scale = of_scale;
    va_list args;
    va_start(args, format);
    weiri_format(why, sizeof why, format, args);
    va_end(args);
    snprintf(text, sizeof text, "offset %llu: %s", (unsigned long long)at, why);
    return weiri_reader_text(reader, text, strlen(text), &s->channel.flaw);
}

/* One field of signal `i`. `at` is its offset in the file. */
static weir_err take_field(weiri_reader *reader,
                           signal *s,
                           uint32_t i,
                           int number,
                           const char *field,
                           size_t width,
                           uint64_t at)
{
    static const char *const names[] = {"physical minimum", "physical maximum", "digital minimum",
                                        "digital maximum"};
    double *numbers[] = {&s->physical_min, &s->physical_max, &s->digital_min, &s->digital_max};
    switch (number) {
    case 0:
        s->notes = memcmp(field, "EDF Annotations ", 16) == 0 ||
                   memcmp(field, "BDF Annotations ", 16) == 0;
        return weiri_reader_text(reader, field, width, &s->channel.label);
    case 1:
        return weiri_reader_text(reader, field, width, &s->channel.unit);
    case 6:
        /* Without it no place in a record is known. */
        if (!read_number(field, width, &s->samples) || s->samples < 0 || s->samples > MAX_SAMPLES ||
            s->samples != floor(s->samples)) {
            return weiri_malformed(
                reader, at,
                "found \"%.8s\", expected the number of samples per record: signal %u (%.32s)",
                field, i, s->channel.label);
        }
        return s->samples > 0
                   ? WEIR_OK
                   : flaw(reader, s, false, at,
                          "found \"0\", expected at least 1 sample per record: signal %u (%.32s)",
                          i, s->channel.label);
    default:
        /* Writers leave these fields of annotation signals in any state. */
        return s->notes || read_number(field, width, numbers[number - 2])
                   ? WEIR_OK
                   : flaw(reader, s, true, at,
                          "found \"%.8s\", expected a number: %s of signal %u (%.32s)", field,
                          names[number - 2], i, s->channel.label);
    }
}

/* The header contains all labels, then all transducers, and so on: read in that order, in
 * pieces. */
static weir_err read_signals(weiri_reader *reader, const edf *e, signal *signals)
{
    static const struct {
        size_t before, width; /* bytes of a signal's fields before it, and its own */
    } fields[] = {{0, 16}, {96, 8}, {104, 8}, {112, 8}, {120, 8}, {128, 8}, {216, 8}};
    char piece[2048];
    for (int number = 0; number < 7; number++) {
        size_t width = fields[number].width;
        uint64_t base = EDF_HEAD + (uint64_t)fields[number].before * e->signals;
        for (uint32_t first = 0; first < e->signals;) {
            uint32_t count = (uint32_t)(sizeof piece / width);
            count = count < e->signals - first ? count : e->signals - first;
            weir_err err = weiri_reader_header(reader, base + first * width, piece, count * width);
            for (uint32_t i = 0; err == WEIR_OK && i < count; i++) {
                err = take_field(reader, &signals[first + i], first + i, number, piece + i * width,
                                 width, base + (first + i) * width);
            }
            if (err != WEIR_OK) {
                return err;
            }
            first += count;
        }
    }
    return WEIR_OK;
}

/* Whether the least and the largest count have physical values. */
static bool is_finite(const weiri_scale *scale, bool bdf)
{
    double most = bdf ? 8388608 : 32768;
    return isfinite(scale->denom) &&
           isfinite((-most - scale->base) * scale->numer / scale->denom + scale->offset) &&
           isfinite((most - scale->base) * scale->numer / scale->denom + scale->offset);
}

/* Rate and scale of signal `i`, or why it has none. */
static weir_err set_scale(weiri_reader *reader, const edf *e, signal *s, uint32_t i)
{
    weiri_channel *channel = &s->channel;
    double rate_hz = s->samples / e->duration_s;
    if (!(rate_hz >= 1e-6 && rate_hz <= 1e9)) {
        return flaw(reader, s, false, DURATION_AT,
                    "%.0f samples in a record of %g s do not give a valid rate: signal %u (%.32s)",
                    s->samples, e->duration_s, i, channel->label);
    }
    double round_hz = nearbyint(rate_hz);
    /* 3000 samples in 0.1 s are 30 kHz, although 0.1 is not exact in binary. */
    channel->rate_hz = fabs(rate_hz - round_hz) < 1e-12 * rate_hz ? round_hz : rate_hz;
    if (channel->flaw) {
        return WEIR_OK;
    }
    if (s->digital_min == s->digital_max) {
        return flaw(reader, s, true, EDF_HEAD + 120ull * e->signals + 8ull * i,
                    "signal %u (%.32s): digital minimum and maximum are both %g", i, channel->label,
                    s->digital_min);
    }
    if (s->physical_min == s->physical_max) {
        weiri_notice(&reader->notices,
                     "%.32s: physical minimum and maximum are both %g; counts are delivered",
                     channel->label, s->physical_min);
        channel->unit = "";
        return WEIR_OK;
    }
    channel->scale = (weiri_scale){.base = s->digital_min,
                                   .numer = s->physical_max - s->physical_min,
                                   .denom = s->digital_max - s->digital_min,
                                   .offset = s->physical_min};
    return is_finite(&channel->scale, e->bdf)
               ? WEIR_OK
               : flaw(reader, s, true, EDF_HEAD + 104ull * e->signals + 8ull * i,
                      "signal %u (%.32s): its range from %g to %g overflows", i, channel->label,
                      s->physical_min, s->physical_max);
}

/* Makes channels of the signals, except annotations; place is the offset within a record. */
static weir_err make_channels(weiri_reader *reader, edf *e, signal *signals)
{
    uint64_t width = e->bdf ? 3 : 2;
    weir_err err =
        weiri_reader_get(reader, e->signals, sizeof *reader->channels, &reader->channels);
    if (err == WEIR_OK) {
        err = weiri_reader_get(reader, e->signals, sizeof *e->notes, &e->notes);
    }
    if (err != WEIR_OK) {
        return err;
    }
    for (uint32_t i = 0; err == WEIR_OK && i < e->signals; i++) {
        signal *s = &signals[i];
        uint64_t at = e->record_bytes;
        e->record_bytes += (uint64_t)s->samples * width;
        if (s->notes && s->samples > 0) {
            e->notes[e->note_count++] =
                (edf_notes){.at = at, .bytes = (uint64_t)s->samples * width};
        } else if (!s->notes) {
            s->channel.place = at;
            err = set_scale(reader, e, s, i);
            reader->channels[reader->channel_count++] = s->channel;
        }
    }
    return err;
}

/* ---- opening -------------------------------------------------------------------------------------- */

static bool probe(const unsigned char *first, size_t count)
{
    return count >= 8 && (memcmp(first,
                                 "\xff"
                                 "BIOSEMI",
                                 8) == 0 ||
                          memcmp(first, "0       ", 8) == 0);
}

static weir_err read_head(weiri_reader *reader, edf *e)
{
    weir_err err = weiri_reader_header(reader, 0, e->head, EDF_HEAD);
    if (err != WEIR_OK) {
        return err;
    }
    if (!probe((const unsigned char *)e->head, EDF_HEAD)) {
        return weiri_malformed(reader, 0,
                               "not an EDF or BDF file: begins with neither \"0\" nor BIOSEMI");
    }
    e->bdf = (unsigned char)e->head[0] == 0xff;
    const char *kind = e->head + RESERVED_AT;
    e->plus = memcmp(kind, "EDF+", 4) == 0 || memcmp(kind, "BDF+", 4) == 0;
    e->disjoint = e->plus && kind[4] == 'D';
    static const char *const variants[2][4] = {{"EDF", "EDF+", "EDF+C", "EDF+D"},
                                               {"BDF", "BDF+", "BDF+C", "BDF+D"}};
    size_t variant = !e->plus ? 0 : e->disjoint ? 3 : kind[4] == 'C' ? 2 : 1;
    reader->info.variant = variants[e->bdf][variant];
    double number = 0;
    err = head_number(reader, e, SIGNALS_AT, 4, 1, MAX_SIGNALS, "1 to 9999 signals", &number);
    if (err != WEIR_OK) {
        return err;
    }
    e->signals = (uint32_t)number;
    reader->data_offset = EDF_HEAD * ((uint64_t)e->signals + 1);
    if (!reader->input.pipe && reader->data_offset > reader->input.size) {
        return weiri_malformed(reader, SIGNALS_AT,
                               "%u signals: their header has %llu bytes, the file %llu", e->signals,
                               (unsigned long long)reader->data_offset,
                               (unsigned long long)reader->input.size);
    }
    double head_bytes = 0;
    err = head_number(reader, e, 184, 8, 0, 99999999, "the header's number of bytes", &head_bytes);
    if (err == WEIR_OK && head_bytes != (double)reader->data_offset) {
        err = weiri_malformed(reader, 184, "header of %.0f bytes: %u signals have one of %llu",
                              head_bytes, e->signals, (unsigned long long)reader->data_offset);
    }
    if (err == WEIR_OK) {
        err = head_number(reader, e, RECORDS_AT, 8, -1, 99999999, "a number of records, or -1",
                          &number);
        e->records = e->stated = (int64_t)number;
    }
    if (err == WEIR_OK &&
        (!read_number(e->head + DURATION_AT, 8, &e->duration_s) || !(e->duration_s >= 0))) {
        err =
            wrong(reader, DURATION_AT, e->head + DURATION_AT, 8, "a record's duration in seconds");
    }
    return err;
}

static void tell_missing(weiri_reader *reader, uint64_t whole)
{
    const edf *e = reader->own;
    weiri_notice(
        &reader->notices,
        "the file is truncated: %llu of %lld records are complete and read, %lld are missing",
        (unsigned long long)whole, (long long)e->stated, (long long)e->stated - (long long)whole);
}

static void tell_cut(weiri_reader *reader, uint64_t bytes)
{
    const edf *e = reader->own;
    weiri_notice(&reader->notices, "last record truncated (%llu of %llu bytes); ignored",
                 (unsigned long long)bytes, (unsigned long long)e->record_bytes);
}

/* Checks the header's claim against the file: from here on every offset is within it. */
static weir_err check_size(weiri_reader *reader, edf *e)
{
    uint64_t whole, rest;
    if (e->record_bytes == 0) {
        return weiri_malformed(reader, EDF_HEAD + 216ull * e->signals,
                               "no signal has samples in a record");
    }
    if (reader->input.pipe) {
        if (e->record_bytes > PIPE_BYTES) {
            return weiri_fail(WEIR_E_USAGE, "%s: records of %llu bytes cannot be read from a pipe",
                              reader->input.name, (unsigned long long)e->record_bytes);
        }
        e->records = e->records > 0 ? e->records : -1;
        return WEIR_OK;
    }
    whole = (reader->input.size - reader->data_offset) / e->record_bytes;
    rest = (reader->input.size - reader->data_offset) % e->record_bytes;
    int64_t stated = e->stated;
    if (whole == 0 && stated != 0) {
        return weiri_malformed(reader, reader->input.size,
                               "the file ends within its first record: found %llu bytes, expected "
                               "%llu",
                               (unsigned long long)rest, (unsigned long long)e->record_bytes);
    }
    if (stated > 0 && (uint64_t)stated <= whole) {
        rest += (whole - (uint64_t)stated) * e->record_bytes;
        if (rest > 0) {
            weiri_notice(&reader->notices, "%llu bytes after the last record are ignored",
                         (unsigned long long)rest);
        }
        return WEIR_OK;
    }
    /* A recorder that was killed leaves -1 or 0 there, an interrupted copy more than there are. */
    e->records = (int64_t)whole;
    if (stated == 0 && whole > 0) {
        weiri_notice(&reader->notices,
                     "the header states 0 records, but data follow: %llu records are read, up to "
                     "the end of the file",
                     (unsigned long long)whole);
    } else if (stated > 0) {
        tell_missing(reader, whole);
    }
    if (rest > 0) {
        tell_cut(reader, rest);
    }
    return WEIR_OK;
}

static weir_err edf_open(weiri_reader *reader)
{
    edf *e;
    signal *signals = NULL;
    weir_err err = weiri_reader_get(reader, 1, sizeof *e, &e);
    if (err == WEIR_OK) {
        err = read_head(reader, e);
    }
    if (err == WEIR_OK && reader->options->rate_hz != 0) {
        err = weiri_fail(WEIR_E_USAGE, "%s: EDF and BDF files state their rates; remove --rate",
                         reader->path);
    }
    if (err == WEIR_OK) {
        err = weiri_reader_get(reader, e->signals, sizeof *signals, &signals);
    }
    if (err == WEIR_OK) {
        err = read_signals(reader, e, signals);
    }
    if (err == WEIR_OK) {
        err = make_channels(reader, e, signals);
    }
    if (err == WEIR_OK && reader->channel_count == 0) {
        err = weiri_malformed(reader, SIGNALS_AT, "there are annotations but no signals");
    }
    reader->own = e;
    if (err == WEIR_OK) {
        err = check_size(reader, e);
    }
    if (err == WEIR_OK) {
        err = weiri_edf_notes_open(reader);
    }
    if (err == WEIR_OK) {
        err = read_start(reader, e);
    }
    reader->stored = (weiri_stored){.coding = e->bdf ? WEIRI_CODING_I24 : WEIRI_CODING_I16};
    return err;
}

static weir_err edf_layout(weiri_reader *reader)
{
    edf *e = reader->own;
    uint64_t width = weiri_stored_bytes(reader->stored);
    const weiri_channel *channel = &reader->channels[reader->picks ? reader->picks[0] : 0];
    /* Channels of one rate have equally many samples in a record. */
    e->samples = (uint64_t)nearbyint(channel->rate_hz * e->duration_s);
    reader->run_frames = e->samples;
    /* If few of many channels are selected, only theirs are read. */
    uint64_t picked = reader->pick_count * e->samples * width;
    e->by_columns =
        !reader->input.pipe && (e->record_bytes > WHOLE_BYTES || picked < e->record_bytes / 8);
    uint64_t frames = e->records < 0 ? WEIR_FRAMES_UNKNOWN : (uint64_t)e->records * e->samples;
    if (e->window) {
        return weiri_edf_notes_scan(reader);
    }
    weiri_reader_segment(reader, 0, frames);
    return WEIR_OK;
}

/* With gaps a segment's end is only known when it is read: its length stays unknown here. */
static weir_err edf_segment(weiri_reader *reader, uint64_t number, bool *ret_any)
{
    edf *e = reader->own;
    edf_onset onset = {0};
    *ret_any = number == 0 && reader->laid_out;
    if (!e->gaps) {
        return WEIR_OK;
    }
    if (number > 0) {
        weir_err err = weiri_edf_advance(reader, UINT64_MAX, &onset, ret_any);
        if (err != WEIR_OK || !*ret_any) {
            return err;
        }
        e->checked++;
    } else {
        e->checked = 0;
        onset.ns = e->first_ns;
    }
    e->segment_record = e->checked;
    e->segment_ns = onset.ns;
    reader->current =
        (weir_segment){.start_ns = onset.ns - e->first_ns, .frames = WEIR_FRAMES_UNKNOWN};
    return WEIR_OK;
}

/* ---- reading -------------------------------------------------------------------------------------- */

static weir_err edf_plan(const weiri_reader *reader, uint64_t tile_frames, uint64_t *ret_bytes)
{
    const edf *e = reader->own;
    if (e->by_columns) {
        return weiri_planes_plan(reader, tile_frames, ret_bytes);
    }
    *ret_bytes = e->record_bytes;
    return WEIR_OK;
}

static uint64_t channel_place(const weiri_reader *reader, uint64_t column)
{
    return reader->channels[reader->picks ? reader->picks[column] : column].place;
}

static uint64_t
place(const weiri_reader *reader, uint64_t column, uint64_t index, uint64_t *ret_follow)
{
    const edf *e = reader->own;
    uint64_t within = index % e->samples;
    *ret_follow = e->samples - within;
    return reader->data_offset + (e->segment_record + index / e->samples) * e->record_bytes +
           channel_place(reader, column) + within * weiri_stored_bytes(reader->stored);
}

static size_t column_at(const weiri_reader *reader, uint64_t column)
{
    return (size_t)channel_place(reader, column);
}

/* Bytes after the last complete record. The end of a pipe is only known here. */
static weir_err ends_early(weiri_reader *reader, uint64_t record, size_t got)
{
    const edf *e = reader->own;
    if (!reader->input.pipe) {
        return weiri_malformed(reader, reader->data_offset + record * e->record_bytes + got,
                               "the file ends within record %llu: it has become shorter",
                               (unsigned long long)(record + 1));
    }
    if (e->records > 0) {
        tell_missing(reader, record);
        reader->current.frames = WEIR_FRAMES_UNKNOWN; /* as much as there is */
    }
    if (got > 0) {
        tell_cut(reader, got);
    }
    return WEIR_OK;
}

static weir_err
edf_read(weiri_reader *reader, uint64_t index, size_t frames, void *rows, size_t *ret_frames)
{
    const edf *e = reader->own;
    if (e->gaps && (index < reader->loaded || index >= reader->loaded_end)) {
        uint64_t record = e->segment_record + index / e->samples;
        edf_onset onset;
        bool gap = false;
        weir_err err = weiri_edf_advance(reader, record, &onset, &gap);
        if (err != WEIR_OK || gap || record > e->checked) {
            *ret_frames = 0;
            return err;
        }
    }
    if (e->by_columns) {
        return weiri_planes_read(reader, place, index, frames, rows, ret_frames);
    }
    if (index < reader->loaded || index >= reader->loaded_end) {
        uint64_t record = e->segment_record + index / e->samples;
        uint64_t offset = reader->data_offset + record * e->record_bytes;
        size_t got = 0;
        reader->loaded = reader->loaded_end = 0;
        weir_err err = weiri_input_read(&reader->input, offset, reader->buffer,
                                        (size_t)e->record_bytes, (size_t)e->record_bytes, &got);
        if (err != WEIR_OK) {
            return err;
        }
        if (got < e->record_bytes) {
            *ret_frames = 0;
            return ends_early(reader, record, got);
        }
        reader->loaded = index / e->samples * e->samples;
        reader->loaded_end = reader->loaded + e->samples;
    }
    uint64_t there = reader->loaded_end - index;
    size_t count = frames < there ? frames : (size_t)there;
    weiri_columns_convert(reader, column_at, index - reader->loaded, count, rows);
    *ret_frames = count;
    return WEIR_OK;
}

const weiri_format_ops weiri_format_edf = {
    .ops_size = sizeof(weiri_format_ops),
    .info = {.name = "edf",
             .summary =
                 "EDF, EDF+, BDF, BDF+: biosignals with labels, units, scale; gaps, annotations",
             .extensions = ".edf .bdf .rec",
             .reads = true},
    .probe = probe,
    .open = edf_open,
    .layout = edf_layout,
    .segment = edf_segment,
    .plan = edf_plan,
    .read = edf_read,
};
