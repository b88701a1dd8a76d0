/* SPDX-License-Identifier: MIT
 *
 * csv_text.c: bytes, fields and numbers of CSV files. The decimal point does not depend on the
 * locale. A field is stored, never a line, so that no line is too long.
 */
#include <math.h>
#include <stdio.h>
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

/* NUL bytes up to the end are what a file system leaves after a power failure: the end is before
 * them. Others are damage. */
static weir_err pass_nuls(weiri_reader *reader, csv *in)
{
    uint64_t from = in->offset + in->at;
    while (!in->ended) {
        for (; in->at < in->filled; in->at++) {
            if (in->window[in->at] != 0) {
                return weiri_malformed(
                    reader, from, "line %llu: found a NUL byte, expected text; the file is damaged",
                    (unsigned long long)in->line);
            }
        }
        weir_err err = fill(reader, in);
        if (err != WEIR_OK) {
            return err;
        }
    }
    if (in->offset > from && !in->nuls_told) {
        in->nuls_told = true;
        weiri_notice(&reader->notices, "the last %llu bytes are NUL; not read",
                     (unsigned long long)(in->offset - from));
    }
    return WEIR_OK;
}

weir_err weiri_csv_peek(weiri_reader *reader, csv *in, int *ret_byte)
{
    weir_err err = in->at == in->filled && !in->ended ? fill(reader, in) : WEIR_OK;
    if (err == WEIR_OK && (in->at == in->filled || in->window[in->at] == 0)) {
        err = pass_nuls(reader, in);
    }
    *ret_byte = err == WEIR_OK && in->at < in->filled ? in->window[in->at] : -1;
    return err;
}

/* The same, within the loop over bytes: a call for each would take a sixth of the reading time. */
static inline weir_err peek(weiri_reader *reader, csv *in, int *ret_byte)
{
    if (in->at < in->filled && in->window[in->at] != 0) {
        *ret_byte = in->window[in->at];
        return WEIR_OK;
    }
    return weiri_csv_peek(reader, in, ret_byte);
}

weir_err weiri_csv_hold_lines(weiri_reader *reader, csv *in, int lines)
{
    in->offset += in->at;
    in->filled -= in->at;
    memmove(in->window, in->window + in->at, in->filled);
    in->at = 0;
    bool more = true;
    for (size_t at = 0; lines > 0; at++) {
        /* After a \r the next byte must be examined. */
        while (more && at + (at < in->filled && in->window[at] == '\r') >= in->filled) {
            size_t got = 0;
            weir_err err =
                weiri_input_read(&reader->input, in->offset + in->filled, in->window + in->filled,
                                 WEIRI_CSV_WINDOW - in->filled, 1, &got);
            if (err != WEIR_OK) {
                return err;
            }
            in->filled += got;
            more = got > 0 && in->filled < WEIRI_CSV_WINDOW;
        }
        if (at >= in->filled) {
            break;
        }
        bool pair = at + 1 < in->filled && in->window[at + 1] == '\n';
        if (in->line_end == 0 && (in->window[at] == '\n' || in->window[at] == '\r')) {
            in->line_end = in->window[at] == '\r' && !pair ? '\r' : '\n';
        }
        lines -= in->line_end != 0 && in->window[at] == (unsigned char)in->line_end;
    }
    in->line_end = in->line_end ? in->line_end : '\n';
    return WEIR_OK;
}

weir_err weiri_csv_wrong(weiri_reader *reader, const csv *in, const char *what, const char *wanted)
{
    return weiri_malformed(reader, in->offset + in->at, "line %llu: found %.60s, expected %s",
                           (unsigned long long)in->line, what, wanted);
}

static bool is_blank(int byte)
{
    return byte == ' ' || byte == '\r' || byte == '\n' || byte == '\f' || byte == '\v' ||
           byte == '\t';
}

static bool separates(const csv *in, int byte)
{
    return in->separator == ' ' ? byte == ' ' || byte == '\t' : byte == in->separator;
}

static weir_err keep(weiri_reader *reader, csv *in, int byte)
{
    if (in->field_bytes == FIELD_BYTES - 1 && in->passed_over) {
        return WEIR_OK;
    }
    if (in->field_bytes == FIELD_BYTES - 1) {
        return weiri_csv_wrong(reader, in, "a field of more than 255 bytes", "a number or a label");
    }
    in->field[in->field_bytes++] = (char)byte;
    return WEIR_OK;
}

