/* SPDX-License-Identifier: MIT
 *
 * Annotations of EDF+ and BDF+: events on the clock of the segments, and the onsets of records, which make
 * segments where they do not follow on each other (S4). Files are made by make_edf.h.
 */
#include "make_edf.h"

/* Annotation lists of record r; texts hold zero bytes. */
#define LIST(r, text) (m.lists[r] = text, m.list_bytes[r] = sizeof text - 1)

static void preset_gaps(maker *of, bool bdf)
{
    maker m;
    preset(&m);
    m.bdf = bdf;
    m.kind = bdf ? "BDF+D" : "EDF+D";
    m.samples[3] = "100"; /* so that one channel is few of a record and read by columns */
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

/* Frames of a file with gaps: each as it stands, under any cut. */
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
        for (uint64_t t = 0; t < frames; t++) {
            assert_true(all.values[t * all.columns] == count_of(0, first_frame + (int)t));
        }
        recorded_free(&all);
        source->ops->close(source);
    }
}

/* S4: where the onset of a record is not where the one before ends, a segment begins. */
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
        assert_int_equal(info->notice_count, 0);
        source->ops->close(source);
        /* 1.5 s from the start: 0.25 s into the second segment; up to the third one's second frame. */
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
        /* Backwards is a gap whatever is allowed. */
        LIST(3, "+0\x14\x14\0");
        LIST(4, "+0.5\x14\x14\0");
        options.gap_tolerance_s = 100;
        static const uint64_t back[] = {30, 30};
        check_gaps(make(&m, "b.edf"), &options, back, 2, 0);
        /* A record that says nothing of its onset goes on. */
        LIST(1, "\0\0");
        options.gap_tolerance_s = 1e-3;
        static const uint64_t silent[] = {20, 10, 20, 10};
        check_gaps(make(&m, "s.edf"), &options, silent, 4, 0);
        assert_ok(weir_recording_open(own_path("s.edf"), &options, &source));
        assert_non_null(strstr(source->ops->info(source)->notices[0], "1 records state no onset"));
        source->ops->close(source);
        LIST(0, "\0\0");
        assert_fails(open_only(make(&m, "n.edf"), &options), WEIR_E_RECORDING, "states no onset");
    }
}

/* Of a file that is cut all that is whole can be had: with gaps it reaches to the end of the last whole record,
 * not as far as it has records. */
static void part_of_a_cut(void **state)
{
    (void)state;
    maker m;
    preset_gaps(&m, false);
    make(&m, "c.edf");
    const char *path = write_file("c.edf", m.file, m.bytes - 7);
    weir_recording_options options = weir_recording_options_default();
    options.counts = true;
    options.channels = "0-1";
    assert_fails(open_only(path, &options), WEIR_E_RECORDING,
                 "in record 6 of 6: each has 244 bytes; --duration 2.7498s takes the 5 before it");
    options.duration_s = 2.7498;
    static const uint64_t whole[] = {20, 30};
    check_gaps(path, &options, whole, 2, 0);
    options.duration_s = 2.8;
    assert_fails(open_only(path, &options), WEIR_E_RECORDING, "--duration 2.7498s");
    options.duration_s = 2.7498;
    path = write_file("c.edf", m.file, m.bytes - 6 * 244 + 10); /* none is whole */
    assert_fails(open_only(path, &options), WEIR_E_RECORDING,
                 "in record 1 of 6: each has 244 bytes");
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

/* Events come on the clock of the segments: from the first frame, which begins at 0.25 s. */
static void annotations(void **state)
{
    (void)state;
    maker m;
    preset_gaps(&m, false);
    weir_recording_options options = weir_recording_options_default();
    options.channels = "0-1";
    static const char *const all[] = {"50000000 100000000 blink", "1250000000 -1 one",
                                      "1250000000 -1 two", "8750000000 -1 far \xc2\xb5V",
                                      "-150000000 -1 before"};
    check_annotations(make(&m, "a.edf"), &options, all, 5);
    options.start_s = 0.1; /* within the blink, which lasts until 0.15 s */
    check_annotations(own_path("a.edf"), &options, all, 4);
    options.start_s = 0.2;
    options.duration_s = 3;
    check_annotations(own_path("a.edf"), &options, all + 1, 2);
    /* Continuous recordings hold them as well. */
    m.kind = "EDF+C";
    options.start_s = options.duration_s = NAN;
    check_annotations(make(&m, "a.edf"), &options, all, 5);
}

/* M6: as many as there is room for, and the count of the rest. */
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
    weir_recording_options options = weir_recording_options_default();
    options.channels = "0-1";
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
        cmocka_unit_test(annotations),
        cmocka_unit_test(many_annotations),
    };
    return cmocka_run_group_tests_name("edf notes", tests, NULL, own_folder_remove);
}
