/* SPDX-License-Identifier: MIT
 *
 * recursive.c: see recursive.h.
 */
#include "unit/recursive.h"

#include <string.h>

#include "dsp/sos.h"
#include "unit/elementwise.h"

enum { STATE = WEIRI_RECURSIVE_STATE, STARTED = WEIRI_RECURSIVE_STARTED };

static size_t start_offset(size_t params_bytes)
{
    return offsetof(weiri_recursive, params) + params_bytes;
}

const double *weiri_recursive_start(const weiri_recursive *constants)
{
    return constants->starts ? (const double *)(const void *)((const unsigned char *)constants +
                                                              start_offset(constants->params_bytes))
                             : NULL;
}

/* Of the sections that there are. */
static size_t sections_bytes(const weiri_sos_params *sections)
{
    return offsetof(weiri_sos_params, coefs) + sections->sections * sizeof sections->coefs[0];
}

weir_err weiri_recursive_plan(weiri_unit_plan *plan, size_t words, size_t params_bytes, bool starts)
{
    weiri_field state = {
        .name = "state", .kind = 'f', .bytes = 8, .rows = words, .lanes = WEIRI_BLOCK};
    weiri_field started = {.name = "started", .kind = 'u', .bytes = 1, .rows = 1};
    plan->constant_bytes = start_offset(params_bytes) + (starts ? words * sizeof(double) : 0);
    weir_err err = words > 0 ? weiri_plan_field(plan, state) : WEIR_OK;
    if (err == WEIR_OK && words > 0 && starts) {
        err = weiri_plan_field(plan, started);
    }
    return err;
}

weir_err weiri_recursive_plan_sections(weiri_unit_plan *plan, const weiri_sos_params *sections)
{
    return weiri_recursive_plan(plan, 2 * sections->sections, sections_bytes(sections),
                                sections->sections > 0);
}

void weiri_recursive_prepare(const weiri_unit_plan *plan,
                             const void *params,
                             size_t params_bytes,
                             weiri_recursive *ret_constants)
{
    ret_constants->words = plan->field_count > STATE ? (size_t)plan->fields[STATE].rows : 0;
    ret_constants->starts = plan->field_count > STARTED;
    weiri_split split = weiri_spec_channels(plan->in);
    ret_constants->inner = (size_t)split.inner;
    ret_constants->each = (size_t)(split.outer * split.inner);
    ret_constants->params_bytes = params_bytes;
    memcpy(&ret_constants->params, params, params_bytes);
}

void weiri_recursive_sections(const weiri_unit_plan *plan,
                              const weiri_sos_params *sections,
                              weiri_recursive *ret_constants)
{
    weiri_recursive_prepare(plan, sections, sections_bytes(sections), ret_constants);
    if (sections->sections > 0) {
        double start[WEIRI_RECURRENCE_WORDS];
        weiri_sos_steady_state(sections, start);
        memcpy((unsigned char *)ret_constants + start_offset(ret_constants->params_bytes), start,
               2 * sections->sections * sizeof(double));
    }
}

/* Made for each call: 30 instructions, which is why columns are not counted by their spec. */
static weiri_recurrence recurrence_of(const weiri_block *block)
{
    const weiri_recursive *constants = block->constants;
    size_t columns = (size_t)block->channels * constants->each;
    return (weiri_recurrence){
        .params = &constants->params,
        .start = weiri_recursive_start(constants),
        .words = constants->words,
        .columns = columns,
        .in_stride = (ptrdiff_t)columns,
        .out_stride = (ptrdiff_t)columns,
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

void weiri_recursive_changed(weiri_block *block, const void *constants_before)
{
    const weiri_recursive *before = constants_before, *now = block->constants;
    bool was = before->params.sections.kind == WEIRI_SOS_DELTA;
    bool is = now->params.sections.kind == WEIRI_SOS_DELTA;
    if (now->words == 0 || was == is) {
        return;
    }
    size_t columns = (size_t)block->channels * now->each;
    size_t groups = (columns + WEIRI_BLOCK - 1) / WEIRI_BLOCK;
    for (size_t i = 0; i < groups * now->words / 2; i++) { /* one section of one group of columns */
        double *one = (double *)block->state[STATE] + i * 2 * WEIRI_BLOCK, *two = one + WEIRI_BLOCK;
        for (size_t k = 0; k < WEIRI_BLOCK; k++) {
            two[k] += is ? one[k] : -one[k];
        }
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
    if (work->in_stride > 0) {
        recurrence.in_stride = (ptrdiff_t)work->in_stride;
    }
    if (work->out_stride > 0) {
        recurrence.out_stride = (ptrdiff_t)work->out_stride;
    }
    recurrence.run = block->in->dtype == WEIR_F32 ? f32 : f64;
    weiri_recurrence_process(&recurrence, work->in[0], work->out, work->consume);
}
