/* SPDX-License-Identifier: MIT
 *
 * csv.h: columns of text, as csv.c (the lines before the first row), csv_text.c (bytes, fields, numbers),
 * csv_rows.c (rows and their times) and csv_write.c share them.
 */
#ifndef WEIRI_CSV_H
#define WEIRI_CSV_H

#include "recording/writer.h"

#define WEIRI_CSV_WINDOW (64u * 1024u)
#define FIELD_BYTES      256 /* of a label or a number; more is malformed */

typedef struct csv {
    unsigned char *window;
    size_t at, filled;
    uint64_t offset;        /* of window[0] in the file */
    uint64_t line;          /* from 1, of the byte at `at` */
    bool ended;             /* nothing behind the window */
    char separator;         /* ' ' = runs of blanks */
    uint64_t columns;       /* of the file, the time column included */
    uint64_t time;          /* its number; UINT64_MAX = none */
    uint64_t row;           /* the next */
    uint64_t rows;          /* whole ones; WEIR_FRAMES_UNKNOWN of a pipe */
    bool cut;               /* the last line breaks off within a row */
    bool unended;           /* the row that was taken last has no end of a line behind it */
    uint64_t top, top_line; /* where the first row begins */
    /* Of a column of times: */
    double origin;        /* of row 0 */
    double segment_time;  /* of the segment's first row */
    uint64_t segment_row; /* its number */
    double last;          /* of the row before; NAN = none yet */
    uint64_t off_time;    /* rows that stand elsewhere than the rate says */
    double tolerance_s;
    bool gaps;      /* its gaps make segments (S4) */
    bool held;      /* values[] are of the first row behind a gap, */
    bool begun;     /* whose segment is the current one */
    double *values; /* of one row */
    weir_err err;   /* met behind rows that went out first */
    char why[400];
    char field[FIELD_BYTES];
    size_t field_bytes;
    bool quoted;
} csv;

typedef enum ending { END_FIELD, END_LINE, END_FILE } ending;

/* The next byte, or -1 at the end. */
weir_err weiri_csv_peek(weiri_reader *reader, csv *in, int *ret_byte);
weir_err weiri_csv_wrong(weiri_reader *reader, const csv *in, const char *what, const char *wanted);
/* One field, without the blanks around it, and what ended it; then blanks that separate. */
weir_err weiri_csv_take_field(weiri_reader *reader, csv *in, ending *ret_end);
weir_err weiri_csv_past_blanks(weiri_reader *reader, csv *in, ending *ret_end);
/* Goes to the first byte of a line that is not empty; false: there is none. */
weir_err weiri_csv_next_line(weiri_reader *reader, csv *in, bool *ret_any);
/* A number, or what stands for a missing one (S5). */
bool weiri_csv_number_of(const csv *in, double *ret_number);
/* One row into values[columns], or nowhere (NULL). *ret_whole false: the file ends within it. */
weir_err weiri_csv_take_row(weiri_reader *reader, csv *in, double *values, bool *ret_whole);
/* Back to a place in what has been read; of a pipe that is within the window. */
weir_err weiri_csv_go_to(weiri_reader *reader, csv *in, uint64_t offset, uint64_t line);

/* csv_rows.c: rows from here on, and the descriptor's functions. */
weir_err weiri_csv_count_rows(weiri_reader *reader, csv *in);
weir_err weiri_csv_layout(weiri_reader *reader);
weir_err weiri_csv_segment(weiri_reader *reader, uint64_t number, bool *ret_any);
weir_err
weiri_csv_read(weiri_reader *reader, uint64_t index, size_t frames, void *rows, size_t *ret_frames);

/* csv_write.c */
weir_err weiri_csv_holds(const weir_spec *spec, bool to_pipe);
extern const weiri_encoding weiri_csv_encoding;

#endif
