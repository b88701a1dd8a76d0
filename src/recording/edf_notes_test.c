/* SPDX-License-Identifier: MIT
 *
 * Annotations of EDF+ and BDF+: events in the time of the segments, and the onsets of records,
 * which begin segments if they are not contiguous (S4). Files are made by make_edf.h.
 */
#include "make_edf.h"

/* Annotation lists of record r; texts contain zero bytes. */
#define LIST(r, text) (m.lists[r] = text, m.list_bytes[r] = sizeof text - 1)

/* Reads the two signals of the higher rate. */
static weir_recording_options two_signals(bool counts)
{
    weir_recording_options options = weir_recording_options_default();
    options.channels = "0-1";
    options.counts = counts;
    return options;
}

static void preset_gaps(maker *of, bool bdf)
{
    maker m;
    preset(&m);
    m.bdf = bdf;
    m.kind = bdf ? "BDF+D" : "EDF+D";
    m.samples[3] = "100"; /* so that one channel is a small part of a record and read by columns */
    m.counts[3] = 100;
    m.head_bytes = "1280";
    LIST(0, "+0.25\x14\x14\0+0.3\x15"
            "0.1\x14"
            "blink\x14\0");
    LIST(1, "+0.75\x14\x14\0");
    LIST(2, "+1.5\x14\x14\0+1.5\x14one\x14two\x14\0");
    LIST(3, "+2.0\x14\x14\0no list\0+9\x14"
            "far \xb5V\x14\0");
    LIST(4, "+2.4998\x14\x14\0"); /* 0.2 ms early */
    LIST(5, "+5\x14\x14\0+0.1\x14"
            "before\x14\0+7\x15x\x14"
            "cut");
    *of = m;
}

/* Frames of a file with gaps, for any message boundaries. */
static void check_gaps(const char *path,
                       const weir_recording_options *options,
                       const uint64_t *lengths,
                       size_t count,
                       int first_frame)
{
    for (uint64_t seed = 0; seed < 4; seed++) {
        weir_source *source = NULL;
        assert_ok(weir_recording_open(path, options, &source));
        const weir_source_info *info = source->ops->info(source);
        assert_int_equal(info->segment_count, count);
        uint64_t frames = 0;
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(info->segments[i].frames, lengths[i]);
            frames += lengths[i];
        }
        assert_int_equal(info->frames, frames);
        recorded all = {0};
        assert_ok(read_source(source, seed == 3 ? 7 : 64, seed, &all));
        assert_int_equal(all.frames, frames);
        assert_int_equal(all.segments, count);
        assert_int_equal(all.last_frames, lengths[count - 1]);
        for (uint64_t t = 0; t < frames; t++) {
            assert_true(all.values[t * all.columns] == count_of(0, first_frame + (int)t));
        }
        recorded_free(&all);
        source->ops->close(source);
    }
}

