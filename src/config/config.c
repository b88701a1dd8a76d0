/* SPDX-License-Identifier: MIT
 *
 * config.c: a chain from a tree of values: which keys there are, what an entry of a chain looks
 * like, where splits may stand. What a unit's settings mean is said by its descriptor, read by the
 * chain when the unit is added; its mistakes come back with file, line and column from there.
 */
#include <weir/config.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "chain/options.h"
#include "config/tree.h"

#define MOST_INPUTS 8  /* of a unit that joins branches */
#define NAME_BYTES 256 /* of an output: the names of nested splits, joined with points */

static const char *const top_keys[] = {"memory_limit", "cache_limit",   "threads",
                                       "tile",         "gap_tolerance", "chain"};
#define TOP_KEYS (sizeof top_keys / sizeof *top_keys)

static weir_err fail_key(const char *file, const weir_value *value)
{
    return weiri_fail_prefix(WEIR_E_CHAIN, "%s:%u:%u: %s: ", file, value->line, value->column,
                             value->key);
}

/* ---- top-level keys ------------------------------------------------------------------------- */

/* null leaves a limit to environment and default (M8); none states that there is none. */
static weir_err read_limit(const char *file, const weir_value *value, uint64_t *limit)
{
    if (value->type == WEIR_VALUE_NULL)
        return WEIR_OK;
    if (value->type == WEIR_VALUE_TEXT && weiri_equal_blind(value->text, "none")) {
        *limit = WEIR_NO_LIMIT;
        return WEIR_OK;
    }
    if (value->type == WEIR_VALUE_TEXT && weiri_equal_blind(value->text, "auto") &&
        strcmp(value->key, "cache_limit") == 0) {
        *limit = WEIR_LIMIT_AUTO;
        return WEIR_OK;
    }
    if (value->type != WEIR_VALUE_TEXT && value->type != WEIR_VALUE_NUMBER)
        return weiri_fail(WEIR_E_CHAIN, "%s:%u:%u: %s: found no number of bytes; 64 MiB is one",
                          file, value->line, value->column, value->key);
    if (value->type == WEIR_VALUE_NUMBER && value->number >= 0 && value->number <= 0x1p53 &&
        value->number == floor(value->number))
        *limit = (uint64_t)value->number; /* however it is written: 0x4000000, 1e6 */
    else if (weir_bytes_parse(value->text, limit) != WEIR_OK)
        return fail_key(file, value);
    return WEIR_OK;
}

static weir_err read_count(const char *file, const weir_value *value, double most, uint64_t *count)
{
    if (value->type == WEIR_VALUE_NULL)
        return WEIR_OK;
    if (value->type != WEIR_VALUE_NUMBER || !(value->number >= 1 && value->number <= most) ||
        value->number != floor(value->number))
        return weiri_fail(WEIR_E_CHAIN,
                          "%s:%u:%u: %s: found %.60s; a whole number from 1 to %.0f is allowed%s",
                          file, value->line, value->column, value->key,
                          value->text != NULL ? value->text : "a list or map", most,
                          strcmp(value->key, "tile") == 0 ? ", or auto" : "");
    *count = (uint64_t)value->number;
    return WEIR_OK;
}

static weir_err read_tile(const char *file, const weir_value *value, uint64_t *tile_frames)
{
    if (value->type == WEIR_VALUE_TEXT && weiri_equal_blind(value->text, "auto")) {
        *tile_frames = WEIR_TILE_AUTO;
        return WEIR_OK;
    }
    return read_count(file, value, 1 << 24, tile_frames);
}

