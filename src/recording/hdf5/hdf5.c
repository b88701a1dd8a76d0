/* SPDX-License-Identifier: MIT
 *
 * hdf5.c: reads a dataset of an HDF5 file: frames first, then channels, then up to two further
 * dimensions. libhdf5 reads in a program of its own (child.c, helper/): this file has the questions
 * to it, and the meaning of its answers. about.c has rate, labels, units, scale and start time.
 */
#include <string.h>

#include "recording/reader.h"

#ifdef WEIRI_HDF5
#include <stdio.h>

#include "recording/hdf5/driver.h"
#include "recording/hdf5/read.h"

/* ---- which dataset ------------------------------------------------------------------------------------------- */

/* weir's own, or the only one of numbers. */
static weir_err choose(weiri_reader *reader, hdf5_in *in)
{
    weiri_hdf5_listed all;
    if (reader->dataset) {
        return WEIR_OK;
    }
    weir_err err = weiri_hdf5_child_struct(&in->child, WEIRI_HDF5_LIST, "", WEIRI_HDF5_LISTED, &all,
                                           sizeof all);
    if (err != WEIR_OK) {
        return err;
    }
    for (size_t i = 0; i < WEIRI_HDF5_SHOWN; i++) {
        all.names[i][sizeof all.names[i] - 1] = 0;
    }
    all.why[sizeof all.why - 1] = 0;
    if (all.is_weirs) {
        reader->dataset = "/data";
        return WEIR_OK;
    }
    if (all.found == 1) {
        return weiri_reader_text(reader, all.names[0], strlen(all.names[0]), &reader->dataset);
    }
    if (all.found == 0 && all.not_open > 0) {
        return weiri_fail(WEIR_E_RECORDING, "%s: none of its %llu datasets can be read: %s",
                          reader->path, (unsigned long long)all.not_open, all.why);
    }
    char list[WEIRI_HDF5_SHOWN * 82] = "";
    for (uint64_t i = 0; i < all.found && i < WEIRI_HDF5_SHOWN; i++) {
        strcat(list, i ? ", " : "");
        strcat(list, all.names[i]);
    }
    return weiri_fail(WEIR_E_USAGE,
                      "%s: contains %llu numeric datasets%s%.400s%s; choose one with --dataset "
                      "/NAME, or PATH:/NAME",
                      reader->path, (unsigned long long)all.found, all.found ? ": " : "", list,
                      all.found > WEIRI_HDF5_SHOWN ? ", ..." : "");
}

/* ---- how its values are stored --------------------------------------------------------------------------------- */

/* The coding that can hold every value, in which the helper is to send them. */
static weir_err take_type(weiri_reader *reader, const weiri_hdf5_described *data)
{
    static const weir_dtype dtypes[WEIRI_CODINGS] = {WEIR_U8,  WEIR_U16, WEIR_I16, WEIR_I32,
                                                     WEIR_I32, WEIR_F32, WEIR_F64};
    weiri_coding coding = WEIRI_CODING_F64;
    if (!data->is_number) {
        return weiri_fail(WEIR_E_USAGE, "%s: %s: contains no plain numbers of 1 to 16 bytes",
                          reader->path, reader->dataset);
    }
    if (data->is_float) {
        coding = data->part_bytes <= 4 ? WEIRI_CODING_F32 : WEIRI_CODING_F64;
    } else if (data->value_bytes == 1) {
        coding = data->is_signed ? WEIRI_CODING_I16 : WEIRI_CODING_U8;
    } else if (data->value_bytes == 2) {
        coding = data->is_signed ? WEIRI_CODING_I16 : WEIRI_CODING_U16;
    } else if (data->value_bytes <= 4 && data->is_signed) {
        coding = WEIRI_CODING_I32;
    } else if (data->value_bytes > 4) {
        weiri_notice(&reader->notices, "integers of %u bytes are read as f64: exact up to 2^53",
                     data->value_bytes);
    }
    reader->stored = (weiri_stored){.coding = coding};
    reader->stored.big_endian = !weiri_stored_is(reader->stored, dtypes[coding]);
    reader->stored.is_complex = data->is_complex;
    return WEIR_OK;
}

