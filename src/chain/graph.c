/* SPDX-License-Identifier: MIT
 *
 * graph.c: from the nodes that a user added to the steps that run: each unit's plan for its inputs,
 * conversions where a unit needs floating point, alignment of joined inputs, outputs.
 */
#include "chain/chain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void *weiri_plan_get(weir_chain *chain, uint64_t count, size_t size)
{
    uint64_t bytes = 0;
    if (!weiri_mul(count + 1, size, &bytes) || bytes > SIZE_MAX / 2) {
        return NULL;
    }
    return weiri_arena_get(&chain->plan_arena, (size_t)bytes);
}

static weir_err copy_texts(weir_chain *chain, const char *const **texts, uint64_t count)
{
    if (*texts == NULL) {
        return WEIR_OK;
    }
    const char **copies = weiri_plan_get(chain, count, sizeof *copies);
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
static weir_err copy_input(weir_chain *chain, weir_spec *spec)
{
    /* As weir_spec_make has it: a message's spec mostly has the same text, which is compared by its address. */
    const char *channels_name = weir_spec_make(WEIR_F32, 1.0, 1, NULL, NULL).dims[1].name;
    weir_err err = copy_texts(chain, &spec->units, weiri_spec_channels(spec).size);
    const char *name = weiri_arena_text(&chain->plan_arena, spec->name == NULL ? "" : spec->name);
    err = name == NULL ? WEIR_E_NOMEM : err;
    spec->name = name;
    for (uint32_t i = 0; err == WEIR_OK && i < spec->dim_count; i++) {
        weir_axis *axis = &spec->dims[i];
        axis->name = strcmp(axis->name, channels_name) == 0
                         ? channels_name
                         : weiri_arena_text(&chain->plan_arena, axis->name);
        axis->unit = weiri_arena_text(&chain->plan_arena, axis->unit == NULL ? "" : axis->unit);
        err = axis->name == NULL || axis->unit == NULL ? WEIR_E_NOMEM : WEIR_OK;
        if (err == WEIR_OK) {
            err = copy_texts(chain, &axis->labels, axis->size);
        }
        if (err == WEIR_OK && axis->values != NULL) {
            double *values = weiri_plan_get(chain, axis->size, sizeof *values);
            err = values == NULL ? WEIR_E_NOMEM : WEIR_OK;
            if (values != NULL) {
                memcpy(values, axis->values, (size_t)axis->size * sizeof *values);
            }
            axis->values = values;
        }
    }
    return err == WEIR_OK ? WEIR_OK : weiri_fail_prefix(err, "the input's description: ");
}

static const weir_spec *spec_before(const weiri_plan *plan, int parent)
{
    return parent < 0 ? &plan->input : &plan->steps[parent].out;
}

/* ---- one step ------------------------------------------------------------------------------------ */

/* What a unit does not state to take is never converted silently: an imaginary part would be lost. */
static weir_err check_dtype(const weiri_unit_ops *ops, const weir_spec *in)
{
    if (weir_dtype_parts(in->dtype) == 1 || (ops->info.flags & WEIR_UNIT_COMPLEX)) {
        return WEIR_OK;
    }
    return weiri_fail(WEIR_E_CHAIN, "accepts real values only; its input is complex (%s)",
                      weir_dtype_name(in->dtype));
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
                "the channels have different physical units (%s: '%s', %s: '%s'): choose those "
                "of one unit (--channels, or slicer before it)",
                labels == NULL ? "the first" : labels[0], in->units[0],
                labels == NULL ? "another" : labels[i], in->units[i]);
        }
    }
    return WEIR_OK;
}

/* ---- rates ---------------------------------------------------------------------------------------- */

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b > 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Frames for each frame of the chain's input: {0, 0} where that is no fraction of 64 bits. */
static weiri_fraction ratio_before(const weiri_plan *plan, int parent)
{
    return parent < 0 ? (weiri_fraction){1, 1} : plan->steps[parent].ratio;
}

static weiri_fraction ratio_after(weiri_fraction before, uint64_t over, uint64_t under)
{
    uint64_t d = common_divisor(over, under);
    over /= d;
    under /= d;
    uint64_t a = common_divisor(before.over, under), b = common_divisor(over, before.under);
    weiri_fraction after = {0, 0};
    bool fits = before.over > 0 && weiri_mul(before.over / a, over / b, &after.over) &&
                weiri_mul(before.under / b, under / a, &after.under);
    return fits ? after : (weiri_fraction){0, 0};
}

/* From the chain's input in one step: each third of every seventh frame and each seventh of every third come at
 * one rate, also as doubles. */