static weir_err read_tolerance(const char *file, const weir_value *value, double *seconds)
{
    if (value->type == WEIR_VALUE_NULL)
        return WEIR_OK;
    if (value->type != WEIR_VALUE_TEXT && value->type != WEIR_VALUE_NUMBER)
        return weiri_fail(WEIR_E_CHAIN, "%s:%u:%u: %s: found no time; 1 ms is one", file,
                          value->line, value->column, value->key);
    if (value->type == WEIR_VALUE_NUMBER)
        *seconds = value->number;
    else if (weir_quantity_parse(value->text, WEIR_TIME, seconds) != WEIR_OK)
        return fail_key(file, value);
    if (!(*seconds >= 0 && *seconds <= 1e6))
        return weiri_fail(WEIR_E_CHAIN, "%s:%u:%u: %s: found %.60s; 0 s to 1000000 s are allowed",
                          file, value->line, value->column, value->key, value->text);
    return WEIR_OK;
}

static weir_err unknown_key(const char *file, const weir_value *value)
{
    const char *nearest = weiri_nearest(value->key, top_keys, TOP_KEYS);
    const weir_unit_info *unit;
    if (nearest == NULL && weir_unit_find(value->key, &unit) == WEIR_OK)
        return weiri_fail(
            WEIR_E_CHAIN,
            "%s:%u:%u: found the unit '%s' as a key; units stand in the list `chain:`, "
            "each behind a dash",
            file, value->line, value->column, value->key);
    return weiri_fail(WEIR_E_CHAIN,
                      "%s:%u:%u: found the key '%.60s'; memory_limit, cache_limit, threads, tile, "
                      "gap_tolerance and chain are allowed%s%s%s",
                      file, value->line, value->column, value->key,
                      nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "",
                      nearest != NULL ? "?" : "");
}

/* Reads all keys into options and says where the chain is. */
static weir_err read_top(const char *file,
                         const weir_value *root,
                         weir_chain_options *options,
                         const weir_value **ret_chain)
{
    if (root->type == WEIR_VALUE_NULL)
        return weiri_fail(
            WEIR_E_CHAIN,
            "%s:1:1: the file is empty; a chain file is a list of units, or a map with "
            "the key `chain:`",
            file);
    *ret_chain = NULL;
    if (root->type == WEIR_VALUE_LIST) {
        *ret_chain = root;
        return WEIR_OK;
    }
    if (root->type != WEIR_VALUE_MAP)
        return weiri_fail(
            WEIR_E_CHAIN,
            "%s:%u:%u: found '%.60s'; a chain file is a list of units, or a map with the "
            "key `chain:`",
            file, root->line, root->column, root->text);
    for (size_t i = 0; i < root->count; i++) {
        const weir_value *value = &root->items[i];
        weir_err err = WEIR_OK;
        if (strcmp(value->key, "memory_limit") == 0)
            err = read_limit(file, value, &options->memory_limit);
        else if (strcmp(value->key, "cache_limit") == 0)
            err = read_limit(file, value, &options->cache_limit);
        else if (strcmp(value->key, "threads") == 0)
            err = read_count(file, value, WEIR_THREADS_MAX, &options->threads);
        else if (strcmp(value->key, "tile") == 0)
            err = read_tile(file, value, &options->tile_frames);
        else if (strcmp(value->key, "gap_tolerance") == 0)
            err = read_tolerance(file, value, &options->gap_tolerance_s);
        else if (strcmp(value->key, "chain") == 0)
            *ret_chain = value;
        else
            err = unknown_key(file, value);
        if (err != WEIR_OK)
            return err;
    }
    if (*ret_chain == NULL)
        return weiri_fail(WEIR_E_CHAIN, "%s:%u:%u: found no key `chain:`; a chain file needs one",
                          file, root->line, root->column);
    return WEIR_OK;
}

/* M8: what a flag states goes before the file. */
static void lay_over(const weir_chain_options *flags, weir_chain_options *options)
{
    const weir_chain_options unset = weir_chain_options_default();
    options->heap = flags->heap;
    options->policy = flags->policy;
    options->fuse = flags->fuse;
    if (flags->memory_limit != unset.memory_limit)
        options->memory_limit = flags->memory_limit;
    if (flags->cache_limit != unset.cache_limit)
        options->cache_limit = flags->cache_limit;
    if (flags->tile_frames != unset.tile_frames)
        options->tile_frames = flags->tile_frames;
    if (flags->threads != unset.threads)
        options->threads = flags->threads;
    if (!isnan(flags->gap_tolerance_s))
        options->gap_tolerance_s = flags->gap_tolerance_s;
}

