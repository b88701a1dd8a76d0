/* SPDX-License-Identifier: MIT
 *
 * steps.c: from the nodes that a user added to the steps that run: each unit's plan for what comes in,
 * conversions where a unit needs floating point, outputs.
 */
#include "chain/chain.h"

#include <stdio.h>
#include <string.h>

static void *get(weir_chain *chain, uint64_t count, size_t size)
{
    return weiri_arena_get(&chain->plan_arena, (size_t)(count + 1) * size);
}

static weir_err copy_texts(weir_chain *chain, const char *const **texts, uint64_t count)
{
    if (*texts == NULL) {
        return WEIR_OK;
    }
    const char **copies = get(chain, count, sizeof *copies);
    for (uint64_t i = 0; copies != NULL && i < count; i++) {
        copies[i] = weiri_arena_text(&chain->plan_arena, (*texts)[i] == NULL ? "" : (*texts)[i]);
        if (copies[i] == NULL) {
            return WEIR_E_NOMEM;
        }
    }
    *texts = copies;
    return copies == NULL ? WEIR_E_NOMEM : WEIR_OK;
}

/* The input's spec, kept: its labels belong to the caller. */
static weir_err copy_input(weir_chain *chain)
{
    weir_spec *spec = &chain->input;
    int channel_dim = weir_spec_dim(spec, "ch");
    uint64_t channels = channel_dim > 0 ? spec->dims[channel_dim].size : 1;
    weir_err err = copy_texts(chain, &spec->units, channels);
    const char *name = weiri_arena_text(&chain->plan_arena, spec->name == NULL ? "" : spec->name);
    err = name == NULL ? WEIR_E_NOMEM : err;
    spec->name = name;
    for (uint32_t i = 0; err == WEIR_OK && i < spec->dim_count; i++) {
        weir_axis *axis = &spec->dims[i];
        axis->name = weiri_arena_text(&chain->plan_arena, axis->name);
        axis->unit = weiri_arena_text(&chain->plan_arena, axis->unit == NULL ? "" : axis->unit);
        err = axis->name == NULL || axis->unit == NULL ? WEIR_E_NOMEM : WEIR_OK;
        if (err == WEIR_OK) {
            err = copy_texts(chain, &axis->labels, axis->size);
        }
        if (err == WEIR_OK && axis->values != NULL) {
            double *values = get(chain, axis->size, sizeof *values);
            err = values == NULL ? WEIR_E_NOMEM : WEIR_OK;
            if (values != NULL) {
                memcpy(values, axis->values, (size_t)axis->size * sizeof *values);
            }
            axis->values = values;
        }
    }
    return err == WEIR_OK ? WEIR_OK : weiri_fail_prefix(err, "the input's description: ");
}

static const weir_spec *spec_before(const weir_chain *chain, int parent)
{
    return parent < 0 ? &chain->input : &chain->steps[parent].spec;
}

/* A unit that couples channels mixes what must have one physical unit. */
static weir_err check_units(const weiri_unit_ops *ops, const weir_spec *in)
{
    int dim = weir_spec_dim(in, "ch");
    if (!(ops->info.flags & WEIR_UNIT_COUPLES_CHANNELS) || in->units == NULL || dim <= 0) {
        return WEIR_OK;
    }
    for (uint64_t i = 1; i < in->dims[dim].size; i++) {
        if (strcmp(in->units[i], in->units[0]) != 0) {
            const char *const *labels = in->dims[dim].labels;
            return weiri_fail(
                WEIR_E_CHAIN,
                "the channels have different units (%s: '%s', %s: '%s'): choose those "
                "of one unit (--channels, or slicer before it)",
                labels == NULL ? "the first" : labels[0], in->units[0],
                labels == NULL ? "another" : labels[i], in->units[i]);
        }
    }
    return WEIR_OK;
}

/* Lets the unit say what comes out; time follows from its ratio (S3). */
static weir_err plan_unit(weir_chain *chain, weiri_step *step)
{
    const weir_spec *in = step->in;
    weiri_unit_plan unit_plan = {
        .in = in,
        .out = *in,
        .frames_per_output = 1.0,
        .columnwise = (step->ops->info.flags & WEIR_UNIT_COLUMNWISE) != 0,
        .memory = weiri_arena_memory(&chain->plan_arena),
        .notices = &chain->notices,
    };
    weir_err err = check_units(step->ops, in);
    if (err == WEIR_OK) {
        err = step->ops->plan(step->node == NULL ? NULL : step->node->settings, &unit_plan);
    }
    if (err != WEIR_OK) {
        return err;
    }
    step->spec = unit_plan.out;
    step->frames_per_output = unit_plan.frames_per_output;
    step->columnwise = unit_plan.columnwise;
    step->shared_bytes = unit_plan.shared_bytes;
    step->spec.rate_hz = in->rate_hz / unit_plan.frames_per_output;
    step->spec.dims[0].step = unit_plan.frames_per_output / in->rate_hz;
    err = weir_spec_check(&step->spec);
    if (err != WEIR_OK) {
        return weiri_fail(WEIR_E_CHAIN, "what it puts out is too large: %s", weir_err_detail());
    }
    step->frame_bytes = (size_t)weir_spec_frame_bytes(&step->spec);
    int channel_dim = weir_spec_dim(in, "ch");
    step->channels = channel_dim > 0 ? in->dims[channel_dim].size : 1;
    return WEIR_OK;
}

