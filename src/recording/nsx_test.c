/* SPDX-License-Identifier: MIT
 *
 * Blackrock NSx in, on files made here byte by byte: specs, pauses, clocks, ends that are not clean, wrong
 * headers: gaps by S4, nothing that grows with the recording (M6). Files of other writers:
 * tests/promise/recordings_test.c.
 */
#include "recordings.h"

enum { CHANNELS = 3 };

/* A file in the making. */
typedef struct maker {
    unsigned spec; /* 21, 22, 23, 30 */
    uint32_t period, resolution;
    int frames;         /* put so far */
    size_t bytes, head; /* all, and of the file's header */
    unsigned char file[1 << 18];
} maker;

static void put(maker *m, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        m->file[m->bytes++] = (unsigned char)(i < 8 ? value >> (8 * i) : 0);
    }
}

static void put_text(maker *m, const char *text, size_t width)
{
    memset(m->file + m->bytes, 0, width);
    memcpy(m->file + m->bytes, text, strlen(text) < width ? strlen(text) : width);
    m->bytes += width;
}

static void put_channel(maker *m, int i)
{
    static const char *const labels[CHANNELS] = {"elec1", "sixteen letters.", "elec3"};
    put_text(m, "CC", 2);
    put(m, (uint64_t)i + 1, 2);
    put_text(m, labels[i], 16);
    put(m, 1, 1);
    put(m, (uint64_t)i, 1);
    /* The last one's scale is not even about 0. */
    put(m, (uint16_t)(i == 2 ? -1000 : -32764), 2);
    put(m, i == 2 ? 3000 : 32764, 2);
    put(m, (uint16_t)(i == 2 ? 0 : -8191), 2);
    put(m, i == 2 ? 5 : 8191, 2);
    put_text(m, i == 2 ? "mV" : "uV", 16);
    put(m, 0, 20);
}

static void begin(maker *m, unsigned spec, uint32_t period, uint32_t resolution)
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

static int count_of(int frame, int channel)
{
    return (frame * 37 + channel * 1001) % 60000 - 30000;
}

static void rows(maker *m, int frames)
{
    for (int end = m->frames + frames; m->frames < end; m->frames++) {
        for (int c = 0; c < CHANNELS; c++) {
            put(m, (uint16_t)count_of(m->frames, c), 2);
        }
    }
}

static void claim(maker *m, uint64_t stamp, uint32_t frames)
{
    put(m, 1, 1);
    put(m, stamp, m->spec == 30 ? 8 : 4);
    put(m, frames, 4);
}

static void packet(maker *m, uint64_t stamp, int frames)
{
    claim(m, stamp, (uint32_t)frames);
    rows(m, frames);
}

static const char *save(const maker *m)
{
    return write_file("x.ns5", m->file, m->bytes);
}

static weir_err open_only(const char *path, const weir_recording_options *options)
{
    weir_source *source = NULL;
    weir_err err = weir_recording_open(path, options, &source);
    if (err == WEIR_OK) {
        source->ops->close(source);
    }
    return err;
}

/* What is said at opening, and each frame under any cut. frames_at: number of a segment's first one. */
typedef struct wanted {
    int64_t start_ns;
    uint64_t frames;
    int first;
} wanted;

static void
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

static void check_plain(const maker *m, const wanted *segments, size_t count)
{
    check(save(m), weir_recording_options_default(), segments, count);
}

/* The notice that says it, or a failure that shows all. */
static void check_said(const char *path, const char *text)
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

static maker m;

/* ---- headers -------------------------------------------------------------------------------------- */