/* ---- the chain ---------------------------------------------------------------------------------- */

typedef struct loader {
    const char *file;
    weir_chain *chain;
    bool named; /* an output was named */
    char last[64]; /* the unit added last */
} loader;

static weir_err build_list(
    loader *load, const weir_value *list, int *node, bool *ret_open, const char *output);
static weir_err build_entries(loader *load,
                              const weir_value *list,
                              size_t at,
                              int *node,
                              bool *ret_open,
                              const char *output);

static weir_err check_split_name(const loader *load, const weir_value *branch)
{
    const char *name = branch->key;
    size_t length =
        strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
    if (length == 0 || name[length] != '\0' || length > 64 || name[0] == '-')
        return weiri_fail(
            WEIR_E_CHAIN,
            "%s:%u:%u: split: found the name '%.60s'; letters, digits, _ and - are allowed, "
            "up to 64, since it becomes part of a file's name",
            load->file, branch->line, branch->column, name);
    return WEIR_OK;
}

/* A branch of a split: the node at its end, until a join uses it or it becomes an output. */
typedef struct branch {
    const weir_value *value; /* its name and list */
    int node;                /* WEIR_CHAIN_INPUT where nothing is before it */
    bool open;               /* it ends in one node: not in a split of its own */
    bool used;
} branch;

static weir_err branch_name(const loader *load, const branch *of, const char *before, char name[NAME_BYTES])
{
    weir_err err = check_split_name(load, of->value);
    if (err != WEIR_OK)
        return err;
    int length = snprintf(name, NAME_BYTES, "%s%s%s", before != NULL ? before : "",
                          before != NULL ? "." : "", of->value->key);
    if (length >= NAME_BYTES)
        return weiri_fail(WEIR_E_CHAIN,
                          "%s:%u:%u: split: the names of nested splits together are longer than %d "
                          "bytes",
                          load->file, of->value->line, of->value->column, NAME_BYTES - 1);
    return WEIR_OK;
}

/* A map of names to chains, each after the same parent. */
static weir_err build_split(
    loader *load, const weir_value *split, int parent, const char *output, branch *branches)
{
    for (size_t i = 0; i < split->count; i++) {
        char name[NAME_BYTES];
        branches[i] = (branch){.value = &split->items[i], .node = parent};
        weir_err err = branch_name(load, &branches[i], output, name);
        if (err == WEIR_OK)
            err = build_list(load, branches[i].value, &branches[i].node, &branches[i].open, name);
        if (err != WEIR_OK)
            return err;
    }
    return WEIR_OK;
}

/* What no join has used is an output. */
static weir_err
name_outputs(loader *load, const branch *branches, size_t count, const char *output)
{
    for (size_t i = 0; i < count; i++) {
        char name[NAME_BYTES];
        if (!branches[i].open || branches[i].used)
            continue;
        weir_err err = branch_name(load, &branches[i], output, name);
        if (err == WEIR_OK)
            err = weir_chain_output(load->chain, branches[i].node, name);
        if (err != WEIR_OK)
            return err;
        load->named = true;
    }
    return WEIR_OK;
}

/* An entry as a unit: its name, where it stands, its settings. */
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
        return weiri_fail(WEIR_E_CHAIN,
                          "%s:%u:%u: found %s%.60s%s; an entry of a chain is a unit's name, or "
                          "`name: {settings}`",
                          load->file, entry->line, entry->column,
                          entry->text != NULL ? "'" : "a list",
                          entry->text != NULL ? entry->text : "", entry->text != NULL ? "'" : "");
    if (entry->count != 1) {
        const weir_value *at = entry->count > 1 ? &entry->items[1] : entry;
        return weiri_fail(
            WEIR_E_CHAIN,
            "%s:%u:%u: found %s%.60s%s; an entry of a chain holds one unit: indent its "
            "settings below its name, put a dash before the next unit",
            load->file, at->line, at->column, entry->count > 1 ? "'" : "an empty map",
            entry->count > 1 ? at->key : "", entry->count > 1 ? "' beside the unit" : "");
    }
    const weir_value *unit = &entry->items[0];
    *ret_mark = *unit;
    ret_mark->text = unit->key;
    *ret_settings = unit;
    return WEIR_OK;
}

