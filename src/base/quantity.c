/* SPDX-License-Identifier: MIT
 *
 * quantity.c: "300 Hz", "10 ms", "64 MiB": a number and the unit it is in. Units are
 * case-sensitive, since there are both mHz and MHz.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/decimal.h"

typedef struct unit_row {
    const char *name;
    weir_quantity kind;
    bool alias;                /* not named in messages */
    uint64_t times, divide_by; /* SI = number * times / divide_by */
} unit_row;

static const unit_row units[] = {
    {"mHz", WEIR_FREQUENCY, false, 1, 1000},
    {"Hz", WEIR_FREQUENCY, false, 1, 1},
    {"kHz", WEIR_FREQUENCY, false, 1000, 1},
    {"MHz", WEIR_FREQUENCY, false, 1000000, 1},
    {"ns", WEIR_TIME, false, 1, 1000000000},
    {"us", WEIR_TIME, false, 1, 1000000},
    {"\xc2\xb5s", WEIR_TIME, true, 1, 1000000}, /* micro sign */
    {"\xce\xbcs", WEIR_TIME, true, 1, 1000000}, /* Greek mu */
    {"ms", WEIR_TIME, false, 1, 1000},
    {"s", WEIR_TIME, false, 1, 1},
    {"min", WEIR_TIME, false, 60, 1},
    {"h", WEIR_TIME, false, 3600, 1},
    {"B", WEIR_BYTES, false, 1, 1},
    {"KiB", WEIR_BYTES, false, UINT64_C(1) << 10, 1},
    {"MiB", WEIR_BYTES, false, UINT64_C(1) << 20, 1},
    {"GiB", WEIR_BYTES, false, UINT64_C(1) << 30, 1},
    {"kB", WEIR_BYTES, false, 1000, 1},
    {"MB", WEIR_BYTES, false, 1000000, 1},
    {"GB", WEIR_BYTES, false, 1000000000, 1},
    {"K", WEIR_BYTES, false, UINT64_C(1) << 10, 1},
    {"M", WEIR_BYTES, false, UINT64_C(1) << 20, 1},
    {"G", WEIR_BYTES, false, UINT64_C(1) << 30, 1},
};
#define UNIT_COUNT (sizeof units / sizeof units[0])

/* A text as messages show it: no longer than this. */
#define SHOWN 48

static const char *kind_name(weir_quantity kind)
{
    switch (kind) {
    case WEIR_PLAIN:
        return "a plain number";
    case WEIR_FREQUENCY:
        return "a frequency";
    case WEIR_TIME:
        return "a time";
    case WEIR_BYTES:
        return "a number of bytes";
    case WEIR_AMPLITUDE:
        return "a plain number in the physical unit of the stream";
    }
    return "a number";
}

