/* SPDX-License-Identifier: MIT
 *
 * plot.c: `weir plot`: recordings and results as a picture, all on one time axis. Reads each file twice, in
 * tiles: once for its extent, once to sort its samples into the picture's columns, so that a plot of an
 * hour holds no more than one of a second. Does no arithmetic on the signal.
 */
#include "plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TILE_FRAMES 1024

typedef struct arguments {
    const char *files[PLOT_PANELS];
    size_t file_count;
    const char *output;
    cli_input input; /* how the files are read */
    bool force;
} arguments;

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
        if (*c == ',') /* the decimal sign of some locales */
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
    /* What is never negative (an amplitude, a power) is seen from zero, unless that would flatten it. */
    *ret_low = low >= 0 && low < high / 2 ? 0 : low - air;
    *ret_high = high + air;
}

/* ---- gathering ----------------------------------------------------------------------------- */

/* An open recording and a tile to read it with. */
typedef struct reader {
    weir_source *source;
    const weir_source_info *info;
    weir_buffer *buffer; /* the tile, then the source's own */
} reader;

static void reader_fini(reader *r)
{
    weir_source_close(r->source);
    weir_buffer_unref(r->buffer);
    *r = (reader){0};
}

static weir_err reader_init(reader *r, const char *path, const arguments *a)
{
    *r = (reader){0};
    weir_recording_options options = a->input.recording;
    weir_cache *cache = NULL;
    uint64_t own = 0, tile = 0;
    weir_err err = weir_cache_default(&cache);
    options.cache = cache;
    if (err == WEIR_OK)
        err = weir_recording_open(path, &options, &r->source);
    if (err == WEIR_OK) {
        r->info = weir_source_info_get(r->source);
        tile = (TILE_FRAMES * weir_spec_frame_bytes(&r->info->spec) + 63) / 64 * 64;
        err = r->source->ops->plan(r->source, TILE_FRAMES, &own);
    }
    if (err == WEIR_OK)
        err = weir_cache_take(cache, (size_t)(tile + own), &r->buffer);
    if (err == WEIR_OK)
        err = r->source->ops->start(r->source, TILE_FRAMES, (char *)r->buffer->memory + tile);
    if (err != WEIR_OK)
        reader_fini(r);
    return err;
}

static weir_err reader_read(reader *r, weir_message *ret_block, double *ret_start_s)
{
    weir_err err = r->source->ops->read(r->source, r->buffer->memory, TILE_FRAMES, ret_block);
    if (err == WEIR_OK)
        *ret_start_s = (double)ret_block->segment_start_ns * 1e-9 + r->info->spec.dims[0].start +
                       (double)ret_block->first_index / r->info->spec.rate_hz;
    return err;
}

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

