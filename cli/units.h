/* SPDX-License-Identifier: MIT
 *
 * units.h: a unit's page, for weir units and for the documents.
 */
#ifndef WEIR_CLI_UNITS_H
#define WEIR_CLI_UNITS_H

#include <stdio.h>

#include <weir/unit.h>

void cli_unit_markdown(const weir_unit_info *unit, FILE *file);

#endif
