/* SPDX-License-Identifier: MIT
 *
 * table.c: the table of kernels of one SIMD level. Compiled once per level, like all kernel files.
 */
#include "kernel/kernel.h"

#define WEIRI_TEXT2(a) #a
#define WEIRI_TEXT(a)  WEIRI_TEXT2(a)

extern const weiri_kernels WEIRI_JOIN(weiri_kernels, WEIRI_LEVEL);
const weiri_kernels WEIRI_JOIN(weiri_kernels, WEIRI_LEVEL) = {
    .level = WEIRI_TEXT(WEIRI_LEVEL),
    .lanes = WEIRI_VECTOR / sizeof(double),
#define X(ret, name, ...) .name = WEIRI_K(name),
#include "kernel/kernels.def"
#undef X
};
