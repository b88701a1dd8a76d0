/* SPDX-License-Identifier: MIT
 *
 * hdf5_about.c: what an HDF5 file says of a dataset: attributes of common names on the dataset, its group,
 * NWB's starting_time beside it, and the root; labels and units as lists beside it. Each is optional, and
 * one that does not fit is passed over with a notice.
 */
#include "recording/hdf5_read.h"

#ifdef WEIRI_HDF5
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_TEXTS (16u * 1024u * 1024u)

/* ---- single values --------------------------------------------------------------------------------------- */

static bool number_of(hid_t at, const char *name, double *ret_number)
{
    if (H5Aexists(at, name) <= 0) {
        return false;
    }
    hid_t attribute = H5Aopen(at, name, H5P_DEFAULT);
    if (attribute < 0) {
        return false;
    }
    hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    H5T_class_t class = H5Tget_class(type);
    double number = 0;
    bool good = (class == H5T_INTEGER || class == H5T_FLOAT) &&
                H5Sget_simple_extent_npoints(space) == 1 &&
                H5Aread(attribute, H5T_NATIVE_DOUBLE, &number) >= 0 && isfinite(number);
    H5Sclose(space);
    H5Tclose(type);
    H5Aclose(attribute);
    if (good) {
        *ret_number = number;
    }
    return good;
}

/* Texts of an attribute of `at`, or of the dataset `data` there: exactly count of them, or NULL. */
static const char *const *texts_of(
    weiri_reader *reader, const hdf5_in *in, hid_t from, hid_t at, const char *name, uint64_t count)
{
    bool set = at < 0;
    hid_t type = set ? H5Dget_type(from) : H5Aget_type(from);
    hid_t space = set ? H5Dget_space(from) : H5Aget_space(from);
    hssize_t points = H5Sget_simple_extent_npoints(space);
    size_t width = H5Tget_size(type);
    bool fits = H5Tget_class(type) == H5T_STRING && points >= 0 && (uint64_t)points == count &&
                width > 0 && count <= MOST_TEXTS / (width + 64);
    const char **texts = NULL;
    const char *const *found = NULL;
    char *raw = NULL;
    if (fits && H5Tis_variable_str(type) > 0) {
        found = weiri_hdf5_texts(reader, in, set ? from : at, set ? NULL : name, count);
        if (found == NULL) {
            weiri_notice(&reader->notices, "%.60s: its texts of varying length cannot be read",
                         name);
        }
    } else if (fits && weiri_reader_get(reader, count, sizeof *texts, &texts) == WEIR_OK &&
               weiri_reader_get(reader, count, width, &raw) == WEIR_OK &&
               (set ? weiri_hdf5_plain(from) &&
                          H5Dread(from, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, raw) >= 0
                    : H5Aread(from, type, raw) >= 0)) {
        found = texts;
        for (uint64_t i = 0; found && i < count; i++) {
            const char *text = raw + i * width;
            if (weiri_reader_text(reader, text, strnlen(text, width), &texts[i]) != WEIR_OK) {
                found = NULL;
            }
        }
    }
    H5Sclose(space);
    H5Tclose(type);
    return found;
}

static const char *const *
attribute_texts(weiri_reader *reader, const hdf5_in *in, hid_t at, const char *name, uint64_t count)
{
    hid_t attribute = H5Aexists(at, name) > 0 ? H5Aopen(at, name, H5P_DEFAULT) : H5I_INVALID_HID;
    if (attribute < 0) {
        return NULL;
    }
    const char *const *texts = texts_of(reader, in, attribute, at, name, count);
    H5Aclose(attribute);
    return texts;
}

static const char *const *
dataset_texts(weiri_reader *reader, const hdf5_in *in, hid_t at, const char *name, uint64_t count)
{
    hid_t data = H5Lexists(at, name, H5P_DEFAULT) > 0 && weiri_hdf5_sound(reader, in, at, name)
                     ? H5Dopen2(at, name, H5P_DEFAULT)
                     : H5I_INVALID_HID;
    if (data < 0) {
        return NULL;
    }
    const char *const *texts = texts_of(reader, in, data, H5I_INVALID_HID, name, count);
    H5Dclose(data);
    return texts;
}

/* ---- rate -------------------------------------------------------------------------------------------------- */