static void specs(void **state)
{
    (void)state;
    static const unsigned all[] = {21, 22, 23, 30};
    for (size_t i = 0; i < 4; i++) {
        begin(&m, all[i], 15, 30000);
        if (all[i] == 21) {
            rows(&m, 500);
        } else {
            packet(&m, 3000, 500);
        }
        const wanted one = {all[i] == 21 ? 0 : 100000000, 500, 0};
        check_plain(&m, &one, 1);
        weir_source *source = NULL;
        assert_ok(weir_recording_open(own_path("x.ns5"), NULL, &source));
        const weir_source_info *info = source->ops->info(source);
        assert_string_equal(info->format, "nsx");
        assert_true(info->spec.rate_hz == 2000);
        const char *const *labels = info->spec.dims[1].labels;
        recorded read = {0};
        if (all[i] == 21) {
            assert_string_equal(labels[0], "chan1");
            assert_string_equal(labels[1], "ainp2");
            assert_string_equal(labels[2], "chan145");
            assert_string_equal(info->start_time, "");
            assert_null(info->scales);
            check_said(own_path("x.ns5"), "states no scale");
            assert_ok(read_source(source, 100, 0, &read));
            assert_true(read.values[3] == count_of(1, 0));
        } else {
            assert_string_equal(labels[1], "sixteen letters.");
            assert_string_equal(info->spec.units[0], "uV");
            assert_string_equal(info->spec.units[2], "mV");
            assert_string_equal(info->start_time, "2024-02-29T23:59:58.007Z");
            assert_int_equal(info->notice_count, 0);
            assert_ok(read_source(source, 100, 0, &read));
            for (int t = 0; t < 500; t++) {
                assert_true(read.values[3 * t] == count_of(t, 0) * 0.25);
                double third = (count_of(t, 2) + 1000) * 5.0 / 4000;
                assert_true(fabs(read.values[3 * t + 2] - third) <= fabs(third) * 0x1p-24);
            }
        }
        recorded_free(&read);
        source->ops->close(source);
    }
}

/* Channels are picked from rows, and from packets of one frame. */
static void picks(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        begin(&m, 30, 1, 30000);
        for (int i = 0; i < 300; i += kind ? 300 : 1) {
            packet(&m, (uint64_t)i, kind ? 300 : 1);
        }
        weir_recording_options options = weir_recording_options_default();
        options.channels = "2,0";
        options.counts = true;
        weir_source *source = NULL;
        assert_ok(weir_recording_open(save(&m), &options, &source));
        recorded all = {0};
        assert_ok(read_source(source, 64, 9, &all));
        assert_int_equal(all.frames, 300);
        assert_int_equal(all.segments, 1);
        for (int t = 0; t < 300; t++) {
            assert_true(all.values[2 * t] == count_of(t, 2));
            assert_true(all.values[2 * t + 1] == count_of(t, 0));
        }
        recorded_free(&all);
        source->ops->close(source);
    }
}

static void refused(const char *said)
{
    int before = open_descriptors();
    assert_fails(open_only(save(&m), NULL), WEIR_E_RECORDING, said);
    assert_non_null(strstr(weir_err_detail(), "x.ns5: offset "));
    assert_int_equal(open_descriptors(), before);
}

static void poke(size_t at, uint64_t value, size_t bytes)
{
    size_t end = m.bytes;
    m.bytes = at;
    put(&m, value, bytes);
    m.bytes = end;
}

