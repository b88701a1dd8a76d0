/* SPDX-License-Identifier: MIT
 *
 * sidefile.c: NAME.json next to an output: dims, axes, segments, dtype, units, start time,
 * annotations, the chain. Written in pieces through a small buffer, not as a tree: its size depends
 * on the number of channels, and a flush must not allocate (M6). The part that does not change
 * comes first and is written once.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "recording/writer.h"

typedef struct json {
    int fd;
    const char *name;
    weir_err err;
    uint64_t written;
    size_t used;
    char buffer[2048];
} json;

static void drain(json *out)
{
    if (out->err == WEIR_OK) {
        out->err = weiri_write_all(out->fd, out->name, out->buffer, out->used);
    }
    out->written += out->used;
    out->used = 0;
}

static void put(json *out, const char *text, size_t count)
{
    while (count > 0) {
        size_t room = sizeof out->buffer - out->used;
        size_t now = count < room ? count : room;
        memcpy(out->buffer + out->used, text, now);
        out->used += now;
        text += now;
        count -= now;
        if (out->used == sizeof out->buffer) {
            drain(out);
        }
    }
}

static void raw(json *out, const char *text)
{
    put(out, text, strlen(text));
}

static void text(json *out, const char *value)
{
    if (value == NULL) {
        raw(out, "null");
        return;
    }
    bool utf8 = weiri_is_utf8(value, strlen(value));
    raw(out, "\"");
    for (; *value; value++) {
        unsigned char byte = (unsigned char)*value;
        if (byte == '"' || byte == '\\') {
            put(out, "\\", 1);
            put(out, value, 1);
        } else if (byte < ' ' || byte == 0x7f || (byte >= 0x80 && !utf8)) {
            char code[8];
            snprintf(code, sizeof code, "\\u%04x", byte);
            raw(out, byte == '\n' ? "\\n" : code);
        } else {
            put(out, value, 1);
        }
    }
    raw(out, "\"");
}

static void number(json *out, double value)
{
    char digits[40];
    value = value == 0 ? 0 : value; /* no -0 */
    raw(out, isfinite(value) ? weiri_number_write(value, digits, sizeof digits) : "null");
}

static void whole(json *out, uint64_t value)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    raw(out, digits);
}

static void texts(json *out, const char *const *values, uint64_t count)
{
    raw(out, "[");
    for (uint64_t i = 0; i < count; i++) {
        raw(out, i ? ", " : "");
        text(out, values[i]);
    }
    raw(out, "]");
}

static void axis(json *out, const weir_axis *axis_of, double start)
{
    text(out, axis_of->name);
    raw(out, ": {\"unit\": ");
    text(out, axis_of->unit ? axis_of->unit : "");
    if (axis_of->size > 0) { /* not the stream's */
        raw(out, ", \"size\": ");
        whole(out, axis_of->size);
    }
    if (axis_of->labels) {
        raw(out, ", \"labels\": ");
        texts(out, axis_of->labels, axis_of->size);
    } else if (axis_of->values) {
        raw(out, ", \"values\": [");
        for (uint64_t i = 0; i < axis_of->size; i++) {
            raw(out, i ? ", " : "");
            number(out, axis_of->values[i]);
        }
        raw(out, "]");
    } else {
        raw(out, ", \"start\": ");
        number(out, start);
        raw(out, ", \"step\": ");
        number(out, axis_of->step);
    }
    raw(out, "}");
}

/* [onset_s, duration_s or null, text] each, in the time of the segments. */
static void annotations(json *out, const weir_source_info *source)
{
    raw(out, ",\n\"annotations\": [");
    for (size_t i = 0; source && i < source->annotation_count; i++) {
        const weir_annotation *annotation = &source->annotations[i];
        raw(out, i ? ",\n  [" : "\n  [");
        number(out, (double)annotation->onset_ns / 1e9);
        raw(out, ", ");
        number(out, annotation->duration_ns < 0 ? NAN : (double)annotation->duration_ns / 1e9);
        raw(out, ", ");
        text(out, annotation->text);
        raw(out, "]");
    }
    raw(out, "],\n\"annotations_left_out\": ");
    whole(out, source ? source->annotations_left_out : 0);
}

