/* SPDX-License-Identifier: MIT
 *
 * modify_axis_test.c: names are changed, values are not; what is refused.
 */
#include "unit/drive.h"

static weir_value names[2];

static weir_err open_with(const weir_spec *spec, size_t count, drive **ret)
{
    weir_value map = weir_map_of("name_map", names, count);
    return drive_open("modify_axis", spec, &map, 1, ret);
}

static void renamed(void **state)
{
    (void)state;
    uint64_t random = 2;
    static const weir_dtype dtypes[] = {WEIR_F32, WEIR_F64, WEIR_C64, WEIR_I16};
    for (size_t i = 0; i < 4; i++) {
        weir_spec spec = weir_spec_make(dtypes[i], 100.0, 5, NULL, NULL);
        spec.dims[0].name = "win";
        spec.dims[2] = spec.dims[1];
        spec.dims[1] = (weir_axis){.name = "time", .unit = "s", .size = 3, .step = 0.1};
        spec.dim_count = 3;
        names[0] = weir_text("win", "time"); /* exchanged */
        names[1] = weir_text("time", "win");
        drive *d = NULL;
        assert_int_equal(open_with(&spec, 2, &d), WEIR_OK);
        assert_string_equal(d->plan.out.dims[0].name, "time");
        assert_string_equal(d->plan.out.dims[1].name, "win");
        assert_string_equal(d->plan.out.dims[2].name, "ch");
        assert_true(d->plan.out.dims[1].step == 0.1);
        unsigned char data[40 * 15 * 8];
        for (size_t k = 0; k < sizeof data; k++) {
            data[k] = (unsigned char)drive_random(&random, 64);
        }
        drive_output o = drive_cuts(d, data, 40, &random);
        assert_memory_equal(o.data, data, 40 * (size_t)weir_spec_frame_bytes(&spec));
        free(o.data);
        drive_close(d);
    }
}

static void refused(const weir_spec *spec, size_t count, const char *expected)
{
    drive *d = NULL;
    assert_int_equal(open_with(spec, count, &d), WEIR_E_CHAIN);
    if (strstr(weir_err_detail(), expected) == NULL) {
        fail_msg("%s", weir_err_detail());
    }
}

static void mistakes(void **state)
{
    (void)state;
    weir_spec spec = weir_spec_make(WEIR_F32, 100.0, 5, NULL, NULL);
    names[0] = weir_text("win", "time");
    refused(&spec, 1, "name_map: there is no dimension 'win'");
    names[0] = weir_text("ch", "time");
    refused(&spec, 1, "name_map: 'ch' cannot be renamed");
    names[0] = weir_text("time", "ch");
    refused(&spec, 1, "name_map: two dimensions would be called 'ch'");
    names[0] = weir_number("time", 3);
    refused(&spec, 1, "name_map: time: expected a name");
    drive *d = NULL;
    weir_value number = weir_number("name_map", 3);
    assert_int_equal(drive_open("modify_axis", &spec, &number, 1, &d), WEIR_E_CHAIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(renamed),
        cmocka_unit_test(mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
