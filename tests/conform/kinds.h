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

/* An example as a chain file has it: "{order: 4, cutoff: 1 kHz}" is a map. Valid as long as the process, of the units
 * with most maps in one chain. */
static inline weir_value test_example(const weir_setting *row)
{
    static char texts[16][96];
    static weir_value items[16][8];
    static size_t next;
    if (row->example[0] != '{') {
        return weir_text(row->name, row->example);
    }
    size_t at = next++ % 16, count = 0;
    assert_true(strlen(row->example) < sizeof texts[at]);
    strcpy(texts[at], row->example + 1);
    char *save = NULL;
    for (char *key = strtok_r(texts[at], "{,} ", &save); key != NULL;
         key = strtok_r(NULL, "{,} ", &save)) {
        char *value = strtok_r(NULL, ",}", &save);
        assert_true(value != NULL && count < 8);
        key[strcspn(key, ":")] = '\0';
        items[at][count++] = weir_text(key, value + strspn(value, " "));
    }
    return weir_map_of(row->name, items[at], count);
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
            settings[count++] = test_example(row);
        }
    }
    return count;
}

#endif
