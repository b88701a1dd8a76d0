/* SPDX-License-Identifier: MIT
 *
 * slicer_test.c: the entries that a selection names, of any dtype and along any dimension, and what follows
 * them. Selections themselves: dsp/selection_test.c.
 */
#include "dsp/selection.h"
#include "unit/drive.h"

static const char *const labels[10] = {"Fp1", "Fp2",     "C3",     "C4", "O1",
                                       "O2",  "x-aip-1", "x-m1-1", "7",  "a b"};

static void
check_values(const weir_spec *spec, const char *axis, const char *text, uint64_t *random)
{
    uint64_t list[64];
    bool chosen[64];
    int dim = weir_spec_dim(spec, axis);
    weir_value given[] = {weir_text("selection", text), weir_text("axis", axis)};
    weiri_selection s = {.axis = &spec->dims[dim], .list = list, .chosen = chosen};
    assert_int_equal(weiri_selection_resolve(&s, &given[0]), WEIR_OK);
    drive *d = NULL;
    assert_int_equal(drive_open("slicer", spec, given, 2, &d), WEIR_OK);
    assert_int_equal(d->plan.columnwise, strcmp(axis, "ch") != 0);
    weiri_split split = weiri_spec_split(spec, dim);
    size_t bytes = weir_dtype_bytes(spec->dtype), row = (size_t)weir_spec_frame_bytes(spec);
    unsigned char *data = malloc(50 * row);
    assert_non_null(data);
    for (size_t i = 0; i < 50 * row; i++) {
        data[i] = (unsigned char)drive_random(random, 256);
    }
    drive_output o = drive_cuts(d, data, 50, random);
    assert_int_equal(o.frames, 50);
    assert_int_equal(d->plan.out.dtype, spec->dtype);
    const unsigned char *at = o.data;
    for (size_t f = 0; f < 50 * split.outer; f++) {
        for (size_t i = 0; i < s.count; i++) {
            size_t from = (f * split.size + list[i]) * split.inner;
            assert_memory_equal(at, data + from * bytes, split.inner * bytes);
            at += split.inner * bytes;
        }
    }
    free(o.data);
    free(data);
    drive_close(d);
}

/* S1, any dtype, channels last and between other dimensions. */
static void slicer_takes_what_is_named(void **state)
{
    (void)state;
    static const weir_dtype dtypes[] = {WEIR_U8, WEIR_I16, WEIR_I32, WEIR_F32, WEIR_F64};
    static const char *const texts[] = {"1:5:2", "2:6", "C[34],O1", "::-1", "4", "Fp1, 9"};
    uint64_t random = drive_seed();
    for (size_t i = 0; i < 5; i++) {
        for (size_t j = 0; j < 6; j++) {
            weir_spec spec = weir_spec_make(dtypes[i], 100.0, 10, labels, NULL);
            check_values(&spec, "ch", texts[j], &random);
            spec.dims[2] = (weir_axis){.name = "metric", .unit = "", .size = 3, .step = 1};
            spec.dim_count = 3;
            check_values(&spec, "ch", texts[j], &random);
            check_values(&spec, "metric", "::2", &random);
            spec.dims[3] = spec.dims[1];
            spec.dims[1] = (weir_axis){.name = "lag", .unit = "s", .size = 4, .step = 1};
            spec.dim_count = 4;
            check_values(&spec, "ch", texts[j], &random);
            check_values(&spec, "lag", "1:3", &random);
        }
    }
}

static drive *open_slicer(const weir_spec *spec, const char *selection, const char *axis)
{
    weir_value given[] = {weir_text("selection", selection), weir_text("axis", axis)};
    drive *d = NULL;
    assert_int_equal(drive_open("slicer", spec, given, axis == NULL ? 1 : 2, &d), WEIR_OK);
    return d;
}

static void labels_units_and_values_follow(void **state)
{
    (void)state;
    const char *units[10] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
    static const double values[4] = {1, 2, 4, 8};
    weir_spec spec = weir_spec_make(WEIR_F32, 100.0, 10, labels, units);
    spec.dims[2] = (weir_axis){.name = "freq", .unit = "Hz", .size = 4, .values = values};
    spec.dim_count = 3;
    drive *d = open_slicer(&spec, "C4, O2", NULL);
    assert_int_equal(d->plan.out.dims[1].size, 2);
    assert_string_equal(d->plan.out.dims[1].labels[1], "O2");
    assert_string_equal(d->plan.out.units[0], "3");
    assert_string_equal(d->plan.out.units[1], "5");
    drive_close(d);
    d = open_slicer(&spec, "1,3", "freq");
    assert_true(d->plan.out.dims[2].values[0] == 2 && d->plan.out.dims[2].values[1] == 8);
    assert_ptr_equal(d->plan.out.units, spec.units);
    drive_close(d);
    d = open_slicer(&spec, "5", NULL); /* one bare number: the dimension goes */
    assert_int_equal(d->plan.out.dim_count, 2);
    assert_string_equal(d->plan.out.dims[1].name, "freq");
    assert_string_equal(d->plan.out.units[0], "5");
    drive_close(d);
    spec.dims[2] = (weir_axis){.name = "freq", .unit = "Hz", .size = 9, .start = 10, .step = 2};
    d = open_slicer(&spec, "1:8:3", "freq"); /* a regular axis stays one where it can */
    assert_true(d->plan.out.dims[2].values == NULL);
    assert_true(d->plan.out.dims[2].start == 12 && d->plan.out.dims[2].step == 6);
    drive_close(d);
    d = open_slicer(&spec, "0,1,5", "freq");
    assert_true(d->plan.out.dims[2].values[2] == 20);
    drive_close(d);
    weir_spec plain = weir_spec_make(WEIR_F32, 100.0, 10, NULL, NULL);
    plain.dims[1].name = "freq"; /* no channels: the last dimension */
    d = open_slicer(&plain, "2:4", NULL);
    assert_int_equal(d->plan.out.dims[1].size, 2);
    drive_close(d);
}

static void slicer_mistakes_are_named(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"axis", "time", "downsample"}, {"axis", "freq", "ch"},
        {"field", "bank", "field"},     {"selection", "Fp3", "Fp1"},
        {"selection", "12", "0 to 9"},  {"order", "up", "selection"}};
    weir_spec spec = weir_spec_make(WEIR_F32, 100.0, 10, labels, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        weir_value given = weir_text(cases[i][0], cases[i][1]);
        drive *d = NULL;
        drive_refused(drive_open("slicer", &spec, &given, 1, &d), cases[i][0]);
        assert_non_null(strstr(weir_err_detail(), cases[i][2]));
    }
    weir_value given[] = {weir_text("selection", "Fp1, Fp3"), weir_text("on_empty", "warn")};
    drive *d = NULL;
    assert_int_equal(drive_open("slicer", &spec, given, 2, &d), WEIR_OK);
    assert_int_equal(d->plan.out.dims[1].size, 1);
    assert_int_equal(d->notices.count, 1);
    drive_close(d);
    given[0] = weir_text("selection", "Fp3");
    assert_int_equal(drive_open("slicer", &spec, given, 2, &d), WEIR_E_CHAIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slicer_takes_what_is_named),
        cmocka_unit_test(labels_units_and_values_follow),
        cmocka_unit_test(slicer_mistakes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
