/* SPDX-License-Identifier: MIT
 *
 * tree.c: builds a tree of weir_value from libfyaml's events. The tree is allocated with malloc,
 * bounded by the text's size, and freed before the caller returns: it is not part of a run. The
 * event parser is used, not the document builder: so depth can be bounded (3000 open brackets are
 * refused at the 33rd), repeated keys can be reported, and nothing recurses.
 */
#include "config/tree.h"

#include <libfyaml.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

/* ---- memory of a tree: chunks, freed together ----------------------------------------------- */

typedef struct chunk {
    struct chunk *next;
    size_t used, size;
} chunk;

#define CHUNK_BYTES 8192u

struct weiri_tree {
    chunk *chunks;
    weir_value root;
};

static void *tree_get(weiri_tree *tree, size_t bytes)
{
    bytes = weiri_round_up(bytes, 16);
    chunk *top = tree->chunks;
    if (top == NULL || top->size - top->used < bytes) {
        size_t size = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
        if (size > SIZE_MAX - sizeof(chunk) - 16)
            return NULL;
        top = malloc(weiri_round_up(sizeof(chunk), 16) + size);
        if (top == NULL)
            return NULL;
        *top = (chunk){.next = tree->chunks, .size = size};
        tree->chunks = top;
    }
    void *memory = (unsigned char *)top + weiri_round_up(sizeof(chunk), 16) + top->used;
    top->used += bytes;
    return memory;
}

const weir_value *weiri_tree_root(const weiri_tree *tree)
{
    return &tree->root;
}

void weiri_tree_destroy(weiri_tree *tree)
{
    if (tree == NULL)
        return;
    for (chunk *next, *at = tree->chunks; at != NULL; at = next) {
        next = at->next;
        free(at);
    }
    free(tree);
}

/* ---- the text before it is parsed ------------------------------------------------------------- */

/* Length of the UTF-8 sequence at text, 0 if there is none. */
static size_t utf8_length(const unsigned char *text, size_t left)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char first = text[0];
    size_t length = first < 0x80       ? 1
                    : first >> 5 == 6  ? 2
                    : first >> 4 == 14 ? 3
                    : first >> 3 == 30 ? 4
                                       : 0;
    if (length == 0 || length > left)
        return 0;
    uint32_t code = length == 1 ? first : first & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if (text[i] >> 6 != 2)
            return 0;
        code = code << 6 | (text[i] & 0x3fu);
    }
    if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return 0;
    return length;
}

/* libfyaml treats some bytes that are not text as the end of the stream: they are searched for
 * first. */
static weir_err check_bytes(const char *text, size_t length, const char *name)
{
    const unsigned char *bytes = (const unsigned char *)text;
    uint32_t line = 1, column = 1;
    if (length > WEIRI_CONFIG_BYTES)
        return weiri_fail(WEIR_E_CHAIN,
                          "%s: larger than %u bytes; a chain file is a short YAML 1.2 text", name,
                          WEIRI_CONFIG_BYTES);
    for (size_t i = 0; i < length;) {
        size_t step = utf8_length(bytes + i, length - i);
        bool control = bytes[i] < 0x20 && bytes[i] != '\t' && bytes[i] != '\n' && bytes[i] != '\r';
        if (step == 0 || control || bytes[i] == 0x7f)
            return weiri_fail(
                WEIR_E_CHAIN,
                "%s:%u:%u: found the byte 0x%02x, which is not text; a chain file is YAML 1.2 "
                "or JSON in UTF-8",
                name, line, column, bytes[i]);
        if (bytes[i] == '\n') {
            line++;
            column = 0;
        }
        column++;
        i += step;
    }
    return WEIR_OK;
}

/* ---- building ----------------------------------------------------------------------------------- */

typedef struct level {
    weir_value_type type;
    size_t first;     /* of its items, on the stack of values */
    bool has_key;     /* a map whose key was read and whose value follows */
    weir_value value; /* the container itself: its key and place */
} level;

typedef struct builder {
    weiri_tree *tree;
    const char *name;
    const char *text; /* the source */
    size_t length;
    weir_value *values; /* items of containers that are still open, one after the other */
    size_t count, room;
    level levels[WEIRI_CONFIG_DEPTH];
    size_t depth;
    weir_value next; /* key and place of the next value */
    size_t documents;
} builder;

static weir_err no_memory(const builder *build)
{
    return weiri_fail(WEIR_E_NOMEM, "%s: no memory left to read it", build->name);
}

