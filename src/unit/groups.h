/* SPDX-License-Identifier: MIT
 *
 * groups.h: the setting channel_groups: a list of lists of channel numbers, without overlap. Channels may be in none.
 */
#ifndef WEIRI_GROUPS_H
#define WEIRI_GROUPS_H

#include "unit/unit.h"

/* WEIR_E_CHAIN: not that; the detail starts with "channel_groups: ". */
weir_err weiri_groups_check(const weir_value *groups, uint64_t channels, weiri_memory memory);

#endif
