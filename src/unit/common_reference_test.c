/* SPDX-License-Identifier: MIT
 *
 * common_reference_test.c: against mean and median by their definition, S1 S5, groups, other dimensions,
 * in place.
 */
#include "unit/drive.h"

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The reference of the good ones among values, and how many those are. Reorders. */
static double reference_of(double *values, size_t count, bool median, size_t *ret_good)
{
    size_t good = 0;
    long double sum = 0.0L;
    for (size_t i = 0; i < count; i++) {
        if (isfinite(values[i])) {
            sum += values[i];
            values[good++] = values[i];
        }
    }
    *ret_good = good;
    if (good == 0) {
        return 0.0;
    }
    if (!median) {
        return (double)(sum / (long double)good);
    }
    qsort(values, good, sizeof *values, compare);
    return (values[good / 2] + values[(good - 1) / 2]) / 2.0;
}

/* What a set must come out as: each less the reference of all, or of the others, by their definition. */
static void expect(const double *set, size_t count, bool median, bool current, double *ret_expected)
{
    double values[600], common = 0.0;
    size_t good = 0;
    assert_true(count <= 600);
    memcpy(values, set, count * sizeof *set);
    common = reference_of(values, count, median, &good);
    for (size_t i = 0; i < count; i++) {
        double reference = common;
        if (!current && isfinite(set[i])) {
            memcpy(values, set, count * sizeof *set);
            values[i] = (double)NAN;
            reference = reference_of(values, count, median, &good); /* 0 of none */
        }
        ret_expected[i] = isfinite(set[i]) ? set[i] - reference : (double)NAN;
    }
}

static weir_err open_with(
    const weir_spec *spec, bool median, bool current, const weir_value *groups, drive **ret_drive)
{
    weir_value given[3] = {
        weir_text("mode", median ? "Median" : "mean"),
        {.key = "include_current", .type = WEIR_VALUE_BOOL, .number = current ? 1.0 : 0.0}};
    if (groups != NULL) {
        given[2] = *groups;
    }
    return drive_open("common_reference", spec, given, groups != NULL ? 3 : 2, ret_drive);
}

/* S1 S2 S5, rows of any length, with samples and whole rows missing. */
static void all_channels(void **state)
{
    (void)state;
    static const uint64_t widths[] = {1, 2, 6, 8, 15, 16, 17, 128, 129, 256, 300, 513};
    enum { FRAMES = 40 };
    uint64_t random = drive_seed();
    for (size_t run = 0; run < 8 * sizeof widths / sizeof widths[0]; run++) {
        bool median = (run & 1) != 0, current = (run & 2) != 0;
        weir_dtype dtype = (run & 4) != 0 ? WEIR_F32 : WEIR_F64;
        size_t width = (size_t)widths[run / 8];
        weir_spec spec = weir_spec_make(dtype, 1000.0, width, NULL, NULL);
        drive *d = NULL;
        assert_int_equal(open_with(&spec, median, current, NULL, &d), WEIR_OK);
        void *data = drive_signal(&spec, FRAMES, 100.0, run % 3 == 0 ? 0.0 : 0.02, &random);
        for (size_t c = 0; c < width; c++) { /* all but one missing in frame 7, all in frame 9 */
            if (dtype == WEIR_F32) {
                ((float *)data)[7 * width + c] = c == 0 ? 2.0f : NAN;
                ((float *)data)[9 * width + c] = NAN;
            } else {
                ((double *)data)[7 * width + c] = c == 0 ? 2.0 : (double)NAN;
                ((double *)data)[9 * width + c] = (double)NAN;
            }
        }
        drive_output o = drive_cuts(d, data, FRAMES, &random);
        uint64_t missing[600] = {0};
        for (size_t f = 0; f < FRAMES; f++) {
            double set[600], expected[600];
            for (size_t c = 0; c < width; c++) {
                set[c] = drive_input(&spec, data, f * width + c);
                missing[c] += isfinite(set[c]) ? 0 : 1;
            }
            expect(set, width, median, current, expected);
            for (size_t c = 0; c < width; c++) {
                drive_near(drive_value(d, &o, f * width + c), expected[c],
                           dtype == WEIR_F32 ? 1e-5 : 1e-12, dtype == WEIR_F32 ? 1e-4 : 1e-12,
                           "all");
            }
        }
        for (size_t c = 0; c < width; c++) {
            assert_int_equal(d->block->missing[c], missing[c]);
        }
        free(o.data);
        free(data);
        drive_close(d);
    }
}

