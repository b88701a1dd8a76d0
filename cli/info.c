/* SPDX-License-Identifier: MIT
 *
 * info.c: weir info: describes a recording.
 */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct info_options {
    cli_input input;
    const char *path;
    bool json;
} info_options;

static const struct argp_option options[] = {{"json", CLI_OPT_JSON, 0, 0, "print as JSON", 1}, {0}};

static error_t parse(int key, char *text, struct argp_state *state)
{
    info_options *info = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = info != NULL ? &info->input : NULL;
        return 0;
    case CLI_OPT_JSON:
        info->json = true;
        return 0;
    case ARGP_KEY_ARG:
        if (info->path != NULL)
            argp_error(state, "expected one INPUT; '%s' is one argument too many", text);
        info->path = text;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "INPUT is required");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&cli_input_argp, 0, 0, 0}, {0}};
static const struct argp info_argp = {
    options,
    parse,
    "INPUT",
    "Describes a recording: channels, rate, segments, gaps, notices.\v"
    "Exit status: 0 success, 2 usage error, 4 invalid recording, 7 input error.",
    children,
    0,
    0};

/* ---- JSON ------------------------------------------------------------------------------------------ */

/* Number of channels, which have one label, unit and scale each; if no dimension has that name,
 * of columns. */
static uint64_t channel_count(const weir_spec *spec)
{
    int dim = weir_spec_dim(spec, "ch");
    return dim > 0 ? spec->dims[dim].size : weir_spec_columns(spec);
}

static const char *channel_label(const weir_spec *spec, uint64_t channel)
{
    int dim = weir_spec_dim(spec, "ch");
    const char *const *labels = dim > 0 ? spec->dims[dim].labels : NULL;
    return labels != NULL ? labels[channel] : NULL;
}

static json_t *info_json(const weir_source_info *info)
{
    const weir_spec *spec = &info->spec;
    json_t *json = json_object(), *channels = json_array(), *segments = json_array(),
           *notices = json_array(), *annotations = json_array();
    for (uint64_t i = 0; i < channel_count(spec); i++) {
        json_t *row = json_object();
        char number[24];
        const char *label = channel_label(spec, i);
        snprintf(number, sizeof number, "%llu", (unsigned long long)i);
        json_object_set_new(row, "label", cli_json_text(label != NULL ? label : number));
        json_object_set_new(row, "unit",
                            cli_json_text(spec->units != NULL ? spec->units[i] : NULL));
        json_object_set_new(row, "scale",
                            cli_json_real(info->scales != NULL ? info->scales[i] : NAN));
        json_array_append_new(channels, row);
    }
    for (size_t i = 0; i < info->segment_count; i++) {
        json_t *row = json_object();
        json_object_set_new(row, "start_s",
                            cli_json_real((double)info->segments[i].start_ns / 1e9));
        json_object_set_new(row, "frames", cli_json_count(info->segments[i].frames));
        json_array_append_new(segments, row);
    }
    for (size_t i = 0; i < info->notice_count; i++)
        json_array_append_new(notices, cli_json_text(info->notices[i]));
    for (size_t i = 0; i < info->annotation_count; i++) {
        const weir_annotation *event = &info->annotations[i];
        json_t *row = json_array();
        json_array_append_new(row, cli_json_real((double)event->onset_ns / 1e9));
        json_array_append_new(
            row, cli_json_real(event->duration_ns < 0 ? NAN : (double)event->duration_ns / 1e9));
        json_array_append_new(row, cli_json_text(event->text));
        json_array_append_new(annotations, row);
    }
    json_object_set_new(json, "format", cli_json_text(info->format));
    json_object_set_new(json, "variant", cli_json_text(info->variant));
    json_object_set_new(json, "rate_hz", cli_json_real(spec->rate_hz));
    json_object_set_new(json, "frames", cli_json_count(info->frames));
    json_object_set_new(json, "seconds", cli_json_real(cli_seconds(info->frames, spec->rate_hz)));
    json_object_set_new(json, "dtype", cli_json_text(weir_dtype_name(spec->dtype)));
    json_object_set_new(json, "start_time", cli_json_text(info->start_time));
    json_object_set_new(json, "channels", channels);
    json_object_set_new(json, "segments", segments);
    json_object_set_new(json, "segments_left_out", cli_json_count(info->segments_left_out));
    json_object_set_new(json, "annotations", annotations);
    json_object_set_new(json, "annotations_left_out", cli_json_count(info->annotations_left_out));
    json_object_set_new(json, "notices", notices);
    json_object_set_new(json, "notices_left_out", cli_json_count(info->notices_left_out));
    return json;
}

