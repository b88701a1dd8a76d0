/* SPDX-License-Identifier: MIT
 *
 * tree.h: a YAML 1.2 text as a tree of weir_value, for config only. Here a file is maps, lists and
 * scalars; config.c makes a chain of them.
 */
#ifndef WEIRI_CONFIG_TREE_H
#define WEIRI_CONFIG_TREE_H

#include <weir/base.h>

/* A chain file is a page of text. The bounds keep a malformed file from costing more than a
 * moment. */
#define WEIRI_CONFIG_BYTES (1u << 20)
#define WEIRI_CONFIG_DEPTH 32

typedef struct weiri_tree weiri_tree;

/* Parses one document. Maps have unique keys; anchors, aliases and tags are refused. `name` is
 * the file's name in messages. A map's entries have the place of their keys. WEIR_E_CHAIN: one
 * line: file, line, column, what was found, what is allowed; WEIR_E_NOMEM. */
weir_err weiri_tree_parse(const char *text, size_t length, const char *name, weiri_tree **ret_tree);

/* The document's value; type NULL if it is empty. Valid until the tree is destroyed. */
const weir_value *weiri_tree_root(const weiri_tree *tree);

/* NULL is ignored. */
void weiri_tree_destroy(weiri_tree *tree);

/* Gives a plain scalar its type by YAML 1.2's core schema: null, bool, number, else text. Sets
 * type, number and text (which it borrows). A number too large for a double becomes an infinity. */
void weiri_scalar_read(const char *text, weir_value *ret_value);

#endif
