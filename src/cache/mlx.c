/* SPDX-License-Identifier: MIT
 *
 * mlx.c: policies `mlx:cpu`, `mlx:cuda` and `mlx:metal`: the behaviour of MLX 0.32's own buffer
 * cache, exact to the byte. For comparison, and to show how a stream affects it; it does not keep
 * M1.
 *
 * Rules common to all three:
 *   - a request is rounded to s; the smallest cached c with s <= c < min(2 s, s + 2 pages) serves it, unsplit;
 *     among equal sizes the oldest;
 *   - a freed buffer becomes the newest; the oldest are evicted first;
 *   - if at least 90 % of the cache must be released, all of it is.
 *
 *              rounds up to                                     page     admits a freed buffer     a lowered
 *                                                                        where                     limit acts
 *   mlx:cpu    nothing                                          4 KiB    cached + it <= limit      at once
 *   mlx:cuda   8 B; the next power of two; from 16 KiB: pages   16 KiB   cached < limit before it  at a take
 *   mlx:metal  above a page: pages                              16 KiB   cached < limit before it  at a take
 *
 * So on cuda and metal the limit is a high-water mark that one buffer can exceed: the bound is
 * limit + largest buffer, and the cache is trimmed at the next allocation, hit or miss. Default
 * limits: 32 MiB (cpu), the device (the others: none here).
 *
 * The rules use rounded sizes, the sums the size that the heap states as occupied (M4): on a heap
 * that charges exactly what was requested (`nominal`, a device) both are equal, and every row of
 * the recorded runs is reproduced. Unlike in MLX, memory_limit is a strict bound here (M2). Metal's
 * limit on the number of buffers is the core's max_buffers.
 */
#include "cache/idle.h"
#include "cache/policy.h"

#define CPU_PAGE    ((size_t)4096)
#define DEVICE_PAGE ((size_t)16384)
#define CPU_LIMIT   (UINT64_C(32) << 20)
#define SMALLEST    ((size_t)8)

typedef struct mlx {
    weiri_policy policy; /* must be first */
    weiri_idle idle;
} mlx;

static mlx *self(weiri_policy *policy)
{
    return (mlx *)policy;
}

static bool is(const weiri_policy *policy, const weiri_policy_ops *variant)
{
    return policy->ops == variant;
}

static size_t page_of(const weiri_policy *policy)
{
    return is(policy, &weiri_policy_mlx_cpu) ? CPU_PAGE : DEVICE_PAGE;
}

/* SIZE_MAX: too large to be rounded. */
static size_t round_up(const weiri_policy *policy, size_t bytes)
{
    if (is(policy, &weiri_policy_mlx_cpu)) {
        return bytes;
    }
    if (is(policy, &weiri_policy_mlx_cuda) && bytes < DEVICE_PAGE) {
        size_t rounded = SMALLEST;
        while (rounded < bytes) {
            rounded *= 2;
        }
        return rounded;
    }
    return bytes > DEVICE_PAGE ? weiri_round_up(bytes, DEVICE_PAGE) : bytes;
}

/* The smallest size that no longer serves a request of `size`. */
static size_t reuse_end(const weiri_policy *policy, size_t size)
{
    size_t window = 2 * page_of(policy);
    size_t more = size < window ? size : window;
    return size > SIZE_MAX - more ? SIZE_MAX : size + more;
}

/* ---- slots --------------------------------------------------------------------------------- */

static weir_err init(weiri_policy *policy, uint64_t book_limit, uint64_t *ret_book)
{
    (void)book_limit;
    self(policy)->idle.tree.oldest_first = true;
    *ret_book = 0;
    return WEIR_OK;
}

static uint64_t size(const weiri_policy *policy, size_t bytes)
{
    size_t rounded = round_up(policy, bytes);
    size_t good =
        rounded == SIZE_MAX ? SIZE_MAX : policy->heap->ops->good_size(policy->heap, rounded);
    return good == SIZE_MAX ? UINT64_MAX : good;
}

/* The largest cached size that can serve a request with this charge: the last rounded size below
 * the end of the range. */
