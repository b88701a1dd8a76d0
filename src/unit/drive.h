/* SPDX-License-Identifier: MIT
 *
 * drive.h: for tests of units alone: plans one as a chain does, and puts a signal through in pieces of
 * any length, with room for any number of frames. What a unit was given is overwritten after each call
 * (S7), and what it may not write to is guarded. No chain, no cache.
 */
#ifndef WEIRI_DRIVE_H
#define WEIRI_DRIVE_H

#include "unit/unit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

typedef struct drive_block {
    struct drive_block *next;
    long double values[]; /* aligned for anything */
} drive_block;

typedef struct drive {
    weir_spec in;
    weiri_unit_plan plan;
    weiri_unit unit;
    weiri_notices notices;
    void *settings;
    drive_block *blocks;
} drive;

/* Frames that came out, [frames x columns of plan.out]. */
typedef struct drive_output {
    unsigned char *data;
    size_t frames;
} drive_output;

static inline void *drive_get(void *user, size_t bytes)
{
    drive *d = user;
    drive_block *block = calloc(1, sizeof *block + bytes + 1);
    assert_non_null(block);
    block->next = d->blocks;
    d->blocks = block;
    return block->values;
}

static inline void drive_close(drive *d)
{
    while (d->blocks != NULL) {
        drive_block *next = d->blocks->next;
        free(d->blocks);
        d->blocks = next;
    }
    free(d->unit.state);
    free(d);
}

static inline uint64_t drive_random(uint64_t *state, uint64_t below)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return below == 0 ? 0 : (z ^ (z >> 31)) % below;
}

