/* SPDX-License-Identifier: MIT
 *
 * say.c: errors as one line, text without control characters, memory allocation that exits on
 * failure.
 */
#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_coloured(FILE *file)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(fileno(file)) && (no_color == NULL || *no_color == '\0') &&
           (term == NULL || strcmp(term, "dumb") != 0);
}

const char *cli_bold(FILE *file)
{
    return is_coloured(file) ? "\x1b[1m" : "";
}

const char *cli_plain(FILE *file)
{
    return is_coloured(file) ? "\x1b[0m" : "";
}

void cli_put_clean(FILE *file, const char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        putc(c < 0x20 || c == 0x7f ? '?' : c, file);
    }
}

int cli_fail(int status, const char *format, ...)
{
    char line[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    fflush(stdout);
    bool coloured = is_coloured(stderr);
    fputs(coloured ? "\x1b[1;31mweir:\x1b[0m " : "weir: ", stderr);
    cli_put_clean(stderr, line);
    putc('\n', stderr);
    return status;
}

int cli_fail_weir(weir_err err)
{
    const char *detail = weir_err_detail();
    return cli_fail(weir_err_exit_status(err), "%s", *detail != '\0' ? detail : weir_err_text(err));
}

int cli_finish(int status)
{
    if (fflush(stdout) != 0 || ferror(stdout))
        return cli_fail(7, "standard output: %s",
                        errno != 0 ? strerror(errno) : "cannot be written");
    return status;
}

void *cli_alloc(size_t count, size_t size)
{
    void *memory = calloc(count > 0 ? count : 1, size);
    if (memory == NULL)
        exit(cli_fail(weir_err_exit_status(WEIR_E_NOMEM), "no memory left"));
    return memory;
}

char *cli_text(const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = cli_alloc((size_t)(length > 0 ? length : 0) + 1, 1);
    vsnprintf(text, (size_t)(length > 0 ? length : 0) + 1, format, again);
    va_end(again);
    return text;
}

void cli_put_escaped(FILE *file, const char *text)
{
    for (; text != NULL && *text != '\0'; text++) {
        switch (*text) {
        case '<':
            fputs("&lt;", file);
            break;
        case '>':
            fputs("&gt;", file);
            break;
        case '&':
            fputs("&amp;", file);
            break;
        case '"':
            fputs("&quot;", file);
            break;
        default:
            putc((unsigned char)*text < 0x20 ? ' ' : *text, file);
        }
    }
}

/* Edits (insert, remove, replace) that turn a into b. Names are short: longer ones count as
 * different from all. */
static size_t edits(const char *a, const char *b)
{
    size_t row[64], length = strlen(b);
    if (length >= 64)
        return 64;
    for (size_t j = 0; j <= length; j++)
        row[j] = j;
    for (size_t i = 0; a[i] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < length; j++) {
            size_t best = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            if (row[j + 1] + 1 < best)
                best = row[j + 1] + 1;
            if (row[j] + 1 < best)
                best = row[j] + 1;
            row[j + 1] = best;
        }
    }
    return row[length];
}

const char *cli_nearest(const char *found, const char *const *names, size_t count)
{
    const char *nearest = NULL;
    size_t least = strlen(found) / 2 + 2; /* exchanging two letters takes two edits */
    for (size_t i = 0; i < count; i++) {
        size_t distance = edits(found, names[i]);
        if (distance < least) {
            least = distance;
            nearest = names[i];
        }
    }
    return nearest;
}