/* S4: if the onset of a record is not where the one before ends, a segment begins. */
static void gaps(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        maker m;
        preset_gaps(&m, kind & 1);
        const char *path = make(&m, kind & 1 ? "g.bdf" : "g.edf");
        weir_recording_options options = weir_recording_options_default();
        options.counts = true;
        options.channels = kind & 2 ? "0" : "0-1";
        static const uint64_t whole[] = {20, 30, 10};
        check_gaps(path, &options, whole, 3, 0);
        weir_source *source = NULL;
        assert_ok(weir_recording_open(path, &options, &source));
        const weir_source_info *info = source->ops->info(source);
        assert_string_equal(info->start_time, "2093-02-03T04:05:06.25");
        assert_int_equal(info->segments[1].start_ns, 1250000000);
        assert_int_equal(info->segments[2].start_ns, 4750000000);
        assert_int_equal(info->notice_count, 3);
        static const char *const said[] = {
            "1 annotation lists have no readable onset; left out",
            "1 annotations have a negative or invalid duration; kept without duration",
            "1 annotations do not end within their record; their texts may be truncated"};
        for (size_t i = 0; i < 3; i++) {
            assert_string_equal(info->notices[i], said[i]);
        }
        source->ops->close(source);
        /* 1.5 s from the start: 0.25 s into the second segment; up to the third one's second
         * frame. */
        options.start_s = 1.5;
        options.duration_s = 3.35;
        static const uint64_t part[] = {25, 2};
        check_gaps(path, &options, part, 2, 25);
        options.start_s = 4.9;
        options.duration_s = NAN;
        static const uint64_t end[] = {7};
        check_gaps(path, &options, end, 1, 53);
        options.start_s = NAN;
        options.gap_tolerance_s = 0.3;
        static const uint64_t wide[] = {50, 10};
        check_gaps(path, &options, wide, 2, 0);
        options.gap_tolerance_s = 0.1e-3;
        static const uint64_t narrow[] = {20, 20, 10, 10};
        check_gaps(path, &options, narrow, 4, 0);
        /* Backwards counts like forwards: the distance decides, nothing else. */
        LIST(3, "+0\x14\x14\0");
        LIST(4, "+0.5\x14\x14\0");
        static const uint64_t back[] = {30, 20, 10};
        options.gap_tolerance_s = 1.7;
        check_gaps(make(&m, "b.edf"), &options, back, 3, 0);
        static const uint64_t one[] = {60};
        options.gap_tolerance_s = 100;
        check_gaps(own_path("b.edf"), &options, one, 1, 0);
        /* A record without an onset continues the one before. */
        LIST(1, "\0\0");
        options.gap_tolerance_s = 1e-3;
        static const uint64_t silent[] = {20, 10, 20, 10};
        check_gaps(make(&m, "s.edf"), &options, silent, 4, 0);
        assert_ok(weir_recording_open(own_path("s.edf"), &options, &source));
        assert_non_null(strstr(source->ops->info(source)->notices[0], "1 records have no onset"));
        source->ops->close(source);
        LIST(0, "\0\0");
        assert_fails(open_only(make(&m, "n.edf"), &options), WEIR_E_RECORDING, "has no onset");
    }
}

/* Of a truncated file all complete records are read, gaps included. */
static void part_of_a_cut(void **state)
{
    (void)state;
    maker m;
    preset_gaps(&m, false);
    make(&m, "c.edf");
    weir_recording_options options = two_signals(true);
    static const uint64_t whole[] = {20, 30};
    check_gaps(write_file("c.edf", m.file, m.bytes - 7), &options, whole, 2, 0);
    m.records = "-1";
    make(&m, "c.edf");
    check_gaps(write_file("c.edf", m.file, m.bytes - 7), &options, whole, 2, 0);
    const char *path = write_file("c.edf", m.file, m.bytes - 6 * 244 + 10); /* none is complete */
    assert_fails(open_only(path, &options), WEIR_E_RECORDING,
                 "the file ends within its first record: found 10 bytes, expected 244");
}

/* The notices of a file, word for word. */
static void check_notices(const char *path, const char *const *said, size_t count)
{
    weir_source *source = NULL;
    weir_recording_options options = two_signals(false);
    assert_ok(weir_recording_open(path, &options, &source));
    const weir_source_info *info = source->ops->info(source);
    for (size_t i = 0; i < info->notice_count && i < count; i++) {
        assert_string_equal(info->notices[i], said[i]);
    }
    assert_int_equal(info->notice_count, count);
    source->ops->close(source);
}

/* A file that states it has no gaps is read by its onsets. */
static void jumps(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        static const char *const kinds[] = {"EDF+C", "EDF+", "EDF"};
        maker m;
        preset(&m);
        m.kind = kinds[kind];
        m.duration = "1";
        m.records = "3";
        m.samples[3] = "30";
        m.counts[3] = 30;
        LIST(0, "+0\x14\x14\0");
        LIST(1, "+1\x14\x14\0");
        LIST(2, "+60\x14\x14\0+60.5\x14late\x14\0");
        weir_recording_options options = two_signals(true);
        static const uint64_t lengths[] = {20, 10};
        const char *path = make(&m, "j.edf");
        path = write_file("j.edf", m.file, m.bytes - 3 * (m.bytes - 1280) / 6);
        check_gaps(path, &options, lengths, 2, 0);
        char said[120];
        snprintf(said, sizeof said,
                 "%s states that there are no gaps, but the onsets of its records have 1 gaps",
                 kinds[kind]);
        const char *const all[] = {said};
        check_notices(path, all, 1);
        weir_source *source = NULL;
        assert_ok(weir_recording_open(path, &options, &source));
        const weir_source_info *info = source->ops->info(source);
        assert_int_equal(info->segments[1].start_ns, 60000000000);
        assert_int_equal(info->annotations[0].onset_ns, 60500000000);
        source->ops->close(source);
    }
}

