/* SPDX-License-Identifier: MIT
 *
 * child.c: starts the program weir-hdf5, in which libhdf5 reads. In a process of its own a crash of
 * libhdf5 is an error, its memory has a limit enforced by the kernel (M7), endless loops are
 * stopped, and any version of it works.
 *
 * It is a separate program, not a fork: a forked child keeps a copy of every page that its parent
 * writes to afterwards, which no plan counts, inherits the state of libhdf5 and malloc in the
 * middle of what the caller's threads were doing, and cannot have a memory limit below its parent's
 * size. posix_spawn needs none of the caller's memory, acquires no lock and is safe with threads.
 *
 * It ends when its socket closes, however its parent ended. (PR_SET_PDEATHSIG would end it with the
 * thread that opened the recording.) Only this child is waited for; if the caller waits for all
 * children, or ignores SIGCHLD, only the reason in a message is lost.
 */
#include "recording/hdf5/child.h"

#ifdef WEIRI_HDF5
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM  "weir-hdf5"
#define GRACE_MS 1000 /* after a signal */

/* ---- where it is ----------------------------------------------------------------------------------------------- */

/* In the folder of the file that contains this code, as in a build, or where it is installed
 * relative to it. */
static bool find_near(const char *object, char *path, size_t size)
{
    static const char *const places[] = {"", "/../" WEIRI_LIBEXEC, "/../../" WEIRI_LIBEXEC};
    char real[PATH_MAX];
    if (realpath(object, real) == NULL) {
        return false;
    }
    *strrchr(real, '/') = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int length = snprintf(path, size, "%s%s/" PROGRAM, real, places[i]);
        if (length > 0 && (size_t)length < size && access(path, X_OK) == 0) {
            return true;
        }
    }
    return false;
}

static weir_err find_program(const char *recording, char *path, size_t size)
{
    const char *stated = secure_getenv("WEIR_HDF5_READER");
    Dl_info here;
    if (stated) {
        snprintf(path, size, "%s", stated);
        return WEIR_OK;
    }
    /* A program's name may be relative to a folder that it has left. */
    if ((dladdr(WEIRI_HDF5_GREETING, &here) != 0 && here.dli_fname[0] == '/' &&
         find_near(here.dli_fname, path, size)) ||
        find_near("/proc/self/exe", path, size)) {
        return WEIR_OK;
    }
    snprintf(path, size, "%s/" PROGRAM, WEIRI_FULL_LIBEXEC);
    return access(path, X_OK) == 0
               ? WEIR_OK
               : weiri_fail(WEIR_E_IO,
                            "%s: the program " PROGRAM
                            ", which reads HDF5 files, is neither in the folder of this program "
                            "nor %s; state its path in WEIR_HDF5_READER",
                            recording, path);
}

static weir_err ended(weiri_hdf5_child *child, weir_err err, const char *format, ...)
    WEIRI_PRINTF(3, 4);

/* ---- start and end --------------------------------------------------------------------------------------------- */

