/* SPDX-License-Identifier: MIT
 *
 * front.h: stacks of records of exactly one size each, before a tree: a stream takes and gives the same few
 * sizes over and over, and these need no search. What a stack has no room for is handed back to the caller,
 * for the tree. All calls under the cache's lock.
 */
#ifndef WEIRI_FRONT_H
#define WEIRI_FRONT_H

#include "cache/records.h"

#define WEIRI_FRONT_SLOTS 64 /* stacks */
#define WEIRI_FRONT_DEPTH 64 /* records of a stack */

/* The newest record of each stack; by left and right they stand in a ring, priority of the newest is their
 * number. A size may stand in one of two slots. */
typedef struct weiri_front {
    weiri_record *newest[WEIRI_FRONT_SLOTS];
    uint32_t count;
} weiri_front;

/* The one of `asked` that was pushed last, off its stack. NULL: none. */
weiri_record *weiri_front_pop(weiri_front *front, size_t asked);
weiri_record *weiri_front_peek(weiri_front *front, size_t asked);
/* Returns what had to make room, linked by next: the oldest of its size, or a stack of another. */
weiri_record *weiri_front_push(weiri_front *front, weiri_record *record);
void weiri_front_remove(weiri_front *front, weiri_record *record);
/* Empties all stacks; linked by next. */
weiri_record *weiri_front_drain(weiri_front *front);
/* Whether it stands in its stack, for checks. */
bool weiri_front_has(const weiri_front *front, const weiri_record *record);

#endif
