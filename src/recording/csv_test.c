/* SPDX-License-Identifier: MIT
 *
 * Reading CSV: what is read as label, number or missing; what is rejected and where; a file cut anywhere gives
 * its complete rows.
 */
#include "make_csv.h"

#include <sys/wait.h>

#include "recording/csv.h"

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
    CHECK("a,b\r1,2\r3,4\r", "a b", 1, 2, 3, 4); /* CR alone */
    CHECK("a,b\r1,2\r3,4", "a b", 1, 2, 3, 4);
    CHECK("a,b\r\r\n1,2\r\r\n", "a b", 1, 2);                    /* CR LF written as text */
    CHECK("a,b\n\"1\",\"2.5\"\n3,\"4\"\n", "a b", 1, 2.5, 3, 4); /* numbers in quotes */
    CHECK("\"1\",\"2\"\n\"3\",\"4\"\n", "ch0 ch1", 1, 2, 3, 4);
    CHECK("\"a\";\"b\"\r\n\"1\" ; \" 2 \" \r\n", "a b", 1, 2);
    CHECK("\"1\",\"2\"\n3,4\n", "1 2", 3, 4); /* as weir writes labels */
    CHECK("\"nan\"\n3\n4\n", "nan", 3, 4);
    CHECK("%OpenBCI Raw EXG Data\n%Sample Rate = 100 Hz\n%Board = x, y\na, b\n1, 2\n", "a b", 1, 2);
    CHECK("# time column: none\ntime,Time (s)\n1,2\n", "time Time (s)", 1, 2);
    CHECK("a,b\n1,2\n3,4\n5", "a b", 1, 2, 3, 4); /* incomplete */
    CHECK("a,b\n1,2\n3,4\n5,e", "a b", 1, 2, 3, 4);
}

/* "1.5" may have been "1.57": reported, but in weir's own files, which end every line, not read. */
static void last_line_without_an_end(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text, *notice;
        uint64_t rows;
    } cases[] = {
        {"a.csv", "a,b\n1,2\n3,4.5", "its last value may be truncated", 2},
        {"a.csv.part", "a,b\n1,2\n3,4.5", "is incomplete; its row is not read", 1},
        {"b.csv", "a,b\n1,2\n3,", "is incomplete; its row is not read", 1},
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
        {"a,b\n1,2\n3,x\n4,5\n", "; --exclude \"b\" leaves this column out"},
        {"a;b\n1,5;2\n3;4\n", "line 2, column 1: found \"1,5\", expected a number with a decimal "
                              "point, not a decimal comma: replace it"},
        {"1,5\t2\n3,5\t4\n", "line 2, column 1: found \"3,5\", expected a number"},
        {"x,1.5,2\ny,2.5,3\n", "line 2, column 1: found \"y\", expected a number; --exclude \"x\" "
                               "leaves this column out (line 1 was read as labels)"},
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
    static char columns[WEIRI_CSV_COLUMNS * 2 + 4];
    for (size_t i = 0; i <= WEIRI_CSV_COLUMNS; i++) {
        memcpy(columns + i * 2, i < WEIRI_CSV_COLUMNS ? "1," : "1\n", 2);
    }
    assert_fails(open_text(columns, 1, &source), WEIR_E_RECORDING, "is the table transposed?");
    memcpy(columns + (WEIRI_CSV_COLUMNS - 1) * 2, "1\n\0", 3);
    assert_ok(open_text(columns, 1, &source));
    assert_int_equal(source->ops->info(source)->spec.dims[1].size, WEIRI_CSV_COLUMNS);
    source->ops->close(source);
}

