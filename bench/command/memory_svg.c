/* SPDX-License-Identifier: MIT
 *
 * memory_svg.c: plots memory over time: one line per configuration, once on a linear scale, where
 * the staircase shows, and once on a logarithmic one, which separates the bounded ones. Chooses the
 * rows to draw; measures nothing.
 */
#include "bench.h"
#include "plot.h"

#include <math.h>
#include <string.h>

enum { LEFT = 84, WIDTH = 760, TOP = 60, HEIGHT = 300, GAP = 56, LEGEND = 380, MOST_LINES = 14 };
#define MIB   1048576.0
#define LEAST 0.25 /* MiB, start of the logarithmic scale */

static const char *const colours[] = {
    "#c53030", "#dd6b20", "#b7791f", "#2f855a", "#2b6cb0", "#6b46c1", "#97266d",
    "#285e61", "#718096", "#1a202c", "#d53f8c", "#00a3c4", "#8c6d31", "#5a67d8",
};

/* For the stall stream: one device library with every remedy, weir's policies, weir's chain. */
static const char *const drawn[] = {
    "mlx:metal, no limit",
    "mlx:metal, cleared each 60 s",
    "mlx:metal, cleared each 6 s",
    "mlx:metal, 512 MiB",
    "mlx:metal, 256 MiB",
    "mlx:metal, 128 MiB",
    "mlx:metal, 0 B",
    "fit, no limit",
    "fit, 128 MiB",
    "pages, no limit",
    "pages, 128 MiB",
    "pages, 16 MiB",
    "chain, untiled, fit",
    "chain, tiled",
};

typedef struct picture {
    FILE *file;
    double end_s, most; /* MiB */
    double top;
    bool logarithmic;
    const json_t *lines[MOST_LINES];
    size_t count;
} picture;

static double number(const json_t *row, const char *key)
{
    return json_number_value(json_object_get(row, key));
}

static const char *text_of(const json_t *row, const char *key)
{
    const char *text = json_string_value(json_object_get(row, key));
    return text ? text : "";
}

static double sample(const json_t *samples, size_t i, size_t k)
{
    return json_number_value(json_array_get(json_array_get(samples, i), k));
}

static void choose(picture *p, const json_t *rows)
{
    for (size_t k = 0; k < sizeof drawn / sizeof drawn[0]; k++) {
        for (size_t i = 0; i < json_array_size(rows); i++) {
            const json_t *row = json_array_get(rows, i);
            if (number(row, "lengths") < 40 || !json_object_get(row, "samples") ||
                strncmp(text_of(row, "title"), drawn[k], strlen(drawn[k])) != 0)
                continue;
            p->lines[p->count++] = row;
            const json_t *samples = json_object_get(row, "samples");
            for (size_t j = 0; j < json_array_size(samples); j++) {
                p->end_s = fmax(p->end_s, sample(samples, j, 0));
                p->most = fmax(p->most, sample(samples, j, 1) / MIB);
            }
            break;
        }
    }
}

static double x_of(const picture *p, double seconds)
{
    return LEFT + seconds / p->end_s * WIDTH;
}

static double y_of(const picture *p, double mib)
{
    double part = p->logarithmic ? log2(fmax(mib, LEAST) / LEAST) / log2(fmax(p->most, 2) / LEAST)
                                 : mib / p->most;
    return p->top + HEIGHT * (1 - part);
}

