/* SPDX-License-Identifier: MIT
 *
 * records.c: the second port of units, for events (unit.h). In one call of a group each block of a step adds
 * its records to a list of its own, in order of index and column: unit.h states which call adds which frames'
 * records, so lists of later calls only have later indexes, and merging the blocks' lists gives the same sequence
 * for any message boundaries, tiles, threads and blocks (S1). They are merged into a batch, which is passed to the
 * program before anything else runs: between two calls of the chain no record waits, unless it was refused.
 */
#include "chain/chain.h"

/* Batches in order have at most this number of records, 8 KiB; more are passed in several calls. */
#define BATCH_MOST 256

void weiri_plan_records(weiri_plan *plan)
{
    uint64_t most = 0;
    for (int i = 0; i < plan->step_count; i++) {
        weiri_step *step = &plan->steps[i];
        uint64_t all =
            weiri_record_most(&step->unit, step->take_frames, weir_spec_columns(step->in));
        for (int shape = 0; shape < 2 && step->block_in[shape] != NULL; shape++) {
            step->records_room[shape] = weiri_record_most(&step->unit, step->take_frames,
                                                          weir_spec_columns(step->block_in[shape]));
        }
        most = all > most ? all : most;
    }
    plan->batch_room = (size_t)(most < BATCH_MOST ? most : BATCH_MOST);
}

/* ---- in order ------------------------------------------------------------------------------------ */

/* A column of a block, in the step's whole frame. */
static uint64_t column_of(weiri_split all, const weiri_block *block, uint64_t column)
{
    uint64_t piece = block->channels * all.inner;
    return (column / piece * all.size + block->first_channel) * all.inner + column % piece;
}

static bool is_before(const weir_record *a, const weir_record *b)
{
    return a->index != b->index ? a->index < b->index : a->column < b->column;
}

/* Fills the batch with the next records of all blocks; leaves it empty where there are no more. */
static void fill_batch(const weir_chain *chain, const weiri_step *step)
{
    weiri_running *running = chain->running;
    weiri_step_run *run = &running->steps[step->number];
    weiri_split all = weiri_spec_channels(step->in);
    while (running->batch_count < chain->plan->batch_room) {
        weiri_record_list *from = NULL;
        weir_record next = {0};
        for (int b = 0; b < step->blocks; b++) {
            weiri_record_list *records = &run->blocks[b].records;
            if (records->taken < records->count) {
                weir_record first = records->list[records->taken];
                first.column = (uint32_t)column_of(all, &run->blocks[b], first.column);
                if (from == NULL || is_before(&first, &next)) {
                    from = records;
                    next = first;
                }
            }
        }
        if (from == NULL) {
            return;
        }
        from->taken++;
        next.segment = running->segment;
        next.index += (int64_t)step->skip[0];
        running->batch[running->batch_count++] = next;
    }
}

/* ---- passing them on ----------------------------------------------------------------------------- */

/* What is the caller's runs in the caller's arithmetic mode (S6). */
static weir_err pass_on(weir_chain *chain, const weiri_step *step, weiri_delivery *delivery)
{
    if (step->node->records_fn == NULL) {
        return WEIR_OK;
    }
    weir_record_batch batch = {
        .batch_size = sizeof batch,
        .records = chain->running->batch,
        .count = chain->running->batch_count,
        .spec = step->in,
        .segment_start_ns = chain->running->segment_start_ns,
        .node = step->node->number,
    };
    weiri_mode_leave(chain->running->callers_mode);
    weir_err err = step->node->records_fn(step->node->records_user, &batch);
    weiri_mode_enter();
    delivery->outside = false;
    return err;
}

static weir_err check_counts(weir_chain *chain, const weiri_step *step)
{
    weir_err err = WEIR_OK;
    for (int b = 0; b < step->blocks; b++) {
        weiri_record_list *records = &chain->running->steps[step->number].blocks[b].records;
        if (records->count > records->room) {
            err = weiri_fail(WEIR_E_INTERNAL, "%s has more records than it stated: %zu of %zu",
                             step->name, records->count, records->room);
            records->count = records->room;
        }
    }
    return err;
}

static void drop_step(weir_chain *chain, const weiri_step *step)
{
    for (int b = 0; b < step->blocks; b++) {
        weiri_record_list *records = &chain->running->steps[step->number].blocks[b].records;
        records->count = records->taken = 0;
    }
}

static weir_err deliver_step(weir_chain *chain, const weiri_step *step, weiri_delivery *delivery)
{
    weir_err err = check_counts(chain, step);
    while (err == WEIR_OK) {
        if (chain->running->batch_count == 0) { /* else it was refused before */
            fill_batch(chain, step);
        }
        if (chain->running->batch_count == 0) {
            drop_step(chain, step);
            return WEIR_OK;
        }
        err = pass_on(chain, step, delivery);
        chain->running->batch_count = err == WEIR_OK ? 0 : chain->running->batch_count;
    }
    return err;
}

static bool has_records(const weir_chain *chain, const weiri_step *step)
{
    const weiri_step_run *run = &chain->running->steps[step->number];
    for (int b = 0; b < step->blocks; b++) {
        if (run->blocks[b].records.count > 0) {
            return true;
        }
    }
    return false;
}

weir_err weiri_chain_records_deliver(weir_chain *chain, int group, weiri_delivery *delivery)
{
    weir_err err = WEIR_OK;
    for (const weiri_step *step = chain->plan->groups[group].first; err == WEIR_OK && step != NULL;
         step = step->next) {
        if (step->unit.record_frames > 0 && has_records(chain, step)) {
            err = deliver_step(chain, step, delivery);
        }
    }
    return err;
}

void weiri_chain_records_drop(weir_chain *chain)
{
    for (int i = 0; i < chain->plan->step_count; i++) {
        drop_step(chain, &chain->plan->steps[i]);
    }
    chain->running->batch_count = 0;
}

weir_err weir_chain_on_records(weir_chain *chain, int number, weir_records_fn fn, void *user)
{
    if (chain == NULL) {
        return weiri_fail(WEIR_E_USAGE, "weir_chain_on_records: the chain is NULL");
    }
    if (chain->running != NULL && chain->running->busy) {
        return weiri_fail(WEIR_E_USAGE,
                          "weir_chain_on_records: called while the chain runs, from its own "
                          "sink or source");
    }
    weiri_node *node = weiri_chain_node(chain, number);
    if (node == NULL) {
        return weiri_fail(WEIR_E_USAGE, "weir_chain_on_records: the chain has no node %d", number);
    }
    if ((node->ops->info.flags & WEIR_UNIT_RECORDS) == 0) {
        return weiri_fail(WEIR_E_USAGE, "weir_chain_on_records: %s has no records",
                          node->name);
    }
    node->records_fn = fn;
    node->records_user = user;
    return WEIR_OK;
}
