/* SPDX-License-Identifier: MIT
 *
 * due.h: how many output frames are due once n input frames of a segment have been consumed. Data, not code:
 * every unit's count has this form, so capacities, leads between branches, lags and the inverse follow in
 * integers from one place, and nothing has to look at a sample.
 *
 *     due(n) = grain * floor((n * q + offset) / (p * grain))       0 where that is negative
 *     due(n, at the segment's end) = floor((n * q + end) / p)      the same
 *
 *     one for one                  p = q = 1, offset = end = 0
 *     every k-th frame             p = k, q = 1, offset = end = k - 1
 *     windows of W, shift S        p = S, q = 1, offset = end = S - W    (z zeros before the stream: + z)
 *     bins of a/b frames           p = a, q = b, offset = end = b - 1    (edge k = floor((k + 1) a / b))
 *     the same, D frames later     offset = b - 1 - D b
 *     resample L/M, half length h  p = M, q = L, offset = M - 1 - h L, end = M - 1
 *     grain B, look-ahead A        p = q = 1, grain = B, offset = -A, end = 0
 *
 * due never falls, and at the end of a segment it is at least what it was before.
 */
#ifndef WEIRI_DUE_H
#define WEIRI_DUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "base/decimal.h"

typedef struct weiri_due {
    uint64_t p, q; /* q output frames for p input frames, 1..2^62 each */
    int64_t offset, end;
    uint64_t
        grain; /* due rises in multiples of it, but at the segment's end; one call may produce a part; 1.. */
} weiri_due;

#define WEIRI_DUE_SAME ((weiri_due){.p = 1, .q = 1, .offset = 0, .end = 0, .grain = 1})

/* Length of a bin in frames, which `due` can hold with that delay: the last bits of a fraction of more than 62
 * are dropped, one frame in 2^60. */
weiri_fraction weiri_bin_length(weiri_fraction frames, uint64_t delay_frames);

/* The number of frames of the longest bin. */
uint64_t weiri_bin_longest(weiri_fraction length);

/* WEIR_E_CHAIN: "bin_duration: ...", a bin of less than one frame or of more than INT32_MAX. */
weir_err weiri_bin_check(weiri_fraction length, double duration_s, double rate_hz);

/* Bins whose values are output delay_frames after their last frame. */
weiri_due weiri_bin_due(weiri_fraction length, uint64_t delay_frames);

/* Whether it is one for one, without delay. */
bool weiri_due_is_same(const weiri_due *due);

/* Ranges of the fields, and due(n, end) >= due(n). */
bool weiri_due_check(const weiri_due *due);

/* Output frames due in all after n input frames of the segment. */
uint64_t weiri_due_at(const weiri_due *due, uint64_t n, bool ended);

/* The most input frames n with due(n) <= frames, before the end; UINT64_MAX where that is always so. */
uint64_t weiri_due_inverse(const weiri_due *due, uint64_t frames);

/* Most output frames that c more input frames can add, wherever they come. */
uint64_t weiri_due_most(const weiri_due *due, uint64_t c);

/* Frames of input that must have come before the first output frame is out, less one: 0 for one for one. */
uint64_t weiri_due_lag(const weiri_due *due);

#endif
