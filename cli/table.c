/* SPDX-License-Identifier: MIT
 *
 * table.c: aligned columns, in UTF-8, without boxes.
 */
#include "cli.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MOST_COLUMNS 12
#define LEAST_WIDTH  8 /* of a column that is made narrower */

struct cli_table {
    char *header; /* names, each ended by a zero */
    const char *names[MOST_COLUMNS];
    bool right[MOST_COLUMNS];
    size_t columns;
    char **cells; /* row by row; NULL at a row's start = a rule */
    size_t count, room;
    size_t most; /* maximum width of a row in terminal columns; 0 = any */
};

/* Bytes of the character at text and its code; an invalid byte counts as one character. */
static size_t character(const char *text, uint32_t *ret_code)
{
    unsigned char first = (unsigned char)*text;
    size_t length = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    uint32_t code = length == 1 ? first : first & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        unsigned char next = (unsigned char)text[i];
        if (next >> 6 != 2) {
            *ret_code = first;
            return 1;
        }
        code = code << 6 | (next & 0x3fu);
    }
    *ret_code = code;
    return length;
}

size_t cli_width(const char *text)
{
    size_t width = 0;
    while (*text != '\0') {
        uint32_t code;
        text += character(text, &code);
        bool combines = (code >= 0x300 && code <= 0x36f) || (code >= 0x200b && code <= 0x200f);
        bool wide = (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) ||
                    (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff) ||
                    (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) ||
                    (code >= 0x1f300 && code <= 0x1faff);
        width += combines ? 0 : wide ? 2 : 1;
    }
    return width;
}

cli_table *cli_table_create(const char *columns)
{
    cli_table *table = cli_alloc(1, sizeof *table);
    table->header = cli_text("%s", columns);
    for (char *at = table->header; at != NULL && table->columns < MOST_COLUMNS;) {
        char *end = strchr(at, '|');
        if (end != NULL)
            *end++ = '\0';
        table->right[table->columns] = *at == '>';
        table->names[table->columns++] = *at == '>' ? at + 1 : at;
        at = end;
    }
    return table;
}

static void add(cli_table *table, char *text)
{
    if (table->count == table->room) {
        size_t room = table->room == 0 ? 64 : table->room * 2;
        char **cells = cli_alloc(room, sizeof *cells);
        if (table->count > 0)
            memcpy(cells, table->cells, table->count * sizeof *cells);
        free(table->cells);
        table->cells = cells;
        table->room = room;
    }
    table->cells[table->count++] = text;
}

void cli_table_cell(cli_table *table, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    add(table, cli_text("%s", text));
}

void cli_table_rule(cli_table *table)
{
    for (size_t i = 0; i < table->columns; i++)
        add(table, NULL);
}

static void print_cell(FILE *file, const char *text, size_t width, bool right)
{
    size_t blanks = width - cli_width(text);
    if (right)
        fprintf(file, "%*s", (int)blanks, "");
    cli_put_clean(file, text);
    if (!right)
        fprintf(file, "%*s", (int)blanks, "");
}

/* Bytes of the next line of a cell of the given width: wrapped at a blank or, if there is none,
 * anywhere. */
static size_t line_length(const char *text, size_t width)
{
    size_t length = 0, columns = 0, at_blank = 0;
    while (text[length] != '\0') {
        char one[5] = "";
        uint32_t code;
        size_t bytes = character(text + length, &code);
        memcpy(one, text + length, bytes);
        columns += cli_width(one);
        if (columns > width)
            return at_blank > 0 ? at_blank : length > 0 ? length : bytes;
        length += bytes;
        if (text[length] == ' ')
            at_blank = length;
    }
    return length;
}