/* ---- text ------------------------------------------------------------------------------------------ */

#define LABELS_SHOWN 8

static void put_field(const char *name)
{
    printf("%s%-11s%s", cli_bold(stdout), name, cli_plain(stdout));
}

static void print_channels(const weir_source_info *info)
{
    const weir_spec *spec = &info->spec;
    uint64_t columns = channel_count(spec);
    put_field("channels");
    printf("%llu", (unsigned long long)columns);
    for (uint64_t i = 0; i < columns && i < LABELS_SHOWN; i++) {
        const char *label = channel_label(spec, i);
        if (label == NULL)
            break;
        fputs(i == 0 ? ": " : ", ", stdout);
        cli_put_clean(stdout, label);
    }
    printf("%s\n", columns > LABELS_SHOWN && channel_label(spec, 0) != NULL ? ", ..." : "");
}

#define UNITS_SHOWN 4

/* "uV", or for several "uV (72), Boolean (1)", each with its number of channels. */
static void put_units(const char *const *units, uint64_t count)
{
    uint64_t first[UNITS_SHOWN], channels[UNITS_SHOWN] = {0};
    size_t shown = 0;
    bool more = false;
    for (uint64_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < shown && strcmp(units[first[k]], units[i]) != 0)
            k++;
        if (k == shown && shown < UNITS_SHOWN)
            first[shown++] = i;
        more = more || k == UNITS_SHOWN;
        channels[k < UNITS_SHOWN ? k : 0] += k < UNITS_SHOWN;
    }
    for (size_t k = 0; k < shown; k++) {
        const char *unit = units[first[k]];
        fputs(k > 0 ? ", " : " in ", stdout);
        cli_put_clean(stdout, *unit != '\0' ? unit : "no stated unit");
        if (channels[k] < count)
            printf(" (%llu)", (unsigned long long)channels[k]);
    }
    if (more)
        fputs(", ...", stdout);
}

static void print_units(const weir_source_info *info)
{
    const weir_spec *spec = &info->spec;
    uint64_t columns = channel_count(spec);
    bool same = true;
    put_field("values");
    printf("%s", weir_dtype_name(spec->dtype));
    if (spec->units != NULL)
        put_units(spec->units, columns);
    for (uint64_t i = 1; info->scales != NULL && i < columns; i++)
        same = same && info->scales[i] == info->scales[0];
    if (info->scales != NULL && columns > 0)
        printf(same ? ", one count is %.6g" : ", one count is %.6g in the first channel",
               info->scales[0]);
    putchar('\n');
}

#define NOTHING_S 2e-9 /* starts are whole ns */

static void print_segments(const weir_source_info *info)
{
    char length[CLI_FIGURE];
    uint64_t count = info->segment_count + info->segments_left_out;
    put_field("segments");
    printf("%llu", (unsigned long long)count);
    for (size_t i = 0; i < info->segment_count && i < 3; i++)
        printf("%s %.6g s + %s", i == 0 ? ":" : ",", (double)info->segments[i].start_ns * 1e-9,
               cli_duration(cli_seconds(info->segments[i].frames, info->spec.rate_hz), length,
                            sizeof length));
    printf("%s\n", count > 3 ? ", ..." : "");
    put_field("gaps");
    printf("%llu", (unsigned long long)(count > 0 ? count - 1 : 0));
    double longest_s = 0;
    size_t back = 0;
    for (size_t i = 1; i < info->segment_count; i++) {
        const weir_segment *before = &info->segments[i - 1];
        /* Starts may be further apart than 63 bits of ns. */
        long double apart_ns = (long double)info->segments[i].start_ns - before->start_ns;
        double gap_s = (double)apart_ns * 1e-9 - cli_seconds(before->frames, info->spec.rate_hz);
        longest_s = gap_s > longest_s ? gap_s : longest_s;
        back += gap_s < -NOTHING_S;
    }
    if (longest_s > NOTHING_S)
        printf(", the longest%s %s", info->segments_left_out ? " of the first" : "",
               cli_duration(longest_s, length, sizeof length));
    if (back > 0)
        printf(", time goes back at %zu", back);
    putchar('\n');
}

