/* SPDX-License-Identifier: MIT
 *
 * fbcca_test.c: a window that is a sine is found whatever the order of dimensions; sub-bands and their weights; channels
 * that depend on others or have missing samples.
 */
#include "unit/drive.h"

enum { TIME = 125, CHANNELS = 3, BANDS = 4 };

static const double target = 11.0;
static weir_value freqs[3];

static size_t settings(weir_value *given, const char *bands)
{
    freqs[0] = weir_number(NULL, 7.5);
    freqs[1] = weir_number(NULL, target);
    freqs[2] = weir_number(NULL, 14.0);
    given[0] = weir_text("time_dim", "time");
    given[1] = weir_text("ch_dim", "ch");
    given[2] = weir_list_of("freqs", freqs, 3);
    given[3] = weir_number("harmonics", 2);
    given[4] = weir_number("softmax_beta", 0);
    given[5] = weir_text("filterbank_dim", bands);
    return bands == NULL ? 5 : 6;
}

static weir_axis axis_of(const char *name, uint64_t size)
{
    return (weir_axis){.name = name, .unit = "", .size = size, .step = 1 / 250.0};
}

/* [win x ...] in an order of the letters t, c, b. */
static weir_spec spec_of(weir_dtype dtype, const char *order)
{
    weir_spec spec = weir_spec_make(dtype, 2.0, CHANNELS, NULL, NULL);
    spec.dims[0].name = "win";
    spec.dim_count = 1;
    for (const char *o = order; *o != '\0'; o++) {
        spec.dims[spec.dim_count++] = *o == 't'   ? axis_of("time", TIME)
                                      : *o == 'c' ? axis_of("ch", CHANNELS)
                                                  : axis_of("band", BANDS);
    }
    return spec;
}

/* The signal of a band and channel: sine x amplitude + noise. */
static void fill(const weir_spec *spec, void *data, size_t frames, double noise)
{
    uint64_t random = 3;
    size_t columns = (size_t)weir_spec_columns(spec);
    for (size_t i = 0; i < frames * columns; i++) {
        size_t place[4] = {0}, rest = i % columns;
        for (uint32_t d = spec->dim_count; d-- > 1;) {
            place[d] = rest % spec->dims[d].size;
            rest /= spec->dims[d].size;
        }
        int time = weir_spec_dim(spec, "time"), ch = weir_spec_dim(spec, "ch");
        double t = (double)place[time] / 250.0, c = (double)place[ch];
        double x = (1 + c) * sin(6.283185307179586 * target * t + c) + 40;
        x += noise * ((double)drive_random(&random, 1 << 20) * 0x1p-19 - 1);
        if (spec->dtype == WEIR_F32) {
            ((float *)data)[i] = (float)x;
        } else {
            ((double *)data)[i] = x;
        }
    }
}

static void sines(void **state)
{
    (void)state;
    static const char *const orders[] = {"tc", "ct", "tcb", "btc", "cbt"};
    uint64_t random = drive_seed();
    for (size_t i = 0; i < 10; i++) {
        const char *order = orders[i / 2];
        weir_spec spec = spec_of(i % 2 == 0 ? WEIR_F64 : WEIR_F32, order);
        weir_value given[6];
        size_t count = settings(given, strchr(order, 'b') != NULL ? "band" : NULL);
        drive *d = NULL;
        assert_int_equal(drive_open("fbcca", &spec, given, count, &d), WEIR_OK);
        assert_int_equal(d->plan.out.dim_count, 2);
        assert_string_equal(d->plan.out.dims[1].name, "target_freq");
        assert_true(d->plan.out.dims[1].values[1] == target);
        double *data = calloc((size_t)weir_spec_columns(&spec) * 5, sizeof *data), weights = 0;
        fill(&spec, data, 5, 0.0);
        for (int b = 1; b <= (strchr(order, 'b') != NULL ? BANDS : 1); b++) {
            weights += pow(b, -1.25) + 0.25;
        }
        drive_output o = drive_cuts(d, data, 5, &random);
        assert_int_equal(o.frames, 5);
        for (size_t f = 0; f < 5; f++) {
            drive_near(drive_value(d, &o, 3 * f + 1), weights, 1e-6, 0, "of a sine");
            assert_true(drive_value(d, &o, 3 * f) < 0.3 * weights);
            assert_true(drive_value(d, &o, 3 * f + 2) < 0.3 * weights);
        }
        free(o.data);
        free(data);
        drive_close(d);
    }
}

