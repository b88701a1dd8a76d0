/* SPDX-License-Identifier: MIT
 *
 * text.c: small helpers: names compared and looked for, sizes without overflow, capped notices.
 */
#include <stdarg.h>
#include <string.h>

#include "base/base.h"

/* Names of units and settings are short; what is longer is near to none of them. */
#define NAME_LONGEST 63

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool weiri_equal_blind(const char *a, const char *b)
{
    while (*a != '\0' && lower(*a) == lower(*b)) {
        a++;
        b++;
    }
    return lower(*a) == lower(*b);
}

/* Edits (insert, delete, replace, swap of neighbours) from a to b, case-blind. */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][NAME_LONGEST + 1];
    size_t *before = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= b_length; j++) {
        last[j] = j;
    }
    for (size_t i = 1; i <= a_length; i++) {
        now[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            char x = lower(a[i - 1]), y = lower(b[j - 1]);
            size_t best = last[j - 1] + (x != y);
            best = last[j] + 1 < best ? last[j] + 1 : best;
            best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
            if (i > 1 && j > 1 && x == lower(b[j - 2]) && y == lower(a[i - 2]) &&
                before[j - 2] + 1 < best) {
                best = before[j - 2] + 1;
            }
            now[j] = best;
        }
        size_t *spare = before;
        before = last;
        last = now;
        now = spare;
    }
    return last[b_length];
}

/* Near is: few letters wrong (1 of 3, 2 of 5, then a third), or the beginning of a name, three letters or
 * more. Of several the nearest, then the first. */
const char *weiri_nearest(const char *found, const char *const *names, size_t count)
{
    if (found == NULL) {
        return NULL;
    }
    size_t length = strnlen(found, NAME_LONGEST + 1);
    if (length == 0 || length > NAME_LONGEST) {
        return NULL;
    }
    size_t allowed = length < 4 ? 1 : length < 6 ? 2 : length / 3;
    size_t least = SIZE_MAX;
    const char *nearest = NULL;
    bool nearest_begins = false;
    for (size_t i = 0; i < count; i++) {
        size_t size = names[i] != NULL ? strnlen(names[i], NAME_LONGEST + 1) : NAME_LONGEST + 1;
        if (size > NAME_LONGEST) {
            continue;
        }
        size_t edits = distance(found, length, names[i], size);
        bool near = edits <= allowed;
        bool begins =
            length >= 3 && size > length && distance(found, length, names[i], length) == 0;
        if (begins) {
            size_t missing = 1 + (size - length) / 3;
            edits = missing < edits ? missing : edits;
            near = true;
        }
        /* Of two equally near names the one that the text truncates: cutof is cutoff rather than cuton. */
        if (near && (edits < least || (edits == least && begins && !nearest_begins))) {
            least = edits;
            nearest_begins = begins;
            nearest = names[i];
        }
    }
    return nearest;
}

size_t weiri_round_up(size_t bytes, size_t step)
{
    if (bytes > SIZE_MAX - (step - 1)) {
        return SIZE_MAX;
    }
    return (bytes + step - 1) & ~(step - 1);
}

bool weiri_mul(uint64_t a, uint64_t b, uint64_t *ret_product)
{
    if (a != 0 && b > UINT64_MAX / a) {
        return false;
    }
    *ret_product = a * b;
    return true;
}

void weiri_notice(weiri_notices *notices, const char *format, ...)
{
    if (notices == NULL) {
        return;
    }
    if (notices->count >= WEIRI_NOTICES) {
        notices->left_out++;
        return;
    }
    char *text = notices->text[notices->count];
    va_list args;
    va_start(args, format);
    weiri_format(text, WEIRI_NOTICE_BYTES, format, args);
    va_end(args);
    notices->lines[notices->count] = text;
    notices->count++;
}
