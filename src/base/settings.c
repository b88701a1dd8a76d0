/* SPDX-License-Identifier: MIT
 *
 * settings.c: fills a settings struct by its table. Presets are texts as a file would hold them and go
 * through the same code as given values, so that a preset cannot mean what a user could not write.
 * Independent of units, files and chains: callers put place and name in front of the detail line.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"

#define PRESET_BYTES 128 /* of a preset that is a list */
#define PRESET_ITEMS 16
#define NAMES_LISTED 64 /* of those that a message lists or compares with */

/* What one setting is read with. */
typedef struct reader {
    const weir_setting *row;
    weiri_memory memory;
    const weir_value *wrong; /* the value to blame: an item of a list, not the list */
} reader;

/* ---- what was found ------------------------------------------------------------------------ */

static const char *found_text(const weir_value *value, char *text, size_t size)
{
    char number[40];
    switch (value->type) {
    case WEIR_VALUE_TEXT:
        snprintf(text, size, "'%.40s'", value->text != NULL ? value->text : "");
        return text;
    case WEIR_VALUE_NUMBER:
        weiri_number_write(value->number, number, sizeof number);
        snprintf(text, size, "%.40s", value->text != NULL ? value->text : number);
        return text;
    case WEIR_VALUE_BOOL:
        return value->number != 0 ? "true" : "false";
    case WEIR_VALUE_LIST:
        return "a list";
    case WEIR_VALUE_MAP:
        return "a map";
    case WEIR_VALUE_NULL:
        break;
    }
    return "null";
}

static weir_err wrong_type(reader *r, const weir_value *value, const char *wanted)
{
    char found[96];
    r->wrong = value;
    return weiri_fail(WEIR_E_CHAIN, "%s: expected %s, found %s", r->row->name, wanted,
                      found_text(value, found, sizeof found));
}

static void *get(reader *r, uint64_t count, size_t size)
{
    uint64_t bytes = 0;
    uint64_t before = weiri_fail_count();
    void *memory = NULL;
    if (weiri_mul(count, size, &bytes) && bytes <= SIZE_MAX / 2) {
        memory = r->memory.get(r->memory.user, (size_t)(bytes > 0 ? bytes : 1));
    }
    if (memory == NULL && weiri_fail_count() == before) {
        weiri_fail(WEIR_E_NOMEM, "%s: no memory for %llu entries", r->row->name,
                   (unsigned long long)count);
    }
    return memory;
}

/* ---- single values ------------------------------------------------------------------------- */

static weir_err check_range(reader *r, const weir_value *value, double number)
{
    const weir_setting *row = r->row;
    char found[40], low[40], high[40];
    if (!isfinite(number)) {
        r->wrong = value;
        return weiri_fail(WEIR_E_CHAIN, "%s: the number is not finite", row->name);
    }
    if ((row->min == 0 && row->max == 0) || (number >= row->min && number <= row->max)) {
        return WEIR_OK;
    }
    r->wrong = value;
    weiri_number_write(number, found, sizeof found);
    weiri_number_write(row->min, low, sizeof low);
    weiri_number_write(row->max, high, sizeof high);
    if (isinf(row->max)) {
        return weiri_fail(WEIR_E_CHAIN, "%s: %s is out of range; at least %s", row->name, found,
                          low);
    }
    if (isinf(row->min)) {
        return weiri_fail(WEIR_E_CHAIN, "%s: %s is out of range; at most %s", row->name, found,
                          high);
    }
    return weiri_fail(WEIR_E_CHAIN, "%s: %s is out of range; %s to %s", row->name, found, low,
                      high);
}

static weir_err read_number(reader *r, const weir_value *value, double *ret_number)
{
    static const char *const wanted[] = {"a number", "a frequency", "a time", "a number of bytes",
                                         "a number"};
    double number = value->number;
    if (value->type == WEIR_VALUE_TEXT) {
        weir_err err = weir_quantity_parse(value->text, r->row->kind, &number);
        if (err != WEIR_OK) {
            r->wrong = value;
            return weiri_fail_prefix(WEIR_E_CHAIN, "%s: ", r->row->name);
        }
    } else if (value->type != WEIR_VALUE_NUMBER) {
        return wrong_type(r, value, wanted[r->row->kind]);
    }
    weir_err err = check_range(r, value, number);
    if (err == WEIR_OK) {
        *ret_number = number;
    }
    return err;
}

