/* SPDX-License-Identifier: MIT
 *
 * pages.c: policy `pages`: runs of pages in a reserved range, for heaps that commit and decommit.
 * Freed bytes can serve any size: neighbours are joined, the next request is carved from them, and
 * bytes left over next to a buffer can be used together with fresh ones as one run. Runs are in
 * runs.c, committed and idle granules in granules.c, the choice of a run in choose.c; this file has
 * the policy's functions and the reasons for its design.
 *
 * Figures, all of bench/alloc_stream.c: the stall stream, 24,000 messages, live peak 234.4 MiB. Medians of 5 on a
 * machine of 16 cores, beside mimalloc 0.64 s, tcmalloc 0.68, glibc 3.8, jemalloc 4.9 in the same run:
 *
 *   limit, MiB      none    128     16      8
 *   2 MiB granules  0.34 s  0.78 s  1.85 s  1.75 s
 *   256 KiB         0.46    1.67    4.33           (one run)
 *   64 KiB          0.40    1.67    4.35           (one run)
 *
 * And on a busy one of 2 cores, processor time, medians of 4 (least .. most): mimalloc 0.56 s (0.55 .. 0.73),
 * tcmalloc 0.58 (0.56 .. 0.59), jemalloc 5.8 (5.6 .. 6.0), glibc 7.5 (7.4 .. 7.8); held peak 236 to 238 MiB:
 *
 *   limit    none  128 MiB  32 MiB  16 MiB  8 MiB  4 MiB  1 MiB  256 KiB  64 KiB  0
 *   median   0.28  0.46     0.99    1.04    1.12   3.6    7.8    8.3      8.5     7.9
 *   least    0.27  0.44     0.91    1.02    1.08   3.2    7.6    7.8      7.0     7.7
 *   most     0.41  0.48     1.07    1.17    1.27   3.8    9.6    9.3      9.5     8.9
 *
 * Granules. Only whole huge pages are worth returning: one page fault takes 110 us there (300 if
 * its memory is no longer in the processor's caches), 512 faults of 4 KiB take 770; commit and
 * decommit themselves take 10. Half a huge page cannot be returned at all: RSS falls but the memory
 * stays allocated. So a granule is 2 MiB, and smaller only if that would be more than a sixteenth
 * of memory_limit. At a limit of 4 MiB granules of 1 MiB took 1705 us a message and those of 2 MiB
 * 135, and glibc took 980 in the same runs. The worst-case plan (cost.c) is too high by up to one
 * granule per buffer.
 *
 * Limits below one granule (2 MiB). With granules of 2 MiB nothing could be kept; granules of a
 * quarter of the limit alone, as in an earlier version, cost single page faults for everything
 * above it. So there are both: fresh bytes come as fine granules as long as the fine ones in use
 * stay within the limit, since these can be kept when freed, and beyond that as coarse ones of 2
 * MiB, which must be decommitted and zeroed again in any case. A stream that fits the limit is
 * served from cached memory as before; the stall stream took (us a message, medians of 3, 2,400
 * messages, both builds alternating, glibc 660 in the same runs)
 *
 *   limit              1 MiB  256 KiB  64 KiB  0
 *   fine granules only  3280     3850    3920  320
 *   both                 320      310     300  270
 *
 * Only live bytes of fine granules are counted: a large long-lived buffer does not prevent small
 * ones from being kept. The cost: a buffer above the limit occupies 2 MiB, as at limit 0, and if it
 * is only slightly above, takes longer: 300 KiB at limit 256 KiB, all touched, 79 us instead of 34,
 * since four of five granules had been kept. At 64 KiB it is 76 instead of 136.
 *
 * Limit 0. Between two messages of that stream nothing is in use, so nothing may be kept: 6 MiB are
 * decommitted and zeroed again 24,000 times, 141 GB. The cost is the zeroing, not the calls: on a
 * 2-core machine 6 MiB in three huge pages take 220 us whether they are advised, populated at once
 * (MADV_POPULATE_WRITE) or left to page faults, and nine tenths of that is the kernel's clear_page
 * (three quarters of the whole stream); as 4 KiB pages 3900 us by faults, 3250 populated. Other
 * ways to reuse bytes without zeroing (MADV_FREE, a file, deferred freeing) are ways to keep them.
 * So at limit 0, and any limit below 2 MiB, glibc can be faster, here by 4 to 13 % over 24,000
 * messages (in the first 2,400 it is half as fast): it keeps 7 to 25 MiB between messages, as its
 * RSS between messages shows (its trim threshold rises to twice the largest block freed by munmap).
 * Told to keep nothing it takes 4600 to 5400 us a message, and limit 0 takes 280 to 440 (both in
 * the same runs, on a busy machine). From a limit of 4 MiB on, less than what glibc keeps, pages is
 * faster. To avoid both idle bytes and this cost, run tiled.
 *
 * Fragmentation. Sizes are rounded to 4 KiB: rounded to 2 MiB the hot set of 6 MiB becomes 40.
 * Small requests, up to a 32nd of a granule, share granules of their own: 400 long-lived buffers of
 * 5 KiB within the stream kept 37 MiB, and now 4. Free bytes next to live buffers count as live,
 * and also as pinned. Freed runs go to stacks of one size (front.h) and are joined before another
 * size is placed: when they were joined only if nothing else was found, the held peak of the stall
 * stream was up to 10 % above its live peak; now it is 0.7 %.
 *
 * The hot pair, allocating and freeing the steady size: 35 ns on a 2-core machine, also with
 * 100,000 cached buffers (alloc_stream prints all columns). Two threads contend for one lock:
 * stacks per thread would need sums of their own, and the peaks would no longer be exact (M4).
 */
