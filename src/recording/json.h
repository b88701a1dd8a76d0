/* SPDX-License-Identifier: MIT
 *
 * json.h: a JSON file read in pieces through a fixed buffer: no tree is built, so a side file of
 * any length needs no memory of its own (M6). Independent of side files.
 */
#ifndef WEIRI_JSON_H
#define WEIRI_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEIRI_JSON_DEPTH 32 /* maximum depth of nested arrays and objects */

typedef struct weiri_json {
    int fd;
    uint64_t base; /* place of buffer[0] in the file */
    size_t at, filled;
    bool bad; /* it is not JSON, or cannot be read: every call after that returns false */
    unsigned char buffer[4096];
} weiri_json;

void weiri_json_init(weiri_json *json, int fd);

/* Where the next value starts, to return there with weiri_json_seek. */
uint64_t weiri_json_place(weiri_json *json);
void weiri_json_seek(weiri_json *json, uint64_t place);

/* The first byte of the next value ('"', '[', '{', 'n' for null, ...); 0 at the end. */
char weiri_json_peek(weiri_json *json);

/* An array or object: enter with '[' or '{', then call more() before each element, with the
 * number of elements read so far, until it returns false: the array has ended, or is invalid. In
 * an object each element is a key() and a value. */
bool weiri_json_enter(weiri_json *json, char open);
bool weiri_json_more(weiri_json *json, char close, uint64_t done);
bool weiri_json_key(weiri_json *json, char *text, size_t size);

/* One value of that type; false if it has another type. A text longer than size - 1 is invalid. */
bool weiri_json_text(weiri_json *json, char *text, size_t size);
bool weiri_json_number(weiri_json *json, double *ret_number);
bool weiri_json_whole(weiri_json *json, uint64_t *ret_number);

/* Skips one value of any type. */
bool weiri_json_skip(weiri_json *json);

#endif
