/* SPDX-License-Identifier: MIT
 *
 * sideread.c: NAME.json next to a file that weir wrote: rate, labels, units, axes, segments,
 * annotations and start time are restored, so that a second chain gets what the first one output,
 * gaps included (S4). A side file of another program, or one that does not fit its recording, is
 * ignored with a notice. It is read in pieces: only what is kept needs memory (M6).
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recording/json.h"
#include "recording/reader.h"

#define TEXT_BYTES 4096 /* of a label, a unit, an annotation */
#define KEY_BYTES  64

#define KEY_LIST(X)                                                                                \
    X(weir)                                                                                        \
    X(dtype)                                                                                       \
    X(scale)                                                                                       \
    X(rate_hz)                                                                                     \
    X(units)                                                                                       \
    X(start_time)                                                                                  \
    X(annotations)                                                                                 \
    X(annotations_left_out)                                                                        \
    X(dims)                                                                                        \
    X(axes)                                                                                        \
    X(rows)                                                                                        \
    X(segments)                                                                                    \
    X(segments_left_out)                                                                           \
    X(complete)                                                                                    \
    X(stopped_s)
#define KEY_ENUM(name) KEY_##name,
#define KEY_TEXT(name) #name,
typedef enum key { KEY_LIST(KEY_ENUM) KEYS } key;
static const char *const key_names[] = {KEY_LIST(KEY_TEXT)};

/* An open side file, and where the values of its keys are; 0 = missing. */
typedef struct side {
    weiri_json json;
    uint64_t places[KEYS];
    char name[4096];
} side;

static void side_close(side *s)
{
    if (s->json.fd >= 0) {
        close(s->json.fd);
    }
    s->json.fd = -1;
}

static bool at_key(side *s, key which)
{
    if (s->places[which] == 0) {
        return false;
    }
    s->json.bad = false;
    weiri_json_seek(&s->json, s->places[which]);
    return true;
}

