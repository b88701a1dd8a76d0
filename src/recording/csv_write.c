/* SPDX-License-Identifier: MIT
 *
 * csv_write.c: writes rows as text: a header row of labels, then one line per frame; a number is
 * the shortest text that reads back as the same value, a missing one is nan. Separated by comma, or
 * by tab if the name ends in .tsv or .txt. Units, rate and gaps are in the side file.
 */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/locale.h"
#include "recording/csv.h"

#define NUMBER_BYTES 40

static char separator_of(const weiri_writer *writer)
{
    size_t length = strlen(writer->path);
    const char *end = length >= 4 ? writer->path + length - 4 : "";
    return weiri_equal_blind(end, ".tsv") || weiri_equal_blind(end, ".txt") ? '\t' : ',';
}

weir_err weiri_csv_holds(const weir_spec *spec, bool to_pipe)
{
    (void)to_pipe;
    if (weir_dtype_parts(spec->dtype) > 1) {
        return weiri_fail(
            WEIR_E_USAGE,
            "csv stores real numbers only; the stream is complex (%s); use npy, raw or hdf5",
            weir_dtype_name(spec->dtype));
    }
    if (spec->dim_count > 2) {
        return weiri_fail(
            WEIR_E_USAGE,
            "csv stores two dimensions; the stream has %u dimensions (%s x %s x %s%s)",
            spec->dim_count, spec->dims[0].name, spec->dims[1].name, spec->dims[2].name,
            spec->dim_count > 3 ? " x ..." : "");
    }
    if (weir_spec_columns(spec) > WEIRI_CSV_COLUMNS) {
        return weiri_fail(WEIR_E_USAGE, "csv can have up to %d columns; the stream has %llu",
                          WEIRI_CSV_COLUMNS, (unsigned long long)weir_spec_columns(spec));
    }
    const weir_axis *axis = spec->dim_count > 1 ? &spec->dims[1] : NULL;
    for (uint64_t i = 0; axis && axis->labels && i < axis->size; i++) {
        if (strlen(axis->labels[i]) >= FIELD_BYTES) {
            return weiri_fail(WEIR_E_USAGE,
                              "csv labels can have up to %d bytes; that of channel %llu has %zu",
                              FIELD_BYTES - 1, (unsigned long long)i, strlen(axis->labels[i]));
        }
    }
    return WEIR_OK;
}

static weir_err put_label(weiri_writer *writer, const char *label)
{
    double number = 0;
    /* A label that reads as a number or as a missing value stays a label for the reader if it is
     * in quotes. */
    bool quote = strpbrk(label, "\",;\t\n #%") || weiri_csv_number(label, &number);
    weir_err err = quote ? weiri_writer_put(writer, "\"", 1) : WEIR_OK;
    for (; err == WEIR_OK && *label; label++) {
        const char *text = *label == '"' ? "\"\"" : (unsigned char)*label < ' ' ? " " : NULL;
        err = text ? weiri_writer_put(writer, text, strlen(text))
                   : weiri_writer_put(writer, label, 1);
    }
    return err == WEIR_OK && quote ? weiri_writer_put(writer, "\"", 1) : err;
}

/* The label of a column; text is for one that the stream does not have. */
static const char *label_of(const weir_axis *axis, uint64_t column, char *text, size_t size)
{
    char number[NUMBER_BYTES];
    if (axis == NULL) {
        return "value";
    }
    if (axis->labels) {
        return axis->labels[column];
    }
    if (axis->values == NULL && strcmp(axis->name, "ch") == 0) {
        snprintf(text, size, "ch%llu", (unsigned long long)column);
        return text;
    }
    double value = axis->values ? axis->values[column] : axis->start + (double)column * axis->step;
    weiri_number_write(value, number, sizeof number);
    snprintf(text, size, "%.40s_%s", axis->name, number);
    return text;
}

static weir_err begin(weiri_writer *writer, const weir_source_info *source, const char *chain)
{
    (void)source;
    (void)chain;
    const weir_axis *axis = writer->spec.dim_count > 1 ? &writer->spec.dims[1] : NULL;
    uint64_t columns = weir_spec_columns(&writer->spec);
    char separator = separator_of(writer), text[96];
    bool time_like = false;
    for (uint64_t i = 0; i < columns && columns > 1; i++) {
        double unit = 0;
        time_like = time_like || weiri_csv_time(label_of(axis, i, text, sizeof text), &unit);
    }
    static const char no_time[] = "# " WEIRI_CSV_NO_TIME ": none\n";
    weir_err err = time_like ? weiri_writer_put(writer, no_time, sizeof no_time - 1) : WEIR_OK;
    for (uint64_t i = 0; err == WEIR_OK && i < columns; i++) {
        if (i > 0) {
            err = weiri_writer_put(writer, &separator, 1);
        }
        if (err == WEIR_OK) {
            err = put_label(writer, label_of(axis, i, text, sizeof text));
        }
    }
    if (err == WEIR_OK) {
        err = weiri_writer_put(writer, "\n", 1);
    }
    if (err == WEIR_OK) {
        weiri_writer_mark(writer, 0);
    }
    return err;
}

