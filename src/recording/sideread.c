/* SPDX-License-Identifier: MIT
 *
 * sideread.c: NAME.json beside an npy or raw file that weir wrote: rate, labels, units, axes, segments
 * and start time come back, so that a second chain sees what the first one put out, gaps included (S4).
 * A side file of somebody else, or one that does not fit its recording, is left alone with a notice.
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "recording/reader.h"

#define MOST_BYTES                                                                                 \
    (1024 * 1024) /* of a side file; jansson needs some times as much, until it is read */
#define MOST_SEGMENTS 4096

/* The text of the file, or NULL. A missing one is no fault. */
static char *load(weiri_reader *reader, size_t *ret_bytes)
{
    char path[4096];
    /* Of NAME.part, which a run left behind, NAME.json.part. */
    size_t whole = strlen(reader->path);
    bool part = weiri_is_part(reader->path);
    int length = snprintf(path, sizeof path, "%.*s.json%s", (int)(part ? whole - 5 : whole),
                          reader->path, part ? ".part" : "");
    if (reader->input.pipe || length < 0 || (size_t)length >= sizeof path || whole >= sizeof path) {
        return NULL;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    char *text = NULL;
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        if (status.st_size > MOST_BYTES) {
            weiri_notice(&reader->notices, "%.100s.json: too long, not read", reader->path);
        } else if (weiri_reader_get(reader, (uint64_t)status.st_size + 1, 1, &text) == WEIR_OK) {
            ssize_t got = pread(fd, text, (size_t)status.st_size, 0);
            *ret_bytes = got > 0 ? (size_t)got : 0;
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    return text;
}

/* What the side file says, or NULL: there is none, or it is somebody else's, which *ret_foreign tells. */
static json_t *parse(weiri_reader *reader, bool *ret_foreign)
{
    size_t bytes = 0;
    char *text = load(reader, &bytes);
    json_error_t error;
    json_t *root = text ? json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error) : NULL;
    *ret_foreign = text && !json_is_string(json_object_get(root, "weir"));
    if (*ret_foreign) {
        json_decref(root);
        return NULL;
    }
    return root;
}

/* A list of count texts into the arena; NULL where it is not one. */
static const char *const *read_texts(weiri_reader *reader, const json_t *list, uint64_t count)
{
    const char **texts = NULL;
    if (!json_is_array(list) || json_array_size(list) != count ||
        weiri_reader_get(reader, count, sizeof *texts, &texts) != WEIR_OK) {
        return NULL;
    }
    for (uint64_t i = 0; i < count; i++) {
        const char *text = json_string_value(json_array_get(list, i));
        if (text == NULL || weiri_reader_text(reader, text, strlen(text), &texts[i]) != WEIR_OK) {
            return NULL;
        }
    }
    return texts;
}

static const double *read_numbers(weiri_reader *reader, const json_t *list, uint64_t count)
{
    double *numbers = NULL;
    if (!json_is_array(list) || json_array_size(list) != count ||
        weiri_reader_get(reader, count, sizeof *numbers, &numbers) != WEIR_OK) {
        return NULL;
    }
    for (uint64_t i = 0; i < count; i++) {
        if (!json_is_number(json_array_get(list, i))) {
            return NULL;
        }
        numbers[i] = json_number_value(json_array_get(list, i));
    }
    return numbers;
}

static void read_axis(weiri_reader *reader, const json_t *root, uint32_t i, weir_axis *axis)
{
    const char *name = json_string_value(json_array_get(json_object_get(root, "dims"), i));
    const json_t *found = json_object_get(json_object_get(root, "axes"), name ? name : "");
    const char *unit = json_string_value(json_object_get(found, "unit"));
    if (found == NULL || unit == NULL ||
        weiri_reader_text(reader, name, strlen(name), &axis->name) != WEIR_OK ||
        weiri_reader_text(reader, unit, strlen(unit), &axis->unit) != WEIR_OK || i == 0) {
        return;
    }
    axis->labels = read_texts(reader, json_object_get(found, "labels"), axis->size);
    axis->values = read_numbers(reader, json_object_get(found, "values"), axis->size);
    const json_t *step = json_object_get(found, "step");
    if (json_is_number(step) && axis->labels == NULL && axis->values == NULL) {
        axis->start = json_number_value(json_object_get(found, "start"));
        axis->step = json_number_value(step);
    }
}

/* Of frames x channels the labels become channels, which can be selected by them. */
static void make_channels(weiri_reader *reader, const json_t *root, double rate_hz)
{
    const char *const *labels = reader->side_axes[1].labels;
    const char *const *units =
        read_texts(reader, json_object_get(root, "units"), reader->channel_count);
    if (reader->inner != 1 || labels == NULL || strcmp(reader->side_axes[1].name, "ch") != 0 ||
        weiri_reader_get(reader, reader->channel_count, sizeof *reader->channels,
                         &reader->channels) != WEIR_OK) {
        return;
    }
    for (uint64_t i = 0; i < reader->channel_count; i++) {
        reader->channels[i] =
            (weiri_channel){.label = labels[i], .unit = units ? units[i] : "", .rate_hz = rate_hz};
    }
}

/* Runs of rows that follow on each other; else there is one. They may be fewer than the file holds where a run
 * was killed between writing and saying so, or more where the file was cut: the last one bears the difference. */
static void read_segments(weiri_reader *reader, const json_t *root, uint64_t frames)
{
    const json_t *list = json_object_get(root, "segments");
    size_t count = json_array_size(list);
    weir_segment *listed = NULL;
    if (count == 0 || count > MOST_SEGMENTS ||
        json_integer_value(json_object_get(root, "segments_left_out")) != 0 ||
        weiri_reader_get(reader, count, sizeof *listed, &listed) != WEIR_OK) {
        weiri_notice(&reader->notices, "%.100s.json: its segments are not all listed, so not used",
                     reader->path);
        return;
    }
    uint64_t rows = 0, stated = 0;
    bool sound = true;
    size_t used = 0;
    for (size_t i = 0; sound && i < count; i++) {
        const json_t *item = json_array_get(list, i);
        double start_s = json_number_value(json_object_get(item, "start_s"));
        json_int_t first = json_integer_value(json_object_get(item, "first_row"));
        json_int_t here = json_integer_value(json_object_get(item, "rows"));
        sound = json_is_number(json_object_get(item, "start_s")) && fabs(start_s) < 9e9 &&
                first >= 0 && here > 0 && (uint64_t)first == stated;
        stated += sound ? (uint64_t)here : 0;
        if (sound && rows < frames) {
            uint64_t left = frames - rows;
            listed[used++] =
                (weir_segment){.start_ns = llround(start_s * 1e9),
                               .frames = (uint64_t)here < left ? (uint64_t)here : left};
            rows += listed[used - 1].frames;
        }
    }
    if (!sound || used == 0) {
        weiri_notice(&reader->notices, "%.100s.json: its segments do not fit the file; not used",
                     reader->path);
        return;
    }
    if (stated != frames) {
        weiri_notice(&reader->notices,
                     "%.100s.json: states %llu rows, the file holds %llu: its last segment is "
                     "taken as %s",
                     reader->path, (unsigned long long)stated, (unsigned long long)frames,
                     stated < frames ? "longer" : "shorter");
        listed[used - 1].frames += frames - rows;
    }
    reader->listed = listed;
    reader->listed_count = used;
}

/* Kept until the segments are said: annotations are laid over the selection's window. */
static void read_annotations(weiri_reader *reader, const json_t *root)
{
    const json_t *list = json_object_get(root, "annotations");
    size_t count = json_array_size(list);
    weir_annotation *events = NULL;
    if (count == 0 || weiri_reader_get(reader, count, sizeof *events, &events) != WEIR_OK) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(list, i), *lasts = json_array_get(item, 1);
        double onset_s = json_number_value(json_array_get(item, 0));
        double duration_s = json_is_number(lasts) ? json_number_value(lasts) : 0;
        const char *text = json_string_value(json_array_get(item, 2));
        weir_annotation *event = &events[reader->side_event_count];
        if (!json_is_number(json_array_get(item, 0)) || !(fabs(onset_s) < 9e9) ||
            !(duration_s >= 0 && duration_s < 9e9) || text == NULL ||
            weiri_reader_lines(reader, text, strlen(text), &event->text) != WEIR_OK) {
            weiri_notice(&reader->notices,
                         "%.100s.json: annotation %zu is no [s, s, text]; left out", reader->path,
                         i);
            continue;
        }
        event->onset_ns = llround(onset_s * 1e9);
        event->duration_ns = json_is_number(lasts) ? llround(duration_s * 1e9) : -1;
        reader->side_event_count++;
    }
    reader->side_events = events;
}