static void set_rate(const weiri_plan *plan, weiri_step *step)
{
    const weiri_due *due = &step->unit.due;
    double rate_hz = plan->input.rate_hz, over, under;
    step->ratio = ratio_after(ratio_before(plan, step->parents[0]), due->q, due->p);
    over = (double)step->ratio.over;
    under = (double)step->ratio.under;
    if (step->ratio.over == 0) {
        rate_hz = step->in->rate_hz;
        over = (double)due->q;
        under = (double)due->p;
    }
    step->out.rate_hz = rate_hz * over / under;
    step->out.dims[0].step = under / (over * rate_hz);
}

/* Joined inputs have one rate, and their first times differ by whole frames: those that begin earlier skip
 * some. Origin and rate of the result are those of the latest. */
static weir_err align(const weiri_plan *plan, weiri_step *step)
{
    double latest = step->in[0].dims[0].start;
    for (int i = 1; i < step->inputs; i++) {
        weiri_fraction a = ratio_before(plan, step->parents[0]);
        weiri_fraction b = ratio_before(plan, step->parents[i]);
        double rate_a = step->in[0].rate_hz, rate_b = step->in[i].rate_hz;
        if (rate_a != rate_b || a.over != b.over || a.under != b.under) {
            int digits = fabs(rate_a - rate_b) < 1e-12 * rate_a ? 17 : 15;
            return weiri_fail(WEIR_E_CHAIN,
                              "its inputs have different rates: %.*g Hz and %.*g Hz; they must be "
                              "equal",
                              digits, rate_a, digits, rate_b);
        }
        latest = fmax(latest, step->in[i].dims[0].start);
    }
    for (int i = 0; i < step->inputs; i++) {
        double frames = (latest - step->in[i].dims[0].start) * step->in[i].rate_hz;
        double whole = nearbyint(frames);
        if (fabs(frames - whole) > 1e-6 || whole > 0x1p40) {
            return weiri_fail(WEIR_E_CHAIN,
                              "the first times of its inputs differ by %.9g frames; only whole "
                              "frames can be aligned",
                              frames);
        }
        step->skip[i] = (uint64_t)whole;
    }
    for (int i = 0; i < step->inputs; i++) {
        if (step->skip[i] == 0) { /* one has the latest time */
            step->unit.out.dims[0].start = step->in[i].dims[0].start;
            break;
        }
    }
    return WEIR_OK;
}

static weir_err check_stated(const weiri_step *step)
{
    const weiri_unit_plan *unit = &step->unit;
    if (!weiri_due_check(&unit->due)) {
        return weiri_fail(WEIR_E_INTERNAL, "%s states counts that are out of range",
                          step->ops->info.name);
    }
    if (unit->record_frames > 0 && ((step->ops->info.flags & WEIR_UNIT_RECORDS) == 0 ||
                                    weir_spec_columns(step->in) > UINT32_MAX)) {
        return weiri_fail(WEIR_E_INTERNAL, "%s has records without its flag, or too many columns",
                          step->ops->info.name);
    }
    bool memory = (step->ops->info.flags & (WEIR_UNIT_STATEFUL | WEIR_UNIT_CHANGES_RATE)) != 0;
    if (!memory && (unit->field_count > 0 || !weiri_due_is_same(&unit->due))) {
        return weiri_fail(WEIR_E_INTERNAL, "%s has state or changes the rate without its flag",
                          step->ops->info.name);
    }
    return WEIR_OK;
}

/* The plan's memory, counting what one unit asks of it. */
typedef struct counted {
    weir_chain *chain;
    size_t bytes;
} counted;

static void *counted_get(void *user, size_t bytes)
{
    counted *c = user;
    c->bytes += weiri_round_up(bytes, 16);
    return weiri_arena_get(&c->chain->plan_arena, bytes);
}

/* Reserves memory to plan any unit again, for live settings. */
static weir_err reserve_bench(weir_chain *chain, weiri_plan *plan)
{
    plan->bench = weiri_plan_get(chain, plan->bench_bytes, 1);
    return plan->bench != NULL ? WEIR_OK : weiri_fail_prefix(WEIR_E_NOMEM, "the plan: ");
}

