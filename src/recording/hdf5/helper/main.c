/* SPDX-License-Identifier: MIT
 *
 * main.c of weir-hdf5: sets limits, then answers questions (protocol.h) one after the other. The
 * file is descriptor 0, the socket 1, memory for blocks 3; no other file is opened, except filters
 * that libhdf5 loads. Ends when the socket is closed. The starting process closes standard error:
 * what glibc prints about a damaged heap is of no use to a user.
 */
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "recording/hdf5/helper/helper.h"

#define SOCKET 1

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1 /* their shadow is private memory of terabytes */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

static weiri_hdf5 h = {.reading = true, .file = H5I_INVALID_HID};
#ifndef SANITIZED
static unsigned long long granted; /* bytes of private memory */
#endif

static void send_all(const void *from, size_t bytes)
{
    const char *next = from;
    while (bytes > 0) {
        ssize_t done = send(SOCKET, next, bytes, MSG_NOSIGNAL);
        if (done < 0 && errno != EINTR) {
            _exit(0); /* nobody reads any more */
        }
        next += done > 0 ? done : 0;
        bytes -= done > 0 ? (size_t)done : 0;
    }
}

static void receive_all(void *to, size_t bytes)
{
    char *next = to;
    while (bytes > 0) {
        ssize_t done = recv(SOCKET, next, bytes, 0);
        if (done == 0 || (done < 0 && errno != EINTR)) {
            _exit(0);
        }
        next += done > 0 ? done : 0;
        bytes -= done > 0 ? (size_t)done : 0;
    }
}

void answer(const weiri_hdf5_answer *head, const void *bytes)
{
    send_all(head, sizeof *head);
    send_all(bytes, (size_t)head->bytes);
}

void answer_failed(weir_err err)
{
    const char *why = weir_err_detail();
    answer(&(weiri_hdf5_answer){.kind = WEIRI_HDF5_FAILED, .err = err, .bytes = strlen(why)}, why);
}

void watch(void)
{
    static int seconds;
    if (seconds == 0) {
        const char *stated = getenv("WEIR_HDF5_SECONDS");
        seconds = stated ? atoi(stated) : 0;
        seconds = seconds > 0 ? seconds : 60;
    }
    /* Limits computing time: waiting for a slow disk, or for the reader, does not count. Ends
     * the process. */
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = seconds}, NULL);
}

void grant(uint64_t bytes)
{
#ifndef SANITIZED
    struct rlimit limit;
    if (getrlimit(RLIMIT_DATA, &limit) == 0) {
        granted = bytes;
        limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
        setrlimit(RLIMIT_DATA, &limit);
    }
#else
    (void)bytes;
#endif
}

#if defined(__GLIBC__) && !defined(SANITIZED)
/* libhdf5 1.10 corrupts its heap when memory is refused, and then crashes: the process ends
 * before that, with the reason. These functions replace libc's in every library of this program. */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);

static void *or_end(void *memory, size_t bytes)
{
    if (memory == NULL && bytes > 0) {
        answer_failed(
            weiri_fail(WEIR_E_RECORDING,
                       "%s: libhdf5 needs more than %llu bytes of memory (for %zu more); the "
                       "file is probably damaged",
                       h.name, granted, bytes));
        _exit(0);
    }
    return memory;
}

__attribute__((visibility("default"))) void *malloc(size_t bytes)
{
    return or_end(__libc_malloc(bytes), bytes);
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t bytes)
{
    return or_end(__libc_calloc(count, bytes), count ? bytes : 0);
}

__attribute__((visibility("default"))) void *realloc(void *memory, size_t bytes)
{
    return or_end(__libc_realloc(memory, bytes), bytes);
}
#endif

static void set_limits(void)
{
    /* the starting process decides */
    static const int ignored[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP};
    sigset_t none;
    sigemptyset(&none);
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) {
        signal(ignored[i], SIG_IGN);
    }
    signal(SIGPROF, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
#ifndef SANITIZED
    setrlimit(RLIMIT_STACK, &(struct rlimit){WEIRI_HDF5_STACK, WEIRI_HDF5_STACK});
#endif
#ifdef __GLIBC__
    /* Chunks are allocated and freed repeatedly; their pages would be returned and zeroed again
     * each time (a quarter of the time). */
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
#endif
    grant(WEIRI_HDF5_DATA);
}

/* Where libhdf5 looks for it: at 0, 512, 1024, 2048, ... Its own message would be that the file
 * ends. */
static weir_err check_signature(void)
{
    char found[8] = "";
    for (uint64_t at = 0; at < h.size; at = at ? 2 * at : 512) {
        if (pread(h.fd, found, sizeof found, (off_t)at) == (ssize_t)sizeof found &&
            memcmp(found, "\x89HDF\r\n\x1a\n", sizeof found) == 0) {
            return WEIR_OK;
        }
    }
    return weiri_fail(WEIR_E_RECORDING, "%s: not an HDF5 file: its signature is missing", h.name);
}

static void take_text(char *to, uint32_t bytes)
{
    if (bytes >= WEIRI_HDF5_PATH) {
        _exit(1);
    }
    receive_all(to, bytes);
    to[bytes] = 0;
}

weiri_hdf5_question next_question(char *place, char *name)
{
    weiri_hdf5_question ask;
    receive_all(&ask, sizeof ask);
    take_text(place, ask.place_bytes);
    take_text(name, ask.name_bytes);
    return ask;
}

int main(int count, char **words)
{
    static opened in = {.data = H5I_INVALID_HID, .space = H5I_INVALID_HID};
    struct stat status;
    int type = 0;
    socklen_t bytes = sizeof type;
    if (count != 2 || getsockopt(SOCKET, SOL_SOCKET, SO_TYPE, &type, &bytes) != 0 ||
        fstat(STDIN_FILENO, &status) != 0) {
        fprintf(stderr, "weir-hdf5 is started by weir to read an HDF5 file; it has no other use\n");
        return 2;
    }
    set_limits();
    h.name = words[1];
    h.size = (uint64_t)status.st_size;
    answer(&(weiri_hdf5_answer){.kind = WEIRI_HDF5_GREETS, .bytes = sizeof WEIRI_HDF5_GREETING},
           WEIRI_HDF5_GREETING);
    watch();
    weiri_hdf5_enter(&h);
    weir_err opening = check_signature();
    opening = opening == WEIR_OK ? weiri_hdf5_open(&h) : opening;
    for (;;) {
        char place[WEIRI_HDF5_PATH], name[WEIRI_HDF5_PATH];
        weiri_hdf5_question ask = next_question(place, name);
        watch();
        weir_err err = opening;
        switch (err == WEIR_OK ? ask.verb : UINT32_MAX) {
        case WEIRI_HDF5_LIST:
            err = answer_list(&h);
            break;
        case WEIRI_HDF5_DATASET:
            err = answer_dataset(&h, place, &in);
            break;
        case WEIRI_HDF5_VALUES:
            err = answer_values(&h, &ask, place, name);
            break;
        case WEIRI_HDF5_ROWS:
            err = answer_rows(&h, &ask, &in);
            break;
        case WEIRI_HDF5_NEXT: /* after the last block */
            break;
        default:
            err = err == WEIR_OK ? weiri_fail(WEIR_E_INTERNAL, "weir-hdf5: unknown question") : err;
            break;
        }
        if (err != WEIR_OK) {
            answer_failed(err);
        }
    }
}
