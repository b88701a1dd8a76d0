/* SPDX-License-Identifier: MIT
 *
 * EDF and BDF in, on files made here field by field: values, odd headers that are read, wrong ones that
 * are refused by name of the field. Annotations and gaps: edf_notes_test.c; real files:
 * tests/promise/recordings_test.c.
 */
#include "make_edf.h"

static double physical(int s, int count)
{
    static const double low[] = {-100, 100, 30}, high[] = {100, -100, 40};
    return (count + 2048.0) * (high[s] - low[s]) / 4095 + low[s];
}

static void check_two(weir_source *source, size_t tile, uint64_t seed, bool counts)
{
    recorded all = {0};
    assert_ok(read_source(source, tile, seed, &all));
    assert_int_equal(all.frames, RECORDS * 10);
    assert_int_equal(all.columns, 2);
    for (int t = 0; t < RECORDS * 10; t++) {
        for (int s = 0; s < 2; s++) {
            double found = all.values[t * 2 + s];
            int count = count_of(s, t);
            assert_true(found == (counts ? count : (double)(float)physical(s, count)));
        }
    }
    recorded_free(&all);
}

static void values(void **state)
{
    (void)state;
    uint64_t seed = testing_seed("edf");
    for (int which = 0; which < 8; which++) {
        maker m;
        preset(&m);
        m.bdf = which & 1;
        m.label[3] = m.bdf ? "BDF Annotations" : "EDF Annotations";
        m.kind = m.bdf ? "BDF+C" : "EDF+C";
        weir_recording_options options = weir_recording_options_default();
        options.channels = which & 2 ? "fp1,Fp2" : NULL; /* labels are found case-blind too */
        options.exclude = which & 2 ? NULL : "Temp";
        options.counts = which & 4;
        weir_source *source = NULL;
        assert_ok(weir_recording_open(make(&m, "v.edf"), &options, &source));
        const weir_source_info *info = source->ops->info(source);
        assert_string_equal(info->format, "edf");
        assert_string_equal(info->spec.dims[1].labels[1], "Fp2");
        assert_true(info->spec.rate_hz == 20);
        assert_int_equal(info->frames, RECORDS * 10);
        assert_int_equal(info->segment_count, 1);
        assert_int_equal(info->notice_count, 0);
        /* Seconds from the header, year from EDF+, fraction from the first annotation. */
        assert_string_equal(info->start_time, "2093-02-03T04:05:06.25");
        assert_true(info->scales[1] == -200.0 / 4095);
        if (options.counts) {
            assert_int_equal(info->spec.dtype, m.bdf ? WEIR_I32 : WEIR_I16);
        } else {
            assert_string_equal(info->spec.units[1], "\xc2\xb5V"); /* Latin-1 has become UTF-8 */
            assert_int_equal(info->spec.dtype, m.bdf ? WEIR_F32 : WEIR_F32);
        }
        check_two(source, 13, seed + (uint64_t)which, options.counts);
        source->ops->close(source);
    }
}

static void one_of_many_and_time(void **state)
{
    (void)state;
    maker m;
    preset(&m);
    weir_recording_options options = weir_recording_options_default();
    options.channels = "2";
    options.start_s = 0.75; /* frame 3 of 4 Hz */
    options.duration_s = 1;
    weir_source *source = NULL;
    assert_ok(weir_recording_open(make(&m, "t.edf"), &options, &source));
    recorded all = {0};
    assert_ok(read_source(source, 3, 0, &all));
    assert_int_equal(all.frames, 4);
    assert_int_equal(all.first_index, 3);
    for (int t = 0; t < 4; t++) {
        assert_true(all.values[t] == (double)(float)physical(2, count_of(2, t + 3)));
    }
    recorded_free(&all);
    source->ops->close(source);
    /* Nothing selected: two rates. */
    options = weir_recording_options_default();
    assert_fails(open_only(own_path("t.edf"), &options), WEIR_E_USAGE,
                 "20 Hz: 0-1; 4 Hz: 2 (Temp)");
}

