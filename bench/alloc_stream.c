/* SPDX-License-Identifier: MIT
 *
 * alloc_stream.c: compares weir's caches with malloc on the stall stream: 20 buffers per message of
 * 300 frames x 256 channels f32, all in use at once, every 300th message 2 to 40 times as long. And
 * on the hot pair: allocating and freeing the steady size, alone, with 100,000 cached buffers, and
 * on two threads at once.
 *
 *   alloc_stream [--json] [--messages N] [--rounds N] [--touch page|all] [--only WORD,WORD]
 *
 * --only: rows whose name begins with a word, or equals it if it ends in a point ("pages
 * 1,glibc.").
 *
 * Runs itself once for each allocator and round, alternating (malloc is replaced by LD_PRELOAD, so
 * each needs a process of its own), and inside a thread: a process that never created one is
 * untypically fast. Prints medians and, in JSON, least and most. An allocator that is not installed
 * is named and left out.
 *
 * All start with memory in the same state: before each run, one and a half times the stream's peak
 * is touched in huge pages and freed. Without this, a row that ran after one with 4 KiB pages, or
 * first after a pause, was slowed down by the state of the kernel's and the host's free memory:
 * `pages` without a limit took 0.50 to 0.85 s for 6,000 messages, and the next row, with the same
 * work, 0.08; now 0.12 (0.11 .. 0.13) and 0.12 (0.12 .. 0.14).
 *
 * glibc keeps the memory of a message: its thresholds rise with the largest block freed (to 12 MiB
 * here, and twice that at the top of an arena). In "glibc, keeps 0" they are set so that it returns
 * freed memory, as `pages` does at limit 0; it is slow, and runs a 16th of the messages: compare
 * the column of us per message.
 */
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <weir/cache.h>

#define HOT     ((size_t)300 * 256 * 4)
#define BUFFERS 20
#define EVERY   300
#define MIB     (1024.0 * 1024.0)
#define ABSENT  77

typedef struct subject {
    const char *name;
    const char *preload; /* malloc, replaced by this library; "" = glibc's own; NULL = weir */
    const char *policy;
    uint64_t limit;
    bool returns_all; /* glibc is set to keep nothing; a 16th of the messages */
} subject;

static const subject subjects[] = {
    {"glibc", "", NULL, 0, false},
    {"tcmalloc", "libtcmalloc_minimal.so.4", NULL, 0, false},
    {"mimalloc", "libmimalloc.so.2", NULL, 0, false},
    {"jemalloc", "libjemalloc.so.2", NULL, 0, false},
    {"pages", NULL, "pages", WEIR_NO_LIMIT, false},
    {"pages 512 MiB", NULL, "pages", 512u << 20, false},
    {"pages 256 MiB", NULL, "pages", 256u << 20, false},
    {"pages 128 MiB", NULL, "pages", 128u << 20, false},
    {"pages 32 MiB", NULL, "pages", 32u << 20, false},
    {"pages 16 MiB", NULL, "pages", 16u << 20, false},
    {"pages 8 MiB", NULL, "pages", 8u << 20, false},
    {"pages 4 MiB", NULL, "pages", 4u << 20, false},
    {"pages 1 MiB", NULL, "pages", 1u << 20, false},
    {"pages 256 KiB", NULL, "pages", 256u << 10, false},
    {"pages 64 KiB", NULL, "pages", 64u << 10, false},
    {"pages 0", NULL, "pages", 0, false},
    {"glibc, keeps 0", "", NULL, 0, true},
    {"fit", NULL, "fit", WEIR_NO_LIMIT, false},
    {"fit 128 MiB", NULL, "fit", 128u << 20, false},
    {"fit 16 MiB", NULL, "fit", 16u << 20, false},
};
#define SUBJECTS (sizeof subjects / sizeof subjects[0])

/* The figures of one run. */
#define RESULTS(X)                                                                                 \
    X(stream_s, "time of the stream")                                                              \
    X(cpu_s, "processor time of it, the system's part included")                                   \
    X(message_us, "processor time a message")                                                      \
    X(live_peak_mib, "highest sum of what was asked and is live")                                  \
    X(held_peak_mib, "highest held, as counted; 0 for malloc")                                     \
    X(rss_peak_mib, "highest resident size, as the system counts")                                 \
    X(rest_mib, "highest resident size between messages, before a stall")                          \
    X(pair_ns, "a take and a give of the steady size, processor time")                             \
    X(pair_beside_ns, "the same beside 100,000 idle buffers, no limit")                            \
    X(pair_two_ns, "the same on two threads at once, wall time")                                   \
    X(hit_rate, "takes of the steady size that were served from idle")                             \
    X(idle_most_mib, "most idle after any call")