static void channels_left_out(void **state)
{
    (void)state;
    uint64_t random = 1;
    weir_spec spec = spec_of(WEIR_F64, "tc");
    weir_value given[6];
    drive *d = NULL;
    assert_int_equal(drive_open("fbcca", &spec, given, settings(given, NULL), &d), WEIR_OK);
    size_t columns = TIME * CHANNELS;
    double data[5 * TIME * CHANNELS];
    fill(&spec, data, 5, 2.0);
    memcpy(data + columns, data, columns * sizeof *data);
    memcpy(data + 2 * columns, data, columns * sizeof *data);
    for (size_t i = 0; i < TIME; i++) {
        data[columns + 3 * i + 2] = 3 * data[3 * i] - data[3 * i + 1]; /* depends on the others */
        data[2 * columns + 3 * i + 2] = 9.0;                           /* constant */
        data[3 * columns + 3 * i + 2] = data[4 * columns + 3 * i] = 0; /* silent */
        data[3 * columns + 3 * i] = data[3 * i];
        data[3 * columns + 3 * i + 1] = data[3 * i + 1];
    }
    data[3 * columns + 3 * 50 + 2] = (double)NAN;
    data[4 * columns + 7] = data[4 * columns + 8] = data[4 * columns + 3] = INFINITY;
    drive_output o = drive_cuts(d, data, 5, &random);
    for (size_t i = 0; i < 3; i++) {
        double two = drive_value(d, &o, 3 + i);
        assert_true(two < drive_value(d, &o, i) + 1e-12); /* three channels have more */
        drive_near(drive_value(d, &o, 6 + i), two, 1e-12, 0, "constant");
        drive_near(drive_value(d, &o, 9 + i), two, 1e-12, 0, "missing");
        assert_true(isnan(drive_value(d, &o, 12 + i))); /* no channel is left */
    }
    free(o.data);
    drive_close(d);
    given[4] = weir_number("softmax_beta", 2.5);
    assert_int_equal(drive_open("fbcca", &spec, given, 5, &d), WEIR_OK);
    o = drive_cuts(d, data, 1, &random);
    drive_near(drive_value(d, &o, 0) + drive_value(d, &o, 1) + drive_value(d, &o, 2), 1, 1e-15, 0,
               "softmax");
    free(o.data);
    drive_close(d);
}

static void refused(void **state)
{
    (void)state;
    weir_spec plain = weir_spec_make(WEIR_F32, 250.0, CHANNELS, NULL, NULL);
    weir_spec spec = spec_of(WEIR_F32, "tc");
    weir_value given[6];
    drive *d = NULL;
    size_t count = settings(given, NULL);
    assert_int_equal(drive_open("fbcca", &plain, given, count, &d), WEIR_E_CHAIN);
    assert_non_null(strstr(weir_err_detail(), "time_dim: 'time' is the stream's dimension"));
    given[1] = weir_text("ch_dim", "time");
    assert_int_equal(drive_open("fbcca", &spec, given, count, &d), WEIR_E_CHAIN);
    count = settings(given, "band");
    assert_int_equal(drive_open("fbcca", &spec, given, count, &d), WEIR_E_CHAIN);
    assert_non_null(strstr(weir_err_detail(), "filterbank_dim: there is no dimension 'band'"));
    given[5] = weir_text("max_int_time", "4 ms");
    assert_int_equal(drive_open("fbcca", &spec, given, count, &d), WEIR_E_CHAIN);
    given[5] = weir_text("max_int_time", "200 ms");
    assert_int_equal(drive_open("fbcca", &spec, given, count, &d), WEIR_OK);
    drive_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sines),
        cmocka_unit_test(channels_left_out),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
