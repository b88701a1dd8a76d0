/* SPDX-License-Identifier: MIT
 *
 * idle.h: idle buffers as policies of whole buffers keep them: a tree by size, and a list in the order of
 * use. Which buffer serves what is the policy's. All calls under the cache's lock.
 */
#ifndef WEIRI_IDLE_H
#define WEIRI_IDLE_H

#include "cache/front.h"

/* Records by `asked` rising; among equals by stamp: the newest first, or the oldest. */
typedef struct weiri_tree {
    weiri_record *root;
    bool oldest_first;
    uint32_t random; /* xorshift state; 0 = not used yet */
} weiri_tree;

void weiri_tree_insert(weiri_tree *tree, weiri_record *record);
void weiri_tree_remove(weiri_tree *tree, weiri_record *record);
/* The smallest that holds so many bytes, and of its size the first. NULL: none. */
weiri_record *weiri_tree_find(const weiri_tree *tree, size_t bytes);

typedef struct weiri_idle {
    weiri_tree tree;
    weiri_front *front; /* stacks before the tree; NULL: none */
    weiri_record *newest, *oldest;
    uint64_t stamp;        /* of the last one added */
    uint64_t count, bytes; /* bytes as charged */
} weiri_idle;

/* Becomes the newest; its state is IDLE from now on. */
void weiri_idle_add(weiri_idle *idle, weiri_record *record);
void weiri_idle_remove(weiri_idle *idle, weiri_record *record);
/* With stacks: the newest of `asked`, than which nothing that holds `bytes` is smaller; else as of the tree
 * alone. It stays where it is. NULL: none. */
weiri_record *weiri_idle_find(weiri_idle *idle, size_t asked, size_t bytes);
/* Walks both and compares. WEIR_E_INTERNAL names what is broken, `policy` in front. */
weir_err weiri_idle_check(const weiri_idle *idle, const char *policy);

#endif