static void put_grid(const picture *p)
{
    char text[48];
    double start = 0.25, step = 0;
    if (!p->logarithmic)
        plot_ticks(0, p->most, 5, &start, &step);
    for (int i = 0; i < 64; i++) {
        double at = p->logarithmic ? start * pow(4, i) : start + i * step;
        if (at > p->most)
            break;
        plot_svg_rule(p->file, LEFT, y_of(p, at), LEFT + WIDTH, y_of(p, at), "#e8ebef");
        plot_svg_label(
            p->file, LEFT - 8, y_of(p, at) + 4, "end",
            plot_number(at, p->logarithmic ? (at < 1 ? 0.01 : 1) : step, text, sizeof(text)));
    }
    plot_ticks(0, p->end_s, 8, &start, &step);
    for (int i = 0; start + i * step <= p->end_s; i++) {
        double x = x_of(p, start + i * step);
        plot_svg_rule(p->file, x, p->top, x, p->top + HEIGHT, "#f0f2f5");
        plot_svg_label(p->file, x, p->top + HEIGHT + 18, "middle",
                       plot_number(start + i * step, step, text, sizeof(text)));
    }
    plot_svg_rule(p->file, LEFT, p->top, LEFT, p->top + HEIGHT, "#9aa5b1");
    plot_svg_rule(p->file, LEFT, p->top + HEIGHT, LEFT + WIDTH, p->top + HEIGHT, "#9aa5b1");
    plot_svg_label(p->file, LEFT, p->top - 8, "start",
                   p->logarithmic ? "MiB held between messages, logarithmic"
                                  : "MiB held between messages");
}

/* Allocated memory stays constant until the next sample: a line of steps. */
static void put_line(const picture *p, size_t line)
{
    const json_t *samples = json_object_get(p->lines[line], "samples");
    fprintf(p->file,
            "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.8\" stroke-linejoin=\"round\" d=\"",
            colours[line]);
    for (size_t i = 0; i < json_array_size(samples); i++) {
        double x = x_of(p, sample(samples, i, 0));
        if (i > 0)
            plot_svg_point(p->file, 'L', x, y_of(p, sample(samples, i - 1, 1) / MIB));
        plot_svg_point(p->file, i == 0 ? 'M' : 'L', x, y_of(p, sample(samples, i, 1) / MIB));
    }
    fputs("\"/>\n", p->file);
}

static void put_legend(const picture *p)
{
    double x = LEFT + WIDTH + 28, y = p->top + 6;
    plot_svg_label(p->file, x + 26, y, "start", "configuration, MiB at the end");
    for (size_t i = 0; i < p->count; i++) {
        char text[256];
        const char *name = text_of(p->lines[i], "title");
        const char *stream = strstr(name, ", 40 lengths");
        int length = stream ? (int)(stream - name) : (int)strlen(name);
        y += 20;
        fprintf(p->file, "<g stroke-width=\"3\">");
        plot_svg_rule(p->file, x, y - 4, x + 18, y - 4, colours[i]);
        fprintf(p->file, "</g>");
        double last = number(p->lines[i], "last_bytes") / MIB;
        snprintf(text, sizeof(text), last < 100 ? "%.*s: %.1f" : "%.*s: %.0f", length, name, last);
        plot_svg_label(p->file, x + 26, y, "start", text);
    }
}

void bench_memory_svg(const json_t *rows, FILE *file)
{
    picture p = {.file = file, .end_s = 1, .most = 1};
    choose(&p, rows);
    int width = LEFT + WIDTH + LEGEND, height = TOP + 2 * (HEIGHT + GAP);
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" font-family=\"system-ui, 'DejaVu Sans', sans-serif\" "
            "font-size=\"12\" fill=\"#4a5568\">\n<rect width=\"100%%\" height=\"100%%\" "
            "fill=\"#ffffff\"/>\n<g font-size=\"15\" font-weight=\"600\" fill=\"#1a202c\">",
            width, height, width, height);
    char text[160];
    int channels = p.count > 0 ? (int)number(p.lines[0], "channels") : BENCH_CHANNELS;
    snprintf(text, sizeof(text),
             "What is held while messages of 40 lengths pass: %d channels at 30 kHz%s", channels,
             channels < BENCH_CHANNELS ? " (quick: stalls and clearings oftener; the chain: 256)"
                                       : "");
    plot_svg_label(file, LEFT, 26, "start", text);
    fputs("</g>\n", file);
    for (int half = 0; half < 2; half++) {
        p.top = TOP + half * (HEIGHT + GAP);
        p.logarithmic = half == 1;
        put_grid(&p);
        for (size_t i = 0; i < p.count; i++)
            put_line(&p, i);
        if (half == 0)
            put_legend(&p);
    }
    plot_svg_label(file, LEFT + WIDTH / 2.0, p.top + HEIGHT + 40, "middle",
                   "time of the stream, s");
    fputs("</svg>\n", file);
}
