/* SPDX-License-Identifier: MIT
 *
 * plot.h: the data of a plot, for `weir plot` and for the picture in a report, and drawing it.
 */
#ifndef WEIR_CLI_PLOT_H
#define WEIR_CLI_PLOT_H

#include "cli.h"

#include <stdlib.h>

#define PLOT_COLUMNS 1024 /* of a picture; a multiple of the terminal's dots */
#define PLOT_PANELS  8
#define PLOT_TEXT    160
#define PLOT_NOTES   200

/* The samples in one column of the picture: none is left out, however many there are. */
typedef struct plot_column {
    double low, high;     /* of its samples */
    double sum, time_sum; /* for their mean */
    uint64_t count;       /* of its good samples */
    /* there is a gap or a missing sample between it and the good one before */
    bool broken;
} plot_column;

/* One channel of one recording over the common time axis. */
typedef struct plot_panel {
    char title[PLOT_TEXT]; /* "Fp1" */
    char from[PLOT_TEXT];  /* "test_subsecond.edf, 128 Hz" */
    char unit[32];
    uint64_t column;               /* of a frame of its file */
    size_t note_first, note_count; /* its file's annotations, among the plot's */
    uint64_t segment;              /* of the last sample */
    bool gap;                      /* since the last good one */
    double low, high;              /* of all good samples; low > high where there is none */
    plot_column columns[PLOT_COLUMNS];
} plot_panel;

/* An annotation of a recording. */
typedef struct plot_note {
    double time_s;
    char text[PLOT_TEXT];
} plot_note;

typedef struct plot {
    double start_s, end_s; /* of the common time axis */
    size_t panel_count;
    plot_panel *panels[PLOT_PANELS];
    size_t note_count;
    plot_note notes[PLOT_NOTES];
} plot;

/* ---- plot_panels.c ---- */

/* Adds an empty panel (of cli_alloc) for one value of a frame. There must be room: PLOT_PANELS. */
plot_panel *plot_panel_add(plot *p, const char *path, const weir_spec *spec, uint64_t column);

/* Adds annotations while there is room; returns how many were left out. */
uint64_t plot_notes_add(plot *p, const weir_source_info *info);

/* Time of a block's first frame, in s. */
double plot_time(const weir_spec *spec, const weir_message *block);

/* Sorts the samples of a block into the columns of `count` panels; times outside start_s..end_s fall into the first
 * or last one. */
void plot_add(
    plot *p, size_t first, size_t count, const weir_spec *spec, const weir_message *block);

/* Moves the plot's end_s to that time or beyond by making columns twice as wide, as often as needed. */
void plot_reach(plot *p, double end_s);

/* Ticks at round numbers within low..high: start and step; as many as `about`, roughly. */
void plot_ticks(double low, double high, int about, double *ret_start, double *ret_step);

/* A number with as few digits as its step needs, with a point in any locale. Returns text. */
char *plot_number(double number, double step, char *text, size_t size);

/* The range over which a panel is drawn: its values and a margin. */
void plot_range(const plot_panel *panel, double *ret_low, double *ret_high);

/* Both write to file and leave errors to its error indicator. */
void plot_svg(const plot *p, FILE *file);
void plot_terminal(const plot *p, FILE *file, bool braille);

/* plot_svg.c, for other plots: text is escaped, numbers have a point in any locale. */
void plot_svg_label(FILE *file, double x, double y, const char *anchor, const char *text);
void plot_svg_point(FILE *file, char verb, double x, double y);
void plot_svg_rule(FILE *file, double x1, double y1, double x2, double y2, const char *colour);

#endif
