/* SPDX-License-Identifier: MIT
 *
 * dtypes and specs.
 */
#include <math.h>
#include <string.h>

#include <weir/array.h>

#include "base/base.h"
#include "testing.h"

static void dtypes(void **state)
{
    (void)state;
    weir_dtype dtype = WEIR_U8;
    assert_int_equal(weir_dtype_bytes(WEIR_U8), 1);
    assert_int_equal(weir_dtype_bytes(WEIR_I16), 2);
    assert_int_equal(weir_dtype_bytes(WEIR_F64), 8);
    assert_int_equal(weir_dtype_bytes((weir_dtype)9), 0);
    assert_string_equal(weir_dtype_name(WEIR_F32), "f32");
    assert_ok(weir_dtype_parse("Float64", &dtype));
    assert_int_equal(dtype, WEIR_F64);
    assert_ok(weir_dtype_parse("i16", &dtype));
    assert_int_equal(dtype, WEIR_I16);
    assert_fails(weir_dtype_parse("f16", &dtype), WEIR_E_USAGE,
                 "allowed: u8 u16 i16 i32 f32 f64 c64 c128");
    assert_fails(weir_dtype_parse(NULL, &dtype), WEIR_E_USAGE, "no text");
    assert_int_equal(dtype, WEIR_I16);
}

static void complex_dtypes(void **state)
{
    (void)state;
    static const weir_dtype dtypes[] = {WEIR_C64, WEIR_C128}, parts[] = {WEIR_F32, WEIR_F64};
    static const char *const names[][2] = {{"c64", "complex64"}, {"c128", "complex128"}};
    for (size_t i = 0; i < 2; i++) {
        weir_dtype dtype = WEIR_U8;
        assert_ok(weir_dtype_parse(names[i][0], &dtype));
        assert_int_equal(dtype, dtypes[i]);
        assert_ok(weir_dtype_parse(names[i][1], &dtype));
        assert_int_equal(dtype, dtypes[i]);
        assert_string_equal(weir_dtype_name(dtype), names[i][0]);
        assert_int_equal(weir_dtype_bytes(dtype), i == 0 ? 8 : 16);
        assert_int_equal(weir_dtype_part(dtype), parts[i]);
        assert_int_equal(weir_dtype_parts(dtype), 2);
        assert_int_equal(weir_dtype_part(parts[i]), parts[i]);
        assert_int_equal(weir_dtype_parts(parts[i]), 1);
    }
    assert_int_equal(weir_dtype_parts(WEIR_U8), 1);
}

static void sizes(void **state)
{
    (void)state;
    static const char *const labels[] = {"a", "b", "c"};
    weir_spec spec = weir_spec_make(WEIR_F32, 30000, 3, labels, NULL);
    assert_ok(weir_spec_check(&spec));
    assert_true(weir_spec_columns(&spec) == 3 && weir_spec_frame_bytes(&spec) == 12);
    assert_int_equal(weir_spec_dim(&spec, "time"), 0);
    assert_int_equal(weir_spec_dim(&spec, "ch"), 1);
    assert_int_equal(weir_spec_dim(&spec, "freq"), -1);
    assert_true(spec.dims[0].step == 1.0 / 30000 && spec.dims[1].labels == labels);
    spec.dim_count = 1;
    assert_ok(weir_spec_check(&spec));
    assert_true(weir_spec_columns(&spec) == 1 && weir_spec_frame_bytes(&spec) == 4);
}

static void refused(weir_spec spec, const char *text)
{
    assert_fails(weir_spec_check(&spec), WEIR_E_USAGE, text);
}

static void what_is_refused(void **state)
{
    (void)state;
    static const char *const holes[] = {"a", NULL, "c"};
    const weir_spec good = weir_spec_make(WEIR_I16, 1000, 3, NULL, NULL);
    weir_spec bad = good;
    assert_fails(weir_spec_check(NULL), WEIR_E_USAGE, "no spec");
    bad.dtype = (weir_dtype)17;
    refused(bad, "dtype");
    bad = good;
    bad.dim_count = 5;
    refused(bad, "1 to 4");
    bad.dim_count = 0;
    refused(bad, "dim_count");
    bad = good;
    bad.rate_hz = 0;
    refused(bad, "rate_hz");
    bad.rate_hz = NAN;
    refused(bad, "rate_hz");
    bad.rate_hz = INFINITY;
    refused(bad, "rate_hz");
    refused(weir_spec_make(WEIR_I16, 1000, 0, NULL, NULL), "dims[1].size: 0");
    refused(weir_spec_make(WEIR_I16, 1000, UINT64_MAX, NULL, NULL), "2^32");
    bad = good;
    bad.dim_count = 3;
    bad.dims[2] = (weir_axis){.name = "freq", .unit = "Hz", .size = UINT64_C(1) << 62};
    refused(bad, "dims[2].size");
    bad.dims[2].size = 2;
    bad.dims[2].name = "ch";
    refused(bad, "duplicate axis 'ch'");
    bad.dims[2].name = NULL;
    refused(bad, "name and unit");
    bad = good;
    bad.dims[0].size = 9;
    refused(bad, "dims[0].size");
    bad = good;
    bad.dims[1].labels = holes;
    refused(bad, "label 1");
    bad.dims[1].values = &good.rate_hz;
    refused(bad, "labels or values");
    bad = good;
    bad.dims[1].step = NAN;
    refused(bad, "finite");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dtypes),
        cmocka_unit_test(complex_dtypes),
        cmocka_unit_test(sizes),
        cmocka_unit_test(what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
