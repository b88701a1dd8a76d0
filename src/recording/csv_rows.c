/* SPDX-License-Identifier: MIT
 *
 * csv_rows.c: rows of CSV files and the times that they state. If there is a column of times, a row
 * whose time is further than gap_tolerance from the expected one begins a new segment (S4), as in
 * every other source; nothing is stored of them except the capped list (M6): they are found again
 * while reading. Segments listed by a side file take precedence.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "recording/csv.h"

/* An incomplete row is not read; of one whose line has no end nobody can tell whether its last
 * value is complete. weir ends every line: if a run of it left a part file, such a row is
 * incomplete. */
static void tell_end(weiri_reader *reader, csv *in, bool whole)
{
    in->cut = !whole;
    weiri_notice(&reader->notices,
                 in->cut ? "the last line is incomplete; its row is not read"
                         : "the last line has no line end; its last value may be truncated");
}

/* Lines from here on that are not blank: rows, which a read then examines. */
weir_err weiri_csv_count_rows(weiri_reader *reader, csv *in)
{
    for (in->rows = 0;; in->rows++) {
        bool any = false;
        weir_err err = weiri_csv_next_line(reader, in, &any);
        if (err != WEIR_OK || !any) {
            return err;
        }
        uint64_t from = in->offset + in->at, line = in->line;
        int byte = 0;
        while ((err = weiri_csv_peek(reader, in, &byte)) == WEIR_OK && byte >= 0) {
            const unsigned char *at = in->window + in->at;
            const unsigned char *stop = memchr(at, in->line_end, in->filled - in->at);
            in->at = stop ? (size_t)(stop - in->window) : in->filled;
            if (stop) {
                break;
            }
        }
        if (err != WEIR_OK) {
            return err;
        }
        if (byte < 0 && weiri_is_part(reader->path)) {
            tell_end(reader, in, false);
            return WEIR_OK;
        }
        if (byte < 0) { /* the last line has no end: it may be incomplete */
            in->bottom = from;
            in->bottom_line = line;
        }
    }
}

/* Whether the last row is complete, if its line has no end. Other faults in it are reported when
 * it is read. */
static weir_err judge_bottom(weiri_reader *reader, csv *in)
{
    bool whole = false;
    weir_err err = weiri_csv_go_to(reader, in, in->bottom, in->bottom_line);
    err = err == WEIR_OK ? weiri_csv_take_row(reader, in, in->values, &whole) : err;
    if (err == WEIR_OK) {
        tell_end(reader, in, whole);
    }
    if (err == WEIR_OK && in->cut) {
        in->rows--;
        if (reader->listed_count) {
            reader->listed[reader->listed_count - 1].frames--;
        }
    }
    err = err == WEIR_E_RECORDING ? WEIR_OK : err;
    return err == WEIR_OK ? weiri_csv_go_to(reader, in, in->top, in->top_line) : err;
}

/* ---- times --------------------------------------------------------------------------------------------- */

/* Whether a row begins a new segment: its time is further than the tolerance from the segment's
 * start + index / rate, nothing else (S4). A tiny margin is added: 0.1 is not 0.1 in binary. */
static bool is_gap(const weiri_reader *reader, const csv *in, double time)
{
    double expected = in->segment_time + (double)(in->row - in->segment_row) / reader->rate_hz;
    return fabs(time - expected) > in->tolerance_s + 1e-9 + fabs(time) * 1e-15;
}

/* Tests a row's time, which may be missing: then it begins no segment. */
static void take_time(weiri_reader *reader, csv *in, double time, bool *ret_gap)
{
    *ret_gap = false;
    if (!isfinite(time)) {
        return;
    }
    if (isnan(in->segment_time)) { /* the first stated time */
        in->segment_time = time - (double)in->row / reader->rate_hz;
        in->origin = in->last_time = in->segment_time;
    } else if (in->gaps && is_gap(reader, in, time)) {
        *ret_gap = true;
        in->gap_count++;
        in->steady_s += in->last_time - in->segment_time;
        in->steady_rows += in->last_row - in->segment_row;
        in->segment_time = time;
        in->segment_row = in->row;
    }
    in->last_time = time;
    in->last_row = in->row;
}

