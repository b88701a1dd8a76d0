/* SPDX-License-Identifier: MIT
 *
 * input.c: reads bytes of a file or a pipe by offset. Files are never mapped: pages of a mapping
 * count as the process's own memory and would exceed the plan (M7).
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recording/reader.h"

#define IDLE_MS 200

weir_err weiri_input_open(const char *path, weiri_input *ret_input)
{
    weiri_input input = {.fd = -1, .size = WEIR_FRAMES_UNKNOWN, .name = path};
    if (strcmp(path, "-") == 0) {
        input.fd = STDIN_FILENO;
        input.name = "standard input";
    } else {
        input.fd = open(path, O_RDONLY | O_CLOEXEC);
        if (input.fd < 0 && errno == EINTR) {
            return weiri_fail(WEIR_E_INTERRUPTED, "%s: interrupted while opening it", path);
        }
        if (input.fd < 0) {
            return weiri_fail(WEIR_E_IO, "%s: cannot be opened: %s", path, strerror(errno));
        }
        input.owned = true;
    }
    struct stat status;
    if (fstat(input.fd, &status) != 0) {
        weir_err err = weiri_fail(WEIR_E_IO, "%s: %s", input.name, strerror(errno));
        weiri_input_close(&input);
        return err;
    }
    if (S_ISDIR(status.st_mode)) {
        weiri_input_close(&input);
        return weiri_fail(WEIR_E_IO, "%s: is a folder, not a recording", path);
    }
    /* Standard input that is a file may be at any position, and is read from there on. */
    if (S_ISREG(status.st_mode) && input.owned) {
        input.size = (uint64_t)status.st_size;
    } else {
        input.pipe = true;
    }
    *ret_input = input;
    return WEIR_OK;
}

void weiri_input_close(weiri_input *input)
{
    if (input->owned && input->fd >= 0) {
        close(input->fd);
    }
    input->fd = -1;
    input->owned = false;
}

static weir_err failed(const weiri_input *input, uint64_t offset)
{
    if (errno == EINTR) {
        return weiri_fail(WEIR_E_INTERRUPTED, "%s: interrupted while waiting for input",
                          input->name);
    }
    return weiri_fail(WEIR_E_IO, "%s: offset %llu: cannot be read: %s", input->name,
                      (unsigned long long)offset, strerror(errno));
}

/* Waits for data from a pipe, and lets others work meanwhile: outputs are made readable each
 * second. */
static weir_err wait_for(weiri_input *input)
{
    struct pollfd ready = {.fd = input->fd, .events = POLLIN};
    for (;;) {
        int count = poll(&ready, 1, input->idle != NULL ? IDLE_MS : -1);
        if (count < 0 && errno == EINTR) {
            return failed(input, input->at);
        }
        if (count != 0) {
            return WEIR_OK; /* there is data, or read() returns the error */
        }
        weir_err err = input->idle(input->idle_user);
        if (err != WEIR_OK) {
            return err;
        }
    }
}

/* read(), which returns complete units if there is more than one: complete ones do not wait for
 * the rest of the next. `missing`: bytes to the end of the unit that has begun. */
static weir_err read_some(
    weiri_input *input, void *to, size_t bytes, size_t missing, size_t unit, size_t *ret_bytes)
{
    int there = 0;
    weir_err err = wait_for(input);
    if (err != WEIR_OK) {
        return err;
    }
    if (ioctl(input->fd, FIONREAD, &there) == 0 && there > 0 && (size_t)there >= missing) {
        size_t whole = ((size_t)there - missing) / unit * unit + missing;
        bytes = whole < bytes ? whole : bytes;
    }
    ssize_t got = read(input->fd, to, bytes);
    if (got < 0) {
        return failed(input, input->at);
    }
    input->at += (uint64_t)got;
    *ret_bytes = (size_t)got;
    return WEIR_OK;
}

static weir_err skip(weiri_input *input, uint64_t offset, bool *ret_there)
{
    char waste[4096];
    while (input->at < offset) {
        uint64_t rest = offset - input->at;
        size_t got = 0;
        weir_err err =
            read_some(input, waste, rest < sizeof waste ? (size_t)rest : sizeof waste, 1, 1, &got);
        if (err != WEIR_OK) {
            return err;
        }
        if (got == 0) {
            *ret_there = false;
            return WEIR_OK;
        }
    }
    *ret_there = input->at == offset;
    return WEIR_OK;
}

static weir_err read_pipe(weiri_input *input,
                          uint64_t offset,
                          unsigned char *to,
                          size_t bytes,
                          size_t unit,
                          size_t *ret_bytes)
{
    bool there = false;
    weir_err err = skip(input, offset, &there);
    if (err != WEIR_OK) {
        return err;
    }
    size_t have = 0;
    size_t want = bytes;
    while (there && have < want) {
        size_t got = 0;
        err = read_some(input, to + have, want - have, unit - have % unit, unit, &got);
        if (err != WEIR_OK) {
            return err;
        }
        if (got == 0) {
            break;
        }
        have += got;
        /* Complete units are present: complete the last one, and wait for no more. */
        want = (have + unit - 1) / unit * unit;
    }
    *ret_bytes = have;
    return WEIR_OK;
}

weir_err weiri_input_read(
    weiri_input *input, uint64_t offset, void *to, size_t bytes, size_t unit, size_t *ret_bytes)
{
    if (input->pipe) {
        return read_pipe(input, offset, to, bytes, unit, ret_bytes);
    }
    if (offset > INT64_MAX - bytes) {
        *ret_bytes = 0;
        return WEIR_OK;
    }
    size_t have = 0;
    while (have < bytes) {
        ssize_t got =
            pread(input->fd, (unsigned char *)to + have, bytes - have, (off_t)(offset + have));
        if (got < 0) {
            return failed(input, offset + have);
        }
        if (got == 0) {
            break;
        }
        have += (size_t)got;
    }
    *ret_bytes = have;
    return WEIR_OK;
}