/* The branches that a join names, or all. */
static weir_err find_inputs(const loader *load,
                            const weir_value *inputs,
                            const weir_value *mark,
                            branch *branches,
                            size_t branch_count,
                            int *parents,
                            size_t *ret_count)
{
    size_t count = inputs == NULL ? branch_count : inputs->count;
    if (inputs != NULL && inputs->type != WEIR_VALUE_LIST)
        return weiri_fail(WEIR_E_CHAIN, "%s:%u:%u: %.60s: inputs: a list of branches is allowed, as in [a, b]",
                          load->file, inputs->line, inputs->column, mark->text);
    if (count > MOST_INPUTS)
        return weiri_fail(WEIR_E_CHAIN, "%s:%u:%u: %.60s: %zu inputs; at most %d are allowed", load->file,
                          mark->line, mark->column, mark->text, count, MOST_INPUTS);
    for (size_t i = 0; i < count; i++) {
        const weir_value *at = inputs == NULL ? mark : &inputs->items[i];
        const char *name = inputs == NULL ? branches[i].value->key : at->text;
        branch *found = NULL;
        for (size_t k = 0; k < branch_count; k++)
            if (name != NULL && strcmp(branches[k].value->key, name) == 0)
                found = &branches[k];
        if (found == NULL || !found->open)
            return weiri_fail(WEIR_E_CHAIN,
                              "%s:%u:%u: %.60s: inputs: '%.60s' is %s", load->file, at->line,
                              at->column, mark->text, name != NULL ? name : "a list or map",
                              found == NULL ? "no branch of the split before it"
                                            : "a branch that ends in a split of its own");
        found->used = true;
        parents[i] = found->node;
    }
    *ret_count = count;
    return WEIR_OK;
}

/* Adds the unit of an entry after `parent`, or, where there was a split just before, after its branches. */
static weir_err add_unit(loader *load,
                         const weir_value *entry,
                         branch *branches,
                         size_t branch_count,
                         int *node)
{
    weir_value mark = {0};
    const weir_value *settings;
    weir_err err = read_entry(load, entry, &mark, &settings);
    if (err != WEIR_OK)
        return err;
    if (settings->type != WEIR_VALUE_MAP && settings->type != WEIR_VALUE_NULL)
        return weiri_fail(
            WEIR_E_CHAIN,
            "%s:%u:%u: %.60s: found %s%.60s%s as settings; a map is allowed, as in "
            "{name: value}",
            load->file, mark.line, mark.column, mark.text, settings->text != NULL ? "'" : "a list",
            settings->text != NULL ? settings->text : "", settings->text != NULL ? "'" : "");
    mark.type = WEIR_VALUE_TEXT;
    mark.key = NULL;
    mark.items = NULL;
    mark.count = 0;
    snprintf(load->last, sizeof load->last, "%s", mark.text);
    if (branch_count == 0)
        return weir_chain_add(load->chain, *node, mark.text, settings->items, settings->count, &mark,
                              node);
    int parents[MOST_INPUTS] = {0};
    size_t count = 0, kept = 0;
    const weir_value *inputs = NULL;
    weir_value *rest = calloc(settings->count + 1, sizeof *rest);
    if (rest == NULL)
        return weiri_fail(WEIR_E_NOMEM, "no memory left for the settings of %s", mark.text);
    for (size_t i = 0; i < settings->count; i++) {
        if (strcmp(settings->items[i].key, "inputs") == 0)
            inputs = &settings->items[i];
        else
            rest[kept++] = settings->items[i];
    }
    err = find_inputs(load, inputs, &mark, branches, branch_count, parents, &count);
    if (err == WEIR_OK)
        err = weir_chain_join(load->chain, parents, count, mark.text, rest, kept, &mark, node);
    free(rest);
    return err;
}