static weir_err
add_step(weir_chain *chain, const weiri_node *node, const weiri_unit_ops *ops, int parent)
{
    weiri_step *step = &chain->steps[chain->step_count];
    step->node = node;
    step->ops = ops;
    step->parent = parent;
    step->output = -1;
    step->in = spec_before(chain, parent);
    weir_err err = plan_unit(chain, step);
    if (err != WEIR_OK) {
        return node == NULL ? err : weiri_chain_fail_node(chain, node, err);
    }
    if (parent >= 0) {
        chain->steps[parent].children++;
    }
    chain->step_count++;
    return WEIR_OK;
}

static bool is_integer(weir_dtype dtype)
{
    return dtype != WEIR_F32 && dtype != WEIR_F64;
}

static weir_err add_nodes(weir_chain *chain, weiri_node **nodes)
{
    int count = 0;
    for (weiri_node *node = chain->nodes; node != NULL; node = node->next) {
        nodes[count++] = node;
        int parent = node->parent < 0 ? -1 : nodes[node->parent]->step;
        const weir_spec *in = spec_before(chain, parent);
        weir_err err = WEIR_OK;
        if (is_integer(in->dtype) && !(node->ops->info.flags & WEIR_UNIT_ANY_DTYPE)) {
            err = add_step(chain, NULL, &weiri_unit_convert, parent);
            parent = chain->step_count - 1;
        }
        if (err == WEIR_OK) {
            err = add_step(chain, node, node->ops, parent);
        }
        if (err != WEIR_OK) {
            return err;
        }
        node->step = chain->step_count - 1;
    }
    return WEIR_OK;
}

/* The output's name where the user gave none: its unit's, with a number where that is taken. */
static const char *own_name(weir_chain *chain, const char *unit)
{
    char name[96];
    snprintf(name, sizeof name, "%s", unit);
    for (int i = 0, suffix = 2; i < chain->exit_count; i++) {
        if (strcmp(chain->exits[i].name, name) == 0) {
            snprintf(name, sizeof name, "%s_%d", unit, suffix++);
            i = -1;
        }
    }
    return weiri_arena_text(&chain->plan_arena, name);
}

static weir_err add_exit(weir_chain *chain, const char *name, int step)
{
    if (name == NULL) {
        return weiri_fail_prefix(WEIR_E_NOMEM, "outputs: ");
    }
    chain->steps[step].output = chain->exit_count;
    chain->exits[chain->exit_count++] = (weiri_exit){name, step};
    return WEIR_OK;
}

static weir_err add_exits(weir_chain *chain, weiri_node **nodes)
{
    weir_err err = WEIR_OK;
    for (const weiri_output *output = chain->outputs; err == WEIR_OK && output != NULL;
         output = output->next) {
        int step = output->node < 0 ? chain->step_count : nodes[output->node]->step;
        if (output->node < 0) {
            err = add_step(chain, NULL, &weiri_unit_copy, -1);
        }
        if (err == WEIR_OK) {
            err = add_exit(chain, output->name, step);
        }
    }
    if (chain->named_outputs || err != WEIR_OK) {
        return err;
    }
    if (chain->step_count == 0) {
        err = add_step(chain, NULL, &weiri_unit_copy, -1);
    }
    for (int i = 0; err == WEIR_OK && i < chain->step_count; i++) {
        if (chain->steps[i].children == 0) {
            err = add_exit(chain, own_name(chain, chain->steps[i].ops->info.name), i);
        }
    }
    return err;
}

/* What no output needs would run for nothing, and its edge would never be emptied. */
static weir_err check_leaves(const weir_chain *chain)
{
    for (int i = 0; i < chain->step_count; i++) {
        if (chain->steps[i].children == 0 && chain->steps[i].output < 0) {
            return weiri_fail(WEIR_E_CHAIN, "%s is followed by nothing and is no output",
                              chain->steps[i].ops->info.name);
        }
    }
    return WEIR_OK;
}

weir_err weiri_chain_steps(weir_chain *chain)
{
    weir_err err = weir_spec_check(&chain->input);
    if (err != WEIR_OK) {
        return weiri_fail_prefix(err, "input: ");
    }
    uint64_t most = 2 * (uint64_t)chain->node_count + (uint64_t)chain->output_count + 1;
    weiri_node **nodes = get(chain, (uint64_t)chain->node_count, sizeof *nodes);
    chain->steps = get(chain, most, sizeof *chain->steps);
    chain->exits = get(chain, most, sizeof *chain->exits);
    if (nodes == NULL || chain->steps == NULL || chain->exits == NULL) {
        return weiri_fail_prefix(WEIR_E_NOMEM, "steps: ");
    }
    err = copy_input(chain);
    if (err == WEIR_OK) {
        err = add_nodes(chain, nodes);
    }
    if (err == WEIR_OK) {
        err = add_exits(chain, nodes);
    }
    return err == WEIR_OK ? check_leaves(chain) : err;
}

const weir_spec *weiri_chain_exit_spec(const weir_chain *chain, int exit)
{
    return &chain->steps[chain->exits[exit].step].spec;
}
