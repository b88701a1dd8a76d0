/* SPDX-License-Identifier: MIT
 *
 * Conversion of stored values: every coding, byte order, step and target compared with one plain
 * definition, and the rule for when f32 would merge counts.
 */
#include "testing.h"

#include <math.h>
#include <string.h>

#include "recording/reader.h"

/* The plain definition: bytes to a number. */
static double decode(weiri_stored stored, const unsigned char *from)
{
    size_t width = weiri_stored_bytes(stored);
    uint64_t bits = 0;
    for (size_t i = 0; i < width; i++) {
        bits = bits << 8 | from[stored.big_endian ? i : width - 1 - i];
    }
    float f32;
    double f64;
    uint32_t low = (uint32_t)bits;
    switch (stored.coding) {
    case WEIRI_CODING_U8:
    case WEIRI_CODING_U16:
        return (double)bits;
    case WEIRI_CODING_I16:
        return (int16_t)bits;
    case WEIRI_CODING_I24:
        return bits >= 1u << 23 ? (double)bits - 16777216.0 : (double)bits;
    case WEIRI_CODING_I32:
        return (int32_t)bits;
    case WEIRI_CODING_F32:
        memcpy(&f32, &low, 4);
        return (double)f32;
    case WEIRI_CODING_F64:
        memcpy(&f64, &bits, 8);
        return f64;
    case WEIRI_CODING_I8:
        return (int8_t)bits;
    case WEIRI_CODING_U32:
    case WEIRI_CODING_U64:
        return (double)bits;
    case WEIRI_CODING_I64:
        return (double)(int64_t)bits;
    case WEIRI_CODING_F16:
        /* Numbers with exponent 0, infinities and NaN are tested in halves(). */
        return ldexp(1024 + (double)(bits & 1023), (int)(bits >> 10 & 31) - 25) *
               (bits >> 15 ? -1 : 1);
    case WEIRI_CODINGS:
        break;
    }
    return NAN;
}

static void store(weir_dtype dtype, unsigned char *to, double value)
{
    switch (dtype) {
    case WEIR_U8:
        *to = (uint8_t)value;
        break;
    case WEIR_U16:
        *(uint16_t *)(void *)to = (uint16_t)value;
        break;
    case WEIR_I16:
        *(int16_t *)(void *)to = (int16_t)value;
        break;
    case WEIR_I32:
        *(int32_t *)(void *)to = (int32_t)value;
        break;
    case WEIR_F32:
        *(float *)(void *)to = (float)value;
        break;
    default:
        *(double *)(void *)to = value;
        break;
    }
}

static void every_coding(void **state)
{
    (void)state;
    uint64_t seed = testing_seed("convert");
    static const weiri_scale scale = {.base = -7, .numer = 3.5, .denom = -11, .offset = 0.25};
    enum { COUNT = 37, STEP = 3 };
    for (int which = 0; which < WEIRI_CODINGS * 2 * 2 * 2 * 3; which++) {
        weiri_stored stored = {.coding = (weiri_coding)(which % WEIRI_CODINGS),
                               .big_endian = which / WEIRI_CODINGS % 2};
        bool dense_from = which / WEIRI_CODINGS / 2 % 2, dense_to = which / WEIRI_CODINGS / 4 % 2;
        int target = which / WEIRI_CODINGS / 8; /* 0: counts, 1: f32, 2: f64 */
        weir_dtype dtype = target == 0   ? weiri_stored_dtype(stored)
                           : target == 1 ? WEIR_F32
                                         : WEIR_F64;
        for (int scaled = 0; scaled < (target ? 2 : 1); scaled++) {
            size_t width = weiri_stored_bytes(stored), to_width = weir_dtype_bytes(dtype);
            size_t from_step = dense_from ? width : width * STEP + 1;
            unsigned char from[COUNT * (8 * STEP + 1) + 1];
            _Alignas(8) unsigned char to[COUNT * STEP * 8], wanted[COUNT * STEP * 8];
            memset(to, 0xa5, sizeof to);
            memset(wanted, 0xa5, sizeof wanted);
            for (size_t i = 0; i < sizeof from; i++) {
                /* Exponents of real values: no NaN, whose bits need not survive arithmetic. */
                from[i] = (unsigned char)(testing_random(&seed) >> 33);
                bool is_float = stored.coding == WEIRI_CODING_F32 ||
                                stored.coding == WEIRI_CODING_F64 ||
                                stored.coding == WEIRI_CODING_F16;
                from[i] = is_float ? (from[i] & 0x3f) | 4 : from[i];
            }
            size_t to_step = dense_to ? 1 : STEP;
            for (size_t i = 0; i < COUNT; i++) {
                double value = decode(stored, from + 1 + i * from_step);
                if (scaled) {
                    value = (value - scale.base) * scale.numer / scale.denom + scale.offset;
                }
                store(dtype, wanted + i * to_step * to_width, value);
            }
            weiri_run run = {.stored = stored,
                             .from = from + 1, /* not aligned */
                             .from_step = from_step,
                             .scale = scaled ? &scale : NULL,
                             .dtype = dtype,
                             .to = to,
                             .to_step = to_step};
            weiri_convert(&run, COUNT);
            assert_memory_equal(to, wanted, sizeof to); /* nothing else is touched */
        }
    }
}