/* Labels or values of every dimension but the first, else what the rows take of the file. */
static uint64_t count_columns(const weiri_reader *reader, const json_t *root, uint64_t width)
{
    const json_t *dims = json_object_get(root, "dims"), *axes = json_object_get(root, "axes");
    uint64_t columns = json_array_size(dims) > 1 ? 1 : 0;
    for (size_t i = 1; i < json_array_size(dims); i++) {
        const char *name = json_string_value(json_array_get(dims, i));
        const json_t *axis = json_object_get(axes, name ? name : "");
        uint64_t count = json_array_size(json_object_get(axis, "labels"));
        count = count ? count : json_array_size(json_object_get(axis, "values"));
        if (!weiri_mul(columns, count, &columns)) {
            return 0;
        }
    }
    json_int_t rows = json_integer_value(json_object_get(root, "rows"));
    uint64_t size = reader->input.size, all = 0;
    if (columns == 0 && rows > 0 && weiri_mul((uint64_t)rows, width, &all) && size % all == 0) {
        columns = size / all;
    }
    return columns;
}

void weiri_side_shape(weiri_reader *reader, const char **dtype, uint64_t *columns)
{
    bool foreign = false;
    json_t *root = parse(reader, &foreign); /* what is wrong with it weiri_side_read says */
    const char *stored = json_string_value(json_object_get(root, "dtype"));
    if (stored && *dtype == NULL &&
        weiri_reader_text(reader, stored, strlen(stored), dtype) != WEIR_OK) {
        *dtype = NULL;
    }
    weiri_stored as = {0};
    if (root && *dtype && *columns == 0 && weiri_stored_parse(*dtype, &as) == WEIR_OK) {
        *columns = count_columns(reader, root, weiri_stored_bytes(as));
    }
    json_decref(root);
}

