/* SPDX-License-Identifier: MIT
 *
 * selection.h: "1:5:2", "Fp1, C[34]", "-1", [0, 3] -> indexes along an axis.
 */
#ifndef WEIRI_SELECTION_H
#define WEIRI_SELECTION_H

#include <weir/array.h>

#include "base/base.h"

typedef struct weiri_selection {
    const weir_axis *axis;
    bool keep_order;   /* entries as they are named, not as they lie on the axis */
    bool drop_none;    /* a name that fits nothing is left out, not an error */
    uint64_t *list;    /* room for axis->size indexes */
    bool *chosen;      /* axis->size of them, scratch */
    uint64_t count;    /* in list */
    uint64_t left_out; /* names that fitted nothing */
    bool single;       /* one bare number: the dimension goes */
} weiri_selection;

/* Fills list and count; no index twice. WEIR_E_CHAIN with a detail that starts with "selection:" and
 * says what there is. Allocates nothing. */
weir_err weiri_selection_resolve(weiri_selection *selection, const weir_value *value);

/* Whether the whole of text fits the pattern: letters stand for themselves, '.' for any, [abc] [a-z] [^a]
 * for some, each with * + ? behind it, '\' before a letter meant as such, '|' between patterns. Takes
 * time by length x length at most. False also for a pattern that is malformed or too long. */
bool weiri_pattern_fits(const char *pattern, size_t length, const char *text);

#endif
