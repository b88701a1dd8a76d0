/* SPDX-License-Identifier: MIT
 *
 * nsx.c: reads Blackrock's NSx: file specs 2.1 (NEURALSG: rows to the end), 2.2 and 2.3 (NEURALCD)
 * and 3.0 (BRSMPGRP): data packets of frames after a timestamp. Packets of one frame each, as with
 * a PTP clock, are read by blocks and converted by runs. A pause is a gap between two packets (S4):
 * for timestamps that count at 30 kHz any jump; in other units a timestamp further than
 * gap_tolerance from the expected time. Packets are not stored: segments are found again while
 * reading. Does not read spikes and events (NEV), nor pipes.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "recording/nsx.h"

#define HEAD_21      32u
#define HEAD_22      314u
#define EXTENDED     66u
#define MAX_CHANNELS 16384u
#define SCAN_BYTES   (64u * 1024u)
/* timestamps beyond ten years do not count from the start of a recording */
#define LATER_S 315360000u

static int16_t short_at(const unsigned char *from)
{
    return (int16_t)(uint16_t)weiri_little(from, 2);
}

/* ---- the header ----------------------------------------------------------------------------------- */

static bool probe(const unsigned char *first, size_t count)
{
    static const char magics[][9] = {"NEURALSG", "NEURALCD", "BRSMPGRP", "NEURALEV", "BREVENTS"};
    for (size_t i = 0; count >= 8 && i < sizeof magics / sizeof *magics; i++) {
        if (memcmp(first, magics[i], 8) == 0) {
            return true;
        }
    }
    return false;
}

/* Files that accompany a recording, by kind. */
static weir_err refuse_kin(weiri_reader *reader, const unsigned char *first, size_t count)
{
    if (count >= 8 && (memcmp(first, "NEURALEV", 8) == 0 || memcmp(first, "BREVENTS", 8) == 0)) {
        return weiri_malformed(reader, 0,
                               "a Blackrock NEV file: spikes and events, no continuous signal; use "
                               "the .ns1 to .ns6 file of the same recording");
    }
    const char *dot = strrchr(reader->path, '.');
    if (dot && weiri_equal_blind(dot, ".ccf")) {
        return weiri_malformed(reader, 0,
                               "a Blackrock CCF file: settings of the system, no signal; use the "
                               ".ns1 to .ns6 file of the same recording");
    }
    return weiri_malformed(reader, 0,
                           "not an NSx file: begins with none of NEURALSG, NEURALCD, BRSMPGRP");
}

/* Windows' SYSTEMTIME, in UTC according to Blackrock: year, month, day of week, day, hour,
 * minute, second, ms. */
static weir_err read_start(weiri_reader *reader, const unsigned char *from)
{
    unsigned t[8];
    char text[40];
    bool any = false;
    for (int i = 0; i < 8; i++) {
        t[i] = (unsigned)weiri_little(from + 2 * i, 2);
        any = any || t[i];
    }
    if (t[0] < 1601 || t[0] > 9999 || !weiri_is_date((int)t[0], (int)t[1], (int)t[3]) ||
        t[4] > 23 || t[5] > 59 || t[6] > 60 || t[7] > 999) {
        if (any) {
            weiri_notice(
                &reader->notices,
                "offset 294: %u-%u-%u %u:%u:%u.%u is not a valid time; the start is unknown", t[0],
                t[1], t[3], t[4], t[5], t[6], t[7]);
        }
        return WEIR_OK;
    }
    snprintf(text, sizeof text, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ", t[0], t[1], t[3], t[4], t[5],
             t[6], t[7]);
    return weiri_reader_text(reader, text, strlen(text), &reader->start_time);
}

static weir_err check_rate(weiri_reader *reader, uint64_t period_at)
{
    const nsx *e = reader->own;
    if (e->period == 0) {
        return weiri_malformed(reader, period_at,
                               "found a period of 0, expected 1/30000 s or more");
    }
    if (e->resolution_hz == 0) {
        return weiri_malformed(reader, period_at + 4,
                               "found a time resolution of 0, expected ticks per second");
    }
    return WEIR_OK;
}