static int64_t start_ns(const csv *in)
{
    double s = in->segment_time - in->origin;
    return isfinite(s) && fabs(s) < 9e9 ? llround(s * 1e9) : 0;
}

/* After all rows: the number of gaps, and what may be wrong about them. */
static void tell_gaps(weiri_reader *reader, const csv *in)
{
    if (in->gap_count == 0) {
        return;
    }
    double steady_s = in->steady_s + in->last_time - in->segment_time;
    uint64_t rows = in->steady_rows + in->last_row - in->segment_row;
    char advice[96] = "";
    if (fabs(steady_s - (double)rows / reader->rate_hz) > in->tolerance_s) {
        snprintf(advice, sizeof advice, "; between gaps the timestamps have a rate of %.9g Hz",
                 (double)rows / steady_s);
    } else if (in->gap_count > in->row / 4) {
        snprintf(advice, sizeof advice,
                 "; are --rate, gap_tolerance and the column's unit (s) right?");
    }
    weiri_notice(&reader->notices,
                 "timestamp column: %llu of %llu rows are further than %g ms from the time "
                 "expected at %g Hz; each is a gap%s",
                 (unsigned long long)in->gap_count, (unsigned long long)in->row,
                 in->tolerance_s * 1e3, reader->rate_hz, advice);
}

/* ---- rows ------------------------------------------------------------------------------------------------ */

/* The next row's values, and whether a gap precedes it: then it is kept until its segment
 * begins. *ret_any false: there is no further complete row. */
static weir_err take_next(weiri_reader *reader, csv *in, bool *ret_any, bool *ret_gap)
{
    bool any = false, whole = false;
    *ret_any = *ret_gap = false;
    if (in->rows != WEIR_FRAMES_UNKNOWN && in->row >= in->rows) {
        return WEIR_OK;
    }
    weir_err err = weiri_csv_next_line(reader, in, &any);
    if (err == WEIR_OK && any) {
        err = weiri_csv_take_row(reader, in, in->values, &whole);
    }
    if (err != WEIR_OK || !any || !whole) {
        if (err == WEIR_OK && any && !in->cut) {
            tell_end(reader, in, false);
        }
        if (err == WEIR_OK && !in->over) {
            in->over = true;
            tell_gaps(reader, in); /* of a pipe: a file's are known before */
        }
        return err;
    }
    if (in->unended && reader->input.pipe) {
        tell_end(reader, in, true);
    }
    *ret_any = true;
    if (in->time == UINT64_MAX) {
        return WEIR_OK;
    }
    double time = in->values[in->time] * in->time_unit;
    memmove(in->values + in->time, in->values + in->time + 1,
            (size_t)(in->columns - in->time - 1) * sizeof *in->values);
    take_time(reader, in, time, ret_gap);
    return WEIR_OK;
}

/* Reads the whole file once, for the list of segments; then returns to its first row. Faults in
 * a row are reported when it is read. */
static weir_err find_gaps(weiri_reader *reader, csv *in)
{
    bool any = true, gap = false;
    int64_t start = 0;
    uint64_t first = 0;
    while (any) {
        weir_err err = take_next(reader, in, &any, &gap);
        if (err != WEIR_OK && err != WEIR_E_RECORDING) {
            return err;
        }
        any = any && err == WEIR_OK;
        if (any && gap) {
            weiri_reader_segment(reader, start, in->row - first);
            start = start_ns(in);
            first = in->row;
        }
        in->row += any;
    }
    weiri_reader_segment(reader, start, in->rows - first);
    tell_gaps(reader, in);
    in->segment_time = NAN;
    in->row = 0;
    in->segment_row = 0;
    return weiri_csv_go_to(reader, in, in->top, in->top_line);
}

/* Columns that are not selected may contain anything. */
static weir_err mark_wanted(weiri_reader *reader, csv *in)
{
    unsigned char *wanted = NULL;
    if (reader->picks == NULL) {
        return WEIR_OK;
    }
    weir_err err = weiri_reader_get(reader, in->columns, 1, &wanted);
    for (uint64_t i = 0; err == WEIR_OK && i < reader->pick_count; i++) {
        wanted[reader->picks[i] + (in->time <= reader->picks[i])] = 1;
    }
    if (err == WEIR_OK && in->time != UINT64_MAX) {
        wanted[in->time] = 1;
    }
    in->wanted = wanted;
    return err;
}

