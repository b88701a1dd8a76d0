/* SPDX-License-Identifier: MIT
 *
 * json.c: see json.h.
 */
#include "recording/json.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"

#define NUMBER_BYTES 64

void weiri_json_init(weiri_json *json, int fd)
{
    json->fd = fd;
    json->base = 0;
    json->at = json->filled = 0;
    json->bad = false;
}

static bool fail(weiri_json *json)
{
    json->bad = true;
    return false;
}

/* The next byte, which is not consumed; -1 at the end. */
static int look(weiri_json *json)
{
    if (json->at == json->filled && !json->bad) {
        json->base += json->filled;
        json->at = json->filled = 0;
        ssize_t got = pread(json->fd, json->buffer, sizeof json->buffer, (off_t)json->base);
        json->bad = got < 0;
        json->filled = got > 0 ? (size_t)got : 0;
    }
    return json->at < json->filled ? json->buffer[json->at] : -1;
}

static int next(weiri_json *json)
{
    int byte = look(json);
    json->at += byte >= 0;
    return byte;
}

char weiri_json_peek(weiri_json *json)
{
    int byte = look(json);
    while (byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r') {
        json->at++;
        byte = look(json);
    }
    return byte < 0 || json->bad ? 0 : (char)byte;
}

static bool take(weiri_json *json, char wanted)
{
    if (weiri_json_peek(json) != wanted) {
        return fail(json);
    }
    json->at++;
    return true;
}

uint64_t weiri_json_place(weiri_json *json)
{
    (void)weiri_json_peek(json);
    return json->base + json->at;
}

void weiri_json_seek(weiri_json *json, uint64_t place)
{
    bool inside = place >= json->base && place - json->base <= json->filled;
    json->at = inside ? (size_t)(place - json->base) : 0;
    json->filled = inside ? json->filled : 0;
    json->base = inside ? json->base : place;
}

bool weiri_json_enter(weiri_json *json, char open)
{
    return take(json, open);
}

bool weiri_json_more(weiri_json *json, char close, uint64_t done)
{
    if (weiri_json_peek(json) == close && !json->bad) {
        json->at++;
        return false;
    }
    return done == 0 ? !json->bad : take(json, ',');
}

/* ---- texts --------------------------------------------------------------------------------------- */

/* Where a text is stored; NULL: nowhere. */
typedef struct sink {
    char *text;
    size_t size, used;
} sink;

static bool put(weiri_json *json, sink *to, unsigned byte)
{
    if (to->text == NULL) {
        return true;
    }
    if (to->used + 1 >= to->size) {
        return fail(json);
    }
    to->text[to->used++] = (char)byte;
    return true;
}

static bool put_code(weiri_json *json, sink *to, unsigned code)
{
    if (code < 0x80) {
        return put(json, to, code ? code : '?'); /* texts end at a zero byte */
    }
    if (code < 0x800) {
        return put(json, to, 0xc0 | code >> 6) && put(json, to, 0x80 | (code & 0x3f));
    }
    if (code < 0x10000) {
        return put(json, to, 0xe0 | code >> 12) && put(json, to, 0x80 | (code >> 6 & 0x3f)) &&
               put(json, to, 0x80 | (code & 0x3f));
    }
    return put(json, to, 0xf0 | code >> 18) && put(json, to, 0x80 | (code >> 12 & 0x3f)) &&
           put(json, to, 0x80 | (code >> 6 & 0x3f)) && put(json, to, 0x80 | (code & 0x3f));
}

static bool hex4(weiri_json *json, unsigned *ret_code)
{
    unsigned code = 0;
    for (int i = 0; i < 4; i++) {
        int byte = next(json);
        unsigned digit = byte >= '0' && byte <= '9'   ? (unsigned)byte - '0'
                         : byte >= 'a' && byte <= 'f' ? (unsigned)byte - 'a' + 10
                         : byte >= 'A' && byte <= 'F' ? (unsigned)byte - 'A' + 10
                                                      : 16;
        if (digit > 15) {
            return fail(json);
        }
        code = code << 4 | digit;
    }
    *ret_code = code;
    return true;
}

