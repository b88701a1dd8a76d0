/* SPDX-License-Identifier: MIT
 *
 * watch.h: what may look at a cache's takes and gives: a trace that is being recorded, and the model that
 * chooses the limit where cache_limit is `auto`. A cache without either pays one test of `watched`.
 * All calls under the cache's lock unless said otherwise.
 */
#ifndef WEIRI_WATCH_H
#define WEIRI_WATCH_H

#include "cache/records.h"

typedef struct weiri_recorder weiri_recorder;
typedef struct weiri_tuner weiri_tuner;

typedef enum weiri_mark {
    WEIRI_MARK_END,
    WEIRI_MARK_CACHE_LIMIT,
    WEIRI_MARK_MEMORY_LIMIT,
    WEIRI_MARK_CLEAR,
    WEIRI_MARK_CHARGE,
    WEIRI_MARK_UNCHARGE
} weiri_mark;

/* A take that was served, after it is counted. May change cache_limit (auto). */
void weiri_watch_take(weir_cache *cache, weiri_record *record, size_t asked);
/* A buffer that is given back, before anything else. */
void weiri_watch_give(weir_cache *cache, weiri_record *record);
void weiri_watch_mark(weir_cache *cache, weiri_mark mark, uint64_t value);

/* ---- trace.c ------------------------------------------------------------------------------- */

void weiri_recorder_take(weiri_recorder *recorder, weiri_record *record, uint64_t asked);
void weiri_recorder_give(weiri_recorder *recorder, const weiri_record *record);
void weiri_recorder_mark(weiri_recorder *recorder, weiri_mark mark, uint64_t value);

/* ---- auto.c -------------------------------------------------------------------------------- */

/* What the model takes, all told. Stated, whatever the cache does. */
#define WEIRI_TUNER_BYTES ((size_t)96 << 10)
#define WEIRI_TUNER_RATE  0.99
/* The limit until it has chosen. */
#define WEIRI_AUTO_START (UINT64_C(512) << 20)

struct weiri_policy;
/* In memory of WEIRI_TUNER_BYTES, which becomes the tuner. */
void weiri_tuner_init(weiri_tuner *tuner, const struct weiri_policy *policy);
/* A take that was charged so much; `hits` of the cache so far. True: it has chosen, *ret_limit. */
bool weiri_tuner_take(weiri_tuner *tuner, uint64_t charged, uint64_t hits, uint64_t *ret_limit);
void weiri_tuner_give(weiri_tuner *tuner, uint64_t charged);

#endif
