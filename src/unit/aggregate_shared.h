/* SPDX-License-Identifier: MIT
 *
 * aggregate_shared.h: what the units that aggregate along an inner dimension share: aggregate (all entries, the
 * dimension is removed) and ranged_aggregate (bands of entries, one output entry each).
 */
#ifndef WEIRI_AGGREGATE_SHARED_H
#define WEIRI_AGGREGATE_SHARED_H

#include "unit/unit.h"

/* Adjacent entries that become one. */
typedef struct weiri_aggregate_band {
    uint64_t first, count;
} weiri_aggregate_band;

/* Constants; after them the bands, then coordinates of the entries, if they are not regular. */
typedef struct weiri_aggregate {
    int operation;
    int dim;   /* that is aggregated */
    bool tree; /* sums and means over adjacent channels: see weiri_aggregate_prepare */
    double start, step, spacing; /* of the axis */
    uint64_t values;             /* number of coordinates: as many as entries, or 0 */
    uint64_t bands;
} weiri_aggregate;

static inline weiri_aggregate_band *weiri_aggregate_bands(const weiri_aggregate *aggregate)
{
    return (weiri_aggregate_band *)(aggregate + 1);
}

/* An inner dimension by name. WEIR_E_CHAIN, for the setting axis. */
weir_err weiri_aggregate_find_axis(const weir_spec *in, const char *name, int *ret_dim);

/* Checks, physical units of the output (as many as the input has), constants, scratch; the output's dimensions stay
 * as they are. */
weir_err weiri_aggregate_plan(weiri_unit_plan *plan, int operation, int dim, uint64_t bands);

/* The caller writes the bands afterwards. */
void weiri_aggregate_prepare(
    const weir_spec *in, int operation, int dim, uint64_t bands, weiri_aggregate *ret_aggregate);

void weiri_aggregate_run(weiri_block *block, const weiri_work *work);

#endif