/* Checks the header's claim against the file: no size that follows from it is used before. */
static weir_err check_channels(weiri_reader *reader, uint64_t at, uint64_t head, uint64_t each)
{
    uint64_t needs = head + reader->channel_count * each;
    if (reader->channel_count == 0 || reader->channel_count > MAX_CHANNELS) {
        return weiri_malformed(reader, at, "found %llu channels, expected 1 to %u",
                               (unsigned long long)reader->channel_count, MAX_CHANNELS);
    }
    if (needs > reader->input.size) {
        return weiri_malformed(
            reader, reader->input.size,
            "the file ends within its header: %llu channels need %llu bytes, found %llu",
            (unsigned long long)reader->channel_count, (unsigned long long)needs,
            (unsigned long long)reader->input.size);
    }
    reader->data_offset = needs;
    return weiri_reader_get(reader, reader->channel_count, sizeof *reader->channels,
                            &reader->channels);
}

/* Spec 2.1 states electrodes by number only, and no scale. */
static weir_err open_21(weiri_reader *reader)
{
    nsx *e = reader->own;
    unsigned char head[HEAD_21], id[4];
    weir_err err = weiri_reader_header(reader, 0, head, sizeof head);
    if (err != WEIR_OK) {
        return err;
    }
    e->spec = 21;
    e->resolution_hz = NSX_CLOCK_HZ;
    e->period = (uint32_t)weiri_little(head + 24, 4);
    reader->channel_count = weiri_little(head + 28, 4);
    err = check_rate(reader, 24);
    if (err == WEIR_OK) {
        err = check_channels(reader, 28, HEAD_21, sizeof id);
    }
    for (uint64_t i = 0; err == WEIR_OK && i < reader->channel_count; i++) {
        char label[32];
        err = weiri_reader_header(reader, HEAD_21 + i * sizeof id, id, sizeof id);
        if (err == WEIR_OK) {
            uint64_t electrode = weiri_little(id, sizeof id);
            bool analog = electrode > 128 && electrode <= 144; /* inputs other than electrodes */
            snprintf(label, sizeof label, "%s%llu", analog ? "ainp" : "chan",
                     (unsigned long long)(analog ? electrode - 128 : electrode));
            err = weiri_reader_text(reader, label, strlen(label), &reader->channels[i].label);
            reader->channels[i].unit = "";
        }
    }
    weiri_notice(&reader->notices, "NSx 2.1 states no scale and no start; counts are delivered");
    return err;
}

static weir_err read_channel(weiri_reader *reader, uint64_t i)
{
    unsigned char ext[EXTENDED];
    weiri_channel *channel = &reader->channels[i];
    uint64_t at = HEAD_22 + i * EXTENDED;
    weir_err err = weiri_reader_header(reader, at, ext, sizeof ext);
    if (err == WEIR_OK && (ext[0] != 'C' || ext[1] != 'C')) {
        err = weiri_malformed(reader, at, "found bytes %u %u, expected CC of channel %llu's header",
                              ext[0], ext[1], (unsigned long long)i);
    }
    if (err == WEIR_OK) {
        const char *label = (const char *)ext + 4;
        err = weiri_reader_text(reader, label, strnlen(label, 16), &channel->label);
    }
    if (err == WEIR_OK) {
        const char *unit = (const char *)ext + 30;
        err = weiri_reader_text(reader, unit, strnlen(unit, 16), &channel->unit);
    }
    if (err != WEIR_OK) {
        return err;
    }
    double low = short_at(ext + 22), high = short_at(ext + 24);
    double from = short_at(ext + 26), to = short_at(ext + 28);
    if (low == high || from == to) {
        weiri_notice(&reader->notices, "%.32s: a scale of %g..%g to %g..%g; counts are delivered",
                     channel->label, low, high, from, to);
        channel->unit = "";
    } else if (low == -high && from == -to) {
        channel->scale = (weiri_scale){.numer = to, .denom = high};
    } else {
        channel->scale =
            (weiri_scale){.base = low, .numer = to - from, .denom = high - low, .offset = from};
    }
    return WEIR_OK;
}

