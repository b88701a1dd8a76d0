/* SPDX-License-Identifier: MIT
 *
 * chain.c: building a chain: nodes with their settings, outputs, limits. What depends on an input
 * is in plan.c.
 */
#include "chain/chain.h"
#include "cache/cache.h"
#include "chain/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_CACHE_LIMIT     ((uint64_t)512 << 20)
#define DEFAULT_GAP_TOLERANCE_S 1e-3
#define MOST_NODES              1024
#define MOST_TILE_FRAMES        ((uint64_t)1 << 24)

weir_chain_options weir_chain_options_default(void)
{
    return (weir_chain_options){
        .options_size = sizeof(weir_chain_options),
        .memory_limit = WEIR_UNSET,
        .cache_limit = WEIR_UNSET,
        .tile_frames = WEIR_UNSET,
        .threads = WEIR_UNSET,
        .gap_tolerance_s = NAN,
        .fuse = true,
    };
}

weir_err weiri_chain_options_read(const weir_chain_options *given, weir_chain_options *ret_options)
{
    static const weiri_sized rule = {
        .field = "chain options: options_size",
        .make = "weir_chain_options_default() makes them",
        .least = WEIRI_THROUGH(weir_chain_options, fuse),
        .known = offsetof(weir_chain_options, reserved),
    };
    *ret_options = weir_chain_options_default();
    return given == NULL ? WEIR_OK : weiri_sized_read(&rule, given, ret_options);
}

/* M8: what was not stated comes from the environment, then from the default. */
static weir_err limits_resolve(weir_chain_options *options)
{
    weir_err err = WEIR_OK;
    if (options->memory_limit == WEIR_UNSET) {
        options->memory_limit = WEIR_NO_LIMIT;
        err = weiri_limit_environment("WEIR_MEMORY_LIMIT", false, &options->memory_limit);
    }
    if (err == WEIR_OK && options->cache_limit == WEIR_UNSET) {
        options->cache_limit = DEFAULT_CACHE_LIMIT;
        err = weiri_limit_environment("WEIR_CACHE_LIMIT", true, &options->cache_limit);
    }
    return err;
}

static weir_err options_resolve(weir_chain_options *options)
{
    weir_err err = limits_resolve(options);
    if (err != WEIR_OK) {
        return err;
    }
    if (options->tile_frames == WEIR_UNSET) {
        options->tile_frames = WEIR_TILE_AUTO;
    }
    if (options->threads == WEIR_UNSET) {
        options->threads = 1;
    }
    if (isnan(options->gap_tolerance_s)) {
        options->gap_tolerance_s = DEFAULT_GAP_TOLERANCE_S;
    }
    if (options->threads < 1 || options->threads > WEIR_THREADS_MAX) {
        return weiri_fail(WEIR_E_USAGE, "threads: %llu; allowed are 1 to %u",
                          (unsigned long long)options->threads, WEIR_THREADS_MAX);
    }
    if (options->tile_frames > MOST_TILE_FRAMES) {
        return weiri_fail(WEIR_E_USAGE, "tile: %llu frames; allowed are 1 to %llu, and auto",
                          (unsigned long long)options->tile_frames,
                          (unsigned long long)MOST_TILE_FRAMES);
    }
    if (!(options->gap_tolerance_s >= 0)) {
        return weiri_fail(WEIR_E_USAGE, "gap_tolerance: must be 0 s or more");
    }
    return WEIR_OK;
}

/* A chain that its limit refuses while it is built does not fit, as one whose plan does not. */
static weir_err no_room(weir_cache *cache, const char *what)
{
    weir_cache_stats stats = {.stats_size = sizeof stats};
    (void)weir_cache_stats_read(cache, &stats);
    return weiri_fail_prefix(stats.refusals > 0 ? WEIR_E_PLAN : WEIR_E_NOMEM, "%s: ", what);
}

/* The chain's caches (M2: from the first allocation on). What the chain writes about itself is in host memory:
 * where the host can address the heap that is one cache for all, else the buffers have a cache of their own, with
 * the same limits. */
static weir_err make_caches(const weir_chain_options *options, weir_cache **caches)
{
    weir_cache_options of = weir_cache_options_default();
    of.heap = options->heap;
    of.policy = options->policy;
    of.cache_limit = options->cache_limit;
    of.memory_limit = options->memory_limit;
    weir_err err = weir_cache_create(&of, &caches[WEIRI_BUFFERS]);
    caches[WEIRI_HOST] = caches[WEIRI_BUFFERS];
    if (err == WEIR_OK && weiri_heap_is_device(options->heap)) {
        of.heap = NULL;
        err = weir_cache_create(&of, &caches[WEIRI_HOST]);
        if (err != WEIR_OK) {
            weir_cache_destroy(caches[WEIRI_BUFFERS]);
        }
    }
    return err == WEIR_E_LIMIT ? WEIR_E_PLAN : err;
}

