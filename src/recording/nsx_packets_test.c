/* SPDX-License-Identifier: MIT
 *
 * Data packets of Blackrock NSx files: pauses, clocks, gaps (S4), truncated and damaged ends; nothing grows with
 * the recording (M6).
 */
#include "make_nsx.h"

/* ---- segments ------------------------------------------------------------------------------------- */

static void pauses(void **state)
{
    (void)state;
    static const unsigned specs_of[] = {22, 30};
    for (size_t i = 0; i < 2; i++) {
        begin(&m, specs_of[i], 15, 30000);
        packet(&m, 300, 100);  /* 10 ms */
        packet(&m, 1800, 50);  /* continues where the first ends */
        packet(&m, 2551, 7);   /* one tick late */
        packet(&m, 30000, 30); /* 1 s */
        packet(&m, 0, 40);     /* the clock was set back */
        const wanted all[] = {
            {10000000, 150, 0}, {85033333, 7, 150}, {1000000000, 30, 157}, {0, 40, 187}};
        check_plain(&m, all, 4);
        /* From 0.02 s after the first frame, for 0.0576 s: the end of the first segment, some of
         * the second. */
        weir_recording_options options = weir_recording_options_default();
        options.start_s = 0.02;
        options.duration_s = 0.0576;
        const wanted part[] = {{30000000, 110, 40}, {85033333, 6, 150}};
        check(own_path("x.ns5"), options, part, 2);
        options.start_s = 0.9;
        options.duration_s = NAN;
        const wanted late = {1000000000, 30, 157};
        check(own_path("x.ns5"), options, &late, 1);
    }
    /* 32-bit timestamps wrap around after 40 hours, within a segment. */
    begin(&m, 23, 1, 30000);
    packet(&m, UINT32_MAX - 9, 20);
    packet(&m, 10, 20);
    const wanted one = {143165576200000, 40, 0};
    check_plain(&m, &one, 1);
}

/* What Central writes with the data at a pause. */
static void empty_and_extra(void **state)
{
    (void)state;
    begin(&m, 23, 1, 30000);
    packet(&m, 0, 30);
    claim(&m, 600, 0);
    packet(&m, 600, 20);
    claim(&m, 900, 0);
    claim(&m, 1200, 0);
    claim(&m, 1500, 1);
    put(&m, 0x777777777777, 6);
    packet(&m, 1500, 60);
    packet(&m, 3000, 1); /* a single frame is kept */
    packet(&m, 3300, 10);
    claim(&m, 4000, 0);
    const wanted all[] = {{0, 30, 0},
                          {20000000, 20, 30},
                          {50000000, 60, 50},
                          {100000000, 1, 110},
                          {110000000, 10, 111}};
    check_plain(&m, all, 5);
    check_said(own_path("x.ns5"), "4 data packets without a frame");
    check_said(own_path("x.ns5"), "1 data packets of one frame have the timestamp of the next");
}

/* 64 segments are listed, all are read. */
static void many(void **state)
{
    (void)state;
    begin(&m, 23, 1, 30000);
    for (int i = 0; i < 200; i++) {
        packet(&m, (uint64_t)i * 100, 10 + i % 3);
    }
    weir_source *source = NULL;
    assert_ok(weir_recording_open(save(&m), NULL, &source));
    const weir_source_info *info = source->ops->info(source);
    assert_int_equal(info->segment_count, 64);
    assert_int_equal(info->segments_left_out, 136);
    recorded all = {0};
    assert_ok(read_source(source, 25, 3, &all));
    assert_int_equal(all.segments, 200);
    assert_int_equal(all.frames, m.frames);
    assert_int_equal(info->frames, m.frames);
    recorded_free(&all);
    source->ops->close(source);
}

#define EPOCH 1700000000123456789u