enum {
#define X(name, text) R_##name,
    RESULTS(X)
#undef X
        RESULT_COUNT
};
static const char *const result_names[] = {
#define X(name, text) #name,
    RESULTS(X)
#undef X
};

/* ---- one run ------------------------------------------------------------------------------- */

typedef struct run {
    const subject *what;
    weir_cache *cache;
    unsigned messages;
    bool touch_all;
    double results[RESULT_COUNT];
} run;

static double clock_s(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void die(const char *what)
{
    fprintf(stderr, "alloc_stream: %s: %s\n", what, weir_err_detail());
    exit(1);
}

static void *take(run *r, size_t bytes, weir_buffer **buffer)
{
    if (r->cache == NULL) {
        void *memory = malloc(bytes);
        if (memory == NULL) {
            die("malloc");
        }
        return memory;
    }
    if (weir_cache_take(r->cache, bytes, buffer) != WEIR_OK) {
        die("take");
    }
    return (*buffer)->memory;
}

static void give(run *r, void *memory, weir_buffer *buffer)
{
    if (r->cache == NULL) {
        free(memory);
    } else {
        weir_buffer_unref(buffer);
    }
}

static weir_cache_stats stats(const run *r)
{
    weir_cache_stats s = {.stats_size = sizeof s};
    weir_cache_stats_read(r->cache, &s);
    return s;
}

static void touch(const run *r, char *memory, size_t bytes)
{
    if (r->touch_all) {
        memset(memory, 1, bytes);
        return;
    }
    for (size_t at = 0; at < bytes; at += 4096) {
        memory[at] = 1;
    }
}

static void watch_idle(run *r)
{
    double idle = (double)stats(r).idle_bytes / MIB;
    r->results[R_idle_most_mib] = fmax(r->results[R_idle_most_mib], idle);
}

static double rss_mib(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file != NULL) {
        (void)!fscanf(file, "%*u %llu", &pages);
        fclose(file);
    }
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / MIB;
}

/* watched: reads the cached bytes after every call and hits of the steady size, which takes
 * time. */
static void stream(run *r, unsigned messages, bool watched)
{
    unsigned random = 7;
    size_t live_peak = 0;
    uint64_t hits = 0, takes = 0;
    for (unsigned i = 0; i < messages; i++) {
        size_t times = 1;
        if (i % EVERY == EVERY - 1) {
            random = random * 1103515245u + 12345u;
            times = 2 + (random >> 16) % 39;
        }
        void *memory[BUFFERS];
        weir_buffer *buffers[BUFFERS];
        uint64_t before = watched ? stats(r).hits : 0;
        for (size_t k = 0; k < BUFFERS; k++) {
            memory[k] = take(r, HOT * times, &buffers[k]);
            touch(r, memory[k], HOT * times);
            if (watched) {
                watch_idle(r);
            }
        }
        live_peak = HOT * times * BUFFERS > live_peak ? HOT * times * BUFFERS : live_peak;
        if (watched && times == 1) {
            takes += BUFFERS;
            hits += stats(r).hits - before;
        }
        for (size_t k = 0; k < BUFFERS; k++) {
            give(r, memory[k], buffers[k]);
            if (watched) {
                watch_idle(r);
            }
        }
        if (!watched && i % EVERY == EVERY - 2) {
            r->results[R_rest_mib] = fmax(r->results[R_rest_mib], rss_mib());
        }
    }
    r->results[R_live_peak_mib] = fmax(r->results[R_live_peak_mib], (double)live_peak / MIB);
    if (watched) {
        r->results[R_hit_rate] = (double)hits / (double)takes;
    }
}

/* ns per pair, on this thread. */
static double pairs(run *r, clockid_t id)
{
    int done = 0;
    double start = clock_s(id), until = clock_s(CLOCK_MONOTONIC) + 0.2;
    do {
        for (int i = 0; i < 1000; i++) {
            weir_buffer *buffer = NULL;
            char *memory = take(r, HOT, &buffer);
            *(volatile char *)memory = 1;
            give(r, memory, buffer);
        }
        done += 1000;
    } while (clock_s(CLOCK_MONOTONIC) < until);
    return (clock_s(id) - start) / done * 1e9;
}

