/* SPDX-License-Identifier: MIT
 *
 * Numbers as text, and quantities with units.
 */
#include <float.h>
#include <locale.h>
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "testing.h"

static void reads(const char *text, double wanted, size_t length)
{
    const char *end = NULL;
    double number = -77;
    if (!weiri_number_read(text, &end, &number) || number != wanted || end != text + length) {
        fail_msg("'%s' reads as %g up to %td", text, number, end != NULL ? end - text : -1);
    }
}

static void refuses(const char *text)
{
    const char *end = text;
    double number = -77;
    assert_false(weiri_number_read(text, &end, &number));
    assert_true(number == -77 && end == text);
}

static void numbers_are_read(void **state)
{
    (void)state;
    reads("0", 0, 1);
    reads("-12.5e3 Hz", -12500, 7);
    reads(".5", 0.5, 2);
    reads("5.", 5, 2);
    reads("+1e-3", 1e-3, 5);
    reads("1e", 1, 1); /* no exponent: the number ends before it */
    reads("1e+x", 1, 1);
    reads("1,5", 1, 1);
    reads("0x10", 0, 1); /* no hexadecimal */
    reads("4.9406564584124654e-324", 4.9406564584124654e-324, 23);
    refuses("");
    refuses(".");
    refuses("-");
    refuses("+.e3");
    refuses(" 1");
    refuses("nan");
    refuses("inf");
    refuses("-Infinity");
    refuses("1e999");
}

static void numbers_survive_the_way_through_text(void **state)
{
    (void)state;
    uint64_t seed = testing_seed("number");
    char text[40];
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = testing_random(&seed);
        double number, back = 0;
        const char *end = NULL;
        memcpy(&number, &bits, sizeof number);
        if (!isfinite(number)) {
            continue;
        }
        weiri_number_write(number, text, sizeof text);
        assert_true(weiri_number_read(text, &end, &back) && *end == '\0' && back == number);
        assert_true(strlen(text) <= 24);
    }
    assert_string_equal(weiri_number_write(0.1, text, sizeof text), "0.1");
    assert_string_equal(weiri_number_write(30000, text, sizeof text), "30000");
    assert_string_equal(weiri_number_write(1e-3, text, sizeof text), "0.001");
    assert_string_equal(weiri_number_write(5e-324, text, sizeof text), "5e-324");
    assert_string_equal(weiri_number_write(0.1 + 0.2, text, sizeof text), "0.30000000000000004");
    assert_string_equal(weiri_number_write(NAN, text, sizeof text), "nan");
    assert_string_equal(weiri_number_write(-INFINITY, text, sizeof text), "-inf");
    assert_string_equal(weiri_number_write(12345, text, 3), "12");
}

static void a_point_in_any_locale(void **state)
{
    (void)state;
    static const char *const with_comma[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE",
                                             "nl_NL.UTF-8"};
    const char *set = NULL;
    for (size_t i = 0; i < sizeof with_comma / sizeof with_comma[0] && set == NULL; i++) {
        set = setlocale(LC_ALL, with_comma[i]);
    }
    if (set == NULL || strcmp(localeconv()->decimal_point, ",") != 0) {
        printf("skipped: no locale with a decimal comma is installed (de_DE.UTF-8)\n");
        skip();
    }
    char text[40];
    reads("1.5", 1.5, 3);
    assert_string_equal(weiri_number_write(1.5, text, sizeof text), "1.5");
    (void)weiri_fail(WEIR_E_IO, "%g", 2.5);
    assert_string_equal(weir_err_detail(), "2.5");
    assert_string_equal(weir_bytes_format(3 * 1024 * 1024 + 100 * 1024, text, sizeof text),
                        "3.1 MiB");
    assert_string_equal(localeconv()->decimal_point, ","); /* left as it was */
    setlocale(LC_ALL, "C");
}

static void parses(const char *text, weir_quantity kind, double wanted)
{
    double value = -77;
    weir_err err = weir_quantity_parse(text, kind, &value);
    if (err != WEIR_OK || value != wanted) {
        fail_msg("'%s' reads as %.17g: %s", text, value, err != WEIR_OK ? weir_err_detail() : "");
    }
}

static void quantities_are_read(void **state)
{
    (void)state;
    parses("300 Hz", WEIR_FREQUENCY, 300);
    parses("6kHz", WEIR_FREQUENCY, 6000);
    parses("50 mHz", WEIR_FREQUENCY, 0.05);
    parses("1.5 MHz", WEIR_FREQUENCY, 1.5e6);
    parses("300", WEIR_FREQUENCY, 300);
    parses(" 10 ms ", WEIR_TIME, 0.01);
    parses("1.1 ms", WEIR_TIME,
           0.0011); /* as the decimal text would: 1.1 * 1e-3 is another double */
    parses("100 ns", WEIR_TIME, 1e-7);
    parses("5 \xc2\xb5s", WEIR_TIME, 5e-6);
    parses("2 min", WEIR_TIME, 120);
    parses("1 h", WEIR_TIME, 3600);
    parses("64 MiB", WEIR_BYTES, 67108864);
    parses("64M", WEIR_BYTES, 67108864);
    parses("1 kB", WEIR_BYTES, 1000);
    parses("-1e-3", WEIR_PLAIN, -1e-3);
    parses("2.5", WEIR_AMPLITUDE, 2.5);
}