static weir_err open_22(weiri_reader *reader, bool wide)
{
    nsx *e = reader->own;
    unsigned char head[HEAD_22];
    weir_err err = weiri_reader_header(reader, 0, head, sizeof head);
    if (err != WEIR_OK) {
        return err;
    }
    unsigned major = head[8], minor = head[9];
    if (wide ? major < 3 : major != 2) {
        return weiri_malformed(reader, 8, "found file spec %u.%u, expected %s", major, minor,
                               wide ? "3.0" : "2.2 or 2.3");
    }
    e->spec = wide ? 30 : major * 10 + minor;
    e->head_bytes = wide ? 13 : 9;
    e->period = (uint32_t)weiri_little(head + 286, 4);
    e->resolution_hz = (uint32_t)weiri_little(head + 290, 4);
    reader->channel_count = weiri_little(head + 310, 4);
    uint64_t stated = weiri_little(head + 10, 4);
    err = check_rate(reader, 286);
    if (err == WEIR_OK) {
        err = check_channels(reader, 310, HEAD_22, EXTENDED);
    }
    if (err == WEIR_OK && (stated < reader->data_offset || stated > reader->input.size)) {
        err = weiri_malformed(
            reader, 10,
            "found a header of %llu bytes, expected at least %llu (%llu channels) "
            "within the file's %llu",
            (unsigned long long)stated, (unsigned long long)reader->data_offset,
            (unsigned long long)reader->channel_count, (unsigned long long)reader->input.size);
    }
    for (uint64_t i = 0; err == WEIR_OK && i < reader->channel_count; i++) {
        err = read_channel(reader, i);
    }
    reader->data_offset = stated;
    return err == WEIR_OK ? read_start(reader, head + 294) : err;
}

static weir_err nsx_open(weiri_reader *reader)
{
    unsigned char magic[8];
    size_t got = 0;
    nsx *e;
    if (reader->input.pipe) {
        return weiri_fail(WEIR_E_USAGE, "%s: an NSx file cannot be read from a pipe",
                          reader->input.name);
    }
    weir_err err = weiri_input_read(&reader->input, 0, magic, sizeof magic, 1, &got);
    if (err == WEIR_OK) {
        err = weiri_reader_get(reader, 1, sizeof *e, &e);
    }
    if (err != WEIR_OK) {
        return err;
    }
    reader->own = e;
    bool sg = got == 8 && memcmp(magic, "NEURALSG", 8) == 0;
    bool cd = got == 8 && memcmp(magic, "NEURALCD", 8) == 0;
    bool group = got == 8 && memcmp(magic, "BRSMPGRP", 8) == 0;
    if (!sg && !cd && !group) {
        return refuse_kin(reader, magic, got);
    }
    if (reader->options->rate_hz != 0) {
        return weiri_fail(WEIR_E_USAGE, "%s: NSx files state their rate; remove --rate",
                          reader->path);
    }
    err = sg ? open_21(reader) : open_22(reader, group);
    if (err != WEIR_OK) {
        return err;
    }
    for (uint64_t i = 0; i < reader->channel_count; i++) {
        reader->channels[i].rate_hz = (double)NSX_CLOCK_HZ / e->period;
    }
    static const struct {
        uint32_t spec;
        const char *name;
    } variants[] = {{21, "NSx 2.1"}, {22, "NSx 2.2"}, {23, "NSx 2.3"}, {30, "NSx 3.0"}};
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        if (e->spec == variants[i].spec) {
            reader->info.variant = variants[i].name;
        }
    }
    e->frame_bytes = (size_t)reader->channel_count * 2;
    e->counts = e->resolution_hz == NSX_CLOCK_HZ;
    e->tolerance_ns = reader->options->gap_tolerance_s * 1e9;
    reader->stored = (weiri_stored){.coding = WEIRI_CODING_I16};
    return WEIR_OK;
}

/* ---- segments ------------------------------------------------------------------------------------- */

static void tell_all(weiri_reader *reader, const nsx_tally *told)
{
    const nsx *e = reader->own;
    weiri_notices *notices = &reader->notices;
    if (told->empty) {
        weiri_notice(notices, "%llu data packets without a frame are left out",
                     (unsigned long long)told->empty);
    }
    if (told->extra) {
        weiri_notice(notices,
                     "%llu data packets of one frame have the timestamp of the next packet, as "
                     "Central writes them at a pause; left out",
                     (unsigned long long)told->extra);
    }
    if (told->damaged) {
        weiri_notice(notices, "offset %llu: a damaged packet, %llu in all: %llu bytes are left out",
                     (unsigned long long)told->damaged_at, (unsigned long long)told->damaged,
                     (unsigned long long)told->damaged_bytes);
    }
    if (told->late) {
        weiri_notice(notices,
                     "%llu of %llu packets are late or early within gap_tolerance (%g ms), by up "
                     "to %.3g ms; not treated as gaps",
                     (unsigned long long)told->late, (unsigned long long)told->packets,
                     e->tolerance_ns * 1e-6, told->late_ns * 1e-6);
    }
    if (told->drifts) {
        weiri_notice(notices,
                     "%llu gaps are drift, not jumps: timestamps drift from the stated rate; a "
                     "larger gap_tolerance (now %g ms) removes them",
                     (unsigned long long)told->drifts, e->tolerance_ns * 1e-6);
    }
}