static void destroy_caches(weir_cache *const *caches)
{
    weir_cache_destroy(caches[WEIRI_HOST]);
    if (caches[WEIRI_BUFFERS] != caches[WEIRI_HOST]) {
        weir_cache_destroy(caches[WEIRI_BUFFERS]);
    }
}

weir_err weiri_chain_create(const weir_chain_options *options, weir_chain **ret_chain)
{
    weir_chain_options resolved;
    weir_err err = weiri_chain_options_read(options, &resolved);
    if (err == WEIR_OK) {
        err = options_resolve(&resolved);
    }
    weir_cache *caches[WEIRI_PLACES];
    if (err == WEIR_OK) {
        err = make_caches(&resolved, caches);
    }
    if (err != WEIR_OK) {
        return err;
    }
    /* The chain itself is in its own arena, so that it is counted as well. */
    weir_cache *cache = caches[WEIRI_HOST];
    weiri_arena arena;
    weiri_arena_init(&arena, cache);
    weir_chain *chain = weiri_arena_get(&arena, sizeof *chain);
    const char *name = chain == NULL ? NULL : "";
    if (chain != NULL && resolved.name != NULL) {
        name = weiri_arena_text(&arena, resolved.name);
    }
    if (name == NULL) {
        err = no_room(cache, "a chain");
        weiri_arena_fini(&arena);
        destroy_caches(caches);
        return err;
    }
    chain->options = resolved;
    chain->options.name = name[0] == '\0' ? NULL : name;
    memcpy(chain->caches, caches, sizeof caches);
    chain->arena = arena;
    chain->last_node = &chain->nodes;
    chain->last_output = &chain->outputs;
    weiri_arena_init(&chain->plan_arena, cache);
    *ret_chain = chain;
    return WEIR_OK;
}

weir_err weiri_chain_refuse_device(const weir_heap *heap)
{
    return weiri_fail(
        WEIR_E_USAGE,
        "heap %s: its memory is on a device, and no device can run a chain yet; use a heap "
        "that the host can address, such as host",
        heap->ops->name);
}

weir_err weir_chain_create(const weir_chain_options *options, weir_chain **ret_chain)
{
    if (ret_chain == NULL) {
        return weiri_null(__func__);
    }
    weir_chain *chain = NULL;
    weir_err err = weiri_chain_create(options, &chain);
    if (err == WEIR_OK && weiri_heap_is_device(chain->options.heap)) {
        err = weiri_chain_refuse_device(chain->options.heap);
        weir_chain_destroy(chain);
    }
    if (err == WEIR_OK) {
        *ret_chain = chain;
    }
    return err;
}

void weir_chain_destroy(weir_chain *chain)
{
    if (chain == NULL) {
        return;
    }
    weiri_chain_unplan(chain);
    weir_cache *caches[WEIRI_PLACES];
    memcpy(caches, chain->caches, sizeof caches);
    weiri_arena arena = chain->arena; /* the chain is in it */
    weiri_arena_fini(&arena);
    destroy_caches(caches);
}

/* "chain.yaml:4:7: butterworth: " or, without a file, "butterworth: ". */
static weir_err
fail_at(const weir_chain *chain, const char *unit, const weir_value *mark, weir_err err)
{
    const char *file = chain->options.name;
    if (unit != NULL) {
        err = weiri_fail_prefix(err, "%s: ", unit);
    }
    if (file != NULL && mark != NULL && mark->line > 0) {
        return weiri_fail_prefix(err, "%s:%u:%u: ", file, mark->line, mark->column);
    }
    return file != NULL ? weiri_fail_prefix(err, "%s: ", file) : err;
}

/* An error of a unit's plan: its detail starts with the setting at fault, whose place is known. */
weir_err weiri_chain_fail_node(const weir_chain *chain, const weiri_node *node, weir_err err)
{
    const weir_setting *table = node->ops->info.settings;
    const char *detail = weir_err_detail();
    const weir_value *mark = &node->mark;
    for (size_t i = 0; table != NULL && table[i].name != NULL; i++) {
        size_t length = strlen(table[i].name);
        if (strncmp(detail, table[i].name, length) == 0 && detail[length] == ':' &&
            node->marks[i].line > 0) {
            mark = &node->marks[i];
        }
    }
    return fail_at(chain, node->name, mark, err);
}

