/* SPDX-License-Identifier: MIT
 *
 * plot_svg.c: a plot as SVG: panels one below the other over one time axis. Where samples are
 * denser than columns the range from lowest to highest is filled and the mean drawn over it;
 * otherwise each sample is a point of the line. Gaps are grey. Does not choose what is drawn.
 */
#include "plot.h"

#include <math.h>
#include <string.h>

enum { LEFT = 84, RIGHT = 24, TOP = 18, HEAD = 30, HEIGHT = 176, FOOT = 46 };

static const char *const colours[] = {"#2b6cb0", "#c05621", "#2f855a", "#6b46c1"};

static void put(FILE *file, double number)
{
    char text[48];
    fputs(plot_number(number, 0.01, text, sizeof(text)), file);
}

/* One panel's frame on the page. */
typedef struct frame {
    double top, low, high;
    const plot *p;
} frame;

static double x_of(const frame *f, double time_s)
{
    return LEFT + (time_s - f->p->start_s) / (f->p->end_s - f->p->start_s) * PLOT_COLUMNS;
}

static double y_of(const frame *f, double value)
{
    return f->top + HEIGHT * (1 - (value - f->low) / (f->high - f->low));
}

void plot_svg_point(FILE *file, char verb, double x, double y)
{
    fputc(verb, file);
    put(file, x);
    fputc(' ', file);
    put(file, y);
}

/* The first column from `from` on with a sample; PLOT_COLUMNS: none. */
static size_t next_full(const plot_panel *panel, size_t from)
{
    while (from < PLOT_COLUMNS && panel->columns[from].count == 0)
        from++;
    return from;
}

/* The end of the run that starts at `from`: the first column separated from it by a gap. */
static size_t run_end(const plot_panel *panel, size_t from)
{
    size_t end = from + 1;
    while (end < PLOT_COLUMNS && !(panel->columns[end].count > 0 && panel->columns[end].broken))
        end++;
    return end;
}

static double column_x(const frame *f, const plot_column *column)
{
    return x_of(f, column->time_sum / (double)column->count);
}

static void put_band(FILE *file, const frame *f, const plot_panel *panel, const char *colour)
{
    fprintf(file,
            "<path fill=\"%s\" fill-opacity=\"0.3\" stroke=\"%s\" stroke-opacity=\"0.45\" d=\"",
            colour, colour);
    for (size_t from = next_full(panel, 0); from < PLOT_COLUMNS;) {
        size_t end = run_end(panel, from);
        char verb = 'M';
        for (size_t i = from; i < end; i++) {
            if (panel->columns[i].count == 0)
                continue;
            plot_svg_point(file, verb, column_x(f, &panel->columns[i]),
                           y_of(f, panel->columns[i].high));
            verb = 'L';
        }
        for (size_t i = end; i-- > from;)
            if (panel->columns[i].count > 0)
                plot_svg_point(file, 'L', column_x(f, &panel->columns[i]),
                               y_of(f, panel->columns[i].low));
        fputs("Z", file);
        from = next_full(panel, end);
    }
    fputs("\"/>\n", file);
}

static void put_line(FILE *file, const frame *f, const plot_panel *panel, const char *colour)
{
    fprintf(file,
            "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.3\" stroke-linejoin=\"round\" "
            "stroke-linecap=\"round\" d=\"",
            colour);
    for (size_t from = next_full(panel, 0); from < PLOT_COLUMNS;) {
        size_t end = run_end(panel, from);
        char verb = 'M';
        for (size_t i = from; i < end; i++) {
            const plot_column *column = &panel->columns[i];
            if (column->count == 0)
                continue;
            plot_svg_point(file, verb, column_x(f, column),
                           y_of(f, column->sum / (double)column->count));
            verb = 'L';
        }
        from = next_full(panel, end);
    }
    fputs("\"/>\n", file);
}

void plot_svg_label(FILE *file, double x, double y, const char *anchor, const char *text)
{
    fprintf(file, "<text text-anchor=\"%s\" x=\"", anchor);
    put(file, x);
    fputs("\" y=\"", file);
    put(file, y);
    fputs("\">", file);
    cli_put_escaped(file, text);
    fputs("</text>\n", file);
}

void plot_svg_rule(FILE *file, double x1, double y1, double x2, double y2, const char *colour)
{
    fprintf(file, "<path stroke=\"%s\" d=\"", colour);
    plot_svg_point(file, 'M', x1, y1);
    plot_svg_point(file, 'L', x2, y2);
    fputs("\"/>\n", file);
}

/* Where samples are missing, or between segments. */
static void put_gaps(FILE *file, const frame *f, const plot_panel *panel)
{
    size_t before = PLOT_COLUMNS;
    for (size_t i = next_full(panel, 0); i < PLOT_COLUMNS; i = next_full(panel, i + 1)) {
        if (panel->columns[i].broken && before < PLOT_COLUMNS) {
            double from = column_x(f, &panel->columns[before]);
            double width = fmax(column_x(f, &panel->columns[i]) - from, 1);
            fputs("<rect class=\"gap\" fill=\"#e2e8f0\" x=\"", file);
            put(file, from);
            fputs("\" y=\"", file);
            put(file, f->top);
            fputs("\" width=\"", file);
            put(file, width);
            fprintf(file, "\" height=\"%d\"/>\n", HEIGHT);
        }
        before = i;
    }
}

