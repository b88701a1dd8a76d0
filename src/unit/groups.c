/* SPDX-License-Identifier: MIT
 *
 * groups.c: see groups.h.
 */
#include "unit/groups.h"

#include <math.h>

weir_err weiri_groups_check(const weir_value *groups, uint64_t channels, weiri_memory memory)
{
    if (groups->type != WEIR_VALUE_LIST) {
        return weiri_fail(WEIR_E_CHAIN,
                          "channel_groups: expected a list of lists of channel numbers");
    }
    bool *seen = memory.get(memory.user, (size_t)channels + 1);
    if (seen == NULL) {
        return WEIR_E_NOMEM;
    }
    for (size_t g = 0; g < groups->count; g++) {
        const weir_value *group = &groups->items[g];
        if (group->type != WEIR_VALUE_LIST) {
            return weiri_fail(WEIR_E_CHAIN,
                              "channel_groups: group %zu is not a list of channel numbers", g);
        }
        for (size_t i = 0; i < group->count; i++) {
            double number = group->items[i].number;
            if (group->items[i].type != WEIR_VALUE_NUMBER || number != floor(number) ||
                number < 0.0 || number >= (double)channels) {
                return weiri_fail(WEIR_E_CHAIN,
                                  "channel_groups: '%s' in group %zu is not a channel number, "
                                  "0 to %llu",
                                  group->items[i].text == NULL ? "?" : group->items[i].text, g,
                                  (unsigned long long)channels - 1);
            }
            if (seen[(size_t)number]) {
                return weiri_fail(
                    WEIR_E_CHAIN,
                    "channel_groups: channel %.0f is listed twice; groups must not overlap",
                    number);
            }
            seen[(size_t)number] = true;
        }
    }
    return WEIR_OK;
}
