/* SPDX-License-Identifier: MIT
 *
 * about.c: the metadata of a dataset in an HDF5 file: attributes of common names on the dataset,
 * its group, NWB's starting_time next to it, and the root; labels, units, factors and timestamps as
 * lists next to it. All are optional, and one that does not fit is ignored with a notice.
 */
#include "recording/hdf5/read.h"

#ifdef WEIRI_HDF5
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "recording/writer.h"

#define MOST_SEGMENTS 65536
#define MOST_TIME     9e9 /* s */

/* The path of an object next to the dataset. */
static const char *beside(const hdf5_in *in, const char *name, char *path)
{
    snprintf(path, WEIRI_HDF5_PATH, "%.900s/%.100s", strcmp(in->group, "/") == 0 ? "" : in->group,
             name);
    return path;
}

/* ---- rate ---------------------------------------------------------------------------------------------------- */

/* Attributes of that object, or single values in that group. */
static bool rate_at(weiri_reader *reader, hdf5_in *in, const char *place, bool values, double *ret)
{
    static const char *const names[] = {"rate_hz",     "rate",         "sampling_rate",
                                        "sample_rate", "samplerate",   "sampling_frequency",
                                        "sampleRate",  "samplingRate", "sfreq",
                                        "fs",          "Fs",           "srate"};
    char path[WEIRI_HDF5_PATH];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *at = values ? beside(in, names[i], path) : place;
        if (weiri_hdf5_number(reader, in, at, values ? "" : names[i], WEIR_FREQUENCY, ret) &&
            *ret > 0 && *ret <= 1e12) {
            return true;
        }
    }
    return false;
}

static void take_rate(weiri_reader *reader, hdf5_in *in)
{
    double rate = 0, stated = reader->options->rate_hz;
    char path[WEIRI_HDF5_PATH];
    if (reader->rate_hz != 0) {
        return; /* the side file states it */
    }
    if (!rate_at(reader, in, reader->dataset, false, &rate) &&
        !rate_at(reader, in, beside(in, "starting_time", path), false, &rate) &&
        !rate_at(reader, in, in->group, false, &rate) && !rate_at(reader, in, "/", false, &rate) &&
        !rate_at(reader, in, in->group, true, &rate)) {
        return;
    }
    if (stated != 0 && stated != rate) {
        weiri_notice(&reader->notices, "--rate %g Hz is used instead of %g Hz of the file", stated,
                     rate);
    }
    reader->rate_hz = stated != 0 ? stated : rate;
}

/* ---- channels ------------------------------------------------------------------------------------------------ */

/* NWB: (value * conversion * the channel's own conversion) + offset has the unit; CF and netCDF: value *
 * scale_factor + add_offset. */
typedef struct scaling {
    double factor, offset;
    const double *own; /* of each channel, or NULL */
} scaling;

static bool take_scaling(weiri_reader *reader, hdf5_in *in, scaling *ret)
{
    static const char *const factors[] = {"conversion", "scale_factor"};
    static const char *const offsets[] = {"offset", "add_offset"};
    static const char own[] = "channel_conversion";
    char path[WEIRI_HDF5_PATH];
    *ret = (scaling){.factor = 1};
    for (size_t i = 0; i < 2; i++) {
        bool any =
            weiri_hdf5_number(reader, in, reader->dataset, factors[i], WEIR_PLAIN, &ret->factor);
        any =
            weiri_hdf5_number(reader, in, reader->dataset, offsets[i], WEIR_PLAIN, &ret->offset) ||
            any;
        if (any) {
            break;
        }
    }
    uint64_t count = weiri_hdf5_count(reader, in, beside(in, own, path), "");
    if (count == reader->channel_count) {
        ret->own = weiri_hdf5_numbers(reader, in, path, "", count);
    } else if (count > 0) {
        weiri_notice(&reader->notices, "%s: not used: %llu values, %llu channels", own,
                     (unsigned long long)count, (unsigned long long)reader->channel_count);
    }
    for (uint64_t i = 0; ret->own && i < count; i++) {
        if (!isfinite(ret->own[i]) || ret->own[i] == 0) {
            weiri_notice(&reader->notices, "%s: not used: channel %llu: found %g", own,
                         (unsigned long long)i, ret->own[i]);
            ret->own = NULL;
        }
    }
    if (ret->factor == 0) {
        weiri_notice(&reader->notices, "%s: not scaled: a factor of 0", reader->dataset);
        return false;
    }
    return ret->own || ret->factor != 1 || ret->offset != 0;
}

