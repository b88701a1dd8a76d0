/* SPDX-License-Identifier: MIT
 *
 * kinds.h: for tests of every unit by its name: the kinds of stream that a unit may meet, and the settings
 * that its table's examples make.
 */
#ifndef WEIR_TEST_KINDS_H
#define WEIR_TEST_KINDS_H

#include "conform/stream.h"

#define TEST_CHANNELS 37 /* no multiple of any vector's length, and more than a band */
#define TEST_KINDS    7
#define TEST_SETTINGS 32

static const char *const test_labels[TEST_CHANNELS] = {
    "a",  "b",  "c",  "d",  "e",  "f",  "g",  "h",  "i",  "j",  "k", "l", "m",
    "n",  "o",  "p",  "q",  "r",  "s",  "t",  "u",  "v",  "w",  "x", "y", "z",
    "aa", "ab", "ac", "ad", "ae", "af", "ag", "ah", "ai", "aj", "ak"};
static const char *const test_metrics[2] = {"min", "max"};

static inline size_t test_kinds(weir_spec *kinds)
{
    size_t count = 0;
    static const weir_dtype dtypes[] = {WEIR_F32, WEIR_F64, WEIR_I16, WEIR_C64};
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        kinds[count++] = weir_spec_make(dtypes[i], 30000.0, TEST_CHANNELS, test_labels, NULL);
    }
    weir_spec spec = weir_spec_make(WEIR_F32, 30000.0, TEST_CHANNELS, test_labels, NULL);
    spec.dim_count = 3; /* [frames x channels x metric] */
    spec.dims[2] = (weir_axis){.name = "metric", .unit = "", .size = 2, .labels = test_metrics};
    kinds[count++] = spec;
    spec.dtype = WEIR_C128;
    kinds[count++] = spec;
    spec = weir_spec_make(WEIR_F64, 100.0, TEST_CHANNELS, test_labels, NULL);
    spec.dim_count = 3; /* [win x time x channels] */
    spec.dims[2] = spec.dims[1];
    spec.dims[1] =
        (weir_axis){.name = "time", .unit = "s", .size = 9, .start = 0, .step = 1 / 900.0};
    spec.dims[0].name = "win";
    kinds[count++] = spec;
    return count;
}

/* The second input of a unit that joins: the first's magnitude; of complex values, the same ones. */
static inline weir_err test_add_second(weir_chain *chain, const weir_spec *spec, int *ret_node)
{
    const char *unit = weir_dtype_parts(spec->dtype) > 1 ? "as_array" : "abs";
    return weir_chain_add(chain, WEIR_CHAIN_INPUT, unit, NULL, 0, NULL, ret_node);
}

/* A list in brackets, which may hold lists, as the file of a chain would give it to a setting that its unit parses; other
 * text as it is. */
static inline weir_value test_value(const char *key, const char **text)
{
    enum { MOST = 64 };
    static weir_value pool[MOST];
    static size_t used;
    weir_value items[8];
    size_t count = 0;
    if (**text != '[') {
        char *end = NULL;
        double number = strtod(*text, &end);
        *text = end;
        return weir_number(key, number);
    }
    for ((*text)++; **text != ']';) {
        assert_true(count < 8 && **text != 0);
        items[count++] = test_value(NULL, text);
        *text += strspn(*text, ", ");
    }
    (*text)++;
    used = used + count <= MOST ? used : 0;
    memcpy(pool + used, items, count * sizeof *items);
    used += count;
    return weir_list_of(key, pool + used - count, count);
}

/* Settings by the examples of the table; those of a required setting are there. */
static inline size_t test_examples(const weir_unit_info *info, weir_value *settings)
{
    size_t count = 0;
    for (const weir_setting *row = info->settings; row != NULL && row->name != NULL; row++) {
        assert_true(row->preset != NULL || row->example != NULL ||
                    row->type == WEIR_SETTING_IGNORED);
        if (row->example != NULL) {
            assert_true(count < TEST_SETTINGS);
            const char *text = row->example;
            settings[count++] = row->type == WEIR_SETTING_ANY && text[0] == '['
                                    ? test_value(row->name, &text)
                                    : weir_text(row->name, text);
        }
    }
    return count;
}

#endif