/* IN_PLACE: the same bits where input and output are one. */
static void in_place(void **state)
{
    (void)state;
    uint64_t random = drive_seed();
    for (size_t run = 0; run < 8; run++) {
        weir_spec spec = weir_spec_make(run < 4 ? WEIR_F32 : WEIR_F64, 1000.0, 5, NULL, NULL);
        spec.dim_count = 3; /* [frames x freq x ch]: several rows a frame */
        spec.dims[2] = spec.dims[1];
        spec.dims[1] = (weir_axis){.name = "freq", .unit = "Hz", .size = 4, .step = 1.0};
        drive *d = NULL;
        assert_int_equal(open_with(&spec, (run & 1) != 0, (run & 2) != 0, NULL, &d), WEIR_OK);
        void *data = drive_signal(&spec, 50, 10.0, 0.02, &random);
        drive_output o = drive_cuts(d, data, 50, &random);
        assert_int_equal(o.frames, 50);
        free(o.data);
        free(data);
        drive_close(d);
    }
}

/* Groups of any order; what is in none stays, but for infinities; sets at each place of another axis. */
static void groups(void **state)
{
    (void)state;
    static const double numbers[3][5] = {{4, 0, 2}, {6}, {1, 3, 5, 7, 8}};
    static const size_t counts[3] = {3, 1, 5};
    enum { FRAMES = 60, CHANNELS = 11, METRICS = 2 };
    weir_value items[3][5], lists[3];
    for (size_t g = 0; g < 3; g++) {
        for (size_t i = 0; i < counts[g]; i++) {
            items[g][i] = weir_number(NULL, numbers[g][i]);
        }
        lists[g] = (weir_value){.type = WEIR_VALUE_LIST, .items = items[g], .count = counts[g]};
    }
    weir_value given = {
        .key = "channel_groups", .type = WEIR_VALUE_LIST, .items = lists, .count = 3};
    uint64_t random = drive_seed();
    for (size_t run = 0; run < 4; run++) {
        bool median = (run & 1) != 0, current = (run & 2) != 0;
        weir_spec spec = weir_spec_make(WEIR_F64, 1000.0, CHANNELS, NULL, NULL);
        spec.dim_count = 3;
        spec.dims[2] = (weir_axis){.name = "metric", .unit = "", .size = METRICS};
        drive *d = NULL;
        assert_int_equal(open_with(&spec, median, current, &given, &d), WEIR_OK);
        double *data = drive_signal(&spec, FRAMES, 50.0, 0.05, &random);
        drive_output o = drive_cuts(d, data, FRAMES, &random);
        uint64_t missing[CHANNELS] = {0};
        for (size_t place = 0; place < FRAMES * METRICS; place++) {
            size_t base = place / METRICS * CHANNELS * METRICS + place % METRICS;
            bool in_group[CHANNELS] = {false};
            for (size_t g = 0; g < 3; g++) {
                double set[5], expected[5];
                for (size_t i = 0; i < counts[g]; i++) {
                    set[i] = data[base + (size_t)numbers[g][i] * METRICS];
                    in_group[(size_t)numbers[g][i]] = true;
                }
                expect(set, counts[g], median, current, expected);
                for (size_t i = 0; i < counts[g]; i++) {
                    drive_near(drive_value(d, &o, base + (size_t)numbers[g][i] * METRICS),
                               expected[i], 1e-12, 1e-12, "group");
                }
            }
            for (size_t c = 0; c < CHANNELS; c++) {
                double x = data[base + c * METRICS];
                missing[c] += isfinite(x) ? 0 : 1;
                if (!in_group[c]) {
                    drive_near(drive_value(d, &o, base + c * METRICS),
                               isfinite(x) ? x : (double)NAN, 0.0, 0.0, "in no group");
                }
            }
        }
        for (size_t c = 0; c < CHANNELS; c++) {
            assert_int_equal(d->block->missing[c], missing[c]);
        }
        free(o.data);
        free(data);
        drive_close(d);
    }
}

/* mode and include_current act from the next frame on; passthrough too. */
static void settings_change_while_running(void **state)
{
    (void)state;
    weir_spec spec = weir_spec_make(WEIR_F64, 1000.0, 3, NULL, NULL);
    static const double input[3] = {1.0, 2.0, 6.0};
    static const struct {
        const char *mode;
        bool current;
        double expected; /* of the first */
    } modes[] = {{"mean", true, -2.0},
                 {"mean", false, -3.0},
                 {"median", true, -1.0},
                 {"median", false, -3.0},
                 {"passthrough", true, 1.0}};
    drive *d = NULL;
    for (size_t i = 0; i < 5; i++) {
        weir_value given[2] = {
            weir_text("mode", modes[i].mode),
            {.key = "include_current", .type = WEIR_VALUE_BOOL, .number = modes[i].current}};
        if (i % 2 == 0) { /* mode needs another plan, include_current does not */
            if (d != NULL) {
                drive_close(d);
            }
            assert_int_equal(drive_open("common_reference", &spec, given, 2, &d), WEIR_OK);
        } else {
            assert_int_equal(drive_set(d, given, 2), WEIR_OK);
        }
        drive_output o = drive_run(d, input, 1, 0, NULL);
        drive_near(drive_value(d, &o, 0), modes[i].expected, 1e-15, 0.0, modes[i].mode);
        free(o.data);
    }
    drive_close(d);
}

