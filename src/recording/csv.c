/* SPDX-License-Identifier: MIT
 *
 * csv.c: columns of text, in: one row a frame, fields apart by comma, semicolon, tab or blanks. A first row
 * that is not all numbers holds labels; lines that begin with # before it may state rate, labels and date;
 * a column named time is no channel: its gaps make segments (csv_rows.c). Writing is in csv_write.c.
 */
#include <stdio.h>
#include <string.h>

#include "recording/csv.h"

#define MAX_COMMENT 1024

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
        weir_err err = weiri_csv_next_line(reader, in, &any);
        if (err != WEIR_OK || !any || in->window[in->at] != '#') {
            return err;
        }
        char text[MAX_COMMENT];
        size_t used = 0;
        while ((err = weiri_csv_peek(reader, in, &byte)) == WEIR_OK && byte >= 0 && byte != '\n') {
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
        weir_err err = weiri_csv_take_field(reader, in, &ended);
        if (err == WEIR_OK) {
            err = weiri_csv_past_blanks(reader, in, &ended);
        }
        if (err == WEIR_OK && count == WEIRI_MAX_CHANNELS) {
            err = weiri_csv_wrong(reader, in, "more than 1048576 fields", "at most so many");
        }
        double number = 0;
        *ret_labels = *ret_labels || !weiri_csv_number_of(in, &number);
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
    weir_err err = weiri_csv_peek(reader, in, &byte);
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
        err = weiri_malformed(reader, in->offset + in->at, "ends here, without a row");
    }
    if (err != WEIR_OK) {
        return err;
    }
    uint64_t first = in->offset + in->at, line = in->line;
    in->separator = find_separator(in);
    err = take_first(reader, in, NULL, &labels);
    if (err == WEIR_OK) {
        err = weiri_csv_go_to(reader, in, first, line);
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
    drop_time(reader, in);
    reader->own = in;
    reader->stored = (weiri_stored){.coding = WEIRI_CODING_F64};
    reader->stored.big_endian = !weiri_stored_is(reader->stored, WEIR_F64); /* values lie as here */
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
    *ret_bytes = 0; /* window and row are held already: the header was read through them */
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
    .layout = weiri_csv_layout,
    .segment = weiri_csv_segment,
    .plan = csv_plan,
    .read = weiri_csv_read,
    .holds = weiri_csv_holds,
    .encoding = &weiri_csv_encoding,
};