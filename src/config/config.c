/* SPDX-License-Identifier: MIT
 *
 * config.c: a chain from a tree of values: the keys and what they set. units.c reads the list of
 * units below `chain:`.
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
#include "config/units.h"

#define MOST_INPUTS 8   /* of a unit that joins branches */
#define NAME_BYTES  256 /* of an output: the names of nested splits, joined with points */

static const char *const top_keys[] = {"memory_limit", "cache_limit",   "threads",
                                       "tile",         "gap_tolerance", "chain"};
#define TOP_KEYS (sizeof top_keys / sizeof *top_keys)

static weir_err fail_key(const char *file, const weir_value *value)
{
    return weiri_fail_prefix(WEIR_E_CHAIN, "%s:%u:%u: %s: ", file, value->line, value->column,
                             value->key);
}

/* ---- top-level keys ------------------------------------------------------------------------- */

/* null leaves a limit to environment and default (M8); none means that there is no limit. */
static weir_err read_limit(const char *file, const weir_value *value, uint64_t *limit)
{
    if (value->type == WEIR_VALUE_NULL)
        return WEIR_OK;
    if (value->type != WEIR_VALUE_TEXT && value->type != WEIR_VALUE_NUMBER)
        return weiri_fail(WEIR_E_CHAIN, "%s:%u:%u: %s: expected a number of bytes, such as 64 MiB",
                          file, value->line, value->column, value->key);
    if (value->type == WEIR_VALUE_NUMBER && value->number >= 0 && value->number <= 0x1p53 &&
        value->number == floor(value->number))
        *limit = (uint64_t)value->number; /* in any notation: 0x4000000, 1e6 */
    else if (weir_limit_parse(value->text, strcmp(value->key, "cache_limit") == 0, limit) !=
             WEIR_OK)
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
                          "%s:%u:%u: %s: found %.60s; expected a whole number from 1 to %.0f%s",
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
        return weiri_fail(WEIR_E_CHAIN, "%s:%u:%u: %s: expected a time, such as 1 ms", file,
                          value->line, value->column, value->key);
    if (value->type == WEIR_VALUE_NUMBER)
        *seconds = value->number;
    else if (weir_quantity_parse(value->text, WEIR_TIME, seconds) != WEIR_OK)
        return fail_key(file, value);
    if (!(*seconds >= 0 && *seconds <= 1e6))
        return weiri_fail(WEIR_E_CHAIN, "%s:%u:%u: %s: found %.60s; expected 0 s to 1000000 s",
                          file, value->line, value->column, value->key, value->text);
    return WEIR_OK;
}

static weir_err unknown_key(const char *file, const weir_value *value)
{
    const char *nearest = weiri_nearest(value->key, top_keys, TOP_KEYS);
    const weir_unit_info *unit;
    if (nearest == NULL && weir_unit_find(value->key, &unit) == WEIR_OK)
        return weiri_fail(WEIR_E_CHAIN,
                          "%s:%u:%u: found the unit '%s' as a key; units belong in the list "
                          "`chain:`, each after a dash",
                          file, value->line, value->column, value->key);
    return weiri_fail(WEIR_E_CHAIN,
                      "%s:%u:%u: found the key '%.60s'; memory_limit, cache_limit, threads, tile, "
                      "gap_tolerance and chain are allowed%s%s%s",
                      file, value->line, value->column, value->key,
                      nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "",
                      nearest != NULL ? "?" : "");
}

/* Reads all keys into options and returns where the chain is. */
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
        return weiri_fail(WEIR_E_CHAIN, "%s:%u:%u: the key `chain:` is missing", file, root->line,
                          root->column);
    return WEIR_OK;
}

/* M8: a flag takes precedence over the file. */
static void lay_over(const weir_chain_options *flags, weir_chain_options *options)
{
    const weir_chain_options unset = weir_chain_options_default();
    options->heap = flags->heap;
    options->policy = flags->policy;
    options->fuse = flags->fuse;
    options->checkpoints = flags->checkpoints;
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
    if (text == NULL || ret_chain == NULL)
        return weiri_null(__func__);
    weiri_tree *tree;
    weir_chain_options known;
    weir_err err = weiri_chain_options_read(flags, &known);
    if (err == WEIR_OK)
        err = weiri_tree_parse(text, length, name, &tree);
    if (err != WEIR_OK)
        return err;
    weir_chain_options options = weir_chain_options_default();
    const weir_value *list;
    weir_chain *chain = NULL;
    err = read_top(name, weiri_tree_root(tree), &options, &list);
    if (err == WEIR_OK) {
        lay_over(&known, &options);
        options.name = name;
        err = weir_chain_create(&options, &chain);
    }
    if (err == WEIR_OK)
        err = weiri_config_units(name, list, chain);
    if (err == WEIR_OK)
        err = set_text(chain, text, length);
    weiri_tree_destroy(tree);
    if (err != WEIR_OK) {
        weir_chain_destroy(chain);
        return err;
    }
    *ret_chain = chain;
    return WEIR_OK;
}

/* Reads to the end, at most one byte more than is allowed. */
static weir_err read_all(int file, const char *path, char *text, size_t *ret_length)
{
    size_t length = 0;
    while (length <= WEIRI_CONFIG_BYTES) {
        ssize_t got = read(file, text + length, WEIRI_CONFIG_BYTES + 1 - length);
        if (got < 0 && errno == EINTR)
            return weiri_fail(WEIR_E_INTERRUPTED, "%s: interrupted while reading it", path);
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
    if (path == NULL || ret_chain == NULL)
        return weiri_null(__func__);
    bool from_stdin = strcmp(path, "-") == 0;
    int file = from_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 && errno == EINTR) /* a fifo without a writer */
        return weiri_fail(WEIR_E_INTERRUPTED, "%s: interrupted while opening it", path);
    if (file < 0)
        return weiri_fail(WEIR_E_IO, "%s: %s", path, strerror(errno));
    char *text = malloc(WEIRI_CONFIG_BYTES + 1); /* written only as far as the file is long */
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