static weir_err take_shape(weiri_reader *reader, hdf5_in *in)
{
    const weiri_hdf5_described *data = &in->data;
    if (data->dims < 1 || data->dims > WEIR_MAX_DIMS) {
        return weiri_fail(WEIR_E_USAGE, "%s: %s: has %u dimensions; expected 1 to %d", reader->path,
                          reader->dataset, data->dims, WEIR_MAX_DIMS);
    }
    uint64_t columns = 1, all = 0;
    bool fits = true;
    for (uint32_t i = 1; i < data->dims; i++) {
        fits = fits && weiri_mul(columns, data->shape[i], &columns);
    }
    if (!fits || columns == 0 || columns > WEIRI_MAX_CHANNELS ||
        !weiri_mul(columns * 16, data->shape[0], &all) || all > INT64_MAX ||
        data->rows > data->shape[0] || data->memory_bytes > INT64_MAX) {
        return weiri_malformed(reader, 0, "%.80s: %llu x %llu values: a frame can have 1 to %u%s",
                               reader->dataset, (unsigned long long)data->shape[0],
                               (unsigned long long)columns, WEIRI_MAX_CHANNELS,
                               columns > data->shape[0] ? " (frames are the first dimension)" : "");
    }
    reader->channel_count = data->dims > 1 ? data->shape[1] : 1;
    reader->inner = columns / reader->channel_count;
    in->columns = columns;
    if (columns > data->shape[0] && data->shape[0] > 0) {
        weiri_notice(&reader->notices,
                     "%llu frames of %llu values: frames are the first dimension here",
                     (unsigned long long)data->shape[0], (unsigned long long)columns);
    }
    if (data->file_bytes > reader->input.size) {
        weiri_notice(&reader->notices,
                     "truncated: the file states %llu bytes, %llu are present; %llu of %llu frames "
                     "are complete",
                     (unsigned long long)data->file_bytes, (unsigned long long)reader->input.size,
                     (unsigned long long)data->rows, (unsigned long long)data->shape[0]);
    } else if (data->rows < data->shape[0]) {
        weiri_notice(&reader->notices, "%llu of %llu frames were written; the rest is missing",
                     (unsigned long long)data->rows, (unsigned long long)data->shape[0]);
    }
    return WEIR_OK;
}

/* ---- opening --------------------------------------------------------------------------------------------------- */

static uint64_t frame_bytes(const weiri_reader *reader)
{
    return reader->channel_count * reader->inner * weiri_stored_bytes(reader->stored);
}

/* Rows of the helper's blocks. */
static uint64_t sent_rows(const weiri_reader *reader)
{
    uint64_t rows = WEIRI_BLOCK_BYTES / frame_bytes(reader);
    return rows ? rows : 1;
}

/* Two blocks, in memory shared with the helper. */
static uint64_t shared_bytes(const weiri_reader *reader)
{
    return 2 * sent_rows(reader) * frame_bytes(reader);
}

