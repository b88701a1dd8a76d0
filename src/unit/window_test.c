/* SPDX-License-Identifier: MIT
 *
 * window_test.c: windows against an index rule, their axes, and what is refused.
 */
#include "unit/drive.h"

/* Frame of the input that stands at place i of window w; negative: a zero before the stream. */
static long source_frame(size_t w, size_t i, size_t frames, size_t shift, bool padded)
{
    long zeros = padded && shift < frames ? (long)(frames - shift) : 0;
    return (long)(w * shift + i) - zeros;
}

static void
check_window(const weir_spec *spec, size_t frames, size_t shift, bool padded, uint64_t *random)
{
    weir_value given[] = {
        weir_number("window_dur", ((double)frames + 0.25) / spec->rate_hz),
        weir_number("window_shift", ((double)shift + 0.25) / spec->rate_hz),
        weir_text("zero_pad_until", padded ? "shift" : "none"),
    };
    drive *d = NULL;
    size_t total = 700, columns = (size_t)weir_spec_columns(spec);
    assert_int_equal(drive_open("window", spec, given, 3, &d), WEIR_OK);
    assert_true(d->plan.due.p == shift && d->plan.due.q == 1);
    assert_int_equal(d->plan.skipped_frames, shift > frames ? shift - frames : 0);
    assert_int_equal(drive_settle(d, 0), frames - 1);
    unsigned char *data = drive_signal(spec, total, 1.0, 0.05, random);
    drive_output o = drive_cuts(d, data, total, random);
    size_t row = columns * weir_dtype_bytes(spec->dtype), windows = 0;
    while (source_frame(windows, frames - 1, frames, shift, padded) < (long)total) {
        windows++;
    }
    assert_int_equal(o.frames, windows);
    unsigned char *zeros = calloc(1, row);
    assert_non_null(zeros);
    for (size_t w = 0; w < windows; w++) {
        for (size_t i = 0; i < frames; i++) {
            long f = source_frame(w, i, frames, shift, padded);
            /* A missing sample passes on as it is (S5). */
            assert_memory_equal(o.data + (w * frames + i) * row,
                                f < 0 ? zeros : data + (size_t)f * row, row);
        }
    }
    uint64_t missing = 0, counted = 0;
    for (size_t i = 0; i < total * columns; i++) {
        missing += isfinite(drive_input(spec, data, i)) ? 0 : 1;
    }
    for (size_t c = 0; c < d->block->channels; c++) {
        counted += d->block->missing[c];
    }
    assert_int_equal(counted, missing);
    free(zeros);
    free(o.data);
    free(data);
    drive_close(d);
}

/* S1 S3 S5 S9. */
static void windows_hold_the_frames_they_should(void **state)
{
    (void)state;
    static const size_t sizes[][2] = {{1, 1},    {5, 5},   {10, 3}, {10, 1},  {7, 20},
                                      {125, 62}, {64, 64}, {1, 13}, {699, 1}, {900, 10}};
    uint64_t random = drive_seed();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int kind = 0; kind < 4; kind++) {
            weir_spec spec = weir_spec_make(kind % 2 == 0 ? WEIR_F32 : WEIR_F64, 250.0,
                                            kind < 2 ? 1 : 5, NULL, NULL);
            if (kind == 3) {
                spec.dim_count = 3;
                spec.dims[2] = (weir_axis){.name = "metric", .unit = "", .size = 2, .step = 1};
            }
            check_window(&spec, sizes[i][0], sizes[i][1], kind % 2 == 1, &random);
        }
    }
}

