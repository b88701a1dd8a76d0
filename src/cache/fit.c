/* SPDX-License-Identifier: MIT
 *
 * fit.c: policy `fit`: whole buffers, best fit under a ceiling on waste, least recently used go first. For
 * any heap.
 *
 * Idle buffers stand in a tree by size and, among equals, the last one given back first: it is the one
 * that is still in the processor's caches. The tree is a treap (a search tree that random priorities keep
 * balanced): insertion and removal are a few pointer writes on the way down, which suits records that
 * carry their own links; 100,000 idle buffers are some 40 steps deep. A list beside it is in the order of
 * use. It does not split buffers or join them: that is for heaps with pages, and another policy.
 */
#include <string.h>

#include "cache/policy.h"

/* The ceiling. A buffer is charged whole to who takes it, so waste is live memory that nobody asked for:
 * a quarter of the request bounds what live can exceed what was asked by; and a fixed bound keeps one
 * long-lived buffer from holding on to megabytes. Lengths of messages vary by more than a quarter in few
 * streams, or else by factors (a stall), which no ceiling worth having would serve. */
#define WASTE_RATIO 4
#define WASTE_BYTES ((size_t)1 << 20)

typedef struct fit {
    weiri_policy policy; /* first */
    weiri_record *root;
    weiri_record *newest, *oldest;
    uint64_t stamp;  /* of the last one put */
    uint32_t random; /* xorshift state */
} fit;

static fit *self(weiri_policy *policy)
{
    return (fit *)policy;
}

/* ---- the tree: by asked rising, then by stamp falling --------------------------------------- */

static bool stands_before(const weiri_record *record, size_t asked, uint64_t stamp)
{
    return record->asked < asked || (record->asked == asked && record->stamp > stamp);
}

static void tree_insert(fit *f, weiri_record *record)
{
    weiri_record **link = &f->root;
    while (*link != NULL && (*link)->priority >= record->priority) {
        bool before = stands_before(*link, record->asked, record->stamp);
        link = before ? &(*link)->right : &(*link)->left;
    }
    weiri_record *rest = *link;
    weiri_record **left = &record->left, **right = &record->right;
    *link = record;
    while (rest != NULL) {
        if (stands_before(rest, record->asked, record->stamp)) {
            *left = rest;
            left = &rest->right;
            rest = rest->right;
        } else {
            *right = rest;
            right = &rest->left;
            rest = rest->left;
        }
    }
    *left = NULL;
    *right = NULL;
}

static void tree_remove(fit *f, weiri_record *record)
{
    weiri_record **link = &f->root;
    while (*link != record) {
        bool before = stands_before(*link, record->asked, record->stamp);
        link = before ? &(*link)->right : &(*link)->left;
    }
    weiri_record *left = record->left, *right = record->right;
    while (left != NULL && right != NULL) {
        if (left->priority >= right->priority) {
            *link = left;
            link = &left->right;
            left = left->right;
        } else {
            *link = right;
            link = &right->left;
            right = right->left;
        }
    }
    *link = left != NULL ? left : right;
}

/* The smallest that holds so many bytes, and of its size the newest. */
static weiri_record *tree_find(const fit *f, size_t bytes)
{
    weiri_record *best = NULL;
    for (weiri_record *at = f->root; at != NULL;) {
        if (stands_before(at, bytes, UINT64_MAX)) {
            at = at->right;
        } else {
            best = at;
            at = at->left;
        }
    }
    return best;
}

/* ---- idle: tree and list ------------------------------------------------------------------- */

static void idle_add(fit *f, weiri_record *record)
{
    f->random ^= f->random << 13;
    f->random ^= f->random >> 17;
    f->random ^= f->random << 5;
    record->priority = f->random;
    record->stamp = ++f->stamp;
    record->state = WEIRI_RECORD_IDLE;
    record->newer = NULL;
    record->older = f->newest;
    *(f->newest != NULL ? &f->newest->newer : &f->oldest) = record;
    f->newest = record;
    tree_insert(f, record);
    f->policy.idle_buffers++;
}

static void idle_remove(fit *f, weiri_record *record)
{
    tree_remove(f, record);
    *(record->newer != NULL ? &record->newer->older : &f->newest) = record->older;
    *(record->older != NULL ? &record->older->newer : &f->oldest) = record->newer;
    f->policy.idle_buffers--;
}

/* ---- slots --------------------------------------------------------------------------------- */

static weir_err init(weiri_policy *policy, uint64_t book_limit, uint64_t *ret_book)
{
    (void)book_limit;
    self(policy)->random = 0x9e3779b9u; /* any but 0; the same each time, so that runs repeat */
    *ret_book = 0;
    return WEIR_OK;
}

/* What the heap is asked for: all that the buffer occupies, where the heap then gives no more (pages),
 * so that any request of the same pages is served by it. */
