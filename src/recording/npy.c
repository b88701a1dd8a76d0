/* SPDX-License-Identifier: MIT
 *
 * npy.c: reads and writes NumPy's .npy, versions 1 to 3 (headers: base/npy.h). Arrays of objects,
 * structures and strings are refused. Fortran order is read column by column in blocks.
 */
#include <stdio.h>
#include <string.h>

#include "base/npy.h"
#include "recording/reader.h"

/* ---- the header ----------------------------------------------------------------------------------- */

typedef struct header {
    weiri_stored stored;
    bool fortran;
    uint32_t dims;
    uint64_t shape[WEIR_MAX_DIMS];
} header;

static weir_err parse(weiri_reader *reader, uint64_t offset, const char *text, header *ret)
{
    _Static_assert(WEIR_MAX_DIMS == WEIRI_NPY_DIMS, "as many dimensions as a frame can have");
    weiri_npy npy;
    size_t at = 0;
    if (weiri_npy_parse(text, &npy, &at) != WEIR_OK) {
        return weiri_malformed(reader, offset + at, "%s", weir_err_detail());
    }
    if (npy.dtype[1] == 'b') {
        npy.dtype[1] = 'u'; /* a truth value is a byte of 0 or 1 */
    }
    ret->fortran = npy.fortran;
    ret->dims = npy.dims;
    memcpy(ret->shape, npy.shape, sizeof ret->shape);
    return weiri_stored_parse(npy.dtype, &ret->stored);
}

static weir_err read_header(weiri_reader *reader, header *ret)
{
    unsigned char lead[12];
    weir_err err = weiri_reader_header(reader, 0, lead, 10);
    if (err != WEIR_OK) {
        return err;
    }
    if (memcmp(lead, WEIRI_NPY_MAGIC, 6) != 0) {
        return weiri_malformed(reader, 0, "not an npy file: does not begin with \\x93NUMPY");
    }
    if (lead[6] < 1 || lead[6] > 3) {
        return weiri_malformed(reader, 6, "npy version %u: expected 1, 2 or 3", lead[6]);
    }
    uint64_t length = lead[8] | (uint64_t)lead[9] << 8;
    uint64_t offset = 10;
    if (lead[6] > 1) {
        err = weiri_reader_header(reader, 10, lead + 10, 2);
        length |= (uint64_t)lead[10] << 16 | (uint64_t)lead[11] << 24;
        offset = 12;
    }
    if (err == WEIR_OK && (length < 10 || length > WEIRI_NPY_HEADER_MAX)) {
        err = weiri_malformed(reader, 8, "npy header of %llu bytes: expected 10 to %d",
                              (unsigned long long)length, WEIRI_NPY_HEADER_MAX);
    }
    char text[WEIRI_NPY_HEADER_MAX + 1];
    if (err == WEIR_OK) {
        err = weiri_reader_header(reader, offset, text, (size_t)length);
    }
    if (err != WEIR_OK) {
        return err;
    }
    text[length] = 0;
    if (strlen(text) != length) {
        return weiri_malformed(reader, offset + strlen(text), "npy header: a zero byte within it");
    }
    reader->data_offset = offset + length;
    return parse(reader, offset, text, ret);
}

/* ---- reading -------------------------------------------------------------------------------------- */

static bool probe(const unsigned char *first, size_t count)
{
    return count >= 6 && memcmp(first, WEIRI_NPY_MAGIC, 6) == 0;
}

/* Fewer bytes than the header states: complete frames are read. What is missing is the last
 * frames in C order, and in Fortran order, column after column, values of the last dimension. */