static bool is_split(const weir_value *entry)
{
    return entry->type == WEIR_VALUE_MAP && entry->count == 1 &&
           strcmp(entry->items[0].key, "split") == 0;
}

/* A unit after a split must join its branches. */
static weir_err check_join(const loader *load, const weir_value *entry)
{
    weir_value mark = {0};
    const weir_value *settings;
    const weir_unit_info *unit = NULL;
    if (is_split(entry))
        return weiri_fail(WEIR_E_CHAIN,
                          "%s:%u:%u: found a split after a split; only a unit that joins its "
                          "branches may follow",
                          load->file, entry->line, entry->column);
    weir_err err = read_entry(load, entry, &mark, &settings);
    if (err == WEIR_OK && weir_unit_find(mark.text, &unit) == WEIR_OK &&
        !(unit->flags & WEIR_UNIT_JOINS))
        err = weiri_fail(WEIR_E_CHAIN,
                         "%s:%u:%u: found %.60s after `split:`; only a unit that joins branches may "
                         "follow it (add, difference, merge), or nothing",
                         load->file, mark.line, mark.column, mark.text);
    return err;
}

/* The entries after a split at `at`: the join, and what follows it. */
static weir_err build_joined(loader *load,
                             const weir_value *list,
                             size_t at,
                             int *node,
                             bool *ret_open,
                             const char *output)
{
    const weir_value *split = &list->items[at].items[0];
    if (split->type != WEIR_VALUE_MAP || split->count == 0)
        return weiri_fail(WEIR_E_CHAIN,
                          "%s:%u:%u: split: found no map; a map of names to chains is allowed",
                          load->file, split->line, split->column);
    branch *branches = calloc(split->count, sizeof *branches);
    if (branches == NULL)
        return weiri_fail(WEIR_E_NOMEM, "no memory left for a split");
    bool joined = at + 1 < list->count;
    weir_err err = build_split(load, split, *node, output, branches);
    if (err == WEIR_OK && joined)
        err = check_join(load, &list->items[at + 1]);
    if (err == WEIR_OK && joined)
        err = add_unit(load, &list->items[at + 1], branches, split->count, node);
    if (err == WEIR_OK)
        err = name_outputs(load, branches, split->count, output);
    free(branches);
    *ret_open = joined;
    return err == WEIR_OK && joined ? build_entries(load, list, at + 2, node, ret_open, output) : err;
}

/* Entries of a list from number `at` on, after *node. */
static weir_err build_entries(loader *load,
                              const weir_value *list,
                              size_t at,
                              int *node,
                              bool *ret_open,
                              const char *output)
{
    *ret_open = true;
    for (; at < list->count; at++) {
        if (is_split(&list->items[at]))
            return build_joined(load, list, at, node, ret_open, output);
        weir_err err = add_unit(load, &list->items[at], NULL, 0, node);
        if (err != WEIR_OK)
            return err;
    }
    return WEIR_OK;
}

/* Adds the units of a list after *node and says at which node it ends; not open: in a split. An empty list passes
 * its input through. Recursion is bounded by the tree's depth. */
static weir_err
build_list(loader *load, const weir_value *list, int *node, bool *ret_open, const char *output)
{
    if (list->type != WEIR_VALUE_LIST)
        return weiri_fail(
            WEIR_E_CHAIN,
            "%s:%u:%u: %s: found %s%.60s; a list of units is allowed, each behind a dash",
            load->file, list->line, list->column, list->key != NULL ? list->key : "chain",
            list->type == WEIR_VALUE_MAP    ? "a map"
            : list->type == WEIR_VALUE_NULL ? "nothing"
                                            : "",
            list->type != WEIR_VALUE_MAP && list->type != WEIR_VALUE_NULL ? list->text : "");
    return build_entries(load, list, 0, node, ret_open, output);
}

