/* SPDX-License-Identifier: MIT
 *
 * idle.c: a tree sorted by size and a list in order of use.
 *
 * The tree is a treap (a search tree kept balanced by random priorities): insertion and removal
 * write a few pointers on the way down, which suits records that contain their own links; with
 * 100,000 records it is about 40 levels deep. It neither allocates nor frees. With stacks in front
 * of it, freed buffers do not enter the tree until another size is searched for: a stream's steady
 * sizes are found without a search, however many buffers are cached.
 */
#include "cache/idle.h"

/* ---- the tree ------------------------------------------------------------------------------ */

static bool
stands_before(const weiri_tree *tree, const weiri_record *record, size_t asked, uint64_t stamp)
{
    if (record->asked != asked) {
        return record->asked < asked;
    }
    return tree->oldest_first ? record->stamp < stamp : record->stamp > stamp;
}

void weiri_tree_insert(weiri_tree *tree, weiri_record *record)
{
    tree->random =
        /* the same each time, so that runs can be repeated */
        tree->random != 0 ? tree->random : 0x9e3779b9u;
    tree->random ^= tree->random << 13;
    tree->random ^= tree->random >> 17;
    tree->random ^= tree->random << 5;
    record->priority = tree->random;
    weiri_record **link = &tree->root;
    while (*link != NULL && (*link)->priority >= record->priority) {
        bool before = stands_before(tree, *link, record->asked, record->stamp);
        link = before ? &(*link)->right : &(*link)->left;
    }
    weiri_record *rest = *link;
    weiri_record **left = &record->left, **right = &record->right;
    *link = record;
    while (rest != NULL) {
        if (stands_before(tree, rest, record->asked, record->stamp)) {
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

void weiri_tree_remove(weiri_tree *tree, weiri_record *record)
{
    weiri_record **link = &tree->root;
    while (*link != record) {
        bool before = stands_before(tree, *link, record->asked, record->stamp);
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

weiri_record *weiri_tree_find(const weiri_tree *tree, size_t bytes)
{
    weiri_record *best = NULL;
    for (weiri_record *at = tree->root; at != NULL;) {
        if (at->asked < bytes) {
            at = at->right;
        } else { /* equal sizes are in order, so the leftmost is the first */
            best = at;
            at = at->left;
        }
    }
    return best;
}

/* ---- tree and list ------------------------------------------------------------------------- */

/* Adds a cached record to the structure for its kind. */
enum { IN_TREE, IN_FRONT };

static void to_tree(weiri_idle *idle, weiri_record *list)
{
    while (list != NULL) {
        weiri_record *next = list->next;
        list->kind = IN_TREE;
        weiri_tree_insert(&idle->tree, list);
        list = next;
    }
}

weiri_record *weiri_idle_find(weiri_idle *idle, size_t asked, size_t bytes)
{
    if (idle->front != NULL) {
        weiri_record *record = weiri_front_peek(idle->front, asked);
        if (record != NULL) {
            return record;
        }
        to_tree(idle, weiri_front_drain(idle->front));
    }
    return weiri_tree_find(&idle->tree, bytes);
}

void weiri_idle_add(weiri_idle *idle, weiri_record *record)
{
    record->stamp = ++idle->stamp;
    record->state = WEIRI_RECORD_IDLE;
    record->newer = NULL;
    record->older = idle->newest;
    *(idle->newest != NULL ? &idle->newest->newer : &idle->oldest) = record;
    idle->newest = record;
    if (idle->front != NULL) {
        record->kind = IN_FRONT;
        to_tree(idle, weiri_front_push(idle->front, record));
    } else {
        record->kind = IN_TREE;
        weiri_tree_insert(&idle->tree, record);
    }
    idle->count++;
    idle->bytes += record->buffer.charged;
}

void weiri_idle_remove(weiri_idle *idle, weiri_record *record)
{
    if (record->kind == IN_FRONT) {
        weiri_front_remove(idle->front, record);
    } else {
        weiri_tree_remove(&idle->tree, record);
    }
    *(record->newer != NULL ? &record->newer->older : &idle->newest) = record->older;
    *(record->older != NULL ? &record->older->newer : &idle->oldest) = record->newer;
    idle->count--;
    idle->bytes -= record->buffer.charged;
}

/* ---- the walk ------------------------------------------------------------------------------ */

/* The depth depends on the priorities, about 3 log2(n): beyond this the tree is broken. */
#define DEPTH_MAX 400

typedef struct walk {
    const weiri_tree *tree;
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
    if (w->last != NULL && !stands_before(w->tree, w->last, at->asked, at->stamp)) {
        return false;
    }
    w->last = at;
    w->count++;
    w->bytes += at->buffer.charged;
    return tree_walk(at->right, at->priority, depth + 1, w);
}

weir_err weiri_idle_check(const weiri_idle *idle, const char *policy)
{
    walk tree = {.tree = &idle->tree};
    if (!tree_walk(idle->tree.root, UINT32_MAX, 0, &tree)) {
        return weiri_fail(WEIR_E_INTERNAL, "%s: the tree is out of order", policy);
    }
    uint64_t count = 0, bytes = 0, in_front = 0;
    const weiri_record *newer = NULL;
    for (const weiri_record *at = idle->newest; at != NULL && count <= idle->count;
         at = at->older) {
        if (at->kind == IN_FRONT) {
            if (idle->front == NULL || !weiri_front_has(idle->front, at)) {
                return weiri_fail(WEIR_E_INTERNAL, "%s: a buffer is not in its stack", policy);
            }
            in_front++;
            tree.count++;
            tree.bytes += at->buffer.charged;
        }
        if (at->newer != newer || (newer != NULL && newer->stamp <= at->stamp)) {
            return weiri_fail(WEIR_E_INTERNAL, "%s: the list is out of order", policy);
        }
        newer = at;
        count++;
        bytes += at->buffer.charged;
    }
    if (in_front != (idle->front != NULL ? idle->front->count : 0)) {
        return weiri_fail(WEIR_E_INTERNAL, "%s: a stack holds what is not in the list", policy);
    }
    if (newer != idle->oldest || count != tree.count || bytes != tree.bytes ||
        count != idle->count || bytes != idle->bytes) {
        return weiri_fail(WEIR_E_INTERNAL,
                          "%s: %llu buffers of %llu B in the list, %llu of %llu B in tree and "
                          "stacks, %llu counted",
                          policy, (unsigned long long)count, (unsigned long long)bytes,
                          (unsigned long long)tree.count, (unsigned long long)tree.bytes,
                          (unsigned long long)idle->count);
    }
    return WEIR_OK;
}
