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

static void time_is_checked(void **state)
{
    (void)state;
    weir_source *source = NULL;
    recorded all = {0};
    assert_ok(open_text("time,x\n5,1\n5.01,2\n5.5,3\n5.51,4\n", 100, &source));
    assert_ok(read_source(source, 64, 0, &all));
    assert_int_equal(all.frames, 4);
    const weir_source_info *info = source->ops->info(source);
    assert_int_equal(info->notice_count, 1);
    assert_non_null(strstr(info->notices[0], "row 2 states 5.5 s"));
    source->ops->close(source);
    recorded_free(&all);
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
        cmocka_unit_test(what_is_read),    cmocka_unit_test(what_is_refused),
        cmocka_unit_test(time_is_checked), cmocka_unit_test(cuts),
        cmocka_unit_test(round_trip),
    };
    return cmocka_run_group_tests_name("csv", tests, NULL, own_folder_remove);
}
