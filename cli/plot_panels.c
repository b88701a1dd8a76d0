/* SPDX-License-Identifier: MIT
 *
 * plot_panels.c: the panels of a plot, and sorting samples into their columns. Does not read files
 * and does not draw.
 */
#include "plot.h"

#include <math.h>
#include <string.h>

/* ---- numbers ------------------------------------------------------------------------------- */

void plot_ticks(double low, double high, int about, double *ret_start, double *ret_step)
{
    double raw = (high - low) / about;
    double step = pow(10, floor(log10(raw)));
    double mantissa = raw / step;
    step *= mantissa < 1.5 ? 1 : mantissa < 3.5 ? 2 : mantissa < 7.5 ? 5 : 10;
    *ret_step = step;
    *ret_start = ceil(low / step - 1e-9) * step;
}

char *plot_number(double number, double step, char *text, size_t size)
{
    int digits = step >= 1 ? 0 : (int)ceil(-log10(step) - 1e-9);
    if (fabs(number) < step / 2)
        number = 0; /* no "-0" */
    if (digits > 6 || fabs(number) >= 1e7)
        snprintf(text, size, "%.3g", number);
    else
        snprintf(text, size, "%.*f", digits, number);
    for (char *c = text; *c; c++)
        if (*c == ',') /* the decimal comma of some locales */
            *c = '.';
    return text;
}

void plot_range(const plot_panel *panel, double *ret_low, double *ret_high)
{
    double low = panel->low, high = panel->high;
    if (low > high) {
        low = 0;
        high = 1;
    }
    double air = high > low ? (high - low) * 0.06 : fmax(fabs(high), 1) * 0.5;
    /* Values that are never negative (an amplitude, a power) are drawn from zero, unless that
     * would flatten the curve. */
    *ret_low = low >= 0 && low < high / 2 ? 0 : low - air;
    *ret_high = high + air;
}

/* ---- panels -------------------------------------------------------------------------------- */

/* "Fp1", "3 / mean": the place of a column in every dimension except the stream's. */
static void title_set(const weir_spec *spec, uint64_t column, char *text, size_t size)
{
    uint64_t inner = weir_spec_columns(spec);
    size_t used = 0;
    text[0] = 0;
    for (uint32_t d = 1; d < spec->dim_count && used < size; d++) {
        const weir_axis *axis = &spec->dims[d];
        inner /= axis->size;
        uint64_t i = column / inner % axis->size;
        const char *part = d > 1 ? " / " : "";
        char number[48];
        int length;
        if (axis->labels)
            length = snprintf(text + used, size - used, "%s%s", part, axis->labels[i]);
        else
            length = snprintf(
                text + used, size - used, "%s%s %s%s%s", part, axis->name,
                plot_number(axis->values ? axis->values[i] : axis->start + axis->step * (double)i,
                            axis->values ? 0.01 : axis->step, number, sizeof(number)),
                axis->unit && axis->unit[0] ? " " : "", axis->unit ? axis->unit : "");
        used += length > 0 ? (size_t)length : 0;
    }
}

static void panel_name(plot_panel *panel, const char *path, const weir_spec *spec, uint64_t column)
{
    const char *name = strrchr(path, '/');
    char rate[48];
    plot_number(spec->rate_hz, spec->rate_hz < 10 ? 0.001 : 1, rate, sizeof(rate));
    if (strchr(rate, '.')) { /* "1.000" */
        size_t length = strlen(rate);
        while (rate[length - 1] == '0')
            rate[--length] = 0;
        if (rate[length - 1] == '.')
            rate[length - 1] = 0;
    }
    snprintf(panel->from, sizeof(panel->from), "%.96s, %s Hz%s", name ? name + 1 : path, rate,
             weir_dtype_parts(spec->dtype) > 1 ? ", magnitude" : "");
    title_set(spec, column, panel->title, sizeof(panel->title));
    int ch = weir_spec_dim(spec, "ch");
    if (spec->units && ch > 0) {
        uint64_t inner = 1;
        for (uint32_t d = (uint32_t)ch + 1; d < spec->dim_count; d++)
            inner *= spec->dims[d].size;
        const char *unit = spec->units[column / inner % spec->dims[ch].size];
        bool number = unit == NULL || strcmp(unit, "1") == 0; /* a pure number needs no unit */
        snprintf(panel->unit, sizeof(panel->unit), "%s", number ? "" : unit);
    }
}