/* The distance is from start + index / rate: late and then on time is no gap, a drift is one as
 * soon as it exceeds the tolerance, and a notice explains it. */
static void distances(void **state)
{
    (void)state;
    maker m;
    preset(&m);
    m.duration = "1";
    m.samples[3] = "30";
    m.counts[3] = 30;
    LIST(0, "+0\x14\x14\0");
    LIST(1, "+1.0009\x14\x14\0");
    LIST(2, "+1.9991\x14\x14\0");
    LIST(3, "+3\x14\x14\0");
    LIST(4, "+4.001\x14\x14\0"); /* to the ns */
    LIST(5, "+5\x14\x14\0");
    weir_recording_options options = two_signals(true);
    static const uint64_t one[] = {60};
    check_gaps(make(&m, "j.edf"), &options, one, 1, 0);
    check_notices(own_path("j.edf"), NULL, 0);
    LIST(1, "+1.0004\x14\x14\0");
    LIST(2, "+2.0008\x14\x14\0");
    LIST(3, "+3.0012\x14\x14\0");
    LIST(4, "+4.0016\x14\x14\0");
    LIST(5, "+5.002\x14\x14\0");
    static const uint64_t two[] = {30, 30};
    check_gaps(make(&m, "j.edf"), &options, two, 2, 0);
    static const char *const said[] = {
        "EDF+C states that there are no gaps, but the onsets of its records have 1 gaps",
        "1 gaps are drift, not jumps: onsets drift from the stated record duration; a larger "
        "gap_tolerance (now 1 ms) removes them"};
    check_notices(own_path("j.edf"), said, 2);
}

static void check_annotations(const char *path,
                              const weir_recording_options *options,
                              const char *const *texts,
                              size_t count)
{
    weir_source *source = NULL;
    assert_ok(weir_recording_open(path, options, &source));
    const weir_source_info *info = source->ops->info(source);
    assert_int_equal(info->annotation_count, count);
    for (size_t i = 0; i < count; i++) {
        const weir_annotation *event = &info->annotations[i];
        char found[80];
        snprintf(found, sizeof found, "%lld %lld %.40s", (long long)event->onset_ns,
                 (long long)event->duration_ns, event->text);
        assert_string_equal(found, texts[i]);
    }
    assert_int_equal(info->annotations_left_out, 0);
    source->ops->close(source);
}

/* Events are relative to the first frame, which begins at 0.25 s. */
static void annotations(void **state)
{
    (void)state;
    maker m;
    preset_gaps(&m, false);
    weir_recording_options options = two_signals(false);
    static const char *const all[] = {"50000000 100000000 blink", "1250000000 -1 one",
                                      "1250000000 -1 two",        "8750000000 -1 far \xc2\xb5V",
                                      "-150000000 -1 before",     "6750000000 -1 cut"};
    check_annotations(make(&m, "a.edf"), &options, all, 6);
    options.start_s = 0.1; /* within the blink, which lasts until 0.15 s */
    static const char *const within[] = {"50000000 100000000 blink", "1250000000 -1 one",
                                         "1250000000 -1 two", "8750000000 -1 far \xc2\xb5V",
                                         "6750000000 -1 cut"};
    check_annotations(own_path("a.edf"), &options, within, 5);
    options.start_s = 0.2;
    options.duration_s = 3;
    check_annotations(own_path("a.edf"), &options, all + 1, 2);
    /* Continuous recordings contain them as well. */
    m.kind = "EDF+C";
    options.start_s = options.duration_s = NAN;
    check_annotations(make(&m, "a.edf"), &options, all, 6);
}

