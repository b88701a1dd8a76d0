/* SPDX-License-Identifier: MIT
 *
 * history.c: see history.h.
 */
#include "dsp/history.h"

#include <math.h>
#include <string.h>

enum { N = WEIRI_BLOCK };

static size_t rows_of(const weiri_history *history)
{
    return history->before + history->step;
}

static size_t groups_of(const weiri_history *history)
{
    return (history->columns + N - 1) / N;
}

/* Where a row of a group is, in values. */
static size_t place(const weiri_history *history, size_t group, size_t row)
{
    return (group * rows_of(history) + row) * N;
}

static unsigned char *value_place(const weiri_history *history, size_t group, size_t row)
{
    return (unsigned char *)history->values + place(history, group, row) * history->value_bytes;
}

void weiri_history_reset(const weiri_history *history)
{
    size_t count = place(history, groups_of(history), 0);
    memset(history->values, 0, count * history->value_bytes);
    if (history->absent != NULL) {
        memset(history->absent, 0, count);
    }
    if (history->started != NULL) {
        memset(history->started, 0, history->columns);
    }
}

const void *weiri_history_values(const weiri_history *history, uint64_t consumed, size_t group)
{
    return value_place(history, group, (size_t)(consumed % history->step));
}

const uint8_t *weiri_history_absent(const weiri_history *history, uint64_t consumed, size_t group)
{
    return history->absent + place(history, group, (size_t)(consumed % history->step));
}

/* The last `before` rows go to the start. */
static void move_rows(const weiri_history *history)
{
    for (size_t group = 0; group < groups_of(history); group++) {
        memmove(value_place(history, group, 0), value_place(history, group, history->step),
                history->before * N * history->value_bytes);
        if (history->absent != NULL) {
            memmove(history->absent + place(history, group, 0),
                    history->absent + place(history, group, history->step), history->before * N);
        }
    }
}

static bool is_good(const weiri_history *history, const void *in, size_t frame, size_t column)
{
    size_t at = frame * history->columns + column;
    return history->value_bytes == 4 ? isfinite(((const float *)in)[at])
                                     : isfinite(((const double *)in)[at]);
}

/* The columns whose first good sample is in the first frame start; the run ends before a frame in which another
 * starts, so that no frame sees a start that comes after it, however the stream is split (S1). */
static size_t start(const weiri_history *history, size_t row, const void *in, size_t frames)
{
    size_t bytes = history->value_bytes;
    for (size_t column = 0; column < history->columns; column++) {
        if (history->started[column] != 0) {
            continue;
        }
        if (is_good(history, in, 0, column)) {
            const unsigned char *first = (const unsigned char *)in + column * bytes;
            unsigned char *to = value_place(history, column / N, row) + column % N * bytes;
            for (size_t i = 0; i < history->before; i++) {
                memcpy(to + i * N * bytes, first, bytes);
            }
            history->started[column] = 1;
            continue;
        }
        for (size_t i = 1; i < frames; i++) {
            frames = is_good(history, in, i, column) ? i : frames;
        }
    }
    return frames;
}

/* A row in which nothing is missing; the usual widths without a call. */
static void copy_row(unsigned char *to, const unsigned char *from, size_t bytes)
{
    if (bytes == N * sizeof(float)) {
        memcpy(to, from, N * sizeof(float));
    } else if (bytes == N * sizeof(double)) {
        memcpy(to, from, N * sizeof(double));
    } else {
        memcpy(to, from, bytes);
    }
}

/* A row in which a sample may be missing: the one above it instead. */
static void copy_dirty(const weiri_history *history,
                       unsigned char *to,
                       uint8_t *absent,
                       const unsigned char *from,
                       size_t lanes)
{
    size_t bytes = history->value_bytes;
    for (size_t lane = 0; lane < lanes; lane++) {
        bool good = is_good(history, from, 0, lane);
        memcpy(to + lane * bytes, good ? from + lane * bytes : to + lane * bytes - N * bytes,
               bytes);
        if (absent != NULL) {
            absent[lane] = good ? 0 : 1;
        }
    }
}

size_t weiri_history_append(
    const weiri_history *history, uint64_t consumed, const void *in, size_t frames, bool *ret_clean)
{
    const weiri_kernels *kernels = weiri_kernels_get();
    size_t columns = history->columns, bytes = history->value_bytes;
    size_t row = (size_t)(consumed % history->step);
    *ret_clean = true;
    if (frames == 0) {
        return 0;
    }
    if (row == 0 && consumed > 0) {
        move_rows(history);
    }
    frames = frames < history->step - row ? frames : history->step - row;
    if (history->started != NULL && memchr(history->started, 0, columns) != NULL) {
        frames = start(history, row, in, frames);
    }
    bool clean = bytes == 4 ? kernels->finite_f32(in, frames * columns)
                            : kernels->finite_f64(in, frames * columns);
    for (size_t first = 0; first < columns; first += N) {
        size_t lanes = columns - first < N ? columns - first : N;
        const unsigned char *from = (const unsigned char *)in + first * bytes;
        for (size_t i = 0; i < frames; i++, from += columns * bytes) {
            unsigned char *to = value_place(history, first / N, history->before + row + i);
            uint8_t *absent =
                history->absent == NULL
                    ? NULL
                    : history->absent + place(history, first / N, history->before + row + i);
            if (!clean) {
                copy_dirty(history, to, absent, from, lanes);
                continue;
            }
            copy_row(to, from, lanes * bytes);
            if (absent != NULL) {
                memset(absent, 0, N);
            }
        }
    }
    *ret_clean = clean;
    return frames;
}

void weiri_history_hold(const weiri_history *history, uint64_t consumed)
{
    size_t row = (size_t)(consumed % history->step), bytes = N * history->value_bytes;
    if (row == 0 && consumed > 0) {
        move_rows(history);
    }
    for (size_t group = 0; group < groups_of(history); group++) {
        unsigned char *to = value_place(history, group, history->before + row);
        memcpy(to, to - bytes, bytes);
        if (history->absent != NULL) {
            memset(history->absent + place(history, group, history->before + row), 0, N);
        }
    }
}
