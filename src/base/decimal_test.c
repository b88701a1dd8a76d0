/* SPDX-License-Identifier: MIT
 *
 * decimal_test.c: durations and rates as decimals, against whole-number arithmetic and, where python3 is
 * there, against its fractions on random numbers.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/decimal.h"
#include "testing.h"

/* S3: from issue 10. Binary arithmetic gives one frame less in each. */
static void durations_are_decimals(void **state)
{
    (void)state;
    static const struct {
        const char *duration;
        double rate_hz;
        uint64_t frames;
    } cases[] = {
        {"9 ms", 25000, 225},      {"33.3 ms", 20000, 666},   {"33.3 ms", 30000, 999},
        {"350 ms", 44100, 15435},  {"700 ms", 44100, 30870},  {"290 ms", 100, 29},
        {"43 ms", 5000, 215},      {"1001 ms", 1000, 1001},   {"1.001 s", 1000, 1001},
        {"0.0333", 30000, 999},    {"0.7 s", 0.3, 0},         {"10 s", 0.3, 3},
        {"1 h", 30000, 108000000}, {"0.35 min", 1000, 21000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double s = 0;
        assert_ok(weir_quantity_parse(cases[i].duration, WEIR_TIME, &s));
        uint64_t frames = weiri_frames_floor(s, cases[i].rate_hz);
        if (frames != cases[i].frames) {
            fail_msg("%s at %g Hz: %llu frames, not %llu", cases[i].duration, cases[i].rate_hz,
                     (unsigned long long)frames, (unsigned long long)cases[i].frames);
        }
    }
}

/* S3: every whole and tenth millisecond up to 2 s, by whole numbers. */
static void milliseconds_are_exact(void **state)
{
    (void)state;
    static const uint64_t rates[] = {100,   128,   250,   500,   512,   1000,  2048, 5000,
                                     20000, 24414, 25000, 30000, 32000, 44100, 48000};
    for (size_t r = 0; r < sizeof rates / sizeof rates[0]; r++) {
        for (uint64_t tenths = 1; tenths <= 20000; tenths += 1 + tenths % 3) {
            char text[32];
            double s = 0, rate_hz = (double)rates[r];
            snprintf(text, sizeof text, "%llu.%llu ms", (unsigned long long)tenths / 10,
                     (unsigned long long)tenths % 10);
            assert_ok(weir_quantity_parse(text, WEIR_TIME, &s));
            uint64_t product = tenths * rates[r];
            assert_int_equal(weiri_frames_floor(s, rate_hz), product / 10000);
            assert_int_equal(weiri_frames_ceil(s, rate_hz), (product + 9999) / 10000);
            weiri_fraction length = weiri_frames_exact(s, rate_hz);
            assert_int_equal(length.over * 10000, product * length.under);
            /* S3: bins keep their place: after a year as at once. */
            uint64_t bin = 31557600000 / (tenths + 1) + tenths;
            assert_int_equal(weiri_fraction_times(length, bin), bin * product / 10000);
        }
    }
}

/* A duration that a program has computed as frames / rate is that many frames; a rate of rate / k, as it
 * comes out of decimation by k, is the exact one. */
static void quotients_mean_what_they_were(void **state)
{
    (void)state;
    static const double rates[] = {3, 7, 100, 250, 1000, 24414.0625, 25000, 30000, 44100};
    for (size_t r = 0; r < sizeof rates / sizeof rates[0]; r++) {
        for (uint64_t k = 1; k < 5000; k++) {
            assert_int_equal(weiri_frames_floor((double)k / rates[r], rates[r]), k);
            assert_int_equal(weiri_frames_ceil((double)k / rates[r], rates[r]), k);
            assert_int_equal(weiri_frames_floor((double)k, rates[r] / (double)k),
                             (uint64_t)rates[r]);
            assert_int_equal(weiri_decimation(rates[r], rates[r] / (double)k), k);
        }
    }
    weiri_fraction third = weiri_fraction_of(1.0 / 3.0);
    assert_true(third.over == 1 && third.under == 3);
}

static void a_target_rate_becomes_a_factor(void **state)
{
    (void)state;
    static const double cases[][3] = {
        {0.3, 0.1, 3},
        {100, 9.090909090909092, 11},
        {30000, 10000, 3},
        {30012, 1000, 30},
        {128, 100, 1},
        {128, 400, 1},
        {1, 0.7, 1},
        {0.7, 0.1, 7},
        {30000.390105, 30000.390105 / 7, 7},
        {30000.390105, 1, 30000},
        {1e6, 1e-9, 1e15},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(weiri_decimation(cases[i][0], cases[i][1]), (uint64_t)cases[i][2]);
    }
}

static void any_double_has_a_fraction(void **state)
{
    (void)state;
    uint64_t seed = testing_seed("fraction");
    for (int i = 0; i < 100000; i++) {
        double number = ldexp(1.0 + (double)(testing_random(&seed) >> 12) * 0x1p-52,
                              (int)(testing_random(&seed) % 127) - 63);
        if (i % 4 == 0) {
            number = ldexp(1.0, (int)(testing_random(&seed) % 127) - 63);
        }
        weiri_fraction f = weiri_fraction_of(number);
        assert_true(f.under > 0);
        long double off = (long double)f.over / (long double)f.under / (long double)number - 1;
        if (fabsl(off) > 0x1.001p-53L) {
            fail_msg("%.17g becomes %llu / %llu", number, (unsigned long long)f.over,
                     (unsigned long long)f.under);
        }
    }
    weiri_fraction f = weiri_fraction_of(-1);
    assert_true(f.over == 0 && f.under == 1);
    f = weiri_fraction_of(NAN);
    assert_true(f.over == 0 && f.under == 1);
    f = weiri_fraction_of(INFINITY);
    assert_true(f.over == UINT64_MAX && f.under == 1);
    assert_true(weiri_frames_floor(1e19, 1e19) == UINT64_MAX);
    assert_true(weiri_fraction_times(weiri_frames_exact(1e9, 1e9), UINT64_MAX) == UINT64_MAX);
    /* More than 64 bits over 64: as binary arithmetic has it, to 1e-16. */
    f = weiri_frames_exact(0.0123456789123, 30000.1234567891);
    double length = 0.0123456789123 * 30000.1234567891;
    assert_true(fabs((double)f.over / (double)f.under - length) <= length * 3e-16);
}

static void times_are_clamped(void **state)
{
    (void)state;
    weiri_fraction slow = weiri_fraction_of(1e-3), fast = weiri_fraction_of(30000);
    assert_int_equal(weiri_frames_ns(1, fast), 33333);
    assert_int_equal(weiri_frames_ns(2, fast), 66667);
    assert_int_equal(weiri_frames_ns(-2, fast), -66667);
    assert_int_equal(weiri_frames_ns(INT64_C(30000) * 86400 * 365, fast),
                     INT64_C(86400) * 365 * 1000000000);
    assert_int_equal(weiri_frames_ns(10000000, slow), INT64_MAX); /* 316 years */
    assert_int_equal(weiri_frames_ns(INT64_MAX, slow), INT64_MAX);
    assert_int_equal(weiri_frames_ns(-10000000, slow), -INT64_MAX);
    assert_int_equal(weiri_frames_ns(INT64_MIN, fast), -INT64_MAX);
    assert_int_equal(weiri_ns_sum(INT64_MAX, 1), INT64_MAX);
    assert_int_equal(weiri_ns_sum(INT64_MIN, -1), INT64_MIN);
    assert_int_equal(weiri_ns_sum(INT64_MIN, INT64_MAX), -1);
}

static void sums_and_products_are_decimals(void **state)
{
    (void)state;
    assert_true(weiri_decimal_sum(0.1, 0.2) == 0.3);
    assert_true(weiri_decimal_sum(0.1, 0.7) == 0.8);
    assert_true(weiri_decimal_sum(12, 0.0333) == 12.0333);
    assert_true(isinf(weiri_decimal_sum(1e308, 1.7e308)));
    assert_true(isnan(weiri_decimal_sum(1, NAN)));
    assert_true(weiri_decimal_sum(1, -0.25) == 0.75);
    assert_true(weiri_decimal_scaled(1.1, 1, 1000) == 0.0011);
    assert_true(weiri_decimal_scaled(-1.1, 1, 1000) == -0.0011);
    assert_true(weiri_decimal_scaled(1.1, 60, 1) == 66);
    assert_true(weiri_decimal_scaled(0, 60, 1) == 0);
    assert_true(isinf(weiri_decimal_scaled(1e308, 1000000, 1)));
    /* A text with a unit is the double that the text without is: for all of up to 4 digits. */
    static const char *const units[][2] = {{"ns", "e-9"}, {"us", "e-6"}, {"ms", "e-3"}};
    for (int i = 1; i < 10000; i++) {
        for (size_t u = 0; u < 3; u++) {
            char with[32], without[32];
            double a = 0, b = 0;
            snprintf(with, sizeof with, "%d.%02d %s", i / 100, i % 100, units[u][0]);
            snprintf(without, sizeof without, "%d.%02d%s", i / 100, i % 100, units[u][1]);
            assert_ok(weir_quantity_parse(with, WEIR_TIME, &a));
            assert_ok(weir_quantity_parse(without, WEIR_TIME, &b));
            assert_true(a == b);
        }
    }
}

/* Random decimals of up to 15 digits by Python's fractions: an independent check. */
static const char script[] =
    "import os, random\n"
    "random.seed(int(os.environ['WEIR_SEED']))\n"
    "from fractions import Fraction as F\n"
    "def number(low, high):\n"
    "    digits = random.randint(1, 15)\n"
    "    return '%.*e' % (digits - 1, 10 ** random.uniform(low, high))\n"
    "for i in range(20000):\n"
    "    d, r = number(-9, 9), number(-9, 12)\n"
    "    if i % 2:\n"
    "        d, r = '%.*f' % (random.randint(1, 5), random.uniform(0.1, 9)), number(0, 5)\n"
    "    x = F(d) * F(r)\n"
    "    n = x.numerator // x.denominator\n"
    "    k = round(x)\n" /* as many where d was computed as frames / rate; either will do here */
    "    k = k if float(k) / float(r) == float(d) else n\n"
    "    print(d, r, min(n, 2 ** 64 - 1), min(k, 2 ** 64 - 1))\n";

static void python_gives_the_same(void **state)
{
    (void)state;
    char command[sizeof script + 128], line[128];
    const char *given = getenv("WEIR_SEED");
    unsigned long long seed =
        given != NULL ? strtoull(given, NULL, 10) : (unsigned long long)time(NULL);
    print_message("seed %llu (WEIR_SEED repeats it)\n", seed);
    snprintf(command, sizeof command, "WEIR_SEED=%llu python3 -c \"%s\" 2>/dev/null", seed, script);
    FILE *from = popen(command, "r");
    assert_non_null(from);
    int count = 0;
    while (fgets(line, sizeof line, from) != NULL) {
        double d = 0, r = 0;
        unsigned long long frames = 0, computed = 0;
        assert_int_equal(sscanf(line, "%lf %lf %llu %llu", &d, &r, &frames, &computed), 4);
        uint64_t found = weiri_frames_floor(d, r);
        bool exact = frames < UINT64_C(1) << 53 || frames == UINT64_MAX;
        if (exact && found != frames && found != computed) {
            fail_msg("%llu frames, not as in: %s", (unsigned long long)weiri_frames_floor(d, r),
                     line);
        }
        count++;
    }
    pclose(from);
    if (count == 0) {
        printf("skipped: no python3\n");
        skip();
    }
    assert_int_equal(count, 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_are_decimals),
        cmocka_unit_test(milliseconds_are_exact),
        cmocka_unit_test(quotients_mean_what_they_were),
        cmocka_unit_test(a_target_rate_becomes_a_factor),
        cmocka_unit_test(any_double_has_a_fraction),
        cmocka_unit_test(times_are_clamped),
        cmocka_unit_test(sums_and_products_are_decimals),
        cmocka_unit_test(python_gives_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
