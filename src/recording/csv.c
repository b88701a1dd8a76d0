/* SPDX-License-Identifier: MIT
 *
 * csv.c: columns of text, in: one row a frame, fields apart by comma, semicolon, tab or blanks. A first row
 * that is not all numbers holds labels; lines that begin with # before it may state rate, labels and date;
 * a column named time is no channel but checked against the rate. Points in any locale. A field is held,
 * never a line, so that no line is too long. Writing is in csv_write.c.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "recording/csv.h"

#define WINDOW      (64u * 1024u)
#define FIELD_BYTES 256 /* of a label or a number; more is malformed */
#define MAX_COMMENT 1024

/* ---- bytes ------------------------------------------------------------------------------------------ */

typedef struct csv {
    unsigned char *window;
    size_t at, filled;
    uint64_t offset;   /* of window[0] in the file */
    uint64_t line;     /* from 1, of the byte at `at` */
    bool ended;        /* nothing behind the window */
    char separator;    /* ' ' = runs of blanks */
    uint64_t columns;  /* of the file, the time column included */
    uint64_t time;     /* its number; UINT64_MAX = none */
    uint64_t row;      /* the next */
    uint64_t rows;     /* whole ones; WEIR_FRAMES_UNKNOWN of a pipe */
    bool cut;          /* the last line breaks off within a row */
    double first_time; /* of row 0 */
    uint64_t off_time; /* rows that stand elsewhere */
    double *values;    /* of one row */
    weir_err err;      /* met behind rows that went out first */
    char why[400];
    char field[FIELD_BYTES];
    size_t field_bytes;
    bool quoted;
} csv;

typedef enum ending { END_FIELD, END_LINE, END_FILE } ending;

static weir_err fill(weiri_reader *reader, csv *in)
{
    in->offset += in->filled;
    in->at = 0;
    in->filled = 0;
    weir_err err = weiri_input_read(&reader->input, in->offset, in->window, WINDOW, 1, &in->filled);
    in->ended = in->filled == 0;
    return err;
}

/* The next byte, or -1 at the end. */
static weir_err peek(weiri_reader *reader, csv *in, int *ret_byte)
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

static weir_err wrong(weiri_reader *reader, const csv *in, const char *what, const char *wanted)
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
        return wrong(reader, in, "a field of more than 255 bytes", "a number or a label");
    }
    in->field[in->field_bytes++] = (char)byte;
    return WEIR_OK;
}