static weir_err fail_at(const builder *build, const weir_value *at, const char *what)
{
    return weiri_fail(WEIR_E_CHAIN, "%s:%u:%u: %s", build->name, at->line, at->column, what);
}

static void place(struct fy_event *event, weir_value *ret_value)
{
    const struct fy_mark *mark = fy_event_start_mark(event);
    ret_value->line = mark != NULL ? (uint32_t)mark->line + 1 : 1;
    ret_value->column = mark != NULL ? (uint32_t)mark->column + 1 : 1;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Decodes a single-quoted scalar from its source, without the quotes; returns the length. Two
 * quotes are one; a line break with the blanks around it is a space, each further one a line
 * break. */
static size_t decode_single(const char *from, size_t length, char *to)
{
    size_t count = 0;
    for (size_t i = 0; i < length; i++) {
        if (from[i] == '\'' && i + 1 < length && from[i + 1] == '\'') {
            to[count++] = from[i++];
        } else if (from[i] == '\n') {
            size_t breaks = 0;
            while (count > 0 && is_blank(to[count - 1]))
                count--;
            for (; i < length && (from[i] == '\n' || is_blank(from[i])); i++)
                breaks += from[i] == '\n';
            i--;
            if (breaks == 1)
                to[count++] = ' ';
            for (; breaks > 1; breaks--)
                to[count++] = '\n';
        } else {
            to[count++] = from[i];
        }
    }
    return count;
}

/* libfyaml 0.7.12 returns wrong characters for single-quoted scalars with several '' in them,
 * and leaks memory (found by fuzzing): they are decoded here, from the source between their
 * marks. */
static bool
find_single(const builder *build, struct fy_token *token, const char **ret_from, size_t *ret_length)
{
    if (token == NULL || fy_token_scalar_style(token) != FYSS_SINGLE_QUOTED)
        return false;
    const struct fy_mark *start = fy_token_start_mark(token), *end = fy_token_end_mark(token);
    if (start == NULL || end == NULL || start->input_pos > end->input_pos ||
        end->input_pos > build->length)
        return false;
    const char *from = build->text + start->input_pos;
    size_t length = end->input_pos - start->input_pos;
    *ret_from = from;
    *ret_length = length;
    return true;
}

static weir_err
copy_token(const builder *build, struct fy_token *token, const char **ret_text, size_t *ret_length)
{
    size_t length = 0;
    const char *from = "";
    bool single = find_single(build, token, &from, &length);
    if (!single && token != NULL)
        from = fy_token_get_text(token, &length);
    char *text = from != NULL ? tree_get(build->tree, length + 1) : NULL;
    if (text == NULL)
        return no_memory(build);
    if (single)
        length = decode_single(from, length, text);
    else
        memcpy(text, from, length);
    text[length] = '\0';
    *ret_text = text;
    *ret_length = length;
    return WEIR_OK;
}

/* Stores a finished value: in the open container, or as the root. */
static weir_err put(builder *build, weir_value value)
{
    if (build->depth == 0) {
        build->tree->root = value;
        return WEIR_OK;
    }
    if (build->count == build->room) {
        size_t room = build->room == 0 ? 64 : build->room * 2;
        weir_value *values = realloc(build->values, room * sizeof *values);
        if (values == NULL)
            return no_memory(build);
        build->values = values;
        build->room = room;
    }
    build->values[build->count++] = value;
    build->levels[build->depth - 1].has_key = false;
    return WEIR_OK;
}

/* Takes key and place for a value that starts here. In a map, a scalar without a key before it
 * is a key: true. */
static bool begin(const builder *build, struct fy_event *event, weir_value *ret_value)
{
    const level *top = build->depth > 0 ? &build->levels[build->depth - 1] : NULL;
    bool is_key = top != NULL && top->type == WEIR_VALUE_MAP && !top->has_key;
    *ret_value = (weir_value){0};
    place(event, ret_value);
    if (top != NULL && top->type == WEIR_VALUE_MAP && !is_key) {
        ret_value->key = build->next.key;
        ret_value->line = build->next.line;
        ret_value->column = build->next.column;
    }
    return is_key;
}

static weir_err add_scalar(builder *build, struct fy_event *event)
{
    weir_value value;
    bool is_key = begin(build, event, &value);
    const char *text = "";
    size_t length = 0;
    weir_err err = copy_token(build, event->scalar.value, &text, &length);
    if (err != WEIR_OK)
        return err;
    if (strlen(text) != length)
        return fail_at(build, &value, "found a zero byte in a text");
    if (is_key) {
        build->next = value;
        build->next.key = text;
        build->levels[build->depth - 1].has_key = true;
        return WEIR_OK;
    }
    bool plain =
        event->scalar.value == NULL || fy_token_scalar_style(event->scalar.value) == FYSS_PLAIN;
    if (plain) {
        weiri_scalar_read(text, &value);
    } else {
        value.type = WEIR_VALUE_TEXT;
        value.text = text;
    }
    return put(build, value);
}

static weir_err open_container(builder *build, struct fy_event *event, weir_value_type type)
{
    weir_value value;
    if (begin(build, event, &value))
        return fail_at(build, &value, "found a list or map as a key; expected a name");
    if (build->depth == WEIRI_CONFIG_DEPTH)
        return weiri_fail(
            WEIR_E_CHAIN,
            "%s:%u:%u: found a list or map nested inside %d others; at most %d are allowed",
            build->name, value.line, value.column, WEIRI_CONFIG_DEPTH, WEIRI_CONFIG_DEPTH);
    value.type = type;
    build->levels[build->depth++] = (level){.type = type, .first = build->count, .value = value};
    return WEIR_OK;
}

static int compare_keys(const void *a, const void *b)
{
    const weir_value *const *left = a, *const *right = b;
    int order = strcmp((*left)->key, (*right)->key);
    /* equal keys in the file's order */
    return order != 0 ? order : (*left > *right) - (*left < *right);
}

/* The first key, in the file's order, that is a repetition. By sorting: a file of a megabyte may
 * have 200,000 keys. */
static weir_err check_repeats(const builder *build, const weir_value *items, size_t count)
{
    const weir_value *again = NULL, *before = NULL;
    if (count < 2)
        return WEIR_OK;
    const weir_value **sorted = malloc(count * sizeof *sorted);
    if (sorted == NULL)
        return no_memory(build);
    for (size_t i = 0; i < count; i++)
        sorted[i] = &items[i];
    qsort(sorted, count, sizeof *sorted, compare_keys);
    for (size_t i = 1; i < count; i++)
        if (strcmp(sorted[i - 1]->key, sorted[i]->key) == 0 &&
            (again == NULL || sorted[i] < again)) {
            again = sorted[i];
            before = sorted[i - 1];
        }
    free(sorted);
    if (again == NULL)
        return WEIR_OK;
    return weiri_fail(
        WEIR_E_CHAIN,
        "%s:%u:%u: found the key '%.60s' again; its first use is at line %u, column %u",
        build->name, again->line, again->column, again->key, before->line, before->column);
}

static weir_err close_container(builder *build)
{
    level *top = &build->levels[--build->depth];
    size_t count = build->count - top->first;
    weir_value value = top->value;
    if (count > 0) {
        weir_value *items = tree_get(build->tree, count * sizeof *items);
        if (items == NULL)
            return no_memory(build);
        memcpy(items, build->values + top->first, count * sizeof *items);
        if (top->type == WEIR_VALUE_MAP) {
            weir_err err = check_repeats(build, items, count);
            if (err != WEIR_OK)
                return err;
        }
        value.items = items;
        value.count = count;
        build->count = top->first;
    }
    return put(build, value);
}

static weir_err refuse_decoration(const builder *build,
                                  struct fy_event *event,
                                  const struct fy_token *anchor,
                                  const struct fy_token *tag)
{
    weir_value at;
    place(event, &at);
    if (anchor != NULL)
        return fail_at(build, &at, "found an anchor (&); anchors and aliases are not allowed here");
    if (tag != NULL)
        return fail_at(build, &at, "found a tag (!); tags are not allowed here");
    return WEIR_OK;
}

static weir_err start_document(builder *build, struct fy_event *event)
{
    weir_value at;
    place(event, &at);
    if (++build->documents > 1)
        return fail_at(build, &at, "found a second document; a chain file has only one");
    struct fy_document_state *state = event->document_start.document_state;
    const struct fy_version *version = state != NULL ? fy_document_state_version(state) : NULL;
    if (version != NULL && (version->major != 1 || version->minor != 2))
        return weiri_fail(WEIR_E_CHAIN, "%s:%u:%u: found YAML %d.%d; expected 1.2", build->name,
                          at.line, at.column, version->major, version->minor);
    return WEIR_OK;
}

static weir_err take_event(builder *build, struct fy_event *event)
{
    weir_err err;
    weir_value at;
    switch (event->type) {
    case FYET_DOCUMENT_START:
        return start_document(build, event);
    case FYET_ALIAS:
        place(event, &at);
        at.column -= at.column > 1; /* the mark is after the star */
        return fail_at(build, &at, "found an alias (*); anchors and aliases are not allowed here");
    case FYET_SCALAR:
        err = refuse_decoration(build, event, event->scalar.anchor, event->scalar.tag);
        return err != WEIR_OK ? err : add_scalar(build, event);
    case FYET_SEQUENCE_START:
        err = refuse_decoration(build, event, event->sequence_start.anchor,
                                event->sequence_start.tag);
        return err != WEIR_OK ? err : open_container(build, event, WEIR_VALUE_LIST);
    case FYET_MAPPING_START:
        err =
            refuse_decoration(build, event, event->mapping_start.anchor, event->mapping_start.tag);
        return err != WEIR_OK ? err : open_container(build, event, WEIR_VALUE_MAP);
    case FYET_SEQUENCE_END:
    case FYET_MAPPING_END:
        if (build->depth == 0) /* cannot happen in a complete stream of events */
            return weiri_fail(WEIR_E_CHAIN, "%s: not YAML 1.2", build->name);
        return close_container(build);
    default:
        return WEIR_OK;
    }
}

/* ---- libfyaml ------------------------------------------------------------------------------------- */

/* libfyaml writes to a file or to this; the errors are collected instead, so this does nothing. */
static void say_nothing(struct fy_diag *diag, void *user, const char *text, size_t length)
{
    (void)diag, (void)user, (void)text, (void)length;
}

/* The first error that libfyaml found, as one line. */
static weir_err syntax_error(struct fy_diag *diag, const char *name)
{
    void *at = NULL;
    const struct fy_diag_error *error = fy_diag_errors_iterate(diag, &at);
    if (error == NULL || error->msg == NULL)
        return weiri_fail(WEIR_E_CHAIN, "%s: not YAML 1.2", name);
    return weiri_fail(WEIR_E_CHAIN, "%s:%d:%d: not YAML 1.2: %.*s", name, error->line,
                      error->column, (int)strcspn(error->msg, "\n"), error->msg);
}

static weir_err take_events(builder *build, struct fy_parser *parser, struct fy_diag *diag)
{
    weir_err err = WEIR_OK;
    struct fy_event *event;
    while (err == WEIR_OK && (event = fy_parser_parse(parser)) != NULL) {
        err = take_event(build, event);
        fy_parser_event_free(parser, event);
    }
    if (err == WEIR_OK && fy_parser_get_stream_error(parser))
        err = syntax_error(diag, build->name);
    if (err == WEIR_OK && build->depth > 0)
        err = weiri_fail(WEIR_E_CHAIN, "%s: not YAML 1.2: ends inside a list or map", build->name);
    return err;
}

static weir_err build_tree(builder *build, const char *text, size_t length)
{
    const struct fy_diag_cfg diag_cfg = {
        .output_fn = say_nothing, .level = FYET_ERROR, .module_mask = ~0u};
    struct fy_diag *diag = fy_diag_create(&diag_cfg);
    if (diag == NULL)
        return no_memory(build);
    fy_diag_set_collect_errors(diag, true);
    const struct fy_parse_cfg parse_cfg = {.flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG |
                                                    FYPCF_DEFAULT_VERSION_1_2 | FYPCF_JSON_NONE,
                                           .diag = diag};
    struct fy_parser *parser = fy_parser_create(&parse_cfg);
    weir_err err;
    if (parser == NULL || fy_parser_set_string(parser, text, length) != 0)
        err = no_memory(build);
    else
        err = take_events(build, parser, diag);
    if (parser != NULL)
        fy_parser_destroy(parser);
    fy_diag_destroy(diag);
    return err;
}

weir_err weiri_tree_parse(const char *text, size_t length, const char *name, weiri_tree **ret_tree)
{
    weir_err err = check_bytes(text, length, name);
    if (err != WEIR_OK)
        return err;
    /* a byte order mark has no meaning */
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
        length -= 3;
    }
    builder build = {
        .name = name, .text = text, .length = length, .tree = calloc(1, sizeof(weiri_tree))};
    if (build.tree == NULL)
        return no_memory(&build);
    build.tree->root.line = build.tree->root.column = 1;
    if (length > 0)
        err = build_tree(&build, text, length);
    free(build.values);
    if (err != WEIR_OK) {
        weiri_tree_destroy(build.tree);
        return err;
    }
    *ret_tree = build.tree;
    return WEIR_OK;
}