#define EVENTS_SHOWN 3

/* On one line: line ends and tabs, which annotations may contain, as \n, \r and \t. */
static void put_lines(const char *text)
{
    for (; *text != '\0'; text++) {
        const char *at = strchr("\n\r\t", *text);
        char one[2] = {*text, '\0'};
        if (at != NULL)
            printf("\\%c", "nrt"[at - "\n\r\t"]);
        else
            cli_put_clean(stdout, one);
    }
}

/* "5: 0 s start, 0.1344 s type A, ...": none if the recording has none. */
static void print_annotations(const weir_source_info *info)
{
    uint64_t count = info->annotation_count + info->annotations_left_out;
    if (count == 0)
        return;
    put_field("events");
    printf("%llu", (unsigned long long)count);
    for (size_t i = 0; i < info->annotation_count && i < EVENTS_SHOWN; i++) {
        printf("%s %.6g s ", i == 0 ? ":" : ",", (double)info->annotations[i].onset_ns * 1e-9);
        put_lines(info->annotations[i].text);
    }
    printf("%s", count > EVENTS_SHOWN ? ", ..." : "");
    if (info->annotations_left_out > 0)
        printf(" (the first %zu are stored, %llu left out)", info->annotation_count,
               (unsigned long long)info->annotations_left_out);
    putchar('\n');
}

static void info_print(const char *path, const weir_source_info *info)
{
    char a[CLI_FIGURE], b[CLI_FIGURE];
    put_field("recording");
    cli_put_clean(stdout, path);
    putchar('\n');
    put_field("format");
    printf("%s", info->format);
    if (info->variant != NULL) {
        fputs(": ", stdout);
        cli_put_clean(stdout, info->variant);
    }
    putchar('\n');
    put_field("rate");
    printf("%s\n", cli_rate(info->spec.rate_hz, a, sizeof a));
    put_field("frames");
    printf("%s (%s)\n", cli_count(info->frames, a, sizeof a),
           cli_duration(cli_seconds(info->frames, info->spec.rate_hz), b, sizeof b));
    print_channels(info);
    print_units(info);
    put_field("start");
    cli_put_clean(stdout, info->start_time != NULL && *info->start_time != '\0' ? info->start_time
                                                                                : "not stated");
    putchar('\n');
    print_segments(info);
    print_annotations(info);
    for (size_t i = 0; i < info->notice_count; i++) {
        put_field(i == 0 ? "notices" : "");
        cli_put_clean(stdout, info->notices[i]);
        putchar('\n');
    }
    if (info->notice_count == 0) {
        put_field("notices");
        puts("none");
    }
    if (info->notices_left_out > 0) {
        put_field("");
        printf("and %llu more\n", (unsigned long long)info->notices_left_out);
    }
}

int info_command(int argc, char **argv)
{
    info_options options_of = {.input.recording = weir_recording_options_default()};
    cli_signals_set();
    int status = cli_parse(&info_argp, argc, argv, &options_of);
    if (status >= 0)
        return status;
    weir_source *source = NULL;
    options_of.input.recording.one_rate = true; /* weir info needs no selection */
    weir_err err = weir_recording_open(options_of.path, &options_of.input.recording, &source);
    if (err != WEIR_OK)
        return cli_fail_weir(err);
    if (options_of.json) {
        status = cli_json_print(info_json(weir_source_info_get(source)), 0);
    } else {
        info_print(options_of.path, weir_source_info_get(source));
        status = cli_finish(0);
    }
    weir_source_close(source);
    return status;
}