/* For NAME.part, which an unfinished run left, NAME.json.part. A missing one is no error. */
static bool open_file(const weiri_reader *reader, side *s)
{
    size_t whole = strlen(reader->path);
    bool part = weiri_is_part(reader->path);
    struct stat status;
    if (reader->input.pipe || whole + sizeof ".json.part" > sizeof s->name) {
        return false;
    }
    snprintf(s->name, sizeof s->name, "%.*s.json%s", (int)(part ? whole - 5 : whole), reader->path,
             part ? ".part" : "");
    weiri_json_init(&s->json, open(s->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    return s->json.fd >= 0 && fstat(s->json.fd, &status) == 0 && S_ISREG(status.st_mode);
}

static void find_keys(side *s)
{
    char name[KEY_BYTES];
    (void)weiri_json_enter(&s->json, '{');
    for (uint64_t i = 0; weiri_json_more(&s->json, '}', i); i++) {
        if (!weiri_json_key(&s->json, name, sizeof name)) {
            return;
        }
        for (size_t k = 0; k < KEYS; k++) {
            if (strcmp(name, key_names[k]) == 0) {
                s->json.bad = s->json.bad || s->places[k] != 0; /* twice */
                s->places[k] = weiri_json_place(&s->json);
            }
        }
        if (!weiri_json_skip(&s->json)) {
            return;
        }
    }
    s->json.bad = s->json.bad || weiri_json_peek(&s->json) != 0;
}

/* Opens it if there is one written by weir; *ret_foreign: there is one of another program. */
static bool side_open(const weiri_reader *reader, side *s, bool *ret_foreign)
{
    memset(s, 0, sizeof *s);
    s->json.fd = -1;
    *ret_foreign = false;
    if (!open_file(reader, s)) {
        side_close(s);
        return false;
    }
    find_keys(s);
    *ret_foreign = s->json.bad || !at_key(s, KEY_weir) || weiri_json_peek(&s->json) != '"';
    if (*ret_foreign) {
        side_close(s);
    }
    return !*ret_foreign;
}

static double number_at(side *s, key which)
{
    double number = 0;
    return at_key(s, which) && weiri_json_number(&s->json, &number) ? number : 0;
}

static uint64_t whole_at(side *s, key which)
{
    uint64_t number = 0;
    return at_key(s, which) && weiri_json_whole(&s->json, &number) ? number : 0;
}

/* The next text, into the arena. */
static bool keep_text(weiri_reader *reader, weiri_json *json, const char **ret_text)
{
    char text[TEXT_BYTES];
    return weiri_json_text(json, text, sizeof text) &&
           weiri_reader_text(reader, text, strlen(text), ret_text) == WEIR_OK;
}

/* A list of count texts into the arena; NULL if it is not one. */
static const char *const *read_texts(weiri_reader *reader, weiri_json *json, uint64_t count)
{
    const char **texts = NULL;
    uint64_t i = 0;
    if (weiri_json_peek(json) != '[' ||
        weiri_reader_get(reader, count, sizeof *texts, &texts) != WEIR_OK) {
        return NULL;
    }
    (void)weiri_json_enter(json, '[');
    for (; weiri_json_more(json, ']', i); i++) {
        if (i == count || !keep_text(reader, json, &texts[i])) {
            return NULL;
        }
    }
    return i == count && !json->bad ? texts : NULL;
}

static const double *read_numbers(weiri_reader *reader, weiri_json *json, uint64_t count)
{
    double *numbers = NULL;
    uint64_t i = 0;
    if (weiri_json_peek(json) != '[' ||
        weiri_reader_get(reader, count, sizeof *numbers, &numbers) != WEIR_OK) {
        return NULL;
    }
    (void)weiri_json_enter(json, '[');
    for (; weiri_json_more(json, ']', i); i++) {
        if (i == count || !weiri_json_number(json, &numbers[i])) {
            return NULL;
        }
    }
    return i == count && !json->bad ? numbers : NULL;
}

static const char *const *read_units(weiri_reader *reader, side *s, uint64_t count)
{
    return at_key(s, KEY_units) ? read_texts(reader, &s->json, count) : NULL;
}

/* ---- axes ------------------------------------------------------------------------------------------- */

static uint32_t count_dims(side *s)
{
    uint64_t count = 0;
    if (at_key(s, KEY_dims) && weiri_json_enter(&s->json, '[')) {
        while (weiri_json_more(&s->json, ']', count) && weiri_json_skip(&s->json)) {
            count++;
        }
    }
    return s->json.bad || count > WEIR_MAX_DIMS ? 0 : (uint32_t)count;
}

static bool dim_name(side *s, uint32_t number, char *name, size_t size)
{
    bool good = at_key(s, KEY_dims) && weiri_json_enter(&s->json, '[');
    for (uint32_t i = 0; good && i <= number; i++) {
        good = weiri_json_more(&s->json, ']', i) &&
               (i < number ? weiri_json_skip(&s->json) : weiri_json_text(&s->json, name, size));
    }
    return good;
}

/* Moves to the axis of that name. */
static bool at_axis(side *s, const char *name)
{
    char found[TEXT_BYTES];
    bool good = at_key(s, KEY_axes) && weiri_json_enter(&s->json, '{');
    for (uint64_t i = 0; good && weiri_json_more(&s->json, '}', i); i++) {
        good = weiri_json_key(&s->json, found, sizeof found);
        if (good && strcmp(found, name) == 0) {
            return true;
        }
        good = good && weiri_json_skip(&s->json);
    }
    return false;
}

static void read_axis(weiri_reader *reader, side *s, uint32_t number, weir_axis *axis)
{
    char name[TEXT_BYTES], field[KEY_BYTES];
    weiri_json *json = &s->json;
    weir_axis read = {.size = axis->size, .step = 1};
    bool whole = false; /* its start and step are those of the side file */
    if (!dim_name(s, number, name, sizeof name) || !at_axis(s, name) ||
        !weiri_json_enter(json, '{')) {
        return;
    }
    for (uint64_t i = 0; weiri_json_more(json, '}', i); i++) {
        if (!weiri_json_key(json, field, sizeof field)) {
            break;
        }
        uint64_t place = weiri_json_place(json);
        if (strcmp(field, "unit") == 0) {
            (void)keep_text(reader, json, &read.unit);
        } else if (number > 0 && strcmp(field, "labels") == 0) {
            read.labels = read_texts(reader, json, axis->size);
        } else if (number > 0 && strcmp(field, "values") == 0) {
            read.values = read_numbers(reader, json, axis->size);
        } else if (number > 0 && strcmp(field, "start") == 0) {
            (void)weiri_json_number(json, &read.start);
        } else if (number > 0 && strcmp(field, "step") == 0) {
            whole = weiri_json_number(json, &read.step);
        }
        /* Also if it had another type, or there were more or fewer. */
        json->bad = false;
        weiri_json_seek(json, place);
        (void)weiri_json_skip(json);
    }
    if (!whole || read.labels || read.values) {
        read.start = 0;
        read.step = 1;
    }
    if (read.unit && weiri_reader_text(reader, name, strlen(name), &read.name) == WEIR_OK) {
        *axis = read;
    }
}

/* For frames x channels the labels become channels, which can be selected by them. */
static void make_channels(weiri_reader *reader, side *s, double rate_hz)
{
    const char *const *labels = reader->side_axes[1].labels;
    if (reader->inner != 1 || labels == NULL || strcmp(reader->side_axes[1].name, "ch") != 0 ||
        weiri_reader_get(reader, reader->channel_count, sizeof *reader->channels,
                         &reader->channels) != WEIR_OK) {
        return;
    }
    const char *const *units = read_units(reader, s, reader->channel_count);
    for (uint64_t i = 0; i < reader->channel_count; i++) {
        reader->channels[i] =
            (weiri_channel){.label = labels[i], .unit = units ? units[i] : "", .rate_hz = rate_hz};
    }
}

/* ---- segments ----------------------------------------------------------------------------------------- */

typedef struct span {
    double start_s;
    uint64_t first_row, rows;
} span;

static bool read_span(weiri_json *json, span *ret_span)
{
    char field[KEY_BYTES];
    unsigned seen = 0;
    (void)weiri_json_enter(json, '{');
    for (uint64_t i = 0; weiri_json_more(json, '}', i); i++) {
        if (!weiri_json_key(json, field, sizeof field)) {
            return false;
        }
        if (strcmp(field, "start_s") == 0) {
            seen |= weiri_json_number(json, &ret_span->start_s) ? 1 : 0;
        } else if (strcmp(field, "first_row") == 0) {
            seen |= weiri_json_whole(json, &ret_span->first_row) ? 2 : 0;
        } else if (strcmp(field, "rows") == 0) {
            seen |= weiri_json_whole(json, &ret_span->rows) ? 4 : 0;
        } else {
            (void)weiri_json_skip(json);
        }
    }
    return !json->bad && seen == 7;
}

/* Reads the list: how many there are and how many rows they state; *ret_sound: they are
 * contiguous. If `listed` is not NULL they are stored there, as far as the file has frames. */
static uint64_t
each_span(side *s, uint64_t frames, weir_segment *listed, uint64_t *ret_rows, bool *ret_sound)
{
    uint64_t count = 0, rows = 0;
    *ret_sound = at_key(s, KEY_segments) && weiri_json_enter(&s->json, '[');
    while (*ret_sound && weiri_json_more(&s->json, ']', count)) {
        span one = {0};
        *ret_sound = read_span(&s->json, &one) && fabs(one.start_s) < 9e9 &&
                     one.first_row == rows && one.rows > 0;
        if (*ret_sound && listed && rows < frames) {
            uint64_t left = frames - rows;
            listed[count] = (weir_segment){.start_ns = llround(one.start_s * 1e9),
                                           .frames = one.rows < left ? one.rows : left};
        }
        rows += one.rows;
        count++;
    }
    *ret_sound = *ret_sound && !s->json.bad;
    *ret_rows = rows;
    return count;
}

/* A filter that continues over unknown gaps is silently wrong (S4): such a file is refused. */
static weir_err segments_lost(const weiri_reader *reader, const side *s, uint64_t of)
{
    return weiri_fail(
        WEIR_E_RECORDING,
        "%s: %s: it does not list all segments, or lists more than %u (%llu are unusable), so the "
        "gaps are unknown; remove it and use --rate to read the file as one segment",
        reader->path, s->name, WEIRI_MOST_SEGMENTS, (unsigned long long)of);
}

/* Contiguous runs of rows; otherwise there is one. They may be fewer than the file's rows if a
 * run was killed between writing rows and the list, or more if the file was truncated: the last
 * one gets the difference. */
static weir_err read_segments(weiri_reader *reader, side *s, uint64_t frames)
{
    uint64_t stated = 0, left_out = whole_at(s, KEY_segments_left_out);
    bool sound = false;
    uint64_t count = each_span(s, frames, NULL, &stated, &sound);
    if (left_out > 0 || count > WEIRI_MOST_SEGMENTS) {
        return segments_lost(reader, s, left_out > 0 ? left_out : count);
    }
    if (!sound || count == 0) {
        weiri_notice(&reader->notices, "%.100s.json: its segments %s; not used", reader->path,
                     count == 0 ? "are not listed" : "do not fit the file");
        return WEIR_OK;
    }
    weir_segment *listed = NULL;
    weir_err err = weiri_reader_get(reader, count, sizeof *listed, &listed);
    if (err != WEIR_OK) {
        return weiri_fail_prefix(err, "%s: its %llu segments: ", reader->path,
                                 (unsigned long long)count);
    }
    (void)each_span(s, frames, listed, &stated, &sound);
    uint64_t rows = 0;
    while (count > 1 && listed[count - 1].frames == 0) {
        count--; /* after the end of a truncated file */
    }
    for (uint64_t i = 0; i < count; i++) {
        rows += listed[i].frames;
    }
    if (stated != frames) {
        weiri_notice(&reader->notices,
                     "%.100s.json: states %llu rows, the file has %llu; its last segment is "
                     "assumed to be %s",
                     reader->path, (unsigned long long)stated, (unsigned long long)frames,
                     stated < frames ? "longer" : "shorter");
        listed[count - 1].frames += frames - rows;
    }
    reader->listed = listed;
    reader->listed_count = (size_t)count;
    return WEIR_OK;
}

/* ---- annotations --------------------------------------------------------------------------------------- */

/* [onset_s, duration_s or null, text] */
static bool read_event(weiri_json *json, double *ret_onset, double *ret_duration, char *text)
{
    double duration_s = -1;
    bool good = weiri_json_enter(json, '[') && weiri_json_more(json, ']', 0) &&
                weiri_json_number(json, ret_onset) && fabs(*ret_onset) < 9e9 &&
                weiri_json_more(json, ']', 1);
    if (good && weiri_json_peek(json) == 'n') {
        good = weiri_json_skip(json);
    } else if (good) {
        good = weiri_json_number(json, &duration_s) && duration_s >= 0 && duration_s < 9e9;
    }
    *ret_duration = duration_s;
    return good && weiri_json_more(json, ']', 2) && weiri_json_text(json, text, TEXT_BYTES) &&
           !weiri_json_more(json, ']', 3) && !json->bad;
}

/* After the segments are known: annotations within the selection's window. */
static void read_annotations(weiri_reader *reader, side *s)
{
    char text[TEXT_BYTES];
    double onset_s = 0, duration_s = 0;
    weiri_json *json = &s->json;
    if (!at_key(s, KEY_annotations) || weiri_json_peek(json) != '[') {
        return;
    }
    (void)weiri_json_enter(json, '[');
    for (uint64_t i = 0; weiri_json_more(json, ']', i); i++) {
        uint64_t place = weiri_json_place(json);
        if (!read_event(json, &onset_s, &duration_s, text)) {
            weiri_notice(&reader->notices,
                         "%.100s.json: annotation %llu is not [s, s, text]; left out", reader->path,
                         (unsigned long long)i);
            json->bad = false;
            weiri_json_seek(json, place);
            (void)weiri_json_skip(json);
        } else if (weiri_reader_annotate(reader, llround(onset_s * 1e9),
                                         duration_s < 0 ? -1 : llround(duration_s * 1e9), text,
                                         strlen(text)) != WEIR_OK) {
            reader->info.annotations_left_out++; /* no memory for it */
        }
    }
    reader->info.annotations_left_out += whole_at(s, KEY_annotations_left_out);
}

/* ---- what readers call ----------------------------------------------------------------------------------- */

/* Sizes of every dimension except the first; if an older weir did not write them, those of
 * labels or values. */
static uint64_t axis_size(side *s, const char *name)
{
    char field[KEY_BYTES];
    weiri_json *json = &s->json;
    uint64_t size = 0, listed = 0;
    bool good = at_axis(s, name) && weiri_json_enter(json, '{');
    for (uint64_t i = 0; good && weiri_json_more(json, '}', i); i++) {
        good = weiri_json_key(json, field, sizeof field);
        bool list = good && weiri_json_peek(json) == '[';
        if (good && strcmp(field, "size") == 0) {
            good = weiri_json_whole(json, &size);
        } else if (list && (strcmp(field, "labels") == 0 || strcmp(field, "values") == 0)) {
            (void)weiri_json_enter(json, '[');
            while (weiri_json_more(json, ']', listed) && weiri_json_skip(json)) {
                listed++;
            }
        } else {
            good = good && weiri_json_skip(json);
        }
    }
    return size ? size : listed;
}

/* The product of the sizes, else as many as the file's rows have. */
static uint64_t count_columns(const weiri_reader *reader, side *s, uint64_t width)
{
    uint32_t dims = count_dims(s);
    uint64_t columns = dims > 1 ? 1 : 0, all = 0, size = reader->input.size;
    for (uint32_t i = 1; i < dims; i++) {
        char name[TEXT_BYTES];
        if (!dim_name(s, i, name, sizeof name) ||
            !weiri_mul(columns, axis_size(s, name), &columns)) {
            return 0;
        }
    }
    uint64_t rows = whole_at(s, KEY_rows);
    if (columns == 0 && rows > 0 && weiri_mul(rows, width, &all) && all > 0 && size % all == 0) {
        columns = size / all;
    }
    return columns;
}

void weiri_side_shape(weiri_reader *reader, const char **dtype, uint64_t *columns)
{
    side s;
    bool foreign = false;
    if (!side_open(reader, &s, &foreign)) {
        return; /* weiri_side_read reports what is wrong with it */
    }
    const char *stored = NULL;
    if (*dtype == NULL && at_key(&s, KEY_dtype) && keep_text(reader, &s.json, &stored)) {
        *dtype = stored;
    }
    weiri_stored as = {0};
    if (*dtype && *columns == 0 && weiri_stored_parse(*dtype, &as) == WEIR_OK) {
        *columns = count_columns(reader, &s, weiri_stored_bytes(as));
    }
    side_close(&s);
}

/* An unfinished run wrote the file: it may be shorter than its recording. */
static void note_stopped(weiri_reader *reader, side *s)
{
    if (at_key(s, KEY_complete) && weiri_json_peek(&s->json) == 'f') {
        double stopped_s = number_at(s, KEY_stopped_s);
        weiri_notice(&reader->notices, "the run that wrote it was interrupted at %.9g s",
                     stopped_s);
    }
}

double weiri_side_scale(const weiri_reader *reader)
{
    side s;
    bool foreign = false;
    double scale = 0;
    if (side_open(reader, &s, &foreign)) {
        scale = number_at(&s, KEY_scale);
        side_close(&s);
    }
    return isfinite(scale) ? scale : 0;
}

/* That of the side file, unless the user states one or asks for counts. */
static void read_scale(weiri_reader *reader, side *s)
{
    double scale = number_at(s, KEY_scale);
    const weir_recording_options *options = reader->options;
    if (scale != 0 && isfinite(scale) && options->scale == 0 && !options->counts &&
        !reader->stored.is_complex) {
        reader->scale = (weiri_scale){.numer = scale, .denom = 1};
    }
}

void weiri_side_read(weiri_reader *reader, const uint64_t *shape, uint32_t dims)
{
    side s;
    bool foreign = false;
    if (!side_open(reader, &s, &foreign) && !foreign) {
        return;
    }
    double rate_hz = foreign ? 0 : number_at(&s, KEY_rate_hz);
    if (!(rate_hz > 0 && rate_hz <= 1e12)) {
        weiri_notice(&reader->notices, "%.100s.json: not written by weir, not used", reader->path);
        side_close(&s);
        return;
    }
    if (reader->options->rate_hz != 0 && reader->options->rate_hz != rate_hz) {
        weiri_notice(&reader->notices, "--rate %g Hz overrides %g Hz of %.100s.json",
                     reader->options->rate_hz, rate_hz, reader->path);
        rate_hz = reader->options->rate_hz;
    }
    reader->rate_hz = rate_hz;
    read_scale(reader, &s);
    if (count_dims(&s) == dims) {
        for (uint32_t i = 0; i < dims; i++) {
            reader->side_axes[i] = (weir_axis){.size = i ? shape[i] : 0, .step = 1};
            read_axis(reader, &s, i, &reader->side_axes[i]);
        }
        if (dims == 2) {
            make_channels(reader, &s, rate_hz);
        }
        for (uint32_t i = 1; i < dims; i++) {
            const weir_axis *axis = &reader->side_axes[i];
            if (axis->name && strcmp(axis->name, "ch") == 0) {
                reader->side_units = read_units(reader, &s, axis->size);
            }
        }
    }
    reader->side_err = read_segments(reader, &s, shape[0]);
    if (reader->side_err != WEIR_OK) {
        snprintf(reader->side_why, sizeof reader->side_why, "%s", weir_err_detail());
    }
    note_stopped(reader, &s);
    const char *start = NULL;
    if (at_key(&s, KEY_start_time) && keep_text(reader, &s.json, &start) && *start) {
        reader->start_time = start;
    }
    side_close(&s);
}

/* The axes as written, for the selected channels. */
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
    side s;
    bool foreign = false;
    if (side_open(reader, &s, &foreign)) {
        read_annotations(reader, &s);
        side_close(&s);
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