/* A line each; its text next to it if there is space, and as a tooltip. */
static void put_notes(FILE *file, const frame *f, const plot_panel *panel)
{
    double free_from = LEFT;
    for (size_t i = 0; i < panel->note_count; i++) {
        const plot_note *note = &f->p->notes[panel->note_first + i];
        if (note->time_s < f->p->start_s || note->time_s > f->p->end_s)
            continue;
        double x = x_of(f, note->time_s), width = 6.5 * (double)strlen(note->text) + 8;
        fputs("<g class=\"note\" font-size=\"10\" fill=\"#b83280\"><title>", file);
        cli_put_escaped(file, note->text);
        fputs("</title>\n", file);
        plot_svg_rule(file, x, f->top, x, f->top + HEIGHT, "#d53f8c");
        if (x >= free_from && x + width <= LEFT + PLOT_COLUMNS + RIGHT) {
            plot_svg_label(file, x + 3, f->top + 10, "start", note->text);
            free_from = x + width;
        }
        fputs("</g>\n", file);
    }
}

static void put_panel(FILE *file, const frame *f, const plot_panel *panel, const char *colour)
{
    char text[48];
    double start, step;
    plot_ticks(f->low, f->high, 4, &start, &step);
    for (int i = 0; start + i * step <= f->high; i++) {
        double y = y_of(f, start + i * step);
        plot_svg_rule(file, LEFT, y, LEFT + PLOT_COLUMNS, y, "#e8ebef");
        plot_svg_label(file, LEFT - 8, y + 4, "end",
                       plot_number(start + i * step, step, text, sizeof(text)));
    }
    plot_ticks(f->p->start_s, f->p->end_s, 8, &start, &step);
    for (int i = 0; start + i * step <= f->p->end_s; i++) {
        double x = x_of(f, start + i * step);
        plot_svg_rule(file, x, f->top, x, f->top + HEIGHT, "#f0f2f5");
    }
    put_gaps(file, f, panel);
    bool dense = false;
    for (size_t i = 0; i < PLOT_COLUMNS; i++)
        dense |= panel->columns[i].count > 1;
    if (dense)
        put_band(file, f, panel, colour);
    put_line(file, f, panel, colour);
    put_notes(file, f, panel);
    plot_svg_rule(file, LEFT, f->top, LEFT, f->top + HEIGHT, "#9aa5b1");
    plot_svg_rule(file, LEFT, f->top + HEIGHT, LEFT + PLOT_COLUMNS, f->top + HEIGHT, "#9aa5b1");

    fprintf(file, "<text x=\"%d\" y=\"", LEFT);
    put(file, f->top - 9);
    fputs("\"><tspan font-weight=\"600\" font-size=\"14\" fill=\"#1a202c\">", file);
    cli_put_escaped(file, panel->title);
    fputs("</tspan><tspan dx=\"8\">", file);
    cli_put_escaped(file, panel->from);
    if (panel->low > panel->high)
        fputs(": no valid sample", file);
    fputs("</tspan></text>\n", file);
    if (panel->unit[0]) {
        fputs("<text text-anchor=\"middle\" transform=\"translate(20 ", file);
        put(file, f->top + HEIGHT / 2.0);
        fputs(") rotate(-90)\">", file);
        cli_put_escaped(file, panel->unit);
        fputs("</text>\n", file);
    }
}

void plot_svg(const plot *p, FILE *file)
{
    int width = LEFT + PLOT_COLUMNS + RIGHT;
    int height = TOP + (int)p->panel_count * (HEAD + HEIGHT) + FOOT;
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" font-family=\"system-ui, 'DejaVu Sans', sans-serif\" "
            "font-size=\"12\" fill=\"#4a5568\">\n<rect width=\"100%%\" height=\"100%%\" "
            "fill=\"#ffffff\"/>\n",
            width, height, width, height);
    frame f = {0, 0, 0, p};
    for (size_t i = 0; i < p->panel_count; i++) {
        f.top = TOP + HEAD + (double)i * (HEAD + HEIGHT);
        plot_range(p->panels[i], &f.low, &f.high);
        put_panel(file, &f, p->panels[i], colours[i % (sizeof(colours) / sizeof(colours[0]))]);
    }
    char text[48];
    double start, step;
    plot_ticks(p->start_s, p->end_s, 8, &start, &step);
    for (int i = 0; start + i * step <= p->end_s; i++)
        plot_svg_label(file, x_of(&f, start + i * step), f.top + HEIGHT + 18, "middle",
                       plot_number(start + i * step, step, text, sizeof(text)));
    plot_svg_label(file, LEFT + PLOT_COLUMNS / 2.0, f.top + HEIGHT + 38, "middle", "time, s");
    fputs("</svg>\n", file);
}
