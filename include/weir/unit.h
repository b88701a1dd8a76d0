/* SPDX-License-Identifier: MIT
 *
 * weir/unit.h: list of processing units and their settings. How to write one: src/unit/unit.h.
 */
#ifndef WEIR_UNIT_H
#define WEIR_UNIT_H

#include <weir/array.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR_UNIT_COUPLES_CHANNELS 1u   /* an output channel depends on several inputs */
#define WEIR_UNIT_CHANGES_RATE     2u   /* outputs another number of frames than it gets */
#define WEIR_UNIT_IN_PLACE         4u   /* output may overwrite input */
#define WEIR_UNIT_ANY_DTYPE        8u   /* processes integers without conversion, keeps the dtype */
#define WEIR_UNIT_HOLDS_OVER_GAP   16u  /* on_gap is hold by default (S4) */
#define WEIR_UNIT_STATEFUL         32u  /* an output frame depends on earlier input */
#define WEIR_UNIT_COLUMNWISE       64u  /* processes each column independently */
#define WEIR_UNIT_JOINS            128u /* has two or more inputs, of equal rate */
#define WEIR_UNIT_COMPLEX          256u /* accepts complex values too; other units reject them */
#define WEIR_UNIT_RECORDS          512u /* detects events: see weir_chain_on_records */

/* A settling time: the output depends on all earlier input (counters, adaptive units). */
#define WEIR_SETTLES_NEVER UINT64_MAX

/* An event that a processing unit detected in its input: 32 bytes, without padding. */
typedef struct weir_record {
    uint64_t segment; /* counted by the chain, as in weir_message */
    int64_t index;    /* frame of the unit's input, counted from 0 within the segment */
    /* of that frame, row-major; if a frame has one value per channel, the channel */
    uint32_t column;
    uint32_t kind; /* as the page of the processing unit states */
    double value;  /* amplitude, in the physical unit of the channel */
} weir_record;

typedef struct weir_unit_info {
    const char *name;
    const char *summary; /* one line */
    uint32_t flags;
    uint32_t reserved;
    const weir_setting *settings; /* ends in a NULL name */
    /* Text of the unit's page; each may be NULL. In formulas x is the input, y the output, n the frame. */
    const char *before;  /* entries of a chain that its example needs before it: "- abs" */
    const char *formula; /* what is computed */
    const char *source;  /* where the formula and its constants are published */
    const char *start;   /* the state at the first frame of a segment */
    const char *ezmsg; /* classes of ezmsg-sigproc 3.11.1 with these settings, separated by spaces:
                            "ewma.EWMATransformer" */
    const char *differs; /* what differs from these classes, and why */
    const char *checks;  /* what tests compare its values with, if not recorded answers of ezmsg-sigproc */
} weir_unit_info;

/* Number of units, and one by number or by name. Valid as long as the process. Any thread.
 * WEIR_E_CHAIN: no such unit; the detail names the nearest. */
WEIR_API size_t weir_unit_count(void);
WEIR_API const weir_unit_info *weir_unit_at(size_t number);
WEIR_API WEIR_NODISCARD weir_err weir_unit_find(const char *name, const weir_unit_info **ret_info);

#ifdef __cplusplus
}
#endif
#endif
