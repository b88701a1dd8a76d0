/* SPDX-License-Identifier: MIT
 *
 * untiled.c: what a chain would allocate without tiles, as array libraries run one: each step's output for a
 * whole message is a buffer of its own. Nothing is computed; for traces and comparisons.
 */
#include "chain/chain.h"

/* The last step that reads the output of `step`; itself where none does. */
static int last_reader(const weiri_plan *plan, int step)
{
    int last = step;
    for (int i = step + 1; i < plan->step_count; i++) {
        for (int k = 0; k < plan->steps[i].inputs; k++) {
            last = plan->steps[i].parents[k] == step ? i : last;
        }
    }
    return last;
}

static void free_read(const weiri_plan *plan, int step)
{
    for (int i = 0; i <= step; i++) {
        if (plan->untiled[i].buffer != NULL && last_reader(plan, i) == step) {
            weir_buffer_unref(plan->untiled[i].buffer);
            plan->untiled[i].buffer = NULL;
        }
    }
}

weir_err weir_chain_untiled(weir_chain *chain, weir_cache *cache, uint64_t before, uint64_t frames)
{
    if (chain == NULL || cache == NULL || chain->plan == NULL) {
        return weiri_fail(WEIR_E_USAGE, "weir_chain_untiled: %s",
                          chain == NULL || cache == NULL ? "NULL is not allowed"
                                                         : "the chain has no plan yet");
    }
    if (before > INT64_MAX || frames > INT64_MAX) {
        return weiri_fail(WEIR_E_USAGE, "weir_chain_untiled: more than 2^63 - 1 frames");
    }
    const weiri_plan *plan = chain->plan;
    int count = plan->step_count;
    weir_err err = WEIR_OK;
    weiri_plan_due(plan, count - 1, before); /* and of all steps before the last */
    for (int i = 0; i < count; i++) {
        plan->untiled[i].due = plan->dues[i];
    }
    weiri_plan_due(plan, count - 1, before + frames);
    for (int i = 0; i < count; i++) {
        uint64_t due = plan->dues[i] - plan->untiled[i].due, bytes = 0;
        if (!weiri_mul(due, plan->steps[i].frame_bytes, &bytes) || bytes > SIZE_MAX) {
            err =
                weiri_fail(WEIR_E_NOMEM, "%s: %llu frames need more bytes than there are addresses",
                           plan->steps[i].name, (unsigned long long)due);
        } else if (bytes > 0) {
            err = weir_cache_take(cache, (size_t)bytes, &plan->untiled[i].buffer);
        }
        if (err != WEIR_OK) {
            break;
        }
        free_read(plan, i);
    }
    for (int i = 0; i < count; i++) { /* after an error */
        weir_buffer_unref(plan->untiled[i].buffer);
        plan->untiled[i].buffer = NULL;
    }
    return err;
}
