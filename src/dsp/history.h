/* SPDX-License-Identifier: MIT
 *
 * history.h: the last n frames of a stream with their missing marks, for everything that looks back: FIR filters,
 * differences, combs, decimation, resampling, rolling statistics.
 *
 * Columns are kept in groups of WEIRI_BLOCK, each [rows x WEIRI_BLOCK], so that a kernel finds frames t - before
 * to t of a group as consecutive rows. There is memory for `before + step` rows: frame t is in row
 * before + t % step, and every `step` frames the last `before` rows move to the start. Where a frame is follows
 * from its number, so nothing but the rows is state (CONTRACT 2).
 *
 * A missing sample is replaced by the last good one, and marked. All functions work on a block's memory; any
 * thread, different blocks at once.
 */
#ifndef WEIRI_HISTORY_H
#define WEIRI_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/kernel.h"

/* Made anew for each call, from a unit's constants and its block's state. The fields that a unit plans:
 *     values   'f', value_bytes, rows = before + step, lanes = WEIRI_BLOCK
 *     absent   'u', 1 byte,      rows = before + step, lanes = WEIRI_BLOCK    if it wants marks
 *     started  'u', 1 byte,      rows = 1                                     if it starts from the first sample */
typedef struct weiri_history {
    size_t columns;
    size_t value_bytes; /* 4 or 8: f32 or f64 */
    size_t before;      /* frames wanted before the present one, 1.. */
    size_t
        step; /* 1..; = before moves each frame once; less memory with less, longer runs with more */
    void *values;
    uint8_t *absent; /* 1 = missing; NULL = no marks are kept */
    uint8_t *
        started; /* before a column's first good sample its history is as if that sample had always been
                         there (S9); NULL: zeros */
} weiri_history;

/* As before the first frame. Frames before it have no mark. */
void weiri_history_reset(const weiri_history *history);

/* Takes in frames from number `consumed` of the segment on (rows of `columns` values). Returns how many, a run
 * of at least 1 unless frames is 0: a unit computes their outputs and calls again with the rest. *ret_clean:
 * nothing in the run is missing. */
size_t weiri_history_append(const weiri_history *history,
                            uint64_t consumed,
                            const void *in,
                            size_t frames,
                            bool *ret_clean);

/* Takes in one frame with the values of the one before again, none of them missing: for what looks ahead, after a
 * segment's end. */
void weiri_history_hold(const weiri_history *history, uint64_t consumed);

/* Of a group, for the run that began with frame `consumed`: row i is frame consumed - before + i. Until the next
 * call of append. The lanes past the last column are zeros. */
const void *weiri_history_values(const weiri_history *history, uint64_t consumed, size_t group);
const uint8_t *weiri_history_absent(const weiri_history *history, uint64_t consumed, size_t group);

#endif
