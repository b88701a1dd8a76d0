/* SPDX-License-Identifier: MIT
 *
 * children.h: cases that each need a process of their own: things that exist once per process, and
 * what child processes inherit. A case runs in a child by fork, or by spawning the test's own
 * program with the case's name.
 */
#ifndef WEIR_CHILDREN_H
#define WEIR_CHILDREN_H

#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testing.h"

extern char **environ;

typedef struct child_case {
    const char *name;
    int (*run)(void); /* 0 if all is right, else about the line number: WANT */
} child_case;

/* For cases, and functions that they call. */
#define WANT(truth)                                                                                \
    do {                                                                                           \
        if (!(truth)) {                                                                            \
            return __LINE__ % 250 + 1;                                                             \
        }                                                                                          \
    } while (0)

/* The last lines that the library logged, for weir_log_set. */
static char lines[4][256];
static int line_count;

static inline void keep_line(void *user, const char *line)
{
    (void)user;
    snprintf(lines[line_count++ % 4], sizeof lines[0], "%s", line);
}

/* Waits for the child: its exit status, 999 if there was none. Also within a case. */
static inline int child_status(pid_t child)
{
    int status = 0;
    bool ended = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status);
    return ended ? WEXITSTATUS(status) : 999;
}

/* By fork, without limits in the environment; fails with the case's name. */
static inline void child_run(const child_case *which)
{
    pid_t child = fork();
    if (child == 0) {
        unsetenv("WEIR_CACHE_LIMIT");
        unsetenv("WEIR_MEMORY_LIMIT");
        _exit(which->run());
    }
    int status = child_status(child);
    if (status != 0) {
        fail_msg("case %s: about line %d", which->name, status - 1);
    }
}

/* The program `self` again, with a case's name. */
static inline pid_t child_spawn(const char *self, const char *name)
{
    char *argv[] = {(char *)self, (char *)name, NULL};
    pid_t child = 0;
    return posix_spawn(&child, self, NULL, NULL, argv, environ) == 0 ? child : -1;
}

/* In main: the case that this process was spawned for; NULL = none. */
static inline const child_case *
child_called(const child_case *cases, size_t count, int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < count; i++) {
        if (strcmp(argv[1], cases[i].name) == 0) {
            return &cases[i];
        }
    }
    return NULL;
}

#endif