/* Calls the unit's plan; the time of its output follows from its counts (S3). */
static weir_err plan_unit(weir_chain *chain, weiri_plan *plan, weiri_step *step)
{
    const weir_spec *in = step->in;
    counted memory = {.chain = chain};
    step->unit = (weiri_unit_plan){
        .in = in,
        .inputs = (size_t)step->inputs,
        .out = *in,
        .due = WEIRI_DUE_SAME,
        .columnwise = (step->ops->info.flags & WEIR_UNIT_COLUMNWISE) != 0,
        .memory = {counted_get, &memory},
        .notices = &chain->notices,
    };
    weir_err err = step->inputs > 1 ? align(plan, step) : WEIR_OK;
    for (int i = 0; err == WEIR_OK && i < step->inputs; i++) {
        err = check_dtype(step->ops, &in[i]);
        err = err == WEIR_OK ? check_units(step->ops, &in[i]) : err;
    }
    const void *settings = step->node == NULL ? NULL : step->node->settings;
    if (err == WEIR_OK) {
        err = step->ops->plan(settings, &step->unit);
    }
    if (err == WEIR_OK) {
        err = check_stated(step);
    }
    if (err != WEIR_OK) {
        return err;
    }
    if (weiri_step_is_live(step) && memory.bytes > plan->bench_bytes) {
        plan->bench_bytes = memory.bytes;
    }
    step->same = weiri_due_is_same(&step->unit.due);
    step->out = step->unit.out;
    set_rate(plan, step);
    err = weir_spec_check(&step->out);
    if (err != WEIR_OK) {
        return weiri_fail_prefix(WEIR_E_CHAIN, "its output is too large: ");
    }
    bool stateful = (step->ops->info.flags & WEIR_UNIT_STATEFUL) != 0;
    step->settle_frames = step->ops->settle != NULL
                              ? step->ops->settle(settings, &step->unit, WEIRI_SETTLE_TOLERANCE)
                          : stateful ? WEIR_SETTLES_NEVER
                                     : 0;
    step->frame_bytes = (size_t)weir_spec_frame_bytes(&step->out);
    step->channels = weiri_spec_channels(in).size;
    int dim = weir_spec_dim(in, "ch"), out_dim = weir_spec_dim(&step->out, "ch");
    /* Joins have no state worth dividing, and would need a scratch buffer for each input. */
    step->has_blocks = step->unit.columnwise && step->inputs == 1 && dim > 0 && out_dim > 0 &&
                       in->dims[dim].size == step->out.dims[out_dim].size;
    return WEIR_OK;
}

static weir_err add_step(weir_chain *chain,
                         weiri_plan *plan,
                         weiri_node *node,
                         const weiri_unit_ops *ops,
                         const int *parents,
                         int inputs)
{
    weiri_step *step = &plan->steps[plan->step_count];
    char name[96];
    snprintf(name, sizeof name, "%d %s", plan->step_count + 1,
             node == NULL ? ops->info.name : node->name);
    *step = (weiri_step){.number = plan->step_count,
                         .node = node,
                         .ops = ops,
                         .name = weiri_arena_text(&chain->plan_arena, name),
                         .inputs = inputs,
                         .output = -1,
                         .in = weiri_plan_get(chain, (uint64_t)inputs, sizeof *step->in)};
    if (step->in == NULL || step->name == NULL) {
        return weiri_fail_prefix(WEIR_E_NOMEM, "%s: ", ops->info.name);
    }
    for (int i = 0; i < inputs; i++) {
        step->parents[i] = parents[i];
        step->in[i] = *spec_before(plan, parents[i]);
        step->in_bytes[i] = (size_t)weir_spec_frame_bytes(&step->in[i]);
    }
    weir_err err = plan_unit(chain, plan, step);
    if (err != WEIR_OK) {
        return node == NULL ? err : weiri_chain_fail_node(chain, node, err);
    }
    for (int i = 0; i < inputs; i++) {
        if (parents[i] >= 0) {
            plan->steps[parents[i]].children++;
        }
    }
    plan->step_count++;
    return WEIR_OK;
}

/* ---- the graph ----------------------------------------------------------------------------------- */

static bool is_integer(weir_dtype dtype)
{
    weir_dtype part = weir_dtype_part(dtype);
    return part != WEIR_F32 && part != WEIR_F64;
}

/* Where the unit needs floating point, a conversion; where what waits for other branches would be the
 * caller's memory (S7), a copy. */
static weir_err add_before(weir_chain *chain, weiri_plan *plan, const weiri_node *node, int *parent)
{
    const weir_spec *in = spec_before(plan, *parent);
    const weiri_unit_ops *ops = NULL;
    if (is_integer(in->dtype) && !(node->ops->info.flags & WEIR_UNIT_ANY_DTYPE)) {
        ops = &weiri_unit_convert;
    } else if (node->inputs > 1 && *parent < 0) {
        ops = &weiri_unit_copy;
    }
    if (ops == NULL) {
        return WEIR_OK;
    }
    weir_err err = add_step(chain, plan, NULL, ops, parent, 1);
    if (err == WEIR_OK) {
        *parent = plan->step_count - 1;
    }
    return err;
}

