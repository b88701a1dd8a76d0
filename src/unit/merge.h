/* SPDX-License-Identifier: MIT
 *
 * merge.h: what merge and concat, its other name, share.
 */
#ifndef WEIRI_MERGE_H
#define WEIRI_MERGE_H

#include "unit/join.h"

typedef struct weiri_merge_settings {
    const char *axis;
    const char *align_axis;
    bool relabel_axis;
    const char *label_a, *label_b;
    bool assert_identical_shared_axes;
    const char *new_key;
} weiri_merge_settings;

extern const weir_setting weiri_merge_table[];

weir_err weiri_merge_plan(const void *settings, weiri_unit_plan *plan);
void weiri_merge_prepare(const void *settings, const weiri_unit_plan *plan, void *constants);
void weiri_merge_run(weiri_block *block, const weiri_work *work);

#endif
