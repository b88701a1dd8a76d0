/* SPDX-License-Identifier: MIT
 *
 * recursive.h: what units whose state is one recurrence over time (src/scan) share: constants, state and run.
 * Such a unit is a settings table, plan() and prepare(), and names its kernel.
 */
#ifndef WEIRI_RECURSIVE_H
#define WEIRI_RECURSIVE_H

#include "scan/recurrence.h"
#include "unit/unit.h"

/* The constants of such a unit. Behind params, whose end is cut off where there are fewer sections, comes the
 * state before a first sample of 1 (S9): weiri_recursive_start. */
typedef struct weiri_recursive {
    size_t words; /* state a column; 0: values pass through unchanged */
    size_t inner; /* of the channels (weiri_spec_channels) */
    size_t each;  /* columns of a channel */
    bool starts;  /* from the steady state of the first good sample (S9); else from zero */
    size_t params_bytes;
    union {
        weiri_ewma_params ewma;
        weiri_lattice_params lattice;
        weiri_sos_params sections;
    } params;
} weiri_recursive;

/* In plan: constants and fields; words 0 where the settings switch the unit off. */
weir_err
weiri_recursive_plan(weiri_unit_plan *plan, size_t words, size_t params_bytes, bool starts);
/* The same for sections. */
weir_err weiri_recursive_plan_sections(weiri_unit_plan *plan, const weiri_sos_params *sections);

/* In prepare: all but the start. */
void weiri_recursive_prepare(const weiri_unit_plan *plan,
                             const void *params,
                             size_t params_bytes,
                             weiri_recursive *ret_constants);
/* The same for sections, with the start. */
void weiri_recursive_sections(const weiri_unit_plan *plan,
                              const weiri_sos_params *sections,
                              weiri_recursive *ret_constants);

/* Times the first good sample: the state before it; NULL = zero. */
const double *weiri_recursive_start(const weiri_recursive *constants);

/* Fields of the plan. */
enum { WEIRI_RECURSIVE_STATE, WEIRI_RECURSIVE_STARTED };

void weiri_recursive_reset(weiri_block *block);

/* State goes on where a changed filter has its coefficients in another form. */
void weiri_recursive_changed(weiri_block *block, const void *constants_before);

/* By the kernel of the block's dtype. */
void weiri_recursive_run(weiri_block *block,
                         const weiri_work *work,
                         weiri_recurrence_fn *f32,
                         weiri_recurrence_fn *f64);

#endif