static inline uint64_t drive_seed(void)
{
    const char *given = getenv("WEIR_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    print_message("seed %llu (WEIR_SEED repeats it)\n", (unsigned long long)seed);
    return seed;
}

/* Reads settings and plans. On an error the drive is closed and *ret_drive is left as it was. */
static inline weir_err drive_open(const char *name,
                                  const weir_spec *in,
                                  const weir_value *settings,
                                  size_t count,
                                  drive **ret_drive)
{
    drive *d = calloc(1, sizeof *d);
    assert_non_null(d);
    weiri_memory memory = {drive_get, d};
    weir_err err = weiri_unit_find(name, &d->unit.ops);
    assert_int_equal(err, WEIR_OK);
    d->in = *in;
    d->settings = drive_get(d, d->unit.ops->settings_bytes);
    d->plan = (weiri_unit_plan){.in = &d->in,
                                .out = *in,
                                .frames_per_output = 1.0,
                                .memory = memory,
                                .notices = &d->notices};
    err = weiri_settings_read(d->unit.ops->info.settings, NULL, settings, count, memory,
                              &d->notices, d->settings, NULL, NULL);
    if (err == WEIR_OK) {
        err = d->unit.ops->plan(d->settings, &d->plan);
    }
    if (err != WEIR_OK) {
        drive_close(d);
        return err;
    }
    int dim = weir_spec_dim(in, "ch");
    size_t bytes = (size_t)weiri_round_up((size_t)d->plan.state_bytes, 64);
    d->unit.settings = d->settings;
    d->unit.in = &d->in;
    d->unit.out = &d->plan.out;
    d->unit.channels = dim > 0 ? in->dims[dim].size : 1;
    d->unit.missing = drive_get(d, (size_t)d->unit.channels * sizeof *d->unit.missing);
    d->unit.state = aligned_alloc(64, bytes + 64);
    assert_non_null(d->unit.state);
    memset(d->unit.state, 0, (size_t)d->plan.state_bytes);
    memset((unsigned char *)d->unit.state + d->plan.state_bytes, 0xa5,
           bytes + 64 - (size_t)d->plan.state_bytes);
    if (d->unit.ops->init != NULL) {
        d->unit.ops->init(&d->unit);
    }
    *ret_drive = d;
    return WEIR_OK;
}

static inline void drive_guard(const drive *d)
{
    const unsigned char *end = (const unsigned char *)d->unit.state + d->plan.state_bytes;
    for (int i = 0; i < 64; i++) {
        assert_int_equal(end[i], 0xa5);
    }
}

/* One call of process with copies of the frames and a room of its own, both guarded. */
static inline void drive_call(drive *d,
                              const unsigned char *rows,
                              size_t frames,
                              size_t room,
                              size_t *ret_taken,
                              drive_output *o)
{
    size_t in_bytes = (size_t)weir_spec_frame_bytes(&d->in);
    size_t out_bytes = (size_t)weir_spec_frame_bytes(&d->plan.out);
    unsigned char *from = malloc(frames * in_bytes + 1), *to = malloc(room * out_bytes + 1);
    assert_true(from != NULL && to != NULL);
    memcpy(from, rows, frames * in_bytes);
    memset(to, 0x5a, room * out_bytes + 1);
    weiri_tile in = {.data = from, .frames = frames}, out = {.data = to, .frames = room};
    size_t taken = SIZE_MAX, made = SIZE_MAX;
    d->unit.ops->process(&d->unit, &in, &taken, &out, &made);
    assert_true(taken <= frames && made <= room);
    assert_true(frames == 0 || room == 0 || taken + made > 0);
    assert_int_equal(to[room * out_bytes], 0x5a);
    drive_guard(d);
    o->data = realloc(o->data, (o->frames + made) * out_bytes + 1);
    assert_non_null(o->data);
    memcpy(o->data + o->frames * out_bytes, to, made * out_bytes);
    o->frames += made;
    memset(from, 0xff, frames * in_bytes);
    free(from);
    free(to);
    *ret_taken = taken;
}

/* Puts frames through, in pieces of up to `longest` frames (0 = all in one), with room for up to as many,
 * and fetches what is still to come. */
static inline drive_output
drive_run(drive *d, const void *data, size_t frames, size_t longest, uint64_t *random)
{
    drive_output o = {NULL, 0};
    size_t in_bytes = (size_t)weir_spec_frame_bytes(&d->in);
    size_t at = 0, before;
    while (at < frames) {
        size_t piece = longest == 0 ? frames - at : (size_t)drive_random(random, longest + 1);
        size_t room = longest == 0 ? frames + 64 : 1 + (size_t)drive_random(random, longest);
        size_t taken = 0;
        piece = piece < frames - at ? piece : frames - at;
        drive_call(d, (const unsigned char *)data + at * in_bytes, piece, room, &taken, &o);
        at += taken;
    }
    do {
        size_t taken = 0;
        before = o.frames;
        drive_call(d, data, 0, 1, &taken, &o);
    } while (o.frames > before);
    return o;
}

static inline double drive_value(const drive *d, const drive_output *o, size_t at)
{
    assert_true(at < o->frames * (size_t)weir_spec_columns(&d->plan.out));
    return d->plan.out.dtype == WEIR_F32 ? (double)((const float *)(const void *)o->data)[at]
                                         : ((const double *)(const void *)o->data)[at];
}

/* Runs the same signal whole and in pieces of several lengths: the same bits (S1), also after a reset
 * (S9). Returns the output of the whole; the drive has no more state than after a reset. */
static inline drive_output drive_cuts(drive *d, const void *data, size_t frames, uint64_t *random)
{
    static const size_t longest[] = {1, 2, 7, 50, 400};
    size_t out_bytes = (size_t)weir_spec_frame_bytes(&d->plan.out);
    drive_output whole = drive_run(d, data, frames, 0, random);
    uint64_t left = d->unit.ops->unfinished != NULL ? d->unit.ops->unfinished(&d->unit) : 0;
    for (size_t i = 0; i < sizeof longest / sizeof longest[0]; i++) {
        if (d->unit.ops->reset != NULL) {
            d->unit.ops->reset(&d->unit);
        }
        drive_output o = drive_run(d, data, frames, longest[i], random);
        assert_int_equal(o.frames, whole.frames);
        assert_memory_equal(o.data, whole.data, o.frames * out_bytes);
        if (d->unit.ops->unfinished != NULL) {
            assert_int_equal(d->unit.ops->unfinished(&d->unit), left);
        }
        free(o.data);
    }
    if (d->unit.ops->reset != NULL) {
        d->unit.ops->reset(&d->unit);
    }
    return whole;
}

/* A signal of normal-like values about an offset, of the spec's type, a share of it missing. */
static inline void *
drive_signal(const weir_spec *spec, size_t frames, double offset, double missing, uint64_t *random)
{
    size_t count = frames * (size_t)weir_spec_columns(spec);
    bool f32 = spec->dtype == WEIR_F32;
    double *values = calloc(count + 1, sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; i++) {
        double sum = offset - 3.0;
        for (int j = 0; j < 6; j++) {
            sum += (double)drive_random(random, 1u << 30) * 0x1p-30;
        }
        if ((double)drive_random(random, 1000000) < missing * 1e6) {
            static const double kinds[] = {NAN, INFINITY, -INFINITY};
            sum = kinds[drive_random(random, 3)];
        }
        if (f32) {
            ((float *)(void *)values)[i] = (float)sum;
        } else {
            values[i] = sum;
        }
    }
    return values;
}

static inline double drive_input(const weir_spec *spec, const void *data, size_t at)
{
    return spec->dtype == WEIR_F32 ? (double)((const float *)data)[at] : ((const double *)data)[at];
}

/* Close enough, or both NaN. */
static inline void
drive_near(double found, double expected, double rtol, double atol, const char *what)
{
    bool same = isnan(expected) ? isnan(found) != 0
                                : fabs(found - expected) <= atol + rtol * fabs(expected) ||
                                      (isinf(expected) && found == expected);
    if (!same) {
        print_error("%s: %.17g found, %.17g expected\n", what, found, expected);
        fail();
    }
}

#endif