/* "expected a time: ns us ms s min h" */
static void wanted(weir_quantity kind, char *text, size_t size)
{
    int used = snprintf(text, size, "expected %s", kind_name(kind));
    const char *before = ": ";
    for (size_t i = 0; i < UNIT_COUNT; i++) {
        if (units[i].kind == kind && !units[i].alias && used > 0 && (size_t)used < size) {
            used += snprintf(text + used, size - (size_t)used, "%s%s", before, units[i].name);
            before = " ";
        }
    }
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Number and unit of a text; *ret_unit is NULL where there is none. */
static weir_err split(const char *text,
                      weir_quantity kind,
                      const char **ret_digits,
                      double *ret_number,
                      const unit_row **ret_unit)
{
    char want[128];
    wanted(kind, want, sizeof want);
    while (is_blank(*text)) {
        text++;
    }
    const char *end = NULL;
    double number = 0;
    if (!weiri_number_read(text, &end, &number)) {
        return weiri_fail(WEIR_E_USAGE, "'%.*s' is not a number; %s", SHOWN, text, want);
    }
    *ret_digits = text;
    while (is_blank(*end)) {
        end++;
    }
    size_t length = strlen(end);
    while (length > 0 && is_blank(end[length - 1])) {
        length--;
    }
    const unit_row *unit = NULL;
    for (size_t i = 0; i < UNIT_COUNT && length > 0; i++) {
        if (strlen(units[i].name) == length && memcmp(units[i].name, end, length) == 0) {
            unit = &units[i];
        }
    }
    if (unit != NULL && unit->kind != kind) {
        return weiri_fail(WEIR_E_USAGE, "'%.*s' is %s; %s", SHOWN, text, kind_name(unit->kind),
                          want);
    }
    if (unit == NULL && length > 0) {
        int shown = length < SHOWN ? (int)length : SHOWN;
        return weiri_fail(WEIR_E_USAGE, "'%.*s': unknown unit '%.*s'; %s", SHOWN, text, shown, end,
                          want);
    }
    *ret_number = number;
    *ret_unit = unit;
    return WEIR_OK;
}

weir_err weir_quantity_parse(const char *text, weir_quantity kind, double *ret_value)
{
    if (text == NULL || ret_value == NULL) {
        return weiri_fail(WEIR_E_USAGE, "no text to read a number from");
    }
    const char *digits = NULL;
    double number = 0;
    const unit_row *unit = NULL;
    weir_err err = split(text, kind, &digits, &number, &unit);
    if (err != WEIR_OK) {
        return err;
    }
    if (unit != NULL) {
        /* As decimals: "33.3 ms" is the same double as "0.0333". */
        number = weiri_decimal_scaled(number, unit->times, unit->divide_by);
        if (!isfinite(number)) {
            return weiri_fail(WEIR_E_USAGE, "'%.*s' is too large", SHOWN, text);
        }
    }
    *ret_value = number;
    return WEIR_OK;
}

/* Digits only: every byte counts, also above 2^53 where a double would round. */
static bool whole_bytes(const char *digits, uint64_t times, uint64_t *ret_bytes)
{
    uint64_t bytes = 0;
    for (; *digits >= '0' && *digits <= '9'; digits++) {
        uint64_t digit = (uint64_t)(*digits - '0');
        if (!weiri_mul(bytes, 10, &bytes) || bytes > UINT64_MAX - digit) {
            return false;
        }
        bytes += digit;
    }
    return weiri_mul(bytes, times, ret_bytes) && *ret_bytes <= (uint64_t)INT64_MAX;
}

/* With a unit a fraction is dropped, since such a number is a limit and must not be exceeded ("1.1 GiB"
 * is 1181116006 B); without one it is a mistake. */
weir_err weir_bytes_parse(const char *text, uint64_t *ret_bytes)
{
    if (text == NULL || ret_bytes == NULL) {
        return weiri_fail(WEIR_E_USAGE, "no text to read a number of bytes from");
    }
    const char *digits = NULL;
    double number = 0;
    const unit_row *unit = NULL;
    weir_err err = split(text, WEIR_BYTES, &digits, &number, &unit);
    if (err != WEIR_OK) {
        return err;
    }
    if (number < 0) {
        return weiri_fail(WEIR_E_USAGE, "'%.*s' is below 0 bytes", SHOWN, text);
    }
    if (*digits == '+') {
        digits++;
    }
    size_t count = strspn(digits, "0123456789");
    uint64_t times = unit != NULL ? unit->times : 1;
    uint64_t bytes = 0;
    bool fits;
    if (digits[count] != '.' && digits[count] != 'e' && digits[count] != 'E') {
        fits = whole_bytes(digits, times, &bytes);
    } else {
        double exact = number * (double)times;
        if (unit == NULL && exact != floor(exact)) {
            return weiri_fail(WEIR_E_USAGE, "'%.*s' is not a whole number of bytes", SHOWN, text);
        }
        fits = exact < 9223372036854775808.0;
        bytes = fits ? (uint64_t)exact : 0;
    }
    if (!fits) {
        return weiri_fail(WEIR_E_USAGE, "'%.*s' is more than 2^63 - 1 bytes", SHOWN, text);
    }
    *ret_bytes = bytes;
    return WEIR_OK;
}

char *weir_bytes_format(uint64_t bytes, char *text, size_t size)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t at = 0;
    uint64_t unit = 1;
    while (at + 1 < sizeof names / sizeof names[0] && bytes / unit >= 1024) {
        unit *= 1024;
        at++;
    }
    /* Tenths, rounded; 1023.96 KiB is 1 MiB, not 1024.0 KiB. All in whole numbers: no locale. */
    uint64_t tenths = bytes / unit * 10 + (bytes % unit * 10 + unit / 2) / unit;
    if (unit > UINT64_MAX / 16) { /* bytes % EiB * 10 does not fit */
        tenths = bytes / unit * 10 + (bytes % unit / 1024 * 10 + unit / 2048) / (unit / 1024);
    }
    if (tenths >= 10240 && at + 1 < sizeof names / sizeof names[0]) {
        tenths = 10;
        at++;
    }
    if (tenths % 10 == 0 || at == 0) {
        snprintf(text, size, "%llu %s", (unsigned long long)(tenths / 10), names[at]);
    } else {
        snprintf(text, size, "%llu.%llu %s", (unsigned long long)(tenths / 10),
                 (unsigned long long)(tenths % 10), names[at]);
    }
    return text;
}
