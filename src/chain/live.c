/* SPDX-License-Identifier: MIT
 *
 * live.c: changes a setting of a unit while the chain runs. The unit is planned with the new value, in memory reserved
 * for this. If only its constants differ, they are computed into the spare set, which replaces the current one. So a
 * rejected value changes nothing, and nothing is allocated.
 */
#include <fenv.h>
#include <string.h>

#include "chain/chain.h"

/* Memory for a temporary plan. */
typedef struct bench {
    unsigned char *base;
    size_t used, size;
} bench;

static void *bench_get(void *user, size_t bytes)
{
    bench *b = user;
    size_t rounded = weiri_round_up(bytes, 16);
    if (rounded < bytes || rounded > b->size - b->used) {
        return NULL;
    }
    void *at = b->base + b->used;
    b->used += rounded;
    memset(at, 0, bytes);
    return at;
}

bool weiri_step_is_live(const weiri_step *step)
{
    const weir_setting *table = step->node == NULL ? NULL : step->ops->info.settings;
    for (size_t i = 0; table != NULL && table[i].name != NULL; i++) {
        if (table[i].live) {
            return true;
        }
    }
    return false;
}

static const weir_setting *find_row(const weiri_node *node, const char *name, weir_err *ret_err)
{
    enum { MOST = 64 };
    const char *names[MOST];
    size_t count = 0;
    for (const weir_setting *row = node->ops->info.settings; row != NULL && row->name != NULL;
         row++) {
        if (strcmp(row->name, name) == 0) {
            *ret_err = row->live ? WEIR_OK
                                 : weiri_fail(WEIR_E_CHAIN,
                                              "%s: %s: cannot be changed while the chain runs",
                                              node->name, name);
            return row;
        }
        if (row->live && count < MOST) {
            names[count++] = row->name;
        }
    }
    const char *near = weiri_nearest(name, names, count);
    *ret_err = weiri_fail(
        WEIR_E_CHAIN, "%s: no setting '%.60s' that can be changed while the chain runs%s%s",
        node->name, name, near == NULL ? "" : "; the nearest is ", near == NULL ? "" : near);
    return NULL;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_axis(const weir_axis *a, const weir_axis *b)
{
    bool same = same_text(a->name, b->name) && same_text(a->unit, b->unit) && a->size == b->size &&
                a->start == b->start && (a->labels == NULL) == (b->labels == NULL) &&
                (a->values == NULL) == (b->values == NULL);
    for (uint64_t i = 0; same && a->labels != NULL && i < a->size; i++) {
        same = same_text(a->labels[i], b->labels[i]);
    }
    for (uint64_t i = 0; same && a->values != NULL && i < a->size; i++) {
        same = a->values[i] == b->values[i];
    }
    return same;
}

static const char *what_differs(const weiri_unit_plan *a, const weiri_unit_plan *b)
{
    if (a->out.dtype != b->out.dtype || a->out.dim_count != b->out.dim_count) {
        return "the shape of its output";
    }
    for (uint32_t i = 0; i < a->out.dim_count; i++) {
        if (!same_axis(&a->out.dims[i], &b->out.dims[i])) {
            return i == 0 ? "the time of its output" : "the shape of its output";
        }
    }
    uint64_t channels = weiri_spec_channels(&a->out).size;
    for (uint64_t i = 0; (a->out.units != NULL || b->out.units != NULL) && i < channels; i++) {
        if (a->out.units == NULL || b->out.units == NULL ||
            !same_text(a->out.units[i], b->out.units[i])) {
            return "the physical unit of its output";
        }
    }
    if (memcmp(&a->due, &b->due, sizeof a->due) != 0) {
        return "its rate";
    }
    bool same = a->constant_bytes == b->constant_bytes && a->field_count == b->field_count &&
                a->scratch_bytes == b->scratch_bytes && a->columnwise == b->columnwise &&
                a->scratch_column_bytes == b->scratch_column_bytes &&
                a->record_frames == b->record_frames && a->record_delay == b->record_delay;
    for (size_t i = 0; same && i < a->field_count; i++) {
        same = a->fields[i].rows == b->fields[i].rows && a->fields[i].bytes == b->fields[i].bytes &&
               a->fields[i].lanes == b->fields[i].lanes;
    }
    return same ? NULL : "its bytes";
}

/* Plans a step with other settings; what it computes lies in the bench until the next call. */
static weir_err plan_anew(const weir_chain *chain,
                          const weiri_step *step,
                          const void *settings,
                          weiri_unit_plan *ret_plan)
{
    bench memory = {.base = chain->plan->bench, .size = chain->plan->bench_bytes};
    weiri_notices notices = {.count = 0};
    *ret_plan = (weiri_unit_plan){
        .in = step->in,
        .inputs = (size_t)step->inputs,
        .out = *step->in,
        .due = WEIRI_DUE_SAME,
        .columnwise = (step->ops->info.flags & WEIR_UNIT_COLUMNWISE) != 0,
        .memory = {bench_get, &memory},
        .notices = &notices,
    };
    ret_plan->out.dims[0].start = step->unit.out.dims[0].start; /* of a join: aligned */
    weir_err err = step->ops->plan(settings, ret_plan);
    ret_plan->memory = (weiri_memory){NULL, NULL};
    ret_plan->notices = NULL;
    return err;
}

weir_err weiri_live_try(weir_chain *chain, weiri_node *node, const char *name)
{
    int number = chain->plan->node_steps[node->number];
    const weiri_step *step = &chain->plan->steps[number];
    weiri_unit_plan plan;
    fenv_t callers; /* no traps of the caller's in designs of filters (S6) */
    feholdexcept(&callers);
    weir_err err = plan_anew(chain, step, node->spare_settings, &plan);
    const char *differs = err == WEIR_OK ? what_differs(&step->unit, &plan) : NULL;
    if (err == WEIR_OK && differs == NULL && chain->running->buffer != NULL) {
        void *constants = (void *)(uintptr_t)chain->running->steps[number].spare;
        memset(constants, 0, (size_t)step->unit.constant_bytes);
        if (step->ops->prepare != NULL) {
            step->ops->prepare(node->spare_settings, &plan, constants);
        }
    }
    fesetenv(&callers);
    if (err == WEIR_E_NOMEM) {
        return weiri_fail(WEIR_E_CHAIN, "%s: %s: this value needs more memory than is planned",
                          node->name, name);
    }
    if (differs != NULL) {
        return weiri_fail(WEIR_E_CHAIN,
                          "%s: %s: this value would change %s; build the chain anew with it",
                          node->name, name, differs);
    }
    return err == WEIR_OK ? WEIR_OK : weiri_fail_prefix(err, "%s: ", node->name);
}

void weiri_live_exchange(weir_chain *chain, weiri_node *node)
{
    int number = chain->plan->node_steps[node->number];
    const weiri_step *step = &chain->plan->steps[number];
    weiri_step_run *run = &chain->running->steps[number];
    void *settings = node->settings;
    node->settings = node->spare_settings;
    node->spare_settings = settings;
    if (chain->running->buffer == NULL) {
        node->changed = true; /* constants are computed at the start */
        return;
    }
    const void *before = run->constants;
    run->constants = run->spare;
    run->spare = before;
    for (int b = 0; b < step->blocks; b++) {
        run->blocks[b].constants = run->constants;
        if (step->ops->changed != NULL) {
            step->ops->changed(&run->blocks[b], before);
        }
    }
}

void weiri_live_prepare(weir_chain *chain, const weiri_step *step, void *constants)
{
    const weiri_node *node = step->node;
    const weiri_unit_plan *plan = &step->unit;
    weiri_unit_plan now;
    if (step->ops->prepare == NULL) {
        return;
    }
    if (node != NULL && node->changed && plan_anew(chain, step, node->settings, &now) == WEIR_OK) {
        plan = &now; /* as when it was accepted */
    }
    step->ops->prepare(node == NULL ? NULL : node->settings, plan, constants);
}

/* The part of a composite unit that "lowpass.cutoff" names; the key becomes the part's, "cutoff". */
static weiri_node *find_part(const weir_chain *chain, weiri_node *last, weir_value *setting)
{
    for (int i = last->first; i < last->number; i++) {
        weiri_node *node = weiri_chain_node(chain, i);
        const char *role = strchr(node->name, '.') + 1;
        size_t length = strlen(role);
        if (strncmp(setting->key, role, length) == 0 && setting->key[length] == '.') {
            setting->key += length + 1;
            return node;
        }
    }
    return last;
}

static weir_err set(weir_chain *chain, weiri_node *node, const weir_value *setting)
{
    weir_err err = WEIR_OK;
    const weir_setting *row = find_row(node, setting->key, &err);
    if (err != WEIR_OK) {
        return err;
    }
    memcpy(node->spare_settings, node->settings, node->ops->settings_bytes);
    err = weiri_setting_read(row, setting, node->spare_settings);
    if (err != WEIR_OK) {
        return weiri_fail_prefix(err, "%s: ", node->name);
    }
    err = weiri_live_try(chain, node, row->name);
    if (err == WEIR_OK) {
        weiri_live_exchange(chain, node);
    }
    return err;
}

weiri_node *weiri_chain_node(const weir_chain *chain, int number)
{
    weiri_node *node = number < 0 ? NULL : chain->nodes;
    for (int i = 0; node != NULL && i < number; i++) {
        node = node->next;
    }
    return node;
}

weir_err weir_chain_set(weir_chain *chain, int number, const weir_value *setting)
{
    if (chain == NULL || setting == NULL || setting->key == NULL) {
        return weiri_null(__func__);
    }
    if (chain->plan == NULL || (chain->running->busy && !chain->running->at_rest)) {
        return weiri_fail(WEIR_E_USAGE,
                          chain->plan == NULL
                              ? "weir_chain_set: the chain has no plan yet"
                              : "weir_chain_set: called while the chain runs, from its "
                                "own sink or source");
    }
    weiri_node *node = weiri_chain_node(chain, number);
    if (node == NULL) {
        return weiri_fail(WEIR_E_USAGE, "weir_chain_set: the chain has no node %d", number);
    }
    weir_value of_part = *setting;
    node = find_part(chain, node, &of_part);
    return set(chain, node, &of_part);
}