static size_t ask_for(weir_heap *heap, size_t bytes, size_t good)
{
    return heap->ops->good_size(heap, good) == good ? good : bytes;
}

static uint64_t size(const weiri_policy *policy, size_t bytes)
{
    size_t good = policy->heap->ops->good_size(policy->heap, bytes);
    return good == SIZE_MAX ? UINT64_MAX : good;
}

static void place(weiri_policy *policy, size_t bytes, weiri_place *ret_place)
{
    fit *f = self(policy);
    uint64_t good = size(policy, bytes);
    *ret_place = (weiri_place){.from_heap = good};
    if (good == UINT64_MAX) {
        return;
    }
    weiri_record *record = tree_find(f, bytes);
    if (record != NULL) {
        uint64_t waste = record->buffer.charged > good ? record->buffer.charged - good : 0;
        if (waste <= good / WASTE_RATIO && waste <= WASTE_BYTES) {
            idle_remove(f, record);
            *ret_place = (weiri_place){.record = record, .from_idle = record->buffer.charged};
            return;
        }
    }
    record = weiri_records_get(policy->records);
    if (record != NULL) {
        record->asked = ask_for(policy->heap, bytes, (size_t)good);
        record->buffer.bytes = record->asked;
        record->buffer.charged = (size_t)good;
        ret_place->record = record;
    }
}

static uint64_t serves(const weiri_policy *policy, uint64_t charged)
{
    (void)policy;
    uint64_t waste = charged / WASTE_RATIO < WASTE_BYTES ? charged / WASTE_RATIO : WASTE_BYTES;
    return charged + waste;
}

static uint64_t put(weiri_policy *policy, weiri_record *record)
{
    idle_add(self(policy), record);
    return record->buffer.charged;
}

static void drop(weiri_policy *policy, uint64_t bytes, weiri_leaving *list)
{
    fit *f = self(policy);
    uint64_t dropped = 0;
    while (f->oldest != NULL && dropped < bytes) {
        weiri_record *record = f->oldest;
        idle_remove(f, record);
        record->state = WEIRI_RECORD_LEAVING;
        record->next = list->records;
        list->records = record;
        list->count++;
        list->bytes += record->buffer.charged;
        dropped += record->buffer.charged;
    }
}

/* Depth is what priorities make of it, some 3 log2(n): past this the tree is broken. */
#define DEPTH_MAX 400

typedef struct walk {
    const weiri_record *last; /* in order */
    uint64_t count, bytes;
} walk;

static bool tree_walk(const weiri_record *at, uint32_t above, int depth, walk *w)
{
    if (at == NULL) {
        return true;
    }
    if (depth > DEPTH_MAX || at->priority > above || at->state != WEIRI_RECORD_IDLE ||
        !tree_walk(at->left, at->priority, depth + 1, w)) {
        return false;
    }
    if (w->last != NULL && !stands_before(w->last, at->asked, at->stamp)) {
        return false;
    }
    w->last = at;
    w->count++;
    w->bytes += at->buffer.charged;
    return tree_walk(at->right, at->priority, depth + 1, w);
}

static weir_err check(weiri_policy *policy, uint64_t *ret_live, uint64_t *ret_idle)
{
    fit *f = self(policy);
    walk tree = {0};
    if (!tree_walk(f->root, UINT32_MAX, 0, &tree)) {
        return weiri_fail(WEIR_E_INTERNAL, "fit: the tree is out of order");
    }
    uint64_t count = 0, bytes = 0;
    const weiri_record *newer = NULL;
    for (const weiri_record *at = f->newest; at != NULL && count <= tree.count; at = at->older) {
        if (at->newer != newer || (newer != NULL && newer->stamp <= at->stamp)) {
            return weiri_fail(WEIR_E_INTERNAL, "fit: the list is out of order");
        }
        newer = at;
        count++;
        bytes += at->buffer.charged;
    }
    if (newer != f->oldest || count != tree.count || bytes != tree.bytes ||
        count != policy->idle_buffers) {
        return weiri_fail(WEIR_E_INTERNAL,
                          "fit: %llu buffers in the list, %llu in the tree, %llu counted",
                          (unsigned long long)count, (unsigned long long)tree.count,
                          (unsigned long long)policy->idle_buffers);
    }
    *ret_live = UINT64_MAX;
    *ret_idle = bytes;
    return WEIR_OK;
}

const weiri_policy_ops weiri_policy_fit = {
    .ops_size = sizeof(weiri_policy_ops),
    .name = "fit",
    .summary =
        "whole buffers, best fit with at most a quarter wasted, least recently used go first",
    .records = 1,
    .policy_bytes = sizeof(fit),
    .init = init,
    .size = size,
    .place = place,
    .put = put,
    .drop = drop,
    .check = check,
    .serves = serves,
};