/* A label that begins like that of a column of times but is not one. */
static void tell_time_like(weiri_reader *reader)
{
    for (uint64_t i = 0; reader->channel_count > 1 && i < reader->pick_count; i++) {
        const char *label = reader->channels[reader->picks ? reader->picks[i] : i].label;
        char four[5];
        snprintf(four, sizeof four, "%.4s", label);
        if (weiri_equal_blind(four, "time")) {
            weiri_notice(&reader->notices,
                         "column \"%.40s\" is read as a channel; use --exclude to leave it out (a "
                         "timestamp column is named time or timestamp, with (ms), (us) or (ns))",
                         label);
            return;
        }
    }
}

weir_err weiri_csv_layout(weiri_reader *reader)
{
    csv *in = reader->own;
    in->segment_time = NAN;
    in->tolerance_s = reader->options->gap_tolerance_s;
    in->gaps = in->time != UINT64_MAX && reader->listed_count == 0;
    weir_err err = mark_wanted(reader, in);
    if (err == WEIR_OK && in->bottom_line > 0) {
        err = judge_bottom(reader, in);
    }
    if (err != WEIR_OK) {
        return err;
    }
    if (!in->all_channels) {
        tell_time_like(reader);
    }
    if (in->gaps && !reader->input.pipe && in->rows > 0) {
        return find_gaps(reader, in);
    }
    weiri_side_layout(reader, in->rows);
    return WEIR_OK;
}

weir_err weiri_csv_segment(weiri_reader *reader, uint64_t number, bool *ret_any)
{
    csv *in = reader->own;
    if (!in->gaps) {
        return weiri_side_segment(reader, number, ret_any);
    }
    *ret_any = reader->laid_out;
    if (number > 0) {
        /* Skips what the selection left of the segment before. */
        bool any = in->err == WEIR_OK;
        if (in->held && in->begun) {
            in->held = false;
            in->row++;
        }
        while (any && !in->held) {
            weir_err err = take_next(reader, in, &any, &in->held);
            if (err != WEIR_OK) {
                return err;
            }
            in->row += any && !in->held;
        }
        in->begun = true;
        *ret_any = any;
    }
    reader->current =
        (weir_segment){.start_ns = number ? start_ns(in) : 0, .frames = WEIR_FRAMES_UNKNOWN};
    return WEIR_OK;
}

weir_err
weiri_csv_read(weiri_reader *reader, uint64_t index, size_t frames, void *rows, size_t *ret_frames)
{
    csv *in = reader->own;
    uint64_t wanted = in->gaps ? in->segment_row + index : reader->first_row + index;
    if (in->err != WEIR_OK) {
        return weiri_fail(in->err, "%s", in->why);
    }
    size_t done = 0;
    size_t frame_bytes = (size_t)weir_spec_frame_bytes(&reader->info.spec);
    /* A kept row whose segment has not begun ends this one. */
    while (done < frames && (!in->held || in->begun)) {
        bool any = in->held, gap = false;
        if (!in->held) {
            weir_err err = take_next(reader, in, &any, &gap);
            if (err != WEIR_OK) {
                in->err = err;
                snprintf(in->why, sizeof in->why, "%s", weir_err_detail());
                if (done > 0) {
                    /* complete rows are delivered first; this line is consumed, so its error is
                     * kept */
                    break;
                }
                return err;
            }
        }
        in->held = gap;
        in->begun = in->begun && !gap;
        if (!any || gap) {
            break;
        }
        if (in->row++ >= wanted) {
            weiri_rows_convert(reader, (const unsigned char *)in->values,
                               (size_t)reader->channel_count * sizeof *in->values, 1,
                               (unsigned char *)rows + done * frame_bytes);
            done++;
        }
        if (done > 0 && reader->input.pipe && in->at == in->filled) {
            break; /* a live pipe is not delayed */
        }
    }
    *ret_frames = done;
    return WEIR_OK;
}
