/* SPDX-License-Identifier: MIT
 *
 * progress.c: the progress line on a terminal, and the signals that end a run.
 */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define BAR       24
#define LEAST_BAR 4
#define EVERY_S   0.2

volatile sig_atomic_t cli_stop;

static void stop(int number)
{
    (void)number;
    cli_stop = 1;
}

/* The first signal requests the end and interrupts waits, which are not resumed; the second
 * kills the process. A terminal that is closed (a lost connection) ends a run like Ctrl-C,
 * except under nohup. */
void cli_signals_set(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = stop;
    action.sa_flags = (int)SA_RESETHAND;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    struct sigaction before;
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
}

static bool is_utf8(void)
{
    const char *names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < 3; i++) {
        const char *value = getenv(names[i]);
        if (value != NULL && *value != '\0')
            return strcasestr(value, "utf-8") != NULL || strcasestr(value, "utf8") != NULL;
    }
    return false;
}

void cli_progress_start(cli_progress *progress, bool quiet)
{
    *progress = (cli_progress){.shown = !quiet && isatty(STDERR_FILENO) == 1};
}

static int terminal_columns(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 80;
    return size.ws_col;
}

/* Both parts in whole characters of one column. */
static void draw_bar(double part, int width)
{
    bool utf8 = is_utf8();
    int filled = (int)(part * width + 0.5);
    for (int i = 0; i < width; i++)
        fputs(i < filled ? (utf8 ? "━" : "#") : (utf8 ? "─" : "."), stderr);
}

/* Fraction done, times real time, allocated memory, time left; `real` is left out if the line is
 * short. */
static void
write_line(const weir_progress *state, double part, const char *real, char *line, size_t size)
{
    char done[CLI_FIGURE], all[CLI_FIGURE], held[CLI_FIGURE], limit[CLI_FIGURE], left[CLI_FIGURE];
    char times[CLI_FIGURE], head[2 * CLI_FIGURE + 16], tail[CLI_FIGURE + 16] = "";
    weir_cache_stats stats = {.stats_size = sizeof stats};
    weir_cache_stats_read(state->cache, &stats);
    double done_s = cli_seconds(state->frames_in, state->rate_hz);
    double now_s = cli_seconds(state->frames_in - state->resumed_frames, state->rate_hz);
    double all_s = cli_seconds(state->frames_total, state->rate_hz);
    bool limited = state->memory_limit_bytes != WEIR_NO_LIMIT;
    uint64_t bound = limited ? state->memory_limit_bytes : state->plan_bytes;
    cli_duration(done_s, done, sizeof done);
    if (isfinite(part))
        snprintf(head, sizeof head, " %3.0f %%  %s of %s", 100 * part, done,
                 cli_duration(all_s, all, sizeof all));
    else
        snprintf(head, sizeof head, "%s", done);
    if (part > 0 && now_s > 0)
        snprintf(tail, sizeof tail, "  %s left",
                 cli_duration(round(state->seconds * (all_s - done_s) / now_s), left, sizeof left));
    snprintf(line, size, "%s  %s%s  memory %s / %s%s", head,
             cli_times(state->seconds > 0 ? now_s / state->seconds : 0, times, sizeof times), real,
             cli_bytes(stats.held_bytes, held, sizeof held), cli_bytes(bound, limit, sizeof limit),
             tail);
}

static void draw(const weir_progress *state)
{
    char line[512];
    double part = state->frames_total != WEIR_FRAMES_UNKNOWN && state->frames_total > 0
                      ? (double)state->frames_in / (double)state->frames_total
                      : NAN;
    int columns = terminal_columns() - 1;
    write_line(state, part, " real time", line, sizeof line);
    if ((int)strlen(line) > columns)
        write_line(state, part, "", line, sizeof line);
    /* The bar uses the remaining width, the text is shortened last: a second line would not be
     * redrawn. */
    int bar = columns - (int)strlen(line);
    putc('\r', stderr);
    if (isfinite(part) && bar >= LEAST_BAR)
        draw_bar(part < 1 ? part : 1, bar < BAR ? bar : BAR);
    fprintf(stderr, "%.*s\x1b[K", columns, line);
    fflush(stderr);
}

bool cli_progress_step(cli_progress *progress, const weir_progress *state)
{
    if (progress->shown && state->seconds >= progress->next) {
        progress->next = state->seconds + EVERY_S;
        progress->drawn = true;
        draw(state);
    }
    return cli_stop == 0;
}

void cli_progress_end(cli_progress *progress)
{
    if (progress->drawn)
        fputs("\r\x1b[K", stderr);
    progress->drawn = false;
}
