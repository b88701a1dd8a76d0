/* SPDX-License-Identifier: MIT
 *
 * units.h: a unit's page, for weir units and for the documents.
 */
#ifndef WEIR_CLI_UNITS_H
#define WEIR_CLI_UNITS_H

#include <stdio.h>

#include <weir/unit.h>

/* "couples channels, changes the rate", into text[size]; returns text. */
const char *cli_unit_flags(const weir_unit_info *unit, char *text, size_t size);
/* "- butterworth: {order: 4}": an entry that a chain file takes. */
void cli_unit_example(const weir_unit_info *unit, char *text, size_t size);
void cli_unit_markdown(const weir_unit_info *unit, FILE *file);

#endif