static weir_err cut_short(weiri_reader *reader, header *head, uint64_t there)
{
    uint32_t last = head->fortran ? head->dims - 1 : 0;
    uint64_t piece = weiri_stored_bytes(head->stored), stated = head->shape[last];
    for (uint32_t i = 0; i < head->dims; i++) {
        piece *= i == last ? 1 : head->shape[i];
    }
    uint64_t whole = there / piece;
    static const char *const names[] = {"frames", "channels"};
    const char *name = last < 2 ? names[last] : "values of the last dimension";
    if (whole == 0) {
        return weiri_malformed(
            reader, reader->input.size,
            "the file ends here, within the first of the %llu %s that the header "
            "states: expected %llu bytes each, found %llu",
            (unsigned long long)stated, name, (unsigned long long)piece, (unsigned long long)there);
    }
    head->shape[last] = whole;
    weiri_notice(&reader->notices,
                 "truncated: %llu of the %llu %s that the header states are complete; the last "
                 "%llu bytes are ignored",
                 (unsigned long long)whole, (unsigned long long)stated, name,
                 (unsigned long long)(there % piece));
    return WEIR_OK;
}

/* Checks the header's claim against the file: no size that follows from it is used before. */
static weir_err check_size(weiri_reader *reader, header *head)
{
    uint64_t columns = 1, bytes = weiri_stored_bytes(head->stored);
    bool fits = true;
    for (uint32_t i = 1; i < head->dims; i++) {
        fits = fits && weiri_mul(columns, head->shape[i], &columns);
    }
    if (!fits || columns == 0 || columns > WEIRI_MAX_CHANNELS) {
        return weiri_malformed(
            reader, 10, "npy shape: found %s%llu values per frame, expected 1 to %u%s",
            fits ? "" : "more than ", (unsigned long long)columns, WEIRI_MAX_CHANNELS,
            columns > head->shape[0] ? " (frames are the first dimension)" : "");
    }
    fits = weiri_mul(bytes, columns, &bytes) && weiri_mul(bytes, head->shape[0], &bytes) &&
           bytes <= INT64_MAX - WEIRI_NPY_HEADER_MAX;
    if (!fits) {
        return weiri_malformed(reader, 10,
                               "npy shape: %llu frames of %llu values are larger than any file",
                               (unsigned long long)head->shape[0], (unsigned long long)columns);
    }
    if (reader->input.pipe) {
        return WEIR_OK;
    }
    uint64_t there = reader->input.size - reader->data_offset;
    if (there > bytes) {
        weiri_notice(&reader->notices, "%llu bytes after the array are ignored",
                     (unsigned long long)(there - bytes));
    }
    return there < bytes ? cut_short(reader, head, there) : WEIR_OK;
}

static weir_err npy_open(weiri_reader *reader)
{
    header *head;
    weir_err err = weiri_reader_get(reader, 1, sizeof *head, &head);
    if (err == WEIR_OK) {
        err = read_header(reader, head);
    }
    if (err == WEIR_OK && head->dims == 0) {
        err = weiri_malformed(reader, 10, "npy shape: a single value is not a recording");
    }
    if (err == WEIR_OK) {
        err = check_size(reader, head);
    }
    if (err == WEIR_OK && head->fortran && head->dims > 1 && reader->input.pipe) {
        err = weiri_fail(WEIR_E_USAGE, "%s: an array in Fortran order cannot be read from a pipe",
                         reader->input.name);
    }
    if (err != WEIR_OK) {
        return err;
    }
    reader->own = head;
    reader->stored = head->stored;
    reader->channel_count = head->dims > 1 ? head->shape[1] : 1;
    for (uint32_t i = 2; i < head->dims; i++) {
        reader->inner *= head->shape[i];
    }
    const uint64_t shape[WEIR_MAX_DIMS] = {head->shape[0], reader->channel_count, head->shape[2],
                                           head->shape[3]};
    weiri_side_read(reader, shape, head->dims > 1 ? head->dims : 2);
    return weiri_reader_need_rate(reader);
}

static weir_err npy_layout(weiri_reader *reader)
{
    static const char *const names[] = {"time", "ch", "dim2", "dim3"};
    const header *head = reader->own;
    weir_spec *spec = &reader->info.spec;
    for (uint32_t i = 2; i < head->dims; i++) {
        spec->dims[i] =
            (weir_axis){.name = names[i], .unit = "", .size = head->shape[i], .step = 1};
        spec->dim_count = i + 1;
    }
    weiri_side_layout(reader, head->shape[0]);
    return WEIR_OK;
}