static weir_err read_integer(reader *r, const weir_value *value, int64_t *ret_integer)
{
    double number = 0;
    if (value->type != WEIR_VALUE_TEXT && value->type != WEIR_VALUE_NUMBER) {
        return wrong_type(r, value, "a whole number");
    }
    weir_err err = read_number(r, value, &number);
    if (err != WEIR_OK) {
        return err;
    }
    /* Above 2^53 a double does not say which whole number was meant. */
    if (number != floor(number) || fabs(number) > 9007199254740992.0) {
        return wrong_type(r, value, "a whole number");
    }
    *ret_integer = (int64_t)number;
    return WEIR_OK;
}

static weir_err read_bool(reader *r, const weir_value *value, bool *ret_bool)
{
    if (value->type == WEIR_VALUE_BOOL) {
        *ret_bool = value->number != 0;
        return WEIR_OK;
    }
    if (value->type == WEIR_VALUE_TEXT && value->text != NULL) {
        bool yes = weiri_equal_blind(value->text, "true");
        if (yes || weiri_equal_blind(value->text, "false")) {
            *ret_bool = yes;
            return WEIR_OK;
        }
    }
    return wrong_type(r, value, "true or false");
}

static weir_err read_string(reader *r, const weir_value *value, const char **ret_text)
{
    char number[40];
    const char *text = value->text;
    if (value->type == WEIR_VALUE_NUMBER && text == NULL) {
        text = weiri_number_write(value->number, number, sizeof number);
    } else if (value->type != WEIR_VALUE_TEXT && value->type != WEIR_VALUE_NUMBER) {
        return wrong_type(r, value, "a text");
    }
    size_t size = text != NULL ? strlen(text) + 1 : 1;
    char *copy = get(r, size, 1);
    if (copy == NULL) {
        return WEIR_E_NOMEM;
    }
    memcpy(copy, text != NULL ? text : "", size);
    *ret_text = copy;
    return WEIR_OK;
}

static int choice_find(const weir_choice *choices, const char *text)
{
    for (int i = 0; choices[i].name != NULL; i++) {
        if (weiri_equal_blind(choices[i].name, text) ||
            (choices[i].also != NULL && weiri_equal_blind(choices[i].also, text))) {
            return i;
        }
    }
    return -1;
}

/* "'men' is not one of them; did you mean 'mean'? allowed: max min mean" */
static weir_err fail_names(const char *setting,
                           const char *found,
                           const char *what,
                           const char *const *names,
                           size_t count)
{
    char list[768] = "";
    size_t used = 0;
    for (size_t i = 0; i < count && used < sizeof list; i++) {
        int wrote = snprintf(list + used, sizeof list - used, " %s", names[i]);
        used += wrote > 0 ? (size_t)wrote : 0;
    }
    const char *near = weiri_nearest(found, names, count);
    if (near != NULL) {
        return weiri_fail(WEIR_E_CHAIN, "%s: %s; did you mean '%s'? allowed:%s", setting, what,
                          near, list);
    }
    return weiri_fail(WEIR_E_CHAIN, "%s: %s; allowed:%s", setting, what, list);
}

/* Names are taken case-blind, by either name, and with the enumeration's own name before a dot, as the
 * reference's users write them ("AggregationFunction.MEAN"). */
static weir_err read_choice(reader *r, const weir_value *value, int *ret_choice)
{
    const weir_choice *choices = r->row->choices;
    bool has_text = value->type == WEIR_VALUE_TEXT || value->type == WEIR_VALUE_NUMBER ||
                    value->type == WEIR_VALUE_BOOL;
    if (!has_text || value->text == NULL) {
        return wrong_type(r, value, "a name");
    }
    int choice = choice_find(choices, value->text);
    const char *dot = strrchr(value->text, '.');
    if (choice < 0 && dot != NULL && dot > value->text) {
        choice = choice_find(choices, dot + 1);
    }
    if (choice >= 0) {
        *ret_choice = choice;
        return WEIR_OK;
    }
    const char *names[NAMES_LISTED];
    size_t count = 0;
    while (count < NAMES_LISTED && choices[count].name != NULL) {
        names[count] = choices[count].name;
        count++;
    }
    char what[80];
    snprintf(what, sizeof what, "'%.40s' is not an allowed name", value->text);
    r->wrong = value;
    return fail_names(r->row->name, dot != NULL ? dot + 1 : value->text, what, names, count);
}