/* Counts a packet that is off by half a frame or more, in a segment with `frames` frames before
 * it. */
static void
note_stamp(const nsx *e, nsx_tally *told, uint64_t from, uint64_t frames, uint64_t stamp)
{
    double late_ns = fabs(weiri_nsx_lateness(e, from, frames, stamp));
    if (late_ns > 0.5e9 / NSX_CLOCK_HZ * e->period) {
        told->late++;
        told->late_ns = late_ns > told->late_ns ? late_ns : told->late_ns;
    }
}

static weir_err nsx_layout(weiri_reader *reader)
{
    nsx *e = reader->own;
    nsx_tally told = {0};
    nsx_packet before = {0}, it;
    uint64_t first = 0, frames = 0; /* of the segment: its timestamp, and its frames so far */
    bool any = true;
    size_t least = NSX_LOOK * (e->head_bytes + e->frame_bytes);
    e->look = (nsx_window){.room = least > SCAN_BYTES ? least : SCAN_BYTES, .hops = true};
    weir_err err = weiri_reader_get(reader, e->look.room, 1, &e->look.bytes);
    weiri_nsx_rewind(reader);
    while (err == WEIR_OK && any) {
        err = weiri_nsx_next(reader, &told, &it, &any);
        if (err != WEIR_OK) {
            return err;
        }
        bool begins = told.packets == 0 && any;
        if (begins && (!e->counts || it.stamp / e->resolution_hz > LATER_S)) {
            e->origin = it.stamp; /* before any floating point */
        }
        if (frames > 0 && (!any || !weiri_nsx_follows(e, first, frames, it.stamp))) {
            weiri_reader_segment(reader, weiri_nsx_ns(e, first), frames);
            begins = any;
            told.drifts +=
                any && !e->counts && weiri_nsx_follows(e, before.stamp, before.frames, it.stamp);
        } else if (frames > 0 && !e->counts) {
            note_stamp(e, &told, first, frames, it.stamp);
        }
        if (begins) {
            first = it.stamp;
            frames = 0;
        }
        if (any) {
            before = it;
            frames += it.frames;
            told.packets++;
        }
    }
    if (e->origin) {
        weiri_notice(&reader->notices,
                     "timestamps are from an independent clock; times are relative to the first, "
                     "%llu at %u Hz",
                     (unsigned long long)e->origin, e->resolution_hz);
    }
    uint64_t rest = e->spec == 21 ? (reader->input.size - reader->data_offset) % e->frame_bytes : 0;
    if (rest) {
        weiri_notice(&reader->notices,
                     "the file ends within a frame: %llu of its %zu bytes are present; ignored",
                     (unsigned long long)rest, e->frame_bytes);
    }
    if (told.packets == 0) {
        weiri_notice(&reader->notices, "the file contains no frames");
    }
    tell_all(reader, &told);
    weiri_nsx_rewind(reader);
    return err;
}

/* Moves to the next packet of this segment. false: the segment ends; the first packet of the
 * next may be waiting. */
static weir_err advance(weiri_reader *reader, bool *ret_any)
{
    nsx *e = reader->own;
    nsx_packet it;
    bool any = false;
    *ret_any = false;
    if (e->waiting) {
        return WEIR_OK;
    }
    weir_err err = weiri_nsx_next(reader, NULL, &it, &any);
    if (err != WEIR_OK || !any) {
        return err;
    }
    *ret_any = weiri_nsx_follows(e, e->segment_stamp, e->first + e->now.frames, it.stamp);
    e->waiting = !*ret_any;
    e->first = *ret_any ? e->first + e->now.frames : 0;
    e->now = it;
    return WEIR_OK;
}

/* A segment's end is only known when it is read: its length stays unknown here. */
static weir_err nsx_segment(weiri_reader *reader, uint64_t segment_number, bool *ret_any)
{
    nsx *e = reader->own;
    weir_err err = WEIR_OK;
    bool any = true;
    if (segment_number == 0) {
        weiri_nsx_rewind(reader);
        err = weiri_nsx_next(reader, NULL, &e->now, &any);
        e->waiting = any;
    }
    while (err == WEIR_OK && segment_number > 0 && any) {
        err = advance(reader, &any);
    }
    *ret_any = e->waiting;
    e->waiting = false;
    e->first = 0;
    e->segment_stamp = e->now.stamp;
    reader->current =
        (weir_segment){.start_ns = weiri_nsx_ns(e, e->now.stamp), .frames = WEIR_FRAMES_UNKNOWN};
    return err;
}