/* One frame per packet, timestamps in ns from the epoch: gaps by tolerance, to the ns. */
static void one_frame_a_packet(void **state)
{
    (void)state;
    begin(&m, 30, 1, 1000000000);
    uint64_t stamp = EPOCH;
    for (int i = 0; i < 3000; i++) {
        stamp += i == 1000   ? 1033000 /* 1 ms late, minus 333 ns */
                 : i == 1001 ? 1033700 /* and a gap */
                 : i == 2000 ? 500000001
                 : i == 2500 ? (uint64_t)-1
                 : i         ? 33333
                             : 0;
        packet(&m, stamp, 1);
    }
    uint64_t first = 1000 * 33333 + 1033000 - 33333 + 1033700;
    uint64_t second = first + 998 * 33333 + 500000001;
    const wanted all[] = {{0, 1001, 0}, {(int64_t)first, 999, 1001}, {(int64_t)second, 1000, 2000}};
    check_plain(&m, all, 3);
    check_said(own_path("x.ns5"),
               "times are relative to the first, 1700000000123456789 at 1000000000 Hz");
    check_said(own_path("x.ns5"), "501 of 3000 packets are late or early within gap_tolerance");
    weir_recording_options options = weir_recording_options_default();
    /* The second late one is 2.0003 ms late by then. */
    options.gap_tolerance_s = 2.1e-3;
    const wanted wider[] = {{0, 2000, 0}, {(int64_t)second, 1000, 2000}};
    check(own_path("x.ns5"), options, wider, 2);
    /* 0.05 s after the first frame. */
    options.start_s = 0.05;
    options.duration_s = 0.01;
    const wanted part = {50000000, 300, 1500};
    check(own_path("x.ns5"), options, &part, 1);
}

/* The distance from start + index / rate decides, nothing else (S4): packets that come late and
 * then on time are no gap, whatever the sequence. */
static void late_then_on_time(void **state)
{
    (void)state;
    static const int64_t late_ns[] = {70000, 999000, -999000};
    for (size_t k = 0; k < 3; k++) {
        begin(&m, 30, 1, 1000000000);
        for (uint64_t i = 0; i < 6000; i++) {
            bool off = k == 0 ? i == 3000 : i % 5 >= 3;
            int64_t late = !off ? 0 : k == 2 && i % 5 == 4 ? 999000 : late_ns[k];
            packet(&m, EPOCH + i * 100000 / 3 + (uint64_t)late, 1);
        }
        const wanted all = {0, 6000, 0};
        check_plain(&m, &all, 1);
        char said[120];
        snprintf(said, sizeof said,
                 "%d of 6000 packets are late or early within gap_tolerance (1 ms), by up to %s ms",
                 k == 0 ? 1 : 2400, k == 0 ? "0.07" : "0.999");
        check_said(own_path("x.ns5"), said);
    }
}

/* A clock that is 0.1 % fast exceeds the tolerance at some time; so do frames lost one at a
 * time. A larger tolerance joins the segments. */
static void drift(void **state)
{
    (void)state;
    for (int lost = 0; lost < 2; lost++) {
        begin(&m, 30, 1, 1000000000);
        for (uint64_t i = 0; i < 4000; i++) {
            packet(&m, EPOCH + (lost ? (i + i / 100) * 100000 / 3 : i * 33633), 1);
        }
        /* 299.67 ns each, 3338 of them; the 31st lost frame. */
        uint64_t first = lost ? 3100 : 3338;
        const wanted all[] = {
            {0, first, 0},
            {(int64_t)(lost ? 3131 * 100000ull / 3 : first * 33633), 4000 - first, (int)first}};
        check_plain(&m, all, 2);
        check_said(own_path("x.ns5"),
                   "1 gaps are drift, not jumps: timestamps drift from the stated rate; a larger "
                   "gap_tolerance (now 1 ms) removes them");
        weir_recording_options options = weir_recording_options_default();
        options.gap_tolerance_s = 10e-3;
        const wanted one = {0, 4000, 0};
        check(own_path("x.ns5"), options, &one, 1);
    }
}

