/* SPDX-License-Identifier: MIT
 *
 * plot.c: `weir plot`: draws recordings and results on one time axis. Reads each file twice, in
 * tiles: once for its extent, once to sort its samples into the picture's columns, so that a plot
 * of an hour needs no more memory than one of a second. Does no arithmetic on the signal.
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

/* For arrays with more than two dimensions --channels selects values of a frame, here: formats
 * select channels. */
static weir_err open_selected(const char *path, weir_recording_options *options, weir_source **ret)
{
    const char *channels = options->channels;
    options->channels = NULL;
    weir_err err = weir_recording_open(path, options, ret);
    options->channels = channels;
    if (err != WEIR_OK || channels == NULL || weir_source_info_get(*ret)->spec.dim_count > 2)
        return err;
    weir_source_close(*ret);
    *ret = NULL;
    return weir_recording_open(path, options, ret);
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
        err = open_selected(path, &options, &r->source);
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
        *ret_start_s = plot_time(&r->info->spec, ret_block);
    return err;
}

/* "0-3,8": whether the number is in the list. False in *ret_good: it is not such a list. */
static bool list_has(const char *list, uint64_t number, bool *ret_good)
{
    bool found = false;
    for (const char *at = list; *ret_good; at++) {
        char *end;
        uint64_t first = strtoull(at, &end, 10), last = first;
        *ret_good = *at >= '0' && *at <= '9';
        if (*ret_good && *end == '-') {
            at = end + 1;
            last = strtoull(at, &end, 10);
            *ret_good = *at >= '0' && *at <= '9';
        }
        found |= number >= first && number <= last;
        at = end;
        if (*at == '\0')
            return *ret_good && found;
        *ret_good &= *at == ',';
    }
    return false;
}

/* First reading: the file's extent; adds one panel per channel while there is space. */
static weir_err extent(plot *p, const char *path, const arguments *a, size_t *ret_panels)
{
    reader r;
    weir_err err = reader_init(&r, path, a);
    if (err != WEIR_OK)
        return err;
    const weir_spec *spec = &r.info->spec;
    uint64_t columns = weir_spec_columns(spec);
    size_t added = 0, note_first = p->note_count;
    uint64_t selected = 0;
    const char *list = spec->dim_count > 2 ? a->input.recording.channels : NULL;
    bool good = true;
    uint64_t left_out = plot_notes_add(p, r.info);
    if (left_out > 0)
        fprintf(stderr, "weir: %s: the first %zu of %llu annotations are drawn\n", path,
                p->note_count - note_first,
                (unsigned long long)(p->note_count - note_first + left_out));
    for (uint64_t column = 0; column < columns && good; column++) {
        if (list != NULL && !list_has(list, column, &good))
            continue;
        selected++;
        if (p->panel_count == PLOT_PANELS)
            continue;
        added++;
        plot_panel *panel = plot_panel_add(p, path, spec, column);
        panel->note_first = note_first;
        panel->note_count = p->note_count - note_first;
    }
    if (!good || selected == 0) {
        reader_fini(&r);
        exit(cli_fail(
            2,
            "%s: --channels %s: of an array with more than two dimensions numbers 0 to %llu "
            "and ranges of them, as 0-3,8, select values of a frame",
            path, list != NULL ? list : "", (unsigned long long)columns - 1));
    }
    if (added < selected && spec->dim_count > 2)
        fprintf(stderr,
                "weir: %s: the first %zu of %llu values of a frame are drawn; choose with "
                "--channels, by numbers "
                "from 0 to %llu\n",
                path, added, (unsigned long long)selected, (unsigned long long)columns - 1);
    else if (added < selected)
        fprintf(stderr,
                "weir: %s: the first %zu of %llu channels are drawn; choose with --channels\n",
                path, added, (unsigned long long)selected);
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

/* Second reading: sorts the samples of the file's panels into columns. */
static weir_err gather(plot *p, const char *path, const arguments *a, size_t first, size_t count)
{
    reader r;
    weir_err err = reader_init(&r, path, a);
    if (err != WEIR_OK)
        return err;
    for (;;) {
        weir_message block;
        double start;
        err = reader_read(&r, &block, &start);
        if (err != WEIR_OK || block.frames == 0)
            break;
        plot_add(p, first, count, &r.info->spec, &block);
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

/* The picture is not one of the files drawn, and can be written. */
static int check_files(const arguments *a)
{
    cli_files files = {0};
    for (size_t i = 0; i < a->file_count; i++)
        cli_files_recording(&files, a->files[i]);
    cli_files_write(&files, a->output, "-o");
    int status = cli_files_check(&files);
    if (status != 0)
        return status;
    const char *name = strrchr(a->output, '/');
    const char *dot = strrchr(name != NULL ? name : a->output, '.');
    if (dot != NULL && strcasecmp(dot, ".svg") != 0)
        return cli_fail(2,
                        "-o %s: plots are written as SVG only; name it %.*s.svg (browsers show "
                        "SVG; rsvg-convert "
                        "or inkscape make PNG of it)",
                        a->output, (int)(dot - a->output), a->output);
    return cli_write_check(a->output, a->force);
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
    static plot p; /* about 40 KiB */
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
