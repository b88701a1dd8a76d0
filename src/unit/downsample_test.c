/* SPDX-License-Identifier: MIT
 *
 * downsample_test.c: which frames are kept, and the factor that a rate becomes.
 */
#include "unit/drive.h"

/* S1 S3 S9: frames 0, n, 2n and so on, of any dtype. */
static void every_nth_frame_is_kept(void **state)
{
    (void)state;
    static const weir_dtype dtypes[] = {WEIR_U8, WEIR_I16, WEIR_I32, WEIR_F32, WEIR_F64};
    static const double factors[] = {1, 2, 7, 30, 499, 500, 501, 100000};
    uint64_t random = drive_seed();
    for (size_t i = 0; i < 5; i++) {
        for (size_t j = 0; j < sizeof factors / sizeof factors[0]; j++) {
            weir_spec spec = weir_spec_make(dtypes[i], 30000.0, 3, NULL, NULL);
            size_t row = (size_t)weir_spec_frame_bytes(&spec), n = (size_t)factors[j];
            weir_value given = weir_number("factor", factors[j]);
            drive *d = NULL;
            assert_int_equal(drive_open("downsample", &spec, &given, 1, &d), WEIR_OK);
            assert_true(d->plan.due.p == (uint64_t)factors[j] && d->plan.due.q == 1);
            assert_int_equal(d->plan.skipped_frames, n - 1);
            assert_int_equal(d->plan.field_count, 0);
            unsigned char *data = malloc(500 * row);
            assert_non_null(data);
            for (size_t k = 0; k < 500 * row; k++) {
                data[k] = (unsigned char)drive_random(&random, 256);
            }
            drive_output o = drive_cuts(d, data, 500, &random);
            assert_int_equal(o.frames, (500 + n - 1) / n);
            for (size_t k = 0; k < o.frames; k++) {
                assert_memory_equal(o.data + k * row, data + k * n * row, row);
            }
            free(o.data);
            free(data);
            drive_close(d);
        }
    }
}

/* The nearest rate above the target by a whole factor. */
static void a_rate_becomes_a_factor(void **state)
{
    (void)state;
    static const double cases[][3] = {{30000, 1000, 30},
                                      {30000, 10000, 3},
                                      {30000, 2500, 12},
                                      {25000, 1, 25000},
                                      {30012, 1000, 30},
                                      {128, 100, 1},
                                      {128, 60, 2},
                                      {128, 400, 1},
                                      {44100, 11025, 4},
                                      {0.3, 0.1, 3},
                                      {100, 9.090909090909092, 11}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        weir_spec spec = weir_spec_make(WEIR_F32, cases[i][0], 3, NULL, NULL);
        weir_value given = weir_number("target_rate", cases[i][1]);
        drive *d = NULL;
        assert_int_equal(drive_open("downsample", &spec, &given, 1, &d), WEIR_OK);
        assert_true(d->plan.due.p == (uint64_t)cases[i][2]);
        assert_int_equal(d->notices.count, cases[i][1] > cases[i][0] ? 1 : 0);
        drive_close(d);
    }
}

/* S5: all that came is counted, kept or not, and what is kept stays as it is. */
static void missing_samples_are_counted(void **state)
{
    (void)state;
    uint64_t random = drive_seed(), missing = 0;
    weir_spec spec = weir_spec_make(WEIR_F32, 1000.0, 4, NULL, NULL);
    weir_value given = weir_number("factor", 3);
    drive *d = NULL;
    assert_int_equal(drive_open("downsample", &spec, &given, 1, &d), WEIR_OK);
    unsigned char *data = drive_signal(&spec, 300, 0, 0.1, &random);
    drive_output o = drive_run(d, data, 300, 17, &random);
    for (size_t i = 0; i < 300 * 4; i++) {
        missing += isfinite(drive_input(&spec, data, i)) ? 0 : 1;
    }
    assert_true(missing > 0);
    assert_int_equal(missing, d->block->missing[0] + d->block->missing[1] + d->block->missing[2] +
                                  d->block->missing[3]);
    for (size_t k = 0; k < o.frames; k++) {
        assert_memory_equal(o.data + k * 16, data + k * 48, 16);
    }
    free(o.data);
    free(data);
    drive_close(d);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    weir_spec spec = weir_spec_make(WEIR_F32, 1000.0, 4, NULL, NULL);
    weir_value given[] = {weir_number("factor", 0), weir_text("target_rate", "10 ms"),
                          weir_text("axis", "ch")};
    for (size_t i = 0; i < 3; i++) {
        drive *d = NULL;
        assert_int_equal(drive_open("downsample", &spec, &given[i], 1, &d), WEIR_E_CHAIN);
        assert_true(strncmp(weir_err_detail(), given[i].key, strlen(given[i].key)) == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_nth_frame_is_kept),
        cmocka_unit_test(a_rate_becomes_a_factor),
        cmocka_unit_test(missing_samples_are_counted),
        cmocka_unit_test(mistakes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
