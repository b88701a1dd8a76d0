/* SPDX-License-Identifier: MIT
 *
 * Columns of text: what is taken as labels, numbers, missing, time; what is refused and where; every cut of
 * a file gives its whole rows; what is written reads back as the same values.
 */
#include "recordings.h"

static weir_err open_text(const char *text, double rate, weir_source **ret)
{
    FILE *file = fopen(own_path("t.csv"), "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    weir_recording_options options = weir_recording_options_default();
    options.rate_hz = rate;
    return weir_recording_open(own_path("t.csv"), &options, ret);
}

static void check(const char *text, const char *labels, size_t count, const double *values)
{
    weir_source *source = NULL;
    recorded all = {0};
    assert_ok(open_text(text, 100, &source));
    const weir_spec *spec = &source->ops->info(source)->spec;
    char found[200] = "";
    for (uint64_t i = 0; i < spec->dims[1].size; i++) {
        strcat(strcat(found, i ? " " : ""), spec->dims[1].labels[i]);
    }
    assert_string_equal(found, labels);
    assert_ok(read_source(source, 3, 7, &all));
    source->ops->close(source);
    assert_int_equal(all.frames * all.columns, count);
    for (size_t i = 0; i < count; i++) {
        assert_true(isnan(values[i]) ? isnan(all.values[i]) : all.values[i] == values[i]);
    }
    recorded_free(&all);
}
#define CHECK(text, labels, ...)                                                                   \
    check(text, labels, sizeof((double[]){__VA_ARGS__}) / sizeof(double), (double[]){__VA_ARGS__})

static void what_is_read(void **state)
{
    (void)state;
    CHECK("1,2\n3,4\n", "ch0 ch1", 1, 2, 3, 4);
    CHECK("a,b\r\n1, 2\r\n3 ,4", "a b", 1, 2, 3, 4);
    CHECK("\xef\xbb\xbfx\n1\n\n2\n\n", "x", 1, 2);
    CHECK("a\tb c\n\t2\nnan\t-3e2\n", "a b c", NAN, 2, NAN, -300);
    CHECK("a;b\n1;NA\n+2;\n", "a b", 1, NAN, 2, NAN);
    CHECK("  1   2 \n3\t4\n", "ch0 ch1", 1, 2, 3, 4);
    CHECK("\"1\",\"a \"\"b\"\", c\"\n5,6\n", "1 a \"b\", c", 5, 6);
    CHECK("# Labels:= ECG\n# a remark\n7\n", "ECG", 7);
    CHECK("time,x\n0,1\n0.01,2\n", "x", 1, 2); /* no channel */
    CHECK("inf\n-inf\n.5\n", "ch0", INFINITY, -INFINITY, 0.5);
    CHECK("a,b\n1,2\n3,4\n5", "a b", 1, 2, 3, 4); /* breaks off */
    CHECK("a,b\n1,2\n3,4\n5,e", "a b", 1, 2, 3, 4);
}

/* "1.5" may have been "1.57": told, but of weir's own files, which end every line, not read. */
static void last_line_without_an_end(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text, *notice;
        uint64_t rows;
    } cases[] = {
        {"a.csv", "a,b\n1,2\n3,4.5", "its last value may be cut short", 2},
        {"a.csv.part", "a,b\n1,2\n3,4.5", "breaks off; its row is not read", 1},
        {"b.csv", "a,b\n1,2\n3,", "breaks off; its row is not read", 1},
        {"c.csv", "a,b\n1,2\n3,4.5\n", NULL, 2},
        {"c.csv.part", "a,b\n1,2\n3,4.5\n", NULL, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int ends[2];
        for (int piped = 0; piped < 2 - (cases[i].name[5] == '.'); piped++) {
            weir_recording_options options = weir_recording_options_default();
            options.rate_hz = 100;
            options.format = "csv";
            char path[64];
            if (piped) {
                assert_int_equal(pipe(ends), 0);
                size_t bytes = strlen(cases[i].text);
                assert_int_equal(write(ends[1], cases[i].text, bytes), (ssize_t)bytes);
                close(ends[1]);
                snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
            }
            const char *file =
                piped ? path : write_file(cases[i].name, cases[i].text, strlen(cases[i].text));
            weir_source *source = NULL;
            recorded all = {0};
            assert_ok(weir_recording_open(file, &options, &source));
            assert_ok(read_source(source, 64, 0, &all));
            assert_int_equal(all.frames, cases[i].rows);
            const weir_source_info *info = source->ops->info(source);
            assert_int_equal(info->notice_count, cases[i].notice != NULL);
            if (cases[i].notice) {
                assert_non_null(strstr(info->notices[0], cases[i].notice));
            }
            source->ops->close(source);
            recorded_free(&all);
            if (piped) {
                close(ends[0]);
            }
        }
    }
}

static void what_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"a,b\n1,2\n3\n4,5\n", "line 3: found 1 fields, expected 2"},
        {"a,b\n1,2\n3,4,5\n4,5\n", "line 3: found 3 fields, expected 2"},
        {"a,b\n1,2\n3,x\n4,5\n", "line 3, column 2: found \"x\", expected a number"},
        {"a;b\n1,5;2\n3;4\n", "line 2, column 1: found \"1,5\", expected a number"},
        {"a,b\n1,\"2\n3,4\n", "line 2: found the line's end, expected a closing quote"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weir_source *source = NULL;
        recorded all = {0};
        assert_ok(open_text(cases[i].text, 100, &source));
        assert_fails(read_source(source, 64, 0, &all), WEIR_E_RECORDING, cases[i].part);
        source->ops->close(source);
        recorded_free(&all);
    }
    weir_source *source = NULL;
    assert_fails(open_text("a,b\n1,2\n", 0, &source), WEIR_E_USAGE, "--rate");
    assert_fails(open_text("# nothing\n\n", 1, &source), WEIR_E_RECORDING, "without a row");
    char wide[400];
    memset(wide, 'x', sizeof wide - 1);
    wide[sizeof wide - 1] = 0;
    assert_fails(open_text(wide, 1, &source), WEIR_E_RECORDING, "more than 255 bytes");
}