static void quantities_of_another_kind(void **state)
{
    (void)state;
    double value = -77;
    assert_fails(weir_quantity_parse("10 Hz", WEIR_TIME, &value), WEIR_E_USAGE,
                 "'10 Hz' is a frequency; expected a time: ns us ms s min h");
    assert_fails(weir_quantity_parse("10 ms", WEIR_FREQUENCY, &value), WEIR_E_USAGE,
                 "'10 ms' is a time; expected a frequency: mHz Hz kHz MHz");
    assert_fails(weir_quantity_parse("10 parsec", WEIR_TIME, &value), WEIR_E_USAGE,
                 "unknown unit 'parsec'; expected a time: ns us");
    assert_fails(weir_quantity_parse("5 uV", WEIR_AMPLITUDE, &value), WEIR_E_USAGE,
                 "physical unit of the stream");
    assert_fails(weir_quantity_parse("5 s", WEIR_PLAIN, &value), WEIR_E_USAGE, "plain number");
    assert_fails(weir_quantity_parse("", WEIR_TIME, &value), WEIR_E_USAGE, "not a number");
    assert_fails(weir_quantity_parse("nan", WEIR_TIME, &value), WEIR_E_USAGE, "not a number");
    assert_fails(weir_quantity_parse("1e308 MHz", WEIR_FREQUENCY, &value), WEIR_E_USAGE,
                 "too large");
    assert_fails(weir_quantity_parse(NULL, WEIR_TIME, &value), WEIR_E_USAGE, "no text");
    assert_true(value == -77);
}

static void bytes_are_whole(void **state)
{
    (void)state;
    uint64_t bytes = 77;
    assert_ok(weir_bytes_parse("9223372036854775807", &bytes)); /* a double would round */
    assert_true(bytes == INT64_MAX);
    assert_ok(weir_bytes_parse("9007199254740993 B", &bytes));
    assert_true(bytes == UINT64_C(9007199254740993));
    assert_ok(weir_bytes_parse("1.5 KiB", &bytes));
    assert_true(bytes == 1536);
    assert_ok(weir_bytes_parse("1.1 GiB", &bytes)); /* a limit is never more than was said */
    assert_true(bytes == 1181116006);
    assert_ok(weir_bytes_parse("1e3", &bytes));
    assert_true(bytes == 1000);
    assert_ok(weir_bytes_parse("0", &bytes));
    assert_true(bytes == 0);
    bytes = 77;
    assert_fails(weir_bytes_parse("9223372036854775808", &bytes), WEIR_E_USAGE, "2^63");
    assert_fails(weir_bytes_parse("8589934592 GiB", &bytes), WEIR_E_USAGE, "2^63");
    assert_fails(weir_bytes_parse("99999999999999999999999", &bytes), WEIR_E_USAGE, "2^63");
    assert_fails(weir_bytes_parse("1e300", &bytes), WEIR_E_USAGE, "2^63");
    assert_fails(weir_bytes_parse("-1", &bytes), WEIR_E_USAGE, "below 0");
    assert_fails(weir_bytes_parse("1.5", &bytes), WEIR_E_USAGE, "whole");
    assert_fails(weir_bytes_parse("64 Mib", &bytes), WEIR_E_USAGE, "KiB MiB GiB kB MB GB K M G");
    assert_fails(weir_bytes_parse("10 s", &bytes), WEIR_E_USAGE, "is a time");
    assert_true(bytes == 77);
}

static void bytes_are_written(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *text;
    } rows[] = {{0, "0 B"},
                {1023, "1023 B"},
                {1024, "1 KiB"},
                {1536, "1.5 KiB"},
                {1048524, "1023.9 KiB"},
                {1048575, "1 MiB"},
                {3250586, "3.1 MiB"},
                {67108864, "64 MiB"},
                {UINT64_C(1) << 40, "1 TiB"},
                {UINT64_MAX, "16 EiB"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[24];
        assert_string_equal(weir_bytes_format(rows[i].bytes, text, sizeof text), rows[i].text);
    }
}

/* Any text is read or refused; nothing else (run under the sanitizers). */
static void wild_texts(void **state)
{
    (void)state;
    static const char letters[] = "0123456789+-.eE xkMGiBHzsmhun\xc2\xb5\t";
    uint64_t seed = testing_seed("quantity");
    for (int i = 0; i < 100000; i++) {
        char text[24];
        size_t length = testing_random(&seed) % (sizeof text - 1);
        for (size_t j = 0; j < length; j++) {
            text[j] = letters[testing_random(&seed) % (sizeof letters - 1)];
        }
        text[length] = '\0';
        double value = 0;
        uint64_t bytes = 0;
        weir_quantity kind = (weir_quantity)(testing_random(&seed) % 5);
        if (weir_quantity_parse(text, kind, &value) == WEIR_OK) {
            assert_true(isfinite(value));
        }
        if (weir_bytes_parse(text, &bytes) == WEIR_OK) {
            assert_true(bytes <= INT64_MAX);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_read),
        cmocka_unit_test(numbers_survive_the_way_through_text),
        cmocka_unit_test(a_point_in_any_locale),
        cmocka_unit_test(quantities_are_read),
        cmocka_unit_test(quantities_of_another_kind),
        cmocka_unit_test(bytes_are_whole),
        cmocka_unit_test(bytes_are_written),
        cmocka_unit_test(wild_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