/* UTF-16, with and without its mark, in either byte order, from files and pipes. */
static void utf16(void **state)
{
    (void)state;
    static const char text[] = "a,b\r\n1,2\r\n";
    for (int which = 0; which < 8; which++) {
        bool big = which & 1, marked = which & 2, piped = which & 4;
        char bytes[2 * sizeof text];
        size_t used = 0;
        if (marked) {
            memcpy(bytes, big ? "\xfe\xff" : "\xff\xfe", 2);
            used = 2;
        }
        for (size_t i = 0; i < sizeof text - 1; i++) {
            bytes[used++] = big ? 0 : text[i];
            bytes[used++] = big ? text[i] : 0;
        }
        weir_source *source = NULL;
        assert_fails(open_bytes(bytes, used, 100, piped, &source), WEIR_E_RECORDING,
                     "text in UTF-16, expected UTF-8: convert it, for example with iconv");
    }
}

/* A NUL byte is damage, wherever it is; NUL bytes at the end of the file are what a power
 * failure leaves. */
static void nul_bytes(void **state)
{
    (void)state;
    static const char whole[] = "a,b\n1,2\n31,42\n5,6\n";
    for (size_t at = 4; at < sizeof whole - 2; at++) {
        for (int piped = 0; piped < 2; piped++) {
            char bytes[sizeof whole];
            memcpy(bytes, whole, sizeof whole);
            bytes[at] = 0;
            weir_source *source = NULL;
            recorded all = {0};
            weir_err err = open_bytes(bytes, sizeof whole - 1, 100, piped, &source);
            if (err == WEIR_OK) {
                err = read_source(source, 1, 0, &all);
                source->ops->close(source);
            }
            assert_int_equal(err, WEIR_E_RECORDING);
            assert_non_null(strstr(weir_err_detail(), "found a NUL byte, expected text"));
            recorded_free(&all);
        }
    }
    static char tail[200000]; /* of more than one window */
    for (size_t cut = 8; cut < sizeof whole; cut++) {
        for (int piped = 0; piped < 2; piped++) {
            size_t bytes = piped ? 60000 : sizeof tail;
            memset(tail, 0, sizeof tail);
            memcpy(tail, whole, cut);
            weir_source *source = NULL;
            recorded all = {0};
            assert_ok(open_bytes(tail, bytes, 100, piped, &source));
            assert_ok(read_source(source, 2, 0, &all));
            const weir_source_info *info = source->ops->info(source);
            size_t rows = cut < 14 ? 1 : cut < 18 ? 2 : 3; /* no incomplete one */
            assert_int_equal(all.frames, rows);
            assert_true(info->notice_count >= 1);
            assert_non_null(strstr(info->notices[0], "bytes are NUL; not read"));
            source->ops->close(source);
            recorded_free(&all);
        }
    }
}

/* Text columns: if not selected they may contain anything, also in a last line without an end. */
static void columns_of_text(void **state)
{
    (void)state;
    for (int ended = 0; ended < 2; ended++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "a,note,time,b,when\n1,x,0,2,%0300d\n3,,0.01,4,\"12:31, or so\"%s", 12,
                 ended ? "\n" : "");
        write_file("n.csv", text, strlen(text));
        weir_recording_options options = weir_recording_options_default();
        options.rate_hz = 100;
        static const struct {
            const char *channels, *exclude;
            double values[4];
        } cases[] = {{NULL, "note,when", {1, 2, 3, 4}}, {"b,a", NULL, {2, 1, 4, 3}}};
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            options.channels = cases[i].channels;
            options.exclude = cases[i].exclude;
            weir_source *source = NULL;
            recorded all = {0};
            assert_ok(weir_recording_open(own_path("n.csv"), &options, &source));
            assert_int_equal(source->ops->info(source)->frames, 2);
            assert_int_equal(source->ops->info(source)->notice_count, !ended);
            assert_ok(read_source(source, 5, 0, &all));
            assert_int_equal(all.frames, 2);
            assert_memory_equal(all.values, cases[i].values, sizeof cases[i].values);
            source->ops->close(source);
            recorded_free(&all);
        }
        options.channels = "a,note";
        options.exclude = NULL;
        weir_source *source = NULL;
        recorded all = {0};
        assert_ok(weir_recording_open(own_path("n.csv"), &options, &source));
        assert_fails(read_source(source, 5, 0, &all), WEIR_E_RECORDING,
                     "line 2, column 2: found \"x\", expected a number; --exclude \"note\"");
        source->ops->close(source);
        recorded_free(&all);
    }
}

