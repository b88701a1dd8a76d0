/* SPDX-License-Identifier: MIT
 *
 * recording.c: detects the format of a path and opens it. Uses formats only through formats.def.
 */
#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chain/chain.h"
#include "recording/reader.h"

static const weiri_format_ops *const formats[] = {
#define X(name) &weiri_format_##name,
#include "recording/formats.def"
#undef X
};
#define FORMATS (sizeof formats / sizeof *formats)

static const char *const format_names[] = {
#define X(name) #name,
#include "recording/formats.def"
#undef X
};

static weir_format_info infos[FORMATS + 1];
static pthread_once_t infos_once = PTHREAD_ONCE_INIT;

static void fill_infos(void)
{
    for (size_t i = 0; i < FORMATS; i++) {
        infos[i] = formats[i]->info;
    }
}

const weir_format_info *weir_formats(void)
{
    pthread_once(&infos_once, fill_infos);
    return infos;
}

weir_err weiri_format_find(const char *name, const weiri_format_ops **ret_format)
{
    for (size_t i = 0; i < FORMATS; i++) {
        if (weiri_equal_blind(name, formats[i]->info.name)) {
            *ret_format = formats[i];
            return WEIR_OK;
        }
    }
    char list[160] = "";
    for (size_t i = 0; i < FORMATS; i++) {
        size_t used = strlen(list);
        if (used + strlen(format_names[i]) + 3 < sizeof list) {
            strcat(list, i ? ", " : "");
            strcat(list, format_names[i]);
        }
    }
    const char *near = weiri_nearest(name, format_names, FORMATS);
    return weiri_fail(WEIR_E_USAGE, "format %.60s: unknown%s%s%s; there are: %s", name,
                      near ? ", did you mean " : "", near ? near : "", near ? "?" : "", list);
}

bool weiri_is_part(const char *path)
{
    size_t bytes = strlen(path);
    return bytes > 5 && strcmp(path + bytes - 5, ".part") == 0;
}

/* Whether path ends in one of the blank-separated extensions; before ".part", if an interrupted
 * output is read. */
static bool has_extension(const char *path, const char *extensions, bool part)
{
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    size_t whole = strlen(base);
    whole -= part && weiri_is_part(base) ? 5 : 0;
    while (whole > 0 && base[whole - 1] != '.') {
        whole--;
    }
    if (whole == 0) {
        return false;
    }
    char ending[24];
    snprintf(ending, sizeof ending, "%s", base + whole - 1);
    ending[strcspn(ending + 1, ".") + 1] = 0;
    for (const char *at = extensions; *at;) {
        size_t length = strcspn(at, " ");
        char one[24];
        if (length < sizeof one) {
            memcpy(one, at, length);
            one[length] = 0;
            if (weiri_equal_blind(ending, one)) {
                return true;
            }
        }
        at += length;
        at += strspn(at, " ");
    }
    return false;
}

const weiri_format_ops *weiri_format_by_name(const char *path, bool to_write)
{
    for (size_t i = 0; i < FORMATS; i++) {
        bool able =
            (to_write ? formats[i]->info.writes : formats[i]->info.reads) || formats[i]->not_built;
        if (able && has_extension(path, formats[i]->info.extensions, !to_write)) {
            return formats[i];
        }
        if (!to_write && formats[i]->kin && has_extension(path, formats[i]->kin, false)) {
            return formats[i];
        }
    }
    return NULL;
}

weir_recording_options weir_recording_options_default(void)
{
    weir_recording_options options = {
        .options_size = sizeof options, .start_s = NAN, .duration_s = NAN, .gap_tolerance_s = 1e-3};
    return options;
}

weir_output_options weir_output_options_default(void)
{
    weir_output_options options = {.options_size = sizeof options};
    return options;
}

/* By option, by scheme, by first bytes, by name: in this order, so that a wrong extension does
 * not matter. */
