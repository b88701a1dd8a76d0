/* SPDX-License-Identifier: MIT
 *
 * Time in CSV: rates stated in comments, which columns are times, gaps (S4).
 */
#include "make_csv.h"

/* The rate that a comment states. */
static void rates(void **state)
{
    (void)state;
    static const struct {
        const char *comment;
        double rate_hz;
    } cases[] = {{"%Sample Rate = 250.0 Hz", 250},  {"# fs: 1 kHz", 1000},
                 {"%Sample Rate = 250 Hz,,,", 250}, {"# Sampling Rate (Hz):= 1000.00", 1000},
                 {"%sfreq=30000", 30000},           {"# rate: 12 apples", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[100];
        snprintf(text, sizeof text, "%s\na,b\n1,2\n", cases[i].comment);
        weir_source *source = NULL;
        if (cases[i].rate_hz == 0) {
            assert_fails(open_text(text, 0, &source), WEIR_E_USAGE, "--rate");
            continue;
        }
        assert_ok(open_text(text, 0, &source));
        assert_true(source->ops->info(source)->spec.rate_hz == cases[i].rate_hz);
        source->ops->close(source);
    }
}

/* Labels of columns of times, and what is reported of others. */
static void names_of_time(void **state)
{
    (void)state;
    static const struct {
        const char *label;
        double unit; /* in s; 0: a channel */
        bool told;
    } cases[] = {
        {"time", 1, false},
        {"Time", 1, false},
        {"timestamps", 1, false},
        {"timestamp", 1, false},
        {"Time (s)", 1, false},
        {"time_s", 1, false},
        {"Time [ms]", 1e-3, false},
        {"time_ms", 1e-3, false},
        {"Time.s", 1, false},
        {"TIMESTAMP", 1, false},
        {"Elapsed time", 1, false},
        {"timestamp_us", 1e-6, false},
        {"Time (seconds)", 1, false},
        {"time (\xc2\xb5s)", 1e-6, false},
        {"times", 1, false},
        {"time stamp / ns", 1e-9, false},
        {"Timestamp (Formatted)", 0, true},
        {"time_h", 0, true},
        {"Timer", 0, true},
        {"t", 0, false},
        {"ms", 0, false},
        {"stamp", 0, false},
        {"runtime", 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];
        double step = cases[i].unit != 0 ? 0.01 / cases[i].unit : 0.01;
        snprintf(text, sizeof text, "x,%s\n1,0\n2,%.17g\n3,%.17g\n", cases[i].label, step,
                 100 * step);
        weir_source *source = NULL;
        assert_ok(open_text(text, 100, &source));
        const weir_source_info *info = source->ops->info(source);
        assert_int_equal(info->spec.dims[1].size, cases[i].unit != 0 ? 1 : 2);
        assert_int_equal(info->segment_count, cases[i].unit != 0 ? 2 : 1);
        if (cases[i].unit != 0) {
            assert_int_equal(info->segments[1].start_ns, 1000000000);
            assert_non_null(strstr(info->notices[0], "1 of 3 rows are further than 1 ms"));
        } else {
            assert_int_equal(info->notice_count, cases[i].told);
        }
        source->ops->close(source);
    }
}

/* S4: gaps of a column of times are segments, for any message boundaries and selection. */
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
        {NAN, NAN, 0.6, 8, 1, {1, 2, 3, 4, 5, 6, 7, 8}, {0}}, /* backwards too, where it is less */
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

/* S4: a gap is defined by the distance from the expected time, nothing else; the number of gaps
 * is reported. Row r states r * step plus the result of shift(), in s, at 100 Hz. */
static double none(int r)
{
    (void)r;
    return 0;
}

static double one_late(int r) /* within the tolerance; on time before and after it */
{
    return r == 20 ? 0.9e-3 : r == 19 ? -0.9e-3 : 0;
}

static double every_fifth_early(int r)
{
    return r % 5 == 4 ? -2e-3 : 0;
}

static double stopped(int r)
{
    return r >= 20 ? 5 : 0;
}

static void time_is_checked(void **state)
{
    (void)state;
    static const struct {
        double step_s;
        double (*shift)(int r);
        size_t segments;
        const char *said;
    } cases[] = {
        {0.01, none, 1, NULL},
        {0.01, one_late, 1, NULL},
        {0.01, stopped, 2,
         "1 of 40 rows are further than 1 ms from the time expected at 100 Hz; each is a gap"},
        {0.01, every_fifth_early, 16, "15 of 40 rows are further than 1 ms"},
        {0.01, every_fifth_early, 16, "column's unit (s) right?"},
        {10, none, 40, "39 of 40 rows are further than 1 ms"}, /* ms */
        /* A clock that runs slow is 1.5 ms late at every third row. */
        {0.0105, none, 14, "13 of 40 rows are further"},
        {0.0105, none, 14, "between gaps the timestamps have a rate of 95.2380952 Hz"},
        {0.01000001, none, 1, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int piped = 0; piped < 2; piped++) {
            char text[2000] = "time,x\n";
            for (int r = 0; r < 40; r++) {
                snprintf(text + strlen(text), 40, "%.9f,%d\n",
                         r * cases[i].step_s + cases[i].shift(r), r);
            }
            weir_source *source = NULL;
            recorded all = {0};
            assert_ok(open_bytes(text, strlen(text), 100, piped, &source));
            assert_ok(read_source(source, 7, 0, &all));
            const weir_source_info *info = source->ops->info(source);
            assert_int_equal(all.frames, 40);
            assert_int_equal(all.segments, cases[i].segments);
            assert_int_equal(info->notice_count, cases[i].said != NULL);
            if (cases[i].said) {
                assert_non_null(strstr(info->notices[0], cases[i].said));
            }
            source->ops->close(source);
            recorded_free(&all);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates),
        cmocka_unit_test(names_of_time),
        cmocka_unit_test(gaps),
        cmocka_unit_test(time_is_checked),
    };
    return cmocka_run_group_tests_name("csv_time", tests, NULL, own_folder_remove);
}
