/* SPDX-License-Identifier: MIT
 *
 * layout_test.c: transpose and flatten against plain loops; labels, physical units, mistakes.
 */
#include "unit/drive.h"

static const char *const names[3] = {"a", "b", "c"};
static const char *const volts[3] = {"uV", "mV", "V"};
static const double freqs[5] = {1, 2.5, 4, 8, 13};

/* [win x time x freq x ch], 4 x 5 x 3 values. */
static weir_spec make_spec(weir_dtype dtype)
{
    weir_spec spec = weir_spec_make(dtype, 10.0, 3, names, volts);
    spec.dims[3] = spec.dims[1];
    spec.dims[0].name = "win";
    spec.dims[1] = (weir_axis){.name = "time", .unit = "s", .size = 4, .step = 0.1};
    spec.dims[2] = (weir_axis){.name = "freq", .unit = "Hz", .size = 5, .values = freqs};
    spec.dim_count = 4;
    return spec;
}

/* Output value [n, i, j, k] is input value at the same entries, whose dimensions are order[]. */
static void
check(const char *unit, const weir_value *given, size_t count, const int order[3], weir_dtype dtype)
{
    static const size_t sizes[4] = {0, 4, 5, 3}, steps[4] = {60, 15, 3, 1};
    uint64_t random = drive_seed();
    weir_spec spec = make_spec(dtype);
    drive *d = NULL;
    assert_int_equal(drive_open(unit, &spec, given, count, &d), WEIR_OK);
    void *data = drive_signal(&spec, 20, 0.5, 0.02, &random);
    drive_output o = drive_cuts(d, data, 20, &random);
    size_t at = 0, bytes = weir_dtype_bytes(dtype);
    for (size_t n = 0; n < 20; n++) {
        for (size_t i = 0; i < sizes[order[0]]; i++) {
            for (size_t j = 0; j < sizes[order[1]]; j++) {
                for (size_t k = 0; k < sizes[order[2]]; k++) {
                    size_t from =
                        n * 60 + i * steps[order[0]] + j * steps[order[1]] + k * steps[order[2]];
                    assert_memory_equal(o.data + at++ * bytes, (unsigned char *)data + from * bytes,
                                        bytes);
                }
            }
        }
    }
    free(o.data);
    free(data);
    drive_close(d);
}

static void transpose_equals_plain_loops(void **state)
{
    (void)state;
    static const int orders[6][3] = {{1, 2, 3}, {1, 3, 2}, {2, 1, 3},
                                     {2, 3, 1}, {3, 1, 2}, {3, 2, 1}};
    static const weir_dtype dtypes[] = {WEIR_F32, WEIR_F64, WEIR_I16, WEIR_C128, WEIR_U8, WEIR_C64};
    weir_spec spec = make_spec(WEIR_F32);
    for (size_t i = 0; i < 6; i++) {
        weir_value items[4] = {weir_number(NULL, 0), weir_number(NULL, orders[i][0]),
                               weir_text(NULL, spec.dims[orders[i][1]].name),
                               weir_number(NULL, orders[i][2] - 4)};
        weir_value given = weir_list_of("axes", items, 4);
        check("transpose", &given, 1, orders[i], dtypes[i]);
        drive *d = NULL;
        assert_int_equal(drive_open("transpose", &spec, &given, 1, &d), WEIR_OK);
        for (uint32_t k = 0; k < 3; k++) {
            assert_string_equal(d->plan.out.dims[1 + k].name, spec.dims[orders[i][k]].name);
        }
        drive_close(d);
    }
    weir_value rest[] = {weir_text(NULL, "win"), weir_text(NULL, "..."), weir_text(NULL, "time")};
    weir_value given = weir_list_of("axes", rest, 3);
    check("transpose", &given, 1, orders[3], WEIR_F32);
    check("transpose", NULL, 0, orders[0], WEIR_F32);
}

static void flatten_equals_plain_loops(void **state)
{
    (void)state;
    static const int orders[2][3] = {{1, 2, 3}, {3, 1, 2}};
    weir_value items[] = {weir_text(NULL, "ch"), weir_text(NULL, "time")};
    weir_value given[] = {weir_list_of("flatten_axes", items, 2), weir_text("label_separator", " "),
                          weir_text("sample_axis", "t")};
    check("flatten", NULL, 0, orders[0], WEIR_F32);
    check("flatten", given, 3, orders[1], WEIR_I16);
    weir_spec spec = make_spec(WEIR_F32);
    drive *d = NULL;
    assert_int_equal(drive_open("flatten", &spec, NULL, 0, &d), WEIR_OK);
    assert_int_equal(d->plan.out.dim_count, 2);
    assert_int_equal(d->plan.out.dims[1].size, 60);
    assert_string_equal(d->plan.out.dims[1].name, "ch");
    assert_string_equal(d->plan.out.dims[1].labels[4], "1/2.5/b");
    assert_string_equal(d->plan.out.units[4], "mV");
    drive_close(d);
    assert_int_equal(drive_open("flatten", &spec, given, 3, &d), WEIR_OK);
    assert_int_equal(d->plan.out.dim_count, 3);
    assert_string_equal(d->plan.out.dims[0].name, "t");
    assert_string_equal(d->plan.out.dims[1].labels[6], "b 3");
    assert_string_equal(d->plan.out.dims[2].name, "freq");
    assert_string_equal(d->plan.out.units[6], "mV");
    drive_close(d);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    weir_spec spec = make_spec(WEIR_F32);
    weir_value moved[] = {weir_text(NULL, "ch"), weir_text(NULL, "win")};
    weir_value twice[] = {weir_text(NULL, "win"), weir_text(NULL, "ch"), weir_number(NULL, 3)};
    weir_value unknown[] = {weir_text(NULL, "win"), weir_text(NULL, "chan")};
    weir_value part[] = {weir_text(NULL, "time")};
    struct {
        const char *unit;
        weir_value given;
        const char *detail;
    } cases[] = {
        {"transpose", weir_list_of("axes", moved, 2), "axes: 'ch' would be the first dimension"},
        {"transpose", weir_list_of("axes", twice, 3), "axes: 'ch' is listed twice"},
        {"transpose", weir_list_of("axes", unknown, 2), "there are: win time freq ch"},
        {"flatten", weir_list_of("flatten_axes", moved, 2), "flatten_axes: 'win' is the stream's"},
        {"flatten", weir_list_of("flatten_axes", part, 1),
         "output_axis: there would be two dimensions 'ch'"},
        {"flatten", weir_text("preserve_axis", "time"), "preserve_axis: 'time' is not"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        drive *d = NULL;
        assert_int_equal(drive_open(cases[i].unit, &spec, &cases[i].given, 1, &d), WEIR_E_CHAIN);
        if (strstr(weir_err_detail(), cases[i].detail) == NULL) {
            fail_msg("%s", weir_err_detail());
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transpose_equals_plain_loops),
        cmocka_unit_test(flatten_equals_plain_loops),
        cmocka_unit_test(mistakes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