/* Behind the opening quote up to the closing one; two of them stand for one. */
static weir_err take_quoted(weiri_reader *reader, csv *in)
{
    for (;;) {
        int byte = 0;
        weir_err err = peek(reader, in, &byte);
        if (err == WEIR_OK && (byte < 0 || byte == '\n')) {
            err = wrong(reader, in, "the line's end", "a closing quote");
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
        err = keep(reader, in, byte);
        if (err != WEIR_OK) {
            return err;
        }
    }
}

/* One field, without the blanks around it, and what ended it. */
static weir_err take_field(weiri_reader *reader, csv *in, ending *ret_end)
{
    int byte = 0;
    in->field_bytes = 0;
    in->quoted = false;
    for (bool first = true;;) {
        weir_err err = peek(reader, in, &byte);
        if (err != WEIR_OK) {
            return err;
        }
        if (byte < 0 || byte == '\n') {
            *ret_end = byte < 0 ? END_FILE : END_LINE;
            in->line += byte == '\n';
            in->at += byte == '\n';
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
static weir_err past_blanks(weiri_reader *reader, csv *in, ending *ret_end)
{
    while (in->separator == ' ' && *ret_end == END_FIELD) {
        int byte = 0;
        weir_err err = peek(reader, in, &byte);
        if (err != WEIR_OK) {
            return err;
        }
        if (byte < 0 || byte == '\n') {
            *ret_end = byte < 0 ? END_FILE : END_LINE;
            in->line += byte == '\n';
            in->at += byte == '\n';
        } else if (is_blank(byte)) {
            in->at++;
        } else {
            break;
        }
    }
    return WEIR_OK;
}

/* Goes to the first byte of a line that is not empty; false: there is none. */
static weir_err next_line(weiri_reader *reader, csv *in, bool *ret_any)
{
    for (;;) {
        int byte = 0;
        weir_err err = peek(reader, in, &byte);
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
static bool number_of(const csv *in, double *ret_number)
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
static weir_err take_row(weiri_reader *reader, csv *in, double *values, bool *ret_whole)
{
    ending ended = END_FIELD;
    uint64_t count = 0;
    for (; ended == END_FIELD; count++) {
        uint64_t line = in->line;
        weir_err err = take_field(reader, in, &ended);
        if (err == WEIR_OK) {
            err = past_blanks(reader, in, &ended);
        }
        if (err != WEIR_OK) {
            return err;
        }
        double number = 0;
        bool is_number = number_of(in, &number);
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
    return WEIR_OK;
}

/* ---- the lines before the first row ------------------------------------------------------------------- */

typedef struct preamble {
    double rate_hz;
    char labels[MAX_COMMENT];
} preamble;

/* "Sampling Rate (Hz):= 1000.00", "labels: a,b". */
static weir_err read_comment(weiri_reader *reader, char *text, preamble *ret)
{
    char *mark = strpbrk(text, ":=");
    if (mark == NULL) {
        return WEIR_OK;
    }
    char *value = mark + strspn(mark, ":= \t");
    *mark = 0;
    while (*text == '#' || *text == ' ' || *text == '\t') {
        text++;
    }
    size_t length = strlen(text);
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t')) {
        text[--length] = 0;
    }
    static const char *const rates[] = {
        "sampling rate (hz)", "sampling rate", "sampling_rate", "rate", "rate_hz", "fs"};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        const char *end = NULL;
        double rate = 0;
        if (weiri_equal_blind(text, rates[i]) && weiri_number_read(value, &end, &rate) &&
            rate > 0) {
            ret->rate_hz = rate;
        }
    }
    if (weiri_equal_blind(text, "labels")) {
        snprintf(ret->labels, sizeof ret->labels, "%s", value);
    }
    bool date = weiri_equal_blind(text, "date") || weiri_equal_blind(text, "start_time");
    if (date && strlen(value) >= 10 && value[4] == '-') {
        return weiri_reader_text(reader, value, strlen(value), &reader->start_time);
    }
    return WEIR_OK;
}

static weir_err take_comments(weiri_reader *reader, csv *in, preamble *ret)
{
    for (;;) {
        bool any = false;
        int byte = 0;
        weir_err err = next_line(reader, in, &any);
        if (err != WEIR_OK || !any || in->window[in->at] != '#') {
            return err;
        }
        char text[MAX_COMMENT];
        size_t used = 0;
        while ((err = peek(reader, in, &byte)) == WEIR_OK && byte >= 0 && byte != '\n') {
            if (used < sizeof text - 1) {
                text[used++] = byte == '\r' || byte == 0 ? ' ' : (char)byte;
            }
            in->at++;
        }
        text[used] = 0;
        if (err == WEIR_OK) {
            err = read_comment(reader, text, ret);
        }
        if (err != WEIR_OK) {
            return err;
        }
    }
}

/* By what the first line holds outside quotes. A tab goes before all, then a semicolon, then a comma. */
static char find_separator(const csv *in)
{
    bool quoted = false, comma = false, semicolon = false;
    for (size_t i = in->at; i < in->filled && in->window[i] != '\n'; i++) {
        char byte = (char)in->window[i];
        quoted = quoted != (byte == '"');
        if (byte == '\t' && !quoted) {
            return '\t';
        }
        comma = comma || (byte == ',' && !quoted);
        semicolon = semicolon || (byte == ';' && !quoted);
    }
    return semicolon ? ';' : comma ? ',' : ' ';
}

/* Counts the first line's fields and says whether it holds labels; in a second pass it keeps them. */
static weir_err take_first(weiri_reader *reader, csv *in, weiri_channel *channels, bool *ret_labels)
{
    ending ended = END_FIELD;
    uint64_t count = 0;
    for (; ended == END_FIELD; count++) {
        weir_err err = take_field(reader, in, &ended);
        if (err == WEIR_OK) {
            err = past_blanks(reader, in, &ended);
        }
        if (err == WEIR_OK && count == WEIRI_MAX_CHANNELS) {
            err = wrong(reader, in, "more than 1048576 fields", "at most so many");
        }
        double number = 0;
        *ret_labels = *ret_labels || !number_of(in, &number);
        if (err == WEIR_OK && channels) {
            err = weiri_reader_text(reader, in->field, in->field_bytes, &channels[count].label);
        }
        if (err != WEIR_OK) {
            return err;
        }
    }
    in->columns = count;
    return WEIR_OK;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

/* Back to a place in what has been read; of a pipe that is within the window. */
static weir_err go_to(weiri_reader *reader, csv *in, uint64_t offset, uint64_t line)
{
    in->line = line;
    if (offset >= in->offset && offset <= in->offset + in->filled) {
        in->at = (size_t)(offset - in->offset);
        return WEIR_OK;
    }
    if (reader->input.pipe) {
        return weiri_malformed(reader, offset, "a first line of more than %u bytes, in a pipe",
                               WINDOW);
    }
    in->ended = false;
    in->offset = offset;
    in->at = in->filled = 0;
    return WEIR_OK;
}

/* Lines from here on that are not blank: rows, which a read then looks into. */
static weir_err count_rows(weiri_reader *reader, csv *in)
{
    uint64_t rows = 0, last = in->offset + in->at, last_line = in->line;
    for (;;) {
        bool any = false;
        weir_err err = next_line(reader, in, &any);
        if (err != WEIR_OK) {
            return err;
        }
        if (!any) {
            in->rows = rows;
            return WEIR_OK;
        }
        rows++;
        last = in->offset + in->at;
        last_line = in->line;
        int byte = 0;
        while ((err = peek(reader, in, &byte)) == WEIR_OK && byte >= 0) {
            const unsigned char *from = in->window + in->at;
            const unsigned char *stop = memchr(from, '\n', in->filled - in->at);
            in->at = stop ? (size_t)(stop - in->window) : in->filled;
            if (stop) {
                break;
            }
        }
        if (err != WEIR_OK) {
            return err;
        }
        if (byte < 0) { /* the last line has no end: it may break off */
            bool whole = false;
            in->rows = rows;
            err = go_to(reader, in, last, last_line);
            err = err == WEIR_OK ? take_row(reader, in, NULL, &whole) : err;
            if (err == WEIR_OK && !whole) {
                in->cut = true;
                in->rows--;
                weiri_notice(&reader->notices, "the last line breaks off; its row is not read");
            }
            /* What is wrong in it otherwise is said when it is read. */
            return err == WEIR_E_RECORDING ? WEIR_OK : err;
        }
    }
}

static weir_err make_channels(weiri_reader *reader, csv *in, const preamble *said, bool labels)
{
    weir_err err =
        weiri_reader_get(reader, in->columns, sizeof *reader->channels, &reader->channels);
    if (err != WEIR_OK) {
        return err;
    }
    for (uint64_t i = 0; i < in->columns; i++) {
        reader->channels[i] = (weiri_channel){.label = "", .unit = ""};
    }
    if (labels) {
        return take_first(reader, in, reader->channels, &(bool){false});
    }
    const char *at = said->labels;
    for (uint64_t i = 0; err == WEIR_OK && i < in->columns && *at; i++) {
        size_t length = strcspn(at, ",;\t");
        err = weiri_reader_text(reader, at, length, &reader->channels[i].label);
        at += length + (at[length] != 0);
    }
    return err;
}

static void drop_time(weiri_reader *reader, csv *in)
{
    in->time = UINT64_MAX;
    reader->channel_count = in->columns;
    for (uint64_t i = 0; i < in->columns && in->columns > 1; i++) {
        if (weiri_equal_blind(reader->channels[i].label, "time")) {
            in->time = i;
            reader->channel_count--;
            memmove(&reader->channels[i], &reader->channels[i + 1],
                    (size_t)(in->columns - i - 1) * sizeof *reader->channels);
            return;
        }
    }
}

static weir_err read_top(weiri_reader *reader, csv *in, preamble *said)
{
    bool any = false, labels = false;
    int byte = 0;
    weir_err err = peek(reader, in, &byte);
    if (err == WEIR_OK && in->filled >= 3 && memcmp(in->window, "\xef\xbb\xbf", 3) == 0) {
        in->at = 3; /* a byte order mark */
    }
    if (err == WEIR_OK) {
        err = take_comments(reader, in, said);
    }
    if (err == WEIR_OK) {
        err = next_line(reader, in, &any);
    }
    if (err == WEIR_OK && !any) {
        err = weiri_malformed(reader, in->offset + in->at, "ends here, without a row");
    }
    if (err != WEIR_OK) {
        return err;
    }
    uint64_t first = in->offset + in->at, line = in->line;
    in->separator = find_separator(in);
    err = take_first(reader, in, NULL, &labels);
    if (err == WEIR_OK) {
        err = go_to(reader, in, first, line);
    }
    return err == WEIR_OK ? make_channels(reader, in, said, labels) : err;
}

static weir_err csv_open(weiri_reader *reader)
{
    csv *in;
    preamble *said;
    weir_err err = weiri_reader_get(reader, 1, sizeof *in, &in);
    if (err == WEIR_OK) {
        err = weiri_reader_get(reader, 1, sizeof *said, &said);
    }
    if (err == WEIR_OK) {
        err = weiri_reader_get(reader, 1, WINDOW, &in->window);
    }
    if (err != WEIR_OK) {
        return err;
    }
    in->line = 1;
    err = read_top(reader, in, said);
    if (err == WEIR_OK) {
        err = weiri_reader_get(reader, in->columns, sizeof *in->values, &in->values);
    }
    if (err != WEIR_OK) {
        return err;
    }
    drop_time(reader, in);
    reader->own = in;
    reader->stored = (weiri_stored){.coding = WEIRI_CODING_F64};
    reader->stored.big_endian = !weiri_stored_is(reader->stored, WEIR_F64); /* values lie as here */
    reader->rate_hz = said->rate_hz;
    in->rows = WEIR_FRAMES_UNKNOWN;
    if (!reader->input.pipe) {
        uint64_t here = in->offset + in->at, line = in->line;
        err = count_rows(reader, in);
        if (err == WEIR_OK) {
            err = go_to(reader, in, here, line);
        }
        if (err != WEIR_OK) {
            return err;
        }
        const uint64_t shape[2] = {in->rows, reader->channel_count};
        weiri_side_read(reader, shape, 2);
    }
    err = weiri_reader_need_rate(reader);
    for (uint64_t i = 0; i < reader->channel_count; i++) {
        reader->channels[i].rate_hz = reader->rate_hz;
    }
    return err;
}

/* ---- reading ------------------------------------------------------------------------------------------ */

static weir_err csv_layout(weiri_reader *reader)
{
    const csv *in = reader->own;
    weiri_side_layout(reader, in->rows);
    return WEIR_OK;
}

static weir_err csv_plan(const weiri_reader *reader, uint64_t tile_frames, uint64_t *ret_bytes)
{
    (void)reader;
    (void)tile_frames;
    *ret_bytes = 0; /* window and row are held already: the header was read through them */
    return WEIR_OK;
}

/* Rows whose time is more than half a frame from where the rate puts them. */
static void check_time(weiri_reader *reader, csv *in, double time)
{
    if (in->row == 0) {
        in->first_time = time;
    }
    double wanted = in->first_time + (double)in->row / reader->rate_hz;
    if (!(fabs(time - wanted) <= 0.5 / reader->rate_hz)) {
        in->off_time++;
        if (in->off_time == 1) {
            weiri_notice(
                &reader->notices,
                "column time: row %llu states %.9g s, the rate of %g Hz puts it at %.9g s; "
                "the rate is used",
                (unsigned long long)in->row, time, reader->rate_hz, wanted);
        }
    }
}

static weir_err
csv_read(weiri_reader *reader, uint64_t index, size_t frames, void *rows, size_t *ret_frames)
{
    csv *in = reader->own;
    uint64_t wanted = reader->first_row + index;
    if (in->err != WEIR_OK) {
        return weiri_fail(in->err, "%s", in->why);
    }
    size_t done = 0;
    size_t frame_bytes = (size_t)weir_spec_frame_bytes(&reader->info.spec);
    while (done < frames && (in->rows == WEIR_FRAMES_UNKNOWN || in->row < in->rows)) {
        bool any = false, whole = false;
        weir_err err = next_line(reader, in, &any);
        if (err == WEIR_OK && any) {
            err = take_row(reader, in, in->values, &whole);
        }
        if (err != WEIR_OK) {
            in->err = err;
            snprintf(in->why, sizeof in->why, "%s", weir_err_detail());
            if (done > 0) {
                break; /* what is whole goes out first; this line is gone, so its error is kept */
            }
            return err;
        }
        if (!any || !whole) {
            if (any && !in->cut) {
                in->cut = true;
                weiri_notice(&reader->notices, "the last line breaks off; its row is not read");
            }
            break;
        }
        if (in->time != UINT64_MAX) {
            check_time(reader, in, in->values[in->time]);
            memmove(in->values + in->time, in->values + in->time + 1,
                    (size_t)(in->columns - in->time - 1) * sizeof *in->values);
        }
        if (in->row++ >= wanted) {
            weiri_rows_convert(reader, (const unsigned char *)in->values,
                               (size_t)reader->channel_count * sizeof *in->values, 1,
                               (unsigned char *)rows + done * frame_bytes);
            done++;
        }
        if (done > 0 && reader->input.pipe && in->at == in->filled) {
            break; /* a live pipe is not held back */
        }
    }
    *ret_frames = done;
    return WEIR_OK;
}

const weiri_format_ops weiri_format_csv = {
    .ops_size = sizeof(weiri_format_ops),
    .info = {.name = "csv",
             .summary = "columns of text, a row a frame; needs --rate unless a # line states it",
             .extensions = ".csv .tsv .txt",
             .reads = true,
             .writes = true},
    .open = csv_open,
    .layout = csv_layout,
    .segment = weiri_side_segment,
    .plan = csv_plan,
    .read = csv_read,
    .holds = weiri_csv_holds,
    .encoding = &weiri_csv_encoding,
};