/* ---- lists --------------------------------------------------------------------------------- */

/* One value or a list of them. */
static const weir_value *as_items(const weir_value *value, size_t *ret_count)
{
    if (value->type == WEIR_VALUE_LIST) {
        *ret_count = value->count;
        return value->items;
    }
    *ret_count = 1;
    return value;
}

static weir_err read_list(reader *r, const weir_value *value, weir_list *ret_list)
{
    size_t count = 0;
    const weir_value *items = as_items(value, &count);
    double *numbers = get(r, count, sizeof *numbers);
    if (numbers == NULL) {
        return WEIR_E_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        weir_err err = read_number(r, &items[i], &numbers[i]);
        if (err != WEIR_OK) {
            return err;
        }
    }
    ret_list->count = count;
    ret_list->of.numbers = numbers;
    ret_list->listed = value->type == WEIR_VALUE_LIST;
    return WEIR_OK;
}

static weir_err read_choices(reader *r, const weir_value *value, weir_list *ret_list)
{
    size_t count = 0;
    const weir_value *items = as_items(value, &count);
    int *choices = get(r, count, sizeof *choices);
    if (choices == NULL) {
        return WEIR_E_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        weir_err err = read_choice(r, &items[i], &choices[i]);
        if (err != WEIR_OK) {
            return err;
        }
    }
    ret_list->count = count;
    ret_list->of.choices = choices;
    ret_list->listed = value->type == WEIR_VALUE_LIST;
    return WEIR_OK;
}

/* A name of the setting's choices, or else of a file. */
static weir_err read_matrix_text(reader *r, const weir_value *value, weir_matrix *ret_matrix)
{
    const weir_choice *choices = r->row->choices;
    for (size_t i = 0; choices != NULL && choices[i].name != NULL; i++) {
        if (weiri_equal_blind(value->text, choices[i].name)) {
            *ret_matrix = (weir_matrix){.columns = i + 1};
            return WEIR_OK;
        }
    }
    weir_err err = weiri_matrix_read(value->text, r->memory, ret_matrix);
    if (err != WEIR_OK) {
        r->wrong = value;
        return weiri_fail_prefix(err, "%s: ", r->row->name);
    }
    return WEIR_OK;
}

static weir_err read_matrix(reader *r, const weir_value *value, weir_matrix *ret_matrix)
{
    if (value->type == WEIR_VALUE_TEXT) {
        return read_matrix_text(r, value, ret_matrix);
    }
    if (value->type != WEIR_VALUE_LIST) {
        return wrong_type(r, value,
                          "a list of rows, each a list of numbers, or the name of a file");
    }
    size_t rows = value->count;
    size_t columns = 0;
    for (size_t i = 0; i < rows; i++) {
        const weir_value *row = &value->items[i];
        if (row->type != WEIR_VALUE_LIST) {
            return wrong_type(r, row, "a row, which is a list of numbers");
        }
        columns = i == 0 ? row->count : columns;
        if (row->count != columns || columns == 0) {
            r->wrong = row;
            return weiri_fail(WEIR_E_CHAIN, "%s: row %zu has %zu numbers, expected %zu",
                              r->row->name, i + 1, row->count, columns > 0 ? columns : 1);
        }
    }
    uint64_t count = 0;
    double *numbers = weiri_mul(rows, columns, &count) ? get(r, count, sizeof *numbers) : NULL;
    if (numbers == NULL) {
        return WEIR_E_NOMEM;
    }
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j++) {
            weir_err err = read_number(r, &value->items[i].items[j], &numbers[i * columns + j]);
            if (err != WEIR_OK) {
                return err;
            }
        }
    }
    ret_matrix->rows = rows;
    ret_matrix->columns = columns;
    ret_matrix->numbers = numbers;
    return WEIR_OK;
}

static bool deeper_than(const weir_value *value, int depth)
{
    if (value->type != WEIR_VALUE_LIST && value->type != WEIR_VALUE_MAP) {
        return false;
    }
    for (size_t i = 0; i < value->count; i++) {
        if (depth <= 1 || deeper_than(&value->items[i], depth - 1)) {
            return true;
        }
    }
    return false;
}