static bool escape(weiri_json *json, sink *to)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    int byte = next(json);
    const char *found = byte > 0 ? strchr(names, byte) : NULL;
    if (found) {
        return put(json, to, (unsigned char)values[found - names]);
    }
    unsigned code = 0, low = 0;
    if (byte != 'u' || !hex4(json, &code)) {
        return fail(json);
    }
    if (code >= 0xd800 && code < 0xdc00) { /* half of a character beyond 16 bits */
        if (next(json) != '\\' || next(json) != 'u' || !hex4(json, &low) || low < 0xdc00 ||
            low > 0xdfff) {
            return fail(json);
        }
        code = 0x10000 + ((code - 0xd800) << 10 | (low - 0xdc00));
    }
    return put_code(json, to, code);
}

static bool read_text(weiri_json *json, sink *to)
{
    if (!take(json, '"')) {
        return false;
    }
    for (;;) {
        int byte = next(json);
        if (byte == '"') {
            break;
        }
        if (byte < ' ' || json->bad) { /* the end of the file too */
            return fail(json);
        }
        if (!(byte == '\\' ? escape(json, to) : put(json, to, (unsigned)byte))) {
            return false;
        }
    }
    if (to->text) {
        to->text[to->used] = 0;
    }
    return true;
}

bool weiri_json_text(weiri_json *json, char *text, size_t size)
{
    sink to = {.text = text, .size = size};
    return read_text(json, &to);
}

bool weiri_json_key(weiri_json *json, char *text, size_t size)
{
    return weiri_json_text(json, text, size) && take(json, ':');
}

/* ---- numbers ------------------------------------------------------------------------------------- */

static bool collect(weiri_json *json, char digits[NUMBER_BYTES])
{
    size_t used = 0;
    (void)weiri_json_peek(json);
    for (int byte = look(json); byte > 0 && strchr("0123456789+-.eE", byte); byte = look(json)) {
        if (used + 1 == NUMBER_BYTES) {
            return fail(json);
        }
        digits[used++] = (char)byte;
        json->at++;
    }
    digits[used] = 0;
    return used > 0 || fail(json);
}

bool weiri_json_number(weiri_json *json, double *ret_number)
{
    char digits[NUMBER_BYTES];
    const char *end = NULL;
    double number = 0;
    if (!collect(json, digits) || !weiri_number_read(digits, &end, &number) || *end != 0) {
        return fail(json);
    }
    *ret_number = number;
    return true;
}

bool weiri_json_whole(weiri_json *json, uint64_t *ret_number)
{
    char digits[NUMBER_BYTES];
    uint64_t number = 0;
    if (!collect(json, digits)) {
        return false;
    }
    for (const char *at = digits; *at; at++) {
        if (*at < '0' || *at > '9' || number > (uint64_t)INT64_MAX / 10 - 1) {
            return fail(json);
        }
        number = number * 10 + (uint64_t)(*at - '0');
    }
    *ret_number = number;
    return true;
}

/* ---- anything ------------------------------------------------------------------------------------ */

static bool skip_word(weiri_json *json, const char *word)
{
    for (; *word; word++) {
        if (next(json) != *word) {
            return fail(json);
        }
    }
    return true;
}

static bool skip_any(weiri_json *json, int depth)
{
    sink nowhere = {0};
    double number = 0;
    char first = weiri_json_peek(json);
    char close = first == '[' ? ']' : '}';
    switch (first) {
    case '"':
        return read_text(json, &nowhere);
    case 't':
        return skip_word(json, "true");
    case 'f':
        return skip_word(json, "false");
    case 'n':
        return skip_word(json, "null");
    case '[':
    case '{':
        if (depth == WEIRI_JSON_DEPTH) {
            return fail(json);
        }
        json->at++;
        for (uint64_t i = 0; weiri_json_more(json, close, i); i++) {
            if (close == '}' && !(read_text(json, &nowhere) && take(json, ':'))) {
                return false;
            }
            if (!skip_any(json, depth + 1)) {
                return false;
            }
        }
        return !json->bad;
    default:
        return weiri_json_number(json, &number);
    }
}

bool weiri_json_skip(weiri_json *json)
{
    return skip_any(json, 0);
}