/* The pair with that many cached buffers of some thousand sizes (25,000 for fit); buffers in use
 * between them keep them apart. */
static void pairs_idle(run *r)
{
    enum { IDLE = 100000 };
    static void *memory[2 * IDLE];
    static weir_buffer *buffers[2 * IDLE];
    run other = *r;
    if (r->cache != NULL) {
        weir_cache_options options = weir_cache_options_default();
        options.policy = r->what->policy;
        if (weir_cache_create(&options, &other.cache) != WEIR_OK) {
            die("cache");
        }
    }
    bool cuts = r->cache == NULL || strcmp(r->what->policy, "pages") == 0;
    size_t count = cuts ? 2 * IDLE : IDLE / 2; /* whole buffers: no more than the heap can have */
    for (size_t i = 0; i < count; i++) {
        memory[i] = take(&other, 2100 + 16 * (i / 2 % 4000), &buffers[i]);
    }
    for (size_t i = 0; i < count; i += 2) {
        give(&other, memory[i], buffers[i]);
    }
    (void)pairs(&other, CLOCK_THREAD_CPUTIME_ID);
    r->results[R_pair_beside_ns] = pairs(&other, CLOCK_THREAD_CPUTIME_ID);
    for (size_t i = 1; i < count; i += 2) {
        give(&other, memory[i], buffers[i]);
    }
    if (r->cache != NULL) {
        weir_cache_destroy(other.cache);
    }
}

static void *pairs_beside(void *user)
{
    run *r = user;
    r->results[R_pair_two_ns] = pairs(r, CLOCK_MONOTONIC);
    return NULL;
}

static double rss_peak_mib(void)
{
    char line[256];
    unsigned long long kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "VmHWM: %llu kB", &kib) == 1) {
            break;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return (double)kib / 1024;
}

static void *measure(void *user)
{
    run *r = user;
    double *results = r->results;
    double cpu = clock_s(CLOCK_PROCESS_CPUTIME_ID), wall = clock_s(CLOCK_MONOTONIC);
    stream(r, r->messages, false);
    results[R_stream_s] = clock_s(CLOCK_MONOTONIC) - wall;
    results[R_cpu_s] = clock_s(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    results[R_message_us] = results[R_cpu_s] / r->messages * 1e6;
    results[R_rss_peak_mib] = rss_peak_mib();
    if (r->cache != NULL) {
        results[R_held_peak_mib] = (double)stats(r).held_peak_bytes / MIB;
    }
    (void)pairs(r, CLOCK_THREAD_CPUTIME_ID);
    results[R_pair_ns] = pairs(r, CLOCK_THREAD_CPUTIME_ID);
    run other = *r;
    pthread_t thread;
    if (pthread_create(&thread, NULL, pairs_beside, &other) != 0) {
        die("no thread");
    }
    double mine = pairs(r, CLOCK_MONOTONIC);
    pthread_join(thread, NULL);
    results[R_pair_two_ns] = fmax(mine, other.results[R_pair_two_ns]);
    pairs_idle(r);
    if (r->cache != NULL) {
        stream(r, r->messages < 3000 ? r->messages : 3000, true);
    }
    return NULL;
}

/* ld.so only warns about a library that it does not find, and glibc would be measured instead. */
static bool is_loaded(const char *library)
{
    char line[512];
    bool found = false;
    FILE *file = fopen("/proc/self/maps", "r");
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        found = strstr(line, library) != NULL;
    }
    if (file != NULL) {
        fclose(file);
    }
    return found;
}

static int run_one(const subject *what, unsigned messages, bool touch_all)
{
    run r = {.what = what, .messages = messages, .touch_all = touch_all};
    if (what->returns_all) {
        r.messages = messages > 16 * EVERY ? messages / 16 : messages;
    }
    if (what->preload != NULL && what->preload[0] != '\0' && !is_loaded(what->preload)) {
        return ABSENT;
    }
    if (what->policy != NULL) {
        weir_cache_options options = weir_cache_options_default();
        options.policy = what->policy;
        options.cache_limit = what->limit;
        if (weir_cache_create(&options, &r.cache) != WEIR_OK) {
            die("cache");
        }
    }
    pthread_t thread;
    if (pthread_create(&thread, NULL, measure, &r) != 0) {
        die("no thread");
    }
    pthread_join(thread, NULL);
    weir_cache_destroy(r.cache);
    for (int i = 0; i < RESULT_COUNT; i++) {
        printf("%.9g\n", r.results[i]);
    }
    return 0;
}