/* DESIGN 3: counts that f32 would merge are delivered in f64. */
static void wide_values(void **state)
{
    (void)state;
    maker m;
    preset(&m);
    m.range[0][0] = "175921";
    m.range[0][1] = "175946";
    m.range[0][2] = "-32768";
    m.range[0][3] = "32767";
    weir_recording_options options = weir_recording_options_default();
    options.channels = "0";
    weir_source *source = NULL;
    assert_ok(weir_recording_open(make(&m, "w.edf"), &options, &source));
    assert_int_equal(source->ops->info(source)->spec.dtype, WEIR_F64);
    recorded all = {0};
    assert_ok(read_source(source, 100, 0, &all));
    for (int t = 0; t < RECORDS * 10; t++) {
        double expected = (count_of(0, t) + 32768.0) * 25 / 65535 + 175921;
        assert_true(fabs(all.values[t] - expected) < 1e-9);
    }
    recorded_free(&all);
    source->ops->close(source);
}

static void odd_and_read(void **state)
{
    (void)state;
    for (int which = 0; which < 9; which++) {
        maker m;
        preset(&m);
        const char *notice = NULL;
        switch (which) {
        case 0:
            m.records = "     6";
            break;
        case 1:
            m.records = "-1";
            break;
        case 2:
            m.duration = "  0,5";
            break;
        case 3:
            m.kind = "";
            m.recording = "";
            break;
        case 4:
            m.records = "5";
            notice = "behind the last record";
            break;
        case 5:
            m.date = "99.99.99";
            notice = "no date";
            break;
        case 6:
            m.label[0] = m.label[1] = "EEG";
            notice = "now EEG-2";
            break;
        case 7:
            m.label[0] = "";
            break;
        case 8:
            m.range[0][0] = m.range[0][1] = "7";
            notice = "counts are delivered";
            break;
        }
        weir_recording_options options = weir_recording_options_default();
        options.channels = "0-1";
        weir_source *source = NULL;
        assert_ok(weir_recording_open(make(&m, "o.edf"), &options, &source));
        const weir_source_info *info = source->ops->info(source);
        assert_int_equal(info->frames, which == 4 ? 50 : 60);
        assert_int_equal(info->notice_count, notice != NULL);
        if (notice && strstr(info->notices[0], notice) == NULL) {
            fail_msg("'%s' is not in '%s'", notice, info->notices[0]);
        }
        if (which == 3) {
            assert_string_equal(info->start_time, "1993-02-03T04:05:06.25");
        }
        if (which != 4 && which != 8) {
            check_two(source, 9, 0, false);
        }
        source->ops->close(source);
    }
}

/* The last record is cut and the header does not say how many there are: what is whole is read. */
static void damaged_tail(void **state)
{
    (void)state;
    for (int zero = 0; zero < 2; zero++) { /* both are what a recorder leaves that was killed */
        maker m;
        preset(&m);
        m.records = zero ? "0" : "-1";
        make(&m, "d.edf");
        const char *path = write_file("d.edf", m.file, m.bytes - 7);
        weir_recording_options options = weir_recording_options_default();
        options.channels = "0-1";
        weir_source *source = NULL;
        assert_ok(weir_recording_open(path, &options, &source));
        const weir_source_info *info = source->ops->info(source);
        assert_int_equal(info->frames, 50);
        assert_int_equal(info->notice_count, 1 + zero);
        assert_non_null(strstr(info->notices[zero], "53 of its 60 bytes"));
        if (zero) {
            assert_string_equal(
                info->notices[0],
                "the header states 0 records and data follow: 5 are read to the end of the file");
        }
        recorded all = {0};
        assert_ok(read_source(source, 100, 0, &all));
        assert_int_equal(all.frames, 50);
        recorded_free(&all);
        source->ops->close(source);
    }
}