static weir_err add_nodes(weir_chain *chain, weiri_plan *plan)
{
    for (weiri_node *node = chain->nodes; node != NULL; node = node->next) {
        int parents[WEIRI_INPUTS_MAX];
        weir_err err = WEIR_OK;
        for (int i = 0; err == WEIR_OK && i < node->inputs; i++) {
            parents[i] = node->parents[i] < 0 ? -1 : plan->node_steps[node->parents[i]];
            err = add_before(chain, plan, node, &parents[i]);
        }
        if (err == WEIR_OK) {
            err = add_step(chain, plan, node, node->ops, parents, node->inputs);
        }
        if (err != WEIR_OK) {
            return err;
        }
        plan->node_steps[node->number] = plan->step_count - 1;
    }
    return WEIR_OK;
}

/* The output's name if the user did not name it: its unit's, with a number if that exists. */
static const char *own_name(weir_chain *chain, const weiri_plan *plan, const char *unit)
{
    char name[96];
    snprintf(name, sizeof name, "%s", unit);
    for (int i = 0, suffix = 2; i < plan->exit_count; i++) {
        if (strcmp(plan->exits[i].name, name) == 0) {
            snprintf(name, sizeof name, "%s_%d", unit, suffix++);
            i = -1;
        }
    }
    return weiri_arena_text(&chain->plan_arena, name);
}

static weir_err add_exit(weiri_plan *plan, const char *name, int step)
{
    if (name == NULL) {
        return weiri_fail_prefix(WEIR_E_NOMEM, "outputs: ");
    }
    plan->steps[step].output = plan->exit_count;
    plan->exits[plan->exit_count++] = (weiri_exit){name, step};
    return WEIR_OK;
}

static weir_err add_copy(weir_chain *chain, weiri_plan *plan)
{
    static const int input = -1;
    return add_step(chain, plan, NULL, &weiri_unit_copy, &input, 1);
}

/* Without the part: "bandpower" of "bandpower.window". */
static const char *unit_name(weir_chain *chain, const weiri_step *step)
{
    const char *name = step->node == NULL ? step->ops->info.name : step->node->name;
    const char *point = strchr(name, '.');
    char *unit = point == NULL ? NULL : weiri_plan_get(chain, (size_t)(point - name), 1);
    return point == NULL ? name : unit == NULL ? NULL : memcpy(unit, name, (size_t)(point - name));
}

static weir_err add_exits(weir_chain *chain, weiri_plan *plan)
{
    weir_err err = WEIR_OK;
    for (const weiri_output *output = chain->outputs; err == WEIR_OK && output != NULL;
         output = output->next) {
        int step = output->node < 0 ? plan->step_count : plan->node_steps[output->node];
        if (output->node < 0) {
            err = add_copy(chain, plan);
        }
        if (err == WEIR_OK) {
            err = add_exit(plan, output->name, step);
        }
    }
    if (chain->named_outputs || err != WEIR_OK) {
        return err;
    }
    if (plan->step_count == 0) {
        err = add_copy(chain, plan);
    }
    for (int i = 0; err == WEIR_OK && i < plan->step_count; i++) {
        if (plan->steps[i].children == 0) {
            err = add_exit(plan, own_name(chain, plan, unit_name(chain, &plan->steps[i])), i);
        }
    }
    return err;
}

/* What no output needs would run for nothing, and its edge would never be emptied. */
static weir_err check_leaves(const weiri_plan *plan)
{
    for (int i = 0; i < plan->step_count; i++) {
        if (plan->steps[i].children == 0 && plan->steps[i].output < 0) {
            return weiri_fail(WEIR_E_CHAIN, "%s is followed by nothing and is no output",
                              plan->steps[i].ops->info.name);
        }
    }
    return WEIR_OK;
}

/* ---- totals -------------------------------------------------------------------------------------- */

uint64_t weiri_plan_due(const weiri_plan *plan, int step, uint64_t n)
{
    for (int i = 0; i <= step; i++) { /* parents come before their children */
        const weiri_step *at = &plan->steps[i];
        uint64_t least = UINT64_MAX;
        for (int k = 0; k < at->inputs; k++) {
            uint64_t frames = at->parents[k] < 0 ? n : plan->dues[at->parents[k]];
            frames = frames < at->skip[k] ? 0 : frames - at->skip[k];
            least = frames < least ? frames : least;
        }
        plan->dues[i] = weiri_due_at(&at->unit.due, least, false);
    }
    return plan->dues[step];
}

