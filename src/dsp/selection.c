/* SPDX-License-Identifier: MIT
 *
 * selection.c: what a selection names on an axis. Slices are Python's; a name is first a label, then a
 * number, then a pattern over labels. No regular expressions of the C library: those allocate, and a
 * hostile one takes for ever.
 */
#include "dsp/selection.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct token {
    const char *text;
    size_t length;
} token;

static token trim(const char *text, size_t length)
{
    while (length > 0 && (*text == ' ' || *text == '\t')) {
        text++;
        length--;
    }
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t')) {
        length--;
    }
    return (token){text, length};
}

static bool is(token t, const char *text)
{
    return strlen(text) == t.length && memcmp(text, t.text, t.length) == 0;
}

/* ---- patterns ------------------------------------------------------------------------------ */

#define ATOMS 63

/* Reads the atom at text: how long it is and whether it fits c. 0: malformed. */
static size_t atom_fits(const char *text, size_t length, char c, bool *ret_fits)
{
    if (text[0] == '\\') {
        *ret_fits = length > 1 && text[1] == c;
        return length > 1 ? 2 : 0;
    }
    if (text[0] != '[') {
        *ret_fits = text[0] == '.' || text[0] == c;
        return strchr("*+?(){}^$", text[0]) != NULL ? 0 : 1;
    }
    size_t i = 1;
    bool not = length > 1 && text[1] == '^';
    i += not ? 1 : 0;
    size_t first = i;
    bool in = false;
    for (; i < length && (text[i] != ']' || i == first); i++) {
        if (i + 2 < length && text[i + 1] == '-' && text[i + 2] != ']') {
            in = in || ((unsigned char)c >= (unsigned char)text[i] &&
                        (unsigned char)c <= (unsigned char)text[i + 2]);
            i += 2;
        } else {
            in = in || c == text[i];
        }
    }
    *ret_fits = in != not ;
    return i < length ? i + 1 : 0;
}

/* One pattern without '|'. All places that the text could be at move on together, one bit each, so that
 * no pattern costs more than its length times the text's. */
static bool branch_fits(const char *pattern, size_t length, const char *text)
{
    uint64_t at = 1;
    for (;; text++) {
        uint64_t next = 0;
        int number = 0;
        for (size_t i = 0; i < length; number++) {
            bool fits = false;
            size_t step = atom_fits(pattern + i, length - i, *text, &fits);
            if (step == 0 || number == ATOMS) {
                return false;
            }
            i += step;
            char times = i < length && strchr("*+?", pattern[i]) != NULL ? pattern[i++] : '1';
            uint64_t here = (uint64_t)1 << number;
            if ((at & here) != 0) {
                at |= times == '*' || times == '?' ? here << 1 : 0; /* none of it */
                next |= fits ? here << 1 : 0;
                next |= fits && (times == '*' || times == '+') ? here : 0;
            }
            /* '+' that has been met once may also be left: that is the here << 1 above. */
        }
        if (*text == '\0') {
            return (at & ((uint64_t)1 << number)) != 0;
        }
        at = next;
    }
}

bool weiri_pattern_fits(const char *pattern, size_t length, const char *text)
{
    size_t start = 0;
    bool in_set = false;
    for (size_t i = 0; i <= length; i++) {
        if (i == length || (pattern[i] == '|' && !in_set)) {
            if (branch_fits(pattern + start, i - start, text)) {
                return true;
            }
            start = i + 1;
        } else if (pattern[i] == '\\') {
            i += i + 1 < length ? 1 : 0;
        } else {
            in_set = pattern[i] == '[' || (in_set && pattern[i] != ']');
        }
    }
    return false;
}

/* ---- what is there, for errors ------------------------------------------------------------- */

