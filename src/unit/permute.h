/* SPDX-License-Identifier: MIT
 *
 * permute.h: frames with their dimensions in another order, for transpose and flatten.
 */
#ifndef WEIRI_PERMUTE_H
#define WEIRI_PERMUTE_H

#include "unit/unit.h"

/* Constants: dimension d of a frame of the output is dimension from[d] of the input's; from[0] is 0, the stream's. */
typedef struct weiri_permute {
    uint32_t count;
    uint32_t from[WEIR_MAX_DIMS];
} weiri_permute;

/* A dimension after the stream's, by name or number. WEIR_E_CHAIN; the detail starts with the setting's name. */
weir_err weiri_permute_find(const weir_spec *in,
                            const char *setting,
                            const weir_value *value,
                            uint32_t *ret_dim);

/* Appends dimensions that are not in it, in the input's order. */
void weiri_permute_complete(weiri_permute *permute, const weir_spec *in);

void weiri_permute_run(weiri_block *block, const weiri_work *work);

#endif