/* ---- all runs ------------------------------------------------------------------------------ */

#define ROUNDS_MAX 31

typedef struct table {
    double values[SUBJECTS][RESULT_COUNT][ROUNDS_MAX];
    bool absent[SUBJECTS];
} table;

/* One and a half times the stream's peak, in huge pages, touched and freed. */
static void warm(void)
{
    size_t bytes = HOT * BUFFERS * 60;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return;
    }
    (void)madvise(memory, bytes, MADV_HUGEPAGE);
    for (size_t at = 0; at < bytes; at += 4096) {
        memory[at] = 1;
    }
    (void)munmap(memory, bytes);
}

/* Runs this program for one subject and reads its numbers. False: not installed. */
static bool run_child(size_t s, unsigned messages, const char *touch, table *t, int round)
{
    char count[16], index[16];
    int ends[2];
    snprintf(count, sizeof count, "%u", messages);
    snprintf(index, sizeof index, "%zu", s);
    fflush(stdout);
    warm();
    if (pipe(ends) != 0) {
        die("pipe");
    }
    pid_t child = fork();
    if (child == 0) {
        if (subjects[s].returns_all) {
            setenv("MALLOC_TRIM_THRESHOLD_", "0", 1);
            setenv("MALLOC_TOP_PAD_", "0", 1);
        }
        if (subjects[s].preload != NULL && subjects[s].preload[0] != '\0') {
            setenv("LD_PRELOAD", subjects[s].preload, 1);
            (void)!freopen("/dev/null", "w", stderr); /* ld.so's warning */
        }
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        execl("/proc/self/exe", "alloc_stream", "--one", index, count, touch, (char *)NULL);
        _exit(1);
    }
    close(ends[1]);
    FILE *file = fdopen(ends[0], "r");
    int got = 0, status = 0;
    while (file != NULL && got < RESULT_COUNT &&
           fscanf(file, "%lf", &t->values[s][got][round]) == 1) {
        got++;
    }
    if (file != NULL) {
        fclose(file);
    }
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == ABSENT) {
        return false;
    }
    if (got != RESULT_COUNT) {
        fprintf(stderr, "alloc_stream: %s did not finish\n", subjects[s].name);
        exit(1);
    }
    return true;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double live_peak(const table *t, int rounds)
{
    size_t s = 0;
    while (s + 1 < SUBJECTS && t->absent[s]) {
        s++;
    }
    return t->values[s][R_live_peak_mib][rounds / 2];
}

static void print_table(table *t, int rounds, unsigned messages)
{
    printf(
        "The stall stream: %u messages of %d buffers, each 300 x 256 f32, every %dth 2 to 40 "
        "times as long;\nall in use at once (live peak %.1f MiB). %d alternating rounds; medians "
        "(least .. most).\npair: allocating and freeing the steady size, ns: alone, with 100,000 "
        "cached buffers, and on two\nthreads at once.\n\n",
        messages, BUFFERS, EVERY, live_peak(t, rounds), rounds);
    printf("%-14s %22s %9s %8s %8s %8s %7s %7s %7s %7s %8s\n", "", "stream, s", "us/messg.",
           "held MiB", "RSS MiB", "at rest", "pair", "100,000", "two", "hits", "idle MiB");
    for (size_t s = 0; s < SUBJECTS; s++) {
        double(*v)[ROUNDS_MAX] = t->values[s];
        char held[32] = "-", hits[32] = "-", idle[32] = "-";
        int m = rounds / 2;
        if (t->absent[s]) {
            continue;
        }
        if (subjects[s].policy != NULL) {
            snprintf(held, sizeof held, "%.1f", v[R_held_peak_mib][m]);
            snprintf(hits, sizeof hits, "%.4f", v[R_hit_rate][m]);
            snprintf(idle, sizeof idle, "%.1f", v[R_idle_most_mib][m]);
        }
        printf("%-14s %6.2f (%5.2f .. %5.2f) %9.1f %8s %8.1f %8.1f %7.1f %7.1f %7.1f %7s %8s\n",
               subjects[s].name, v[R_stream_s][m], v[R_stream_s][0], v[R_stream_s][rounds - 1],
               v[R_message_us][m], held, v[R_rss_peak_mib][m], v[R_rest_mib][m], v[R_pair_ns][m],
               v[R_pair_beside_ns][m], v[R_pair_two_ns][m], hits, idle);
    }
    printf("\nat rest: largest RSS between messages. glibc, keeps 0: set to return freed memory; a "
           "16th of the messages.\n");
    const char *between = "left out, or not installed: ";
    for (size_t s = 0; s < SUBJECTS; s++) {
        if (t->absent[s]) {
            printf("%s%s", between, subjects[s].name);
            between = "; ";
        }
    }
    printf("%s", between[0] == ';' ? "\n" : "");
}