static int
spawn(const char *program, int file, int socket, int memory, const char *recording, pid_t *ret_pid)
{
    char *words[] = {PROGRAM, (char *)(uintptr_t)recording, NULL};
    posix_spawn_file_actions_t actions;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed == 0) {
        failed = posix_spawn_file_actions_adddup2(&actions, file, 0);
        failed = failed ? failed : posix_spawn_file_actions_adddup2(&actions, socket, 1);
        failed = failed ? failed
                        : posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
        failed =
            failed ? failed : posix_spawn_file_actions_adddup2(&actions, memory, WEIRI_HDF5_BLOCKS);
        failed = failed ? failed
                        : posix_spawn_file_actions_addclosefrom_np(&actions, WEIRI_HDF5_BLOCKS + 1);
        failed = failed ? failed : posix_spawn(ret_pid, program, &actions, NULL, words, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    return failed;
}

/* A copy above 0 to 3, since the child replaces these. */
static int high(int descriptor)
{
    return fcntl(descriptor, F_DUPFD_CLOEXEC, WEIRI_HDF5_BLOCKS + 1);
}

static void close_it(int descriptor)
{
    if (descriptor >= 0) {
        close(descriptor);
    }
}

weir_err weiri_hdf5_child_start(int file, const char *path, weiri_hdf5_child *ret)
{
    char program[PATH_MAX];
    int ends[2];
    weir_err err = find_program(path, program, sizeof program);
    if (err != WEIR_OK) {
        return err;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return weiri_fail(WEIR_E_IO, "%s: no socket to " PROGRAM ": %s", path, strerror(errno));
    }
    ret->memory = memfd_create("weir-hdf5", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int in = high(file), out = high(ends[1]), memory = high(ret->memory);
    int failed =
        in < 0 || out < 0 || memory < 0 ? errno : spawn(program, in, out, memory, path, &ret->pid);
    close(ends[1]);
    close_it(in);
    close_it(out);
    close_it(memory);
    if (failed) {
        close(ends[0]);
        close_it(ret->memory);
        ret->memory = -1;
        return weiri_fail(WEIR_E_IO, "%s: %s, which reads HDF5 files, cannot be started: %s", path,
                          program, strerror(failed));
    }
    ret->socket = ends[0];
    ret->path = path;
    char greeting[sizeof WEIRI_HDF5_GREETING] = "";
    weiri_hdf5_answer head;
    err = weiri_hdf5_child_answer(ret, &head);
    if (err != WEIR_OK) {
        return err;
    }
    if (head.kind != WEIRI_HDF5_GREETS || head.bytes != sizeof greeting ||
        weiri_hdf5_child_take(ret, greeting, sizeof greeting) != WEIR_OK ||
        memcmp(greeting, WEIRI_HDF5_GREETING, sizeof greeting) != 0) {
        return ended(ret, WEIR_E_IO, "%s is not of this version of weir (%s)", program,
                     WEIR_VERSION);
    }
    return WEIR_OK;
}

/* Sealed, so that the helper cannot shorten it while the reader uses it. */
weir_err weiri_hdf5_child_map(weiri_hdf5_child *child, uint64_t bytes)
{
    void *memory = MAP_FAILED;
    if (bytes <= SIZE_MAX && ftruncate(child->memory, (off_t)bytes) == 0 &&
        fcntl(child->memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0) {
        memory = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, child->memory, 0);
    }
    if (memory == MAP_FAILED) {
        return weiri_fail(WEIR_E_IO, "%s: no shared memory of %llu bytes: %s", child->path,
                          (unsigned long long)bytes, strerror(errno));
    }
    child->blocks = memory;
    child->blocks_bytes = (size_t)bytes;
    return WEIR_OK;
}

/* How it ended, or -1 if somebody else has waited for it. Nothing in the helper needs a clean
 * end. */
static int reap(weiri_hdf5_child *child, bool kill_it)
{
    int status = -1;
    pid_t got = 0;
    close(child->socket);
    child->socket = -1;
    close_it(child->memory);
    child->memory = -1;
    if (child->blocks) {
        munmap((void *)(uintptr_t)child->blocks, child->blocks_bytes);
        child->blocks = NULL;
    }
    if (kill_it && waitpid(child->pid, &status, WNOHANG) == 0) {
        kill(child->pid, SIGKILL);
    } else if (kill_it) {
        return status;
    }
    do {
        got = waitpid(child->pid, &status, 0);
    } while (got < 0 && errno == EINTR);
    return got == child->pid ? status : -1;
}

void weiri_hdf5_child_end(weiri_hdf5_child *child)
{
    if (child->socket >= 0) {
        reap(child, true);
    }
}

/* ---- talking --------------------------------------------------------------------------------------------------- */

/* It has ended, and every further call returns this. */
static weir_err ended(weiri_hdf5_child *child, weir_err err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    weiri_format(child->why, sizeof child->why, format, args);
    va_end(args);
    weiri_hdf5_child_end(child);
    child->err = err;
    return weiri_fail(err, "%s: %s", child->path, child->why);
}

static weir_err died(weiri_hdf5_child *child)
{
    int status = reap(child, false);
    if (status >= 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF) {
        return ended(child, WEIR_E_RECORDING,
                     "libhdf5 computed for too long and was ended; the file is probably damaged "
                     "(WEIR_HDF5_SECONDS allows more than 60 s)");
    }
    if (status >= 0 && WIFSIGNALED(status)) {
        const char *name = sigdescr_np(WTERMSIG(status));
        return ended(
            child, WEIR_E_RECORDING,
            "libhdf5 crashed while reading it (signal %d, %s); the file is probably damaged",
            WTERMSIG(status), name ? name : "unknown");
    }
    return ended(child, WEIR_E_RECORDING, PROGRAM " ended unexpectedly (status %d)",
                 status >= 0 ? WEXITSTATUS(status) : status);
}

const char *weiri_hdf5_child_why(const weiri_hdf5_child *child)
{
    const char *why = weir_err_detail();
    size_t bytes = strlen(child->path);
    return strncmp(why, child->path, bytes) == 0 && strncmp(why + bytes, ": ", 2) == 0
               ? why + bytes + 2
               : why;
}

void weiri_hdf5_child_stop(weiri_hdf5_child *child, weir_err err)
{
    if (child->socket >= 0) {
        snprintf(child->why, sizeof child->why, "%s", weiri_hdf5_child_why(child));
        weiri_hdf5_child_end(child);
        child->err = err;
    }
}

weir_err weiri_hdf5_child_nonsense(weiri_hdf5_child *child)
{
    return ended(child, WEIR_E_RECORDING,
                 PROGRAM " gave an invalid answer; the file is probably damaged");
}

void weiri_hdf5_child_ask(weiri_hdf5_child *child,
                          weiri_hdf5_question question,
                          const char *place,
                          const char *name)
{
    char all[sizeof question + 2 * WEIRI_HDF5_PATH];
    question.place_bytes = (uint32_t)strnlen(place, WEIRI_HDF5_PATH - 1);
    question.name_bytes = (uint32_t)strnlen(name, WEIRI_HDF5_PATH - 1);
    size_t bytes = sizeof question + question.place_bytes + question.name_bytes;
    memcpy(all, &question, sizeof question);
    memcpy(all + sizeof question, place, question.place_bytes);
    memcpy(all + sizeof question + question.place_bytes, name, question.name_bytes);
    for (size_t done = 0; child->socket >= 0 && done < bytes;) {
        ssize_t sent = send(child->socket, all + done, bytes - done, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR) {
            return;
        }
        done += sent > 0 ? (size_t)sent : 0;
    }
}

weir_err weiri_hdf5_child_take(weiri_hdf5_child *child, void *to, size_t bytes)
{
    unsigned char *next = to;
    bool signalled = false;
    if (child->socket < 0) {
        return weiri_fail(child->err, "%s: %s", child->path, child->why);
    }
    while (bytes > 0) {
        struct pollfd wait = {.fd = child->socket, .events = POLLIN};
        if (signalled && poll(&wait, 1, GRACE_MS) <= 0) { /* nothing arrived, or a further signal */
            return ended(child, WEIR_E_INTERRUPTED, "interrupted while waiting for libhdf5");
        }
        ssize_t got = recv(child->socket, next, bytes, 0);
        if (got == 0 || (got < 0 && errno != EINTR)) {
            return died(child);
        }
        signalled = signalled || got < 0;
        next += got > 0 ? got : 0;
        bytes -= got > 0 ? (size_t)got : 0;
    }
    return WEIR_OK;
}

weir_err weiri_hdf5_child_answer(weiri_hdf5_child *child, weiri_hdf5_answer *ret)
{
    weir_err err = weiri_hdf5_child_take(child, ret, sizeof *ret);
    if (err != WEIR_OK) {
        return err;
    }
    if (ret->kind > WEIRI_HDF5_BLOCK ||
        (ret->kind != WEIRI_HDF5_BLOCK && ret->bytes > WEIRI_HDF5_ANSWER)) {
        return weiri_hdf5_child_nonsense(child);
    }
    if (ret->kind != WEIRI_HDF5_FAILED) {
        return WEIR_OK;
    }
    char text[WEIRI_DETAIL_BYTES] = "";
    if (ret->bytes >= sizeof text) {
        return weiri_hdf5_child_nonsense(child);
    }
    err = weiri_hdf5_child_take(child, text, (size_t)ret->bytes);
    bool known = ret->err == WEIR_E_USAGE || ret->err == WEIR_E_IO || ret->err == WEIR_E_NOMEM;
    return err != WEIR_OK ? err
                          : weiri_fail(known ? (weir_err)ret->err : WEIR_E_RECORDING, "%s", text);
}

weir_err weiri_hdf5_child_struct(weiri_hdf5_child *child,
                                 weiri_hdf5_verb verb,
                                 const char *place,
                                 weiri_hdf5_kind kind,
                                 void *ret_struct,
                                 size_t bytes)
{
    weiri_hdf5_answer head;
    weiri_hdf5_child_ask(child, (weiri_hdf5_question){.verb = verb}, place, "");
    weir_err err = weiri_hdf5_child_answer(child, &head);
    if (err == WEIR_OK && (head.kind != kind || head.bytes != bytes)) {
        err = weiri_hdf5_child_nonsense(child);
    }
    return err == WEIR_OK ? weiri_hdf5_child_take(child, ret_struct, bytes) : err;
}
#endif