/* One list in a file of its own: its result, or the notice. */
static void lists(void **state)
{
    (void)state;
    static const char none[] = "1 annotation lists have no readable onset; left out";
    static const char untimed[] =
        "1 annotations have a negative or invalid duration; kept without duration";
    static const char cut[] =
        "1 annotations do not end within their record; their texts may be truncated";
#define BYTES(text) text, sizeof text - 1
    static const struct {
        const char *list;
        size_t bytes;
        const char *event, *notice;
    } cases[] = {
        {BYTES("+1.5\x14x\x14\0"), "1500000000 -1 x", NULL},
        {BYTES("+1,5\x15"
               "0,25\x14x\x14\0"),
         "1500000000 250000000 x", NULL},
        {BYTES("+1.5e1\x14x\x14\0"), "15000000000 -1 x", NULL},
        {BYTES("+15E-1\x15+2.5e-1\x14x\x14\0"), "1500000000 250000000 x", NULL},
        {BYTES("1.5\x14x\x14\0"), "1500000000 -1 x", NULL},
        {BYTES("+ 1.5\x14x\x14\0"), NULL, none},
        {BYTES(" +1.5 \x14x\x14\0"), "1500000000 -1 x", NULL},
        {BYTES("+1.\x14x\x14\0"), "1000000000 -1 x", NULL},
        {BYTES("-.5\x14x\x14\0"), "-500000000 -1 x", NULL},
        {BYTES("+0.1234567894\x14x\x14\0"), "123456789 -1 x", NULL},
        {BYTES("+0.1234567895\x14x\x14\0"), "123456790 -1 x", NULL},
        {BYTES("+5e-10\x14x\x14\0"), "1 -1 x", NULL},
        {BYTES("+4e-10\x14x\x14\0"), "0 -1 x", NULL},
        {BYTES("+9e-99999999999\x14x\x14\0"), "0 -1 x", NULL},
        {BYTES("+0e99999999999\x14x\x14\0"), "0 -1 x", NULL},
        {BYTES("+4611686018.427387904\x14x\x14\0"), "4611686018427387904 -1 x", NULL},
        {BYTES("+4611686018.427387905\x14x\x14\0"), NULL, none},
        {BYTES("+9000000000\x14x\x14\0"), NULL, none},
        {BYTES("-9223372036854775808\x14x\x14\0"), NULL, none},
        {BYTES("+1e300\x14x\x14\0"), NULL, none},
        {BYTES("+1\x15\x14x\x14\0"), "1000000000 -1 x", NULL},
        {BYTES("+1\x15-1\x14x\x14\0"), "1000000000 -1 x", untimed},
        {BYTES("+1\x15long\x14x\x14\0"), "1000000000 -1 x", untimed},
        {BYTES("+1\x15"
               "1e99\x14x\x14\0"),
         "1000000000 -1 x", untimed},
        {BYTES("+1\x15"
               "1\x15"
               "2\x14x\x14\0"),
         "1000000000 -1 x", untimed},
        {BYTES("+1.2.3\x14x\x14\0"), NULL, none},
        {BYTES("+1,234.5\x14x\x14\0"), NULL, none},
        {BYTES("+\x14x\x14\0"), NULL, none},
        {BYTES("+.\x14x\x14\0"), NULL, none},
        {BYTES("+1e\x14x\x14\0"), NULL, none},
        {BYTES("\x14x\x14\0"), NULL, none},
        {BYTES("+nan\x14x\x14\0"), NULL, none},
        {BYTES("+1 and no more"), NULL, none},
        {BYTES("+1\x14x\0"), "1000000000 -1 x", cut},
        {BYTES("+1\x14two\n lines,\ta tab\r\n\x14\0"), "1000000000 -1 two\n lines,\ta tab", NULL},
        {BYTES("+1\x14"
               "a\x07z\x14\0"),
         "1000000000 -1 a?z", NULL},
        {BYTES("                 "), NULL, NULL}, /* fills the record */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char list[64] = "+0\x14\x14";
        memcpy(list + 5, cases[i].list, cases[i].bytes);
        maker m;
        preset(&m);
        m.samples[3] = "30";
        m.counts[3] = 30;
        m.kind = "EDF+C";
        m.records = "1";
        m.lists[0] = list;
        m.list_bytes[0] = cases[i].bytes + 5;
        make(&m, "l.edf");
        const char *path = write_file("l.edf", m.file, 1280 + 2 * (10 + 10 + 2 + 30));
        weir_recording_options options = two_signals(false);
        check_annotations(path, &options, &cases[i].event, cases[i].event != NULL);
        check_notices(path, &cases[i].notice, cases[i].notice != NULL);
    }
    /* A list truncated by the record's end. */
    maker m;
    preset(&m);
    m.records = "1";
    LIST(0, "+0\x14\x14\0+1\x14start of");
    m.samples[3] = "8";
    make(&m, "l.edf");
    static const char *const event[] = {"1000000000 -1 start of"}, *const said[] = {cut};
    const char *path = write_file("l.edf", m.file, 1280 + 2 * (10 + 10 + 2 + 8));
    weir_recording_options options = two_signals(false);
    check_annotations(path, &options, event, 1);
    check_notices(path, said, 1);
}