/* "Fp1", "3 / mean": the place of a column on every dimension but the stream's. */
static void title_set(const reader *r, uint64_t column, char *text, size_t size)
{
    const weir_spec *spec = &r->info->spec;
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

static void panel_name(plot_panel *panel, const char *path, const reader *r, uint64_t column)
{
    const weir_spec *spec = &r->info->spec;
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
    title_set(r, column, panel->title, sizeof(panel->title));
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

/* First reading: how far the file reaches; adds a panel a channel while there is room. */
static weir_err extent(plot *p, const char *path, const arguments *a, size_t *ret_panels)
{
    reader r;
    weir_err err = reader_init(&r, path, a);
    if (err != WEIR_OK)
        return err;
    const weir_spec *spec = &r.info->spec;
    uint64_t columns = weir_spec_columns(spec);
    size_t added = 0;
    for (; added < columns && p->panel_count < PLOT_PANELS; added++) {
        plot_panel *panel = cli_alloc(1, sizeof(*panel));
        panel->low = INFINITY;
        panel->high = -INFINITY;
        panel_name(panel, path, &r, added);
        p->panels[p->panel_count++] = panel;
    }
    if (added < columns)
        fprintf(
            stderr,
            "weir: %s: drawing the first %llu of %llu channels; choose others with --channels\n",
            path, (unsigned long long)added, (unsigned long long)columns);
    for (;;) {
        weir_message block;
        double start;
        err = reader_read(&r, &block, &start);
        if (err != WEIR_OK || block.frames == 0)
            break;
        p->start_s = fmin(p->start_s, start);
        p->end_s = fmax(p->end_s, start + (double)block.frames / spec->rate_hz);
    }
    reader_fini(&r);
    *ret_panels = added;
    return err;
}

static void panel_add(const plot *p, plot_panel *panel, double time_s, double value, bool *gap)
{
    if (!isfinite(value)) {
        *gap = true;
        return;
    }
    double at = (time_s - p->start_s) / (p->end_s - p->start_s) * PLOT_COLUMNS;
    plot_column *column =
        &panel->columns[at < PLOT_COLUMNS - 1 ? (size_t)fmax(at, 0) : PLOT_COLUMNS - 1];
    if (column->count == 0) {
        column->low = column->high = value;
        column->broken = *gap;
    }
    column->low = fmin(column->low, value);
    column->high = fmax(column->high, value);
    column->sum += value;
    column->time_sum += time_s;
    column->count++;
    panel->low = fmin(panel->low, value);
    panel->high = fmax(panel->high, value);
    *gap = false;
}

/* Second reading: sorts the samples of the file's panels into columns. */
static weir_err gather(plot *p, const char *path, const arguments *a, size_t first, size_t count)
{
    reader r;
    weir_err err = reader_init(&r, path, a);
    if (err != WEIR_OK)
        return err;
    const weir_spec *spec = &r.info->spec;
    uint64_t columns = weir_spec_columns(spec);
    bool gap[PLOT_PANELS] = {false};
    uint64_t segment = 0;
    for (;;) {
        weir_message block;
        double start;
        err = reader_read(&r, &block, &start);
        if (err != WEIR_OK || block.frames == 0)
            break;
        for (size_t c = 0; c < count; c++) {
            gap[c] |= block.segment != segment;
            for (size_t i = 0; i < block.frames; i++)
                panel_add(p, p->panels[first + c], start + (double)i / spec->rate_hz,
                          value_at(spec->dtype, block.data, i * columns + c), &gap[c]);
        }
        segment = block.segment;
    }
    reader_fini(&r);
    return err;
}

/* ---- the command --------------------------------------------------------------------------- */

static int write_svg(const plot *p, const char *path, bool force)
{
    cli_write out;
    int status = cli_write_begin(&out, path, force);
    if (status != 0)
        return status;
    plot_svg(p, out.file);
    return cli_write_end(&out, true);
}

/* The picture is none of the files that are drawn, and can be written. */
static int check_files(const arguments *a)
{
    cli_files files = {0};
    for (size_t i = 0; i < a->file_count; i++)
        cli_files_recording(&files, a->files[i]);
    cli_files_write(&files, a->output, "-o");
    int status = cli_files_check(&files);
    return status == 0 ? cli_write_check(a->output, a->force) : status;
}

/* Braille, unless the environment names another character set than UTF-8. */
static bool unicode(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = getenv(names[i]);
        if (value && value[0])
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return true;
}

static const struct argp_option options[] = {
    {"output", 'o', "FILE.svg", 0, "SVG file to write", 0},
    {"force", CLI_OPT_FORCE, NULL, 0, "overwrite an existing file", 0},
    {0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
    arguments *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->input;
        return 0;
    case 'o':
        a->output = text;
        return 0;
    case CLI_OPT_FORCE:
        a->force = true;
        return 0;
    case ARGP_KEY_ARG:
        if (a->file_count == PLOT_PANELS)
            argp_error(state, "at most %d files", PLOT_PANELS);
        a->files[a->file_count++] = text;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "FILE is required: a recording, or an output of weir run");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static weir_err collect(plot *p, const arguments *a)
{
    size_t counts[PLOT_PANELS] = {0};
    weir_err err = WEIR_OK;
    p->start_s = INFINITY;
    p->end_s = -INFINITY;
    for (size_t i = 0; i < a->file_count && err == WEIR_OK; i++)
        err = extent(p, a->files[i], a, &counts[i]);
    if (!(p->start_s < p->end_s)) {
        p->start_s = 0; /* nothing in any file: empty panels */
        p->end_s = 1;
    }
    for (size_t i = 0, first = 0; i < a->file_count && err == WEIR_OK; first += counts[i++])
        err = gather(p, a->files[i], a, first, counts[i]);
    return err;
}

int plot_command(int argc, char **argv)
{
    static const struct argp_child children[] = {{&cli_input_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        options,
        parse,
        "FILE...",
        "Draws recordings and results on one time axis: as characters, or with -o as SVG.\v"
        "Every sample is used: where several fall into one column, the range from lowest to "
        "highest is "
        "filled and their mean is drawn over it.",
        children,
        NULL,
        NULL};
    arguments a = {.input = {.recording = weir_recording_options_default()}};
    int status = cli_parse(&argp, argc, argv, &a);
    if (status >= 0)
        return status;
    if (a.input.message_frames || a.input.lengths_path)
        return cli_fail(
            2, "--message-frames and --message-lengths have no effect on a plot; remove them");
    for (size_t i = 0; i < a.file_count; i++)
        if (strcmp(a.files[i], "-") == 0)
            return cli_fail(2, "plot reads its input twice, so it cannot be standard input");
    if (a.output != NULL && (status = check_files(&a)) != 0)
        return status;
    plot p = {0};
    weir_err err = collect(&p, &a);
    if (err == WEIR_OK) {
        plot_terminal(&p, stdout, unicode());
        status = a.output ? write_svg(&p, a.output, a.force) : 0;
    } else {
        status = cli_fail_weir(err);
    }
    for (size_t i = 0; i < p.panel_count; i++)
        free(p.panels[i]);
    return cli_finish(status);
}
