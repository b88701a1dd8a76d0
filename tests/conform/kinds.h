/* SPDX-License-Identifier: MIT
 *
 * kinds.h: for tests of every unit: the kinds of input stream, and the settings from the examples
 * in its table.
 */
#ifndef WEIR_TEST_KINDS_H
#define WEIR_TEST_KINDS_H

#include "conform/stream.h"

#define TEST_CHANNELS 37 /* not a multiple of any vector's length, and more than a channel block */
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
    spec = weir_spec_make(WEIR_F64, 1000.0, TEST_CHANNELS, test_labels, NULL);
    spec.dim_count = 3; /* [win x time x channels] */
    spec.dims[2] = spec.dims[1];
    spec.dims[1] =
        (weir_axis){.name = "time", .unit = "s", .size = 9, .start = 0, .step = 1 / 9000.0};
    spec.dims[0].name = "win";
    kinds[count++] = spec;
    return count;
}

/* The second input of a unit that joins: the first one's magnitude; for complex values, the
 * same. */
static inline weir_err test_add_second(weir_chain *chain, const weir_spec *spec, int *ret_node)
{
    const char *unit = weir_dtype_parts(spec->dtype) > 1 ? "as_array" : "abs";
    return weir_chain_add(chain, WEIR_CHAIN_INPUT, unit, NULL, 0, NULL, ret_node);
}

/* An example as a chain file reads it: "[[0, 1], [0, 3]]" is a list of lists, "{order: 4, cutoff: 1 kHz}" a map, all
 * else a text; within these a number is one. Lists, maps and texts exist as long as the test. */
static inline weir_value test_example(const char *key, const char **at, bool within)
{
    static weir_value pool[4096];
    static char texts[65536];
    static size_t used, letters;
    char open = **at;
    if (open != '[' && open != '{') {
        size_t length = within ? strcspn(*at, ",]}") : strlen(*at);
        letters = letters + length + 1 > sizeof texts ? 0 : letters;
        char *text = memcpy(texts + letters, *at, length), *end = NULL;
        text[length] = '\0';
        letters += length + 1;
        *at += length;
        double number = strtod(text, &end);
        return within && *end == '\0' ? weir_number(key, number) : weir_text(key, text);
    }
    weir_value items[64];
    size_t count = 0;
    for ((*at)++; **at != ']' && **at != '}'; *at += strspn(*at, ", ")) {
        char *name = NULL;
        if (open == '{') {
            size_t length = strcspn(*at, ":");
            letters = letters + length + 1 > sizeof texts ? 0 : letters;
            name = memcpy(texts + letters, *at, length);
            name[length] = '\0';
            letters += length + 1;
            *at += length + 1;
            *at += strspn(*at, " ");
        }
        assert_true(count < 64);
        items[count++] = test_example(name, at, true);
    }
    (*at)++;
    used = used + count > 4096 ? 0 : used; /* those of long ago are overwritten */
    memcpy(pool + used, items, count * sizeof *items);
    used += count;
    return open == '[' ? weir_list_of(key, pool + used - count, count)
                       : weir_map_of(key, pool + used - count, count);
}

/* Settings from the examples of the table, including required settings. */
static inline size_t test_examples(const weir_unit_info *info, weir_value *settings)
{
    size_t count = 0;
    for (const weir_setting *row = info->settings; row != NULL && row->name != NULL; row++) {
        assert_true(row->preset != NULL || row->example != NULL ||
                    row->type == WEIR_SETTING_IGNORED);
        if (row->example != NULL) {
            assert_true(count < TEST_SETTINGS);
            const char *example = row->example;
            settings[count++] = test_example(row->name, &example, false);
        }
    }
    return count;
}

#endif
