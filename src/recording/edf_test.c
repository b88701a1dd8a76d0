/* SPDX-License-Identifier: MIT
 *
 * Reading EDF and BDF files made here field by field: values, unusual headers that are read, wrong
 * ones that are refused with the field's name. Annotations and gaps are in edf_notes_test.c, real
 * files in tests/promise/recordings_test.c.
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
        options.channels = which & 2 ? "fp1,Fp2" : NULL; /* labels are found regardless of case */
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
            notice = "after the last record";
            break;
        case 5:
            m.date = "99.99.99";
            notice = "not a date";
            break;
        case 6:
            m.label[0] = m.label[1] = "EEG";
            notice = "renamed to EEG-2";
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

/* The last record is truncated and the header does not state how many there are: complete ones
 * are read. */
static void damaged_tail(void **state)
{
    (void)state;
    for (int zero = 0; zero < 2; zero++) { /* a killed recorder leaves both */
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
        assert_non_null(strstr(info->notices[zero], "53 of 60 bytes"));
        if (zero) {
            assert_string_equal(info->notices[0], "the header states 0 records, but data follow: 5 "
                                                  "records are read, up to the end of the file");
        }
        recorded all = {0};
        assert_ok(read_source(source, 100, 0, &all));
        assert_int_equal(all.frames, 50);
        recorded_free(&all);
        source->ops->close(source);
    }
}

/* DESIGN 9: file, offset, what was found, what was expected; no descriptor stays open. */
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
            m.range[1][0] = "-1e308";
            m.range[1][1] = "1e308";
            said = "signal 1 (Fp2): its range from -1e+308 to 1e+308 overflows; --exclude 1";
            break;
        case 5:
            m.range[1][2] = "-1e308";
            m.range[1][3] = "1e308";
            m.range[1][0] = "0";
            m.range[1][1] = "0.1";
            said = "signal 1 (Fp2): its range from 0 to 0.1 overflows";
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
            /* 256 + 4 * 216 + 8 */
            said =
                "offset 1128: found \"0\", expected at least 1 sample per record: signal 1 (Fp2)";
            break;
        case 13:
            m.samples[1] = "99999999";
            said = "the file ends within its first record";
            break;
        case 14:
            m.samples[1] = "1.5";
            said = "found \"1.5     \", expected the number of samples per record: signal 1 (Fp2)";
            break;
        case 15:
            m.range[1][2] = m.range[1][3] = "5";
            said = "signal 1 (Fp2): digital minimum and maximum are both 5; --exclude 1 leaves it "
                   "out, --raw delivers its counts";
            break;
        case 16:
            m.range[0][0] = "low";
            /* 256 + 4 * 104 */
            said =
                "offset 672: found \"low     \", expected a number: physical minimum of signal 0 "
                "(Fp1); --exclude 0";
            break;
        case 17:
            m.kind = "EDF+D";
            m.label[3] = "Other";
            said = "no annotation signal states";
            break;
        case 18:
            m.kind = "BDF+D";
            m.label[3] = "Other";
            said = "no annotation signal states";
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

/* Truncated after any byte: complete records are read and the rest is counted, whatever number
 * the header states. */
static void cut_anywhere(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        maker m;
        preset(&m);
        m.records = kind == 0 ? "6" : kind == 1 ? "99999999" : "-1";
        make(&m, "c.edf");
        size_t whole = m.bytes;
        weir_recording_options options = weir_recording_options_default();
        options.channels = "0-1";
        for (size_t cut = 0; cut < whole; cut += cut < 1345 ? 1 : 17) {
            const char *path = write_file("c.edf", m.file, cut);
            size_t records = cut < 1280 ? 0 : (cut - 1280) / 60, rest = (cut - 1280) % 60;
            if (records == 0) {
                assert_int_equal(open_only(path, &options), WEIR_E_RECORDING);
                assert_non_null(strstr(weir_err_detail(), "c.edf: offset "));
                continue;
            }
            weir_source *source = NULL;
            recorded all = {0};
            char said[2][100];
            size_t count = 0;
            snprintf(
                said[0], sizeof *said,
                "the file is truncated: %zu of %s records are complete and read, %zu are missing",
                records, m.records, (size_t)atol(m.records) - records);
            count += kind != 2;
            snprintf(said[count], sizeof *said, "last record truncated (%zu of 60 bytes); ignored",
                     rest);
            count += rest > 0;
            assert_ok(weir_recording_open(path, &options, &source));
            const weir_source_info *info = source->ops->info(source);
            assert_int_equal(info->notice_count, count);
            for (size_t i = 0; i < count; i++) {
                assert_string_equal(info->notices[i], said[i]);
            }
            assert_int_equal(info->frames, records * 10);
            assert_ok(read_source(source, 7, 0, &all));
            assert_int_equal(all.frames, records * 10);
            assert_true(all.values[all.frames * 2 - 1] ==
                        (double)(float)physical(1, count_of(1, (int)records * 10 - 1)));
            recorded_free(&all);
            source->ops->close(source);
        }
    }
}

/* A channel that cannot be read does not matter if it is not selected; the header's scale does
 * not matter for counts; weir info leaves such a channel out. */
