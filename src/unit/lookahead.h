/* SPDX-License-Identifier: MIT
 *
 * lookahead.h: what units share whose output frame needs input frames before and after its time: the frames are kept
 * in a history; before the first good sample a column is as if that had always been there, after the last frame as if
 * it stayed. A missing sample is replaced by the last good one; an output next to a missing sample is missing (S5).
 */
#ifndef WEIRI_LOOKAHEAD_H
#define WEIRI_LOOKAHEAD_H

#include "dsp/history.h"
#include "unit/unit.h"

/* Constants of such a unit start with this; filled by the unit in plan and in prepare. */
typedef struct weiri_lookahead {
    weiri_due due;
    uint64_t before;     /* frames before the newest one that an output needs */
    int64_t least, most; /* the input frame nearest to output m is floor(m p / q) + least..most */
} weiri_lookahead;

/* Output frames from..to of a group of columns; rows: row i is frame `first` + i, `lanes` columns of them -> out,
 * which is at output frame `from`. */
typedef void weiri_lookahead_fn(const weiri_block *block,
                                size_t group,
                                const void *rows,
                                int64_t first,
                                uint64_t from,
                                uint64_t to,
                                void *out,
                                size_t lanes);

/* The input frame that is nearest to an output frame. */
typedef int64_t weiri_nearest_fn(const weiri_block *block, uint64_t output, size_t column);

/* In plan: fields and due. */
weir_err weiri_lookahead_plan(weiri_unit_plan *plan, const weiri_lookahead *lookahead);

void weiri_lookahead_reset(weiri_block *block);
void weiri_lookahead_run(weiri_block *block,
                         const weiri_work *work,
                         weiri_lookahead_fn *compute,
                         weiri_nearest_fn *nearest);

#endif