#include "cache/pages/pages.h"

/* ---- granules ------------------------------------------------------------------------------ */

#define GRANULE_MAX ((size_t)2 << 20)
#define GRANULE_MIN ((size_t)64 << 10)

#ifndef WEIRI_GRANULE
#define WEIRI_GRANULE 0
#endif

/* The largest that is no more than `most`, or the smallest. */
static size_t granule_within(uint64_t most)
{
    size_t granule = GRANULE_MAX;
    while (granule > GRANULE_MIN && granule > most) {
        granule /= 2;
    }
    return granule;
}

static void set_grain(weiri_grain *grain, size_t granule)
{
    grain->granule = granule;
    grain->ready.oldest_first = grain->nursery.oldest_first = grain->none.oldest_first = true;
}

static void choose_grains(weiri_pages *p)
{
    const weiri_policy *policy = &p->policy;
    size_t page = policy->heap->ops->page_size(policy->heap);
    size_t coarse = WEIRI_GRANULE != 0 ? WEIRI_GRANULE : granule_within(policy->memory_limit / 16);
    coarse = coarse > page ? coarse : page;
    set_grain(&p->grains[WEIRI_COARSE], coarse);
    size_t fine = granule_within(policy->cache_limit / 4);
    fine = fine > page ? fine : page;
    if (fine < coarse && fine <= policy->cache_limit && policy->cache_limit < coarse) {
        set_grain(&p->grains[WEIRI_FINE], fine);
    }
}

static weir_err init(weiri_policy *policy, uint64_t book_limit, uint64_t *ret_book)
{
    weiri_pages *p = weiri_pages_of(policy);
    choose_grains(p);
    size_t fine = p->grains[WEIRI_FINE].granule;
    policy->grain = fine > 0 ? fine : p->grains[WEIRI_COARSE].granule;
    p->small_max = policy->grain / 32 > WEIRI_UNIT ? policy->grain / 32 : WEIRI_UNIT;
    uint64_t book = weiri_pages_growth(p, 1);
    if (book > book_limit) { /* M2 */
        return weiri_fail(WEIR_E_LIMIT, "cache: %llu bytes asked for its pages' table, limit %llu",
                          (unsigned long long)book, (unsigned long long)policy->memory_limit);
    }
    weir_err err = weiri_pages_begin(p);
    if (err == WEIR_OK) {
        weiri_pages_grown(policy);
        *ret_book = book;
    }
    return err;
}

/* ---- what serves a request ----------------------------------------------------------------- */

/* A buffer freed with exactly that many bytes, unchanged since: the hot path. */
static inline bool place_front(weiri_pages *p, size_t bytes, weiri_place *ret_place)
{
    weiri_record *run = weiri_front_pop(&p->front, bytes);
    if (run == NULL) {
        return false;
    }
    ret_place->from_idle = weiri_granules_use(p, weiri_space_of(p, run), weiri_run_start(run),
                                              bytes, &ret_place->from_heap);
    run->kind = WEIRI_RUN_LIVE;
    run->buffer.charged = bytes;
    ret_place->record = run;
    return true;
}

/* Claims a run of that many bytes; a record in *ret_place if one is available. `more`: records
 * that the caller needs in addition. */
