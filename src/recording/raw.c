/* SPDX-License-Identifier: MIT
 *
 * raw.c: values row by row behind a fixed offset, with nothing that says what they are. In: as options
 * state, or the side file of weir's own. Out: in the host's byte order, with a side file that says what they are.
 */
#include <string.h>

#include "recording/reader.h"

static weir_err missing(const weiri_reader *reader, const char *option, const char *what)
{
    return weiri_fail(WEIR_E_USAGE, "%s: a raw file does not say its %s; state it by %s",
                      reader->path, what, option);
}

/* A file must hold whole frames: where it does not, an option is more likely wrong than its tail. But for the
 * part that a run left behind when it was killed. */
static weir_err check_size(weiri_reader *reader, uint64_t frame_bytes)
{
    uint64_t size = reader->input.size;
    if (size < reader->data_offset) {
        return weiri_malformed(reader, size, "the file ends here, before the offset of %llu bytes",
                               (unsigned long long)reader->data_offset);
    }
    uint64_t rest = (size - reader->data_offset) % frame_bytes;
    if (rest != 0 && weiri_is_part(reader->path)) {
        weiri_notice(&reader->notices, "ends within a frame: the last %llu bytes are left out",
                     (unsigned long long)rest);
    } else if (rest != 0) {
        return weiri_malformed(
            reader, size - rest,
            "ends within a frame: found %llu bytes, expected %llu (%llu channels "
            "of %zu bytes); are dtype, channels and offset right?",
            (unsigned long long)rest, (unsigned long long)frame_bytes,
            (unsigned long long)reader->channel_count, weiri_stored_bytes(reader->stored));
    }
    return WEIR_OK;
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
    weir_err err = weiri_stored_parse(dtype, &reader->stored);
    if (err != WEIR_OK) {
        return weiri_fail_prefix(err, "%s: ", reader->path);
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