static weir_err take_channels(weiri_reader *reader, hdf5_in *in)
{
    static const char *const names[] = {"labels", "channel_names", "channels", "ch_names"};
    const char *const *labels = NULL, *const *units = NULL, *const *one = NULL;
    const char *data = reader->dataset;
    uint64_t count = reader->channel_count;
    char path[WEIRI_HDF5_PATH];
    scaling scale;
    if (reader->channels != NULL) {
        return WEIR_OK; /* from the side file */
    }
    bool scaled = take_scaling(reader, in, &scale);
    if (reader->inner != 1 && !scaled) {
        return WEIR_OK; /* such an array has axes instead */
    }
    for (size_t i = 0; labels == NULL && i < sizeof names / sizeof *names; i++) {
        labels = weiri_hdf5_texts(reader, in, data, names[i], count);
        labels =
            labels ? labels : weiri_hdf5_texts(reader, in, beside(in, names[i], path), "", count);
        labels = labels ? labels : weiri_hdf5_texts(reader, in, in->group, names[i], count);
    }
    units = weiri_hdf5_texts(reader, in, data, "units", count);
    units = units ? units : weiri_hdf5_texts(reader, in, beside(in, "units", path), "", count);
    if (units == NULL) {
        one = weiri_hdf5_texts(reader, in, data, "unit", 1);
        one = one ? one : weiri_hdf5_texts(reader, in, data, "units", 1);
    }
    if (!labels && !units && !one && !scaled) {
        return WEIR_OK;
    }
    weir_err err = weiri_reader_get(reader, count, sizeof *reader->channels, &reader->channels);
    for (uint64_t i = 0; err == WEIR_OK && i < count; i++) {
        reader->channels[i] =
            (weiri_channel){.label = labels ? labels[i] : "",
                            .unit = units ? units[i]
                                    : one ? one[0]
                                          : "",
                            .scale = {.numer = scale.factor * (scale.own ? scale.own[i] : 1),
                                      .denom = scaled ? 1 : 0,
                                      .offset = scale.offset}};
    }
    return err;
}

/* ---- segments -------------------------------------------------------------------------------------------------- */

/* The table that weir writes: the runs of rows in the dataset. */
static weir_err take_table(weiri_reader *reader, hdf5_in *in)
{
    static const char table[] = "/segments";
    double left_out = 0;
    uint64_t count = 0, rows = 0, frames = in->data.rows;
    if (weiri_hdf5_count(reader, in, "/", "weir") == 0 ||
        !weiri_hdf5_number(reader, in, table, "left_out", WEIR_PLAIN, &left_out)) {
        return WEIR_OK;
    }
    count = weiri_hdf5_count(reader, in, table, ".rows");
    bool good = count > 0 && count <= WEIRI_MOST_SEGMENTS && left_out == 0;
    const double *starts = good ? weiri_hdf5_numbers(reader, in, table, ".start_s", count) : NULL;
    const double *firsts =
        starts ? weiri_hdf5_numbers(reader, in, table, ".first_row", count) : NULL;
    const double *many = firsts ? weiri_hdf5_numbers(reader, in, table, ".rows", count) : NULL;
    weir_err err = WEIR_OK;
    good = many != NULL;
    if (good) {
        err = weiri_reader_get(reader, count, sizeof *reader->listed, &reader->listed);
    }
    for (uint64_t i = 0; good && err == WEIR_OK && i < count && rows < frames; i++) {
        uint64_t left = frames - rows; /* in a truncated file the last one is shorter */
        good = firsts[i] == (double)rows && many[i] > 0 && fabs(starts[i]) < MOST_TIME;
        uint64_t here = good && many[i] < (double)left ? (uint64_t)many[i] : left;
        reader->listed[i] =
            (weir_segment){.start_ns = good ? llround(starts[i] * 1e9) : 0, .frames = here};
        rows += here;
        reader->listed_count = (size_t)i + 1;
    }
    if (err == WEIR_OK && good && rows < frames && reader->listed_count > 0) {
        /* The writer was killed between the headers of the two. */
        weiri_notice(&reader->notices,
                     "/segments state %llu rows, the dataset has %llu; the last segment is assumed "
                     "to be longer",
                     (unsigned long long)rows, (unsigned long long)frames);
        reader->listed[reader->listed_count - 1].frames += frames - rows;
    } else if (err == WEIR_OK && (!good || rows != frames) && frames > 0) {
        reader->listed_count = 0;
        weiri_notice(&reader->notices, "/segments do not fit the dataset; not used");
    }
    return err;
}