/* on_gap is a setting of every unit: taken out of the list before the unit's own table is read. */
static weir_err read_on_gap(weiri_node *node,
                            const weir_value *settings,
                            size_t count,
                            weir_value *rest,
                            size_t *ret_rest,
                            const weir_value **ret_wrong)
{
    uint32_t flags = node->ops->info.flags;
    node->holds = (flags & WEIR_UNIT_HOLDS_OVER_GAP) != 0;
    bool seen = false;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const weir_value *value = &settings[i];
        if (value->key == NULL || strcmp(value->key, "on_gap") != 0) {
            rest[kept++] = *value;
            continue;
        }
        *ret_wrong = value;
        if (seen) {
            return weiri_fail(WEIR_E_CHAIN, "on_gap: given twice");
        }
        seen = true;
        if (value->type == WEIR_VALUE_NULL) {
            continue;
        }
        bool hold = value->type == WEIR_VALUE_TEXT && weiri_equal_blind(value->text, "hold");
        if (!hold && !(value->type == WEIR_VALUE_TEXT && weiri_equal_blind(value->text, "reset"))) {
            return weiri_fail(WEIR_E_CHAIN, "on_gap: allowed are reset and hold");
        }
        if (hold && (flags & WEIR_UNIT_CHANGES_RATE)) {
            return weiri_fail(WEIR_E_CHAIN,
                              "on_gap: hold is not allowed for units that change the rate: output "
                              "across a gap has no time");
        }
        node->holds = hold;
    }
    *ret_rest = kept;
    *ret_wrong = NULL;
    return WEIR_OK;
}

static size_t table_rows(const weir_setting *table)
{
    size_t rows = 0;
    while (table != NULL && table[rows].name != NULL) {
        rows++;
    }
    return rows;
}

static weir_err
check_parents(const weir_chain *chain, const int *parents, size_t count, const char *unit)
{
    if (chain->plan != NULL) {
        return weiri_fail(WEIR_E_USAGE, "%s: the chain is planned already", unit);
    }
    for (size_t i = 0; i < count; i++) {
        if (parents[i] < WEIR_CHAIN_INPUT || parents[i] >= chain->node_count) {
            return weiri_fail(WEIR_E_USAGE, "%s: no node %d to follow", unit, parents[i]);
        }
    }
    return WEIR_OK;
}

/* Units that join have several inputs, all others one. */
static weir_err check_inputs(const weiri_unit_ops *ops, size_t count)
{
    bool joins = (ops->info.flags & WEIR_UNIT_JOINS) != 0;
    if (joins && count < 2) {
        return weiri_fail(WEIR_E_CHAIN,
                          "needs 2 to %d inputs: place it after a split, `- %s: {inputs: [a, b]}`",
                          WEIRI_INPUTS_MAX, ops->info.name);
    }
    if (count > (joins ? WEIRI_INPUTS_MAX : 1)) {
        return weiri_fail(WEIR_E_CHAIN,
                          joins ? "has %zu inputs; at most %d are allowed"
                                : "has %zu inputs; it takes %d",
                          count, joins ? WEIRI_INPUTS_MAX : 1);
    }
    return WEIR_OK;
}

/* What is added: a unit as the user names it, or a part of one. */
typedef struct addition {
    const int *parents;
    size_t parent_count;
    const char *name; /* in errors and plans; lives as long as the chain, or is the unit's */
    const char *unit;
    const weir_value *settings;
    size_t setting_count;
    const weir_value *mark;
    int first; /* see weiri_node */
} addition;

static weiri_node *make_node(weir_chain *chain, const weiri_unit_ops *ops, const addition *what)
{
    size_t rows = table_rows(ops->info.settings);
    weiri_node *node = weiri_arena_get(&chain->arena, sizeof *node);
    if (node == NULL) {
        return NULL;
    }
    node->ops = ops;
    node->name = what->name == what->unit ? ops->info.name : what->name;
    node->number = chain->node_count;
    node->first = what->first;
    node->inputs = (int)what->parent_count;
    memcpy(node->parents, what->parents, what->parent_count * sizeof *what->parents);
    node->marks = weiri_arena_get(&chain->arena, (rows + 1) * sizeof *node->marks);
    node->settings = weiri_arena_get(&chain->arena, ops->settings_bytes + 1);
    node->spare_settings = weiri_arena_get(&chain->arena, ops->settings_bytes + 1);
    if (what->mark != NULL) {
        node->mark.line = what->mark->line;
        node->mark.column = what->mark->column;
    }
    return node->marks == NULL || node->settings == NULL || node->spare_settings == NULL ? NULL
                                                                                         : node;
}

