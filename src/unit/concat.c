/* SPDX-License-Identifier: MIT
 *
 * concat.c: the unit merge by another name: ezmsg-sigproc has two classes, for synchronous inputs and for others. Here
 * inputs are always synchronous: the chain aligns them.
 */
#include "unit/merge.h"

const weiri_unit_ops weiri_unit_concat = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "concat",
             .summary = "several inputs next to each other along a dimension, or along a new one",
             .formula =
                 "y[n] = all inputs' frames of the same time, one after the other along axis. "
                 "The same as merge.",
             .ezmsg = "concat.ConcatProcessor",
             .differs = "Inputs are aligned in time, where the class joins messages as they come.",
             .checks = "the inputs' known values, side by side",
             .flags =
                 WEIR_UNIT_JOINS | WEIR_UNIT_ANY_DTYPE | WEIR_UNIT_COMPLEX | WEIR_UNIT_COLUMNWISE,
             .settings = weiri_merge_table},
    .settings_bytes = sizeof(weiri_merge_settings),
    .plan = weiri_merge_plan,
    .prepare = weiri_merge_prepare,
    .run = weiri_merge_run,
};
