/* SPDX-License-Identifier: MIT
 *
 * units.c: the list of units in a chain file: entries, splits, and the units that join their
 * branches. A unit's descriptor describes its settings, and the chain reads them when the
 * unit is added; errors in them get file, line and column there.
 */
#include "config/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

#define MOST_INPUTS 8   /* of a unit that joins branches */
#define NAME_BYTES  256 /* of an output: the names of nested splits, joined with points */

typedef struct loader {
    const char *file;
    weir_chain *chain;
    bool named;      /* an output was named */
    weir_value last; /* name and place of the unit added last */
} loader;

static weir_err
build_list(loader *load, const weir_value *list, int *node, bool *ret_open, const char *output);

static weir_err check_split_name(const loader *load, const weir_value *branch)
{
    const char *name = branch->key;
    size_t length =
        strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
    if (length == 0 || name[length] != '\0' || length > 64 || name[0] == '-')
        return weiri_fail(WEIR_E_CHAIN,
                          "%s:%u:%u: split: found the name '%.60s'; up to 64 letters, digits, _ "
                          "and - are allowed, as the name becomes part of a file name",
                          load->file, branch->line, branch->column, name);
    return WEIR_OK;
}

/* A branch of a split. */
typedef struct branch {
    const weir_value *value; /* its name and list */
    int node;                /* at its end; WEIR_CHAIN_INPUT if nothing is before it */
    bool used;               /* by the unit that joins; else it is an output */
} branch;

/* "outer.inner": the name of a branch with those of the splits around it. */
static weir_err
branch_name(const loader *load, const weir_value *value, const char *before, char name[NAME_BYTES])
{
    weir_err err = check_split_name(load, value);
    if (err != WEIR_OK)
        return err;
    int length = snprintf(name, NAME_BYTES, "%s%s%s", before != NULL ? before : "",
                          before != NULL ? "." : "", value->key);
    if (length >= NAME_BYTES)
        return weiri_fail(WEIR_E_CHAIN,
                          "%s:%u:%u: split: the names of nested splits together are longer than %d "
                          "bytes",
                          load->file, value->line, value->column, NAME_BYTES - 1);
    return WEIR_OK;
}

static weir_err name_output(loader *load, int node, const char *name, const weir_value *place)
{
    weir_err err = weir_chain_output(load->chain, node, name);
    load->named = true;
    return err == WEIR_OK || err == WEIR_E_NOMEM
               ? err
               : weiri_fail_prefix(err, "%s:%u:%u: ", load->file, place->line, place->column);
}

/* The units of a branch, after the node before the split. */
static weir_err build_branch(loader *load, branch *of, const char *before)
{
    char name[NAME_BYTES];
    bool open = false;
    weir_err err = branch_name(load, of->value, before, name);
    if (err == WEIR_OK)
        err = build_list(load, of->value, &of->node, &open, name);
    if (err == WEIR_OK && of->used && !open)
        err = weiri_fail(WEIR_E_CHAIN,
                         "%s:%u:%u: %.60s: ends in a split and cannot be joined; join the branches "
                         "of that split first",
                         load->file, of->value->line, of->value->column, of->value->key);
    if (err == WEIR_OK && !of->used && open)
        err = name_output(load, of->node, name, of->value);
    return err;
}

/* An entry as a unit: its name, its place, its settings. */
static weir_err read_entry(const loader *load,
                           const weir_value *entry,
                           weir_value *ret_mark,
                           const weir_value **ret_settings)
{
    static const weir_value none = {.type = WEIR_VALUE_NULL};
    *ret_settings = &none;
    if (entry->type == WEIR_VALUE_TEXT) {
        *ret_mark = *entry;
        return WEIR_OK;
    }
    if (entry->type != WEIR_VALUE_MAP)
        return weiri_fail(
            WEIR_E_CHAIN,
            "%s:%u:%u: found %s%.60s%s; expected the name of a unit, or `name: {settings}`",
            load->file, entry->line, entry->column, entry->text != NULL ? "'" : "a list",
            entry->text != NULL ? entry->text : "", entry->text != NULL ? "'" : "");
    if (entry->count != 1) {
        const weir_value *at = entry->count > 1 ? &entry->items[1] : entry;
        return weiri_fail(
            WEIR_E_CHAIN,
            "%s:%u:%u: found %s%.60s%s; an entry of a chain holds one unit: indent its "
            "settings below its name, put a dash before the next unit",
            load->file, at->line, at->column, entry->count > 1 ? "'" : "an empty map",
            entry->count > 1 ? at->key : "", entry->count > 1 ? "' next to the unit" : "");
    }
    const weir_value *unit = &entry->items[0];
    *ret_mark = *unit;
    ret_mark->text = unit->key;
    *ret_settings = unit;
    return WEIR_OK;
}