/* S4: gaps of a column of times are segments, under any cut and selection. */
static void gaps(void **state)
{
    (void)state;
    static const char text[] =
        "x,time\n1,5\n2,5.01\n3,5.5\n4,5.51\n5,5.52\n6,5.51\n7,nan\n8,5.53\n";
    const struct {
        double start, duration, tolerance;
        size_t frames, segments;
        double values[8];
        int64_t starts[3];
    } cases[] = {
        {NAN, NAN, 1e-3, 8, 3, {1, 2, 3, 4, 5, 6, 7, 8}, {0, 500000000, 510000000}},
        {0.505, NAN, 1e-3, 5, 2, {4, 5, 6, 7, 8}, {510000000, 510000000}},
        {0.3, 0.205, 1e-3, 1, 1, {3}, {500000000}},
        {NAN, 0.3, 1e-3, 2, 1, {1, 2}, {0}},
        {NAN, NAN, 0.6, 8, 2, {1, 2, 3, 4, 5, 6, 7, 8}, {0, 510000000}}, /* back is a gap always */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t tile = 1; tile < 10; tile += 4) {
            weir_source *source = NULL;
            recorded all = {0};
            write_file("g.csv", text, sizeof text - 1);
            weir_recording_options options = weir_recording_options_default();
            options.rate_hz = 100;
            options.start_s = cases[i].start;
            options.duration_s = cases[i].duration;
            options.gap_tolerance_s = cases[i].tolerance;
            assert_ok(weir_recording_open(own_path("g.csv"), &options, &source));
            const weir_source_info *info = source->ops->info(source);
            assert_int_equal(info->frames, cases[i].frames);
            assert_int_equal(info->segment_count, cases[i].segments);
            for (size_t k = 0; k < cases[i].segments; k++) {
                assert_int_equal(info->segments[k].start_ns, cases[i].starts[k]);
            }
            assert_ok(read_source(source, tile, 0, &all));
            assert_int_equal(all.frames, cases[i].frames);
            assert_int_equal(all.segments, cases[i].segments);
            for (size_t k = 0; k < all.frames; k++) {
                assert_true(all.values[k] == cases[i].values[k]);
            }
            source->ops->close(source);
            recorded_free(&all);
        }
    }
}

