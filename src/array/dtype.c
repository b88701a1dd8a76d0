/* SPDX-License-Identifier: MIT
 *
 * dtype.c: the types of samples: sizes and names. Does not convert between them.
 */
#include <stdio.h>

#include <weir/array.h>

#include "base/base.h"

size_t weir_dtype_bytes(weir_dtype dtype)
{
    switch (dtype) {
#define WEIR_DTYPE_CASE(name, value, bytes, text, numpy)                                           \
    case WEIR_##name:                                                                              \
        return (bytes);
        WEIR_DTYPE_LIST(WEIR_DTYPE_CASE)
#undef WEIR_DTYPE_CASE
    }
    return 0;
}

const char *weir_dtype_name(weir_dtype dtype)
{
    switch (dtype) {
#define WEIR_DTYPE_CASE(name, value, bytes, text, numpy)                                           \
    case WEIR_##name:                                                                              \
        return text;
        WEIR_DTYPE_LIST(WEIR_DTYPE_CASE)
#undef WEIR_DTYPE_CASE
    }
    return "?";
}

size_t weir_dtype_parts(weir_dtype dtype)
{
    return weir_dtype_part(dtype) == dtype ? 1 : 2;
}

weir_dtype weir_dtype_part(weir_dtype dtype)
{
    return dtype == WEIR_C64 ? WEIR_F32 : dtype == WEIR_C128 ? WEIR_F64 : dtype;
}

weir_err weir_dtype_parse(const char *text, weir_dtype *ret_dtype)
{
    static const struct {
        weir_dtype dtype;
        const char *name, *numpy;
    } names[] = {
#define WEIR_DTYPE_ROW(name, value, bytes, text, numpy) {WEIR_##name, text, numpy},
        WEIR_DTYPE_LIST(WEIR_DTYPE_ROW)
#undef WEIR_DTYPE_ROW
    };
    if (text == NULL || ret_dtype == NULL) {
        return weiri_fail(WEIR_E_USAGE, "no text to read a dtype from");
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (weiri_equal_blind(text, names[i].name) || weiri_equal_blind(text, names[i].numpy)) {
            *ret_dtype = names[i].dtype;
            return WEIR_OK;
        }
    }
#define WEIR_DTYPE_TEXT(name, value, bytes, text, numpy) " " text
    return weiri_fail(WEIR_E_USAGE,
                      "'%.40s' is not a dtype; allowed:" WEIR_DTYPE_LIST(WEIR_DTYPE_TEXT), text);
#undef WEIR_DTYPE_TEXT
}
