/* SPDX-License-Identifier: MIT
 *
 * binned_aggregate_test.c: every operation against plain loops, edges over days, cuts, missing samples.
 */
#include "dsp/reduce.h"
#include "plain_reduce.h"
#include "unit/drive.h"

static const char *const labels[5] = {"a", "b", "c", "d", "e"};

/* ---- the plain loops ------------------------------------------------------------------------ */

static void check_bin(const drive *d,
                      const drive_output *o,
                      const void *data,
                      size_t bin,
                      size_t from,
                      size_t to,
                      const int *operations,
                      size_t count)
{
    size_t columns = (size_t)weir_spec_columns(&d->in);
    bool f32 = d->in.dtype == WEIR_F32;
    double *values = malloc((to - from) * sizeof *values);
    double *at = malloc((to - from) * sizeof *at); /* frames of the bin */
    assert_true(values != NULL && at != NULL);
    for (size_t c = 0; c < columns; c++) {
        size_t present = 0;
        for (size_t f = from; f < to; f++) {
            double v = drive_input(&d->in, data, f * columns + c);
            if (isfinite(v)) {
                values[present] = v;
                at[present++] = (double)(f - from);
            }
        }
        for (size_t i = 0; i < count; i++) {
            char what[80];
            snprintf(what, sizeof what, "%s of bin %zu, column %zu",
                     weiri_operations[operations[i]].name, bin, c);
            double expected =
                present > 0 ? plain_reduce(operations[i], values, at, present) : (double)NAN;
            if (operations[i] == WEIRI_TRAPEZOID) {
                expected /= d->in.rate_hz;
            }
            double found = drive_value(d, o, (bin * columns + c) * count + i);
            drive_near(found, expected, f32 ? 1e-6 : 1e-12, f32 ? 1e-6 : 1e-12, what);
        }
    }
    free(values);
    free(at);
}

typedef struct settings {
    weir_value values[4];
    weir_value operations[WEIRI_OPERATION_COUNT];
} settings;

/* bin_duration, fractional, and a list of operations (count 0: a single one, first). */
static size_t
make(settings *s, double duration, bool fractional, const int *operations, size_t count)
{
    s->values[0] = weir_number("bin_duration", duration);
    s->values[1] = weir_text("fractional", fractional ? "true" : "false");
    if (count == 0) {
        s->values[2] = weir_text("operation", weiri_operations[operations[0]].name);
        return 3;
    }
    for (size_t i = 0; i < count; i++) {
        s->operations[i] = weir_text(NULL, weiri_operations[operations[i]].name);
    }
    s->values[2] = (weir_value){
        .key = "operation", .type = WEIR_VALUE_LIST, .items = s->operations, .count = count};
    return 3;
}

static void check_stream(const weir_spec *spec,
                         double duration,
                         bool fractional,
                         const int *operations,
                         size_t count,
                         double missing,
                         uint64_t *random)
{
    settings s;
    drive *d = NULL;
    size_t frames = 1000, given = make(&s, duration, fractional, operations, count);
    assert_int_equal(drive_open("binned_aggregate", spec, s.values, given, &d), WEIR_OK);
    void *data = drive_signal(spec, frames, 0.25, missing, random);
    drive_output o = drive_cuts(d, data, frames, random);
    /* In 10^-7 frames, of durations in 0.1 us: whole numbers, so S3 is exact. */
    size_t unit = 10000000, length = (size_t)(lround(duration * 1e7) * lround(spec->rate_hz));
    length -= fractional ? 0 : length % unit;
    assert_true(d->plan.due.p * unit == d->plan.due.q * length);
    size_t bins = 0;
    for (;; bins++) {
        size_t from = bins * length / unit, to = (bins + 1) * length / unit;
        if (to > frames) {
            break;
        }
        assert_true(bins < o.frames);
        check_bin(d, &o, data, bins, from, to, operations, count > 0 ? count : 1);
    }
    assert_int_equal(o.frames, bins);
    assert_int_equal(d->plan.out.dtype, spec->dtype);
    free(o.data);
    free(data);
    drive_close(d);
}

/* ---- tests ---------------------------------------------------------------------------------- */

