/* SPDX-License-Identifier: MIT
 *
 * npy.c: reads and writes NumPy's .npy, versions 1 to 3. The header is a Python literal, read by a
 * small strict parser of exactly what NumPy writes, in any order and spacing. Arrays of objects,
 * structures and strings are refused. Fortran order is read column by column in blocks.
 */
#include <stdio.h>
#include <string.h>

#include "recording/reader.h"

#define MAGIC      "\x93NUMPY"
#define MAX_HEADER 10000 /* NumPy's own bound */

/* ---- the header ----------------------------------------------------------------------------------- */

typedef struct header {
    weiri_stored stored;
    bool fortran;
    uint32_t dims;
    uint64_t shape[WEIR_MAX_DIMS];
} header;

typedef struct parser {
    weiri_reader *reader;
    const char *text; /* NUL-terminated */
    const char *at;
    uint64_t offset; /* of text in the file */
} parser;

static weir_err wrong(const parser *in, const char *expected)
{
    char found[24];
    snprintf(found, sizeof found, "%.16s", in->at);
    return weiri_malformed(in->reader, in->offset + (uint64_t)(in->at - in->text),
                           "npy header: found \"%s\", expected %s", found, expected);
}

static void blanks(parser *in)
{
    in->at += strspn(in->at, " \t\r\n");
}

static bool take(parser *in, char byte)
{
    blanks(in);
    if (*in->at != byte) {
        return false;
    }
    in->at++;
    return true;
}

/* 'text' or "text", without escapes. */
static weir_err quoted(parser *in, char *text, size_t size)
{
    blanks(in);
    char quote = *in->at;
    if (quote != '\'' && quote != '"') {
        return wrong(in, "a quoted text (structures are not read)");
    }
    const char *end = strchr(in->at + 1, quote);
    if (end == NULL || (size_t)(end - in->at) > size) {
        return wrong(in, "a short quoted text");
    }
    size_t length = (size_t)(end - in->at - 1);
    memcpy(text, in->at + 1, length);
    text[length] = 0;
    in->at = end + 1;
    return WEIR_OK;
}

static weir_err whole(parser *in, uint64_t *ret_number)
{
    blanks(in);
    uint64_t number = 0;
    const char *first = in->at;
    for (; *in->at >= '0' && *in->at <= '9'; in->at++) {
        uint64_t digit = (uint64_t)(*in->at - '0');
        if (number > (UINT64_MAX - digit) / 10) {
            in->at = first;
            return wrong(in, "a number below 2^64");
        }
        number = number * 10 + digit;
    }
    if (in->at == first) {
        return wrong(in, "a whole number");
    }
    if (*in->at == 'L') { /* as Python 2 wrote them */
        in->at++;
    }
    *ret_number = number;
    return WEIR_OK;
}

static weir_err shape(parser *in, header *ret)
{
    if (!take(in, '(')) {
        return wrong(in, "(");
    }
    ret->dims = 0;
    while (!take(in, ')')) {
        if (ret->dims == WEIR_MAX_DIMS) {
            return wrong(in, "at most 4 dimensions");
        }
        weir_err err = whole(in, &ret->shape[ret->dims]);
        if (err != WEIR_OK) {
            return err;
        }
        ret->dims++;
        if (!take(in, ',')) {
            if (!take(in, ')')) {
                return wrong(in, ", or )");
            }
            break;
        }
    }
    return WEIR_OK;
}

static weir_err descr(parser *in, header *ret)
{
    static const char *const read[] = {"b1", "i1", "i2", "i4", "i8", "u1", "u2",
                                       "u4", "u8", "f2", "f4", "f8", "c8", "c16"};
    char text[33] = "="; /* after a mark of the byte order, names are NumPy's */
    const char *from = in->at;
    weir_err err = quoted(in, text + 1, sizeof text - 1);
    if (err != WEIR_OK) {
        return err;
    }
    char *name = text + (strchr("<>=|", text[1]) ? 1 : 0);
    bool known = false;
    for (size_t i = 0; i < sizeof read / sizeof *read; i++) {
        known = known || strcmp(name + 1, read[i]) == 0;
    }
    if (known && name[1] == 'b') {
        name[1] = 'u'; /* a truth value is a byte of 0 or 1 */
    }
    if (!known || weiri_stored_parse(name, &ret->stored) != WEIR_OK) {
        in->at = from;
        return wrong(in, "a dtype that is read: b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16");
    }
    return WEIR_OK;
}

static weir_err truth(parser *in, bool *ret)
{
    blanks(in);
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "True" : "False";
        if (strncmp(in->at, name, strlen(name)) == 0) {
            in->at += strlen(name);
            *ret = i;
            return WEIR_OK;
        }
    }
    return wrong(in, "True or False");
}

static weir_err parse(parser *in, header *ret)
{
    unsigned seen = 0;
    if (!take(in, '{')) {
        return wrong(in, "{");
    }
    while (!take(in, '}')) {
        char key[24];
        blanks(in);
        const char *from = in->at;
        weir_err err = quoted(in, key, sizeof key);
        unsigned bit = strcmp(key, "descr") == 0           ? 1
                       : strcmp(key, "fortran_order") == 0 ? 2
                       : strcmp(key, "shape") == 0         ? 4
                                                           : 0;
        if (err == WEIR_OK && (bit == 0 || (seen & bit))) {
            in->at = from;
            return wrong(in, "descr, fortran_order and shape, once each");
        }
        if (err == WEIR_OK && !take(in, ':')) {
            return wrong(in, ":");
        }
        if (err == WEIR_OK) {
            err = bit == 1 ? descr(in, ret) : bit == 2 ? truth(in, &ret->fortran) : shape(in, ret);
        }
        if (err != WEIR_OK) {
            return err;
        }
        seen |= bit;
        if (!take(in, ',')) {
            if (!take(in, '}')) {
                return wrong(in, ", or }");
            }
            break;
        }
    }
    blanks(in);
    if (seen != 7) {
        return wrong(in, "descr, fortran_order and shape, once each");
    }
    return *in->at == 0 ? WEIR_OK : wrong(in, "nothing more");
}

static weir_err read_header(weiri_reader *reader, header *ret)
{
    unsigned char lead[12];
    weir_err err = weiri_reader_header(reader, 0, lead, 10);
    if (err != WEIR_OK) {
        return err;
    }
    if (memcmp(lead, MAGIC, 6) != 0) {
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
    if (err == WEIR_OK && (length < 10 || length > MAX_HEADER)) {
        err = weiri_malformed(reader, 8, "npy header of %llu bytes: expected 10 to %d",
                              (unsigned long long)length, MAX_HEADER);
    }
    char text[MAX_HEADER + 1];
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
    parser in = {.reader = reader, .text = text, .at = text, .offset = offset};
    return parse(&in, ret);
}

/* ---- reading -------------------------------------------------------------------------------------- */

static bool probe(const unsigned char *first, size_t count)
{
    return count >= 6 && memcmp(first, MAGIC, 6) == 0;
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
           bytes <= INT64_MAX - MAX_HEADER;
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
    memcpy(text, MAGIC "\x01\x00", 8);
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