static weir_err read_any(reader *r, const weir_value *value, const weir_value **ret_value)
{
    if (deeper_than(value, WEIRI_VALUE_DEPTH)) {
        r->wrong = value;
        return weiri_fail(WEIR_E_CHAIN, "%s: nested deeper than %d", r->row->name,
                          WEIRI_VALUE_DEPTH);
    }
    uint64_t before = weiri_fail_count();
    const weir_value *copy = weiri_value_copy(value, r->memory);
    if (copy == NULL) {
        return weiri_fail_count() != before
                   ? WEIR_E_NOMEM
                   : weiri_fail(WEIR_E_NOMEM, "%s: no memory for its value", r->row->name);
    }
    *ret_value = copy;
    return WEIR_OK;
}

/* ---- one setting --------------------------------------------------------------------------- */

/* "null": the value of a setting that is not given. */
static void store_none(const weir_setting *row, void *field)
{
    switch (row->type) {
    case WEIR_SETTING_NUMBER:
    case WEIR_SETTING_QUANTITY:
        *(double *)field = NAN;
        break;
    case WEIR_SETTING_INTEGER:
        *(int64_t *)field = INT64_MIN;
        break;
    case WEIR_SETTING_STRING:
        *(const char **)field = NULL;
        break;
    case WEIR_SETTING_ENUM:
        *(int *)field = -1;
        break;
    case WEIR_SETTING_BOOL:
        *(bool *)field = false;
        break;
    case WEIR_SETTING_ENUM_LIST:
    case WEIR_SETTING_LIST:
        *(weir_list *)field = (weir_list){.count = 0, .of = {.numbers = NULL}};
        break;
    case WEIR_SETTING_MATRIX:
        *(weir_matrix *)field = (weir_matrix){.rows = 0};
        break;
    case WEIR_SETTING_ANY:
        *(const weir_value **)field = NULL;
        break;
    case WEIR_SETTING_IGNORED:
        break;
    }
}

static weir_err read_one(reader *r, const weir_value *value, void *field)
{
    switch (r->row->type) {
    case WEIR_SETTING_NUMBER:
    case WEIR_SETTING_QUANTITY:
        return read_number(r, value, field);
    case WEIR_SETTING_INTEGER:
        return read_integer(r, value, field);
    case WEIR_SETTING_STRING:
        return read_string(r, value, field);
    case WEIR_SETTING_ENUM:
        return read_choice(r, value, field);
    case WEIR_SETTING_BOOL:
        return read_bool(r, value, field);
    case WEIR_SETTING_ENUM_LIST:
        return read_choices(r, value, field);
    case WEIR_SETTING_LIST:
        return read_list(r, value, field);
    case WEIR_SETTING_MATRIX:
        return read_matrix(r, value, field);
    case WEIR_SETTING_ANY:
        return read_any(r, value, field);
    case WEIR_SETTING_IGNORED:
        break;
    }
    return WEIR_OK;
}

static void *no_memory(void *user, size_t bytes)
{
    (void)user;
    (void)bytes;
    return NULL;
}

weir_err weiri_setting_read(const weir_setting *row, const weir_value *value, void *settings)
{
    switch (row->type) {
    case WEIR_SETTING_NUMBER:
    case WEIR_SETTING_QUANTITY:
    case WEIR_SETTING_INTEGER:
    case WEIR_SETTING_ENUM:
    case WEIR_SETTING_BOOL:
        break;
    default:
        return weiri_fail(WEIR_E_CHAIN, "%s: a text or list cannot be replaced alone", row->name);
    }
    reader r = {.row = row, .memory = {no_memory, NULL}};
    void *field = (unsigned char *)settings + row->offset;
    if (value->type == WEIR_VALUE_NULL) {
        store_none(row, field);
        return WEIR_OK;
    }
    return read_one(&r, value, field);
}

/* A preset as a value: "[0.9, 0.99]" is a list of texts, all else one text. text[] and items[] hold it. */
static weir_value preset_value(const char *preset, char *text, weir_value *items)
{
    size_t length = strlen(preset);
    if (preset[0] != '[' || length < 2 || length >= PRESET_BYTES) {
        return weir_text(NULL, preset);
    }
    memcpy(text, preset + 1, length - 2);
    text[length - 2] = '\0';
    size_t count = 0;
    char *save = NULL;
    for (char *item = strtok_r(text, ", ", &save); item != NULL && count < PRESET_ITEMS;
         item = strtok_r(NULL, ", ", &save)) {
        items[count++] = weir_text(NULL, item);
    }
    return (weir_value){.type = WEIR_VALUE_LIST, .items = items, .count = count};
}

