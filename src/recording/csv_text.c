/* SPDX-License-Identifier: MIT
 *
 * csv_text.c: bytes, fields and numbers of columns of text. Points in any locale. A field is held, never a
 * line, so that no line is too long.
 */
#include <math.h>
#include <string.h>

#include "recording/csv.h"

static weir_err fill(weiri_reader *reader, csv *in)
{
    in->offset += in->filled;
    in->at = 0;
    in->filled = 0;
    weir_err err =
        weiri_input_read(&reader->input, in->offset, in->window, WEIRI_CSV_WINDOW, 1, &in->filled);
    in->ended = in->filled == 0;
    return err;
}

/* The next byte, or -1 at the end. */
weir_err weiri_csv_peek(weiri_reader *reader, csv *in, int *ret_byte)
{
    if (in->at == in->filled) {
        weir_err err = in->ended ? WEIR_OK : fill(reader, in);
        if (err != WEIR_OK || in->ended) {
            *ret_byte = -1;
            return err;
        }
    }
    *ret_byte = in->window[in->at];
    return WEIR_OK;
}

weir_err weiri_csv_wrong(weiri_reader *reader, const csv *in, const char *what, const char *wanted)
{
    return weiri_malformed(reader, in->offset + in->at, "line %llu: found %.60s, expected %s",
                           (unsigned long long)in->line, what, wanted);
}

static bool is_blank(int byte)
{
    return byte == ' ' || byte == '\r' || byte == '\f' || byte == '\v' || byte == '\t';
}

static bool separates(const csv *in, int byte)
{
    return in->separator == ' ' ? byte == ' ' || byte == '\t' : byte == in->separator;
}

static weir_err keep(weiri_reader *reader, csv *in, int byte)
{
    if (in->field_bytes == FIELD_BYTES - 1) {
        return weiri_csv_wrong(reader, in, "a field of more than 255 bytes", "a number or a label");
    }
    in->field[in->field_bytes++] = (char)byte;
    return WEIR_OK;
}

/* Behind the opening quote up to the closing one; two of them stand for one. */
static weir_err take_quoted(weiri_reader *reader, csv *in)
{
    for (;;) {
        int byte = 0;
        weir_err err = weiri_csv_peek(reader, in, &byte);
        if (err == WEIR_OK && (byte < 0 || byte == '\n')) {
            err = weiri_csv_wrong(reader, in, "the line's end", "a closing quote");
        }
        if (err != WEIR_OK) {
            return err;
        }
        in->at++;
        if (byte == '"') {
            err = weiri_csv_peek(reader, in, &byte);
            if (err != WEIR_OK || byte != '"') {
                return err;
            }
            in->at++;
        }
        err = keep(reader, in, byte);
        if (err != WEIR_OK) {
            return err;
        }
    }
}

/* Whether the byte that is next (-1: the end) ends the line: then it is passed. */
static bool ends_line(csv *in, int byte, ending *ret_end)
{
    if (byte >= 0 && byte != '\n') {
        return false;
    }
    *ret_end = byte < 0 ? END_FILE : END_LINE;
    in->line += byte == '\n';
    in->at += byte == '\n';
    return true;
}

/* One field, without the blanks around it, and what ended it. */
weir_err weiri_csv_take_field(weiri_reader *reader, csv *in, ending *ret_end)
{
    int byte = 0;
    in->field_bytes = 0;
    in->quoted = false;
    for (bool first = true;;) {
        weir_err err = weiri_csv_peek(reader, in, &byte);
        if (err != WEIR_OK) {
            return err;
        }
        if (ends_line(in, byte, ret_end)) {
            break;
        }
        in->at++;
        if (separates(in, byte) && !(in->separator == ' ' && first)) {
            *ret_end = END_FIELD;
            break;
        }
        if (is_blank(byte) && first) {
            continue;
        }
        if (byte == '"' && first) {
            in->quoted = true;
            err = take_quoted(reader, in);
        } else {
            err = keep(reader, in, byte);
        }
        if (err != WEIR_OK) {
            return err;
        }
        first = false;
    }
    while (!in->quoted && in->field_bytes > 0 && is_blank(in->field[in->field_bytes - 1])) {
        in->field_bytes--;
    }
    in->field[in->field_bytes] = 0;
    return WEIR_OK;
}