static weir_err
check_settings(const loader *load, const weir_value *mark, const weir_value *settings)
{
    if (settings->type == WEIR_VALUE_MAP || settings->type == WEIR_VALUE_NULL)
        return WEIR_OK;
    return weiri_fail(
        WEIR_E_CHAIN,
        "%s:%u:%u: %.60s: found %s%.60s%s as settings; expected a map, as in {name: value}",
        load->file, mark->line, mark->column, mark->text, settings->text != NULL ? "'" : "a list",
        settings->text != NULL ? settings->text : "", settings->text != NULL ? "'" : "");
}

/* Place and name alone. */
static weir_value bare(const weir_value *mark)
{
    return (weir_value){
        .type = WEIR_VALUE_TEXT, .text = mark->text, .line = mark->line, .column = mark->column};
}

static weir_err add_unit(loader *load, const weir_value *entry, int *node)
{
    weir_value mark = {0};
    const weir_value *settings;
    weir_err err = read_entry(load, entry, &mark, &settings);
    if (err == WEIR_OK)
        err = check_settings(load, &mark, settings);
    if (err != WEIR_OK)
        return err;
    load->last = bare(&mark);
    return weir_chain_add(load->chain, *node, mark.text, settings->items, settings->count,
                          &load->last, node);
}

static bool is_split(const weir_value *entry)
{
    return entry->type == WEIR_VALUE_MAP && entry->count == 1 &&
           strcmp(entry->items[0].key, "split") == 0;
}

/* ---- a unit after a split, which joins its branches ------------------------------------------------ */

typedef struct join {
    weir_value mark;          /* name and place */
    const weir_value *inputs; /* names of branches; NULL = all, in their order */
    weir_value *settings;     /* the others; freed by the caller */
    size_t setting_count;
    branch *branches; /* of the split before it */
    size_t branch_count;
    size_t parents[MOST_INPUTS]; /* numbers of branches */
    size_t parent_count;
} join;

/* Appends to a list of names in text[size]. */
static void append_name(char *text, size_t size, const char *name)
{
    size_t length = strlen(text);
    snprintf(text + length, size - length, "%s%s", length > 0 ? ", " : "", name);
}

/* Only units that join may follow a split; which these are. */
static weir_err fail_no_join(const loader *load, const weir_value *at, const char *found)
{
    char names[160] = "";
    for (size_t i = 0; i < weir_unit_count(); i++)
        if ((weir_unit_at(i)->flags & WEIR_UNIT_JOINS) != 0)
            append_name(names, sizeof names, weir_unit_at(i)->name);
    return weiri_fail(
        WEIR_E_CHAIN,
        "%s:%u:%u: found %.60s after a split; only a unit that joins its branches may follow (%s)",
        load->file, at->line, at->column, found, names);
}

/* Removes `inputs` from the settings. */
static weir_err read_join(const loader *load, const weir_value *entry, join *ret)
{
    const weir_value *settings;
    const weir_unit_info *unit = NULL;
    if (is_split(entry))
        return fail_no_join(load, &entry->items[0], "a split");
    weir_err err = read_entry(load, entry, &ret->mark, &settings);
    if (err == WEIR_OK)
        err = check_settings(load, &ret->mark, settings);
    if (err != WEIR_OK)
        return err;
    ret->mark = bare(&ret->mark);
    if (weir_unit_find(ret->mark.text, &unit) == WEIR_OK && !(unit->flags & WEIR_UNIT_JOINS))
        return fail_no_join(load, &ret->mark, ret->mark.text);
    ret->settings = calloc(settings->count + 1, sizeof *ret->settings);
    if (ret->settings == NULL)
        return weiri_fail(WEIR_E_NOMEM, "no memory left for the settings of %s", ret->mark.text);
    for (size_t i = 0; i < settings->count; i++)
        if (strcmp(settings->items[i].key, "inputs") == 0)
            ret->inputs = &settings->items[i];
        else
            ret->settings[ret->setting_count++] = settings->items[i];
    return WEIR_OK;
}

static weir_err find_branch(const loader *load, const join *of, const weir_value *name, size_t *ret)
{
    char names[160] = "";
    for (size_t i = 0; i < of->branch_count; i++) {
        if (name->text != NULL && strcmp(of->branches[i].value->key, name->text) == 0) {
            *ret = i;
            return WEIR_OK;
        }
        append_name(names, sizeof names, of->branches[i].value->key);
    }
    return weiri_fail(
        WEIR_E_CHAIN,
        "%s:%u:%u: %.60s: inputs: found %s%.60s%s; expected branches of the preceding split: %s",
        load->file, name->line, name->column, of->mark.text,
        name->text != NULL ? "'" : "a list or map", name->text != NULL ? name->text : "",
        name->text != NULL ? "'" : "", names);
}