static void place_run(weiri_pages *p, size_t bytes, uint64_t more, weiri_place *ret_place)
{
    weiri_records *records = p->policy.records;
    weiri_record *run = NULL;
    if (more > 0 && records->free_count >= more && place_front(p, bytes, ret_place)) {
        return;
    }
    weiri_spot at;
    if (!weiri_pages_choose(p, bytes, &at)) {
        ret_place->book = weiri_pages_growth(p, bytes);
        ret_place->from_heap = ret_place->book > 0
                                   ? weiri_round_up(bytes, p->grains[WEIRI_COARSE].granule)
                                   : UINT64_MAX;
        return;
    }
    weiri_space *space = weiri_space_of(p, at.first);
    if (records->free_count < more + 2) {
        ret_place->from_heap = weiri_granules_missing(space, at.start, bytes);
        return;
    }
    if (bytes <= p->small_max) {
        weiri_granule_set_small(p, weiri_granule_of(space, at.start), true);
    }
    run = weiri_records_get(records);
    weiri_run_carve(p, at.first, at.start, bytes, run, weiri_records_get(records));
    ret_place->from_idle = weiri_granules_use(p, space, at.start, bytes, &ret_place->from_heap);
    if (ret_place->from_heap == 0) {
        weiri_run_settle(p, run);
    }
    ret_place->record = run;
}

static void place_small(weiri_pages *p, size_t bytes, weiri_place *ret_place)
{
    weiri_records *records = p->policy.records;
    size_t class = weiri_small_class(bytes);
    if (p->slabs[class] != NULL) {
        ret_place->record = weiri_records_get(records);
        if (ret_place->record != NULL) {
            (void)weiri_small_place(p, class, ret_place->record);
        }
        return;
    }
    place_run(p, WEIRI_UNIT, 1, ret_place);
    weiri_record *slab = ret_place->record;
    if (slab == NULL) {
        return;
    }
    weiri_record *record = weiri_records_get(records);
    weiri_slab_make(slab, class, record);
    if (ret_place->from_heap == 0) {
        weiri_slab_open(p, slab, record);
    }
    ret_place->record = record;
}

/* ---- slots --------------------------------------------------------------------------------- */

static uint64_t size(const weiri_policy *policy, size_t bytes)
{
    const weiri_pages *p = (const weiri_pages *)(const void *)policy;
    const weiri_grain *coarse = &p->grains[WEIRI_COARSE];
    size_t good = weiri_round_up(bytes, coarse->granule);
    if (good > (UINT64_C(1) << 46)) {
        return UINT64_MAX;
    }
    /* Memory for it in the table, if the known addresses are used up. */
    size_t page = policy->book_heap->ops->page_size(policy->book_heap);
    return good + weiri_round_up(good / coarse->granule * sizeof(weiri_granule), page);
}

static void place(weiri_policy *policy, size_t bytes, weiri_place *ret_place)
{
    weiri_pages *p = weiri_pages_of(policy);
    size_t rounded = (bytes + WEIRI_UNIT - 1) & ~(size_t)(WEIRI_UNIT - 1); /* 0: too large */
    ret_place->book = 0;
    if (bytes > WEIRI_SMALL_MAX && place_front(p, rounded, ret_place)) {
        return;
    }
    *ret_place = (weiri_place){0};
    if (bytes <= WEIRI_SMALL_MAX) {
        place_small(p, bytes, ret_place);
    } else if (rounded == 0) {
        ret_place->from_heap = UINT64_MAX;
    } else {
        place_run(p, rounded, 0, ret_place);
        if (ret_place->record != NULL) {
            ret_place->record->buffer.charged = rounded;
        }
    }
}

static weiri_record *run_of(weiri_record *record)
{
    return record->kind == WEIRI_RUN_SMALL ? record->left : record;
}

static weir_err acquire(weiri_policy *policy, weiri_record *record)
{
    return weiri_granules_commit(weiri_pages_of(policy), run_of(record));
}

static void settle(weiri_policy *policy, weiri_record *record)
{
    weiri_pages *p = weiri_pages_of(policy);
    weiri_record *run = run_of(record);
    weiri_granules_mark(p, run, WEIRI_GRANULE_COMMITTING, WEIRI_GRANULE_READY);
    weiri_run_settle(p, run);
    if (run != record) {
        weiri_slab_open(p, run, record);
    }
}

static uint64_t cancel(weiri_policy *policy, weiri_record *record)
{
    weiri_pages *p = weiri_pages_of(policy);
    weiri_record *run = run_of(record);
    uint64_t idle = weiri_granules_unuse(p, weiri_space_of(p, run),
                                         weiri_run_start(run) + run->stamp, run->asked, false);
    weiri_run_uncarve(p, run);
    if (run != record) {
        weiri_records_put(policy->records, record);
    }
    return idle;
}

