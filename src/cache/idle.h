/* SPDX-License-Identifier: MIT
 *
 * idle.h: cached buffers for policies of whole buffers: a tree sorted by size, and a list in order
 * of use. The policy decides which buffer serves a request. All functions need the cache's lock.
 */
#ifndef WEIRI_IDLE_H
#define WEIRI_IDLE_H

#include "cache/front.h"

/* Records sorted by `asked`; equal ones by stamp, newest or oldest first. */
typedef struct weiri_tree {
    weiri_record *root;
    bool oldest_first;
    uint32_t random; /* xorshift state; 0 = not used yet */
} weiri_tree;

void weiri_tree_insert(weiri_tree *tree, weiri_record *record);
void weiri_tree_remove(weiri_tree *tree, weiri_record *record);
/* The smallest record that can hold that many bytes, the first of its size. NULL: none. */
weiri_record *weiri_tree_find(const weiri_tree *tree, size_t bytes);

typedef struct weiri_idle {
    weiri_tree tree;
    weiri_front *front; /* stacks in front of the tree; NULL: none */
    weiri_record *newest, *oldest;
    uint64_t stamp;        /* stamp of the last one added */
    uint64_t count, bytes; /* bytes as charged */
} weiri_idle;

/* Becomes the newest; its state is IDLE from then on. */
void weiri_idle_add(weiri_idle *idle, weiri_record *record);
void weiri_idle_remove(weiri_idle *idle, weiri_record *record);
/* With stacks: the newest record of size `asked`, if no smaller one can hold `bytes`; else as
 * from the tree alone. The record is not removed. NULL: none. */
weiri_record *weiri_idle_find(weiri_idle *idle, size_t asked, size_t bytes);
/* Checks both and compares. WEIR_E_INTERNAL names what is broken, prefixed by `policy`. */
weir_err weiri_idle_check(const weiri_idle *idle, const char *policy);

#endif
