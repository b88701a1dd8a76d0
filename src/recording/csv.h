/* SPDX-License-Identifier: MIT
 *
 * csv.h: what csv.c (the lines before the first row), csv_text.c (bytes, fields, numbers),
 * csv_rows.c (rows and their times) and csv_write.c share.
 */
#ifndef WEIRI_CSV_H
#define WEIRI_CSV_H

#include "recording/writer.h"

#define WEIRI_CSV_WINDOW  (64u * 1024u)
#define WEIRI_CSV_COLUMNS 65536 /* a file with more is a table whose rows are channels */
#define FIELD_BYTES       256   /* of a label or a number; a longer one is malformed */

typedef struct csv {
    unsigned char *window;
    size_t at, filled;
    uint64_t offset;  /* of window[0] in the file */
    uint64_t line;    /* from 1, of the byte at `at` */
    bool ended;       /* nothing follows the window */
    char line_end;    /* \n (with a \r before it or not) or \r alone; 0 = not known yet */
    char separator;   /* ' ' = runs of blanks */
    uint64_t columns; /* of the file, the time column included */
    const unsigned char *wanted;  /* one per column: whether it is selected; NULL = all */
    uint64_t row;                 /* the next */
    uint64_t rows;                /* complete ones; WEIR_FRAMES_UNKNOWN for a pipe */
    bool cut;                     /* the last line ends within a row */
    bool unended;                 /* the last row read has no line end */
    uint64_t top, top_line;       /* where the first row begins */
    uint64_t bottom, bottom_line; /* where the last row begins, if its line has no end; else 0 */
    uint64_t odd_labels; /* number of the line that was read as labels and contains numbers, or 0 */
    bool nuls_told;
    bool over;         /* for a pipe: it was read to its end */
    bool all_channels; /* the file states that no column contains times */
    /* For a column of times: */
    uint64_t time;        /* its number; UINT64_MAX = none */
    double time_unit;     /* in s */
    double origin;        /* of row 0 */
    double segment_time;  /* of the segment's first row; NAN = no time was stated yet */
    uint64_t segment_row; /* its number */
    double last_time;     /* the last stated one */
    uint64_t last_row;    /* in that row */
    uint64_t gap_count;
    double steady_s;      /* from first to last time of each earlier segment, */
    uint64_t steady_rows; /* and the rows between them */
    double tolerance_s;
    bool gaps;      /* its gaps start segments (S4) */
    bool held;      /* values[] are those of the first row after a gap, */
    bool begun;     /* whose segment is the current one */
    double *values; /* of one row */
    weir_err err;   /* found after rows that were delivered first */
    char why[400];
    char field[FIELD_BYTES];
    size_t field_bytes;
    bool quoted;
    bool passed_over; /* of a column that is not selected: of any length */
} csv;

typedef enum ending { END_FIELD, END_LINE, END_FILE } ending;

/* The next byte, or -1 at the end. */
weir_err weiri_csv_peek(weiri_reader *reader, csv *in, int *ret_byte);
weir_err weiri_csv_wrong(weiri_reader *reader, const csv *in, const char *what, const char *wanted);
/* One field, without the blanks around it, and what ended it; then separating blanks. */
weir_err weiri_csv_take_field(weiri_reader *reader, csv *in, ending *ret_end);
weir_err weiri_csv_past_blanks(weiri_reader *reader, csv *in, ending *ret_end);
/* Goes to the first byte of a line that is not empty; false: there is none. */
weir_err weiri_csv_next_line(weiri_reader *reader, csv *in, bool *ret_any);
/* A number, or NaN for a missing one (S5). */
bool weiri_csv_number(const char *text, double *ret_number);
/* A number with a decimal comma: "1,5". */
bool weiri_csv_decimal_comma(const char *text, double *ret_number);
/* Whether a column of that label holds times, and their unit in s. */
bool weiri_csv_time(const char *label, double *ret_unit);
/* One row into values[columns]. *ret_whole false: the file ends within it. */
weir_err weiri_csv_take_row(weiri_reader *reader, csv *in, double *values, bool *ret_whole);
/* Reads ahead until the window contains the ends of that many lines from here on, if possible.
 * Detects the kind of line end. */
weir_err weiri_csv_hold_lines(weiri_reader *reader, csv *in, int lines);
/* Back to a place that was read; for a pipe within the window. */
weir_err weiri_csv_go_to(weiri_reader *reader, csv *in, uint64_t offset, uint64_t line);

/* csv_rows.c: rows from here on, and the descriptor's functions. */
weir_err weiri_csv_count_rows(weiri_reader *reader, csv *in);
weir_err weiri_csv_layout(weiri_reader *reader);
weir_err weiri_csv_segment(weiri_reader *reader, uint64_t number, bool *ret_any);
weir_err
weiri_csv_read(weiri_reader *reader, uint64_t index, size_t frames, void *rows, size_t *ret_frames);

/* csv_write.c */
weir_err weiri_csv_holds(const weir_spec *spec, bool to_pipe);
/* The comment by which labels stay labels although one would be read as a column of times. */
#define WEIRI_CSV_NO_TIME "time column"
extern const weiri_encoding weiri_csv_encoding;

#endif