weir_err weiri_side_head(weiri_writer *writer, const weir_source_info *source, const char *chain)
{
    const weir_spec *spec = &writer->spec;
    json out = {.fd = writer->side_fd, .name = writer->side_part};
    raw(&out, "{\n\"weir\": ");
    text(&out, WEIR_VERSION);
    raw(&out, ",\n\"format\": ");
    text(&out, writer->format->info.name);
    raw(&out, ",\n\"dtype\": ");
    text(&out, weir_dtype_name(spec->dtype));
    if (spec->scale != 0 && !weiri_writes_physical(writer)) {
        raw(&out, ",\n\"scale\": ");
        number(&out, spec->scale);
    }
    raw(&out, ",\n\"rate_hz\": ");
    number(&out, spec->rate_hz);
    raw(&out, ",\n\"units\": ");
    int channels = weir_spec_dim(spec, "ch");
    if (spec->units && channels > 0) {
        texts(&out, spec->units, spec->dims[channels].size);
    } else {
        raw(&out, "null");
    }
    raw(&out, ",\n\"start_time\": ");
    text(&out, source && source->start_time ? source->start_time : "");
    raw(&out, ",\n\"chain\": ");
    text(&out, chain);
    annotations(&out, source);
    raw(&out, ",\n\"segments\": [");
    drain(&out);
    writer->side_head_bytes = out.written;
    return out.err;
}

/* From the previous state of the file. */
static weir_err copy_head(const weiri_writer *writer, int to)
{
    char some[2048];
    for (uint64_t at = 0; at < writer->side_head_bytes;) {
        uint64_t left = writer->side_head_bytes - at;
        ssize_t got =
            pread(writer->side_fd, some, left < sizeof some ? left : sizeof some, (off_t)at);
        if (got <= 0) {
            return weiri_fail(WEIR_E_IO, "%s: %s", writer->side_part, strerror(got ? errno : EIO));
        }
        weir_err err = weiri_write_all(to, writer->side_next, some, (size_t)got);
        if (err != WEIR_OK) {
            return err;
        }
        at += (uint64_t)got;
    }
    return WEIR_OK;
}

static void put_spans(weiri_writer *writer, json *out)
{
    for (size_t i = 0; i < writer->span_count; i++) {
        const weiri_span *span = &writer->spans[i];
        writer->side_last_span = writer->side_head_bytes + out->written + out->used;
        raw(out, writer->spans_before + i > 0 ? ",\n  {\"start_s\": " : "\n  {\"start_s\": ");
        number(out, span->start_s);
        raw(out, ", \"first_row\": ");
        whole(out, span->first_row);
        raw(out, ", \"rows\": ");
        whole(out, span->rows);
        raw(out, "}");
    }
}

/* Where an unfinished output ends: the time of the first row that is not in it. */
static double stopped_s(const weiri_writer *writer)
{
    const weiri_span *last = writer->span_count > 0 ? &writer->spans[writer->span_count - 1] : NULL;
    return last ? last->start_s + (double)last->rows / writer->spec.rate_hz : 0;
}

static void put_tail(weiri_writer *writer, json *to, bool complete)
{
    const weir_spec *spec = &writer->spec;
    json out = *to;
    put_spans(writer, &out);
    raw(&out, "],\n\"segments_left_out\": 0,\n\"dims\": [");
    for (uint32_t i = 0; i < spec->dim_count; i++) {
        raw(&out, i ? ", " : "");
        text(&out, spec->dims[i].name);
    }
    raw(&out, "],\n\"axes\": {");
    for (uint32_t i = 0; i < spec->dim_count; i++) {
        /* The stream's axis starts at the first row. */
        double start = i == 0 && writer->span_count ? writer->first_start_s : spec->dims[i].start;
        raw(&out, i ? ",\n  " : "\n  ");
        axis(&out, &spec->dims[i], start);
    }
    raw(&out, "},\n\"rows\": ");
    whole(&out, writer->rows);
    raw(&out, complete ? ",\n\"complete\": true" : ",\n\"complete\": false,\n\"stopped_s\": ");
    if (!complete) {
        number(&out, stopped_s(writer));
    }
    raw(&out, "\n}\n");
    drain(&out);
    *to = out;
}

/* Written next to the previous state, which it replaces when complete: if the process is killed,
 * one of the two exists. */
weir_err weiri_side_tail(weiri_writer *writer, bool complete)
{
    int fd = -1;
    weir_err err = weiri_writer_open(writer->side_next, true, &fd);
    if (err != WEIR_OK) {
        return err;
    }
    err = copy_head(writer, fd);
    json out = {.fd = fd, .name = writer->side_next, .err = err};
    put_tail(writer, &out, complete);
    err = out.err;
    /* A checkpoint relies on its first bytes. */
    if (err == WEIR_OK && writer->durable && fsync(fd) != 0) {
        err =
            weiri_fail(WEIR_E_IO, "%s: cannot be written: %s", writer->side_next, strerror(errno));
    }
    if (err == WEIR_OK && rename(writer->side_next, writer->side_part) != 0) {
        err =
            weiri_fail(WEIR_E_IO, "%s: cannot be renamed: %s", writer->side_next, strerror(errno));
    }
    if (err != WEIR_OK) {
        unlink(writer->side_next);
        close(fd);
        return err;
    }
    close(writer->side_fd);
    writer->side_fd = fd;
    return WEIR_OK;
}
