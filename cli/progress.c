/* SPDX-License-Identifier: MIT
 *
 * progress.c: the line that is redrawn while a run goes on a terminal, and the signals that end it.
 */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define BAR     24
#define EVERY_S 0.2

volatile sig_atomic_t cli_stop;

static void stop(int number)
{
    (void)number;
    cli_stop = 1;
}

/* The first signal asks, and waits that it interrupts are not resumed; the second one kills. A closed
 * pipe is an error of the write that meets it, exit 7. */
void cli_signals_set(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = stop;
    action.sa_flags = (int)SA_RESETHAND;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    action.sa_handler = SIG_IGN;
    action.sa_flags = 0;
    sigaction(SIGPIPE, &action, NULL);
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

static size_t terminal_columns(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 80;
    return size.ws_col;
}

static void draw_bar(double part)
{
    bool utf8 = is_utf8();
    int filled = (int)(part * BAR + 0.5);
    for (int i = 0; i < BAR; i++)
        fputs(i < filled ? (utf8 ? "━" : "#") : (utf8 ? "─" : "."), stderr);
}

static void draw(const weir_progress *state)
{
    char done[CLI_FIGURE], all[CLI_FIGURE], held[CLI_FIGURE], limit[CLI_FIGURE], left[CLI_FIGURE],
        times[CLI_FIGURE];
    char line[512];
    weir_cache_stats stats = {.stats_size = sizeof stats};
    weir_cache_stats_read(state->cache, &stats);
    double done_s = cli_seconds(state->frames_in, state->rate_hz);
    double all_s = cli_seconds(state->frames_total, state->rate_hz);
    double part = all_s > 0 ? done_s / all_s : NAN;
    uint64_t bound =
        state->memory_limit_bytes != WEIR_NO_LIMIT ? state->memory_limit_bytes : state->plan_bytes;
    size_t at = 0;
    if (isfinite(part))
        at += (size_t)snprintf(line, sizeof line, " %3.0f %%  %s of %s", 100 * part,
                               cli_duration(done_s, done, sizeof done),
                               cli_duration(all_s, all, sizeof all));
    else
        at += (size_t)snprintf(line, sizeof line, "%s", cli_duration(done_s, done, sizeof done));
    at += (size_t)snprintf(
        line + at, sizeof line - at, "  %s real time  held %s / %s",
        cli_times(state->seconds > 0 ? done_s / state->seconds : 0, times, sizeof times),
        cli_bytes(stats.held_bytes, held, sizeof held), cli_bytes(bound, limit, sizeof limit));
    if (part > 0)
        snprintf(line + at, sizeof line - at, "  %s left",
                 cli_duration(round(state->seconds * (1 - part) / part), left, sizeof left));
    fputs("\r", stderr);
    size_t columns = terminal_columns();
    if (isfinite(part) && columns > BAR + 40) {
        draw_bar(part < 1 ? part : 1);
        columns -= BAR;
    }
    fprintf(stderr, "%.*s\x1b[K", (int)(columns - 1), line);
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