/* Freed runs are not joined at once: the next request mostly has the same size. */
static uint64_t put(weiri_policy *policy, weiri_record *record)
{
    weiri_pages *p = weiri_pages_of(policy);
    weiri_record *run = record;
    if (record->kind == WEIRI_RUN_SMALL) {
        run = record->left;
        bool empty = weiri_small_put(p, record);
        weiri_records_put(policy->records, record);
        if (!empty) {
            return 0;
        }
    }
    /* A buffer larger than all that may be cached is freed first, and evicts nothing. */
    weiri_space *space = weiri_space_of(p, run);
    bool first_to_go =
        run->buffer.bytes > policy->cache_limit || space->granule > policy->cache_limit;
    uint64_t idle =
        weiri_granules_unuse(p, space, weiri_run_start(run), run->buffer.bytes, first_to_go);
    run->kind = WEIRI_RUN_QUICK;
    run->state = WEIRI_RECORD_TAKEN;
    weiri_record *out = weiri_front_push(&p->front, run);
    while (out != NULL) {
        weiri_record *next = out->next;
        weiri_run_free(p, out, weiri_run_zone(p, out));
        out = next;
    }
    return idle;
}

/* ---- leaving ------------------------------------------------------------------------------- */

static void drop(weiri_policy *policy, uint64_t bytes, weiri_leaving *list)
{
    weiri_pages *p = weiri_pages_of(policy);
    weiri_record *last = NULL; /* newest in the list */
    for (uint64_t dropped = 0; p->oldest != NULL && dropped < bytes;) {
        weiri_granule *granule = p->oldest;
        weiri_granule_not_idle(p, granule);
        granule->state = WEIRI_GRANULE_LEAVING;
        weiri_record *run = weiri_run_cut_out(p, granule);
        dropped += run->buffer.bytes;
        list->bytes += run->buffer.bytes;
        list->count++;
        if (last != NULL && run->below == last) { /* one heap call for neighbours */
            weiri_run_join(p, last, run);
            continue;
        }
        run->next = last;
        if (last != NULL && run->above == last) {
            run->next = last->next;
            weiri_run_join(p, run, last);
        }
        last = run;
    }
    list->token = (uint64_t)(uintptr_t)last;
}

static weiri_record *first_leaving(const weiri_leaving *list)
{
    return (weiri_record *)(uintptr_t)list->token;
}

static void release(weiri_policy *policy, weiri_leaving *list)
{
    for (weiri_record *run = first_leaving(list); run != NULL; run = run->next) {
        weir_err err = weiri_granules_decommit(weiri_pages_of(policy), run);
        run->priority = err != WEIR_OK; /* stays idle */
    }
}

static uint64_t left(weiri_policy *policy, weiri_leaving *list)
{
    weiri_pages *p = weiri_pages_of(policy);
    uint64_t back = 0;
    weiri_record *run = first_leaving(list);
    while (run != NULL) {
        weiri_record *next = run->next;
        if (run->priority == 0) {
            weiri_granules_mark(p, run, WEIRI_GRANULE_LEAVING, WEIRI_GRANULE_NONE);
            weiri_run_free(p, run, WEIRI_RUN_NONE);
        } else {
            weiri_space *space = weiri_space_of(p, run);
            weiri_granule *granule = weiri_granule_of(space, weiri_run_start(run));
            for (size_t i = 0; i < run->buffer.bytes >> space->shift; i++) {
                weiri_granule_idle(p, &granule[i], true);
            }
            weiri_granules_mark(p, run, WEIRI_GRANULE_LEAVING, WEIRI_GRANULE_READY);
            back += run->buffer.bytes;
            weiri_run_free(p, run, WEIRI_RUN_FREE);
        }
        run = next;
    }
    return back;
}

const weiri_policy_ops weiri_policy_pages = {
    .ops_size = sizeof(weiri_policy_ops),
    .name = "pages",
    .summary = "pages of a reserved range, best fit, cut and joined; idle granules leave by least "
               "recent use",
    .heap_flags = WEIR_HEAP_PAGES,
    .records = 3,
    .policy_bytes = sizeof(weiri_pages),
    .init = init,
    .fini = weiri_pages_fini,
    .size = size,
    .place = place,
    .cancel = cancel,
    .acquire = acquire,
    .settle = settle,
    .grow = weiri_pages_grow,
    .grown = weiri_pages_grown,
    .put = put,
    .drop = drop,
    .release = release,
    .left = left,
    .cuts = true,
    .check = weiri_pages_check,
};