/* S1 S2 S5 S9: each operation alone and all at once, both types, several shapes and lengths. */
static void operations_equal_plain_loops(void **state)
{
    (void)state;
    static const double durations[] = {0.001, 0.01, 0.0333, 0.0501, 0.31};
    static const uint64_t channels[] = {1, 3, 5, 37, 72};
    uint64_t random = drive_seed();
    int all[WEIRI_OPERATION_COUNT];
    for (int i = 0; i < WEIRI_OPERATION_COUNT; i++) {
        all[i] = i;
    }
    for (size_t i = 0; i < 5; i++) {
        for (int dtype = 0; dtype < 2; dtype++) {
            weir_spec spec =
                weir_spec_make(dtype == 0 ? WEIR_F32 : WEIR_F64, 1000.0, channels[i], NULL, NULL);
            if (i == 4) { /* channels inside and outside of another dimension */
                weir_axis freq = {.name = "freq", .unit = "Hz", .size = 3, .step = 1};
                spec.dims[1].size = 24;
                spec.dims[2] = dtype == 0 ? spec.dims[1] : freq;
                spec.dims[1] = dtype == 0 ? freq : spec.dims[1];
                spec.dim_count = 3;
            }
            for (int missing = 0; missing < 3; missing++) {
                double share = missing == 0 ? 0 : missing == 1 ? 0.02 : 0.9;
                for (int op = 0; op < WEIRI_OPERATION_COUNT; op++) {
                    check_stream(&spec, durations[i], op % 2 == 0, &all[op], 0, share, &random);
                }
                check_stream(&spec, durations[i], true, all, WEIRI_OPERATION_COUNT, share, &random);
            }
        }
    }
}

/* Channels without a missing sample do not notice those that have some: bit-equal (S5). */
static void clean_channels_are_bit_equal(void **state)
{
    (void)state;
    uint64_t random = drive_seed();
    for (int op = 0; op < WEIRI_OPERATION_COUNT; op++) {
        weir_spec spec = weir_spec_make(op % 2 ? WEIR_F64 : WEIR_F32, 1000.0, 40, NULL, NULL);
        settings s;
        size_t frames = 500, given = make(&s, 0.0303, true, &op, 0);
        drive *d = NULL;
        assert_int_equal(drive_open("binned_aggregate", &spec, s.values, given, &d), WEIR_OK);
        void *data = drive_signal(&spec, frames, 5.0, 0, &random);
        drive_output clean = drive_cuts(d, data, frames, &random);
        uint64_t expected = 0;
        for (size_t f = 0; f < frames; f++) {
            for (size_t c = 0; c < 40; c += 2) {
                if (drive_random(&random, 9) == 0) {
                    expected++;
                    if (op % 2) {
                        ((double *)data)[f * 40 + c] = NAN;
                    } else {
                        ((float *)data)[f * 40 + c] = -INFINITY;
                    }
                }
            }
        }
        drive_reset(d);
        drive_output dirty = drive_run(d, data, frames, 33, &random);
        uint64_t missing = 0;
        for (size_t c = 0; c < 40; c++) {
            missing += d->block->missing[c];
            assert_true(c % 2 == 0 || d->block->missing[c] == 0);
        }
        assert_int_equal(missing, expected);
        size_t size = weir_dtype_bytes(spec.dtype);
        assert_int_equal(dirty.frames, clean.frames);
        for (size_t i = 1; i < clean.frames * 40; i += 2) {
            assert_memory_equal(clean.data + i * size, dirty.data + i * size, size);
        }
        free(clean.data);
        free(dirty.data);
        free(data);
        drive_close(d);
    }
}

/* A deviation of 1e-3 about 1e6 keeps its digits: one pass over squares would lose them all. */
static void std_is_sound_on_an_offset(void **state)
{
    (void)state;
    uint64_t random = drive_seed();
    weir_spec spec = weir_spec_make(WEIR_F64, 1000.0, 9, NULL, NULL);
    weir_value given[] = {weir_number("bin_duration", 0.5), weir_text("operation", "std")};
    drive *d = NULL;
    assert_int_equal(drive_open("binned_aggregate", &spec, given, 2, &d), WEIR_OK);
    double *data = drive_signal(&spec, 500, 0.0, 0, &random);
    for (size_t i = 0; i < 500 * 9; i++) {
        data[i] = 1e6 + 1e-3 * data[i];
    }
    drive_output o = drive_cuts(d, data, 500, &random);
    assert_int_equal(o.frames, 1);
    for (size_t c = 0; c < 9; c++) {
        long double mean = 0, square = 0;
        for (size_t f = 0; f < 500; f++) {
            mean += data[f * 9 + c] / 500.0L;
        }
        for (size_t f = 0; f < 500; f++) {
            square += (data[f * 9 + c] - mean) * (data[f * 9 + c] - mean);
        }
        drive_near(drive_value(d, &o, c), (double)sqrtl(square / 500), 1e-6, 0, "std");
    }
    free(o.data);
    free(data);
    drive_close(d);
}

/* S3: 3.0012 frames a bin: over three million bins each ends where floor((k + 1) * length) says: with
 * that frame comes its value, and not before. */
