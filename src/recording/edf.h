/* SPDX-License-Identifier: MIT
 *
 * edf.h: an EDF or BDF file as edf.c (header, signals, rows) and edf_notes.c (annotation signals: onsets of
 * records, events) share it.
 */
#ifndef WEIRI_EDF_H
#define WEIRI_EDF_H

#include "recording/reader.h"

#define EDF_HEAD 256

/* An annotation signal within a record. */
typedef struct edf_notes {
    uint64_t at, bytes;
} edf_notes;

typedef struct edf {
    char head[EDF_HEAD];
    bool bdf, plus;
    bool gaps; /* EDF+D, BDF+D: onsets of records tell where it goes on */
    uint32_t signals;
    double duration_s;
    int64_t records; /* -1 = not stated */
    uint64_t lost;   /* records that the header states and the file does not hold whole */
    uint64_t record_bytes;
    uint64_t samples; /* a record, of the picked channels */
    bool by_columns;

    edf_notes *notes; /* annotation signals; the first one holds the onsets */
    uint32_t note_count;
    int64_t first_ns; /* onset of the first record: the recording's origin */
    double tolerance_ns;
    unsigned char *window; /* for reading annotations; NULL = there are none, or a pipe */
    size_t window_bytes, window_have;
    uint64_t window_at;

    uint64_t segment_record; /* first of the current segment */
    uint64_t checked;        /* last one known to belong to it */
    int64_t checked_ns;      /* its onset */
} edf;

/* What is in an annotation signal, one text at a time. */
typedef struct edf_note {
    int64_t onset_ns, duration_ns; /* duration -1 = not stated */
    const char *text;
    size_t bytes;
    bool first; /* of its list */
} edf_note;

typedef struct edf_note_walk {
    const char *at, *end;
    bool inside; /* a list whose onset is known */
    edf_note note;
} edf_note_walk;
/* The next text, empty ones included; false: the end. What is no list is passed over. */
bool weiri_edf_note_next(edf_note_walk *walk, edf_note *ret);

/* Once the signals are known: room for reading, onset of the first record. */
weir_err weiri_edf_notes_open(weiri_reader *reader);
/* Onset of a record as it stands there; false: none is stated. */
weir_err
weiri_edf_onset(weiri_reader *reader, uint64_t record, int64_t *ret_onset_ns, bool *ret_any);
/* layout(): all annotations, and with gaps all segments. */
weir_err weiri_edf_notes_scan(weiri_reader *reader);
/* Whether the record behind e->checked goes on without a gap (S4); if so it becomes the checked one, else
 * *ret_onset_ns is its onset. *ret_any false: there is none. */
weir_err
weiri_edf_advance(weiri_reader *reader, bool *ret_any, bool *ret_follows, int64_t *ret_onset_ns);

#endif
