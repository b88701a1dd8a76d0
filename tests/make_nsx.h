/* SPDX-License-Identifier: MIT
 *
 * make_nsx.h: a Blackrock NSx file made field by field, for the tests of headers (nsx_test.c) and of data packets
 * (nsx_packets_test.c).
 */
#ifndef WEIR_TEST_MAKE_NSX_H
#define WEIR_TEST_MAKE_NSX_H

#include "recordings.h"

enum { CHANNELS = 3 };

/* A file being made. */
typedef struct maker {
    unsigned spec; /* 21, 22, 23, 30 */
    uint32_t period, resolution;
    int frames;         /* written so far */
    size_t bytes, head; /* total, and of the file's header */
    unsigned char file[1 << 18];
} maker;

static inline void put(maker *m, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        m->file[m->bytes++] = (unsigned char)(i < 8 ? value >> (8 * i) : 0);
    }
}

static inline void put_text(maker *m, const char *text, size_t width)
{
    memset(m->file + m->bytes, 0, width);
    memcpy(m->file + m->bytes, text, strlen(text) < width ? strlen(text) : width);
    m->bytes += width;
}

static inline void put_channel(maker *m, int i)
{
    static const char *const labels[CHANNELS] = {"elec1", "sixteen letters.", "elec3"};
    put_text(m, "CC", 2);
    put(m, (uint64_t)i + 1, 2);
    put_text(m, labels[i], 16);
    put(m, 1, 1);
    put(m, (uint64_t)i, 1);
    /* The last one's scale is not symmetric about 0. */
    put(m, (uint16_t)(i == 2 ? -1000 : -32764), 2);
    put(m, i == 2 ? 3000 : 32764, 2);
    put(m, (uint16_t)(i == 2 ? 0 : -8191), 2);
    put(m, i == 2 ? 5 : 8191, 2);
    put_text(m, i == 2 ? "mV" : "uV", 16);
    put(m, 0, 20);
}

static inline void begin(maker *m, unsigned spec, uint32_t period, uint32_t resolution)
{
    m->spec = spec;
    m->bytes = 0;
    m->frames = 0;
    m->period = period;
    m->resolution = resolution;
    if (spec == 21) {
        put_text(m, "NEURALSG", 8);
        put_text(m, "1 kS/s", 16);
        put(m, period, 4);
        put(m, CHANNELS, 4);
        put(m, 1, 4);
        put(m, 130, 4);
        put(m, 145, 4);
    } else {
        static const uint16_t when[8] = {2024, 2, 4, 29, 23, 59, 58, 7};
        put_text(m, spec == 30 ? "BRSMPGRP" : "NEURALCD", 8);
        put(m, spec / 10, 1);
        put(m, spec % 10, 1);
        put(m, 314 + 66 * CHANNELS, 4);
        put_text(m, "label", 16);
        put_text(m, "comment", 256);
        put(m, period, 4);
        put(m, resolution, 4);
        for (int i = 0; i < 8; i++) {
            put(m, when[i], 2);
        }
        put(m, CHANNELS, 4);
        for (int i = 0; i < CHANNELS; i++) {
            put_channel(m, i);
        }
    }
    m->head = m->bytes;
}

static inline int count_of(int frame, int channel)
{
    return (frame * 37 + channel * 1001) % 60000 - 30000;
}

static inline void rows(maker *m, int frames)
{
    for (int end = m->frames + frames; m->frames < end; m->frames++) {
        for (int c = 0; c < CHANNELS; c++) {
            put(m, (uint16_t)count_of(m->frames, c), 2);
        }
    }
}

static inline void claim(maker *m, uint64_t stamp, uint32_t frames)
{
    put(m, 1, 1);
    put(m, stamp, m->spec == 30 ? 8 : 4);
    put(m, frames, 4);
}

static inline void packet(maker *m, uint64_t stamp, int frames)
{
    claim(m, stamp, (uint32_t)frames);
    rows(m, frames);
}

static inline const char *save(const maker *m)
{
    return write_file("x.ns5", m->file, m->bytes);
}

/* What opening reports, and each frame for any message boundaries. `first` is the number of a
 * segment's first frame. */
typedef struct wanted {
    int64_t start_ns;
    uint64_t frames;
    int first;
} wanted;

static inline void
check(const char *path, weir_recording_options options, const wanted *segments, size_t count)
{
    options.counts = true;
    for (uint64_t seed = 0; seed < 4; seed++) {
        weir_source *source = NULL;
        assert_ok(weir_recording_open(path, &options, &source));
        const weir_source_info *info = source->ops->info(source);
        assert_int_equal(info->segment_count, count);
        recorded all = {0};
        assert_ok(read_source(source, seed == 1 ? 5 : seed == 2 ? 41 : 1000, seed, &all));
        assert_int_equal(all.segments, count);
        assert_int_equal(all.last_frames, count ? segments[count - 1].frames : 0);
        uint64_t at = 0;
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(info->segments[i].start_ns, segments[i].start_ns);
            assert_int_equal(info->segments[i].frames, segments[i].frames);
            for (uint64_t t = 0; t < segments[i].frames && at < all.frames; t++, at++) {
                for (uint64_t c = 0; c < all.columns; c++) {
                    assert_true(all.values[at * all.columns + c] ==
                                count_of(segments[i].first + (int)t, (int)c));
                }
            }
        }
        assert_int_equal(info->frames, at);
        assert_int_equal(all.frames, at);
        recorded_free(&all);
        source->ops->close(source);
    }
}

static inline void check_plain(const maker *m, const wanted *segments, size_t count)
{
    check(save(m), weir_recording_options_default(), segments, count);
}

/* Fails, showing all notices, unless one contains the text. */
static inline void check_said(const char *path, const char *text)
{
    weir_source *source = NULL;
    assert_ok(weir_recording_open(path, NULL, &source));
    const weir_source_info *info = source->ops->info(source);
    bool said = false;
    for (size_t i = 0; i < info->notice_count; i++) {
        said = said || strstr(info->notices[i], text);
    }
    for (size_t i = 0; !said && i < info->notice_count; i++) {
        printf("notice: %s\n", info->notices[i]);
    }
    source->ops->close(source);
    if (!said) {
        fail_msg("no notice says \"%s\"", text);
    }
}

static maker m; /* the file of the test that runs */

static inline void poke(size_t at, uint64_t value, size_t bytes)
{
    size_t end = m.bytes;
    m.bytes = at;
    put(&m, value, bytes);
    m.bytes = end;
}

#endif
