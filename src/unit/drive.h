/* SPDX-License-Identifier: MIT
 *
 * drive.h: for tests of units alone: plans a unit and runs it as a chain does, without chain and cache.
 * Each call gets guarded copies of the frames, which are overwritten afterwards (S7), guarded memory for the
 * output, scratch filled with garbage, and constants and state at another address than the call before.
 */
#ifndef WEIRI_DRIVE_H
#define WEIRI_DRIVE_H

#include "unit/drive_cuts.h"
#include "unit/drive_memory.h"
#include "unit/drive_run.h"
#include "unit/drive_values.h"

#endif
