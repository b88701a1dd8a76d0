/* SPDX-License-Identifier: MIT
 *
 * units.h: the units of a chain file, for config only.
 */
#ifndef WEIRI_CONFIG_UNITS_H
#define WEIRI_CONFIG_UNITS_H

#include <weir/chain.h>

/* Adds the units of a list, with its splits, to an empty chain and names its outputs. `file` is its name for
 * errors: WEIR_E_CHAIN, one line with file, line and column; WEIR_E_NOMEM. */
weir_err weiri_config_units(const char *file, const weir_value *list, weir_chain *chain);

#endif