/* S2: start and steps as the reference has them. */
static void axes_follow_the_reference(void **state)
{
    (void)state;
    static const struct {
        const char *anchor, *padding;
        double shift, start, inner;
    } cases[] = {{"beginning", "none", 0.1, 0, 0},  {"MIDDLE", "none", 0.2, 0.25, -0.25},
                 {"end", "none", 0.1, 0.5, -0.5},   {"beginning", "shift", 0.1, -0.4, 0},
                 {"beginning", "shift", 0.7, 0, 0}, {"end", "shift", 0.1, 0.1, -0.5}};
    weir_spec spec = weir_spec_make(WEIR_F32, 250.0, 3, NULL, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        weir_value given[] = {
            weir_text("window_dur", "500 ms"), weir_number("window_shift", cases[i].shift),
            weir_text("anchor", cases[i].anchor), weir_text("zero_pad_until", cases[i].padding)};
        drive *d = NULL;
        assert_int_equal(drive_open("window", &spec, given, 4, &d), WEIR_OK);
        const weir_spec *out = &d->plan.out;
        assert_int_equal(out->dim_count, 3);
        assert_string_equal(out->dims[0].name, "win");
        assert_string_equal(out->dims[1].name, "time");
        assert_string_equal(out->dims[2].name, "ch");
        assert_int_equal(out->dims[1].size, 125);
        drive_near(out->dims[0].start, cases[i].start, 0, 1e-12, "start");
        drive_near(out->dims[1].start, cases[i].inner, 0, 1e-12, "inner start");
        drive_near(out->dims[1].step, 0.004, 0, 1e-15, "inner step");
        drive_close(d);
    }
}

/* S3: durations that binary arithmetic makes too short, and frames / rate as a program computes it. */
static void durations_are_decimals(void **state)
{
    (void)state;
    static const struct {
        const char *duration;
        double rate_hz;
        uint64_t frames;
    } cases[] = {{"9 ms", 25000, 225},     {"33.3 ms", 20000, 666},
                 {"700 ms", 44100, 30870}, {"1001 ms", 1000, 1001},
                 {"0.043", 5000, 215},     {"290 ms", 100, 29},
                 {"3 s", 1.0 / 3.0, 1},    {"0.006575963718820862", 44100, 290}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        weir_spec spec = weir_spec_make(WEIR_F32, cases[i].rate_hz, 1, NULL, NULL);
        weir_value given[] = {weir_text("window_dur", cases[i].duration),
                              weir_text("window_shift", cases[i].duration)};
        drive *d = NULL;
        assert_int_equal(drive_open("window", &spec, given, 2, &d), WEIR_OK);
        assert_int_equal(d->plan.out.dims[1].size, cases[i].frames);
        assert_true(d->plan.due.p == cases[i].frames);
        drive_close(d);
    }
}

static void a_name_that_is_there_is_not_taken(void **state)
{
    (void)state;
    weir_spec spec = weir_spec_make(WEIR_F32, 250.0, 3, NULL, NULL);
    weir_value given[] = {weir_number("window_dur", 0.1), weir_number("window_shift", 0.1),
                          weir_text("newaxis", "ch")};
    drive *d = NULL;
    assert_int_equal(drive_open("window", &spec, given, 3, &d), WEIR_OK);
    assert_string_equal(d->plan.out.dims[0].name, "ch_win");
    assert_int_equal(d->notices.count, 1);
    drive_close(d);
}

/* One input frame becomes 15000 and more: one window at a time, as there is room. */
static void an_output_of_15000_times_the_input_streams(void **state)
{
    (void)state;
    weir_spec spec = weir_spec_make(WEIR_F32, 30000.0, 2, NULL, NULL);
    weir_value given[] = {weir_number("window_dur", 0.5), weir_number("window_shift", 1.0 / 30000)};
    drive *d = NULL;
    assert_int_equal(drive_open("window", &spec, given, 2, &d), WEIR_OK);
    assert_int_equal(weiri_field_bytes(&d->plan.fields[0], 2), 15000 * 8);
    float *data = malloc(15010 * 2 * sizeof *data);
    assert_non_null(data);
    for (size_t i = 0; i < 15010 * 2; i++) {
        data[i] = (float)i;
    }
    size_t at = 0, windows = 0;
    for (;;) {
        const unsigned char *rows[] = {(const unsigned char *)(data + 2 * at)};
        drive_output o = {NULL, 0};
        at += drive_call(d, &d->whole, rows, 15010 - at, 1, false, false, &o);
        if (o.frames == 0) { /* the last one came when nothing was left to consume */
            break;
        }
        assert_int_equal(o.frames, 1);
        assert_memory_equal(o.data, data + 2 * windows, 15000 * 2 * sizeof *data);
        free(o.data);
        windows++;
    }
    assert_int_equal(at, 15010);
    assert_int_equal(windows, 11);
    free(data);
    drive_close(d);
}

/* S10: the same frames are in the same rows of the ring, however they came; and a frame that was asked for
 * later than it was due comes from the ring alone. */
