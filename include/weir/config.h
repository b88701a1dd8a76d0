/* SPDX-License-Identifier: MIT
 *
 * weir/config.h: a chain from a YAML 1.2 file (or JSON, which is a subset).
 */
#ifndef WEIR_CONFIG_H
#define WEIR_CONFIG_H

#include <weir/chain.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Creates the chain that a file describes ("-" = standard input). What `flags` states overrides the
 * file (M8). WEIR_E_CHAIN: the detail states file, line, column, what was found, what is allowed and the
 * nearest known name. WEIR_E_IO: cannot be read. */
WEIR_API WEIR_NODISCARD weir_err weir_config_load(const char *path,
                                                  const weir_chain_options *flags,
                                                  weir_chain **ret_chain);

/* The same from memory; `name` is used instead of the file name in messages. */
WEIR_API WEIR_NODISCARD weir_err weir_config_parse(const char *text,
                                                   size_t length,
                                                   const char *name,
                                                   const weir_chain_options *flags,
                                                   weir_chain **ret_chain);

#ifdef __cplusplus
}
#endif
#endif
