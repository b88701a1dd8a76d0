/* SPDX-License-Identifier: MIT
 *
 * csv.h: what csv.c's descriptor takes from csv_write.c.
 */
#ifndef WEIRI_CSV_H
#define WEIRI_CSV_H

#include "recording/writer.h"

weir_err weiri_csv_holds(const weir_spec *spec, bool to_pipe);
extern const weiri_encoding weiri_csv_encoding;

#endif