static bool rate_at(hid_t at, double *ret_rate)
{
    static const char *const names[] = {"rate_hz",     "rate",         "sampling_rate",
                                        "sample_rate", "samplerate",   "sampling_frequency",
                                        "sampleRate",  "samplingRate", "sfreq",
                                        "fs",          "Fs",           "srate"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (number_of(at, names[i], ret_rate) && *ret_rate > 0 && *ret_rate <= 1e12) {
            return true;
        }
    }
    return false;
}

static void take_rate(weiri_reader *reader, const hdf5_in *in, hid_t group)
{
    double rate = 0;
    if (reader->rate_hz != 0) {
        return; /* the side file has said it */
    }
    bool known = rate_at(in->data, &rate);
    if (!known && group >= 0 && H5Lexists(group, "starting_time", H5P_DEFAULT) > 0 &&
        weiri_hdf5_sound(reader, in, group, "starting_time")) {
        hid_t start = H5Oopen(group, "starting_time", H5P_DEFAULT);
        if (start >= 0) {
            known = rate_at(start, &rate);
            H5Oclose(start);
        }
    }
    known = known || (group >= 0 && rate_at(group, &rate)) || rate_at(in->h.file, &rate);
    if (!known) {
        return;
    }
    reader->rate_hz = rate;
    double stated = reader->options->rate_hz;
    if (stated != 0 && stated != rate) {
        weiri_notice(&reader->notices, "--rate %g Hz goes before %g Hz of the file", stated, rate);
        reader->rate_hz = stated;
    }
}

/* ---- channels ------------------------------------------------------------------------------------------------ */

static weir_err take_channels(weiri_reader *reader, const hdf5_in *in, hid_t group)
{
    static const char *const names[] = {"labels", "channel_names", "channels", "ch_names"};
    const char *const *labels = NULL, *const *units = NULL, *const *one = NULL;
    uint64_t count = reader->channel_count;
    double conversion = 1, offset = 0;
    for (size_t i = 0; labels == NULL && i < sizeof names / sizeof *names; i++) {
        labels = attribute_texts(reader, in, in->data, names[i], count);
        labels = labels || group < 0 ? labels : dataset_texts(reader, in, group, names[i], count);
        labels = labels || group < 0 ? labels : attribute_texts(reader, in, group, names[i], count);
    }
    units = attribute_texts(reader, in, in->data, "units", count);
    units = units || group < 0 ? units : dataset_texts(reader, in, group, "units", count);
    if (units == NULL) {
        one = attribute_texts(reader, in, in->data, "unit", 1);
        one = one ? one : attribute_texts(reader, in, in->data, "units", 1);
    }
    /* NWB: value * conversion + offset has the unit. */
    bool scaled = number_of(in->data, "conversion", &conversion);
    scaled = number_of(in->data, "offset", &offset) || scaled;
    scaled = scaled && (conversion != 1 || offset != 0) && conversion != 0;
    if (reader->channels != NULL || reader->inner != 1 || in->dims > 2) {
        return WEIR_OK;
    }
    if (!labels && !units && !one && !scaled) {
        return WEIR_OK;
    }
    weir_err err = weiri_reader_get(reader, count, sizeof *reader->channels, &reader->channels);
    for (uint64_t i = 0; err == WEIR_OK && i < count; i++) {
        reader->channels[i] = (weiri_channel){
            .label = labels ? labels[i] : "",
            .unit = units ? units[i]
                    : one ? one[0]
                          : "",
            .scale = {.numer = conversion, .denom = scaled ? 1 : 0, .offset = offset}};
    }
    return err;
}

/* ---- segments, start ---------------------------------------------------------------------------------------- */