static void edges_do_not_drift(void **state)
{
    (void)state;
    weir_spec spec = weir_spec_make(WEIR_F32, 30012.0, 1, NULL, NULL);
    weir_value given[] = {weir_number("bin_duration", 0.0001), weir_text("operation", "argmax")};
    drive *d = NULL;
    assert_int_equal(drive_open("binned_aggregate", &spec, given, 2, &d), WEIR_OK);
    static float rising[64], found[64];
    for (size_t i = 0; i < 64; i++) {
        rising[i] = (float)i;
    }
    weiri_work work = {.in = {rising}, .out = found};
    for (uint64_t bin = 0; bin < 3000000; bin++) {
        uint64_t end = (bin + 1) * 30012 / 10000;
        assert_int_equal(weiri_due_at(&d->plan.due, end - 1, false), bin);
        assert_int_equal(weiri_due_at(&d->plan.due, end, false), bin + 1);
        size_t frames = (size_t)(end - work.consumed);
        work.consume = frames - 1;
        work.produce = 0;
        d->ops->run(d->block, &work);
        work.in[0] = rising + work.consume;
        work.consumed += work.consume;
        work.consume = work.produce = 1;
        d->ops->run(d->block, &work);
        assert_true(found[0] == (float)(frames - 1));
        work.in[0] = rising;
        work.consumed = end;
        work.produced++;
    }
    drive_close(d);
}

/* S3: lengths that binary arithmetic makes too short. */
static void lengths_are_decimals(void **state)
{
    (void)state;
    static const struct {
        const char *duration;
        double rate_hz;
        uint64_t ten; /* frames of ten bins */
    } cases[] = {{"9 ms", 25000, 2250}, {"33.3 ms", 20000, 6660}, {"290 ms", 100, 290},
                 {"43 ms", 5000, 2150}, {"1001 ms", 1000, 10010}, {"350 ms", 44100, 154350}};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        uint64_t ten = cases[i / 2].ten;
        weir_value given[] = {weir_text("bin_duration", cases[i / 2].duration),
                              weir_text("fractional", i % 2 ? "true" : "false"),
                              weir_text("operation", "sum")};
        weir_spec spec = weir_spec_make(WEIR_F32, cases[i / 2].rate_hz, 1, NULL, NULL);
        drive *d = NULL;
        assert_int_equal(drive_open("binned_aggregate", &spec, given, 3, &d), WEIR_OK);
        float *ones = malloc(ten * sizeof *ones);
        assert_non_null(ones);
        for (size_t k = 0; k < ten; k++) {
            ones[k] = 1;
        }
        drive_output o = drive_run(d, ones, ten, 0, NULL);
        assert_int_equal(o.frames, 10);
        for (size_t k = 0; k < o.frames; k++) {
            assert_true(drive_value(d, &o, k) == (double)(ten / 10));
        }
        free(o.data);
        free(ones);
        drive_close(d);
    }
}

/* One operation and a list of one differ in shape, as in the reference. */
static void a_list_adds_a_dimension(void **state)
{
    (void)state;
    settings s;
    drive *d = NULL;
    int ops[2] = {WEIRI_MIN, WEIRI_MAX};
    const char *units[5] = {"uV", "uV", "mV", "uV", "uV"};
    weir_spec spec = weir_spec_make(WEIR_F32, 1000.0, 5, labels, units);
    for (size_t count = 0; count < 3; count++) {
        size_t given = make(&s, 0.01, true, ops, count);
        assert_int_equal(drive_open("binned_aggregate", &spec, s.values, given, &d), WEIR_OK);
        assert_int_equal(d->plan.out.dim_count, count == 0 ? 2 : 3);
        if (count > 0) {
            assert_string_equal(d->plan.out.dims[2].name, "metric");
            assert_int_equal(d->plan.out.dims[2].size, count);
            assert_string_equal(d->plan.out.dims[2].labels[0], "min");
            assert_string_equal(d->plan.out.dims[2].labels[count - 1], count == 2 ? "max" : "min");
        }
        assert_string_equal(d->plan.out.dims[1].labels[4], "e");
        assert_string_equal(d->plan.out.units[2], "mV");
        drive_close(d);
    }
    weir_value given[] = {weir_text("operation", "argmax")};
    assert_int_equal(drive_open("binned_aggregate", &spec, given, 1, &d), WEIR_OK);
    assert_string_equal(d->plan.out.units[2], "1"); /* a number of frames */
    drive_close(d);
    int mixed[2] = {WEIRI_MEAN, WEIRI_ARGMAX};
    size_t count = make(&s, 0.01, true, mixed, 2);
    assert_int_equal(drive_open("binned_aggregate", &spec, s.values, count, &d), WEIR_OK);
    assert_null(d->plan.out.units); /* not one for all of a channel's values */
    drive_close(d);
}

