/* SPDX-License-Identifier: MIT
 *
 * calls.h: kernels of kernels.def, as count.c calls them.
 */
#ifndef WEIR_COUNTS_CALLS_H
#define WEIR_COUNTS_CALLS_H

#include "bench/kernels/cases.h"

typedef struct count_call {
    const char *kernel; /* as in kernels.def */
    void (*run)(bench_tile *tile);
} count_call;

extern const count_call count_calls[]; /* ended by a NULL kernel */

#endif
