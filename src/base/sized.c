/* SPDX-License-Identifier: MIT
 *
 * sized.c: the rule of public structs that start with their size (weir/base.h), and the library's version.
 */
#include <string.h>

#include "base/base.h"

/* Larger than any struct, so that uninitialised memory is not read to its end. */
#define SIZE_MOST 4096

const char *weir_version(void)
{
    return WEIR_VERSION;
}

static size_t size_of(const void *given)
{
    size_t size;
    memcpy(&size, given, sizeof size);
    return size;
}

static weir_err check_size(const weiri_sized *rule, size_t size)
{
    if (size < rule->least || size > SIZE_MOST) {
        return weiri_fail(WEIR_E_USAGE, "%s is %zu, less than %zu or not set: %s", rule->field,
                          size, rule->least, rule->make);
    }
    return WEIR_OK;
}

weir_err weiri_sized_check(const weiri_sized *rule, const void *given)
{
    size_t size = size_of(given);
    weir_err err = check_size(rule, size);
    for (size_t i = rule->known; err == WEIR_OK && i < size; i++) {
        if (((const unsigned char *)given)[i] != 0) {
            err =
                weiri_fail(WEIR_E_USAGE,
                           "%s is %zu: byte %zu is set, of a field that version %s of the library "
                           "does not know",
                           rule->field, size, i, WEIR_VERSION);
        }
    }
    return err;
}

weir_err weiri_sized_read(const weiri_sized *rule, const void *given, void *ret)
{
    weir_err err = weiri_sized_check(rule, given);
    if (err == WEIR_OK) {
        size_t size = size_of(given), own = size_of(ret);
        memcpy(ret, given, size < rule->known ? size : rule->known);
        memcpy(ret, &own, sizeof own);
    }
    return err;
}

weir_err weiri_sized_write(const weiri_sized *rule, const void *filled, void *ret)
{
    if (ret == NULL) {
        return weiri_fail(WEIR_E_USAGE, "%s: NULL is not allowed", rule->field);
    }
    size_t size = size_of(ret);
    weir_err err = check_size(rule, size);
    if (err == WEIR_OK) {
        size_t both = size < rule->known ? size : rule->known;
        memcpy(ret, filled, both);
        memset((unsigned char *)ret + both, 0, size - both);
        memcpy(ret, &size, sizeof size);
    }
    return err;
}