static void wrong_and_refused(void **state)
{
    (void)state;
    static const struct {
        unsigned spec;
        size_t at;
        uint64_t value;
        size_t bytes;
        const char *said;
    } cases[] = {
        {21, 24, 0, 4, "found a period of 0"},
        {21, 28, 0, 4, "found 0 channels"},
        {21, 28, 0xffffffff, 4, "found 4294967295 channels, expected 1 to 16384"},
        {21, 28, 5000, 4, "the file ends within its header"},
        {23, 8, 3, 1, "found file spec 3.3, expected 2.2 or 2.3"},
        {30, 8, 2, 1, "found file spec 2.0, expected 3.0"},
        {23, 10, 10, 4, "found a header of 10 bytes, expected at least 512"},
        {23, 10, 1u << 30, 4, "found a header of 1073741824 bytes"},
        {23, 286, 0, 4, "found a period of 0"},
        {23, 290, 0, 4, "found a time resolution of 0"},
        {23, 310, 0, 4, "found 0 channels"},
        {23, 310, 16384, 4, "the file ends within its header"},
        {23, 380, 'X', 1, "offset 380: found bytes 88 67, expected CC of channel 1"},
        {23, 512, 7, 1, "offset 512: found byte 7, expected 1 (data packet)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin(&m, cases[i].spec, 1, 30000);
        packet(&m, 0, 20);
        poke(cases[i].at, cases[i].value, cases[i].bytes);
        refused(cases[i].said);
    }
}

/* Files beside the recording say what they are; options that do not suit are refused. */
static void kin(void **state)
{
    (void)state;
    const char *path = write_file("y.dat", "NEURALEV\x02\x01 and so on", 20);
    assert_fails(open_only(path, NULL), WEIR_E_RECORDING, "NEV file: spikes and events");
    path = write_file("y.nev", "BREVENTS\x03", 9);
    assert_fails(open_only(path, NULL), WEIR_E_RECORDING, "NEV file: spikes and events");
    path = write_file("y.ccf", "<?xml version=\"1.0\"?><CCF Version=\"1\">", 37);
    assert_fails(open_only(path, NULL), WEIR_E_RECORDING, "CCF file: settings of the system");
    path = write_file("y.ns2", "something", 9);
    assert_fails(open_only(path, NULL), WEIR_E_RECORDING, "not an NSx file");
    begin(&m, 23, 1, 30000);
    packet(&m, 0, 20);
    weir_recording_options options = weir_recording_options_default();
    options.rate_hz = 1000;
    assert_fails(open_only(save(&m), &options), WEIR_E_USAGE, "state their rate");
    int ends[2];
    char name[32];
    assert_int_equal(pipe(ends), 0);
    close(ends[1]);
    snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
    options = weir_recording_options_default();
    options.format = "nsx";
    assert_fails(open_only(name, &options), WEIR_E_USAGE, "cannot be read from a pipe");
    close(ends[0]);
}

static void odd_and_read(void **state)
{
    (void)state;
    begin(&m, 23, 1, 30000);
    packet(&m, 0, 20);
    poke(300, 77, 2); /* a day */
    poke(314 + 22, 0, 4);
    poke(314 + 30, 0xb5, 1);
    poke(314 + 66 + 30, 0xb5, 1);
    check_said(save(&m), "is not a valid time; the start is unknown");
    check_said(own_path("x.ns5"), "counts are delivered");
    poke(296, 2, 2); /* 31 February */
    poke(300, 31, 2);
    check_said(save(&m), "2024-2-31 23:59:58.7 is not a valid time; the start is unknown");
    weir_source *source = NULL;
    assert_ok(weir_recording_open(own_path("x.ns5"), NULL, &source));
    const weir_source_info *info = source->ops->info(source);
    assert_string_equal(info->start_time, "");
    assert_string_equal(info->spec.units[0], "");
    assert_string_equal(info->spec.units[1], "\xc2\xb5V");
    source->ops->close(source);
    /* Headers of a kind that is not known yet stand behind those of the channels. */
    begin(&m, 23, 1, 30000);
    put(&m, 0, 99);
    poke(10, m.bytes, 4);
    packet(&m, 0, 20);
    const wanted all = {0, 20, 0};
    check_plain(&m, &all, 1);
}

/* ---- segments ------------------------------------------------------------------------------------- */

static void pauses(void **state)
{
    (void)state;
    static const unsigned specs_of[] = {22, 30};
    for (size_t i = 0; i < 2; i++) {
        begin(&m, specs_of[i], 15, 30000);
        packet(&m, 300, 100);  /* 10 ms */
        packet(&m, 1800, 50);  /* goes on where the first ends */
        packet(&m, 2551, 7);   /* one tick late */
        packet(&m, 30000, 30); /* 1 s */
        packet(&m, 0, 40);     /* the clock was set back */
        const wanted all[] = {
            {10000000, 150, 0}, {85033333, 7, 150}, {1000000000, 30, 157}, {0, 40, 187}};
        check_plain(&m, all, 4);
        /* From 0.02 s behind the first frame, for 0.0576 s: the end of the first one, some of the second. */
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
    /* Stamps of 32 bit begin again after 40 hours, in the midst of a segment. */
    begin(&m, 23, 1, 30000);
    packet(&m, UINT32_MAX - 9, 20);
    packet(&m, 10, 20);
    const wanted one = {143165576200000, 40, 0};
    check_plain(&m, &one, 1);
}

/* What Central writes beside the data at a pause. */
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
    packet(&m, 3000, 1); /* a frame by itself stays */
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

/* One frame a packet, stamps in ns from the epoch: gaps by tolerance, to the ns. */
static void one_frame_a_packet(void **state)
{
    (void)state;
    begin(&m, 30, 1, 1000000000);
    uint64_t stamp = EPOCH;
    for (int i = 0; i < 3000; i++) {
        stamp += i == 1000   ? 1033000 /* 1 ms late, all but 333 ns */
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
    /* The second one of those that are late is 2.0003 ms behind by then. */
    options.gap_tolerance_s = 2.1e-3;
    const wanted wider[] = {{0, 2000, 0}, {(int64_t)second, 1000, 2000}};
    check(own_path("x.ns5"), options, wider, 2);
    /* 0.05 s behind the first frame. */
    options.start_s = 0.05;
    options.duration_s = 0.01;
    const wanted part = {50000000, 300, 1500};
    check(own_path("x.ns5"), options, &part, 1);
}

/* The distance from start + index / rate decides, nothing else (S4): packets that come late and then on time
 * are no gap, however the stamps fall. */
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

/* A clock that runs 0.1 % fast is off by more than the tolerance some day; so are frames that are lost one at a
 * time. A larger tolerance joins them. */
static void drift(void **state)
{
    (void)state;
    for (int lost = 0; lost < 2; lost++) {
        begin(&m, 30, 1, 1000000000);
        for (uint64_t i = 0; i < 4000; i++) {
            packet(&m, EPOCH + (lost ? (i + i / 100) * 100000 / 3 : i * 33633), 1);
        }
        /* 299.67 ns each, 3338 of them; the 31st that is lost. */
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

/* Stamps beyond 292 years of ns stay there: they do not become negative. Ones of 32 bit and another clock begin
 * again at 0 as well. */
static void far(void **state)
{
    (void)state;
    begin(&m, 30, 1, 30000);
    packet(&m, 0, 10);
    packet(&m, 30000ull * 9000000000, 10);
    packet(&m, 30000ull * 10000000000, 10);
    packet(&m, UINT64_MAX - 5, 10);
    packet(&m, 4, 10); /* goes on */
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

/* Cut behind any byte: what is whole is read, what is lost is said. */
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

/* Of packets of one frame a damaged one loses itself. */
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
        if (kind == 2) {                     /* the last before it was late */
            weir_source *source = NULL;
            assert_ok(weir_recording_open(save(&m), NULL, &source));
            assert_int_equal(source->ops->info(source)->segment_count, 1);
            assert_int_equal(source->ops->info(source)->frames, 99);
            source->ops->close(source);
            continue;
        }
        if (kind) {
            poke(m.head + 98 * stride, 0x55, 1); /* too near to the end to be sure of the next */
        }
        const wanted all[] = {{0, 60, 0}, {61 * 33333 + 5000000, kind ? 37 : 39, 61}};
        check_plain(&m, all, 2);
        check_said(own_path("x.ns5"), "a damaged packet, 1 in all: 19 bytes are left out");
        if (kind) {
            check_said(own_path("x.ns5"), "found byte 85, expected 1 (data packet); the 38 bytes");
        }
    }
}

/* A writer that was killed had not come to write the number of frames. */
static void open_ended(void **state)
{
    (void)state;
    begin(&m, 23, 1, 30000);
    packet(&m, 0, 10);
    claim(&m, 100, 0);
    rows(&m, 33);
    put(&m, 7, 1); /* some of a frame */
    const wanted all[] = {{0, 10, 0}, {3333333, 33, 10}};
    check_plain(&m, all, 2);
    check_said(own_path("x.ns5"), "a packet states 0 frames, but data follow: 33 frames");
}

/* Any byte of a small file turned over: read or refused by one line, within its own buffer. */
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
        cmocka_unit_test(specs),
        cmocka_unit_test(picks),
        cmocka_unit_test(wrong_and_refused),
        cmocka_unit_test(kin),
        cmocka_unit_test(odd_and_read),
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
    return cmocka_run_group_tests_name("nsx", tests, NULL, own_folder_remove);
}