/* Timestamps beyond 292 years in ns stay at the limit: they do not become negative. 32-bit ones
 * of another clock also wrap around to 0. */
static void far(void **state)
{
    (void)state;
    begin(&m, 30, 1, 30000);
    packet(&m, 0, 10);
    packet(&m, 30000ull * 9000000000, 10);
    packet(&m, 30000ull * 10000000000, 10);
    packet(&m, UINT64_MAX - 5, 10);
    packet(&m, 4, 10); /* continues */
    const wanted all[] = {
        {0, 10, 0}, {9000000000000000000, 10, 10}, {INT64_MAX, 10, 20}, {INT64_MAX, 20, 30}};
    check_plain(&m, all, 4);
    begin(&m, 30, 1, 1000000000);
    packet(&m, EPOCH, 10);
    packet(&m, 0, 10);
    packet(&m, UINT64_MAX - 1000000000, 10);
    const wanted ns[] = {{0, 10, 0}, {-(int64_t)EPOCH, 10, 10}, {INT64_MAX, 10, 20}};
    check_plain(&m, ns, 3);
    begin(&m, 23, 1, 1000000);
    packet(&m, UINT32_MAX - 99, 30);
    packet(&m, 900, 30);
    const wanted one = {0, 60, 0};
    check_plain(&m, &one, 1);
}

/* ---- ends ----------------------------------------------------------------------------------------- */

/* Truncated after any byte: complete frames are read, and what is lost is reported. */
static void cut_anywhere(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        begin(&m, kind == 0 ? 21 : kind == 1 ? 23 : 30, 1, kind == 2 ? 1000000000 : 30000);
        if (kind == 0) {
            rows(&m, 25);
        } else if (kind == 1) {
            packet(&m, 0, 12);
            packet(&m, 40, 13);
        } else {
            for (int i = 0; i < 25; i++) {
                packet(&m, EPOCH + (uint64_t)i * 33333, 1);
            }
        }
        size_t all_bytes = m.bytes, frame = 2 * CHANNELS;
        for (m.bytes = 0; m.bytes <= all_bytes; m.bytes++) {
            size_t behind = m.bytes > m.head ? m.bytes - m.head : 0, head = kind == 1 ? 9 : 13;
            if (m.bytes < m.head || (kind && behind && behind < head)) {
                assert_true(open_only(save(&m), NULL) == WEIR_E_RECORDING);
                continue;
            }
            size_t frames = kind == 0   ? behind / frame
                            : kind == 2 ? behind / (head + frame)
                            : behind < 2 * head + 12 * frame
                                ? (behind < head                ? 0
                                   : behind > head + 12 * frame ? 12
                                                                : (behind - head) / frame)
                                : 12 + (behind - 2 * head - 12 * frame) / frame;
            weir_source *source = NULL;
            weir_recording_options options = weir_recording_options_default();
            options.counts = true;
            assert_ok(weir_recording_open(save(&m), &options, &source));
            const weir_source_info *info = source->ops->info(source);
            assert_int_equal(info->frames, frames);
            bool clean = m.bytes == all_bytes || (kind == 2 && behind % (head + frame) == 0) ||
                         (kind == 1 && behind == head + 12 * frame) ||
                         (kind == 0 && behind % frame == 0);
            assert_true(clean || info->notice_count > (kind != 1));
            recorded all = {0};
            assert_ok(read_source(source, 7, 0, &all));
            assert_int_equal(all.frames, frames);
            for (size_t i = 0; i < frames * CHANNELS; i++) {
                assert_true(all.values[i] == count_of((int)(i / CHANNELS), (int)(i % CHANNELS)));
            }
            recorded_free(&all);
            source->ops->close(source);
        }
    }
    begin(&m, 23, 1, 30000);
    packet(&m, 0, 10);
    poke(m.head + 5, 30300, 4);
    check_said(save(&m),
               "offset 512: the data are truncated: 10 of 30300 frames are present, 30290 are");
}