plot_panel *plot_panel_add(plot *p, const char *path, const weir_spec *spec, uint64_t column)
{
    plot_panel *panel = cli_alloc(1, sizeof(*panel));
    panel->low = INFINITY;
    panel->high = -INFINITY;
    panel->column = column;
    panel_name(panel, path, spec, column);
    p->panels[p->panel_count++] = panel;
    return panel;
}

uint64_t plot_notes_add(plot *p, const weir_source_info *info)
{
    size_t i = 0;
    for (; i < info->annotation_count && p->note_count < PLOT_NOTES; i++) {
        plot_note *note = &p->notes[p->note_count++];
        note->time_s = (double)info->annotations[i].onset_ns * 1e-9;
        snprintf(note->text, sizeof(note->text), "%s", info->annotations[i].text);
    }
    return info->annotation_count - i + info->annotations_left_out;
}

/* ---- samples ------------------------------------------------------------------------------- */

/* A complex value is drawn as its magnitude. */
static double value_at(weir_dtype dtype, const void *rows, uint64_t i)
{
    switch (dtype) {
    case WEIR_U8:
        return ((const uint8_t *)rows)[i];
    case WEIR_U16:
        return ((const uint16_t *)rows)[i];
    case WEIR_I16:
        return ((const int16_t *)rows)[i];
    case WEIR_I32:
        return ((const int32_t *)rows)[i];
    case WEIR_F32:
        return (double)((const float *)rows)[i];
    case WEIR_F64:
        return ((const double *)rows)[i];
    case WEIR_C64:
        return hypot((double)((const float *)rows)[2 * i],
                     (double)((const float *)rows)[2 * i + 1]);
    case WEIR_C128:
        return hypot(((const double *)rows)[2 * i], ((const double *)rows)[2 * i + 1]);
    }
    return NAN;
}

double plot_time(const weir_spec *spec, const weir_message *block)
{
    return (double)block->segment_start_ns * 1e-9 + spec->dims[0].start +
           (double)block->first_index / spec->rate_hz;
}

static void panel_add(plot_panel *panel, size_t at, double time_s, double value)
{
    if (!isfinite(value)) {
        panel->gap = true;
        return;
    }
    plot_column *column = &panel->columns[at];
    if (column->count == 0) {
        column->low = column->high = value;
        column->broken = panel->gap;
    }
    column->low = value < column->low ? value : column->low;
    column->high = value > column->high ? value : column->high;
    column->sum += value;
    column->time_sum += time_s;
    column->count++;
    panel->low = value < panel->low ? value : panel->low;
    panel->high = value > panel->high ? value : panel->high;
    panel->gap = false;
}

void plot_add(plot *p, size_t first, size_t count, const weir_spec *spec, const weir_message *block)
{
    uint64_t values = weir_spec_columns(spec);
    double start_s = plot_time(spec, block), scale = PLOT_COLUMNS / (p->end_s - p->start_s);
    for (size_t c = first; c < first + count; c++) {
        p->panels[c]->gap |= block->segment != p->panels[c]->segment;
        p->panels[c]->segment = block->segment;
    }
    for (size_t i = 0; i < block->frames; i++) {
        double time_s = start_s + (double)i / spec->rate_hz;
        double at = (time_s - p->start_s) * scale;
        size_t column = at < 0 ? 0 : at < PLOT_COLUMNS - 1 ? (size_t)at : PLOT_COLUMNS - 1;
        for (size_t c = first; c < first + count; c++)
            panel_add(p->panels[c], column, time_s,
                      value_at(spec->dtype, block->data, i * values + p->panels[c]->column));
    }
}

/* Two neighbours become one column. */
static plot_column merged(const plot_column *a, const plot_column *b)
{
    if (a->count == 0 || b->count == 0)
        return a->count == 0 ? *b : *a;
    return (plot_column){.low = fmin(a->low, b->low),
                         .high = fmax(a->high, b->high),
                         .sum = a->sum + b->sum,
                         .time_sum = a->time_sum + b->time_sum,
                         .count = a->count + b->count,
                         .broken = a->broken};
}

void plot_reach(plot *p, double end_s)
{
    while (p->end_s < end_s) {
        for (size_t c = 0; c < p->panel_count; c++) {
            plot_column *columns = p->panels[c]->columns;
            for (size_t i = 0; i < PLOT_COLUMNS / 2; i++)
                columns[i] = merged(&columns[2 * i], &columns[2 * i + 1]);
            memset(columns + PLOT_COLUMNS / 2, 0, PLOT_COLUMNS / 2 * sizeof *columns);
        }
        p->end_s += p->end_s - p->start_s;
    }
}