void weiri_side_read(weiri_reader *reader, const uint64_t *shape, uint32_t dims)
{
    bool foreign = false;
    json_t *root = parse(reader, &foreign);
    if (root == NULL && !foreign) {
        return;
    }
    double rate_hz = json_number_value(json_object_get(root, "rate_hz"));
    if (foreign || !(rate_hz > 0 && rate_hz <= 1e12)) {
        weiri_notice(&reader->notices, "%.100s.json: not written by weir, not used", reader->path);
        json_decref(root);
        return;
    }
    if (reader->options->rate_hz != 0 && reader->options->rate_hz != rate_hz) {
        weiri_notice(&reader->notices, "--rate %g Hz goes before %g Hz of %.100s.json",
                     reader->options->rate_hz, rate_hz, reader->path);
        rate_hz = reader->options->rate_hz;
    }
    reader->rate_hz = rate_hz;
    if (json_array_size(json_object_get(root, "dims")) == dims) {
        for (uint32_t i = 0; i < dims; i++) {
            reader->side_axes[i] = (weir_axis){.size = i ? shape[i] : 0, .step = 1};
            read_axis(reader, root, i, &reader->side_axes[i]);
        }
        if (dims == 2) {
            make_channels(reader, root, rate_hz);
        }
        for (uint32_t i = 1; i < dims; i++) {
            const weir_axis *axis = &reader->side_axes[i];
            if (axis->name && strcmp(axis->name, "ch") == 0) {
                reader->side_units = read_texts(reader, json_object_get(root, "units"), axis->size);
            }
        }
    }
    read_segments(reader, root, shape[0]);
    read_annotations(reader, root);
    const char *start = json_string_value(json_object_get(root, "start_time"));
    if (start && *start &&
        weiri_reader_text(reader, start, strlen(start), &reader->start_time) != WEIR_OK) {
        reader->start_time = NULL;
    }
    json_decref(root);
}

/* The axes as they were written, as far as the selection leaves them. */
static void apply_axes(weiri_reader *reader, weir_spec *spec)
{
    for (uint32_t i = 0; i < spec->dim_count; i++) {
        const weir_axis *axis = &reader->side_axes[i];
        if (axis->name == NULL) {
            continue;
        }
        if (i == 0) {
            spec->dims[0].name = axis->name;
            spec->dims[0].unit = axis->unit;
        } else if (reader->picks == NULL && reader->channels == NULL) {
            spec->dims[i] = *axis;
        }
    }
    if (reader->picks == NULL && spec->units == NULL) {
        spec->units = reader->side_units;
    }
}

void weiri_side_layout(weiri_reader *reader, uint64_t frames)
{
    weir_spec spec = reader->info.spec;
    apply_axes(reader, &spec);
    if (weir_spec_check(&spec) == WEIR_OK) {
        reader->info.spec = spec;
    } else {
        weiri_notice(&reader->notices, "%.60s.json: its axes are not used: %.90s", reader->path,
                     weir_err_detail());
    }
    for (size_t i = 0; i < reader->listed_count; i++) {
        weiri_reader_segment(reader, reader->listed[i].start_ns, reader->listed[i].frames);
    }
    if (reader->listed_count == 0) {
        weiri_reader_segment(reader, 0, frames);
    }
    for (size_t i = 0; i < reader->side_event_count; i++) {
        const weir_annotation *event = &reader->side_events[i];
        if (weiri_reader_annotate(reader, event->onset_ns, event->duration_ns, event->text,
                                  strlen(event->text)) != WEIR_OK) {
            reader->info.annotations_left_out++; /* no memory for it */
        }
    }
}

weir_err weiri_side_segment(weiri_reader *reader, uint64_t number, bool *ret_any)
{
    *ret_any = number < (reader->listed_count ? reader->listed_count : 1);
    if (*ret_any && reader->listed_count) {
        reader->first_row = number ? reader->first_row + reader->listed[number - 1].frames : 0;
        reader->current = reader->listed[number];
    }
    return WEIR_OK;
}
