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
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "config/tree.h"

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
                          strcmp(value->key, "tile") == 0 ? ", or auto, or none" : "");
    *count = (uint64_t)value->number;
    return WEIR_OK;
}

static weir_err read_tile(const char *file, const weir_value *value, uint64_t *tile_frames)
{
    if (value->type == WEIR_VALUE_TEXT && weiri_equal_blind(value->text, "auto")) {
        *tile_frames = WEIR_TILE_AUTO;
        return WEIR_OK;
    }
    if (value->type == WEIR_VALUE_TEXT && weiri_equal_blind(value->text, "none")) {
        *tile_frames = WEIR_TILE_NONE;
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
    if (flags == NULL)
        return;
    const weir_chain_options unset = weir_chain_options_default();
    options->heap = flags->heap;
    options->policy = flags->policy;
    options->longest_message = flags->longest_message;
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
} loader;

static weir_err
build_list(const loader *load, const weir_value *list, int parent, const char *output);

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

/* A map of names to chains, each behind the same parent. */
static weir_err
build_split(const loader *load, const weir_value *split, int parent, const char *output)
{
    if (split->type != WEIR_VALUE_MAP || split->count == 0)
        return weiri_fail(WEIR_E_CHAIN,
                          "%s:%u:%u: split: found no map; a map of names to chains is allowed",
                          load->file, split->line, split->column);
    for (size_t i = 0; i < split->count; i++) {
        const weir_value *branch = &split->items[i];
        char name[NAME_BYTES];
        weir_err err = check_split_name(load, branch);
        if (err != WEIR_OK)
            return err;
        size_t length = (output != NULL ? strlen(output) + 1 : 0) + strlen(branch->key);
        if (length >= sizeof name)
            return weiri_fail(
                WEIR_E_CHAIN,
                "%s:%u:%u: split: the names of nested splits together are longer than %d "
                "bytes",
                load->file, branch->line, branch->column, NAME_BYTES - 1);
        name[0] = '\0';
        if (output != NULL) {
            strcpy(name, output); /* fits: length was checked */
            strcat(name, ".");
        }
        strcat(name, branch->key);
        err = build_list(load, branch, parent, name);
        if (err != WEIR_OK)
            return err;
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

static weir_err add_unit(const loader *load, const weir_value *entry, int parent, int *ret_node)
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
    return weir_chain_add(load->chain, parent, mark.text, settings->items, settings->count, &mark,
                          ret_node);
}

static bool is_split(const weir_value *entry)
{
    return entry->type == WEIR_VALUE_MAP && entry->count == 1 &&
           strcmp(entry->items[0].key, "split") == 0;
}

/* Adds the units of a list behind parent; `output` is the name of its output, NULL at the top. An
 * empty list passes its input through. Recursion is bounded by the tree's depth. */
static weir_err
build_list(const loader *load, const weir_value *list, int parent, const char *output)
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
    for (size_t i = 0; i < list->count; i++) {
        const weir_value *entry = &list->items[i];
        if (is_split(entry) && i + 1 < list->count)
            return weiri_fail(
                WEIR_E_CHAIN,
                "%s:%u:%u: found a unit behind `split:`; a split is the last entry of its "
                "chain",
                load->file, list->items[i + 1].line, list->items[i + 1].column);
        if (is_split(entry))
            return build_split(load, &entry->items[0], parent, output);
        weir_err err = add_unit(load, entry, parent, &parent);
        if (err != WEIR_OK)
            return err;
    }
    if (output == NULL && list->count > 0)
        return WEIR_OK; /* one output, named after its unit */
    return weir_chain_output(load->chain, parent, output != NULL ? output : "input");
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
    weir_err err = weiri_tree_parse(text, length, name, &tree);
    if (err != WEIR_OK)
        return err;
    weir_chain_options options = weir_chain_options_default();
    const weir_value *list;
    loader load = {.file = name};
    err = read_top(name, weiri_tree_root(tree), &options, &list);
    if (err == WEIR_OK) {
        lay_over(flags, &options);
        options.name = name;
        err = weir_chain_create(&options, &load.chain);
    }
    if (err == WEIR_OK)
        err = build_list(&load, list, WEIR_CHAIN_INPUT, NULL);
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