/* The table that weir writes: runs of rows that make up the dataset. */
static weir_err take_segments(weiri_reader *reader, const hdf5_in *in)
{
    if (reader->listed_count || H5Aexists(in->h.file, "weir") <= 0 ||
        H5Lexists(in->h.file, "segments", H5P_DEFAULT) <= 0 ||
        !weiri_hdf5_sound(reader, in, in->h.file, "segments")) {
        return WEIR_OK;
    }
    hid_t table = H5Dopen2(in->h.file, "segments", H5P_DEFAULT);
    hid_t space = table >= 0 ? H5Dget_space(table) : H5I_INVALID_HID;
    hsize_t count = 0;
    double left_out = 0;
    bool good = table >= 0 && H5Sget_simple_extent_ndims(space) == 1 &&
                H5Sget_simple_extent_dims(space, &count, NULL) == 1 && count > 0 &&
                count <= WEIRI_MOST_SEGMENTS && number_of(table, "left_out", &left_out) &&
                left_out == 0;
    weiri_span *spans = NULL;
    weir_err err = WEIR_OK;
    if (good) {
        err = weiri_reader_get(reader, count, sizeof *spans, &spans);
        hid_t type = H5Tcreate(H5T_COMPOUND, sizeof *spans);
        H5Tinsert(type, "start_s", offsetof(weiri_span, start_s), H5T_NATIVE_DOUBLE);
        H5Tinsert(type, "first_row", offsetof(weiri_span, first_row), H5T_NATIVE_UINT64);
        H5Tinsert(type, "rows", offsetof(weiri_span, rows), H5T_NATIVE_UINT64);
        good = err == WEIR_OK && weiri_hdf5_plain(table) &&
               H5Dread(table, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, spans) >= 0;
        H5Tclose(type);
    }
    if (good) {
        err = weiri_reader_get(reader, count, sizeof *reader->listed, &reader->listed);
    }
    uint64_t rows = 0;
    for (hsize_t i = 0; good && err == WEIR_OK && i < count && rows < in->frames; i++) {
        const weiri_span *span = &spans[i];
        uint64_t here = in->frames - rows; /* of a cut file the last one is shorter */
        good = span->first_row == rows && span->rows > 0 && fabs(span->start_s) < 9e9;
        here = span->rows < here ? span->rows : here;
        reader->listed[i] =
            (weir_segment){.start_ns = good ? llround(span->start_s * 1e9) : 0, .frames = here};
        rows += here;
        reader->listed_count = (size_t)i + 1;
    }
    if (err == WEIR_OK && good && rows < in->frames && reader->listed_count > 0) {
        /* Killed between the headers of the two. */
        weiri_notice(&reader->notices,
                     "/segments state %llu rows of %llu: the last one is taken as longer",
                     (unsigned long long)rows, (unsigned long long)in->frames);
        reader->listed[reader->listed_count - 1].frames += in->frames - rows;
    } else if (err == WEIR_OK && (!good || rows != in->frames) && in->frames > 0) {
        reader->listed_count = 0;
        weiri_notice(&reader->notices, "/segments do not fit the dataset; not used");
    }
    if (space >= 0) {
        H5Sclose(space);
    }
    if (table >= 0) {
        H5Dclose(table);
    }
    return err;
}

static void take_start(weiri_reader *reader, const hdf5_in *in)
{
    static const char *const names[] = {"start_time", "session_start_time",
                                        "timestamps_reference_time"};
    for (size_t i = 0; reader->start_time == NULL && i < sizeof names / sizeof *names; i++) {
        const char *const *text = attribute_texts(reader, in, in->data, names[i], 1);
        text = text ? text : attribute_texts(reader, in, in->h.file, names[i], 1);
        text = text ? text : dataset_texts(reader, in, in->h.file, names[i], 1);
        if (text && text[0][0]) {
            reader->start_time = text[0];
        }
    }
}

weir_err weiri_hdf5_about(weiri_reader *reader, hdf5_in *in)
{
    char folder[1024];
    snprintf(folder, sizeof folder, "%s", reader->dataset);
    char *slash = strrchr(folder, '/');
    if (slash) {
        slash[slash == folder] = 0;
    }
    const char *place = slash ? folder : "/";
    hid_t group = weiri_hdf5_sound(reader, in, in->h.file, place)
                      ? H5Oopen(in->h.file, place, H5P_DEFAULT)
                      : H5I_INVALID_HID;
    take_rate(reader, in, group);
    weir_err err = take_channels(reader, in, group);
    if (err == WEIR_OK) {
        err = take_segments(reader, in);
    }
    if (group >= 0) {
        H5Oclose(group);
    }
    take_start(reader, in);
    double rate = reader->options->rate_hz != 0 ? reader->options->rate_hz : reader->rate_hz;
    for (uint64_t i = 0; err == WEIR_OK && reader->channels && i < reader->channel_count; i++) {
        reader->channels[i].rate_hz = rate;
    }
    return err;
}
#endif
