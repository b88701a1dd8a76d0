/* SPDX-License-Identifier: MIT
 *
 * ranged_aggregate_test.c: bands of each inner dimension against plain loops; coordinates of the bands; mistakes.
 */
#include "dsp/reduce.h"
#include "unit/drive.h"

static const char *const names[8] = {"a", "b", "c", "d", "e", "f", "g", "h"};
static const char *const volts[8] = {"uV", "uV", "uV", "uV", "uV", "uV", "uV", "uV"};
static const double freqs[6] = {1.0, 2.5, 4.0, 8.0, 13.0, 30.0};

/* [time x freq x ch] with uneven or even frequencies. */
static weir_spec make_spec(weir_dtype dtype, bool even)
{
    weir_spec spec = weir_spec_make(dtype, 10.0, 8, names, volts);
    spec.dims[2] = spec.dims[1];
    spec.dims[1] = (weir_axis){.name = "freq", .unit = "Hz", .size = 6, .values = freqs};
    if (even) {
        spec.dims[1] = (weir_axis){.name = "freq", .unit = "Hz", .size = 6, .start = 1, .step = 2};
    }
    spec.dim_count = 3;
    return spec;
}

static void open_bands(const weir_spec *spec,
                       const char *axis,
                       const char *operation,
                       const double (*bands)[2],
                       size_t count,
                       drive **ret_drive)
{
    weir_value numbers[8][2], rows[8];
    for (size_t i = 0; i < count; i++) {
        rows[i] = weir_numbers(NULL, bands[i], 2, numbers[i]);
    }
    weir_value given[] = {weir_text("axis", axis), weir_text("operation", operation),
                          weir_list_of("bands", rows, count)};
    assert_int_equal(drive_open("ranged_aggregate", spec, given, 3, ret_drive), WEIR_OK);
}

/* S1 S2 S5: entries first..first + count of the axis in order, as NumPy computes it. */
static double plain(const char *operation, const double *v, const double *x, size_t count)
{
    double sum = 0, most = v[0], at = x[0], area = 0;
    for (size_t i = 0; i < count; i++) {
        sum += v[i];
        at = v[i] > most ? x[i] : at;
        most = v[i] > most ? v[i] : most;
        area += i > 0 ? (v[i] + v[i - 1]) / 2 * (x[i] - x[i - 1]) : 0;
    }
    if (isnan(sum)) {
        return (double)NAN;
    }
    return strcmp(operation, "mean") == 0     ? sum / (double)count
           : strcmp(operation, "sum") == 0    ? sum
           : strcmp(operation, "max") == 0    ? most
           : strcmp(operation, "argmax") == 0 ? at
                                              : area;
}

static void bands_equal_plain_loops(void **state)
{
    (void)state;
    static const char *const operations[] = {"mean", "sum", "max", "argmax", "trapezoid"};
    static const double bands[3][2] = {{2.0, 8.0}, {4.0, 4.0}, {0.5, 40.0}};
    static const size_t first[2][3] = {{1, 2, 0}, {2, 4, 1}}, count[2][3] = {{3, 1, 6}, {6, 1, 7}};
    uint64_t random = drive_seed();
    for (size_t test = 0; test < 40; test++) {
        const char *operation = operations[test % 5];
        bool channels = test % 2 == 1;
        weir_dtype dtype = test / 10 % 2 == 0 ? WEIR_F32 : WEIR_F64;
        weir_spec spec = make_spec(dtype, false);
        drive *d = NULL;
        open_bands(&spec, channels ? "ch" : "freq", operation, bands, 3, &d);
        int dim = channels ? 2 : 1;
        weiri_split split = weiri_spec_split(&spec, dim);
        void *data = drive_signal(&spec, 30, 0.5, test < 20 ? 0.0 : 0.02, &random);
        drive_output o = drive_cuts(d, data, 30, &random);
        assert_int_equal(o.frames, 30);
        for (size_t i = 0; i < 30 * split.outer * 3 * split.inner; i++) {
            size_t outer = i / split.inner / 3, band = i / split.inner % 3, k = i % split.inner;
            double v[8], x[8];
            size_t entries = count[channels][band];
            for (size_t e = 0; e < entries; e++) {
                size_t entry = first[channels][band] + e;
                v[e] = drive_input(&spec, data, (outer * split.size + entry) * split.inner + k);
                v[e] = isfinite(v[e]) ? v[e] : (double)NAN;
                x[e] = channels ? (double)entry : freqs[entry];
            }
            drive_near(drive_value(d, &o, i), plain(operation, v, x, entries),
                       dtype == WEIR_F32 ? 1e-5 : 1e-12, 1e-5, operation);
        }
        free(o.data);
        free(data);
        drive_close(d);
    }
}