/* A node with its settings, not yet in the chain. */
static weir_err
read_node(weir_chain *chain, const weiri_unit_ops *ops, const addition *what, weiri_node **ret_node)
{
    weiri_node *node = make_node(chain, ops, what);
    weir_value *rest = weiri_arena_get(&chain->arena, (what->setting_count + 1) * sizeof *rest);
    if (node == NULL || rest == NULL) {
        return no_room(chain->caches[WEIRI_HOST], what->name);
    }
    size_t rest_count = 0;
    const weir_value *wrong = NULL;
    weir_err err =
        read_on_gap(node, what->settings, what->setting_count, rest, &rest_count, &wrong);
    static const weir_setting no_settings[] = {{.name = NULL}};
    if (err == WEIR_OK) {
        err = weiri_settings_read(ops->info.settings == NULL ? no_settings : ops->info.settings,
                                  "on_gap", rest, rest_count, weiri_arena_memory(&chain->arena),
                                  &chain->notices, node->settings, node->marks, &wrong);
    }
    if (err == WEIR_E_NOMEM) {
        err = no_room(chain->caches[WEIRI_HOST], "its settings");
    }
    if (err != WEIR_OK) {
        return fail_at(chain, what->name, wrong != NULL ? wrong : what->mark, err);
    }
    *ret_node = node;
    return WEIR_OK;
}

static weir_err append(weir_chain *chain, const addition *what, int *ret_node);

/* ---- a unit that stands for several ------------------------------------------------------------- */

typedef struct expansion {
    weiri_expansion to; /* first */
    weir_chain *chain;
    const addition *whole;
    int last;         /* node that the next part follows */
    bool part_failed; /* the error names place and part already */
} expansion;

/* Its name is the whole's, a point and its role. on_gap of the whole is that of each part. */
static weir_err add_part(weiri_expansion *to,
                         const char *role,
                         const char *unit,
                         const weir_value *settings,
                         size_t count)
{
    expansion *e = (expansion *)to;
    weiri_arena *arena = &e->chain->arena;
    size_t size = strlen(e->whole->name) + strlen(role) + 2;
    char *name = weiri_arena_get(arena, size);
    weir_value *values = weiri_arena_get(arena, (count + 1) * sizeof *values);
    e->part_failed = true;
    if (name == NULL || values == NULL) {
        return no_room(e->chain->caches[WEIRI_HOST], e->whole->name);
    }
    snprintf(name, size, "%s.%s", e->whole->name, role);
    memcpy(values, settings, count * sizeof *values);
    for (size_t i = 0; i < to->given_count; i++) {
        if (strcmp(to->given[i].key, "on_gap") == 0) {
            values[count++] = to->given[i];
        }
    }
    addition part = {.parents = &e->last,
                     .parent_count = 1,
                     .name = name,
                     .unit = unit,
                     .settings = values,
                     .setting_count = count,
                     .mark = e->whole->mark,
                     .first = e->whole->first};
    weir_err err = append(e->chain, &part, &e->last);
    e->part_failed = err != WEIR_OK;
    return err;
}

/* Its node is that of its last part. After an error the chain is as before. */
static weir_err
expand(weir_chain *chain, const weiri_unit_ops *ops, const addition *what, int *ret_node)
{
    weiri_node **last_node = chain->last_node, *node = NULL;
    int count = chain->node_count;
    weir_err err = read_node(chain, ops, what, &node);
    if (err != WEIR_OK) {
        return err;
    }
    expansion e = {.to = {.add = add_part,
                          .table = ops->info.settings,
                          .given = what->settings,
                          .given_count = what->setting_count},
                   .chain = chain,
                   .whole = what,
                   .last = what->parents[0]};
    err = ops->expand(node->settings, &e.to);
    if (err != WEIR_OK) {
        chain->last_node = last_node;
        *last_node = NULL;
        chain->node_count = count;
        return e.part_failed ? err : weiri_chain_fail_node(chain, node, err);
    }
    *ret_node = e.last;
    return WEIR_OK;
}