/* Adds a segment; the list is doubled when full. */
static weir_err add_segment(weiri_reader *reader, double start_s, uint64_t *room)
{
    if (reader->listed_count == *room) {
        weir_segment *listed = NULL;
        *room = *room ? 2 * *room : 64;
        weir_err err = weiri_reader_get(reader, *room, sizeof *listed, &listed);
        if (err != WEIR_OK) {
            return err;
        }
        if (reader->listed_count > 0) {
            memcpy(listed, reader->listed, reader->listed_count * sizeof *listed);
        }
        reader->listed = listed;
    }
    reader->listed[reader->listed_count++] = (weir_segment){.start_ns = llround(start_s * 1e9)};
    return WEIR_OK;
}

/* For a file without a rate: the rate from the median of the first intervals, as a hint. */
static weir_err rate_is_missing(const weiri_reader *reader, const double *times, uint64_t count)
{
    double steps[15], rate = 0;
    size_t known = 0;
    for (uint64_t i = 1; i < count && known < sizeof steps / sizeof *steps; i++) {
        double step = times[i] - times[i - 1];
        size_t at = known;
        if (step > 0 && step < MOST_TIME) {
            for (; at > 0 && steps[at - 1] > step; at--) {
                steps[at] = steps[at - 1];
            }
            steps[at] = step;
            known++;
        }
    }
    double step = known ? steps[known / 2] : 0;
    rate = known ? 1 / step : 0;
    return weiri_fail(WEIR_E_USAGE,
                      "%s: the HDF5 file states no rate; use --rate HZ (its timestamps are "
                      "%.6g s apart: %.6g Hz?)",
                      reader->path, step, rate);
}

/* NWB's timestamps, one per frame, in s: if one is further than gap_tolerance from start + index
 * / rate of its segment, a new segment begins (S4). */
static weir_err take_timestamps(weiri_reader *reader, hdf5_in *in)
{
    char path[WEIRI_HDF5_PATH];
    double rate = reader->options->rate_hz != 0 ? reader->options->rate_hz : reader->rate_hz;
    double tolerance = reader->options->gap_tolerance_s, start = NAN;
    uint64_t frames = in->data.rows, first = 0, room = 0, done = 0, none = 0;
    uint64_t count = weiri_hdf5_count(reader, in, beside(in, "timestamps", path), "");
    weiri_hdf5_answer head;
    weir_err err = WEIR_OK;
    if (count == 0 || strcmp(path, reader->dataset) == 0) {
        return WEIR_OK;
    }
    if (count != in->data.shape[0]) {
        weiri_notice(&reader->notices, "timestamps: not used: %llu values, %llu frames",
                     (unsigned long long)count, (unsigned long long)in->data.shape[0]);
        return WEIR_OK;
    }
    for (; err == WEIR_OK && done < frames; done += head.count) {
        const double *times = (const double *)(const void *)in->answer;
        if (!weiri_hdf5_some(reader, in, path, "", done, frames - done, &head) ||
            head.kind != WEIRI_HDF5_NUMBERS || head.count == 0) {
            break;
        }
        if (rate == 0) {
            return rate_is_missing(reader, times, head.count);
        }
        for (uint64_t i = 0; err == WEIR_OK && i < head.count; i++) {
            uint64_t row = done + i;
            double expected = start + (double)(row - first) / rate;
            bool is_time = fabs(times[i]) < MOST_TIME;
            none += !is_time;
            if (!is_time || fabs(times[i] - expected) <= tolerance) {
                continue; /* none, or on time */
            }
            /* For rows before the first one with a time, the times follow from it. */
            first = reader->listed_count ? row : 0;
            start = times[i] - (double)(row - first) / rate;
            if (reader->listed_count == MOST_SEGMENTS) {
                return weiri_fail(
                    WEIR_E_RECORDING,
                    "%s: timestamps leave %g Hz by more than gap_tolerance (%g ms) "
                    "more than %d times (at frame %llu: found %.9g s, expected %.9g s); "
                    "is the rate right?",
                    reader->path, rate, tolerance * 1e3, MOST_SEGMENTS, (unsigned long long)row,
                    times[i], expected);
            }
            if (reader->listed_count > 0) {
                weir_segment *last = &reader->listed[reader->listed_count - 1];
                last->frames = row - last->frames; /* which was its first row */
            }
            err = add_segment(reader, start, &room);
            if (err == WEIR_OK) {
                reader->listed[reader->listed_count - 1].frames = first;
            }
        }
    }
    if (err == WEIR_OK && (done < frames || reader->listed_count == 0)) {
        reader->listed_count = 0;
        weiri_notice(&reader->notices, "timestamps: not used: they are not %s",
                     done < frames ? "all numbers" : "seconds within 285 years of 0");
        return WEIR_OK;
    }
    if (err == WEIR_OK && none > 0) {
        weiri_notice(&reader->notices,
                     "timestamps: %llu of %llu are not seconds within 285 years of 0; their frames "
                     "are taken as in time",
                     (unsigned long long)none, (unsigned long long)frames);
    }
    if (err == WEIR_OK) {
        weir_segment *last = &reader->listed[reader->listed_count - 1];
        last->frames = frames - last->frames;
    }
    if (err == WEIR_OK && reader->listed_count > 1) {
        weiri_notice(
            &reader->notices,
            "timestamps leave %g Hz by more than gap_tolerance (%g ms) at %llu frames: each "
            "begins a new segment",
            rate, tolerance * 1e3, (unsigned long long)reader->listed_count - 1);
    }
    return err;
}