/* DESIGN 9: file, offset, what was found, what was expected; nothing stays open. */
static void wrong_and_refused(void **state)
{
    (void)state;
    for (int which = 0; which < 20; which++) {
        maker m;
        preset(&m);
        const char *said = "";
        switch (which) {
        case 0:
            m.signals = "9999";
            said = "9999 signals: their header has 2560000 bytes";
            break;
        case 1:
            m.signals = "0";
            said = "offset 252: found \"0";
            break;
        case 2:
            m.signals = "-4";
            said = "offset 252: found \"-4";
            break;
        case 3:
            m.head_bytes = "1024";
            said = "offset 184";
            break;
        case 4:
            m.records = "7";
            said = "in record 7 of 7";
            break;
        case 5:
            m.records = "99999999";
            said = "in record 7 of 99999999";
            break;
        case 6:
            m.records = "many";
            said = "offset 236: found \"many";
            break;
        case 7:
            m.records = "-2";
            said = "offset 236: found \"-2";
            break;
        case 8:
            m.duration = "0";
            said = "offset 244";
            break;
        case 9:
            m.duration = "-1";
            said = "offset 244";
            break;
        case 10:
            m.duration = "1e-300";
            said = "offset 244";
            break;
        case 11:
            m.duration = "nan";
            said = "offset 244";
            break;
        case 12:
            m.samples[1] = "0";
            said = "offset 1128: found \"0"; /* 256 + 4 * 216 + 8 */
            break;
        case 13:
            m.samples[1] = "99999999";
            said = "in record 1 of 6";
            break;
        case 14:
            m.samples[1] = "1.5";
            said = "samples a record";
            break;
        case 15:
            m.range[1][2] = m.range[1][3] = "5";
            said = "digital minimum and maximum are both 5";
            break;
        case 16:
            m.range[0][0] = "low";
            said = "offset 672: found \"low"; /* 256 + 4 * 104 */
            break;
        case 17:
            m.kind = "EDF+D";
            m.label[3] = "Other";
            said = "no annotation signal says";
            break;
        case 18:
            m.kind = "BDF+D";
            m.label[3] = "Other";
            said = "no annotation signal says";
            break;
        case 19:
            m.label[0] = m.label[1] = m.label[2] = "EDF Annotations";
            said = "no signals";
            break;
        }
        int before = open_descriptors();
        weir_recording_options options = weir_recording_options_default();
        options.channels = "0-1";
        assert_fails(open_only(make(&m, "x.edf"), &options), WEIR_E_RECORDING, said);
        assert_non_null(strstr(weir_err_detail(), "x.edf: offset "));
        assert_int_equal(open_descriptors(), before);
    }
}

static void cut_anywhere(void **state)
{
    (void)state;
    maker m;
    preset(&m);
    make(&m, "c.edf");
    size_t whole = m.bytes;
    weir_recording_options options = weir_recording_options_default();
    options.channels = "0-1";
    for (size_t cut = 0; cut < whole; cut += cut < 1290 ? 1 : 17) {
        const char *path = write_file("c.edf", m.file, cut);
        assert_int_equal(open_only(path, &options), WEIR_E_RECORDING);
        assert_non_null(strstr(weir_err_detail(), "c.edf: offset "));
    }
}

/* Records above 4 MiB, and few channels out of many, are read column by column in a bounded buffer. */
static void large_records(void **state)
{
    (void)state;
    enum { N = 150000, S = 16 };
    size_t bytes = 256 * (S + 1) + (size_t)N * S * 2;
    char *file = malloc(bytes);
    assert_non_null(file);
    memset(file, ' ', 256 * (S + 1));
    memcpy(file, "0", 1);
    memcpy(file + 168, "01.01.0101.01.01", 16);
    memcpy(file + 184, "4352", 4);
    memcpy(file + 236, "1", 1);
    memcpy(file + 244, "5", 1);
    memcpy(file + 252, "16", 2);
    static const char *const fields[] = {"-32768", "32767", "-32768", "32767"};
    for (int i = 0; i < S; i++) {
        file[256 + i * 16] = (char)('A' + i);
        for (int k = 0; k < 4; k++) {
            memcpy(file + 256 + S * (104 + 8 * k) + i * 8, fields[k], strlen(fields[k]));
        }
        memcpy(file + 256 + S * 216 + i * 8, "150000", 6);
    }
    for (int i = 0; i < S; i++) {
        for (int t = 0; t < N; t++) {
            int16_t count = (int16_t)(t * 3 + i * 1000);
            memcpy(file + 256 * (S + 1) + ((size_t)i * N + (size_t)t) * 2, &count, 2);
        }
    }
    const char *path = write_file("l.edf", file, bytes);
    free(file);
    weir_recording_options options = weir_recording_options_default();
    weir_source *source = NULL;
    assert_ok(weir_recording_open(path, &options, &source));
    uint64_t plan = 0;
    assert_ok(source->ops->plan(source, 300, &plan));
    assert_true(plan <= 1024 * 1024);
    recorded all = {0};
    assert_ok(read_source(source, 300, 0, &all));
    assert_int_equal(all.frames, N);
    for (size_t i = 0; i < (size_t)N * S; i++) {
        assert_true(all.values[i] == (double)(int16_t)((int)(i / S) * 3 + (int)(i % S) * 1000));
    }
    recorded_free(&all);
    source->ops->close(source);
}

