/* SPDX-License-Identifier: MIT
 *
 * EDF and BDF in, on files made here field by field: values, odd headers that are read, wrong ones that
 * are refused by name of the field. Real files: tests/promise/recordings_test.c.
 */
#include "recordings.h"

/* A file in the making: 2 signals of one rate, 1 slower one, annotations; each can be changed. */
enum { SIGNALS = 4, RECORDS = 6 };
typedef struct maker {
    bool bdf;
    const char *kind, *records, *duration, *signals, *head_bytes, *recording, *date, *time;
    const char *label[SIGNALS], *unit[SIGNALS], *samples[SIGNALS];
    const char *range[SIGNALS][4]; /* physical min, max, digital min, max */
    int counts[SIGNALS];
    const char *lists[RECORDS]; /* annotations of a record; NULL = its onset only */
    size_t list_bytes[RECORDS]; /* samples put into a record */
    size_t bytes;
    unsigned char file[1 << 16];
} maker;

static void preset(maker *m)
{
    *m = (maker){
        .kind = "EDF+C",
        .records = "6",
        .duration = "0.5",
        .signals = "4",
        .head_bytes = "1280",
        .recording = "Startdate 03-FEB-2093 X X X",
        .date = "03.02.93",
        .time = "04.05.06",
        .label = {"Fp1", "Fp2", "Temp", "EDF Annotations"},
        .unit = {"uV", "\xb5V", "degC", ""},
        .samples = {"10", "10", "2", "8"},
        .range = {{"-100", "100", "-2048", "2047"},
                  {"100", "-100", "-2048", "2047"}, /* inverted */
                  {"30", "40", "-2048", "2047"},
                  {"-1", "1", "-32768", "32767"}},
        .counts = {10, 10, 2, 8},
    };
}

/* Count of sample t of signal s. */
static int count_of(int s, int t)
{
    return (t * 37 + s * 101) % 4096 - 2048;
}

static void put(maker *m, const char *text, size_t width)
{
    memset(m->file + m->bytes, ' ', width);
    memcpy(m->file + m->bytes, text, strlen(text));
    m->bytes += width;
}

static void put_all(maker *m, const char *const *texts, size_t stride, size_t width)
{
    for (int i = 0; i < SIGNALS; i++) {
        put(m, texts[i * stride], width);
    }
}

static const char *make(maker *m, const char *name)
{
    static const char *const blank[SIGNALS] = {"", "", "", ""};
    m->bytes = 0;
    memset(m->file, 0, sizeof m->file);
    put(m,
        m->bdf ? "\xff"
                 "BIOSEMI"
               : "0",
        8);
    put(m, "X X X X", 80);
    put(m, m->recording, 80);
    put(m, m->date, 8);
    put(m, m->time, 8);
    put(m, m->head_bytes, 8);
    put(m, m->kind, 44);
    put(m, m->records, 8);
    put(m, m->duration, 8);
    put(m, m->signals, 4);
    put_all(m, m->label, 1, 16);
    put_all(m, blank, 1, 80);
    put_all(m, m->unit, 1, 8);
    for (int k = 0; k < 4; k++) {
        put_all(m, &m->range[0][k], 4, 8);
    }
    put_all(m, blank, 1, 80);
    put_all(m, m->samples, 1, 8);
    put_all(m, blank, 1, 32);
    size_t width = m->bdf ? 3 : 2;
    for (int r = 0; r < RECORDS; r++) {
        for (int s = 0; s < SIGNALS; s++) {
            if (s == 3) {
                if (m->lists[r]) {
                    memcpy(m->file + m->bytes, m->lists[r], m->list_bytes[r]);
                } else {
                    snprintf((char *)m->file + m->bytes, 16, "+%g\x14\x14", 0.25 + r * 0.5);
                }
                m->bytes += (size_t)m->counts[3] * width;
                continue;
            }
            for (int i = 0; i < m->counts[s]; i++) {
                int count = count_of(s, r * m->counts[s] + i);
                for (size_t b = 0; b < width; b++) {
                    m->file[m->bytes++] = (unsigned char)((unsigned)count >> (8 * b));
                }
            }
        }
    }
    return write_file(name, m->file, m->bytes);
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
    maker m;
    preset(&m);
    m.records = "-1";
    make(&m, "d.edf");
    const char *path = write_file("d.edf", m.file, m.bytes - 7);
    weir_recording_options options = weir_recording_options_default();
    options.channels = "0-1";
    weir_source *source = NULL;
    assert_ok(weir_recording_open(path, &options, &source));
    const weir_source_info *info = source->ops->info(source);
    assert_int_equal(info->frames, 50);
    assert_non_null(strstr(info->notices[0], "53 of its 60 bytes"));
    recorded all = {0};
    assert_ok(read_source(source, 100, 0, &all));
    assert_int_equal(all.frames, 50);
    recorded_free(&all);
    source->ops->close(source);
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
    m.records = "-1";
    make(&m, "p.edf");
    for (int cut = 0; cut < 2; cut++) {
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

/* Annotation lists of record r; texts hold zero bytes. */
#define LIST(r, text) (m.lists[r] = text, m.list_bytes[r] = sizeof text - 1)

static void preset_gaps(maker *of, bool bdf)
{
    maker m;
    preset(&m);
    m.bdf = bdf;
    m.kind = bdf ? "BDF+D" : "EDF+D";
    m.samples[3] = "30";
    m.counts[3] = 30;
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
        options.channels = kind & 2 ? "0" : "0-1"; /* one of many is read by columns */
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
        cmocka_unit_test(values),       cmocka_unit_test(one_of_many_and_time),
        cmocka_unit_test(wide_values),  cmocka_unit_test(odd_and_read),
        cmocka_unit_test(damaged_tail), cmocka_unit_test(wrong_and_refused),
        cmocka_unit_test(cut_anywhere), cmocka_unit_test(large_records),
        cmocka_unit_test(from_a_pipe),  cmocka_unit_test(gaps),
        cmocka_unit_test(annotations),  cmocka_unit_test(many_annotations),
    };
    return cmocka_run_group_tests_name("edf", tests, NULL, own_folder_remove);
}