/* A clock that runs slow is no gap; it is told once. Of times in another unit each row is one: that too. */
static void time_is_checked(void **state)
{
    (void)state;
    char text[2000] = "time,x\n", thousands[2000] = "time,x\n";
    for (int i = 0; i < 40; i++) {
        snprintf(text + strlen(text), 40, "%.4f,%d\n", i * 0.0105, i);
        snprintf(thousands + strlen(thousands), 40, "%d,%d\n", i * 10, i);
    }
    weir_source *source = NULL;
    assert_ok(open_text(text, 100, &source));
    const weir_source_info *info = source->ops->info(source);
    assert_int_equal(info->segment_count, 1);
    assert_int_equal(info->notice_count, 1);
    assert_non_null(strstr(info->notices[0], "row 11 states 0.1155 s"));
    source->ops->close(source);
    assert_ok(open_text(thousands, 100, &source));
    info = source->ops->info(source);
    assert_int_equal(info->segment_count, 40);
    assert_non_null(strstr(info->notices[0], "39 of 40 rows do not follow at 100 Hz"));
    source->ops->close(source);
}

/* Whatever is cut off, what is whole is read, and nothing else. */
static void cuts(void **state)
{
    (void)state;
    static const char text[] = "a,b\n1,2\n3,4\n5,6\n";
    for (size_t length = 4; length < sizeof text - 1; length++) {
        char part[sizeof text] = "";
        memcpy(part, text, length);
        weir_source *source = NULL;
        recorded all = {0};
        if (length == 4) {
            assert_ok(open_text(part, 100, &source));
            assert_int_equal(source->ops->info(source)->frames, 0);
            source->ops->close(source);
            continue;
        }
        assert_ok(open_text(part, 100, &source));
        assert_ok(read_source(source, 64, 0, &all));
        uint64_t stated = source->ops->info(source)->frames;
        source->ops->close(source);
        assert_int_equal(all.frames, stated);
        assert_int_equal(all.frames, (length - 4 + 1) / 4);
        recorded_free(&all);
    }
}

static void round_trip(void **state)
{
    (void)state;
    uint64_t seed = testing_seed("csv");
    static const char *const labels[] = {"Fp1", "12", "a,\"b\""};
    for (int dtype = WEIR_U8; dtype <= WEIR_F64; dtype++) {
        weir_spec spec = weir_spec_make((weir_dtype)dtype, 250, 3, labels, NULL);
        _Alignas(8) unsigned char rows[64 * 3 * 8];
        for (size_t i = 0; i < sizeof rows; i += 8) {
            uint64_t bits = testing_random(&seed);
            memcpy(rows + i, &bits, 8);
        }
        weir_output_options options = weir_output_options_default();
        options.force = true;
        weir_sink *sink = NULL;
        assert_ok(weir_recording_create(own_path("r.csv"), &options, &sink));
        uint64_t bytes = 0;
        assert_ok(sink->ops->plan(sink, &spec, &bytes));
        void *memory = malloc((size_t)bytes);
        assert_ok(sink->ops->start(sink, &spec, NULL, "", memory));
        weir_message block = {.spec = &spec, .data = rows, .frames = 64};
        assert_ok(sink->ops->write(sink, &block));
        assert_ok(sink->ops->finish(sink));
        sink->ops->close(sink);
        free(memory);
        unlink(own_path("r.csv.json")); /* the text alone */
        weir_recording_options reading = weir_recording_options_default();
        reading.rate_hz = 250;
        weir_source *source = NULL;
        assert_ok(weir_recording_open(own_path("r.csv"), &reading, &source));
        for (int i = 0; i < 3; i++) {
            assert_string_equal(source->ops->info(source)->spec.dims[1].labels[i], labels[i]);
        }
        recorded all = {0};
        assert_ok(read_source(source, 10, 3, &all));
        source->ops->close(source);
        assert_int_equal(all.frames, 64);
        for (size_t i = 0; i < 64 * 3; i++) {
            double wanted = value_of((weir_dtype)dtype, rows, i);
            /* Shortest of a float: as a float it is the same. */
            double found = dtype == WEIR_F32 ? (double)(float)all.values[i] : all.values[i];
            assert_true(isnan(wanted) ? isnan(found) : found == wanted);
        }
        recorded_free(&all);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read),    cmocka_unit_test(last_line_without_an_end),
        cmocka_unit_test(what_is_refused), cmocka_unit_test(gaps),
        cmocka_unit_test(time_is_checked), cmocka_unit_test(cuts),
        cmocka_unit_test(round_trip),
    };
    return cmocka_run_group_tests_name("csv", tests, NULL, own_folder_remove);
}
