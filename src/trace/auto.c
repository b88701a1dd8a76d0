/* SPDX-License-Identifier: MIT
 *
 * auto.c: cache_limit: auto. Chooses the limit of a cache in use, by the same stack distances as
 * `weir trace tune` (distance.h), within WEIRI_TUNER_BYTES that count as the cache's metadata.
 *
 * Two things are bounded: the stack (the lowest part is forgotten; distances that are returned stay
 * exact) and the histogram of distances (sixteen buckets per octave; each remembers its largest
 * distance, so that the chosen limit is a distance that occurred, at most a sixteenth above the
 * exact answer).
 *
 * The choice is the smallest distance not exceeded by WEIRI_TUNER_RATE of the allocations; if even
 * the largest does not serve that many, by that share of those that can be served (a new cache has
 * not seen most of its sizes yet). The model is computed for the limit chosen last, so it converges
 * where model and cache agree. A new choice is made after 256 allocations, each time their number
 * has doubled, and from WINDOW / 4 on at each quarter of the window; at its end all counts are
 * halved, to follow a changing stream.
 *
 * If cached memory is kept in pieces (`pages`: granules), free bytes next to live ones cannot be
 * kept, which the model does not consider. So the limit is a multiple of the piece, and if the
 * cache itself serves less than the model predicts, by more than a hundredth, one piece is added,
 * until the model's own answer changes.
 *
 * When the choice exceeds the smallest limit: alternating lengths that could serve each other's
 * requests converge at a limit that keeps all of them (ten lengths of 300 to 3000 frames: 62 %
 * more); lengths that drift back and forth, where twice the limit serves a few thousandths more (a
 * third less to twice as much, depending on the seed); and buffers larger than the limit are
 * modelled as if they were kept. Finding the smaller limit would mean serving less for a while to
 * test it: `weir trace tune` does it by replaying.
 */
#include <string.h>

#include "cache/cache.h"
#include "cache/watch.h"
#include "trace/distance.h"

#define FIRST_TAKES 256
#define WINDOW      ((uint64_t)1 << 16)
#define OCTAVES     48 /* distances to 2^48 */
#define BUCKETS     (16 * OCTAVES)

typedef struct bucket {
    uint64_t count, largest;
} bucket;

typedef struct weiri_tuner {
    weiri_watcher watcher; /* must be first */
    uint64_t takes, hits;  /* weighted like the buckets */
    uint64_t seen;         /* allocations since the last halving, or in total before the first */
    uint64_t next;         /* choose when this many were seen */
    uint64_t modelled,
        /* hits since the last choice according to the model; the cache's own at that time */
        served;
    uint64_t chosen,
        extra; /* the model's last answer, in whole pieces; bytes of the pieces added to it */
    weiri_distance distance;
    bucket buckets[BUCKETS];
} weiri_tuner;

/* The four bits below the highest one select the sixteenth of its octave. */
static size_t bucket_of(uint64_t distance)
{
    if (distance < 16) {
        return (size_t)distance;
    }
    unsigned octave = 63u - (unsigned)__builtin_clzll(distance);
    size_t at = 16 * (size_t)(octave - 3) + (size_t)(distance >> (octave - 4) & 15);
    return at < BUCKETS ? at : BUCKETS - 1;
}

static void halve(weiri_tuner *tuner)
{
    tuner->takes /= 2;
    tuner->hits = 0;
    for (size_t i = 0; i < BUCKETS; i++) {
        tuner->buckets[i].count /= 2;
        if (tuner->buckets[i].count == 0) {
            tuner->buckets[i].largest = 0;
        }
        tuner->hits += tuner->buckets[i].count;
    }
}

static uint64_t choose(const weiri_tuner *tuner)
{
    double wanted = WEIRI_TUNER_RATE * (double)tuner->takes;
    if ((double)tuner->hits < wanted) {
        wanted = WEIRI_TUNER_RATE * (double)tuner->hits;
    }
    uint64_t sum = 0, limit = 0;
    for (size_t i = 0; i < BUCKETS && (double)sum < wanted; i++) {
        sum += tuner->buckets[i].count;
        limit = tuner->buckets[i].count > 0 ? tuner->buckets[i].largest : limit;
    }
    return limit;
}

/* The model's limit in whole pieces, plus what the cache has turned out to need. */
static uint64_t in_pieces(weiri_tuner *tuner, uint64_t limit, uint64_t hits)
{
    uint64_t grain = tuner->distance.policy->grain;
    uint64_t served = hits - tuner->served, modelled = tuner->modelled;
    tuner->served = hits;
    tuner->modelled = 0;
    if (grain == 0) {
        return limit;
    }
    limit += limit % grain > 0 ? grain - limit % grain : 0;
    if (limit != tuner->chosen) {
        tuner->chosen = limit;
        tuner->extra = 0;
    } else if ((double)served < WEIRI_TUNER_RATE * (double)modelled) {
        tuner->extra += grain;
    }
    return limit + tuner->extra;
}

/* A request with that charge; `hits` of the cache so far. True: a choice was made, *ret_limit. */
static bool model_take(weiri_tuner *tuner, uint64_t charged, uint64_t hits, uint64_t *ret_limit)
{
    uint64_t size = 0;
    uint64_t distance = weiri_distance_take(&tuner->distance, charged, &size);
    if (distance != WEIRI_DISTANCE_NEVER) {
        bucket *b = &tuner->buckets[bucket_of(distance)];
        b->count++;
        b->largest = distance > b->largest ? distance : b->largest;
        tuner->hits++;
        tuner->modelled += distance <= tuner->distance.limit;
    }
    tuner->takes++;
    if (++tuner->seen < tuner->next || tuner->hits == 0) {
        return false;
    }
    tuner->distance.limit = choose(tuner);
    *ret_limit = in_pieces(tuner, tuner->distance.limit, hits);
    if (tuner->seen >= WINDOW) {
        halve(tuner);
        tuner->seen = 0;
        tuner->next = WINDOW / 4;
    } else {
        tuner->next = tuner->next >= WINDOW / 4 ? tuner->next + WINDOW / 4 : 2 * tuner->next;
    }
    return true;
}

static void take(weiri_watcher *watcher, weir_cache *cache, weiri_record *record, size_t asked)
{
    /* If sizes matter, that of the request, not of the buffer that served it. */
    uint64_t limit = 0;
    uint64_t charged = cache->policy->ops->serves != NULL
                           ? cache->policy->ops->size(cache->policy, asked)
                           : record->buffer.charged;
    if (model_take((weiri_tuner *)(void *)watcher, charged, cache->hits, &limit) &&
        cache->automatic) {
        cache->auto_limit = limit;
        cache->cache_limit = cache->policy->cache_limit = limit;
        weiri_watch_mark(cache, WEIRI_MARK_CACHE_LIMIT, limit);
    }
}

static void give(weiri_watcher *watcher, const weiri_record *record)
{
    weiri_distance_give(&((weiri_tuner *)(void *)watcher)->distance, record->buffer.charged);
}

static const weiri_watcher_ops watcher_ops = {.take = take, .give = give};

weiri_watcher *weiri_tuner_init(void *memory, const struct weiri_policy *policy)
{
    weiri_tuner *tuner = memory;
    memset(tuner, 0, sizeof *tuner);
    tuner->watcher.ops = &watcher_ops;
    tuner->next = FIRST_TAKES;
    weiri_distance_init(&tuner->distance, policy, tuner + 1,
                        weiri_distance_runs(WEIRI_TUNER_BYTES - sizeof *tuner));
    return &tuner->watcher;
}