static weir_err choose(weiri_reader *reader, const weiri_format_ops **ret_format)
{
    const char *stated = reader->options->format;
    if (stated) {
        weir_err err = weiri_format_find(stated, ret_format);
        if (err == WEIR_OK && !(*ret_format)->info.reads && !(*ret_format)->not_built) {
            return weiri_fail(WEIR_E_USAGE, "format %s: can be written, but not read", stated);
        }
        return err;
    }
    if (!reader->input.pipe) {
        unsigned char first[WEIRI_PROBE_BYTES];
        size_t count = 0;
        weir_err err = weiri_input_read(&reader->input, 0, first, sizeof first, 1, &count);
        if (err != WEIR_OK) {
            return err;
        }
        if (count == 0) {
            return weiri_malformed(reader, 0, "the file is empty");
        }
        for (size_t i = 0; i < FORMATS; i++) {
            if (formats[i]->probe && formats[i]->probe(first, count)) {
                *ret_format = formats[i];
                return WEIR_OK;
            }
        }
    }
    const weiri_format_ops *by_name = weiri_format_by_name(reader->path, false);
    if (by_name == NULL && reader->input.pipe) {
        return weiri_fail(WEIR_E_USAGE, "%s: the format of a pipe must be stated: --format NAME",
                          reader->input.name);
    }
    if (by_name == NULL) {
        return weiri_malformed(
            reader, 0,
            "unknown format: neither its first bytes nor its name are recognised; use --format");
    }
    *ret_format = by_name;
    return WEIR_OK;
}

static const weiri_format_ops *by_scheme(const char *path)
{
    for (size_t i = 0; i < FORMATS; i++) {
        const char *scheme = formats[i]->scheme;
        if (scheme && strncmp(path, scheme, strlen(scheme)) == 0) {
            return formats[i];
        }
    }
    return NULL;
}

static bool is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISDIR(status.st_mode);
}

/* "FILE:/GROUP/NAME" if there is no such file as a whole: the longest FILE that exists. Folders
 * and files may have ":/" in their names (C:/host:/f.h5), and so may a dataset. */
static weir_err split_dataset(weiri_reader *reader)
{
    const char *stated = reader->options->dataset;
    if (stated == NULL && strstr(reader->path, ":/") && access(reader->path, F_OK) != 0) {
        char *path;
        size_t length = strlen(reader->path);
        weir_err err = weiri_reader_get(reader, length + 1, 1, &path);
        if (err != WEIR_OK) {
            return err;
        }
        memcpy(path, reader->path, length + 1);
        while (stated == NULL && length-- > 1) {
            if (strncmp(reader->path + length, ":/", 2) == 0) {
                path[length] = 0;
                if (is_file(path)) {
                    stated = reader->path + length + 1;
                    reader->path = path;
                }
            }
        }
    }
    if (stated) {
        reader->dataset = weiri_arena_text(&reader->arena, stated);
        return reader->dataset ? WEIR_OK : WEIR_E_NOMEM;
    }
    return WEIR_OK;
}

/* The stated unit, for channels without another. */
static weir_err state_unit(weiri_reader *reader)
{
    weir_spec *spec = &reader->info.spec;
    int dim = weir_spec_dim(spec, "ch");
    const char *stated = reader->options->unit, *unit = NULL, **units = NULL;
    if (stated == NULL) {
        return WEIR_OK;
    }
    if (dim < 1 || reader->options->counts) {
        return weiri_fail(WEIR_E_USAGE, "%s: unit %.40s: %s", reader->path, stated,
                          dim < 1 ? "there are no channels" : "stored counts have none");
    }
    uint64_t count = spec->dims[dim].size;
    weir_err err = weiri_reader_text(reader, stated, strlen(stated), &unit);
    if (err == WEIR_OK) {
        err = weiri_reader_get(reader, count, sizeof *units, &units);
    }
    for (uint64_t i = 0; err == WEIR_OK && i < count; i++) {
        units[i] = spec->units && *spec->units[i] ? spec->units[i] : unit;
    }
    spec->units = err == WEIR_OK ? units : spec->units;
    return err;
}