/* Among packets of one frame a damaged one loses only itself. */
static void damaged_within(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        begin(&m, 30, 1, 1000000000);
        for (int i = 0; i < 100; i++) {
            uint64_t late = kind == 2 ? (i == 59) * 70000u : (i > 60) * 5000000u;
            packet(&m, EPOCH + (uint64_t)i * 33333 + late, 1);
        }
        size_t stride = 13 + 2 * CHANNELS;
        poke(m.head + 60 * stride, 0x55, 1); /* the last before a gap */
        if (kind == 2) {                     /* the last one before was late */
            weir_source *source = NULL;
            assert_ok(weir_recording_open(save(&m), NULL, &source));
            assert_int_equal(source->ops->info(source)->segment_count, 1);
            assert_int_equal(source->ops->info(source)->frames, 99);
            source->ops->close(source);
            continue;
        }
        if (kind) {
            poke(m.head + 98 * stride, 0x55, 1); /* too close to the end to be sure of the next */
        }
        const wanted all[] = {{0, 60, 0}, {61 * 33333 + 5000000, kind ? 37 : 39, 61}};
        check_plain(&m, all, 2);
        check_said(own_path("x.ns5"), "a damaged packet, 1 in all: 19 bytes are left out");
        if (kind) {
            check_said(own_path("x.ns5"), "found byte 85, expected 1 (data packet); the 38 bytes");
        }
    }
}

/* A killed writer has not written the number of frames yet. */
static void open_ended(void **state)
{
    (void)state;
    begin(&m, 23, 1, 30000);
    packet(&m, 0, 10);
    claim(&m, 100, 0);
    rows(&m, 33);
    put(&m, 7, 1); /* part of a frame */
    const wanted all[] = {{0, 10, 0}, {3333333, 33, 10}};
    check_plain(&m, all, 2);
    check_said(own_path("x.ns5"), "a packet states 0 frames, but data follow: 33 frames");
}

/* Any byte of a small file changed: read or refused by one line, within its own buffer. */
static void flipped(void **state)
{
    (void)state;
    static maker sound;
    begin(&m, 30, 1, 1000000000);
    packet(&m, EPOCH, 3);
    for (int i = 0; i < 4; i++) {
        packet(&m, EPOCH + 100000 + (uint64_t)i * 33333, 1);
    }
    claim(&m, EPOCH + 300000, 0);
    packet(&m, EPOCH + 400000, 2);
    sound = m;
    size_t refusals = 0, reads = 0;
    for (size_t at = 0; at < sound.bytes; at++) {
        if (at > 40 && at < 280) {
            continue; /* the comment */
        }
        static const unsigned char turns[] = {0x01, 0x80, 0xff};
        for (size_t i = 0; i < sizeof turns; i++) {
            m = sound;
            m.file[at] ^= turns[i];
            weir_source *source = NULL;
            weir_err err = weir_recording_open(save(&m), NULL, &source);
            if (err != WEIR_OK) {
                assert_null(strchr(weir_err_detail(), '\n'));
                refusals++;
                continue;
            }
            recorded all = {0};
            err = read_source(source, 4, 0, &all);
            assert_true(err == WEIR_OK);
            assert_int_equal(all.frames, source->ops->info(source)->frames);
            recorded_free(&all);
            source->ops->close(source);
            reads++;
        }
    }
    assert_true(refusals > 20 && reads > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pauses),
        cmocka_unit_test(empty_and_extra),
        cmocka_unit_test(many),
        cmocka_unit_test(one_frame_a_packet),
        cmocka_unit_test(late_then_on_time),
        cmocka_unit_test(drift),
        cmocka_unit_test(far),
        cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(damaged_within),
        cmocka_unit_test(open_ended),
        cmocka_unit_test(flipped),
    };
    return cmocka_run_group_tests_name("nsx_packets", tests, NULL, own_folder_remove);
}