/* Only a median keeps samples, ceil(length) of them a channel. */
static void only_a_median_keeps_samples(void **state)
{
    (void)state;
    weir_spec spec = weir_spec_make(WEIR_F32, 1000.0, 256, NULL, NULL);
    for (int op = 0; op < WEIRI_OPERATION_COUNT; op++) {
        settings s;
        drive *d = NULL;
        size_t given = make(&s, 10.0005, true, &op, 0);
        assert_int_equal(drive_open("binned_aggregate", &spec, s.values, given, &d), WEIR_OK);
        bool median = op == WEIRI_MEDIAN || op == WEIRI_NANMEDIAN;
        uint64_t samples = 10001 * 256 * 4, state_bytes = 0;
        for (size_t i = 0; i < d->plan.field_count; i++) {
            state_bytes += weiri_field_bytes(&d->plan.fields[i], 256);
        }
        assert_true(median ? state_bytes == samples + 256 * 4 : state_bytes <= 256 * 28);
        assert_int_equal(d->plan.scratch_bytes, median ? 10001 * 64 : 0);
        assert_int_equal(d->plan.scratch_column_bytes, median ? 8 : 0);
        drive_close(d);
    }
}

/* A bin ends at most its length after a frame that is in it: and no sooner. */
static void a_bin_is_forgotten_with_the_next(void **state)
{
    (void)state;
    static const char *const durations[] = {"1 ms", "10 ms", "10.5 ms", "33.3 ms"};
    uint64_t random = drive_seed();
    for (size_t i = 0; i < 4; i++) {
        weir_spec spec = weir_spec_make(WEIR_F64, 1000.0, 3, NULL, NULL);
        weir_value given[] = {weir_text("bin_duration", durations[i]),
                              weir_text("operation", "max")};
        drive *d = NULL;
        assert_int_equal(drive_open("binned_aggregate", &spec, given, 2, &d), WEIR_OK);
        static const uint64_t frames[] = {0, 9, 10, 33};
        assert_int_equal(drive_settle(d, 1e-6), frames[i]);
        for (size_t before = 20; before < 60; before++) {
            (void)drive_settles(d, before, 0, &random);
        }
        drive_close(d);
    }
}

/* Mistakes are named with what is allowed. */
static void mistakes_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value, *wanted;
    } cases[] = {
        {"bin_duration", "0.5 ms", "less than one frame"},
        {"bin_duration", "10 Hz", "bin_duration"},
        {"bin_duration", "100000000 s", "frames"},
        {"operation", "meen", "mean"},
        {"axis", "ch", "time"},
        {"bin_duratoin", "1 s", "bin_duration"},
    };
    weir_spec spec = weir_spec_make(WEIR_F32, 1000.0, 5, NULL, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        weir_value given = weir_text(cases[i].name, cases[i].value);
        drive *d = NULL;
        assert_int_equal(drive_open("binned_aggregate", &spec, &given, 1, &d), WEIR_E_CHAIN);
        const char *detail = weir_err_detail();
        assert_true(strncmp(detail, cases[i].name, strlen(cases[i].name)) == 0);
        if (strstr(detail, cases[i].wanted) == NULL) {
            print_error("'%s' has no '%s'\n", detail, cases[i].wanted);
            fail();
        }
    }
}

static void passthrough_changes_nothing(void **state)
{
    (void)state;
    uint64_t random = drive_seed();
    weir_spec spec = weir_spec_make(WEIR_F64, 1000.0, 5, NULL, NULL);
    weir_value given = weir_text("passthrough", "true");
    drive *d = NULL;
    assert_int_equal(drive_open("binned_aggregate", &spec, &given, 1, &d), WEIR_OK);
    void *data = drive_signal(&spec, 100, 0, 0.1, &random);
    drive_output o = drive_cuts(d, data, 100, &random);
    assert_int_equal(o.frames, 100);
    assert_true(weiri_due_is_same(&d->plan.due));
    assert_int_equal(drive_settle(d, 0), 0);
    assert_memory_equal(o.data, data, 100 * 5 * 8);
    free(o.data);
    free(data);
    drive_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_equal_plain_loops),
        cmocka_unit_test(clean_channels_are_bit_equal),
        cmocka_unit_test(std_is_sound_on_an_offset),
        cmocka_unit_test(edges_do_not_drift),
        cmocka_unit_test(lengths_are_decimals),
        cmocka_unit_test(a_list_adds_a_dimension),
        cmocka_unit_test(only_a_median_keeps_samples),
        cmocka_unit_test(a_bin_is_forgotten_with_the_next),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(passthrough_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