static bool by_columns(const weiri_reader *reader)
{
    const header *head = reader->own;
    return head->fortran && head->dims > 1;
}

/* Column (a * B + b) of a frame is at plane (a + A * b), and so on. */
static uint64_t
place(const weiri_reader *reader, uint64_t column, uint64_t index, uint64_t *ret_follow)
{
    const header *head = reader->own;
    uint64_t rest = reader->picks ? reader->picks[column] : column;
    uint64_t plane = 0;
    for (uint32_t i = head->dims - 1; i >= 1; i--) {
        plane = plane * head->shape[i] + rest % head->shape[i];
        rest /= head->shape[i];
    }
    *ret_follow = head->shape[0] - index;
    return reader->data_offset +
           (plane * head->shape[0] + index) * weiri_stored_bytes(reader->stored);
}

static weir_err npy_plan(const weiri_reader *reader, uint64_t tile_frames, uint64_t *ret_bytes)
{
    return by_columns(reader) ? weiri_planes_plan(reader, tile_frames, ret_bytes)
                              : weiri_rows_plan(reader, tile_frames, ret_bytes);
}

static weir_err
npy_read(weiri_reader *reader, uint64_t index, size_t frames, void *rows, size_t *ret_frames)
{
    uint64_t row = reader->first_row + index;
    return by_columns(reader) ? weiri_planes_read(reader, place, row, frames, rows, ret_frames)
                              : weiri_rows_read(reader, row, frames, rows, ret_frames);
}

/* ---- writing -------------------------------------------------------------------------------------- */

static size_t head_text(const weir_spec *spec, uint64_t rows, char *text, size_t size)
{
    static const char *const codes[] = {"u1", "u2", "i2", "i4", "f4", "f8", "c8", "c16"};
    const uint16_t probe_order = 1;
    char order = *(const unsigned char *)&probe_order ? '<' : '>';
    size_t used = (size_t)snprintf(
        text, size, "{'descr': '%c%s', 'fortran_order': False, 'shape': (%llu,",
        spec->dtype == WEIR_U8 ? '|' : order, codes[spec->dtype], (unsigned long long)rows);
    for (uint32_t i = 1; i < spec->dim_count; i++) {
        used += (size_t)snprintf(text + used, size - used, i > 1 ? ", %llu" : " %llu",
                                 (unsigned long long)spec->dims[i].size);
    }
    return used + (size_t)snprintf(text + used, size - used, "), }");
}

/* Space for the longest number of rows, so that it can be overwritten as it grows. */
static size_t head_bytes(const weir_spec *spec)
{
    char text[256];
    size_t bytes = 10 + head_text(spec, UINT64_MAX, text, sizeof text) + 1;
    return (bytes + 63) / 64 * 64;
}

static void head(const weir_spec *spec, uint64_t rows, char *text, size_t bytes)
{
    char literal[256];
    size_t length = head_text(spec, rows, literal, sizeof literal);
    memset(text, ' ', bytes);
    memcpy(text, WEIRI_NPY_MAGIC "\x01\x00", 8);
    text[8] = (char)((bytes - 10) & 0xff);
    text[9] = (char)((bytes - 10) >> 8);
    memcpy(text + 10, literal, length);
    text[bytes - 1] = '\n';
}

static weir_err holds(const weir_spec *spec, bool to_pipe)
{
    (void)spec;
    if (to_pipe) {
        return weiri_fail(WEIR_E_USAGE, "npy cannot be written to a pipe, as its header states the "
                                        "number of frames; use --format raw");
    }
    return WEIR_OK;
}

const weiri_format_ops weiri_format_npy = {
    .ops_size = sizeof(weiri_format_ops),
    .info = {.name = "npy",
             .summary =
                 "NumPy array, frames x channels; needs --rate; with a side file when written",
             .extensions = ".npy",
             .reads = true,
             .writes = true},
    .probe = probe,
    .open = npy_open,
    .layout = npy_layout,
    .segment = weiri_side_segment,
    .plan = npy_plan,
    .read = npy_read,
    .head_bytes = head_bytes,
    .head = head,
    .holds = holds,
};
