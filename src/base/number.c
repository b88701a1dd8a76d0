/* SPDX-License-Identifier: MIT
 *
 * number.c: numbers as text, with a point in any locale. The grammar is checked here (no hexadecimal,
 * no "inf", no blanks, all of which strtod takes), the value is left to the C library, which rounds
 * correctly. Does not know of units.
 */
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/locale.h"

static pthread_once_t locale_once = PTHREAD_ONCE_INIT;
static locale_t locale_c;

static void locale_make(void)
{
    locale_c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

locale_t weiri_locale_c(void)
{
    pthread_once(&locale_once, locale_make);
    return locale_c;
}

static const char *skip_digits(const char *text)
{
    while (*text >= '0' && *text <= '9') {
        text++;
    }
    return text;
}

/* The end of [+-] digits [. digits] [e [+-] digits], with a digit before or after the point; NULL
 * where there is no such thing. */
static const char *number_end(const char *text)
{
    const char *at = text;
    if (*at == '+' || *at == '-') {
        at++;
    }
    const char *whole = at;
    at = skip_digits(at);
    bool digits = at > whole;
    if (*at == '.') {
        const char *fraction = skip_digits(at + 1);
        digits = digits || fraction > at + 1;
        if (digits) {
            at = fraction;
        }
    }
    if (!digits) {
        return NULL;
    }
    if (*at == 'e' || *at == 'E') {
        const char *exponent = at + 1;
        if (*exponent == '+' || *exponent == '-') {
            exponent++;
        }
        const char *end = skip_digits(exponent);
        if (end > exponent) {
            at = end;
        }
    }
    return at;
}

bool weiri_number_read(const char *text, const char **ret_end, double *ret_number)
{
    const char *end = number_end(text);
    locale_t c = weiri_locale_c();
    if (end == NULL || c == (locale_t)0) {
        return false;
    }
    /* strtod reads as far as the grammar above or further ("1" of "1x", all of "0x1p3"): only then is
     * a copy needed, and a hexadecimal prefix is the one case: its value is the 0 before the x. */
    char *stop = NULL;
    double number = strtod_l(text, &stop, c);
    if (stop != end) {
        number = text[0] == '-' ? -0.0 : 0.0;
    }
    if (!isfinite(number)) {
        return false;
    }
    *ret_end = end;
    *ret_number = number;
    return true;
}

char *weiri_number_write(double number, char *text, size_t size)
{
    if (size == 0) {
        return text;
    }
    locale_t c = weiri_locale_c();
    locale_t before = c != (locale_t)0 ? uselocale(c) : (locale_t)0;
    if (isnan(number)) {
        snprintf(text, size, "nan");
    } else if (isinf(number)) {
        snprintf(text, size, "%s", number < 0 ? "-inf" : "inf");
    } else {
        /* %g drops trailing zeros and a decimal of up to 15 digits survives the way through a double:
         * so 15 digits are the shortest text whenever they read back; subnormals hold fewer. */
        char digits[40];
        int from = fabs(number) < DBL_MIN ? 1 : 15;
        for (int precision = from; precision <= 17; precision++) {
            snprintf(digits, sizeof digits, "%.*g", precision, number);
            const char *end = NULL;
            double back = 0;
            if (weiri_number_read(digits, &end, &back) && back == number) {
                break;
            }
        }
        snprintf(text, size, "%s", digits);
    }
    if (c != (locale_t)0) {
        (void)uselocale(before);
    }
    return text;
}