/* Input frames of the chain until a step's first output frame, less one. */
static uint64_t lag_of(const weiri_plan *plan, int step)
{
    uint64_t none = 0, some = 1;
    while (weiri_plan_due(plan, step, some) == 0 && some < UINT64_MAX / 4) {
        none = some;
        some *= 2;
    }
    while (some - none > 1) {
        uint64_t middle = none + (some - none) / 2;
        if (weiri_plan_due(plan, step, middle) == 0) {
            none = middle;
        } else {
            some = middle;
        }
    }
    return none;
}

static uint64_t add_settling(uint64_t total, uint64_t frames, double ratio)
{
    double sum = (double)total + ceil((double)frames * ratio);
    return total == WEIR_SETTLES_NEVER || frames == WEIR_SETTLES_NEVER || sum > 0x1p62
               ? WEIR_SETTLES_NEVER
               : (uint64_t)sum;
}

/* Delay and settling add up along the way from the input; of several ways, the largest. */
static void sum_up(weiri_plan *plan)
{
    for (int i = 0; i < plan->step_count; i++) {
        weiri_step *step = &plan->steps[i];
        double delay = 0.0, ratio = plan->input.rate_hz / step->in[0].rate_hz;
        uint64_t settle = 0;
        for (int k = 0; k < step->inputs; k++) {
            const weiri_step *before = step->parents[k] < 0 ? NULL : &plan->steps[step->parents[k]];
            if (before != NULL) {
                delay = isnan(before->delay_total) ? (double)NAN : fmax(delay, before->delay_total);
                settle = before->settle_total > settle ? before->settle_total : settle;
            }
        }
        step->delay_total = delay + step->unit.delay_frames * ratio;
        step->settle_total = add_settling(settle, step->settle_frames, ratio);
        plan->flushes = plan->flushes || step->unit.due.end > step->unit.due.offset ||
                        step->unit.due.grain > 1 || step->unit.record_frames > 0;
    }
    weir_plan *shown = &plan->shown;
    for (int i = 0; i < plan->exit_count; i++) {
        const weiri_step *step = &plan->steps[plan->exits[i].step];
        uint64_t lag = lag_of(plan, plan->exits[i].step);
        shown->lag_frames = lag > shown->lag_frames ? lag : shown->lag_frames;
        shown->settle_frames =
            step->settle_total > shown->settle_frames ? step->settle_total : shown->settle_frames;
        if (isnan(step->delay_total) || !(step->delay_total <= shown->delay_frames)) {
            shown->delay_frames = isnan(shown->delay_frames) ? (double)NAN : step->delay_total;
        }
    }
}

weir_err weiri_plan_graph(weir_chain *chain, weiri_plan *plan)
{
    weir_err err = weir_spec_check(&plan->input);
    if (err != WEIR_OK) {
        return weiri_fail_prefix(err, "input: ");
    }
    uint64_t inputs = 0;
    for (const weiri_node *node = chain->nodes; node != NULL; node = node->next) {
        inputs += (uint64_t)node->inputs;
    }
    uint64_t most = inputs + (uint64_t)chain->node_count + (uint64_t)chain->output_count + 1;
    plan->node_steps = weiri_plan_get(chain, (uint64_t)chain->node_count, sizeof *plan->node_steps);
    plan->steps = weiri_plan_get(chain, most, sizeof *plan->steps);
    plan->exits = weiri_plan_get(chain, most, sizeof *plan->exits);
    if (plan->node_steps == NULL || plan->steps == NULL || plan->exits == NULL) {
        return weiri_fail_prefix(WEIR_E_NOMEM, "steps: ");
    }
    err = copy_input(chain, &plan->input);
    if (err == WEIR_OK) {
        err = add_nodes(chain, plan);
    }
    if (err == WEIR_OK) {
        err = add_exits(chain, plan);
    }
    if (err == WEIR_OK) {
        err = check_leaves(plan);
    }
    plan->dues = weiri_plan_get(chain, (uint64_t)plan->step_count, sizeof *plan->dues);
    plan->untiled = weiri_plan_get(chain, (uint64_t)plan->step_count, sizeof *plan->untiled);
    if (err == WEIR_OK && (plan->dues == NULL || plan->untiled == NULL)) {
        err = weiri_fail_prefix(WEIR_E_NOMEM, "steps: ");
    }
    if (err == WEIR_OK) {
        sum_up(plan);
        err = reserve_bench(chain, plan);
    }
    return err;
}