static weir_err append(weir_chain *chain, const addition *what, int *ret_node)
{
    if (chain->node_count >= MOST_NODES) {
        return fail_at(chain, what->name, what->mark,
                       weiri_fail(WEIR_E_CHAIN, "a chain has at most %d units", MOST_NODES));
    }
    const weiri_unit_ops *ops = NULL;
    weir_err err = weiri_unit_find(what->unit, &ops);
    if (err != WEIR_OK) {
        return fail_at(chain, NULL, what->mark, err);
    }
    err = check_inputs(ops, what->parent_count);
    if (err != WEIR_OK) {
        return fail_at(chain, what->name, what->mark, err);
    }
    if (ops->expand != NULL) {
        return expand(chain, ops, what, ret_node);
    }
    weiri_node *node = NULL;
    err = read_node(chain, ops, what, &node);
    if (err != WEIR_OK) {
        return err;
    }
    *chain->last_node = node;
    chain->last_node = &node->next;
    *ret_node = chain->node_count++;
    return WEIR_OK;
}

weir_err weir_chain_join(weir_chain *chain,
                         const int *parents,
                         size_t parent_count,
                         const char *unit,
                         const weir_value *settings,
                         size_t setting_count,
                         const weir_value *mark,
                         int *ret_node)
{
    if (chain == NULL || parents == NULL || parent_count == 0 || unit == NULL || ret_node == NULL ||
        (settings == NULL && setting_count > 0)) {
        return weiri_fail(WEIR_E_USAGE, "adding a unit: NULL, or no input, is not allowed");
    }
    weir_err err = check_parents(chain, parents, parent_count, unit);
    if (err != WEIR_OK) {
        return err;
    }
    addition what = {.parents = parents,
                     .parent_count = parent_count,
                     .name = unit,
                     .unit = unit,
                     .settings = settings,
                     .setting_count = setting_count,
                     .mark = mark,
                     .first = chain->node_count};
    return append(chain, &what, ret_node);
}

weir_err weir_chain_add(weir_chain *chain,
                        int parent,
                        const char *unit,
                        const weir_value *settings,
                        size_t setting_count,
                        const weir_value *mark,
                        int *ret_node)
{
    return weir_chain_join(chain, &parent, 1, unit, settings, setting_count, mark, ret_node);
}

weir_err weir_chain_output(weir_chain *chain, int node, const char *name)
{
    if (chain == NULL || name == NULL) {
        return weiri_fail(WEIR_E_USAGE, "naming an output: NULL is not allowed");
    }
    if (chain->plan != NULL) {
        return weiri_fail(WEIR_E_USAGE, "output %s: the chain is planned already", name);
    }
    if (node < WEIR_CHAIN_INPUT || node >= chain->node_count) {
        return weiri_fail(WEIR_E_USAGE, "output %s: no node %d", name, node);
    }
    for (const weiri_output *output = chain->outputs; output != NULL; output = output->next) {
        if (strcmp(output->name, name) == 0) {
            return weiri_fail(WEIR_E_CHAIN, "output %s: the name already exists", name);
        }
        if (output->node == node) {
            return weiri_fail(WEIR_E_CHAIN, "output %s: this is the output %s already", name,
                              output->name);
        }
    }
    weiri_output *output = weiri_arena_get(&chain->arena, sizeof *output);
    const char *copy = weiri_arena_text(&chain->arena, name);
    if (output == NULL || copy == NULL) {
        return no_room(chain->caches[WEIRI_HOST], "an output");
    }
    output->node = node;
    output->name = copy;
    *chain->last_output = output;
    chain->last_output = &output->next;
    chain->output_count++;
    chain->named_outputs = true;
    return WEIR_OK;
}

weir_err weir_chain_set_text(weir_chain *chain, const char *text)
{
    if (chain == NULL || text == NULL) {
        return weiri_fail(WEIR_E_USAGE, "the chain's text: NULL is not allowed");
    }
    const char *copy = weiri_arena_text(&chain->arena, text);
    if (copy == NULL) {
        return no_room(chain->caches[WEIRI_HOST], "the chain's text");
    }
    chain->text = copy;
    return WEIR_OK;
}

weir_cache *weir_chain_cache(weir_chain *chain)
{
    if (chain == NULL) {
        return NULL;
    }
    return chain->caches[WEIRI_HOST];
}

double weir_chain_gap_tolerance(const weir_chain *chain)
{
    if (chain == NULL) {
        return NAN;
    }
    return chain->options.gap_tolerance_s;
}

const char *const *weir_chain_notices(const weir_chain *chain, size_t *ret_count)
{
    if (ret_count != NULL) {
        *ret_count = chain == NULL ? 0 : chain->notices.count;
    }
    return chain == NULL ? NULL : chain->notices.lines;
}
