/* SPDX-License-Identifier: MIT
 *
 * npy.c: see npy.h. Structures, and arrays of more than 4 dimensions, are refused.
 */
#include "base/npy.h"

#include <stdio.h>
#include <string.h>

#include "base/base.h"

typedef struct parser {
    const char *text; /* NUL-terminated */
    const char *at;
} parser;

static weir_err wrong(const parser *in, const char *expected)
{
    char found[24];
    snprintf(found, sizeof found, "%.16s", in->at);
    return weiri_fail(WEIR_E_CHAIN, "npy header: found \"%s\", expected %s", found, expected);
}

static void blanks(parser *in)
{
    in->at += strspn(in->at, " \t\r\n");
}

static bool take(parser *in, char byte)
{
    blanks(in);
    if (*in->at != byte) {
        return false;
    }
    in->at++;
    return true;
}

/* 'text' or "text", without escapes. */
static weir_err quoted(parser *in, char *text, size_t size)
{
    blanks(in);
    char quote = *in->at;
    if (quote != '\'' && quote != '"') {
        return wrong(in, "a quoted text (structures are not read)");
    }
    const char *end = strchr(in->at + 1, quote);
    if (end == NULL || (size_t)(end - in->at) > size) {
        return wrong(in, "a short quoted text");
    }
    size_t length = (size_t)(end - in->at - 1);
    memcpy(text, in->at + 1, length);
    text[length] = 0;
    in->at = end + 1;
    return WEIR_OK;
}

static weir_err whole(parser *in, uint64_t *ret_number)
{
    blanks(in);
    uint64_t number = 0;
    const char *first = in->at;
    for (; *in->at >= '0' && *in->at <= '9'; in->at++) {
        uint64_t digit = (uint64_t)(*in->at - '0');
        if (number > (UINT64_MAX - digit) / 10) {
            in->at = first;
            return wrong(in, "a number below 2^64");
        }
        number = number * 10 + digit;
    }
    if (in->at == first) {
        return wrong(in, "a whole number");
    }
    if (*in->at == 'L') { /* as Python 2 wrote them */
        in->at++;
    }
    *ret_number = number;
    return WEIR_OK;
}

static weir_err shape(parser *in, weiri_npy *ret)
{
    if (!take(in, '(')) {
        return wrong(in, "(");
    }
    ret->dims = 0;
    while (!take(in, ')')) {
        if (ret->dims == WEIRI_NPY_DIMS) {
            return wrong(in, "at most 4 dimensions");
        }
        weir_err err = whole(in, &ret->shape[ret->dims]);
        if (err != WEIR_OK) {
            return err;
        }
        ret->dims++;
        if (!take(in, ',')) {
            if (!take(in, ')')) {
                return wrong(in, ", or )");
            }
            break;
        }
    }
    return WEIR_OK;
}

/* A mark of the byte order, and a name; after an =, names are NumPy's own. */
static weir_err descr(parser *in, weiri_npy *ret)
{
    static const char *const read[] = {"b1", "i1", "i2", "i4", "i8", "u1", "u2",
                                       "u4", "u8", "f2", "f4", "f8", "c8", "c16"};
    char text[sizeof ret->dtype] = "=";
    const char *from = in->at;
    weir_err err = quoted(in, text + 1, sizeof text - 1);
    if (err != WEIR_OK) {
        return err;
    }
    const char *name = text + (strchr("<>=|", text[1]) ? 1 : 0);
    bool known = false;
    for (size_t i = 0; i < sizeof read / sizeof *read; i++) {
        known = known || strcmp(name + 1, read[i]) == 0;
    }
    if (!known) {
        in->at = from;
        return wrong(in, "a dtype that is read: b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16");
    }
    memcpy(ret->dtype, name, strlen(name) + 1);
    return WEIR_OK;
}

static weir_err truth(parser *in, bool *ret)
{
    blanks(in);
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "True" : "False";
        if (strncmp(in->at, name, strlen(name)) == 0) {
            in->at += strlen(name);
            *ret = i;
            return WEIR_OK;
        }
    }
    return wrong(in, "True or False");
}

static weir_err parse(parser *in, weiri_npy *ret)
{
    unsigned seen = 0;
    if (!take(in, '{')) {
        return wrong(in, "{");
    }
    while (!take(in, '}')) {
        char key[24];
        blanks(in);
        const char *from = in->at;
        weir_err err = quoted(in, key, sizeof key);
        unsigned bit = strcmp(key, "descr") == 0           ? 1
                       : strcmp(key, "fortran_order") == 0 ? 2
                       : strcmp(key, "shape") == 0         ? 4
                                                           : 0;
        if (err == WEIR_OK && (bit == 0 || (seen & bit))) {
            in->at = from;
            return wrong(in, "descr, fortran_order and shape, once each");
        }
        if (err == WEIR_OK && !take(in, ':')) {
            return wrong(in, ":");
        }
        if (err == WEIR_OK) {
            err = bit == 1 ? descr(in, ret) : bit == 2 ? truth(in, &ret->fortran) : shape(in, ret);
        }
        if (err != WEIR_OK) {
            return err;
        }
        seen |= bit;
        if (!take(in, ',')) {
            if (!take(in, '}')) {
                return wrong(in, ", or }");
            }
            break;
        }
    }
    blanks(in);
    if (seen != 7) {
        return wrong(in, "descr, fortran_order and shape, once each");
    }
    return *in->at == 0 ? WEIR_OK : wrong(in, "nothing more");
}

weir_err weiri_npy_parse(const char *text, weiri_npy *ret_npy, size_t *ret_at)
{
    parser in = {.text = text, .at = text};
    weiri_npy npy = {.dims = 0};
    weir_err err = parse(&in, &npy);
    *ret_at = (size_t)(in.at - text);
    if (err == WEIR_OK) {
        *ret_npy = npy;
    }
    return err;
}
