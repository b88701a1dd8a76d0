/* SPDX-License-Identifier: MIT
 *
 * forward_backward.h: filters by second-order sections that run over the signal forward and then backward, so that no
 * frequency is shifted in time: the units zero_phase and butterworth_zero_phase, which differ in their settings.
 *
 * The backward filter would have to begin at the end of the recording. It begins `ahead` frames behind the frames that
 * are output instead, in the steady state of the value there; how far that is decides the error. It goes over blocks of
 * `grain` frames on a grid that begins with the segment, so the result does not depend on message boundaries (S1). At a
 * segment's end it begins at the end.
 */
#ifndef WEIRI_FORWARD_BACKWARD_H
#define WEIRI_FORWARD_BACKWARD_H

#include "unit/iir.h"

typedef struct weiri_forward_backward {
    uint64_t grain, ahead;  /* frames */
    uint64_t padding;       /* frames by which both ends are extended oddly; 0 = they are not */
    weiri_recursive filter; /* the last one: it ends with the sections that there are */
} weiri_forward_backward;

/* What a unit's settings ask for. */
typedef struct weiri_forward_backward_design {
    weiri_sos_params sections; /* none: the signal passes through */
    uint64_t grain, ahead;     /* frames; at least padding + 1 are looked ahead */
    uint64_t padding;
} weiri_forward_backward_design;

/* For plan. The design is kept for the other functions of such a unit, which are these. */
weir_err weiri_forward_backward_plan(weiri_unit_plan *plan,
                                     const weiri_forward_backward_design *design);
void weiri_forward_backward_prepare(const void *settings,
                                    const weiri_unit_plan *plan,
                                    void *constants);
uint64_t
weiri_forward_backward_settle(const void *settings, const weiri_unit_plan *plan, double tolerance);
void weiri_forward_backward_reset(weiri_block *block);
void weiri_forward_backward_run(weiri_block *block, const weiri_work *work);

/* Row of both tables. */
#define WEIRI_GRAIN_SETTING(owner, member)                                                         \
    {                                                                                              \
        .name = "grain", .type = WEIR_SETTING_INTEGER, .preset = "null", .min = 1,                 \
        .max = 4294967296.0, .offset = offsetof(owner, member),                                    \
        .help = "frames in a block; default: as many as are looked ahead; fewer need less memory " \
                "and lag, and more computation"                                                    \
    }

#endif