void cli_put_wrapped(FILE *file, const char *text, size_t indent)
{
    while (*text != '\0') {
        size_t end = strcspn(text, "\n");
        char *paragraph = cli_text("%.*s", (int)end, text);
        for (const char *at = paragraph; *at != '\0';) {
            size_t length = line_length(at, CLI_COLUMNS - indent);
            char *line = cli_text("%.*s", (int)length, at);
            if (at > paragraph)
                fprintf(file, "\n%*s", (int)indent, "");
            cli_put_clean(file, line);
            free(line);
            at += length + strspn(at + length, " ");
        }
        free(paragraph);
        text += end;
        for (; *text == '\n'; text++)
            putc('\n', file);
    }
}

/* A row without blanks at its end. */
static void
print_line(const cli_table *table, FILE *file, const size_t *widths, const char *const *cells)
{
    size_t count = table->columns;
    while (count > 1 && *cells[count - 1] == '\0')
        count--;
    for (size_t i = 0; i < count; i++) {
        fputs(i > 0 ? "  " : "", file);
        print_cell(file, cells[i],
                   i + 1 == count && !table->right[i] ? cli_width(cells[i]) : widths[i],
                   table->right[i]);
    }
}

static void print_rule(FILE *file, const size_t *widths, size_t columns)
{
    size_t total = 2 * (columns - 1);
    for (size_t i = 0; i < columns; i++)
        total += widths[i];
    for (size_t i = 0; i < total; i++)
        putc('-', file);
}

/* A row in as many lines as its longest cell needs. */
static void
print_row(const cli_table *table, FILE *file, const size_t *widths, const char *const *cells)
{
    const char *rest[MOST_COLUMNS];
    for (size_t i = 0; i < table->columns; i++)
        rest[i] = cells[i];
    for (bool more = true, first = true; more; first = false) {
        char *lines[MOST_COLUMNS];
        more = false;
        if (!first)
            putc('\n', file);
        for (size_t i = 0; i < table->columns; i++) {
            size_t length = line_length(rest[i], widths[i]);
            lines[i] = cli_text("%.*s", (int)length, rest[i]);
            rest[i] += length + strspn(rest[i] + length, " ");
            more = more || *rest[i] != '\0';
        }
        print_line(table, file, widths, (const char *const *)lines);
        for (size_t i = 0; i < table->columns; i++)
            free(lines[i]);
    }
}

/* Narrows the widest columns of text until a row fits. */
static void fit(const cli_table *table, size_t *widths)
{
    size_t total = 2 * (table->columns - 1);
    for (size_t i = 0; i < table->columns; i++)
        total += widths[i];
    for (; table->most > 0 && total > table->most; total--) {
        size_t widest = 0;
        for (size_t i = 0; i < table->columns; i++)
            if (!table->right[i] && (table->right[widest] || widths[i] > widths[widest]))
                widest = i;
        if (table->right[widest] || widths[widest] <= LEAST_WIDTH)
            return;
        widths[widest]--;
    }
}

void cli_table_fit(cli_table *table, size_t columns)
{
    table->most = columns;
}

void cli_table_print(const cli_table *table, FILE *file)
{
    size_t widths[MOST_COLUMNS] = {0};
    for (size_t i = 0; i < table->columns; i++)
        widths[i] = cli_width(table->names[i]);
    for (size_t i = 0; i < table->count; i++) {
        size_t width = table->cells[i] != NULL ? cli_width(table->cells[i]) : 0;
        if (width > widths[i % table->columns])
            widths[i % table->columns] = width;
    }
    fit(table, widths);
    fputs(cli_bold(file), file);
    print_row(table, file, widths, table->names);
    fprintf(file, "%s\n", cli_plain(file));
    for (size_t row = 0; row + table->columns <= table->count; row += table->columns) {
        if (table->cells[row] == NULL)
            print_rule(file, widths, table->columns);
        else
            print_row(table, file, widths, (const char *const *)&table->cells[row]);
        putc('\n', file);
    }
}

void cli_table_destroy(cli_table *table)
{
    if (table == NULL)
        return;
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i]);
    free(table->cells);
    free(table->header);
    free(table);
}
