/* SPDX-License-Identifier: MIT
 *
 * value.c: values from a file or a caller: shorthands and deep copies. Does not check them.
 */
#include <string.h>

#include "base/base.h"

weir_value weir_text(const char *key, const char *text)
{
    weir_value value = {.key = key, .type = WEIR_VALUE_TEXT, .text = text};
    return value;
}

weir_value weir_number(const char *key, double number)
{
    weir_value value = {.key = key, .type = WEIR_VALUE_NUMBER, .number = number};
    return value;
}

weir_value weir_null(const char *key)
{
    weir_value value = {.key = key, .type = WEIR_VALUE_NULL};
    return value;
}

weir_value weir_bool(const char *key, bool flag)
{
    weir_value value = {.key = key,
                        .type = WEIR_VALUE_BOOL,
                        .number = flag ? 1 : 0,
                        .text = flag ? "true" : "false"};
    return value;
}

weir_value weir_list_of(const char *key, const weir_value *items, size_t count)
{
    weir_value value = {.key = key, .type = WEIR_VALUE_LIST, .items = items, .count = count};
    return value;
}

weir_value weir_map_of(const char *key, const weir_value *items, size_t count)
{
    weir_value value = {.key = key, .type = WEIR_VALUE_MAP, .items = items, .count = count};
    return value;
}

weir_value weir_numbers(const char *key, const double *numbers, size_t count, weir_value *items)
{
    for (size_t i = 0; i < count; i++) {
        items[i] = weir_number(NULL, numbers[i]);
    }
    return weir_list_of(key, items, count);
}

static bool text_copy(const char *text, weiri_memory memory, const char **ret_copy)
{
    *ret_copy = NULL;
    if (text == NULL) {
        return true;
    }
    size_t size = strlen(text) + 1;
    char *copy = memory.get(memory.user, size);
    if (copy == NULL) {
        return false;
    }
    memcpy(copy, text, size);
    *ret_copy = copy;
    return true;
}

/* Recursion is bounded: a stack must not depend on what a file holds. */
static bool copy_into(weir_value *copy, const weir_value *value, weiri_memory memory, int depth)
{
    if (depth > WEIRI_VALUE_DEPTH) {
        weiri_fail(WEIR_E_USAGE, "a value is nested deeper than %d", WEIRI_VALUE_DEPTH);
        return false;
    }
    *copy = *value;
    copy->items = NULL;
    copy->count = 0;
    if (!text_copy(value->key, memory, &copy->key) ||
        !text_copy(value->text, memory, &copy->text)) {
        return false;
    }
    bool holds = value->type == WEIR_VALUE_LIST || value->type == WEIR_VALUE_MAP;
    if (!holds || value->count == 0) {
        return true;
    }
    uint64_t bytes = 0;
    if (!weiri_mul(value->count, sizeof(weir_value), &bytes) || bytes > SIZE_MAX) {
        return false;
    }
    weir_value *items = memory.get(memory.user, (size_t)bytes);
    if (items == NULL) {
        return false;
    }
    for (size_t i = 0; i < value->count; i++) {
        if (!copy_into(&items[i], &value->items[i], memory, depth + 1)) {
            return false;
        }
    }
    copy->items = items;
    copy->count = value->count;
    return true;
}

const weir_value *weiri_value_copy(const weir_value *value, weiri_memory memory)
{
    weir_value *copy = memory.get(memory.user, sizeof *copy);
    if (copy == NULL || !copy_into(copy, value, memory, 1)) {
        return NULL;
    }
    return copy;
}