/* Values far beyond any recording neither wrap around nor begin a segment. */
static void far(void **state)
{
    (void)state;
    maker m;
    preset(&m);
    m.duration = "1e8";
    m.records = "6";
    m.samples[0] = m.samples[1] = m.samples[2] = "1000";
    m.counts[0] = m.counts[1] = m.counts[2] = 1000;
    m.samples[3] = "40";
    m.counts[3] = 40;
    LIST(0, "-4611686018\x14\x14\0");
    LIST(1, "+1e12\x14\x14\0");
    LIST(2, "+4611686018\x14\x14\0+4611686018\x15"
            "4611686018\x14last\x14\0");
    LIST(3, "\0");
    LIST(4, "\0");
    LIST(5, "\0");
    weir_recording_options options = two_signals(true);
    static const uint64_t lengths[] = {2000, 4000};
    check_gaps(make(&m, "f.edf"), &options, lengths, 2, 0);
    static const char *const events[] = {"9223372036000000000 4611686018000000000 last"};
    check_annotations(own_path("f.edf"), &options, events, 1);
    /* The part of the last segment that a selection leaves begins beyond 292 years. */
    options.start_s = 9223372036.0 + 1e8;
    static const uint64_t part[] = {3000};
    check_gaps(own_path("f.edf"), &options, part, 1, 3000);
    weir_source *source = NULL;
    assert_ok(weir_recording_open(own_path("f.edf"), &options, &source));
    assert_true(source->ops->info(source)->segments[0].start_ns == INT64_MAX);
    source->ops->close(source);
}

/* A text longer than the limit is cut between characters, and counted. */
static void long_texts(void **state)
{
    (void)state;
    maker m;
    preset(&m);
    char list[600] = "+0.25\x14\x14";
    char *at = list + 9;
    at += sprintf(at, "+1\x14");
    for (int i = 0; i < 201; i++) {
        at += sprintf(at, i ? "\xc2\xb5" : "x");
    }
    at += sprintf(at, "\x14");
    m.samples[3] = "300";
    m.counts[3] = 300;
    m.lists[0] = list;
    m.list_bytes[0] = (size_t)(at - list);
    static const char *const said[] = {"1 annotations are truncated to 400 bytes"};
    check_notices(make(&m, "t.edf"), said, 1);
    weir_source *source = NULL;
    weir_recording_options options = two_signals(false);
    assert_ok(weir_recording_open(own_path("t.edf"), &options, &source));
    assert_int_equal(strlen(source->ops->info(source)->annotations[0].text), 399);
    source->ops->close(source);
}

/* M6: as many as fit, and the number of the rest. */
static void many_annotations(void **state)
{
    (void)state;
    maker m;
    preset(&m);
    char list[2 * 2048];
    size_t used = (size_t)snprintf(list, sizeof list, "+0.25\x14\x14") + 1;
    for (int i = 0; i < 400; i++) {
        used += (size_t)snprintf(list + used, sizeof list - used, "+%d\x14n\x14", i) + 1;
    }
    m.samples[3] = "2048";
    m.counts[3] = 2048;
    for (int r = 0; r < RECORDS; r++) {
        m.lists[r] = list;
        m.list_bytes[r] = used;
    }
    weir_recording_options options = two_signals(false);
    weir_source *source = NULL;
    assert_ok(weir_recording_open(make(&m, "m.edf"), &options, &source));
    const weir_source_info *info = source->ops->info(source);
    assert_int_equal(info->annotation_count, 1024);
    assert_int_equal(info->annotations_left_out, 400 * RECORDS - 1024);
    source->ops->close(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaps),
        cmocka_unit_test(part_of_a_cut),
        cmocka_unit_test(jumps),
        cmocka_unit_test(distances),
        cmocka_unit_test(annotations),
        cmocka_unit_test(lists),
        cmocka_unit_test(far),
        cmocka_unit_test(long_texts),
        cmocka_unit_test(many_annotations),
    };
    return cmocka_run_group_tests_name("edf notes", tests, NULL, own_folder_remove);
}