static weir_err fail_none(const weiri_selection *s, token t)
{
    const weir_axis *axis = s->axis;
    if (axis->labels == NULL) {
        return weiri_fail(
            WEIR_E_CHAIN,
            "selection: '%.*s' is neither a number nor a slice, and '%s' has no labels; "
            "its numbers are 0 to %llu",
            (int)(t.length < 60 ? t.length : 60), t.text, axis->name,
            (unsigned long long)(axis->size - 1));
    }
    char there[256], name[64];
    size_t used = 0;
    there[0] = '\0';
    for (uint64_t i = 0; i < axis->size; i++) {
        size_t length = strlen(axis->labels[i]);
        if (used + length + 16 >= sizeof there) {
            snprintf(there + used, sizeof there - used, " ...");
            break;
        }
        used += (size_t)snprintf(there + used, sizeof there - used, " %s", axis->labels[i]);
    }
    snprintf(name, sizeof name, "%.*s", (int)(t.length < 60 ? t.length : 60), t.text);
    const char *near = weiri_nearest(name, axis->labels, (size_t)axis->size);
    return weiri_fail(
        WEIR_E_CHAIN, "selection: '%s' matches none of the %llu labels of '%s':%s%s%s%s", name,
        (unsigned long long)axis->size, axis->name, there, near != NULL ? "; the nearest is '" : "",
        near != NULL ? near : "", near != NULL ? "'" : "");
}

static weir_err fail_range(const weiri_selection *s, int64_t number)
{
    return weiri_fail(WEIR_E_CHAIN, "selection: %lld is out of range: '%s' has entries 0 to %llu",
                      (long long)number, s->axis->name, (unsigned long long)(s->axis->size - 1));
}

/* ---- tokens -------------------------------------------------------------------------------- */

static void choose(weiri_selection *s, uint64_t index)
{
    if (!s->chosen[index]) {
        s->chosen[index] = true;
        s->list[s->count++] = index;
    }
}

/* A whole number with an optional sign and nothing else, below 10^15. */
static bool read_integer(token t, int64_t *ret_number)
{
    size_t i = t.length > 0 && (t.text[0] == '-' || t.text[0] == '+') ? 1 : 0;
    int64_t number = 0;
    if (i == t.length || t.length - i > 15) {
        return false;
    }
    for (; i < t.length; i++) {
        if (t.text[i] < '0' || t.text[i] > '9') {
            return false;
        }
        number = number * 10 + (t.text[i] - '0');
    }
    *ret_number = t.text[0] == '-' ? -number : number;
    return true;
}

