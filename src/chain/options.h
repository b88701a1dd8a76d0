/* SPDX-License-Identifier: MIT
 *
 * options.h: a caller's options of a chain, for what makes one from a file.
 */
#ifndef WEIRI_CHAIN_OPTIONS_H
#define WEIRI_CHAIN_OPTIONS_H

#include <weir/chain.h>

/* Options of any size that weir/base.h allows, as this version knows them; NULL = everything unset. WEIR_E_USAGE. */
weir_err weiri_chain_options_read(const weir_chain_options *given, weir_chain_options *ret_options);

#endif