/* The rule compared with all 65,536 counts: never f32 if two of them would become equal. */
static void f32_keeps_counts_distinct(void **state)
{
    (void)state;
    uint64_t seed = testing_seed("f32");
    weiri_stored stored = {.coding = WEIRI_CODING_I16};
    int fits = 0, merges = 0;
    for (int trial = 0; trial < 300; trial++) {
        double span = pow(10, (double)(testing_random(&seed) % 700) / 100 - 2);
        double low = (double)(testing_random(&seed) % 2000001) - 1e6;
        weiri_scale scale = {.base = -32768, .numer = span, .denom = 65535, .offset = low};
        bool distinct = true;
        float before = NAN;
        for (int count = -32768; count < 32768 && distinct; count++) {
            float value = (float)((count - scale.base) * scale.numer / scale.denom + scale.offset);
            distinct = value != before;
            before = value;
        }
        if (weiri_scale_fits_f32(&scale, stored)) {
            assert_true(distinct);
            fits++;
        }
        merges += !distinct;
    }
    assert_true(fits > 30 && merges > 30); /* both cases occurred */
    /* Plain counts, and a whole offset: exact up to 2^24. */
    weiri_scale plain = {.numer = 1, .denom = 1};
    assert_true(weiri_scale_fits_f32(&plain, stored));
    stored.coding = WEIRI_CODING_I24;
    assert_true(weiri_scale_fits_f32(&plain, stored));
    stored.coding = WEIRI_CODING_I8;
    assert_true(weiri_scale_fits_f32(&plain, stored));
    static const weiri_coding wide[] = {WEIRI_CODING_I32, WEIRI_CODING_U32, WEIRI_CODING_I64,
                                        WEIRI_CODING_U64, WEIRI_CODING_F32, WEIRI_CODING_F64};
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
        stored.coding = wide[i];
        assert_false(weiri_scale_fits_f32(&plain, stored));
    }
}

/* Half precision: values of IEEE 754 known by their bits. */
static void halves(void **state)
{
    (void)state;
    static const struct {
        uint16_t bits;
        float value;
    } cases[] = {
        {0x0000, 0},           {0x0001, 0x1p-24f}, {0x03ff, 0x3ffp-24f}, {0x0400, 0x1p-14f},
        {0x3555, 0x1.554p-2f}, {0x3c00, 1},        {0xc000, -2},         {0x7bff, 65504},
        {0xfbff, -65504},      {0x7c00, INFINITY}, {0xfc00, -INFINITY},  {0x8001, -0x1p-24f},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char bytes[2] = {(unsigned char)cases[i].bits,
                                  (unsigned char)(cases[i].bits >> 8)};
        float value = 0;
        weiri_run run = {.stored = {.coding = WEIRI_CODING_F16},
                         .from = bytes,
                         .from_step = 2,
                         .dtype = WEIR_F32,
                         .to = &value,
                         .to_step = 1};
        weiri_convert(&run, 1);
        assert_true(value == cases[i].value);
    }
    unsigned char nan[2] = {0x00, 0x7e}, negative_zero[2] = {0x00, 0x80};
    float value = 0;
    weiri_run run = {.stored = {.coding = WEIRI_CODING_F16},
                     .from = nan,
                     .from_step = 2,
                     .dtype = WEIR_F32,
                     .to = &value,
                     .to_step = 1};
    weiri_convert(&run, 1);
    assert_true(isnan(value));
    run.from = negative_zero;
    weiri_convert(&run, 1);
    assert_true(value == 0 && signbit(value));
}

static void names(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        weiri_coding coding;
        int big; /* -1 = the host's */
    } good[] = {{"i16", WEIRI_CODING_I16, -1},     {"<i2", WEIRI_CODING_I16, 0},
                {">i16", WEIRI_CODING_I16, 1},     {"int16", WEIRI_CODING_I16, -1},
                {">float64", WEIRI_CODING_F64, 1}, {"u8", WEIRI_CODING_U8, -1},
                {"|u1", WEIRI_CODING_U8, -1},      {"<i24", WEIRI_CODING_I24, 0},
                {"F32", WEIRI_CODING_F32, -1},     {"i8", WEIRI_CODING_I8, -1},
                {"<i8", WEIRI_CODING_I64, 0},      {">u8", WEIRI_CODING_U64, 1},
                {"|i1", WEIRI_CODING_I8, -1},      {"f16", WEIRI_CODING_F16, -1},
                {"u64", WEIRI_CODING_U64, -1},     {"<u4", WEIRI_CODING_U32, 0},
                {"c64", WEIRI_CODING_F32, -1},     {">c16", WEIRI_CODING_F64, 1},
                {"<c8", WEIRI_CODING_F32, 0},      {"complex128", WEIRI_CODING_F64, -1}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        weiri_stored stored;
        assert_ok(weiri_stored_parse(good[i].text, &stored));
        assert_int_equal(stored.coding, good[i].coding);
        assert_int_equal(stored.is_complex, strchr(good[i].text, 'c') != NULL);
        if (good[i].big >= 0) {
            assert_int_equal(stored.big_endian, good[i].big);
        }
    }
    static const char *const bad[] = {"", "<", "i128", "<u9", "complex32", "i16 ", "<<i2", "b1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        weiri_stored stored;
        assert_int_equal(weiri_stored_parse(bad[i], &stored), WEIR_E_USAGE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_coding),
        cmocka_unit_test(f32_keeps_counts_distinct),
        cmocka_unit_test(halves),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests_name("convert", tests, NULL, NULL);
}
