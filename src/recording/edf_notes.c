/* SPDX-License-Identifier: MIT
 *
 * edf_notes.c: the annotation signals of EDF+ and BDF+: lists of "+onset 0x15 duration 0x14 text
 * 0x14 0x00". The first list of each record states when the record begins, which makes the
 * segments. Onsets are decimals and stay whole numbers of ns. Mistakes of writers are read if their
 * meaning is clear (no sign, a comma, an exponent, a missing end), and counted in a notice if it is
 * not. One window of the file is in memory; annotations are stored by weiri_reader_annotate, which
 * limits their number.
 */
#include <math.h>
#include <string.h>

#include "recording/edf.h"

#define WINDOW_BYTES                                                                               \
    (64u * 1024u)            /* also the most that is read of one annotation signal per record */
#define MOST_NS (1ull << 62) /* 146 years: the difference of two onsets is within 63 bits */

/* ---- lists ---------------------------------------------------------------------------------------- */

static bool is_digit(const char *at, const char *end)
{
    return at < end && *at >= '0' && *at <= '9';
}

static void trim(const char **at, const char **end)
{
    while (*at < *end && **at == ' ') {
        ++*at;
    }
    while (*at < *end && (*end)[-1] == ' ') {
        --*end;
    }
}

/* The exponent of a decimal at e or E; *at moves past it. */
static int64_t read_exponent(const char **at, const char *end)
{
    const char *from = *at + 1;
    bool minus = from < end && *from == '-';
    int64_t number = 0;
    from += from < end && (minus || *from == '+');
    if (!is_digit(from, end)) {
        return 0;
    }
    for (; is_digit(from, end); from++) {
        number = number < 100000000 ? number * 10 + (*from - '0') : number;
    }
    *at = from;
    return minus ? -number : number;
}

/* A decimal in s, all of [at, end), as the nearest whole number of ns. */
static bool read_ns(const char *at, const char *end, int64_t *ret_ns)
{
    trim(&at, &end);
    bool minus = at < end && *at == '-';
    at += at < end && (minus || *at == '+');
    const char *digits = at;
    while (is_digit(at, end)) {
        at++;
    }
    int64_t power = at - digits + 9 - 1; /* of ten, of the first digit */
    const char *point = at;
    if (at < end && (*at == '.' || *at == ',')) {
        for (at++; is_digit(at, end);) {
            at++;
        }
    }
    const char *behind = at;
    if (at < end && (*at == 'e' || *at == 'E')) {
        power += read_exponent(&at, end);
    }
    if (at != end || behind - digits - (behind > point) == 0) {
        return false;
    }
    uint64_t ns = 0;
    for (; digits < behind && power >= 0 && ns <= MOST_NS / 10; digits++) {
        if (digits != point) {
            ns = ns * 10 + (uint64_t)(*digits - '0');
            power--;
        }
    }
    for (; power >= 0 && ns > 0 && ns <= MOST_NS / 10; power--) {
        ns *= 10;
    }
    digits += digits == point;
    ns += power == -1 && digits < behind && *digits >= '5';
    if (ns > MOST_NS || (power >= 0 && ns > 0)) {
        return false;
    }
    *ret_ns = minus ? -(int64_t)ns : (int64_t)ns;
    return true;
}

/* "+567.25", "-1" and, after 0x15, a duration: up to the first 0x14, of a list that ends at `stop`. */
static bool read_times(edf_note_walk *walk, const char *stop)
{
    edf_note note = {.duration_ns = -1};
    const char *end = memchr(walk->at, 0x14, (size_t)(stop - walk->at));
    if (end == NULL) {
        return false;
    }
    const char *lasts = memchr(walk->at, 0x15, (size_t)(end - walk->at));
    if (!read_ns(walk->at, lasts ? lasts : end, &note.onset_ns)) {
        return false;
    }
    if (lasts) {
        const char *from = lasts + 1, *to = end;
        trim(&from, &to);
        if (from < to && (!read_ns(from, to, &note.duration_ns) || note.duration_ns < 0)) {
            note.duration_ns = -1;
            walk->untimed++;
        }
    }
    walk->note = note;
    walk->at = end + 1;
    return true;
}

