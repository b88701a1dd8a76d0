/* SPDX-License-Identifier: MIT
 *
 * concat.c: merge under the name that ezmsg-sigproc has for inputs that are in step. Inputs of a unit always are: the
 * chain aligns them.
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
             .flags =
                 WEIR_UNIT_JOINS | WEIR_UNIT_ANY_DTYPE | WEIR_UNIT_COMPLEX | WEIR_UNIT_COLUMNWISE,
             .settings = weiri_merge_table},
    .settings_bytes = sizeof(weiri_merge_settings),
    .plan = weiri_merge_plan,
    .prepare = weiri_merge_prepare,
    .run = weiri_merge_run,
};