static weir_err read_preset(reader *r, void *field)
{
    if (r->row->preset == NULL && r->row->type != WEIR_SETTING_IGNORED) {
        return weiri_fail(WEIR_E_CHAIN, "%s: is required (%s)", r->row->name, r->row->help);
    }
    if (r->row->preset == NULL || strcmp(r->row->preset, "null") == 0) {
        store_none(r->row, field);
        return WEIR_OK;
    }
    char text[PRESET_BYTES];
    weir_value items[PRESET_ITEMS];
    weir_value value = preset_value(r->row->preset, text, items);
    weir_err err = read_one(r, &value, field);
    r->wrong = NULL; /* no value of the caller's */
    return err;
}

/* ---- the table ----------------------------------------------------------------------------- */

static weir_err
unknown_setting(const weir_setting *table, const char *also, const weir_value *value)
{
    const char *names[NAMES_LISTED + 1];
    size_t count = 0;
    for (size_t i = 0; table[i].name != NULL && count < NAMES_LISTED; i++) {
        if (table[i].type != WEIR_SETTING_IGNORED) {
            names[count++] = table[i].name;
        }
    }
    if (also != NULL) {
        names[count++] = also;
    }
    char name[64];
    snprintf(name, sizeof name, "%.60s", value->key);
    if (count == 0) {
        return weiri_fail(WEIR_E_CHAIN, "%s: no such setting; none can be set", name);
    }
    return fail_names(name, value->key, "no such setting", names, count);
}

/* Names first: if a required setting is misspelt, the error names the misspelling. */
static weir_err check_names(const weir_setting *table,
                            const char *also,
                            const weir_value *values,
                            size_t count,
                            const weir_value **ret_wrong)
{
    for (size_t i = 0; i < count; i++) {
        *ret_wrong = &values[i];
        if (values[i].key == NULL) {
            return weiri_fail(WEIR_E_CHAIN, "settings: expected a name and a value");
        }
        size_t row = 0;
        while (table[row].name != NULL && strcmp(table[row].name, values[i].key) != 0) {
            row++;
        }
        if (table[row].name == NULL) {
            return unknown_setting(table, also, &values[i]);
        }
        /* All before i are known and occur once, so no more of them than the table has rows. */
        for (size_t j = 0; j < i; j++) {
            if (strcmp(values[j].key, values[i].key) == 0) {
                return weiri_fail(WEIR_E_CHAIN, "%s: given twice", table[row].name);
            }
        }
    }
    *ret_wrong = NULL;
    return WEIR_OK;
}

static void mark_setting(weir_value *mark, const char *name, const weir_value *value)
{
    *mark = value != NULL ? *value : (weir_value){.type = WEIR_VALUE_NULL};
    mark->key = name;
    mark->text = NULL; /* a mark outlives what it was read from */
    mark->items = NULL;
    mark->count = 0;
}

weir_err weiri_settings_read(const weir_setting *table,
                             const char *also,
                             const weir_value *values,
                             size_t count,
                             weiri_memory memory,
                             weiri_notices *notices,
                             void *settings,
                             weir_value *marks,
                             const weir_value **ret_wrong)
{
    const weir_value *wrong = NULL;
    weir_err err = check_names(table, also, values, count, &wrong);
    for (size_t i = 0; err == WEIR_OK && table[i].name != NULL; i++) {
        const weir_value *value = NULL;
        for (size_t j = 0; j < count; j++) {
            if (strcmp(values[j].key, table[i].name) == 0) {
                value = &values[j];
            }
        }
        reader r = {.row = &table[i], .memory = memory, .wrong = NULL};
        void *field = (unsigned char *)settings + table[i].offset;
        if (value == NULL || value->type == WEIR_VALUE_NULL) {
            err = read_preset(&r, field);
            r.wrong = err != WEIR_OK && value != NULL ? value : r.wrong;
        } else if (table[i].type == WEIR_SETTING_IGNORED) {
            weiri_notice(notices, "%s: accepted, but ignored", table[i].name);
        } else {
            err = read_one(&r, value, field);
        }
        wrong = r.wrong;
        if (marks != NULL) {
            mark_setting(&marks[i], table[i].name, value);
        }
    }
    if (err != WEIR_OK && ret_wrong != NULL) {
        *ret_wrong = wrong;
    }
    return err;
}