/* From after the opening quote to the closing one; two quotes stand for one. Blanks around are
 * left out, as without quotes. */
static weir_err take_quoted(weiri_reader *reader, csv *in)
{
    for (;;) {
        int byte = 0;
        weir_err err = peek(reader, in, &byte);
        if (err == WEIR_OK && (byte < 0 || byte == in->line_end)) {
            err = weiri_csv_wrong(reader, in, "the line's end", "a closing quote");
        }
        if (err != WEIR_OK) {
            return err;
        }
        in->at++;
        if (byte == '"') {
            err = peek(reader, in, &byte);
            if (err != WEIR_OK || byte != '"') {
                return err;
            }
            in->at++;
        }
        err = is_blank(byte) && in->field_bytes == 0 ? WEIR_OK : keep(reader, in, byte);
        if (err != WEIR_OK) {
            return err;
        }
    }
}

/* Whether the next byte (-1: the end) ends the line: then it is consumed. */
static bool ends_line(csv *in, int byte, ending *ret_end)
{
    if (byte >= 0 && byte != in->line_end) {
        return false;
    }
    *ret_end = byte < 0 ? END_FILE : END_LINE;
    in->line += byte >= 0;
    in->at += byte >= 0;
    return true;
}

/* One field, without the blanks around it, and what ended it. */
weir_err weiri_csv_take_field(weiri_reader *reader, csv *in, ending *ret_end)
{
    int byte = 0;
    in->field_bytes = 0;
    in->quoted = false;
    for (bool first = true;;) {
        weir_err err = peek(reader, in, &byte);
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
    while (in->field_bytes > 0 && is_blank(in->field[in->field_bytes - 1])) {
        in->field_bytes--;
    }
    in->field[in->field_bytes] = 0;
    return WEIR_OK;
}

/* A run of blanks is one separator, and blanks at the line's end are none. */
weir_err weiri_csv_past_blanks(weiri_reader *reader, csv *in, ending *ret_end)
{
    while (in->separator == ' ' && *ret_end == END_FIELD) {
        int byte = 0;
        weir_err err = peek(reader, in, &byte);
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
        weir_err err = peek(reader, in, &byte);
        if (err != WEIR_OK || byte < 0) {
            *ret_any = false;
            return err;
        }
        if (byte == in->line_end) {
            in->line++;
        } else if (!is_blank(byte) || (byte == '\t' && in->separator == '\t')) {
            *ret_any = true;
            return WEIR_OK;
        }
        in->at++;
    }
}

/* ---- numbers ---------------------------------------------------------------------------------------- */

bool weiri_csv_number(const char *text, double *ret_number)
{
    static const char *const missing[] = {"", "nan", "na", "n/a", "null", "-nan"};
    const char *end = NULL;
    if (weiri_number_read(text, &end, ret_number) && *end == 0) {
        return true;
    }
    const char *name = text + (*text == '+');
    if (weiri_equal_blind(name, "inf") || weiri_equal_blind(name, "-inf") ||
        weiri_equal_blind(name, "infinity") || weiri_equal_blind(name, "-infinity")) {
        *ret_number = *name == '-' ? -INFINITY : INFINITY;
        return true;
    }
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        if (weiri_equal_blind(text, missing[i])) {
            *ret_number = NAN;
            return true;
        }
    }
    return false;
}

bool weiri_csv_decimal_comma(const char *text, double *ret_number)
{
    char point[64];
    const char *comma = strchr(text, ','), *end = NULL;
    if (comma == NULL || strlen(text) >= sizeof point) {
        return false;
    }
    strcpy(point, text);
    point[comma - text] = '.';
    return weiri_number_read(point, &end, ret_number) && *end == 0;
}

