/* SPDX-License-Identifier: MIT
 *
 * decimal.h: durations and rates as the decimals that people write, and exact arithmetic on them: 9 ms
 * at 25 kHz is 225 frames, which 0.009 * 25000 in binary floating point is not.
 *
 * The meaning of a double: the simplest fraction that rounds to it, if that is too simple to be a
 * coincidence: 0.0333 is 333/10000, and the double 0.3333333333333333, the result of some division, is 1/3; so
 * is 9.090909090909092 100/11. Else its shortest decimal, with all its digits.
 *
 * All of this is for numbers >= 0 and for planning: it is not fast. Any thread; nothing fails.
 */
#ifndef WEIRI_DECIMAL_H
#define WEIRI_DECIMAL_H

#include "base/base.h"

/* over / under, in lowest terms, under > 0. Plain data: it may be kept and copied to devices. */
typedef struct weiri_fraction {
    uint64_t over, under;
} weiri_fraction;

/* The fraction that a number means. 0 for a negative one, NAN and one below 2^-63; UINT64_MAX / 1 from 2^64 on. */
weiri_fraction weiri_fraction_of(double number);

/* duration x rate in frames: the length of bins. Exact where it fits 64 bits over 64 (19 decimal
 * places of both together), else the meaning of the product in binary. */
weiri_fraction weiri_frames_exact(double duration_s, double rate_hz);

/* floor(duration x rate), and the same rounded up; UINT64_MAX where it is more. Always exact. */
uint64_t weiri_frames_floor(double duration_s, double rate_hz);
uint64_t weiri_frames_ceil(double duration_s, double rate_hz);

/* floor(times x fraction): where bin number `times` begins if bins are that long. UINT64_MAX where it is
 * more. Fast enough for each bin. */
uint64_t weiri_fraction_times(weiri_fraction fraction, uint64_t times);

/* How many frames become one on the way from a rate to a target rate: the largest k with rate / k >= target,
 * or the k with rate / k rounded to a double = target (100 Hz / 11 = 9.090909090909092 Hz). At least 1. */
uint64_t weiri_decimation(double rate_hz, double target_hz);

/* Nanoseconds from frame 0 to a frame, rounded to the nearest; clamped to what 64 bits hold. */
int64_t weiri_frames_ns(int64_t frame, weiri_fraction rate_hz);

/* a + b, clamped to what 64 bits hold: 292 years either way. */
int64_t weiri_ns_sum(int64_t a, int64_t b);

/* The double nearest to a + b and to number * times / divide_by as decimals (0.1 + 0.2 is 0.3), where their
 * exact result has no more digits than a double; else as binary arithmetic has it. */
double weiri_decimal_sum(double a, double b);
double weiri_decimal_scaled(double number, uint64_t times, uint64_t divide_by);

#endif