bool weiri_edf_note_next(edf_note_walk *walk, edf_note *ret)
{
    while (walk->at < walk->end) {
        const char *zero = memchr(walk->at, 0, (size_t)(walk->end - walk->at));
        const char *stop = zero ? zero : walk->end;
        const char *from = walk->at, *to = stop;
        trim(&from, &to);
        if (from == to && !walk->inside) { /* nothing, or blanks up to the end of the record */
            walk->at = stop + (zero != NULL);
            continue;
        }
        if (walk->at == stop) {
            walk->inside = false;
            walk->at = stop + (zero != NULL);
            continue;
        }
        if (!walk->inside && !read_times(walk, stop)) {
            walk->lost++;
            walk->at = stop;
            continue;
        }
        walk->inside = true;
        const char *behind = memchr(walk->at, 0x14, (size_t)(stop - walk->at));
        walk->cut += behind == NULL && walk->at < stop;
        *ret = walk->note;
        ret->text = walk->at;
        ret->bytes = (size_t)((behind ? behind : stop) - walk->at);
        walk->at = behind ? behind + 1 : stop;
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
        /* Of small records several are read at once; of large ones nothing else is read. */
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

/* The very first list states the onset of its record, by an empty text. */
static bool keeps_time(const char *first, const edf_note *note)
{
    return *first != 0 && note->bytes == 0;
}

static weir_err read_onset(weiri_reader *reader, uint64_t record, edf_onset *ret)
{
    edf_note_walk walk;
    edf_note note;
    *ret = (edf_onset){0};
    weir_err err = read_notes(reader, record, 0, &walk);
    if (err == WEIR_OK) {
        const char *first = walk.at;
        if (weiri_edf_note_next(&walk, &note) && keeps_time(first, &note)) {
            *ret = (edf_onset){note.onset_ns, true};
        }
    }
    return err;
}

weir_err weiri_edf_notes_open(weiri_reader *reader)
{
    edf *e = reader->own;
    e->tolerance_ns = reader->options->gap_tolerance_s * 1e9;
    if (e->disjoint && reader->input.pipe) {
        return weiri_fail(WEIR_E_USAGE,
                          "%s: a discontinuous recording (%.5s) cannot be read from a pipe",
                          reader->input.name, e->head + 192);
    }
    if (e->disjoint && e->note_count == 0) {
        return weiri_malformed(reader, 192,
                               "%.5s, but no annotation signal states when its records begin",
                               e->head + 192);
    }
    if (e->note_count && reader->input.pipe) {
        weiri_notice(
            &reader->notices,
            "annotations, and gaps given by the onsets of records, are not read from a pipe");
    }
    if (e->note_count == 0 || reader->input.pipe || e->records < 1) {
        return WEIR_OK;
    }
    e->window_bytes = WINDOW_BYTES;
    weir_err err = weiri_reader_get(reader, WINDOW_BYTES, 1, &e->window);
    edf_onset first = {0};
    if (err == WEIR_OK) {
        err = read_onset(reader, 0, &first);
        e->first_ns = e->segment_ns = first.ns;
    }
    if (err == WEIR_OK && !first.stated && e->disjoint) {
        err = weiri_malformed(reader, reader->data_offset + e->notes[0].at,
                              "the first record has no onset; expected +SECONDS 0x14 0x14");
    }
    return err;
}

/* ---- segments ------------------------------------------------------------------------------------- */

/* How much later a record begins than if it followed `records` others, ns. */
static double lateness(const edf *e, int64_t from_ns, uint64_t records, edf_onset onset)
{
    double lasts_ns = e->duration_s * 1e9 * (double)records;
    return onset.stated ? (double)(onset.ns - from_ns) - lasts_ns : 0;
}

/* Whether a record begins a segment: further from the expected time than gap_tolerance, nothing
 * else (S4). Half a ns is for rounding. */
static bool is_gap(const edf *e, uint64_t record, edf_onset onset)
{
    double late_ns = lateness(e, e->segment_ns, record - e->segment_record, onset);
    return fabs(late_ns) > e->tolerance_ns + 0.5;
}

weir_err
weiri_edf_advance(weiri_reader *reader, uint64_t record, edf_onset *ret_onset, bool *ret_gap)
{
    edf *e = reader->own;
    weir_err err = WEIR_OK;
    *ret_gap = false;
    while (err == WEIR_OK && e->checked < record && e->checked + 1 < (uint64_t)e->records) {
        err = read_onset(reader, e->checked + 1, ret_onset);
        *ret_gap = err == WEIR_OK && is_gap(e, e->checked + 1, *ret_onset);
        if (err != WEIR_OK || *ret_gap) {
            break;
        }
        e->checked++;
    }
    return err;
}

/* What a scan finds. */
typedef struct edf_tally {
    uint64_t silent, lost, cut, untimed, wide;
    uint64_t gaps, drifts; /* those gaps before which the preceding record is on time */
} edf_tally;

/* All annotations of one record, and its onset. */
static weir_err
scan_record(weiri_reader *reader, uint64_t record, edf_tally *told, edf_onset *ret_onset)
{
    const edf *e = reader->own;
    weir_err err = WEIR_OK;
    *ret_onset = (edf_onset){0};
    for (uint32_t i = 0; err == WEIR_OK && i < e->note_count; i++) {
        edf_note_walk walk;
        edf_note note;
        err = read_notes(reader, record, i, &walk);
        const char *first = err == WEIR_OK ? walk.at : NULL;
        bool lead = i == 0;
        while (err == WEIR_OK && weiri_edf_note_next(&walk, &note)) {
            if (lead && keeps_time(first, &note)) {
                *ret_onset = (edf_onset){note.onset_ns, true};
            }
            lead = false;
            told->wide += note.bytes > WEIRI_NOTE_BYTES;
            if (note.bytes > 0) {
                err = weiri_reader_annotate(reader, note.onset_ns - e->first_ns, note.duration_ns,
                                            note.text, note.bytes);
            }
        }
        if (err == WEIR_OK) {
            told->lost += walk.lost;
            told->cut += walk.cut;
            told->untimed += walk.untimed;
        }
    }
    told->silent += !ret_onset->stated;
    return err;
}

static void tell_all(weiri_reader *reader, const edf_tally *told)
{
    const edf *e = reader->own;
    weiri_notices *notices = &reader->notices;
    if (told->gaps && !e->disjoint) {
        weiri_notice(
            notices,
            "%s states that there are no gaps, but the onsets of its records have %llu gaps",
            reader->info.variant, (unsigned long long)told->gaps);
    }
    if (told->drifts) {
        weiri_notice(notices,
                     "%llu gaps are drift, not jumps: onsets drift from the stated record "
                     "duration; a larger gap_tolerance (now %g ms) removes them",
                     (unsigned long long)told->drifts, e->tolerance_ns * 1e-6);
    }
    if (told->silent) {
        weiri_notice(notices,
                     "%llu records have no onset; they are assumed to follow the preceding record",
                     (unsigned long long)told->silent);
    }
    if (told->lost) {
        weiri_notice(notices, "%llu annotation lists have no readable onset; left out",
                     (unsigned long long)told->lost);
    }
    if (told->untimed) {
        weiri_notice(notices,
                     "%llu annotations have a negative or invalid duration; kept without duration",
                     (unsigned long long)told->untimed);
    }
    if (told->cut) {
        weiri_notice(
            notices,
            "%llu annotations do not end within their record; their texts may be truncated",
            (unsigned long long)told->cut);
    }
    if (told->wide) {
        weiri_notice(notices, "%llu annotations are truncated to %d bytes",
                     (unsigned long long)told->wide, WEIRI_NOTE_BYTES);
    }
    for (uint32_t i = 0; i < e->note_count; i++) {
        if (e->notes[i].bytes > WINDOW_BYTES) {
            weiri_notice(
                notices,
                "annotation signal %u: only the first %u of %llu bytes per record are read", i,
                WINDOW_BYTES, (unsigned long long)e->notes[i].bytes);
        }
    }
}

weir_err weiri_edf_notes_scan(weiri_reader *reader)
{
    edf *e = reader->own;
    edf_tally told = {0};
    edf_onset before = {e->first_ns, false}, onset;
    uint64_t records = (uint64_t)e->records;
    weir_err err = WEIR_OK;
    for (uint64_t record = 0; err == WEIR_OK && record < records; record++) {
        err = scan_record(reader, record, &told, &onset);
        if (err == WEIR_OK && record > 0 && is_gap(e, record, onset)) {
            weiri_reader_segment(reader, e->segment_ns - e->first_ns,
                                 (record - e->segment_record) * e->samples);
            e->segment_record = record;
            e->segment_ns = onset.ns;
            told.gaps++;
            told.drifts +=
                before.stated && fabs(lateness(e, before.ns, 1, onset)) <= e->tolerance_ns;
        }
        before = onset;
    }
    if (err == WEIR_OK) {
        weiri_reader_segment(reader, e->segment_ns - e->first_ns,
                             (records - e->segment_record) * e->samples);
        tell_all(reader, &told);
    }
    e->gaps = told.gaps > 0;
    e->segment_record = e->checked = 0;
    e->segment_ns = e->first_ns;
    return err;
}