/* The branches that it joins: these are then not outputs. */
static weir_err find_inputs(const loader *load, join *of)
{
    const weir_value *inputs = of->inputs;
    if (inputs != NULL && inputs->type != WEIR_VALUE_LIST)
        return weiri_fail(WEIR_E_CHAIN,
                          "%s:%u:%u: %.60s: inputs: expected a list of branches, as in [a, b]",
                          load->file, inputs->line, inputs->column, of->mark.text);
    of->parent_count = inputs == NULL ? of->branch_count : inputs->count;
    if (of->parent_count < 2 || of->parent_count > MOST_INPUTS)
        return weiri_fail(WEIR_E_CHAIN, "%s:%u:%u: %.60s: found %zu input%s; 2 to %d are allowed",
                          load->file, inputs == NULL ? of->mark.line : inputs->line,
                          inputs == NULL ? of->mark.column : inputs->column, of->mark.text,
                          of->parent_count, of->parent_count == 1 ? "" : "s", MOST_INPUTS);
    for (size_t i = 0; i < of->parent_count; i++) {
        weir_err err = WEIR_OK;
        of->parents[i] = i;
        if (inputs != NULL)
            err = find_branch(load, of, &inputs->items[i], &of->parents[i]);
        if (err != WEIR_OK)
            return err;
        of->branches[of->parents[i]].used = true;
    }
    return WEIR_OK;
}

static weir_err add_join(loader *load, const join *of, int *node)
{
    int parents[MOST_INPUTS] = {0};
    for (size_t i = 0; i < of->parent_count; i++)
        parents[i] = of->branches[of->parents[i]].node;
    load->last = of->mark;
    return weir_chain_join(load->chain, parents, of->parent_count, of->mark.text, of->settings,
                           of->setting_count, &load->last, node);
}

/* A split, a map of names to chains after the same node, and the entry after it (NULL = none),
 * which joins branches. Branches that it does not join are outputs, in the order of the file. */
static weir_err build_split(
    loader *load, const weir_value *split, const weir_value *after, int *node, const char *output)
{
    if (split->type != WEIR_VALUE_MAP || split->count == 0)
        return weiri_fail(WEIR_E_CHAIN, "%s:%u:%u: split: expected a map of names to chains",
                          load->file, split->line, split->column);
    join of = {.branches = calloc(split->count, sizeof(branch)), .branch_count = split->count};
    weir_err err =
        of.branches == NULL ? weiri_fail(WEIR_E_NOMEM, "no memory left for a split") : WEIR_OK;
    for (size_t i = 0; err == WEIR_OK && i < split->count; i++)
        of.branches[i] = (branch){.value = &split->items[i], .node = *node};
    if (err == WEIR_OK && after != NULL)
        err = read_join(load, after, &of);
    if (err == WEIR_OK && after != NULL)
        err = find_inputs(load, &of);
    for (size_t i = 0; err == WEIR_OK && i < split->count; i++)
        err = build_branch(load, &of.branches[i], output);
    if (err == WEIR_OK && after != NULL)
        err = add_join(load, &of, node);
    free(of.settings);
    free(of.branches);
    return err;
}

/* ---- lists of units ---------------------------------------------------------------------------------- */

/* Adds the units of a list after *node and returns the node at its end; not open: in a split. An
 * empty list passes its input through. Recursion is bounded by the tree's depth. */
static weir_err
build_list(loader *load, const weir_value *list, int *node, bool *ret_open, const char *output)
{
    if (list->type != WEIR_VALUE_LIST)
        return weiri_fail(
            WEIR_E_CHAIN,
            "%s:%u:%u: %s: found %s%.60s; expected a list of units, each after a dash", load->file,
            list->line, list->column, list->key != NULL ? list->key : "chain",
            list->type == WEIR_VALUE_MAP    ? "a map"
            : list->type == WEIR_VALUE_NULL ? "nothing"
                                            : "",
            list->type != WEIR_VALUE_MAP && list->type != WEIR_VALUE_NULL ? list->text : "");
    *ret_open = true;
    for (size_t at = 0; at < list->count; at++) {
        const weir_value *entry = &list->items[at];
        const weir_value *after = at + 1 < list->count ? entry + 1 : NULL;
        bool split = is_split(entry);
        weir_err err = split ? build_split(load, &entry->items[0], after, node, output)
                             : add_unit(load, entry, node);
        if (err != WEIR_OK)
            return err;
        *ret_open = !split || after != NULL;
        at += split && after != NULL ? 1 : 0; /* the unit that joins */
    }
    return WEIR_OK;
}

/* The output at the end of the list is named after its unit. */
weir_err weiri_config_units(const char *file, const weir_value *list, weir_chain *chain)
{
    loader load = {.file = file, .chain = chain};
    int node = WEIR_CHAIN_INPUT;
    bool open = false;
    weir_err err = build_list(&load, list, &node, &open, NULL);
    if (err != WEIR_OK || !open)
        return err;
    if (node == WEIR_CHAIN_INPUT)
        return weir_chain_output(chain, node, "input");
    return load.named ? name_output(&load, node, load.last.text, &load.last) : WEIR_OK;
}
