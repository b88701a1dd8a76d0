/* SPDX-License-Identifier: MIT
 *
 * edf.h: what edf.c (header, signals, rows) and edf_notes.c (annotation signals: onsets of records,
 * events) share about an EDF or BDF file.
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
    bool disjoint; /* EDF+D, BDF+D: states that there may be gaps */
    bool gaps;     /* there are gaps: segments follow from the onsets of records */
    uint32_t signals;
    double duration_s;
    int64_t stated;  /* number of records in the header */
    int64_t records; /* that are present; -1 = unknown (a pipe) */
    uint64_t record_bytes;
    uint64_t samples; /* per record, of the selected channels */
    bool by_columns;

    edf_notes *notes; /* annotation signals; the first one contains the onsets */
    uint32_t note_count;
    int64_t first_ns; /* onset of the first record: the recording's origin */
    double tolerance_ns;
    unsigned char *window; /* for reading annotations; NULL = there are none, or a pipe */
    size_t window_bytes, window_have;
    uint64_t window_at;

    uint64_t segment_record; /* first of the current segment */
    uint64_t checked;        /* last one known to belong to it */
    int64_t segment_ns;      /* onset of segment_record */
} edf;

/* The content of an annotation signal, one text at a time. */
typedef struct edf_note {
    int64_t onset_ns, duration_ns; /* duration -1 = not stated */
    const char *text;
    size_t bytes;
} edf_note;

typedef struct edf_note_walk {
    const char *at, *end;
    bool inside; /* a list whose onset is known */
    edf_note note;
    uint64_t lost;    /* lists without a readable onset: ignored */
    uint64_t cut;     /* texts without an end: read as far as they go */
    uint64_t untimed; /* unreadable durations: as if not stated */
} edf_note_walk;
/* The next text, empty ones included; false: the end. */
bool weiri_edf_note_next(edf_note_walk *walk, edf_note *ret);

/* When a record begins. */
typedef struct edf_onset {
    int64_t ns;
    bool stated; /* else it follows the one before */
} edf_onset;

/* After the signals are known: memory for reading, onset of the first record. */
weir_err weiri_edf_notes_open(weiri_reader *reader);
/* layout(), if annotations can be read: all of them, and all segments; sets e->gaps. */
weir_err weiri_edf_notes_scan(weiri_reader *reader);
/* Moves e->checked to that record, or to the last one of its segment or of the file. *ret_gap:
 * the record after e->checked begins another segment (S4), at *ret_onset. */
weir_err
weiri_edf_advance(weiri_reader *reader, uint64_t record, edf_onset *ret_onset, bool *ret_gap);

#endif
