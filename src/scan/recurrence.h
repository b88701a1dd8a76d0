/* SPDX-License-Identifier: MIT
 *
 * recurrence.h: runs a recurrence over time, column by column, and keeps its state from tile to
 * tile. It has what all recurrences share: blocks of columns, the first sample (S9), missing
 * samples (S5). The arithmetic is in a kernel, its meaning in a unit.
 *
 * A column's output depends on that column only: if samples are missing in one, the others are
 * bit-equal to a clean run.
 */
#ifndef WEIRI_RECURRENCE_H
#define WEIRI_RECURRENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ahead.h"
#include "kernel/kernel.h"

/* Maximum number of state words per column. */
#define WEIRI_RECURRENCE_WORDS (2 * WEIRI_SOS_MAX)

/* Arguments of a call: made for each call, from a unit's constants and its block's state. */
typedef struct weiri_recurrence {
    weiri_recurrence_fn *run; /* of the dtype */
    const void *params;       /* for run */
    /* [words]: times the first good sample = the state before it; NULL = zero */
    const double *start;
    size_t words; /* words of state per column, at most WEIRI_RECURRENCE_WORDS */
    size_t columns;
    /* Between rows, in values: columns where they are adjacent; below 0: backward in time. */
    ptrdiff_t in_stride, out_stride;
    size_t value_bytes; /* 4 or 8: f32 or f64, in and out */
    /* Missing samples are counted at missing[column / inner % channels]. */
    uint64_t *missing;
    size_t inner, channels;
    double *state;      /* weiri_recurrence_state_words() of them, [blocks x words x WEIRI_BLOCK] */
    uint8_t *started;   /* [columns]: whether there has been a good sample; NULL if start is */
    weiri_ahead *ahead; /* to prefetch meanwhile; NULL = nothing */
} weiri_recurrence;

size_t weiri_recurrence_state_words(size_t columns, size_t words);

/* As before the first frame (S9). */
void weiri_recurrence_reset(weiri_recurrence *recurrence);

/* `frames` rows of in to out, which do not overlap; in and out point to the first of them in the
 * recurrence's order. The result does not depend on how the stream is split into calls (S1). */
void weiri_recurrence_process(weiri_recurrence *recurrence,
                              const void *in,
                              void *out,
                              size_t frames);

#endif