static weir_err open_dataset(weiri_reader *reader, hdf5_in *in)
{
    weir_err err = choose(reader, in);
    if (err == WEIR_OK && strlen(reader->dataset) >= WEIRI_HDF5_PATH) {
        err =
            weiri_fail(WEIR_E_USAGE, "%s: %.80s...: a name of %zu bytes, %u at most", reader->path,
                       reader->dataset, strlen(reader->dataset), WEIRI_HDF5_PATH - 1);
    }
    if (err == WEIR_OK) {
        err = weiri_hdf5_child_struct(&in->child, WEIRI_HDF5_DATASET, reader->dataset,
                                      WEIRI_HDF5_DESCRIBED, &in->data, sizeof in->data);
    }
    if (err == WEIR_OK) {
        err = take_type(reader, &in->data);
    }
    if (err == WEIR_OK) {
        err = take_shape(reader, in);
    }
    if (err == WEIR_OK) {
        err = weiri_reader_charge(reader, in->data.memory_bytes + shared_bytes(reader));
    }
    if (err == WEIR_OK) {
        err = weiri_hdf5_child_map(&in->child, shared_bytes(reader));
    }
    if (err != WEIR_OK) {
        return err;
    }
    reader->info.variant = reader->dataset;
    const uint64_t shape[WEIR_MAX_DIMS] = {in->data.rows, reader->channel_count, in->data.shape[2],
                                           in->data.shape[3]};
    weiri_side_read(reader, shape, in->data.dims > 1 ? in->data.dims : 2);
    err = weiri_hdf5_about(reader, in);
    if (err == WEIR_OK && in->child.socket < 0) {
        err = weiri_hdf5_child_take(&in->child, NULL, 0); /* it crashed on one of these questions */
    }
    return err;
}

static weir_err hdf5_open(weiri_reader *reader)
{
    unsigned char first[20] = {0};
    size_t got = 0;
    if (reader->input.pipe) {
        return weiri_fail(
            WEIR_E_USAGE,
            "%s: an HDF5 file cannot be read from a pipe, as reading needs random access",
            reader->input.name);
    }
    weir_err err = weiri_input_read(&reader->input, 0, first, sizeof first - 1, 1, &got);
    if (err == WEIR_OK && memcmp(first, "MATLAB 5.0 MAT-file", 19) == 0) {
        err = weiri_fail(WEIR_E_USAGE,
                         "%s: a MATLAB file of version 5 to 7.2 cannot be read; save it with -v7.3",
                         reader->path);
    }
    hdf5_in *in = NULL;
    if (err == WEIR_OK) {
        err = weiri_reader_charge(reader, WEIRI_HDF5_HELPER);
    }
    if (err == WEIR_OK) {
        err = weiri_reader_get(reader, 1, sizeof *in, &in);
    }
    if (err != WEIR_OK) {
        return err;
    }
    in->child.socket = in->child.memory = -1;
    reader->own = in;
    err = weiri_reader_get(reader, 1, WEIRI_HDF5_ANSWER, &in->answer);
    if (err == WEIR_OK) {
        err = weiri_hdf5_child_start(reader->input.fd, reader->path, &in->child);
    }
    if (err == WEIR_OK) {
        err = open_dataset(reader, in);
    }
    return err == WEIR_OK ? weiri_reader_need_rate(reader) : err;
}

static void hdf5_close(weiri_reader *reader)
{
    hdf5_in *in = reader->own;
    if (in) {
        weiri_hdf5_child_end(&in->child);
    }
}