/* ---- reading -------------------------------------------------------------------------------------- */

static weir_err nsx_plan(const weiri_reader *reader, uint64_t tile_frames, uint64_t *ret_bytes)
{
    const nsx *e = reader->own;
    uint64_t stride = e->frame_bytes + e->head_bytes, least = NSX_LOOK * stride;
    uint64_t bytes = WEIRI_BLOCK_BYTES, wanted = 0;
    if (weiri_mul(tile_frames, stride, &wanted) && wanted < bytes) {
        bytes = wanted;
    }
    uint64_t rest = reader->input.size - reader->data_offset;
    bytes = rest < bytes ? rest : bytes;
    *ret_bytes = bytes > least ? bytes : least;
    return WEIR_OK;
}

/* The number of packets of one frame each that are in the window after this one's frame and
 * contiguous in time: they are converted together. The last of them becomes the current one. */
static size_t
gather(weiri_reader *reader, const unsigned char *frame, size_t bytes, size_t most, uint64_t index)
{
    nsx *e = reader->own;
    size_t stride = e->head_bytes + e->frame_bytes, count = 1;
    /* The header after the last one is examined too: before a longer packet a frame may be an
     * extra one. */
    while (count < most && (count + 1) * stride <= bytes) {
        const unsigned char *head = frame + count * stride - e->head_bytes;
        const unsigned char *behind = head + stride;
        nsx_packet it = {.at = e->now.at + stride,
                         .data_at = e->now.data_at + stride,
                         .stamp = weiri_little(head + 1, e->head_bytes - 5),
                         .frames = 1};
        if (head[0] != 1 || weiri_little(head + e->head_bytes - 4, 4) != 1 || behind[0] != 1 ||
            weiri_little(behind + e->head_bytes - 4, 4) != 1 ||
            !weiri_nsx_follows(e, e->segment_stamp, index + count, it.stamp)) {
            break;
        }
        e->now = it;
        count++;
    }
    e->last = e->now;
    e->first = index + count - 1;
    e->next_at = e->now.data_at + e->frame_bytes;
    return count;
}

static weir_err
nsx_read(weiri_reader *reader, uint64_t index, size_t frames, void *rows, size_t *ret_frames)
{
    nsx *e = reader->own;
    if (e->look.bytes != reader->buffer) {
        uint64_t bytes = 0;
        weir_err err = nsx_plan(reader, reader->tile_frames, &bytes);
        if (err != WEIR_OK) {
            return err;
        }
        e->look = (nsx_window){.bytes = reader->buffer, .room = (size_t)bytes};
    }
    while (index - e->first >= e->now.frames) {
        bool any = false;
        weir_err err = advance(reader, &any);
        if (err != WEIR_OK || !any) {
            *ret_frames = 0;
            return err;
        }
    }
    uint64_t within = index - e->first;
    uint64_t at = e->now.data_at + within * e->frame_bytes;
    const unsigned char *from;
    size_t bytes = 0;
    weir_err err = weiri_nsx_look(reader, at, e->frame_bytes, &from, &bytes);
    if (err != WEIR_OK) {
        return err;
    }
    size_t there = bytes / e->frame_bytes;
    if (there == 0) {
        return weiri_malformed(reader, at,
                               "the file ends within a frame: found %zu bytes, expected %zu", bytes,
                               e->frame_bytes);
    }
    size_t stride = e->frame_bytes;
    if (e->now.frames == 1 && e->head_bytes) {
        there = gather(reader, from, bytes, frames, index);
        stride += e->head_bytes;
    } else {
        uint64_t left = e->now.frames - within;
        there = there < left ? there : (size_t)left;
        there = there < frames ? there : frames;
    }
    weiri_rows_convert(reader, from, stride, there, rows);
    *ret_frames = there;
    return WEIR_OK;
}

const weiri_format_ops weiri_format_nsx = {
    .ops_size = sizeof(weiri_format_ops),
    .info = {.name = "nsx",
             .summary = "Blackrock NSx 2.1 to 3.0: arrays and analog inputs; pauses, PTP clocks",
             .extensions = ".ns1 .ns2 .ns3 .ns4 .ns5 .ns6 .ns9",
             .reads = true},
    .kin = ".nev .ccf",
    .probe = probe,
    .open = nsx_open,
    .layout = nsx_layout,
    .segment = nsx_segment,
    .plan = nsx_plan,
    .read = nsx_read,
};