static void from_a_pipe(void **state)
{
    (void)state;
    maker m;
    preset(&m);
    for (int i = 0; i < 4; i++) {
        bool cut = i & 1;
        m.records = i & 2 ? "0" : "-1";
        make(&m, "p.edf");
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        size_t bytes = m.bytes - (cut ? 7 : 0);
        assert_int_equal(write(ends[1], m.file, bytes), (ssize_t)bytes);
        close(ends[1]);
        char path[64];
        snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
        weir_recording_options options = weir_recording_options_default();
        options.channels = "0-1";
        options.format = "edf";
        weir_source *source = NULL;
        assert_ok(weir_recording_open(path, &options, &source));
        const weir_source_info *info = source->ops->info(source);
        assert_true(info->frames == WEIR_FRAMES_UNKNOWN);
        if (cut) {
            recorded all = {0};
            assert_ok(read_source(source, 100, 0, &all));
            assert_int_equal(all.frames, 50);
            info = source->ops->info(source);
            assert_int_equal(info->notice_count, 2);
            assert_non_null(strstr(info->notices[0], "annotations are not read from a pipe"));
            assert_non_null(strstr(info->notices[1], "53 of its 60 bytes"));
            recorded_free(&all);
        } else {
            check_two(source, 100, 0, false);
        }
        source->ops->close(source);
        close(ends[0]);
    }
}

/* A file that is shorter than it states is refused, but for who asks for a part that is whole. */
static void part_of_a_cut(void **state)
{
    (void)state;
    static maker m;
    preset(&m);
    make(&m, "p.edf");
    const char *path = write_file("p.edf", m.file, m.bytes - 50); /* five of six records of 0.5 s */
    weir_recording_options options = weir_recording_options_default();
    options.channels = "0-1";
    assert_fails(open_only(path, &options), WEIR_E_RECORDING,
                 "in record 6 of 6: each has 60 bytes; --duration 2.5s takes the 5 before it");
    options.duration_s = 2.6;
    assert_fails(open_only(path, &options), WEIR_E_RECORDING, "in record 6 of 6");
    for (int i = 0; i < 2; i++) {
        options.start_s = i;
        options.duration_s = 2.5 - i;
        weir_source *source = NULL;
        recorded all = {0};
        assert_ok(weir_recording_open(path, &options, &source));
        assert_string_equal(source->ops->info(source)->notices[0],
                            "the file is cut: 5 of 6 records are whole");
        assert_ok(read_source(source, 7, 0, &all));
        assert_int_equal(all.frames, 50 - 20 * i);
        assert_true(all.values[0] == (double)(float)physical(0, count_of(0, 20 * i)));
        source->ops->close(source);
        recorded_free(&all);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),        cmocka_unit_test(one_of_many_and_time),
        cmocka_unit_test(wide_values),   cmocka_unit_test(odd_and_read),
        cmocka_unit_test(damaged_tail),  cmocka_unit_test(wrong_and_refused),
        cmocka_unit_test(cut_anywhere),  cmocka_unit_test(part_of_a_cut),
        cmocka_unit_test(large_records), cmocka_unit_test(from_a_pipe),
    };
    return cmocka_run_group_tests_name("edf", tests, NULL, own_folder_remove);
}