static void settings_are_checked(void **state)
{
    (void)state;
    weir_spec spec = weir_spec_make(WEIR_F32, 1000.0, 4, NULL, NULL);
    weir_value number = weir_number(NULL, 1.0), twice[2] = {number, number};
    weir_value list = {.type = WEIR_VALUE_LIST, .items = twice, .count = 2};
    weir_value given = {
        .key = "channel_groups", .type = WEIR_VALUE_LIST, .items = &list, .count = 1};
    drive *d = NULL;
    assert_int_equal(drive_open("common_reference", &spec, &given, 1, &d), WEIR_E_CHAIN);
    assert_non_null(strstr(weir_err_detail(), "channel 1 is listed twice"));
    twice[1].number = 4.0;
    assert_int_equal(drive_open("common_reference", &spec, &given, 1, &d), WEIR_E_CHAIN);
    assert_non_null(strstr(weir_err_detail(), "0 to 3"));
    given.items = twice;
    assert_int_equal(drive_open("common_reference", &spec, &given, 1, &d), WEIR_E_CHAIN);
    given = weir_text("channel_groups", "bank");
    assert_int_equal(drive_open("common_reference", &spec, &given, 1, &d), WEIR_E_CHAIN);
    given = weir_text("axis", "time");
    assert_int_equal(drive_open("common_reference", &spec, &given, 1, &d), WEIR_E_CHAIN);
    given = weir_text("axis", "freq");
    assert_int_equal(drive_open("common_reference", &spec, &given, 1, &d), WEIR_E_CHAIN);
    given = weir_text("mode", "meridian");
    assert_int_equal(drive_open("common_reference", &spec, &given, 1, &d), WEIR_E_CHAIN);
    given = weir_text("mode", "passthrough");
    assert_int_equal(drive_open("common_reference", &spec, &given, 1, &d), WEIR_OK);
    float input[4] = {1.0f, 2.0f, INFINITY, 4.0f};
    drive_output o = drive_run(d, input, 1, 0, NULL);
    assert_true(drive_value(d, &o, 1) == 2.0 && isnan(drive_value(d, &o, 2)));
    free(o.data);
    drive_close(d);
}

/* ezmsg-sigproc's (x - median of all) * N / (N - 1) gives -2, -0.67, 0.67, 38 for the first. */
static void median_of_the_others(void **state)
{
    (void)state;
    static const double cases[][2][6] = {
        {{0, 1, 2, 30}, {-2, -1, 1, 29}},
        {{30, 2, 1, 0, 7}, {28.5, -2, -3.5, -4.5, 5.5}},
        {{1, 1, 1, 5}, {0, 0, 0, 4}},
        {{4, 4, 9}, {-2.5, -2.5, 5}},
        {{3, 8}, {-5, 5}},
        {{0, 1, 2, 30, NAN}, {-2, -1, 1, 29, NAN}},
    };
    static const size_t counts[] = {4, 5, 4, 3, 2, 5};
    for (size_t i = 0; i < 2 * sizeof counts / sizeof counts[0]; i++) {
        size_t count = counts[i / 2];
        weir_spec spec =
            weir_spec_make(i % 2 == 0 ? WEIR_F32 : WEIR_F64, 1000.0, count, NULL, NULL);
        drive *d = NULL;
        assert_int_equal(open_with(&spec, true, false, NULL, &d), WEIR_OK);
        float row32[6];
        for (size_t c = 0; c < count; c++) {
            row32[c] = (float)cases[i / 2][0][c];
        }
        uint64_t random = drive_seed();
        const void *row = i % 2 == 0 ? (const void *)row32 : (const void *)cases[i / 2][0];
        drive_output o = drive_run(d, row, 1, 1, &random);
        for (size_t c = 0; c < count; c++) {
            double found = drive_value(d, &o, c), expected = cases[i / 2][1][c];
            assert_true(found == expected || (isnan(found) && isnan(expected)));
        }
        free(o.data);
        drive_close(d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_channels),
        cmocka_unit_test(median_of_the_others),
        cmocka_unit_test(in_place),
        cmocka_unit_test(groups),
        cmocka_unit_test(settings_are_checked),
        cmocka_unit_test(settings_change_while_running),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
