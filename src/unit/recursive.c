/* SPDX-License-Identifier: MIT
 *
 * recursive.c: see recursive.h.
 */
#include "unit/recursive.h"

#include "dsp/sos.h"
#include "unit/elementwise.h"

enum { STATE, STARTED }; /* fields */

weir_err weiri_recursive_plan(weiri_unit_plan *plan, size_t words, bool starts)
{
    weiri_field state = {
        .name = "state", .kind = 'f', .bytes = 8, .rows = words, .lanes = WEIRI_BLOCK};
    weiri_field started = {.name = "started", .kind = 'u', .bytes = 1, .rows = 1};
    plan->constant_bytes = sizeof(weiri_recursive);
    weir_err err = words > 0 ? weiri_plan_field(plan, state) : WEIR_OK;
    if (err == WEIR_OK && words > 0 && starts) {
        err = weiri_plan_field(plan, started);
    }
    return err;
}

void weiri_recursive_prepare(const weiri_unit_plan *plan, weiri_recursive *ret_constants)
{
    ret_constants->words = plan->field_count > STATE ? (size_t)plan->fields[STATE].rows : 0;
    ret_constants->starts = plan->field_count > STARTED;
    weiri_split split = weiri_spec_channels(plan->in);
    ret_constants->inner = (size_t)split.inner;
    ret_constants->each = (size_t)(split.outer * split.inner);
}

void weiri_recursive_sections(const weiri_unit_plan *plan,
                              const weiri_sos_params *sections,
                              weiri_recursive *ret_constants)
{
    weiri_recursive_prepare(plan, ret_constants);
    ret_constants->params.sections = *sections;
    weiri_sos_steady_state(sections, ret_constants->start);
}

/* Made for each call: 30 instructions, which is why columns are not counted by their spec. */
static weiri_recurrence recurrence_of(const weiri_block *block)
{
    const weiri_recursive *constants = block->constants;
    return (weiri_recurrence){
        .params = &constants->params,
        .start = constants->starts ? constants->start : NULL,
        .words = constants->words,
        .columns = (size_t)block->channels * constants->each,
        .value_bytes = block->in->dtype == WEIR_F32 ? 4 : 8,
        .missing = block->missing,
        .inner = constants->inner,
        .channels = (size_t)block->channels,
        .state = block->state[STATE],
        .started = constants->starts ? block->state[STARTED] : NULL,
        .ahead = block->ahead,
    };
}

void weiri_recursive_reset(weiri_block *block)
{
    const weiri_recursive *constants = block->constants;
    if (constants->words > 0) {
        weiri_recurrence recurrence = recurrence_of(block);
        weiri_recurrence_reset(&recurrence);
    }
}

void weiri_recursive_run(weiri_block *block,
                         const weiri_work *work,
                         weiri_recurrence_fn *f32,
                         weiri_recurrence_fn *f64)
{
    const weiri_recursive *constants = block->constants;
    if (constants->words == 0) {
        weiri_elementwise_pass(block, work);
        return;
    }
    weiri_recurrence recurrence = recurrence_of(block);
    recurrence.in_stride = work->in_stride;
    recurrence.run = block->in->dtype == WEIR_F32 ? f32 : f64;
    weiri_recurrence_process(&recurrence, work->in[0], work->out, work->consume);
}
