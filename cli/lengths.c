/* SPDX-License-Identifier: MIT
 *
 * lengths.c: message lengths from a file, one per line. A list may be larger than memory: it is
 * read through a fixed buffer, once before the run to check it, and again during the run.
 */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static weir_err fail(cli_lengths *lengths, weir_err err, const char *what)
{
    lengths->failed = true;
    cli_fail(weir_err_exit_status(err), "%s:%llu: %s", lengths->path,
             (unsigned long long)lengths->line, what);
    return err;
}

/* The next byte, or -1 at the end. */
static weir_err next_byte(cli_lengths *lengths, int *ret_byte)
{
    if (lengths->at == lengths->filled) {
        ssize_t got;
        do
            got = read(lengths->file, lengths->buffer, sizeof lengths->buffer);
        while (got < 0 && errno == EINTR && cli_stop == 0);
        if (got < 0 && errno == EINTR)
            return WEIR_E_INTERRUPTED;
        if (got < 0)
            return fail(lengths, WEIR_E_IO, strerror(errno));
        lengths->at = 0;
        lengths->filled = (size_t)got;
    }
    *ret_byte = lengths->at < lengths->filled ? (unsigned char)lengths->buffer[lengths->at++] : -1;
    return WEIR_OK;
}

/* The next number; *ret_found is false at the end. Empty lines are skipped. */
static weir_err next_number(cli_lengths *lengths, uint64_t *ret_number, bool *ret_found)
{
    uint64_t number = 0;
    bool found = false, ended = false;
    for (;;) {
        int byte = -1;
        weir_err err = next_byte(lengths, &byte);
        if (err != WEIR_OK)
            return err;
        if (byte == '\n' || byte < 0) {
            if (found || byte < 0)
                break;
            ended = false;
            lengths->line++;
        } else if (byte == ' ' || byte == '\t' || byte == '\r') {
            ended = found;
        } else if (byte < '0' || byte > '9' || ended || number > (UINT64_MAX >> 2) / 10) {
            return fail(lengths, WEIR_E_USAGE, "expected one number of frames per line, 0 or more");
        } else {
            number = number * 10 + (uint64_t)(byte - '0');
            found = true;
        }
    }
    if (found)
        lengths->line++;
    *ret_found = found;
    *ret_number = number;
    return WEIR_OK;
}

static weir_err rewind_list(cli_lengths *lengths)
{
    lengths->at = lengths->filled = 0;
    lengths->line = 1;
    if (lseek(lengths->file, 0, SEEK_SET) != 0)
        return fail(lengths, WEIR_E_IO, "cannot be read twice; use a file, not a pipe");
    return WEIR_OK;
}

int cli_lengths_open(cli_lengths *lengths, const char *path)
{
    *lengths = (cli_lengths){.path = path, .file = open(path, O_RDONLY | O_CLOEXEC), .line = 1};
    if (lengths->file < 0)
        return cli_fail(weir_err_exit_status(errno == EINTR ? WEIR_E_INTERRUPTED : WEIR_E_IO),
                        "%s: %s", path,
                        errno == EINTR ? "interrupted while opening it" : strerror(errno));
    bool found = true;
    weir_err err = rewind_list(lengths);
    while (err == WEIR_OK && found) {
        uint64_t number = 0;
        err = next_number(lengths, &number, &found);
        if (err != WEIR_OK || !found)
            break;
        lengths->sum = lengths->sum > UINT64_MAX - number ? UINT64_MAX : lengths->sum + number;
    }
    if (err == WEIR_OK && lengths->sum == 0) {
        lengths->failed = true;
        return cli_fail(2, "%s: all lengths are 0; at least one must be above 0", path);
    }
    if (err == WEIR_OK)
        err = rewind_list(lengths);
    return err == WEIR_OK ? 0 : weir_err_exit_status(err);
}

weir_err cli_lengths_next(cli_lengths *lengths, uint64_t *ret_frames)
{
    bool found = false;
    weir_err err = next_number(lengths, ret_frames, &found);
    if (err != WEIR_OK || found)
        return err;
    err = rewind_list(lengths);
    if (err == WEIR_OK)
        err = next_number(lengths, ret_frames, &found);
    if (err == WEIR_OK && !found)
        err = fail(lengths, WEIR_E_IO, "became empty during the run");
    return err;
}

void cli_lengths_close(cli_lengths *lengths)
{
    if (lengths != NULL && lengths->file >= 0)
        close(lengths->file);
}