/* Runs of blanks separate once, and those before the line's end not at all. */
weir_err weiri_csv_past_blanks(weiri_reader *reader, csv *in, ending *ret_end)
{
    while (in->separator == ' ' && *ret_end == END_FIELD) {
        int byte = 0;
        weir_err err = weiri_csv_peek(reader, in, &byte);
        if (err != WEIR_OK) {
            return err;
        }
        if (ends_line(in, byte, ret_end)) {
            break;
        }
        if (!is_blank(byte)) {
            break;
        }
        in->at++;
    }
    return WEIR_OK;
}

/* Goes to the first byte of a line that is not empty; false: there is none. */
weir_err weiri_csv_next_line(weiri_reader *reader, csv *in, bool *ret_any)
{
    for (;;) {
        int byte = 0;
        weir_err err = weiri_csv_peek(reader, in, &byte);
        if (err != WEIR_OK || byte < 0) {
            *ret_any = false;
            return err;
        }
        if (byte == '\n') {
            in->line++;
        } else if (!is_blank(byte) || (byte == '\t' && in->separator == '\t')) {
            *ret_any = true;
            return WEIR_OK;
        }
        in->at++;
    }
}

/* ---- numbers ---------------------------------------------------------------------------------------- */

/* A number, or what stands for a missing one (S5). */
bool weiri_csv_number_of(const csv *in, double *ret_number)
{
    static const char *const missing[] = {"", "nan", "na", "n/a", "null", "-nan"};
    const char *end = NULL;
    if (in->quoted) {
        return false;
    }
    if (weiri_number_read(in->field, &end, ret_number) && *end == 0) {
        return true;
    }
    const char *text = in->field + (*in->field == '+');
    if (weiri_equal_blind(text, "inf") || weiri_equal_blind(text, "-inf") ||
        weiri_equal_blind(text, "infinity") || weiri_equal_blind(text, "-infinity")) {
        *ret_number = *text == '-' ? -INFINITY : INFINITY;
        return true;
    }
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        if (weiri_equal_blind(in->field, missing[i])) {
            *ret_number = NAN;
            return true;
        }
    }
    return false;
}

/* One row into values[columns]. *ret_whole false: the file ends within it. */
weir_err weiri_csv_take_row(weiri_reader *reader, csv *in, double *values, bool *ret_whole)
{
    ending ended = END_FIELD;
    uint64_t count = 0;
    for (; ended == END_FIELD; count++) {
        uint64_t line = in->line;
        weir_err err = weiri_csv_take_field(reader, in, &ended);
        if (err == WEIR_OK) {
            err = weiri_csv_past_blanks(reader, in, &ended);
        }
        if (err != WEIR_OK) {
            return err;
        }
        double number = 0;
        bool is_number = weiri_csv_number_of(in, &number);
        if (ended == END_FILE && (!is_number || (in->field_bytes == 0 && in->columns > 1))) {
            break; /* cut off within a field, or just before one */
        }
        if (!is_number) {
            return weiri_malformed(reader, in->offset + in->at,
                                   "line %llu, column %llu: found \"%.40s\", expected a number",
                                   (unsigned long long)line, (unsigned long long)count + 1,
                                   in->field);
        }
        if (count < in->columns && values) {
            values[count] = number;
        }
        if ((ended != END_FIELD && ended != END_FILE && count + 1 != in->columns) ||
            count >= in->columns) {
            return weiri_malformed(
                reader, in->offset + in->at, "line %llu: found %s%llu fields, expected %llu",
                (unsigned long long)line, ended == END_FIELD ? "more than " : "",
                (unsigned long long)count + (ended != END_FIELD), (unsigned long long)in->columns);
        }
    }
    *ret_whole = count == in->columns;
    in->unended = ended == END_FILE;
    return WEIR_OK;
}

/* Back to a place in what has been read; of a pipe that is within the window. */
weir_err weiri_csv_go_to(weiri_reader *reader, csv *in, uint64_t offset, uint64_t line)
{
    in->line = line;
    if (offset >= in->offset && offset <= in->offset + in->filled) {
        in->at = (size_t)(offset - in->offset);
        return WEIR_OK;
    }
    if (reader->input.pipe) {
        return weiri_malformed(reader, offset, "a first line of more than %u bytes, in a pipe",
                               WEIRI_CSV_WINDOW);
    }
    in->ended = false;
    in->offset = offset;
    in->at = in->filled = 0;
    return WEIR_OK;
}