static uint64_t serves(const weiri_policy *policy, uint64_t charged)
{
    size_t last = reuse_end(policy, (size_t)charged) - 1, page = page_of(policy);
    if (round_up(policy, last) > last && last >= page) {
        last = last / page * page;
    }
    size_t good = policy->heap->ops->good_size(policy->heap, last);
    return good == SIZE_MAX ? UINT64_MAX : good;
}

static void remove_idle(mlx *m, weiri_record *record)
{
    weiri_idle_remove(&m->idle, record);
    m->policy.idle_buffers = m->idle.count;
}

static void place(weiri_policy *policy, size_t bytes, weiri_place *ret_place)
{
    mlx *m = self(policy);
    uint64_t charged = size(policy, bytes);
    *ret_place = (weiri_place){.from_heap = charged};
    if (charged == UINT64_MAX) {
        return;
    }
    size_t rounded = round_up(policy, bytes);
    weiri_record *record = weiri_tree_find(&m->idle.tree, rounded);
    if (record != NULL && record->asked < reuse_end(policy, rounded)) {
        remove_idle(m, record);
        *ret_place = (weiri_place){.record = record, .from_idle = record->buffer.charged};
        return;
    }
    record = weiri_records_get(policy->records);
    if (record != NULL) {
        record->asked = rounded;
        record->buffer.bytes = rounded;
        record->buffer.charged = (size_t)charged;
        ret_place->record = record;
    }
}

static bool admits(const weiri_policy *policy, const weiri_sums *sums)
{
    if (is(policy, &weiri_policy_mlx_cpu)) {
        return sums->asked <= sums->cache_limit && sums->idle <= sums->cache_limit - sums->asked;
    }
    return sums->idle < sums->cache_limit;
}

static uint64_t put(weiri_policy *policy, weiri_record *record)
{
    mlx *m = self(policy);
    weiri_idle_add(&m->idle, record);
    policy->idle_buffers = m->idle.count;
    return record->buffer.charged;
}

static uint64_t excess(const weiri_policy *policy, weiri_moment moment, const weiri_sums *sums)
{
    bool now =
        moment == WEIRI_AT_TAKE || (moment == WEIRI_AT_LIMIT && is(policy, &weiri_policy_mlx_cpu));
    return now && sums->idle > sums->cache_limit ? sums->idle - sums->cache_limit : 0;
}

static void drop(weiri_policy *policy, uint64_t bytes, weiri_leaving *list)
{
    mlx *m = self(policy);
    bool all = (double)bytes >= 0.9 * (double)m->idle.bytes;
    uint64_t dropped = 0;
    while (m->idle.oldest != NULL && (all || dropped < bytes)) {
        weiri_record *record = m->idle.oldest;
        remove_idle(m, record);
        weiri_leaving_add(list, record);
        dropped += record->buffer.charged;
    }
}

static weir_err check(weiri_policy *policy, uint64_t *ret_live, uint64_t *ret_idle)
{
    mlx *m = self(policy);
    weir_err err = weiri_idle_check(&m->idle, policy->ops->name);
    if (err == WEIR_OK && m->idle.count != policy->idle_buffers) {
        err = weiri_fail(WEIR_E_INTERNAL, "%s: idle_buffers is wrong", policy->ops->name);
    }
    *ret_live = UINT64_MAX;
    *ret_idle = m->idle.bytes;
    return err;
}

#define SLOTS                                                                                      \
    .ops_size = sizeof(weiri_policy_ops), .records = 1, .policy_bytes = sizeof(mlx), .init = init, \
    .size = size, .place = place, .admits = admits, .put = put, .excess = excess, .drop = drop,    \
    .check = check, .serves = serves

const weiri_policy_ops weiri_policy_mlx_cpu = {
    .name = "mlx:cpu",
    .summary = "as MLX's cache on its CPU backend: near-exact reuse, a strict limit",
    .own_limit = CPU_LIMIT,
    SLOTS,
};

const weiri_policy_ops weiri_policy_mlx_cuda = {
    .name = "mlx:cuda",
    .summary = "as MLX's cache on CUDA: near-exact reuse, a limit that one buffer can pass",
    SLOTS,
};

const weiri_policy_ops weiri_policy_mlx_metal = {
    .name = "mlx:metal",
    .summary = "as MLX's cache on Metal: near-exact reuse of whole pages, a limit that one buffer "
               "can pass",
    SLOTS,
};