static weir_err take_segments(weiri_reader *reader, hdf5_in *in)
{
    char path[WEIRI_HDF5_PATH];
    double start_s = 0;
    uint64_t room = 0;
    if (reader->listed_count || in->data.rows == 0) {
        return WEIR_OK; /* from the side file */
    }
    weir_err err = take_table(reader, in);
    if (err == WEIR_OK && reader->listed_count == 0) {
        err = take_timestamps(reader, in);
    }
    if (err != WEIR_OK || reader->listed_count > 0 ||
        !weiri_hdf5_number(reader, in, beside(in, "starting_time", path), "", WEIR_TIME,
                           &start_s)) {
        return err;
    }
    if (!(fabs(start_s) < MOST_TIME)) {
        weiri_notice(&reader->notices, "starting_time: not used: %g s is not within 285 years of 0",
                     start_s);
        return WEIR_OK;
    }
    err = add_segment(reader, start_s, &room);
    if (err == WEIR_OK) {
        reader->listed[0].frames = in->data.rows;
    }
    return err;
}

/* ---- start time ------------------------------------------------------------------------------------------------ */

static void take_start(weiri_reader *reader, hdf5_in *in)
{
    static const char *const names[] = {"start_time", "session_start_time",
                                        "timestamps_reference_time"};
    for (size_t i = 0; reader->start_time == NULL && i < sizeof names / sizeof *names; i++) {
        char path[WEIRI_HDF5_PATH];
        const char *const *text = weiri_hdf5_texts(reader, in, reader->dataset, names[i], 1);
        snprintf(path, sizeof path, "/%s", names[i]);
        text = text ? text : weiri_hdf5_texts(reader, in, "/", names[i], 1);
        text = text ? text : weiri_hdf5_texts(reader, in, path, "", 1);
        if (text && text[0][0]) {
            reader->start_time = text[0];
        }
    }
}

weir_err weiri_hdf5_about(weiri_reader *reader, hdf5_in *in)
{
    snprintf(in->group, sizeof in->group, "%s", reader->dataset);
    char *slash = strrchr(in->group, '/');
    if (slash == NULL || slash == in->group) {
        strcpy(in->group, "/");
    } else {
        *slash = 0;
    }
    take_rate(reader, in);
    weir_err err = take_channels(reader, in);
    if (err == WEIR_OK) {
        err = take_segments(reader, in);
    }
    take_start(reader, in);
    double rate = reader->options->rate_hz != 0 ? reader->options->rate_hz : reader->rate_hz;
    for (uint64_t i = 0; err == WEIR_OK && reader->channels && i < reader->channel_count; i++) {
        reader->channels[i].rate_hz = rate;
    }
    return err;
}
#endif