/* The top: its output is named after its unit. */
static weir_err build_top(loader *load, const weir_value *list)
{
    int node = WEIR_CHAIN_INPUT;
    bool open = false;
    weir_err err = build_list(load, list, &node, &open, NULL);
    if (err != WEIR_OK || !open)
        return err;
    if (node == WEIR_CHAIN_INPUT)
        return weir_chain_output(load->chain, node, "input");
    return load->named ? weir_chain_output(load->chain, node, load->last) : WEIR_OK;
}

/* ---- entry points --------------------------------------------------------------------------------- */

static weir_err set_text(weir_chain *chain, const char *text, size_t length)
{
    char *copy = malloc(length + 1);
    if (copy == NULL)
        return weiri_fail(WEIR_E_NOMEM, "no memory left for the chain's text");
    memcpy(copy, text, length);
    copy[length] = '\0';
    weir_err err = weir_chain_set_text(chain, copy);
    free(copy);
    return err;
}

weir_err weir_config_parse(const char *text,
                           size_t length,
                           const char *name,
                           const weir_chain_options *flags,
                           weir_chain **ret_chain)
{
    weiri_tree *tree;
    weir_chain_options known;
    weir_err err = weiri_chain_options_read(flags, &known);
    if (err == WEIR_OK)
        err = weiri_tree_parse(text, length, name, &tree);
    if (err != WEIR_OK)
        return err;
    weir_chain_options options = weir_chain_options_default();
    const weir_value *list;
    loader load = {.file = name};
    err = read_top(name, weiri_tree_root(tree), &options, &list);
    if (err == WEIR_OK) {
        lay_over(&known, &options);
        options.name = name;
        err = weir_chain_create(&options, &load.chain);
    }
    if (err == WEIR_OK)
        err = build_top(&load, list);
    if (err == WEIR_OK)
        err = set_text(load.chain, text, length);
    weiri_tree_destroy(tree);
    if (err != WEIR_OK) {
        weir_chain_destroy(load.chain);
        return err;
    }
    *ret_chain = load.chain;
    return WEIR_OK;
}

/* Reads until the end, one byte more than is allowed at most. */
static weir_err read_all(int file, const char *path, char *text, size_t *ret_length)
{
    size_t length = 0;
    while (length <= WEIRI_CONFIG_BYTES) {
        ssize_t got = read(file, text + length, WEIRI_CONFIG_BYTES + 1 - length);
        if (got < 0 && errno == EINTR)
            return weiri_fail(WEIR_E_INTERRUPTED, "%s: interrupted while it was read", path);
        if (got < 0)
            return weiri_fail(WEIR_E_IO, "%s: %s", path, strerror(errno));
        if (got == 0)
            break;
        length += (size_t)got;
    }
    *ret_length = length;
    return WEIR_OK;
}

weir_err weir_config_load(const char *path, const weir_chain_options *flags, weir_chain **ret_chain)
{
    bool from_stdin = strcmp(path, "-") == 0;
    int file = from_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 && errno == EINTR) /* a fifo that nobody writes to */
        return weiri_fail(WEIR_E_INTERRUPTED, "%s: interrupted while it was opened", path);
    if (file < 0)
        return weiri_fail(WEIR_E_IO, "%s: %s", path, strerror(errno));
    char *text = malloc(WEIRI_CONFIG_BYTES + 1); /* touched as far as the file goes */
    size_t length = 0;
    weir_err err = text != NULL ? read_all(file, path, text, &length)
                                : weiri_fail(WEIR_E_NOMEM, "%s: no memory left to read it", path);
    if (!from_stdin)
        close(file);
    if (err == WEIR_OK)
        err = weir_config_parse(text, length, from_stdin ? "<stdin>" : path, flags, ret_chain);
    free(text);
    return err;
}