static void the_ring_is_a_function_of_place(void **state)
{
    (void)state;
    uint64_t random = drive_seed();
    weir_spec spec = weir_spec_make(WEIR_F64, 1000.0, 3, NULL, NULL);
    weir_value given[] = {weir_number("window_dur", 0.01), weir_number("window_shift", 0.003)};
    drive *d = NULL;
    assert_int_equal(drive_open("window", &spec, given, 2, &d), WEIR_OK);
    double *data = drive_signal(&spec, 100, 0, 0, &random), window[30], ring[30];
    for (size_t at = 10; at <= 100; at++) {
        drive_reset(d);
        drive_output o = drive_run(d, data, at, 7, &random);
        memcpy(ring, d->whole.state[0], sizeof ring);
        for (size_t i = at - 10; i < at; i++) {
            assert_memory_equal(ring + i % 10 * 3, data + i * 3, 3 * sizeof *ring);
        }
        size_t last = (at - 10) / 3; /* again, from the ring, if all of it is still there */
        weiri_work work = {.consumed = at, .produced = last, .produce = 1, .out = window};
        if (last * 3 == at - 10) {
            d->ops->run(d->block, &work);
            assert_memory_equal(window, data + last * 9, sizeof window);
        }
        free(o.data);
    }
    free(data);
    drive_close(d);
}

static void a_window_is_forgotten_after_its_last_frame(void **state)
{
    (void)state;
    static const double shifts[] = {0.001, 0.004, 0.01, 0.017};
    uint64_t random = drive_seed();
    weir_spec spec = weir_spec_make(WEIR_F64, 1000.0, 3, NULL, NULL);
    for (size_t i = 0; i < 4; i++) {
        weir_value given[] = {weir_number("window_dur", 0.01),
                              weir_number("window_shift", shifts[i])};
        drive *d = NULL;
        assert_int_equal(drive_open("window", &spec, given, 2, &d), WEIR_OK);
        double earlier = 0;
        for (size_t before = 20; before < 40; before++) {
            double one = drive_settles(d, before, 0, &random);
            earlier = one > earlier ? one : earlier;
        }
        assert_true(earlier > 0);
        drive_close(d);
    }
}

static void mistakes_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value, *wanted;
    } cases[] = {
        {"zero_pad_until", "full", "shift"},      {"zero_pad_until", "input", "none"},
        {"window_dur", "1 ms", "frames"},         {"window_dur", "10 Hz", "window_dur"},
        {"window_dur", "1000000000 s", "frames"}, {"window_shift", "3.9 ms", "frames"},
        {"window_shift", NULL, "is required"},    {"batch_windows", "true", "batch_windows"},
        {"anchor", "centre", "middle"},           {"axis", "ch", "time"},
    };
    weir_spec spec = weir_spec_make(WEIR_F32, 250.0, 5, NULL, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        weir_value given[3] = {weir_text("window_dur", "1 s"), weir_text("window_shift", "1 s")};
        size_t count = 2;
        size_t at = strcmp(cases[i].name, "window_dur") == 0     ? 0
                    : strcmp(cases[i].name, "window_shift") == 0 ? 1
                                                                 : count++;
        given[at] = weir_text(cases[i].name, cases[i].value);
        given[at].type = cases[i].value == NULL ? WEIR_VALUE_NULL : WEIR_VALUE_TEXT;
        drive *d = NULL;
        assert_int_equal(drive_open("window", &spec, given, count, &d), WEIR_E_CHAIN);
        const char *detail = weir_err_detail();
        if (strncmp(detail, cases[i].name, strlen(cases[i].name)) != 0 ||
            strstr(detail, cases[i].wanted) == NULL) {
            print_error("'%s' has no '%s'\n", detail, cases[i].wanted);
            fail();
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_hold_the_frames_they_should),
        cmocka_unit_test(axes_follow_the_reference),
        cmocka_unit_test(durations_are_decimals),
        cmocka_unit_test(a_name_that_is_there_is_not_taken),
        cmocka_unit_test(an_output_of_15000_times_the_input_streams),
        cmocka_unit_test(the_ring_is_a_function_of_place),
        cmocka_unit_test(a_window_is_forgotten_after_its_last_frame),
        cmocka_unit_test(mistakes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
