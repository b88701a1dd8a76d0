/* SPDX-License-Identifier: MIT
 *
 * edf_notes.c: the annotation signals of EDF+ and BDF+: lists of "+onset 0x15 duration 0x14 text 0x14 0x00".
 * The first one of each record states when the record begins; with gaps (EDF+D, BDF+D) that makes the
 * segments. Onsets are decimals and stay whole numbers of ns. Keeps one window of the file; annotations are
 * kept by weiri_reader_annotate, which caps them.
 */
#include <math.h>
#include <string.h>

#include "recording/edf.h"

#define WINDOW_BYTES                                                                               \
    (64u * 1024u)         /* also the most that is read of one annotation signal a record */
#define MOST_S 9000000000 /* ns of it fit in 63 bit */

/* ---- lists ---------------------------------------------------------------------------------------- */

/* A decimal in s as ns, up to `end`; NULL where there is none. */
static const char *read_ns(const char *at, const char *end, int64_t *ret_ns)
{
    int64_t whole = 0, part = 0, unit = 1000000000;
    bool any = false;
    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        whole = whole * 10 + (*at - '0');
        any = true;
        if (whole > MOST_S) {
            return NULL;
        }
    }
    if (at < end && *at == '.') {
        for (at++; at < end && *at >= '0' && *at <= '9'; at++) {
            any = true;
            unit /= 10; /* 0 behind the ninth digit */
            part += unit * (*at - '0');
        }
    }
    *ret_ns = whole * 1000000000 + part;
    return any ? at : NULL;
}

/* "+567.25", "-1" and, behind 0x15, a duration: up to the first 0x14. */
static bool read_times(edf_note_walk *walk, edf_note *ret)
{
    const char *at = walk->at;
    bool minus = *at == '-';
    if (*at != '+' && !minus) {
        return false;
    }
    *ret = (edf_note){.duration_ns = -1, .first = true};
    at = read_ns(at + 1, walk->end, &ret->onset_ns);
    if (at && at < walk->end && *at == 0x15) {
        at = read_ns(at + 1, walk->end, &ret->duration_ns);
    }
    if (at == NULL || at == walk->end || *at != 0x14) {
        return false;
    }
    ret->onset_ns = minus ? -ret->onset_ns : ret->onset_ns;
    walk->at = at + 1;
    return true;
}

bool weiri_edf_note_next(edf_note_walk *walk, edf_note *ret)
{
    while (walk->at < walk->end) {
        if (*walk->at == 0) {
            walk->inside = false;
            walk->at++;
            continue;
        }
        if (!walk->inside) {
            walk->inside = read_times(walk, &walk->note);
        }
        const char *zero = memchr(walk->at, 0, (size_t)(walk->end - walk->at));
        const char *stop = zero ? zero : walk->end;
        const char *behind = memchr(walk->at, 0x14, (size_t)(stop - walk->at));
        if (!walk->inside || behind == NULL) {
            walk->at = stop; /* no list, or one that is cut */
            walk->inside = false;
            continue;
        }
        *ret = walk->note;
        ret->text = walk->at;
        ret->bytes = (size_t)(behind - walk->at);
        walk->note.first = false;
        walk->at = behind + 1;
        return true;
    }
    return false;
}

/* ---- records -------------------------------------------------------------------------------------- */

/* Annotation signal `number` of a record. */
static weir_err
read_notes(weiri_reader *reader, uint64_t record, uint32_t number, edf_note_walk *ret_walk)
{
    edf *e = reader->own;
    const edf_notes *notes = &e->notes[number];
    uint64_t at = reader->data_offset + record * e->record_bytes + notes->at;
    size_t bytes = notes->bytes < e->window_bytes ? (size_t)notes->bytes : e->window_bytes;
    if (at < e->window_at || at + bytes > e->window_at + e->window_have) {
        /* Of small records several at once; of large ones nothing else is read. */
        bool many = e->record_bytes <= e->window_bytes / 4;
        size_t piece = many ? e->window_bytes : bytes;
        e->window_at = at;
        e->window_have = 0;
        weir_err err =
            weiri_input_read(&reader->input, at, e->window, piece, piece, &e->window_have);
        if (err != WEIR_OK) {
            return err;
        }
    }
    size_t from = (size_t)(at - e->window_at);
    size_t there = e->window_have > from ? e->window_have - from : 0;
    const char *text = (const char *)e->window + from;
    *ret_walk = (edf_note_walk){.at = text, .end = text + (there < bytes ? there : bytes)};
    return WEIR_OK;
}

weir_err
weiri_edf_onset(weiri_reader *reader, uint64_t record, int64_t *ret_onset_ns, bool *ret_any)
{
    edf_note_walk walk;
    edf_note note;
    weir_err err = read_notes(reader, record, 0, &walk);
    if (err == WEIR_OK) {
        /* It stands at the very beginning, else it is another event. */
        *ret_any = walk.at < walk.end && *walk.at != 0 && weiri_edf_note_next(&walk, &note) &&
                   note.bytes == 0;
        *ret_onset_ns = *ret_any ? note.onset_ns : 0;
    }
    return err;
}