/* As weiri_number_write, for a float: 6 to 9 digits. A whole number needs no search. */
static size_t write_f32(float number, char *text)
{
    if (!isfinite(number)) {
        weiri_number_write((double)number, text, NUMBER_BYTES);
        return strlen(text);
    }
    if (fabsf(number) < 1e6f && number == (float)(int)number) {
        return (size_t)snprintf(text, NUMBER_BYTES, "%d", (int)number);
    }
    size_t length = 0;
    for (int precision = 6; precision <= 9; precision++) {
        length = (size_t)snprintf(text, NUMBER_BYTES, "%.*g", precision, (double)number);
        if (strtof(text, NULL) == number) {
            break;
        }
    }
    return length;
}

static size_t write_f64(double number, char *text)
{
    /* A missing value is not compared: that would raise SIGFPE for a caller who has enabled it
     * (S6). */
    if (isfinite(number) && fabs(number) < 1e6 && number == (double)(int)number) {
        return (size_t)snprintf(text, NUMBER_BYTES, "%d", (int)number);
    }
    weiri_number_write(number, text, NUMBER_BYTES);
    return strlen(text);
}

/* Integers with a scale: f32 where it keeps counts distinct. */
static size_t write_scaled(weir_dtype dtype, double scale, const unsigned char *at, char *text)
{
    switch (dtype) {
    case WEIR_U8:
        return write_f32((float)(*at * scale), text);
    case WEIR_U16:
        return write_f32((float)(*(const uint16_t *)(const void *)at * scale), text);
    case WEIR_I16:
        return write_f32((float)(*(const int16_t *)(const void *)at * scale), text);
    default:
        return write_f64(*(const int32_t *)(const void *)at * scale, text);
    }
}

static size_t write_value(weir_dtype dtype, const unsigned char *at, char *text)
{
    switch (dtype) {
    case WEIR_U8:
        return (size_t)snprintf(text, NUMBER_BYTES, "%u", *at);
    case WEIR_U16:
        return (size_t)snprintf(text, NUMBER_BYTES, "%u", *(const uint16_t *)(const void *)at);
    case WEIR_I16:
        return (size_t)snprintf(text, NUMBER_BYTES, "%d", *(const int16_t *)(const void *)at);
    case WEIR_I32:
        return (size_t)snprintf(text, NUMBER_BYTES, "%d", *(const int32_t *)(const void *)at);
    case WEIR_F32:
        return write_f32(*(const float *)(const void *)at, text);
    default:
        break;
    }
    return write_f64(*(const double *)(const void *)at, text);
}

static weir_err put_rows(weiri_writer *writer, const weir_message *block)
{
    uint64_t columns = weir_spec_columns(&writer->spec);
    size_t width = weir_dtype_bytes(writer->spec.dtype);
    const unsigned char *at = block->data;
    char separator = separator_of(writer);
    double scale = writer->spec.scale;
    weir_err err = WEIR_OK;
    for (size_t row = 0; err == WEIR_OK && row < block->frames; row++) {
        for (uint64_t i = 0; err == WEIR_OK && i < columns; i++, at += width) {
            char text[NUMBER_BYTES + 1];
            size_t length = scale != 0 ? write_scaled(writer->spec.dtype, scale, at, text)
                                       : write_value(writer->spec.dtype, at, text);
            text[length++] = i + 1 < columns ? separator : '\n';
            err = weiri_writer_put(writer, text, length);
        }
        if (err == WEIR_OK) {
            weiri_writer_mark(writer, writer->rows + row + 1);
        }
    }
    return err;
}

/* A decimal point in any locale: snprintf and strtof follow the thread's locale. */
static weir_err rows(weiri_writer *writer, const weir_message *block)
{
    locale_t c = weiri_locale_c();
    locale_t before = c != (locale_t)0 ? uselocale(c) : (locale_t)0;
    weir_err err = put_rows(writer, block);
    if (c != (locale_t)0) {
        (void)uselocale(before);
    }
    return err;
}

const weiri_encoding weiri_csv_encoding = {.physical = true, .begin = begin, .rows = rows};
