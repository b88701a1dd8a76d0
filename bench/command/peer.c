/* SPDX-License-Identifier: MIT
 *
 * peer.c: other libraries compared with weir. Each is a program of its own in one folder
 * (bench/peers, scripts/bench_setup.sh), started for one measurement; none is linked. For a missing
 * one the reason is printed, which the set-up stored in that folder.
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
static void become(const char *path, const char *const *arguments, unsigned seconds, int out)
{
    char *words[16];
    size_t count = 0;
    words[count++] = (char *)(uintptr_t)path;
    for (; *arguments != NULL && count < 15; arguments++)
        words[count++] = (char *)(uintptr_t)*arguments;
    words[count] = NULL;
    int null = open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    alarm(120 + seconds); /* a program that hangs is ended; the alarm survives exec */
    execv(path, words);
    _exit(127);
}

int bench_program_run(const char *path,
                      const char *const *arguments,
                      unsigned seconds,
                      json_t **ret_printed)
{
    size_t filled = 0, size = 1 << 18; /* ignore the rest */
    char *text = cli_alloc(size, 1);
    int ends[2], state = 0;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        free(text);
        return cli_fail(1, "%s: %s", path, strerror(errno));
    }
    pid_t child = fork();
    if (child == 0)
        become(path, arguments, seconds, ends[1]);
    close(ends[1]);
    while (filled < size - 1) {
        ssize_t got = read(ends[0], text + filled, size - 1 - filled);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        filled += (size_t)got;
    }
    close(ends[0]);
    while (child > 0 && waitpid(child, &state, 0) < 0 && errno == EINTR)
        continue;
    int status = 0;
    json_t *json = NULL;
    if (child < 0 || !WIFEXITED(state) || WEXITSTATUS(state) != 0)
        status = cli_stop ? 130 : cli_fail(1, "%s did not finish", path);
    else if ((json = json_loadb(text, filled, 0, NULL)) == NULL)
        status = cli_fail(1, "%s printed no JSON: %.80s", path, text);
    free(text);
    if (status == 0)
        *ret_printed = json;
    return status;
}

int bench_peer_run(const char *folder,
                   const bench_peer *peer,
                   const bench_job *job,
                   double seconds,
                   bench_taken *ret_taken,
                   char *version,
                   size_t size)
{
    char path[PATH_MAX + 64], channels[24], frames[24], rate[24], time[24];
    json_t *json = NULL;
    snprintf(path, sizeof(path), "%s/%s", folder, peer->program);
    snprintf(channels, sizeof(channels), "%d", (int)job->channels);
    snprintf(frames, sizeof(frames), "%d", (int)job->frames);
    snprintf(rate, sizeof(rate), "%d", (int)BENCH_RATE_HZ);
    snprintf(time, sizeof(time), "%d.%03d", (int)seconds, (int)(seconds * 1000) % 1000);
    const char *last = peer->precision ? peer->precision : job->bin;
    const char *arguments[] = {channels, frames, rate, time, last, NULL};
    int status = bench_program_run(path, arguments, (unsigned)seconds, &json);
    if (status != 0)
        return status;
    double x = json_number_value(json_object_get(json, "x_real_time"));
    const char *text = json_string_value(json_object_get(json, "version"));
    snprintf(version, size, "%s", text ? text : "");
    *ret_taken = (bench_taken){
        .mean = x > 0 ? (double)job->frames / BENCH_RATE_HZ * 1e9 / x : 0,
        .median = json_number_value(json_object_get(json, "push_median_us")) * 1e3,
        .p99 = json_number_value(json_object_get(json, "push_p99_us")) * 1e3,
    };
    json_decref(json);
    if (!(ret_taken->median > 0)) /* it does not time each push */
        ret_taken->median = ret_taken->mean;
    ret_taken->quiet = ret_taken->median;
    if (!(x > 0))
        return cli_fail(1, "%s printed no measurement", path);
    return 0;
}
