/* SPDX-License-Identifier: MIT
 *
 * csv_rows.c: rows of columns of text, and the times that they state. Where there is a column of times, an
 * interval that differs from the nominal one by more than gap_tolerance, or goes back, begins a new segment
 * (S4), as in every other source; nothing is kept of them beside the capped list (M6): they are met again while
 * reading. Segments that a side file lists go before.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "recording/csv.h"

/* A row that broke off is not read; of one whose line has no end nobody can tell whether its last value is whole.
 * weir ends every line, so where a run of it left a part behind, that one broke off too. */
static void tell_end(weiri_reader *reader, csv *in, bool whole)
{
    in->cut = !whole || weiri_is_part(reader->path);
    weiri_notice(&reader->notices, in->cut ? "the last line breaks off; its row is not read"
                                           : "the last line has no end: its last value may be "
                                             "cut short");
}

/* Lines from here on that are not blank: rows, which a read then looks into. */
weir_err weiri_csv_count_rows(weiri_reader *reader, csv *in)
{
    uint64_t rows = 0, last = in->offset + in->at, last_line = in->line;
    for (;;) {
        bool any = false;
        weir_err err = weiri_csv_next_line(reader, in, &any);
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
        while ((err = weiri_csv_peek(reader, in, &byte)) == WEIR_OK && byte >= 0) {
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
            err = weiri_csv_go_to(reader, in, last, last_line);
            err = err == WEIR_OK ? weiri_csv_take_row(reader, in, NULL, &whole) : err;
            if (err == WEIR_OK) {
                tell_end(reader, in, whole);
                in->rows -= in->cut;
            }
            /* What is wrong in it otherwise is said when it is read. */
            return err == WEIR_E_RECORDING ? WEIR_OK : err;
        }
    }
}

/* ---- times --------------------------------------------------------------------------------------------- */

/* Whether a row begins a new segment. A time that is missing begins none. */
static bool is_gap(const weiri_reader *reader, const csv *in, double tolerance_s, double time)
{
    double step = time - in->last, nominal = 1 / reader->rate_hz;
    /* A hair is allowed for: 0.1 is not 0.1 in binary. */
    return step < 0 || fabs(step - nominal) > tolerance_s + 1e-9 + fabs(time) * 1e-15;
}

/* The time of a row that goes on in its segment; where it lies off the rate's, the first is told. */
static void keep_time(weiri_reader *reader, csv *in, double time)
{
    double wanted = in->segment_time + (double)(in->row - in->segment_row) / reader->rate_hz;
    if (isnan(time)) {
        in->last += 1 / reader->rate_hz;
        return;
    }
    in->last = time;
    if (fabs(time - wanted) > 0.5 / reader->rate_hz && in->off_time++ == 0) {
        weiri_notice(&reader->notices,
                     "column time: row %llu states %.9g s, the rate of %g Hz puts it at %.9g s; "
                     "the rate is used",
                     (unsigned long long)in->row, time, reader->rate_hz, wanted);
    }
}

static void begin_segment(csv *in, double time)
{
    in->segment_time = in->last = time;
    in->segment_row = in->row;
}

static int64_t start_ns(const csv *in)
{
    double s = in->segment_time - in->origin;
    return isfinite(s) && fabs(s) < 9e9 ? llround(s * 1e9) : 0;
}

/* ---- rows ------------------------------------------------------------------------------------------------ */

/* The next row's values, and whether a gap lies before it: then it is held until its segment is begun.
 * *ret_any false: there is no whole row any more. */
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
        return err;
    }
    if (in->unended && reader->input.pipe) {
        tell_end(reader, in, true);
    }
    *ret_any = true;
    if (in->time == UINT64_MAX) {
        return WEIR_OK;
    }
    double time = in->values[in->time];
    memmove(in->values + in->time, in->values + in->time + 1,
            (size_t)(in->columns - in->time - 1) * sizeof *in->values);
    if (in->row == 0) {
        in->origin = isnan(time) ? 0 : time;
        begin_segment(in, in->origin);
    } else if (in->gaps && is_gap(reader, in, in->tolerance_s, time)) {
        *ret_gap = true;
        begin_segment(in, time);
    } else {
        keep_time(reader, in, time);
    }
    return WEIR_OK;
}

/* Through the whole file once, for the list of segments; then back to its first row. What is wrong in a row
 * is said when it is read. */
static weir_err find_gaps(weiri_reader *reader, csv *in)
{
    uint64_t gaps = 0;
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
            gaps++;
        }
        in->row += any;
    }
    weiri_reader_segment(reader, start, in->rows - first);
    if (gaps > 1 && gaps > in->rows / 4) {
        weiri_notice(&reader->notices,
                     "column time: %llu of %llu rows do not follow at %g Hz within gap_tolerance "
                     "(%g ms); are --rate and gap_tolerance right?",
                     (unsigned long long)gaps, (unsigned long long)in->rows, reader->rate_hz,
                     in->tolerance_s * 1e3);
    }
    in->row = 0;
    in->segment_row = 0;
    return weiri_csv_go_to(reader, in, in->top, in->top_line);
}

weir_err weiri_csv_layout(weiri_reader *reader)
{
    csv *in = reader->own;
    in->tolerance_s = reader->options->gap_tolerance_s;
    in->gaps = in->time != UINT64_MAX && reader->listed_count == 0;
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
        /* What the selection left of the segment before. */
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
    /* A row that is held and whose segment is not begun ends this one. */
    while (done < frames && (!in->held || in->begun)) {
        bool any = in->held, gap = false;
        if (!in->held) {
            weir_err err = take_next(reader, in, &any, &gap);
            if (err != WEIR_OK) {
                in->err = err;
                snprintf(in->why, sizeof in->why, "%s", weir_err_detail());
                if (done > 0) {
                    break; /* what is whole goes out first; this line is gone, so its error is kept */
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
            break; /* a live pipe is not held back */
        }
    }
    *ret_frames = done;
    return WEIR_OK;
}