static void print_json(table *t, int rounds, unsigned messages)
{
    const char *between = "";
    printf("{\"messages\": %u, \"rounds\": %d, \"rows\": [", messages, rounds);
    for (size_t s = 0; s < SUBJECTS; s++) {
        printf("%s\n  {\"name\": \"%s\"", between, subjects[s].name);
        between = ",";
        if (t->absent[s]) {
            printf(", \"absent\": true}");
            continue;
        }
        for (int i = 0; i < RESULT_COUNT; i++) {
            const double *v = t->values[s][i];
            printf(", \"%s\": {\"median\": %.6g, \"least\": %.6g, \"most\": %.6g}", result_names[i],
                   v[rounds / 2], v[0], v[rounds - 1]);
        }
        printf("}");
    }
    printf("\n]}\n");
}

static unsigned number(const char *text)
{
    long value = text != NULL ? strtol(text, NULL, 10) : 0;
    if (value <= 0 || value > 100000000) {
        fprintf(stderr, "alloc_stream: expected a number above 0\n");
        exit(2);
    }
    return (unsigned)value;
}

/* Whether a name begins with one of the words; equals it, if the word ends in `.`. */
static bool is_named(const char *name, const char *words)
{
    while (*words != '\0') {
        size_t length = strcspn(words, ",");
        bool whole = length > 1 && words[length - 1] == '.';
        size_t part = whole ? length - 1 : length;
        if (part > 0 && strncmp(name, words, part) == 0 && (!whole || name[part] == '\0')) {
            return true;
        }
        words += length + (words[length] == ',');
    }
    return false;
}

int main(int argc, char **argv)
{
    unsigned messages = 24000, rounds = 3;
    const char *touch = "page", *only = NULL;
    bool json = false;
    if (argc == 5 && strcmp(argv[1], "--one") == 0) {
        size_t s = (size_t)atoi(argv[2]);
        return run_one(&subjects[s % SUBJECTS], number(argv[3]), strcmp(argv[4], "all") == 0);
    }
    for (int i = 1; i < argc; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--json") == 0) {
            json = true;
            continue;
        }
        if (strcmp(argv[i], "--messages") == 0) {
            messages = number(next);
        } else if (strcmp(argv[i], "--rounds") == 0) {
            rounds = number(next);
        } else if (strcmp(argv[i], "--touch") == 0 && next != NULL) {
            touch = next;
        } else if (strcmp(argv[i], "--only") == 0 && next != NULL) {
            only = next;
        } else {
            fprintf(stderr, "usage: alloc_stream [--json] [--messages N] [--rounds N] "
                            "[--touch page|all] [--only WORD,WORD]\n");
            return 2;
        }
        i++;
    }
    static table t;
    rounds = rounds < ROUNDS_MAX ? rounds : ROUNDS_MAX;
    for (unsigned round = 0; round < rounds; round++) {
        for (size_t s = 0; s < SUBJECTS; s++) {
            bool wanted = only == NULL || is_named(subjects[s].name, only);
            t.absent[s] = !wanted || t.absent[s] || !run_child(s, messages, touch, &t, (int)round);
        }
    }
    for (size_t s = 0; s < SUBJECTS; s++) {
        for (int i = 0; i < RESULT_COUNT; i++) {
            qsort(t.values[s][i], rounds, sizeof(double), by_value);
        }
    }
    (json ? print_json : print_table)(&t, (int)rounds, messages);
    return 0;
}
