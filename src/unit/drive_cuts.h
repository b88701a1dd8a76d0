/* SPDX-License-Identifier: MIT
 *
 * drive_cuts.h: the test of the contract (unit.h) that the test of each unit calls (drive.h): whole, in pieces,
 * in place, by channel blocks and after a reset, output, records and counts must be the same.
 */
#ifndef WEIRI_DRIVE_CUTS_H
#define WEIRI_DRIVE_CUTS_H

#include "unit/drive_run.h"

/* The records of a part are those of the whole for its channels. */
static inline void drive_same_records(const drive *d, const drive_part *part, const char *how)
{
    const weiri_block *block = &part->block;
    const weir_record *expected = d->records;
    weiri_split all = weiri_spec_channels(&d->in);
    size_t found = 0;
    for (size_t i = 0; i < d->record_count; i++) {
        uint64_t channel = expected[i].column / all.inner % all.size;
        if (channel < block->first_channel || channel >= block->first_channel + block->channels) {
            continue;
        }
        if (found == part->log_count ||
            memcmp(&part->log[found], &expected[i], sizeof expected[i]) != 0) {
            fail_msg("%s: record %zu is another %s", d->ops->info.name, i, how);
        }
        found++;
    }
    if (found != part->log_count) {
        fail_msg("%s: %zu records %s, %zu whole", d->ops->info.name, part->log_count, how, found);
    }
}

static inline void drive_same(const drive *d,
                              const drive_part *part,
                              const drive_output *o,
                              const drive_output *expected,
                              const uint64_t *missing,
                              const char *how)
{
    size_t bytes = (size_t)weir_spec_frame_bytes(&part->out);
    const weiri_block *block = &part->block;
    if (o->frames != expected->frames) {
        fail_msg("%s: %zu frames %s, %zu whole", d->ops->info.name, o->frames, how,
                 expected->frames);
    }
    for (size_t i = 0; i < o->frames; i++) {
        if (memcmp(o->data + i * bytes, expected->data + i * bytes, bytes) != 0) {
            fail_msg("%s: frame %zu of %zu is another %s (channels %llu to %llu)",
                     d->ops->info.name, i, o->frames, how, (unsigned long long)block->first_channel,
                     (unsigned long long)(block->first_channel + block->channels) - 1);
        }
    }
    if (memcmp(block->missing, missing, (size_t)block->channels * sizeof *missing) != 0) {
        fail_msg("%s: other samples are missing %s", d->ops->info.name, how);
    }
    drive_same_records(d, part, how);
}

/* A block of the channels of a columnwise unit against the same channels of the whole. */
static inline uint64_t drive_block(drive *d,
                                   const void *const *data,
                                   size_t frames,
                                   uint64_t first,
                                   uint64_t channels,
                                   const drive_output *whole,
                                   const uint64_t *missing,
                                   uint64_t *random)
{
    drive_part part;
    unsigned char *rows[WEIRI_INPUTS_MAX];
    const unsigned char *given[WEIRI_INPUTS_MAX];
    for (size_t i = 0; i < d->inputs; i++) {
        given[i] = rows[i] = drive_gather(&d->ins[i], first, channels, data[i], frames);
    }
    drive_output expected = {
        drive_gather(&d->plan.out, first, channels, whole->data, whole->frames), whole->frames};
    drive_part_open(d, &part, first, channels);
    drive_output o = drive_part_run(d, &part, given, frames, 100, random, false);
    drive_same(d, &part, &o, &expected, missing + first, "in a block of channels");
    uint64_t saturated = part.block.saturated;
    drive_part_close(d, &part);
    for (size_t i = 0; i < d->inputs; i++) {
        free(rows[i]);
    }
    free(expected.data);
    free(o.data);
    d->block->constants = d->constants.at;
    return saturated;
}

/* Divides the channels into blocks of random widths, or of `width`. */
static inline void drive_blocks(drive *d,
                                const void *const *data,
                                size_t frames,
                                uint64_t width,
                                const drive_output *whole,
                                const uint64_t *missing,
                                uint64_t saturated,
                                uint64_t *random)
{
    uint64_t all = drive_channels(d), sum = 0;
    for (uint64_t first = 0, channels; first < all; first += channels) {
        channels = width > 0 ? width : 1 + drive_random(random, all);
        channels = channels < all - first ? channels : all - first;
        sum += drive_block(d, data, frames, first, channels, whole, missing, random);
    }
    assert_int_equal(sum, saturated);
}

/* Runs the same signal in every way that the contract allows; returns the output of the whole run. The
 * drive is at its first frame again afterwards; block->missing and block->saturated are those of one run. */
static inline drive_output
drive_cuts_all(drive *d, const void *const *data, size_t frames, uint64_t *random)
{
    static const size_t longest[] = {1, 2, 7, 50, 400};
    const unsigned char *rows[WEIRI_INPUTS_MAX];
    size_t counts = (size_t)d->block->channels * sizeof(uint64_t);
    uint64_t *missing = malloc(counts);
    assert_non_null(missing);
    for (size_t i = 0; i < d->inputs; i++) {
        rows[i] = data[i];
    }
    drive_reset(d);
    drive_output whole = drive_run_all(d, data, frames, 0, random);
    uint64_t saturated = d->block->saturated;
    weir_record *records = drive_get(d, d->whole.log_count * sizeof *records);
    d->records = records;
    d->record_count = d->whole.log_count;
    if (d->record_count > 0) {
        memcpy(records, d->whole.log, d->record_count * sizeof *records);
    }
    memcpy(missing, d->block->missing, counts);
    for (size_t i = 0; i < sizeof longest / sizeof longest[0]; i++) {
        drive_reset(d);
        drive_output o = drive_run_all(d, data, frames, longest[i], random);
        drive_same(d, &d->whole, &o, &whole, missing, "in pieces");
        assert_int_equal(d->block->saturated, saturated);
        free(o.data);
    }
    if ((d->ops->info.flags & WEIR_UNIT_IN_PLACE) != 0 && d->in.dtype == d->plan.out.dtype) {
        drive_reset(d);
        drive_output o = drive_part_run(d, &d->whole, rows, frames, 100, random, true);
        drive_same(d, &d->whole, &o, &whole, missing, "in place");
        free(o.data);
    }
    for (d->apart = d->ops->strided || d->ops->compute != NULL ? 50 : 0; d->apart > 0;
         d->apart /= 4) {
        drive_reset(d);
        drive_output o = drive_run_all(d, data, frames, 100, random);
        drive_same(d, &d->whole, &o, &whole, missing, "with frames apart");
        assert_int_equal(d->block->saturated, saturated);
        free(o.data);
    }
    if (d->plan.columnwise && drive_channels(d) > 1) {
        drive_blocks(d, data, frames, 0, &whole, missing, saturated, random);
        drive_blocks(d, data, frames, 16, &whole, missing, saturated, random);
    }
    drive_reset(d);
    memcpy(d->block->missing, missing, counts);
    d->block->saturated = saturated;
    free(missing);
    return whole;
}

static inline drive_output drive_cuts(drive *d, const void *data, size_t frames, uint64_t *random)
{
    return drive_cuts_all(d, &data, frames, random);
}

#endif
