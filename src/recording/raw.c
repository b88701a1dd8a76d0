/* SPDX-License-Identifier: MIT
 *
 * raw.c: values row by row after a fixed offset, without a description in the file. Read as options
 * state, or as the side file that weir wrote; written in the host's byte order, with a side file
 * that describes them.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "recording/reader.h"

static weir_err missing(const weiri_reader *reader, const char *option, const char *what)
{
    return weiri_fail(WEIR_E_USAGE, "%s: a raw file does not state its %s; use %s", reader->path,
                      what, option);
}

/* Complete frames are read. A remainder at the end is from a recorder that was stopped, or an
 * option is wrong. */
static weir_err check_size(weiri_reader *reader, uint64_t frame_bytes)
{
    uint64_t size = reader->input.size;
    if (size < reader->data_offset) {
        return weiri_malformed(reader, size, "the file ends here, before the offset of %llu bytes",
                               (unsigned long long)reader->data_offset);
    }
    uint64_t rest = (size - reader->data_offset) % frame_bytes;
    weiri_reader_rest(reader, rest, frame_bytes);
    if (rest > 0 && !weiri_is_part(reader->path)) {
        weiri_notice(&reader->notices,
                     "a frame is assumed to have %llu channels of %zu bytes, from offset %llu; are "
                     "dtype, channels and offset right?",
                     (unsigned long long)reader->channel_count, weiri_stored_bytes(reader->stored),
                     (unsigned long long)reader->data_offset);
    }
    return WEIR_OK;
}

/* The signal of a WFDB record: NAME.dat with NAME.hea next to it, often packed (two samples in
 * three bytes). */
static weir_err refuse_wfdb(const weiri_reader *reader)
{
    char path[4096];
    const char *dot = strrchr(reader->path, '.');
    int stem = dot ? (int)(dot - reader->path) : 0;
    if (reader->options->format || reader->input.pipe || stem == 0 ||
        snprintf(path, sizeof path, "%.*s.hea", stem, reader->path) >= (int)sizeof path ||
        access(path, R_OK) != 0) {
        return WEIR_OK;
    }
    return weiri_fail(
        WEIR_E_RECORDING,
        "%s: the signal of a WFDB record, whose header is %s; WFDB cannot be read: convert it, for "
        "example with mit2edf, or use --format raw if the values are not packed",
        reader->path, path);
}

static uint64_t frames_of(const weiri_reader *reader)
{
    uint64_t frame_bytes = reader->channel_count * weiri_stored_bytes(reader->stored);
    return reader->input.pipe ? WEIR_FRAMES_UNKNOWN
                              : (reader->input.size - reader->data_offset) / frame_bytes;
}

static weir_err raw_open(weiri_reader *reader)
{
    const weir_recording_options *options = reader->options;
    const char *dtype = options->dtype;
    uint64_t channels = options->channels_in_file;
    weir_err err = refuse_wfdb(reader);
    if (err != WEIR_OK) {
        return err;
    }
    if (!reader->input.pipe && (dtype == NULL || channels == 0)) {
        weiri_side_shape(reader, &dtype, &channels);
    }
    if (dtype == NULL) {
        return missing(reader, "--dtype", "dtype");
    }
    if (channels == 0) {
        return missing(reader, "--channels-in-file", "number of channels");
    }
    if (channels > WEIRI_MAX_CHANNELS) {
        return weiri_fail(WEIR_E_USAGE, "%s: %llu channels: at most %u", reader->path,
                          (unsigned long long)channels, WEIRI_MAX_CHANNELS);
    }
    err = weiri_stored_parse(dtype, &reader->stored);
    if (err != WEIR_OK) {
        return weiri_fail_prefix(err, "%s: ", reader->path);
    }
    if (!isfinite(options->scale) || (options->scale != 0 && reader->stored.is_complex)) {
        return weiri_fail(WEIR_E_USAGE, "%s: scale %g: a finite number, of real values, is allowed",
                          reader->path, options->scale);
    }
    if (options->scale != 0 && !options->counts) {
        reader->scale = (weiri_scale){.numer = options->scale, .denom = 1};
    }
    reader->channel_count = channels;
    reader->data_offset = options->offset_bytes;
    uint64_t frame_bytes = reader->channel_count * weiri_stored_bytes(reader->stored);
    if (!reader->input.pipe) {
        err = check_size(reader, frame_bytes);
        if (err != WEIR_OK) {
            return err;
        }
        uint64_t shape[2] = {frames_of(reader), reader->channel_count};
        weiri_side_read(reader, shape, 2);
    }
    return weiri_reader_need_rate(reader);
}

static weir_err raw_layout(weiri_reader *reader)
{
    weiri_side_layout(reader, frames_of(reader));
    return WEIR_OK;
}

static weir_err
raw_read(weiri_reader *reader, uint64_t index, size_t frames, void *rows, size_t *ret_frames)
{
    return weiri_rows_read(reader, reader->first_row + index, frames, rows, ret_frames);
}

const weiri_format_ops weiri_format_raw = {
    .ops_size = sizeof(weiri_format_ops),
    .info = {.name = "raw",
             .summary =
                 "interleaved values; needs --dtype, --channels-in-file, --rate (and --offset)",
             .extensions = ".raw .dat .bin",
             .reads = true,
             .writes = true},
    .bare = true,
    .open = raw_open,
    .layout = raw_layout,
    .segment = weiri_side_segment,
    .plan = weiri_rows_plan,
    .read = raw_read,
};