static void flawed_channels(void **state)
{
    (void)state;
    for (int which = 0; which < 4; which++) {
        maker m;
        preset(&m);
        if (which == 0) {
            m.range[1][2] = m.range[1][3] = "0";
        } else if (which == 1) {
            m.range[1][0] = "";
        } else if (which == 2) {
            m.range[1][1] = "1e308";
        } else {
            m.range[1][0] = "";
            m.samples[1] = "0";
            m.counts[1] = 0;
        }
        char path[256];
        snprintf(path, sizeof path, "%s", make(&m, "f.edf"));
        for (int how = 0; how < 5; how++) {
            weir_recording_options options = weir_recording_options_default();
            options.channels = how == 0 ? "0" : how == 1 ? NULL : "0-1";
            options.exclude = how == 1 ? "Fp2,2" : NULL;
            options.counts = how == 2;
            options.one_rate = how == 3;
            if (how == 4 || (how == 2 && which == 3)) {
                assert_fails(open_only(path, &options), WEIR_E_RECORDING, "signal 1 (Fp2)");
                continue;
            }
            weir_source *source = NULL;
            recorded all = {0};
            assert_ok(weir_recording_open(path, &options, &source));
            const weir_source_info *info = source->ops->info(source);
            assert_int_equal(info->notice_count, how == 3);
            assert_ok(read_source(source, 7, 0, &all));
            assert_int_equal(all.frames, RECORDS * 10);
            assert_int_equal(all.columns, how == 2 ? 2 : 1);
            if (how == 2) {
                assert_true(all.values[2 * 25 + 1] == count_of(1, 25));
            } else {
                assert_true(all.values[25] == (double)(float)physical(0, count_of(0, 25)));
            }
            if (how == 3) {
                assert_non_null(strstr(info->notices[0], "1 channels are left out: offset "));
                assert_non_null(strstr(info->notices[0], "signal 1 (Fp2)"));
            }
            recorded_free(&all);
            source->ops->close(source);
        }
    }
    /* No samples in a record. */
    maker m;
    preset(&m);
    for (int i = 0; i < SIGNALS; i++) {
        m.samples[i] = "0";
        m.counts[i] = 0;
    }
    assert_fails(open_only(make(&m, "f.edf"), NULL), WEIR_E_RECORDING, "no signal has samples");
}

/* A day that does not exist is not another day. */
static void dates(void **state)
{
    (void)state;
    static const struct {
        const char *date, *recording, *start;
    } cases[] = {
        {"31.02.20", "", ""},
        {"29.02.20", "", "2020-02-29T04:05:06.25"},
        {"29.02.21", "", ""},
        {"30.04.99", "", "1999-04-30T04:05:06.25"},
        {"31.04.99", "", ""},
        {"29.02.00", "", "2000-02-29T04:05:06.25"},
        {"29.02.00", "Startdate 29-FEB-2100 X X X", ""}, /* the full year has no such day */
        {"00.01.20", "", ""},
        {"01.13.20", "", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        maker m;
        preset(&m);
        m.date = cases[i].date;
        m.recording = cases[i].recording;
        weir_recording_options options = weir_recording_options_default();
        options.channels = "0";
        weir_source *source = NULL;
        assert_ok(weir_recording_open(make(&m, "d.edf"), &options, &source));
        const weir_source_info *info = source->ops->info(source);
        assert_string_equal(info->start_time, cases[i].start);
        assert_int_equal(info->notice_count, *cases[i].start == 0);
        source->ops->close(source);
    }
}

/* Records above 4 MiB, and few of many channels, are read column by column in a bounded buffer. */
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

/* What is missing at the end of a pipe is known, and reported, once it has ended. */
static void from_a_pipe(void **state)
{
    (void)state;
    maker m;
    preset(&m);
    static const char *const stated[] = {"-1", "0", "6", "8"};
    for (int i = 0; i < 8; i++) {
        bool cut = i & 1;
        m.records = stated[i / 2];
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
        assert_true(info->frames == (i < 4 ? WEIR_FRAMES_UNKNOWN : (uint64_t)atol(m.records) * 10));
        recorded all = {0};
        assert_ok(read_source(source, 100, 0, &all));
        assert_int_equal(all.frames, cut ? 50 : 60);
        assert_true(all.values[2 * 49] == (double)(float)physical(0, count_of(0, 49)));
        recorded_free(&all);
        info = source->ops->info(source);
        bool missing = i >= 4 && (cut || i / 2 == 3);
        assert_int_equal(info->notice_count, 1 + missing + cut);
        assert_non_null(strstr(
            info->notices[0],
            "annotations, and gaps given by the onsets of records, are not read from a pipe"));
        if (missing) {
            char said[100];
            snprintf(
                said, sizeof said,
                "the file is truncated: %d of %s records are complete and read, %d are missing",
                cut ? 5 : 6, m.records, (int)atol(m.records) - (cut ? 5 : 6));
            assert_string_equal(info->notices[1], said);
        }
        if (cut) {
            assert_non_null(strstr(info->notices[1 + missing], "53 of 60 bytes"));
        }
        source->ops->close(source);
        close(ends[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),       cmocka_unit_test(one_of_many_and_time),
        cmocka_unit_test(wide_values),  cmocka_unit_test(odd_and_read),
        cmocka_unit_test(damaged_tail), cmocka_unit_test(wrong_and_refused),
        cmocka_unit_test(cut_anywhere), cmocka_unit_test(flawed_channels),
        cmocka_unit_test(dates),        cmocka_unit_test(large_records),
        cmocka_unit_test(from_a_pipe),
    };
    return cmocka_run_group_tests_name("edf", tests, NULL, own_folder_remove);
}
