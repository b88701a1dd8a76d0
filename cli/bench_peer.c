/* SPDX-License-Identifier: MIT
 *
 * bench_peer.c: other libraries beside weir. Each is a program of its own in one folder (bench/peers,
 * scripts/bench_setup.sh), started for one measurement; none is linked. One that is not there is named
 * with the reason that the set-up left beside it.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const bench_peer bench_peers[] = {
    {"ezmsg_sigproc", NULL, "ezmsg-sigproc", true},
    {"scipy_sos", "f32", "SciPy sosfilt, f32", false},
    {"scipy_sos", "f64", "SciPy sosfilt, f64", false},
    {"rtfilter", "f32", "librtfilter, f32", false},
    {"rtfilter", "f64", "librtfilter, f64", false},
    {"liquid", NULL, "liquid-dsp, f32", false},
    {0},
};

void bench_peers_folder(char *path, size_t size)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[length > 0 ? length : 0] = 0;
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = 0;
    snprintf(path, size, "%s/bench", slash ? self : ".");
}

const char *bench_peer_missing(const char *folder, const bench_peer *peer)
{
    static char reason[256];
    char path[PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s/%s", folder, peer->program);
    if (access(path, X_OK) == 0)
        return NULL;
    snprintf(path, sizeof(path), "%s/%s.skipped", folder, peer->program);
    FILE *file = fopen(path, "r");
    if (file == NULL || fgets(reason, sizeof(reason), file) == NULL)
        snprintf(reason, sizeof(reason), "not in %.200s (make bench sets it up)", folder);
    if (file)
        fclose(file);
    reason[strcspn(reason, "\n")] = 0;
    return reason;
}

/* In the child: never returns. */
static void become(const char *path, const bench_peer *peer, double seconds, int out)
{
    char channels[24], frames[24], rate[24], time[24];
    snprintf(channels, sizeof(channels), "%d", BENCH_CHANNELS);
    snprintf(frames, sizeof(frames), "%d", BENCH_FRAMES);
    snprintf(rate, sizeof(rate), "%d", (int)BENCH_RATE_HZ);
    snprintf(time, sizeof(time), "%d.%03d", (int)seconds, (int)(seconds * 1000) % 1000);
    int null = open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    alarm(120 + (unsigned)seconds); /* one that hangs is ended; the alarm outlives exec */
    execl(path, path, channels, frames, rate, time, peer->precision, (char *)NULL);
    _exit(127);
}

int bench_peer_run(const char *folder,
                   const bench_peer *peer,
                   double seconds,
                   double *ret_x_real_time,
                   char *version,
                   size_t size)
{
    char path[PATH_MAX + 64], line[4096];
    size_t filled = 0;
    int ends[2], state = 0;
    snprintf(path, sizeof(path), "%s/%s", folder, peer->program);
    if (pipe2(ends, O_CLOEXEC) != 0)
        return cli_fail(1, "%s: %s", peer->title, strerror(errno));
    pid_t child = fork();
    if (child == 0)
        become(path, peer, seconds, ends[1]);
    close(ends[1]);
    while (filled < sizeof(line) - 1) {
        ssize_t got = read(ends[0], line + filled, sizeof(line) - 1 - filled);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        filled += (size_t)got;
    }
    line[filled] = 0;
    close(ends[0]);
    while (child > 0 && waitpid(child, &state, 0) < 0 && errno == EINTR)
        continue;
    if (child < 0 || !WIFEXITED(state) || WEXITSTATUS(state) != 0)
        return cli_stop ? 130 : cli_fail(1, "%s did not run to its end", path);
    json_t *json = json_loads(line, 0, NULL);
    double x = json_number_value(json_object_get(json, "x_real_time"));
    const char *text = json_string_value(json_object_get(json, "version"));
    snprintf(version, size, "%s", text ? text : "");
    json_decref(json);
    if (!(x > 0))
        return cli_fail(1, "%s printed no measurement: %.80s", path, line);
    *ret_x_real_time = x;
    return 0;
}