static weir_err hdf5_layout(weiri_reader *reader)
{
    static const char *const names[] = {"time", "ch", "dim2", "dim3"};
    const hdf5_in *in = reader->own;
    weir_spec *spec = &reader->info.spec;
    for (uint32_t i = 2; i < in->data.dims; i++) {
        spec->dims[i] =
            (weir_axis){.name = names[i], .unit = "", .size = in->data.shape[i], .step = 1};
        spec->dim_count = i + 1;
    }
    weiri_side_layout(reader, in->data.rows);
    return WEIR_OK;
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

static weir_err hdf5_plan(const weiri_reader *reader, uint64_t tile_frames, uint64_t *ret_bytes)
{
    (void)reader;
    (void)tile_frames;
    *ret_bytes = 0; /* rows are converted from the blocks, which are charged */
    return WEIR_OK;
}

/* The next block. All rows to the end are requested at once, so that the helper reads ahead. */
static weir_err next_block(weiri_reader *reader, hdf5_in *in, uint64_t row)
{
    weiri_hdf5_question ask = {.verb = WEIRI_HDF5_NEXT};
    weiri_hdf5_answer head;
    if (in->blocks == 0) {
        in->next = row;
        ask = (weiri_hdf5_question){.verb = WEIRI_HDF5_ROWS,
                                    .coding = reader->stored.coding,
                                    .first = row,
                                    .count = in->data.rows - row,
                                    .block_rows = sent_rows(reader),
                                    .memory_bytes = in->data.memory_bytes};
    }
    weiri_hdf5_child_ask(&in->child, ask, "", "");
    weir_err err = weiri_hdf5_child_answer(&in->child, &head);
    if (err != WEIR_OK) {
        weiri_hdf5_child_stop(&in->child, err); /* later rows are not requested again */
        return err;
    }
    if (head.kind != WEIRI_HDF5_BLOCK || head.count == 0 || head.count > sent_rows(reader) ||
        head.count > in->data.rows - in->next || head.bytes != 0) {
        return weiri_hdf5_child_nonsense(&in->child);
    }
    in->blocks++;
    in->left = head.count;
    in->done = 0;
    return WEIR_OK;
}

/* Rows are read forward; those before the first selected one are skipped. */
static weir_err
hdf5_read(weiri_reader *reader, uint64_t index, size_t frames, void *rows, size_t *ret_frames)
{
    hdf5_in *in = reader->own;
    uint64_t row = reader->first_row + index, bytes = frame_bytes(reader);
    *ret_frames = 0;
    if (in->blocks > 0 && row < in->next) {
        return weiri_fail(WEIR_E_INTERNAL, "%s: rows are read forward only", reader->path);
    }
    while (*ret_frames == 0 && row < in->data.rows) {
        if (in->left == 0) {
            weir_err err = next_block(reader, in, row);
            if (err != WEIR_OK) {
                return err;
            }
        }
        bool there = in->next == row;
        uint64_t count = there ? frames : row - in->next;
        count = count < in->left ? count : in->left;
        if (there) {
            const unsigned char *block =
                in->child.blocks + (in->blocks - 1) % 2 * sent_rows(reader) * bytes;
            weiri_rows_convert(reader, block + in->done * bytes, (size_t)bytes, (size_t)count,
                               rows);
            *ret_frames = (size_t)count;
        }
        in->next += count;
        in->done += count;
        in->left -= count;
    }
    return WEIR_OK;
}
#endif

/* The signature is at byte 0, or after a user block of 512, 1024, ... bytes: MATLAB's has 512. */
static bool probe(const unsigned char *first, size_t count)
{
    for (size_t at = 0; at + 8 <= count; at = at ? 2 * at : 512) {
        if (memcmp(first + at, "\x89HDF\r\n\x1a\n", 8) == 0) {
            return true;
        }
    }
    return false;
}

const weiri_format_ops weiri_format_hdf5 = {
    .ops_size = sizeof(weiri_format_ops),
    .info = {.name = "hdf5",
#ifdef WEIRI_HDF5
             .summary = "a dataset, frames x channels: PATH:/NAME; rate and units from attributes",
             .reads = true,
             .writes = true,
#else
             .summary = "HDF5; not included in this build (WEIR_HDF5)",
#endif
             .extensions = ".h5 .hdf5 .nwb"},
    .kin =
        /* version 7.3 is HDF5, recognised by its signature; earlier ones are refused by name */
    ".mat",
    .datasets = true,
    .probe = probe,
#ifdef WEIRI_HDF5
    .open = hdf5_open,
    .layout = hdf5_layout,
    .segment = weiri_side_segment,
    .plan = hdf5_plan,
    .read = hdf5_read,
    .close = hdf5_close,
    .holds = weiri_hdf5_holds,
    .encoding = &weiri_hdf5_encoding,
#else
    .not_built = "HDF5 (libhdf5, WEIR_HDF5)",
#endif
};