static weir_err choose_number(weiri_selection *s, int64_t number)
{
    int64_t size = (int64_t)s->axis->size;
    int64_t index = number < 0 ? number + size : number;
    if (index < 0 || index >= size) {
        return fail_range(s, number);
    }
    choose(s, (uint64_t)index);
    return WEIR_OK;
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* start:stop:step, as Python counts. */
static weir_err choose_slice(weiri_selection *s, token t)
{
    int64_t part[3] = {0, 0, 1};
    bool given[3] = {false, false, false};
    size_t count = 0, from = 0;
    for (size_t i = 0; i <= t.length; i++) {
        if (i < t.length && t.text[i] != ':') {
            continue;
        }
        token p = trim(t.text + from, i - from);
        if (count == 3 || (p.length > 0 && !read_integer(p, &part[count]))) {
            return weiri_fail(
                WEIR_E_CHAIN,
                "selection: '%.*s' is not a slice; expected start:stop or start:stop:step",
                (int)(t.length < 60 ? t.length : 60), t.text);
        }
        given[count++] = p.length > 0;
        from = i + 1;
    }
    int64_t size = (int64_t)s->axis->size, step = part[2];
    if (step == 0) {
        return weiri_fail(WEIR_E_CHAIN, "selection: the step of a slice is 0");
    }
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
    int64_t start = step > 0 ? low : high, stop = step > 0 ? high : low;
    if (given[0]) {
        start = clamp(part[0] < 0 ? part[0] + size : part[0], low, high);
    }
    if (given[1]) {
        stop = clamp(part[1] < 0 ? part[1] + size : part[1], low, high);
    }
    for (int64_t i = start; step > 0 ? i < stop : i > stop; i += step) {
        choose(s, (uint64_t)i);
    }
    return WEIR_OK;
}

static bool choose_labels(weiri_selection *s, token t, bool pattern)
{
    bool found = false;
    for (uint64_t i = 0; s->axis->labels != NULL && i < s->axis->size; i++) {
        const char *label = s->axis->labels[i];
        if (pattern ? weiri_pattern_fits(t.text, t.length, label) : is(t, label)) {
            choose(s, i);
            found = true;
        }
    }
    return found;
}

/* One name, number, slice or pattern. *ret_number: it was a number. */
static weir_err choose_token(weiri_selection *s, token t, bool *ret_number)
{
    int64_t number = 0;
    *ret_number = false;
    if (t.length == 0) {
        return weiri_fail(WEIR_E_CHAIN, "selection: expected a name or number between commas");
    }
    if (choose_labels(s, t, false)) {
        return WEIR_OK;
    }
    if (memchr(t.text, ':', t.length) != NULL) {
        return choose_slice(s, t);
    }
    if (read_integer(t, &number)) {
        *ret_number = true;
        return choose_number(s, number);
    }
    if (choose_labels(s, t, true)) {
        return WEIR_OK;
    }
    if (s->drop_none && s->axis->labels != NULL) {
        s->left_out++;
        return WEIR_OK;
    }
    return fail_none(s, t);
}

/* Entries as they lie on the axis: a selection is a filter, whatever the order of its names. */
static void sort(weiri_selection *s)
{
    s->count = 0;
    for (uint64_t i = 0; i < s->axis->size; i++) {
        if (s->chosen[i]) {
            s->list[s->count++] = i;
        }
    }
}

static weir_err resolve_text(weiri_selection *s, const char *text)
{
    token all = trim(text, strlen(text));
    bool number = false;
    if (all.length == 0 || is(all, ":") || weiri_equal_blind(text, "none")) {
        return choose_slice(s, (token){":", 1});
    }
    if (choose_labels(s, all, false)) {
        return WEIR_OK;
    }
    if (memchr(all.text, ',', all.length) == NULL) {
        weir_err err = choose_token(s, all, &number);
        s->single = err == WEIR_OK && number;
        return err; /* as it is: "::-1" turns the axis round */
    }
    size_t from = 0;
    for (size_t i = 0; i <= all.length; i++) {
        if (i == all.length || all.text[i] == ',') {
            weir_err err = choose_token(s, trim(all.text + from, i - from), &number);
            if (err != WEIR_OK) {
                return err;
            }
            from = i + 1;
        }
    }
    if (!s->keep_order) {
        sort(s);
    }
    return WEIR_OK;
}

static weir_err resolve_number(weiri_selection *s, double number)
{
    if (number != floor(number) || fabs(number) > 1e15) {
        return weiri_fail(WEIR_E_CHAIN, "selection: %g is not a whole number", number);
    }
    return choose_number(s, (int64_t)number);
}

static weir_err resolve_list(weiri_selection *s, const weir_value *value)
{
    for (size_t i = 0; i < value->count; i++) {
        const weir_value *item = &value->items[i];
        bool number = false;
        weir_err err = WEIR_OK;
        if (item->type == WEIR_VALUE_NUMBER) {
            err = resolve_number(s, item->number);
        } else if (item->type == WEIR_VALUE_TEXT) {
            err = choose_token(s, trim(item->text, strlen(item->text)), &number);
        } else {
            err = weiri_fail(WEIR_E_CHAIN, "selection: expected a list of numbers and names");
        }
        if (err != WEIR_OK) {
            return err;
        }
    }
    if (!s->keep_order) {
        sort(s);
    }
    return WEIR_OK;
}

weir_err weiri_selection_resolve(weiri_selection *s, const weir_value *value)
{
    weir_err err = WEIR_OK;
    s->count = 0;
    s->left_out = 0;
    s->single = false;
    memset(s->chosen, 0, (size_t)s->axis->size * sizeof *s->chosen);
    if (value == NULL || value->type == WEIR_VALUE_NULL) {
        err = resolve_text(s, "");
    } else if (value->type == WEIR_VALUE_TEXT) {
        err = resolve_text(s, value->text);
    } else if (value->type == WEIR_VALUE_NUMBER) {
        err = resolve_number(s, value->number);
        s->single = err == WEIR_OK;
    } else if (value->type == WEIR_VALUE_LIST) {
        err = resolve_list(s, value);
    } else {
        err = weiri_fail(WEIR_E_CHAIN, "selection: expected a text, a number or a list of them");
    }
    if (err == WEIR_OK && s->count == 0) {
        err = weiri_fail(WEIR_E_CHAIN, "selection: nothing is selected; '%s' has entries 0 to %llu",
                         s->axis->name, (unsigned long long)(s->axis->size - 1));
    }
    return err;
}
