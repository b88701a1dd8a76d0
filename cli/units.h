/* SPDX-License-Identifier: MIT
 *
 * units.h: a unit's descriptor as text, for weir units and for the pages in doc/.
 */
#ifndef WEIR_CLI_UNITS_H
#define WEIR_CLI_UNITS_H

#include <stdio.h>

#include <weir/unit.h>

/* Markdown: a unit's page, and the table of ezmsg-sigproc's classes. */
void cli_unit_markdown(const weir_unit_info *unit, FILE *file);
void cli_ezmsg_markdown(FILE *file);

const char *unit_type_text(const weir_setting *setting);
/* "Hz", or "" if the setting is not a quantity. */
const char *unit_physical_text(const weir_setting *setting);
const char *unit_preset_text(const weir_setting *setting);
/* The allowed values. Returns text. */
char *unit_range_text(const weir_setting *setting, char *text, size_t size);
/* "is stateful, changes the rate". Returns text. */
const char *unit_flags_text(const weir_unit_info *unit, char *text, size_t size);

/* on_gap: a setting of every stateful unit, which the chain reads. Its name is NULL where the unit has no state. */
weir_setting unit_gap_setting(const weir_unit_info *unit);

/* What can be changed while the chain runs, and what is ignored; each name between quotes. */
void unit_put_lines(const weir_unit_info *unit, FILE *file, const char *quote);

/* An entry of a chain file with the examples of the unit's table, and the entries required
 * before it. */
void unit_put_example(const weir_unit_info *unit, FILE *file, const char *indent);

#endif