/* "time", "Time (s)", "timestamps", "time_stamp [ms]", "elapsed time": only letters matter. */
bool weiri_csv_time(const char *label, double *ret_unit)
{
    static const struct {
        const char *name;
        double unit;
    } units[] = {
        {"", 1},
        {"s", 1},
        {"sec", 1},
        {"secs", 1},
        {"second", 1},
        {"seconds", 1},
        {"ms", 1e-3},
        {"msec", 1e-3},
        {"us", 1e-6},
        {"usec", 1e-6},
        {"\xc2\xb5s", 1e-6},
        {"\xce\xbcs", 1e-6},
        {"ns", 1e-9},
        {"nsec", 1e-9},
        {"milliseconds", 1e-3},
        {"microseconds", 1e-6},
        {"nanoseconds", 1e-9},
    };
    static const char *const words[] = {"elapsed", "time", "stamp"};
    char letters[40];
    size_t used = 0;
    for (; *label; label++) {
        if (strchr(" _-./()[]", *label) == NULL) {
            if (used == sizeof letters - 1) {
                return false;
            }
            bool upper = *label >= 'A' && *label <= 'Z';
            letters[used++] = (char)(upper ? *label - 'A' + 'a' : *label);
        }
    }
    letters[used] = 0;
    const char *rest = letters;
    for (size_t i = 0; i < 3; i++) {
        bool here = strncmp(rest, words[i], strlen(words[i])) == 0;
        if (!here && i == 1) {
            return false;
        }
        rest += here ? strlen(words[i]) : 0;
    }
    for (int plural = 0; plural < 2; plural++) {
        for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
            if (strcmp(rest + plural, units[i].name) == 0) {
                *ret_unit = units[i].unit;
                return true;
            }
        }
        if (*rest != 's') {
            break;
        }
    }
    return false;
}

static weir_err no_number(weiri_reader *reader, const csv *in, uint64_t line, uint64_t column)
{
    double number = 0;
    char text[300] = "", first[64] = "";
    uint64_t channel = column - (in->time < column);
    if (in->separator != ',' && weiri_csv_decimal_comma(in->field, &number)) {
        snprintf(text, sizeof text,
                 " with a decimal point, not a decimal comma: replace it, for example with sed "
                 "'s/,/./g'");
    } else if (reader->channel_count > 1 && column != in->time) {
        snprintf(text, sizeof text, "; --exclude \"%.60s\" leaves this column out",
                 reader->channels[channel].label);
    }
    if (in->odd_labels) {
        snprintf(first, sizeof first, " (line %llu was read as labels)",
                 (unsigned long long)in->odd_labels);
    }
    return weiri_malformed(reader, in->offset + in->at,
                           "line %llu, column %llu: found \"%.40s\", expected a number%s%s",
                           (unsigned long long)line, (unsigned long long)column + 1, in->field,
                           text, first);
}

weir_err weiri_csv_take_row(weiri_reader *reader, csv *in, double *values, bool *ret_whole)
{
    ending ended = END_FIELD;
    uint64_t count = 0;
    for (; ended == END_FIELD; count++) {
        uint64_t line = in->line;
        bool wanted = count >= in->columns || in->wanted == NULL || in->wanted[count];
        in->passed_over = !wanted;
        weir_err err = weiri_csv_take_field(reader, in, &ended);
        if (err == WEIR_OK) {
            err = weiri_csv_past_blanks(reader, in, &ended);
        }
        if (err != WEIR_OK) {
            return err;
        }
        double number = NAN;
        bool is_number = !wanted || weiri_csv_number(in->field, &number);
        if (ended == END_FILE && (!is_number || (in->field_bytes == 0 && in->columns > 1))) {
            break; /* truncated within a field, or just before one */
        }
        if ((ended != END_FIELD && ended != END_FILE && count + 1 != in->columns) ||
            count >= in->columns) {
            return weiri_malformed(
                reader, in->offset + in->at, "line %llu: found %s%llu fields, expected %llu",
                (unsigned long long)line, ended == END_FIELD ? "more than " : "",
                (unsigned long long)count + (ended != END_FIELD), (unsigned long long)in->columns);
        }
        if (!is_number) {
            return no_number(reader, in, line, count);
        }
        values[count] = number;
    }
    /* Data that end in NULs were not completely written. */
    *ret_whole = count == in->columns && !(ended == END_FILE && in->nuls_told);
    in->unended = ended == END_FILE;
    return WEIR_OK;
}

/* Back to a place that was read; for a pipe within the window. */
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
