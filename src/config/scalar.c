/* SPDX-License-Identifier: MIT
 *
 * scalar.c: the type of a plain scalar in YAML 1.2's core schema. Unlike in YAML 1.1, 012 is
 * twelve, yes and on are text, 1:30 is text. Quoted scalars are always text and not passed to it.
 */
#include "config/tree.h"

#include <math.h>
#include <string.h>

#include "base/base.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* [-+]? ( \.[0-9]+ | [0-9]+ (\.[0-9]*)? ) ( [eE] [-+]? [0-9]+ )? */
static bool is_decimal(const char *text)
{
    const char *at = text;
    size_t digits = 0;
    if (*at == '-' || *at == '+')
        at++;
    for (; is_digit(*at); at++)
        digits++;
    if (*at == '.')
        for (at++; is_digit(*at); at++)
            digits++;
    if (digits == 0)
        return false;
    if (*at == 'e' || *at == 'E') {
        at++;
        if (*at == '-' || *at == '+')
            at++;
        if (!is_digit(*at))
            return false;
        while (is_digit(*at))
            at++;
    }
    return *at == '\0';
}

/* 0x1F and 0o17; false if it is neither. */
static bool read_based(const char *text, double *ret_number)
{
    double base, number = 0;
    if (strncmp(text, "0x", 2) == 0)
        base = 16;
    else if (strncmp(text, "0o", 2) == 0)
        base = 8;
    else
        return false;
    if (text[2] == '\0')
        return false;
    for (const char *at = text + 2; *at != '\0'; at++) {
        int digit;
        if (is_digit(*at))
            digit = *at - '0';
        else if (*at >= 'a' && *at <= 'f')
            digit = *at - 'a' + 10;
        else if (*at >= 'A' && *at <= 'F')
            digit = *at - 'A' + 10;
        else
            return false;
        if (digit >= (int)base)
            return false;
        number = number * base + digit;
    }
    *ret_number = number;
    return true;
}

static double read_decimal(const char *text)
{
    double number;
    const char *end;
    bool minus = *text == '-';
    if (*text == '-' || *text == '+')
        text++;
    if (!weiri_number_read(text, &end, &number))
        number = INFINITY; /* a decimal number that is no finite double: too large */
    return minus ? -number : number;
}

static bool is_one_of(const char *text, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strcmp(text, *names) == 0)
            return true;
    return false;
}

void weiri_scalar_read(const char *text, weir_value *ret_value)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const yes[] = {"true", "True", "TRUE", NULL};
    static const char *const no[] = {"false", "False", "FALSE", NULL};
    static const char *const infinities[] = {".inf",  ".Inf",  ".INF",  "+.inf", "+.Inf",
                                             "+.INF", "-.inf", "-.Inf", "-.INF", NULL};
    static const char *const nans[] = {".nan", ".NaN", ".NAN", NULL};

    ret_value->text = text;
    ret_value->number = 0;
    if (is_one_of(text, nulls)) {
        ret_value->type = WEIR_VALUE_NULL;
    } else if (is_one_of(text, yes) || is_one_of(text, no)) {
        ret_value->type = WEIR_VALUE_BOOL;
        ret_value->number = is_one_of(text, yes) ? 1 : 0;
    } else if (is_decimal(text)) {
        ret_value->type = WEIR_VALUE_NUMBER;
        ret_value->number = read_decimal(text);
    } else if (read_based(text, &ret_value->number)) {
        ret_value->type = WEIR_VALUE_NUMBER;
    } else if (is_one_of(text, infinities)) {
        ret_value->type = WEIR_VALUE_NUMBER;
        ret_value->number = *text == '-' ? -INFINITY : INFINITY;
    } else if (is_one_of(text, nans)) {
        ret_value->type = WEIR_VALUE_NUMBER;
        ret_value->number = NAN;
    } else {
        ret_value->type = WEIR_VALUE_TEXT;
    }
}