static weir_err open_reader(weiri_reader *reader)
{
    weir_err err = WEIR_OK;
    reader->format = by_scheme(reader->path);
    if (reader->format == NULL) {
        err = split_dataset(reader);
        if (err == WEIR_OK) {
            err = weiri_input_open(reader->path, &reader->input);
        }
        if (err == WEIR_OK) {
            err = choose(reader, &reader->format);
        }
        if (err == WEIR_OK && !reader->format->info.reads && reader->format->not_built) {
            err = weiri_fail(WEIR_E_USAGE, "%s: is of format %s; this weir was built without %s",
                             reader->path, reader->format->info.name, reader->format->not_built);
        }
        if (err == WEIR_OK && reader->format->scheme) {
            err = weiri_fail(WEIR_E_USAGE, "format %s: is not read from a file; use %s...",
                             reader->format->info.name, reader->format->scheme);
        }
    }
    const weir_recording_options *options = reader->options;
    if (err == WEIR_OK && reader->dataset && !reader->format->datasets) {
        err = weiri_fail(WEIR_E_USAGE,
                         "%s: a %s file has no datasets to choose from (--dataset %.80s)",
                         reader->path, reader->format->info.name, reader->dataset);
    }
    if (err == WEIR_OK && !reader->format->bare &&
        (options->dtype || options->channels_in_file || options->offset_bytes ||
         options->scale != 0)) {
        err = weiri_fail(
            WEIR_E_USAGE,
            "%s: --dtype, --channels-in-file, --offset and --scale are for raw files; this is %s",
            reader->path, reader->format->info.name);
    }
    if (err == WEIR_OK) {
        reader->info.format = reader->format->info.name;
        err = reader->format->open(reader);
    }
    if (err == WEIR_OK && reader->side_err != WEIR_OK) {
        err = weiri_fail(reader->side_err, "%s", reader->side_why);
    }
    if (err == WEIR_OK) {
        err = weiri_reader_select(reader);
    }
    if (err == WEIR_OK) {
        err = reader->format->layout(reader);
    }
    if (err == WEIR_OK && reader->info.annotations_left_out > 0) {
        weiri_notice(&reader->notices, "annotations: the first %zu are stored, %llu are left out",
                     reader->info.annotation_count,
                     (unsigned long long)reader->info.annotations_left_out);
    }
    if (err == WEIR_OK) {
        err = state_unit(reader);
    }
    if (err == WEIR_OK && reader->info.segment_count == 0 && reader->from_s > 0) {
        err = weiri_fail(WEIR_E_USAGE, "%s: start %g s: there are no frames from there on",
                         reader->path, reader->from_s);
    }
    return err;
}

/* How a recording is read, as part of its identity. */
static uint64_t hash_options(const weir_recording_options *options)
{
    const double numbers[] = {options->rate_hz, options->start_s, options->duration_s,
                              options->gap_tolerance_s};
    const char *const texts[] = {options->dtype, options->channels, options->exclude,
                                 options->dataset, options->unit};
    const uint64_t counts[] = {options->channels_in_file, options->offset_bytes, options->counts,
                               options->one_rate};
    uint64_t h = weiri_hash(1, numbers, sizeof numbers);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        h = weiri_hash_text(h, texts[i]);
    }
    return weiri_hash(h, counts, sizeof counts);
}

weir_err weir_recording_open(const char *path,
                             const weir_recording_options *options,
                             weir_source **ret_source)
{
    static const weiri_sized rule = {
        .field = "recording options: options_size",
        .make = "weir_recording_options_default() makes them",
        .least = WEIRI_THROUGH(weir_recording_options, unit),
        .known = offsetof(weir_recording_options, reserved),
    };
    if (path == NULL || ret_source == NULL) {
        return weiri_null(__func__);
    }
    weir_recording_options known = weir_recording_options_default();
    weir_err err = options ? weiri_sized_read(&rule, options, &known) : WEIR_OK;
    weir_cache *cache = known.cache;
    if (err == WEIR_OK && cache == NULL) {
        err = weir_cache_default(&cache);
    }
    if (err != WEIR_OK) {
        return err;
    }
    weiri_arena arena;
    weiri_arena_init(&arena, cache);
    weiri_reader *reader = weiri_arena_get(&arena, sizeof *reader);
    const char *name = reader ? weiri_arena_text(&arena, path) : NULL;
    weir_segment *segments =
        name ? weiri_arena_get(&arena, sizeof *segments * WEIRI_MAX_SEGMENTS) : NULL;
    if (segments == NULL) {
        weiri_arena_fini(&arena);
        return WEIR_E_NOMEM;
    }
    reader->source.ops = &weiri_reader_ops;
    reader->arena = arena;
    reader->path = name;
    reader->options = &known;
    reader->asked = hash_options(&known);
    reader->input.fd = -1;
    reader->inner = 1;
    reader->segments = segments;
    reader->info.info_size = sizeof reader->info;
    reader->info.segments = segments;
    fenv_t callers; /* S6 */
    feholdexcept(&callers);
    err = open_reader(reader);
    fesetenv(&callers);
    reader->options = NULL;
    if (err != WEIR_OK) {
        reader->source.ops->close(&reader->source);
        return err;
    }
    *ret_source = &reader->source;
    return WEIR_OK;
}