weir_err weiri_edf_notes_open(weiri_reader *reader)
{
    edf *e = reader->own;
    e->tolerance_ns = reader->options->gap_tolerance_s * 1e9;
    if (e->gaps && reader->input.pipe) {
        return weiri_fail(WEIR_E_USAGE,
                          "%s: a discontinuous recording (%.5s) is not read from a pipe",
                          reader->input.name, e->head + 192);
    }
    if (e->gaps && e->note_count == 0) {
        return weiri_malformed(reader, 192,
                               "%.5s, but no annotation signal says when its records begin",
                               e->head + 192);
    }
    if (e->note_count && reader->input.pipe) {
        weiri_notice(&reader->notices, "annotations are not read from a pipe");
    }
    if (e->note_count == 0 || reader->input.pipe || e->records < 1) {
        return WEIR_OK;
    }
    e->window_bytes = WINDOW_BYTES;
    weir_err err = weiri_reader_get(reader, WINDOW_BYTES, 1, &e->window);
    bool any = false;
    if (err == WEIR_OK) {
        err = weiri_edf_onset(reader, 0, &e->first_ns, &any);
    }
    if (err == WEIR_OK && !any && e->gaps) {
        err = weiri_malformed(reader, reader->data_offset + e->notes[0].at,
                              "the first record states no onset, expected +SECONDS 0x14 0x14");
    }
    return err;
}

weir_err
weiri_edf_advance(weiri_reader *reader, bool *ret_any, bool *ret_follows, int64_t *ret_onset_ns)
{
    edf *e = reader->own;
    *ret_follows = false;
    *ret_any = e->checked + 1 < (uint64_t)e->records;
    if (!*ret_any) {
        return WEIR_OK;
    }
    int64_t onset_ns = 0;
    double lasts_ns = e->duration_s * 1e9;
    bool stated = false;
    weir_err err = weiri_edf_onset(reader, e->checked + 1, &onset_ns, &stated);
    if (err != WEIR_OK) {
        return err;
    }
    if (!stated) { /* the only time that is known: right behind the one before */
        onset_ns = e->checked_ns + llround(lasts_ns);
    }
    int64_t interval_ns = onset_ns - e->checked_ns;
    *ret_follows =
        interval_ns >= 0 && fabs((double)interval_ns - lasts_ns) <= e->tolerance_ns; /* S4 */
    *ret_onset_ns = onset_ns;
    if (*ret_follows) {
        e->checked++;
        e->checked_ns = onset_ns;
    }
    return WEIR_OK;
}

/* All annotations of one record; whether its onset is stated. */
static weir_err scan_record(weiri_reader *reader, uint64_t record, bool *ret_onset)
{
    const edf *e = reader->own;
    weir_err err = WEIR_OK;
    for (uint32_t i = 0; err == WEIR_OK && i < e->note_count; i++) {
        edf_note_walk walk;
        edf_note note;
        err = read_notes(reader, record, i, &walk);
        const char *first = err == WEIR_OK ? walk.at : NULL;
        bool lead = true;
        while (err == WEIR_OK && weiri_edf_note_next(&walk, &note)) {
            bool keeps_time = i == 0 && lead && *first != 0 && note.bytes == 0;
            *ret_onset = *ret_onset || keeps_time;
            lead = false;
            if (note.bytes > 0) {
                err = weiri_reader_annotate(reader, note.onset_ns - e->first_ns, note.duration_ns,
                                            note.text, note.bytes);
            }
        }
    }
    return err;
}

static weir_err scan_segments(weiri_reader *reader)
{
    edf *e = reader->own;
    bool any = e->records > 0;
    int64_t onset_ns = e->first_ns;
    weir_err err = WEIR_OK;
    e->checked = 0;
    while (err == WEIR_OK && any) {
        bool follows = true;
        uint64_t first = e->checked;
        int64_t start_ns = onset_ns - e->first_ns;
        e->checked_ns = onset_ns;
        while (err == WEIR_OK && follows) {
            err = weiri_edf_advance(reader, &any, &follows, &onset_ns);
        }
        if (err == WEIR_OK) {
            weiri_reader_segment(reader, start_ns, (e->checked + 1 - first) * e->samples);
        }
        e->checked += any;
    }
    e->checked = 0;
    return err;
}

weir_err weiri_edf_notes_scan(weiri_reader *reader)
{
    edf *e = reader->own;
    uint64_t silent = 0;
    weir_err err = WEIR_OK;
    if (e->gaps) {
        err = scan_segments(reader);
    }
    for (uint64_t record = 0; err == WEIR_OK && e->window && record < (uint64_t)e->records;
         record++) {
        bool onset = false;
        err = scan_record(reader, record, &onset);
        silent += !onset;
    }
    if (err == WEIR_OK && silent) {
        weiri_notice(&reader->notices,
                     "%llu records state no onset; taken as following on the one before",
                     (unsigned long long)silent);
    }
    for (uint32_t i = 0; err == WEIR_OK && e->window && i < e->note_count; i++) {
        if (e->notes[i].bytes > WINDOW_BYTES) {
            weiri_notice(&reader->notices,
                         "annotation signal %u: only the first %u of %llu bytes a record are read",
                         i, WINDOW_BYTES, (unsigned long long)e->notes[i].bytes);
        }
    }
    return err;
}