static void bands_have_coordinates(void **state)
{
    (void)state;
    static const double bands[2][2] = {{2.0, 8.0}, {4.0, 5.0}};
    weir_spec spec = make_spec(WEIR_F32, false);
    drive *d = NULL;
    open_bands(&spec, "freq", "trapezoid", bands, 2, &d);
    assert_int_equal(d->plan.out.dims[1].size, 2);
    assert_true(d->plan.out.dims[1].values[0] == (2.5 + 4.0 + 8.0) / 3);
    assert_true(d->plan.out.dims[1].values[1] == 4.0);
    assert_string_equal(d->plan.out.units[7], "uV*Hz");
    drive_close(d);

    spec = make_spec(WEIR_F32, true); /* 1, 3, .. 11 */
    open_bands(&spec, "freq", "mean", bands, 2, &d);
    assert_true(d->plan.out.dims[1].values[0] == 5.0);
    drive_close(d);

    open_bands(&spec, "ch", "argmax", bands, 2, &d);
    assert_string_equal(d->plan.out.dims[2].labels[0], "c - h");
    assert_string_equal(d->plan.out.dims[2].labels[1], "e - f");
    assert_string_equal(d->plan.out.units[1], "1");
    drive_close(d);
}

static void null_passes_the_signal_through(void **state)
{
    (void)state;
    uint64_t random = drive_seed();
    weir_spec spec = make_spec(WEIR_F64, true);
    drive *d = NULL;
    assert_int_equal(drive_open("ranged_aggregate", &spec, NULL, 0, &d), WEIR_OK);
    double *data = drive_signal(&spec, 9, 0.5, 0.0, &random);
    drive_output o = drive_cuts(d, data, 9, &random);
    assert_memory_equal(o.data, data, 9 * 48 * sizeof *data);
    free(o.data);
    free(data);
    drive_close(d);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    static const double ranges[][2] = {{2.6, 3.9}, {8.0, 2.0}, {31, 40}};
    static const char *const texts[] = {"from 2.6 to 3.9; it goes from 1 to 30 in 6 entries",
                                        "band 0 is not [lowest, highest]", "from 31 to 40"};
    weir_spec spec = make_spec(WEIR_F32, false);
    drive *d = NULL;
    for (size_t i = 0; i < 3; i++) {
        weir_value numbers[2], row = weir_numbers(NULL, ranges[i], 2, numbers);
        weir_value given = weir_list_of("bands", &row, 1);
        assert_int_equal(drive_open("ranged_aggregate", &spec, &given, 1, &d), WEIR_E_CHAIN);
        assert_non_null(strstr(weir_err_detail(), texts[i]));
    }
    static const double mixed[6] = {1, 9, 2, 3, 4, 5};
    spec.dims[1].values = mixed;
    weir_value numbers[2], row = weir_numbers(NULL, (const double[]){0, 2}, 2, numbers);
    weir_value given = weir_list_of("bands", &row, 1);
    assert_int_equal(drive_open("ranged_aggregate", &spec, &given, 1, &d), WEIR_E_CHAIN);
    assert_non_null(strstr(weir_err_detail(), "not adjacent"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bands_equal_plain_loops),
        cmocka_unit_test(bands_have_coordinates),
        cmocka_unit_test(null_passes_the_signal_through),
        cmocka_unit_test(mistakes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