/* For a label that does not exist, the error lists the labels. */
static void labels_that_are_not(void **state)
{
    (void)state;
    weir_recording_options options = weir_recording_options_default();
    options.rate_hz = 100;
    options.channels = "Fp1";
    weir_source *source = NULL;
    write_file("c.csv", "C3,Cz,C4\n1,2,3\n", 15);
    assert_fails(weir_recording_open(own_path("c.csv"), &options, &source), WEIR_E_USAGE,
                 "--channels: no channel Fp1; there are channels 0 to 2: C3, Cz, C4");
    char text[4000] = "";
    for (int i = 0; i < 300; i++) {
        snprintf(text + strlen(text), 20, "%slabel%d", i ? "," : "", i);
    }
    strcat(text, "\n");
    write_file("c.csv", text, strlen(text));
    assert_fails(weir_recording_open(own_path("c.csv"), &options, &source), WEIR_E_USAGE,
                 "there are channels 0 to 299: label0, label1, ");
    assert_non_null(strstr(weir_err_detail(), ", ..."));
}

/* A first row that may be data is reported; labels that are numbers are not. */
static void a_first_row_that_may_be_data(void **state)
{
    (void)state;
    static const struct {
        const char *text, *said;
    } cases[] = {
        {"12:30,1.5,2\n0,2.5,3\n", "line 1 is read as labels, although it contains \"1.5\""},
        {"x,-3\n1,2\n", "although it contains \"-3\""},
        {"1,5;2\n3;4\n", "although it contains \"1,5\""},
        {"x,1,2\n1,2,3\n", NULL},
        {"x,\"1.5\"\n1,2\n", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weir_source *source = NULL;
        assert_ok(open_text(cases[i].text, 100, &source));
        const weir_source_info *info = source->ops->info(source);
        assert_int_equal(info->notice_count, cases[i].said != NULL);
        if (cases[i].said) {
            assert_non_null(strstr(info->notices[0], cases[i].said));
        }
        source->ops->close(source);
    }
}

/* Lines that arrive in pieces through a pipe. */
static void a_pipe_in_pieces(void **state)
{
    (void)state;
    int ends[2];
    char path[32];
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    pid_t child = fork();
    if (child == 0) {
        static const char text[] = "# labels: u;v\n\"1\"\t\"2\"\r\n3\t4\r\n5\t6\r\n";
        for (size_t i = 0; i < sizeof text - 1; i++) {
            if (write(ends[1], text + i, 1) != 1) {
                _exit(1);
            }
            usleep(500);
        }
        _exit(0);
    }
    close(ends[1]);
    weir_recording_options options = weir_recording_options_default();
    options.rate_hz = 100;
    options.format = "csv";
    weir_source *source = NULL;
    recorded all = {0};
    assert_ok(weir_recording_open(path, &options, &source));
    assert_string_equal(source->ops->info(source)->spec.dims[1].labels[1], "2");
    assert_ok(read_source(source, 5, 0, &all));
    assert_int_equal(all.frames, 2);
    assert_true(all.values[0] == 3 && all.values[3] == 6);
    source->ops->close(source);
    recorded_free(&all);
    close(ends[0]);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

/* Of a file truncated anywhere, the complete rows are read, and nothing else. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read),
        cmocka_unit_test(last_line_without_an_end),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(cuts),
        cmocka_unit_test(utf16),
        cmocka_unit_test(nul_bytes),
        cmocka_unit_test(columns_of_text),
        cmocka_unit_test(labels_that_are_not),
        cmocka_unit_test(a_first_row_that_may_be_data),
        cmocka_unit_test(a_pipe_in_pieces),
    };
    return cmocka_run_group_tests_name("csv", tests, NULL, own_folder_remove);
}
