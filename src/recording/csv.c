/* SPDX-License-Identifier: MIT
 *
 * csv.c: reads CSV: one row per frame, fields separated by comma, semicolon, tab or blanks. A first
 * row that is not all numbers contains labels; lines before it that begin with # or % may state
 * rate, labels and date; a column of times is not a channel: its gaps start segments (csv_rows.c).
 * csv_write.c writes CSV.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "recording/csv.h"

#define MAX_COMMENT 1024

/* ---- the lines before the first row ------------------------------------------------------------------- */

typedef struct preamble {
    double rate_hz;
    char labels[MAX_COMMENT];
    bool no_time; /* no column contains times, whatever its label is */
} preamble;

static void trim_end(char *text, const char *without)
{
    size_t length = strlen(text);
    while (length > 0 && strchr(without, text[length - 1])) {
        text[--length] = 0;
    }
}

/* "Sampling Rate (Hz):= 1000.00", "%Sample Rate = 250.0 Hz", "labels: a,b". */
static weir_err read_comment(weiri_reader *reader, char *text, preamble *ret)
{
    char *mark = strpbrk(text, ":=");
    if (mark == NULL) {
        return WEIR_OK;
    }
    char *value = mark + strspn(mark, ":= \t");
    *mark = 0;
    text += strspn(text, "#% \t");
    trim_end(text, " \t");
    static const char *const rates[] = {
        "sampling rate (hz)", "sampling rate",      "sampling_rate", "sample rate (hz)",
        "sample rate",        "sample_rate",        "rate",          "rate_hz",
        "sampling frequency", "sampling_frequency", "sfreq",         "fs"};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        double rate = 0;
        if (weiri_equal_blind(text, rates[i])) {
            trim_end(value, " \t\r,;"); /* a spreadsheet adds trailing separators */
            if (weir_quantity_parse(value, WEIR_FREQUENCY, &rate) == WEIR_OK && rate > 0) {
                ret->rate_hz = rate;
            }
        }
    }
    if (weiri_equal_blind(text, WEIRI_CSV_NO_TIME)) {
        ret->no_time = strncmp(value, "none", 4) == 0;
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
        weir_err err = weiri_csv_next_line(reader, in, &any);
        if (err != WEIR_OK || !any || strchr("#%", in->window[in->at]) == NULL) {
            return err;
        }
        char text[MAX_COMMENT];
        size_t used = 0;
        while ((err = weiri_csv_peek(reader, in, &byte)) == WEIR_OK && byte >= 0 &&
               byte != in->line_end) {
            if (used < sizeof text - 1) {
                text[used++] = byte == '\r' ? ' ' : (char)byte;
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

/* From the first line, outside quotes. A tab takes precedence, then a semicolon, then a comma. */
static char find_separator(const csv *in)
{
    bool quoted = false, comma = false, semicolon = false;
    for (size_t i = in->at; i < in->filled && in->window[i] != in->line_end; i++) {
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

/* Content of a line. */
typedef struct line_fields {
    uint64_t count;
    bool labels;  /* at least one field is not a number */
    bool quoted;  /* some are in quotes */
    char odd[24]; /* a number other than a plain label such as 1, 2, 3, or "" */
} line_fields;

/* Reads a line; its fields are kept as labels if channels is not NULL. */
static weir_err take_line(weiri_reader *reader, csv *in, weiri_channel *channels, line_fields *ret)
{
    ending ended = END_FIELD;
    *ret = (line_fields){0};
    for (; ended == END_FIELD; ret->count++) {
        weir_err err = weiri_csv_take_field(reader, in, &ended);
        if (err == WEIR_OK) {
            err = weiri_csv_past_blanks(reader, in, &ended);
        }
        if (err == WEIR_OK && ret->count == WEIRI_CSV_COLUMNS) {
            err = weiri_csv_wrong(reader, in, "more than 65536 fields",
                                  "at most 65536: columns are channels and rows are frames; is the "
                                  "table transposed?");
        }
        double number = NAN;
        bool is_number = weiri_csv_number(in->field, &number);
        ret->labels = ret->labels || !is_number;
        ret->quoted = ret->quoted || in->quoted;
        bool written = is_number || weiri_csv_decimal_comma(in->field, &number);
        if (written && !in->quoted && isfinite(number) && (number < 0 || number != floor(number))) {
            snprintf(ret->odd, sizeof ret->odd, "%.20s", in->field);
        }
        if (err == WEIR_OK && channels) {
            err =
                weiri_reader_text(reader, in->field, in->field_bytes, &channels[ret->count].label);
        }
        if (err != WEIR_OK) {
            return err;
        }
    }
    return WEIR_OK;
}

/* What the first line is: labels, unless all fields are numbers. Numbers in quotes are labels
 * too if the next row has no quotes: weir writes them so. */
static weir_err judge_first(weiri_reader *reader, csv *in, bool *ret_labels)
{
    uint64_t first = in->offset + in->at, line = in->line;
    line_fields fields;
    weir_err err = take_line(reader, in, NULL, &fields);
    in->columns = fields.count;
    if (err == WEIR_OK && !fields.labels && fields.quoted) {
        bool any = false;
        line_fields next = {0};
        err = weiri_csv_go_to(reader, in, first, line);
        if (err == WEIR_OK) {
            err = weiri_csv_hold_lines(reader, in, 2);
        }
        if (err == WEIR_OK) {
            err = take_line(reader, in, NULL, &next);
        }
        if (err == WEIR_OK) {
            err = weiri_csv_next_line(reader, in, &any);
        }
        if (err == WEIR_OK && any) {
            err = take_line(reader, in, NULL, &next);
        }
        fields.labels = !any || !next.quoted;
    }
    if (err == WEIR_OK && fields.labels && *fields.odd) {
        in->odd_labels = line;
        weiri_notice(&reader->notices,
                     "line %llu is read as labels, although it contains \"%s\"; if it is a row of "
                     "data, add a line of labels before it",
                     (unsigned long long)line, fields.odd);
    }
    *ret_labels = fields.labels;
    return err == WEIR_OK ? weiri_csv_go_to(reader, in, first, line) : err;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

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
        return take_line(reader, in, reader->channels, &(line_fields){0});
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
    for (uint64_t i = 0; i < in->columns && in->columns > 1; i++) {
        if (weiri_csv_time(reader->channels[i].label, &in->time_unit)) {
            in->time = i;
            reader->channel_count--;
            memmove(&reader->channels[i], &reader->channels[i + 1],
                    (size_t)(in->columns - i - 1) * sizeof *reader->channels);
            return;
        }
    }
}

/* Text in UTF-16, detected by its mark or by NUL in every other byte. */
static bool is_utf16(const csv *in)
{
    const unsigned char *at = in->window;
    return in->filled >= 2 && ((at[0] == 0xff && at[1] == 0xfe) ||
                               (at[0] == 0xfe && at[1] == 0xff) || (at[0] == 0) != (at[1] == 0));
}

static weir_err read_top(weiri_reader *reader, csv *in, preamble *said)
{
    bool any = false, labels = false;
    weir_err err = weiri_csv_hold_lines(reader, in, 1);
    if (err == WEIR_OK && is_utf16(in)) {
        err =
            weiri_malformed(reader, 0,
                            "text in UTF-16, expected UTF-8: convert it, for example with iconv -f "
                            "UTF-16 -t UTF-8 FILE >NEW.csv");
    }
    if (err == WEIR_OK && in->filled >= 3 && memcmp(in->window, "\xef\xbb\xbf", 3) == 0) {
        in->at = 3; /* a byte order mark */
    }
    if (err == WEIR_OK) {
        err = take_comments(reader, in, said);
    }
    if (err == WEIR_OK) {
        err = weiri_csv_next_line(reader, in, &any);
    }
    if (err == WEIR_OK && !any) {
        err = weiri_malformed(reader, in->offset + in->at,
                              "the file ends here, without a row of data");
    }
    if (err == WEIR_OK) {
        err = weiri_csv_hold_lines(reader, in, 1);
    }
    if (err != WEIR_OK) {
        return err;
    }
    in->separator = find_separator(in);
    err = judge_first(reader, in, &labels);
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
        err = weiri_reader_get(reader, 1, WEIRI_CSV_WINDOW, &in->window);
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
    in->time = UINT64_MAX;
    reader->channel_count = in->columns;
    in->all_channels = said->no_time;
    if (!in->all_channels) {
        drop_time(reader, in);
    }
    reader->own = in;
    reader->stored = (weiri_stored){.coding = WEIRI_CODING_F64};
    /* values are stored as in the tile */
    reader->stored.big_endian = !weiri_stored_is(reader->stored, WEIR_F64);
    reader->rate_hz = said->rate_hz;
    in->rows = WEIR_FRAMES_UNKNOWN;
    if (!reader->input.pipe) {
        in->top = in->offset + in->at;
        in->top_line = in->line;
        err = weiri_csv_count_rows(reader, in);
        if (err == WEIR_OK) {
            err = weiri_csv_go_to(reader, in, in->top, in->top_line);
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

static weir_err csv_plan(const weiri_reader *reader, uint64_t tile_frames, uint64_t *ret_bytes)
{
    (void)reader;
    (void)tile_frames;
    *ret_bytes = 0; /* window and row are allocated already: the header was read through them */
    return WEIR_OK;
}

const weiri_format_ops weiri_format_csv = {
    .ops_size = sizeof(weiri_format_ops),
    .info = {.name = "csv",
             .summary =
                 "columns of text, one row per frame; needs --rate unless a # line states it",
             .extensions = ".csv .tsv .txt",
             .reads = true,
             .writes = true},
    .open = csv_open,
    .layout = weiri_csv_layout,
    .segment = weiri_csv_segment,
    .plan = csv_plan,
    .read = weiri_csv_read,
    .holds = weiri_csv_holds,
    .encoding = &weiri_csv_encoding,
};