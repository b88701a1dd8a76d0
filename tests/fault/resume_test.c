/* SPDX-License-Identifier: MIT
 *
 * A run with checkpoints that is killed before any of its writes, renames, truncations and
 * removals, or loses power there, is resumed, and the finished outputs equal those of an
 * uninterrupted run (S10): byte by byte, for HDF5 value by value. Two outputs, gaps, look-ahead, a
 * join, a live setting; resumed with other tiles and threads. Calls are counted by functions with
 * libc's names, defined here. At a power cut a random part of what was written since the file's
 * last fsync is lost. The clock is replaced too: each call is a second later, so that there is a
 * checkpoint after each tile.
 */
#include "have_hdf5.h"
#include "recordings.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

enum { LIVE_AT = 700, MOST_UNSYNCED = 4096 };

#define INPUT "synthetic:channels=3,rate=2,seconds=750,seed=5,pause_every=155,pause=50"

/* ---- libc's functions ------------------------------------------------------------------------------ */

static long calls_left = -1; /* -1 = no end */
static long calls_made;
static bool power_cut;
static uint64_t cut_seed;

/* A change of a file that is not on the disk yet. */
typedef struct unsynced {
    dev_t device;
    ino_t inode;
    int fd;
    off_t at, size_before; /* at: for a truncation the new size */
    size_t bytes;          /* 0 = a truncation */
    unsigned char *before, *after;
    size_t before_bytes;
} unsynced;
static unsynced list[MOST_UNSYNCED];
static size_t list_count;
static bool journals;

static void undo(const unsynced *u)
{
    syscall(SYS_pwrite64, u->fd, u->before, u->before_bytes, u->at);
    syscall(SYS_ftruncate, u->fd, u->size_before);
}

static void lose_power(void)
{
    for (size_t i = list_count; i-- > 0;) {
        undo(&list[i]);
    }
    for (size_t i = 0; i < list_count; i++) {
        const unsynced *u = &list[i];
        if (testing_random(&cut_seed) % 2 == 0) {
            continue;
        }
        if (u->bytes == 0) {
            syscall(SYS_ftruncate, u->fd, u->at);
        } else {
            syscall(SYS_pwrite64, u->fd, u->after, u->bytes, u->at);
        }
    }
}

static void one_call(void)
{
    if (calls_left == 0) {
        if (power_cut) {
            lose_power();
        }
        kill(getpid(), SIGKILL);
    }
    calls_left -= calls_left > 0;
    calls_made++;
}

/* Remembers a write at [at, at + bytes), or a truncation, before it is made. */
static void note(int fd, const void *after, size_t bytes, off_t at)
{
    struct stat status;
    if (!journals || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        return;
    }
    if (list_count == MOST_UNSYNCED) {
        _exit(9);
    }
    unsynced *u = &list[list_count++];
    off_t from = bytes == 0 ? at : at;
    size_t old = bytes > 0 ? bytes : status.st_size > at ? (size_t)(status.st_size - at) : 0;
    *u = (unsynced){.device = status.st_dev,
                    .inode = status.st_ino,
                    .fd = fcntl(fd, F_DUPFD_CLOEXEC, 500),
                    .at = from,
                    .size_before = status.st_size,
                    .bytes = bytes,
                    .before = malloc(old + 1),
                    .after = malloc(bytes + 1)};
    ssize_t got = pread(u->fd, u->before, old, at);
    u->before_bytes = got > 0 ? (size_t)got : 0;
    if (bytes > 0) {
        memcpy(u->after, after, bytes);
    }
}

static void synced(int fd)
{
    struct stat status;
    size_t kept = 0;
    fstat(fd, &status);
    for (size_t i = 0; i < list_count; i++) {
        if (list[i].device == status.st_dev && list[i].inode == status.st_ino) {
            close(list[i].fd);
            free(list[i].before);
            free(list[i].after);
        } else {
            list[kept++] = list[i];
        }
    }
    list_count = kept;
}

ssize_t write(int fd, const void *from, size_t bytes)
{
    one_call();
    note(fd, from, bytes, lseek(fd, 0, SEEK_CUR));
    return syscall(SYS_write, fd, from, bytes);
}

ssize_t pwrite(int fd, const void *from, size_t bytes, off_t at)
{
    one_call();
    note(fd, from, bytes, at);
    return syscall(SYS_pwrite64, fd, from, bytes, at);
}

ssize_t pwrite64(int fd, const void *from, size_t bytes, off_t at)
{
    return pwrite(fd, from, bytes, at);
}

int ftruncate(int fd, off_t size)
{
    one_call();
    note(fd, NULL, 0, size);
    return (int)syscall(SYS_ftruncate, fd, size);
}

int ftruncate64(int fd, off_t size)
{
    return ftruncate(fd, size);
}

int fsync(int fd)
{
    one_call();
    synced(fd);
    return 0;
}

int rename(const char *from, const char *to)
{
    one_call();
    return (int)syscall(SYS_rename, from, to);
}

int unlink(const char *name)
{
    one_call();
    return (int)syscall(SYS_unlink, name);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static time_t seconds = 1000;
    (void)clock;
    *now = (struct timespec){.tv_sec = seconds++};
    return 0;
}

/* ---- the run --------------------------------------------------------------------------------------- */

typedef struct job {
    const char *extension;
    bool live;
    bool checkpoint;
    uint64_t tile, threads;
    uint64_t interrupt_after; /* frames; 0 = never */
} job;

typedef struct control {
    const job *job;
    weir_chain *chain;
    uint64_t frames;
    bool known, changed;
} control;

/* Ends a message where the setting changes, with any tiles. */
static weir_err next_message(void *user, uint64_t *ret_frames)
{
    const control *c = user;
    *ret_frames = !c->known ? 1 : c->frames < LIVE_AT ? LIVE_AT - c->frames : 1000;
    return WEIR_OK;
}

static bool step(void *user, const weir_progress *progress)
{
    control *c = user;
    c->frames = progress->frames_in;
    c->known = true;
    if (c->job->live && !c->changed && c->frames >= LIVE_AT) {
        weir_value value = weir_text("cutoff", "0.4 Hz");
        c->changed = true;
        if (progress->resumed_frames < LIVE_AT && weir_chain_set(c->chain, 0, &value) != WEIR_OK) {
            return false;
        }
    }
    return c->job->interrupt_after == 0 || c->frames < c->job->interrupt_after;
}

static int
add(weir_chain *chain, int parent, const char *unit, const weir_value *values, size_t count)
{
    int node = -9;
    assert_ok(weir_chain_add(chain, parent, unit, values, count, NULL, &node));
    return node;
}

static weir_chain *build(const job *j)
{
    weir_chain_options options = weir_chain_options_default();
    options.tile_frames = j->tile;
    options.threads = j->threads;
    options.checkpoints = j->checkpoint;
    weir_chain *chain = NULL;
    assert_ok(weir_chain_create(&options, &chain));
    const weir_value filter[] = {weir_number("order", 3), weir_text("cutoff", "0.7 Hz")};
    const weir_value factor[] = {weir_text("target_rate", "1 Hz")};
    const weir_value longer[] = {weir_text("window_dur", "7 s"),
                                 weir_text("window_shift", "0.5 s")};
    const weir_value shorter[] = {weir_text("window_dur", "2 s"),
                                  weir_text("window_shift", "0.5 s")};
    const weir_value mean[] = {weir_text("axis", "time"), weir_text("operation", "mean")};
    int low = add(chain, WEIR_CHAIN_INPUT, "butterworth", filter, 2);
    int late = add(chain, add(chain, low, "window", longer, 2), "aggregate", mean, 2);
    int early = add(chain, add(chain, low, "window", shorter, 2), "aggregate", mean, 2);
    const int both[] = {late, early};
    int sum = -9;
    assert_ok(weir_chain_join(chain, both, 2, "add", NULL, 0, NULL, &sum));
    int slow = add(chain, low, "downsample", factor, 1);
    assert_ok(weir_chain_output(chain, sum, "sum"));
    assert_ok(weir_chain_output(chain, slow, "slow"));
    assert_ok(weir_chain_set_text(chain, "a chain"));
    return chain;
}

static const char *output(const job *j, const char *name)
{
    static char paths[4][300];
    static unsigned next;
    char *path = paths[next++ % 4], file[64];
    snprintf(file, sizeof file, "%s.%s", name, j->extension);
    snprintf(path, 300, "%s", own_path(file));
    return path;
}

static weir_err run(const job *j, bool resume, weir_run_report *ret_report)
{
    weir_chain *chain = build(j);
    weir_source *source = NULL;
    weir_sink *sinks[2] = {NULL, NULL};
    weir_output_options options = weir_output_options_default();
    options.resume = resume;
    char checkpoint[300];
    snprintf(checkpoint, sizeof checkpoint, "%s", own_path("job.ckpt"));
    weir_err err = weir_recording_open(INPUT, NULL, &source);
    if (err == WEIR_OK) {
        err = weir_recording_create(output(j, "sum"), &options, &sinks[0]);
    }
    if (err == WEIR_OK) {
        err = weir_recording_create(output(j, "slow"), &options, &sinks[1]);
    }
    const weir_plan *plan = NULL;
    if (err == WEIR_OK) {
        err = weir_chain_plan_run(chain, source, sinks, 2, &plan);
    }
    if (err == WEIR_OK) {
        control c = {.job = j, .chain = chain};
        weir_run_options run_options = {.options_size = sizeof run_options,
                                        .next_message = next_message,
                                        .progress = step,
                                        .user = &c,
                                        .checkpoint = j->checkpoint ? checkpoint : NULL,
                                        .resume = resume};
        err = weir_chain_run(chain, &run_options, ret_report);
    }
    weir_source_close(source);
    weir_sink_close(sinks[0]);
    weir_sink_close(sinks[1]);
    weir_chain_destroy(chain);
    return err;
}

/* In a process of its own: 0, -1 if it was killed; any other end fails. */
static int attempt(const job *j, bool resume, long calls, bool cut, uint64_t seed, long *ret_calls)
{
    static long *shared;
    int ends[2];
    (void)shared;
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        weir_run_report report = {.report_size = sizeof report};
        close(ends[0]);
        calls_left = calls;
        power_cut = journals = cut;
        cut_seed = seed;
        weir_err err = run(j, resume, &report);
        calls_left = -1;
        journals = false;
        if (err != WEIR_OK && err != WEIR_E_INTERRUPTED) {
            fprintf(stderr, "%s\n", weir_err_detail());
        }
        syscall(SYS_write, ends[1], &calls_made, sizeof calls_made);
        _exit(err == WEIR_OK ? 0 : err == WEIR_E_INTERRUPTED ? 3 : 1);
    }
    close(ends[1]);
    long made = 0;
    ssize_t got = read(ends[0], &made, sizeof made);
    close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (ret_calls != NULL && got == (ssize_t)sizeof made) {
        *ret_calls = made;
    }
    if (WIFSIGNALED(status)) {
        assert_int_equal(WTERMSIG(status), SIGKILL);
        return -1;
    }
    assert_int_equal(WEXITSTATUS(status) == 3 ? 0 : WEXITSTATUS(status), 0);
    return WEXITSTATUS(status);
}

/* ---- what came ------------------------------------------------------------------------------------- */

typedef struct bytes {
    unsigned char *at;
    size_t count;
} bytes;

static bytes file_bytes(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fail_msg("%s is not there", path);
    }
    bytes b = {.at = malloc(1 << 20)};
    b.count = fread(b.at, 1, 1 << 20, file);
    fclose(file);
    return b;
}

#ifdef HAVE_HDF5
static bytes dataset_bytes(hid_t file, const char *name, bytes b)
{
    hid_t data = H5Dopen2(file, name, H5P_DEFAULT), space = H5Dget_space(data),
          type = H5Dget_type(data);
    hsize_t shape[4] = {0};
    int dims = H5Sget_simple_extent_dims(space, shape, NULL);
    size_t size = (size_t)H5Sget_simple_extent_npoints(space) * H5Tget_size(type);
    assert_true(dims >= 0 && b.count + size + sizeof shape < 1 << 20);
    memcpy(b.at + b.count, shape, sizeof shape);
    b.count += sizeof shape;
    assert_true(H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, b.at + b.count) >= 0);
    b.count += size;
    H5Tclose(type);
    H5Sclose(space);
    H5Dclose(data);
    return b;
}

static bytes content(const char *path)
{
    if (strcmp(path + strlen(path) - 3, ".h5") != 0) {
        return file_bytes(path);
    }
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0) {
        fail_msg("%s cannot be opened by libhdf5", path);
    }
    bytes b = {.at = calloc(1, 1 << 20)};
    static const char *const names[] = {"data", "segments", "chain", "labels"};
    for (size_t i = 0; i < 4; i++) {
        b = dataset_bytes(file, names[i], b);
    }
    H5Fclose(file);
    return b;
}
#else
static bytes content(const char *path)
{
    return file_bytes(path);
}
#endif

enum { FILES = 4 };
static const char *const names[FILES] = {"sum.%s", "sum.%s.json", "slow.%s", "slow.%s.json"};

static const char *file_of(const job *j, int number)
{
    char file[64];
    snprintf(file, sizeof file, names[number], j->extension);
    return own_path(file);
}

static void take(const job *j, bytes all[FILES])
{
    for (int i = 0; i < FILES; i++) {
        all[i] = content(file_of(j, i));
    }
}

/* Compares, and empties the folder. */
static void check(const job *j, const bytes whole[FILES], const char *when, long at)
{
    for (int i = 0; i < FILES; i++) {
        bytes got = content(file_of(j, i));
        if (got.count != whole[i].count || memcmp(got.at, whole[i].at, got.count) != 0) {
            fail_msg("%s differs: %s %ld", file_of(j, i), when, at);
        }
        free(got.at);
    }
    char path[256];
    snprintf(path, sizeof path, "%s", own_path(""));
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;) {
        bool ours = entry->d_name[0] == '.';
        for (int i = 0; i < FILES; i++) {
            char name[64];
            snprintf(name, sizeof name, names[i], j->extension);
            ours = ours || strcmp(entry->d_name, name) == 0;
        }
        if (!ours) {
            fail_msg("left behind: %s: %s %ld", entry->d_name, when, at);
        }
        unlink(own_path(entry->d_name));
    }
    closedir(folder);
}

static job job_of(const char *extension, bool live)
{
    return (job){
        .extension = extension, .live = live, .checkpoint = true, .tile = 64, .threads = 1};
}

static void whole_run(job j, bytes whole[FILES])
{
    static const bytes none[FILES];
    j.checkpoint = false;
    (void)none;
    assert_int_equal(attempt(&j, false, -1, false, 0, NULL), 0);
    take(&j, whole);
    check(&j, whole, "whole", 0);
}

/* Killed before call number n and resumed, for every n (or every stride-th), until the run
 * completes. */
static void at_every_call(const char *extension, bool cut, long stride)
{
    job j = job_of(extension, true);
    bytes whole[FILES];
    whole_run(j, whole);
    long tried = 0;
    for (long n = 0;; n += stride) {
        j.tile = 64;
        j.threads = 1;
        int status = attempt(&j, false, n, cut, (uint64_t)n + 1, NULL);
        if (status == 0) {
            check(&j, whole, "not killed: call", n);
            break;
        }
        char name[64];
        struct stat there;
        snprintf(name, sizeof name, "slow.%s", extension);
        if (stat(own_path("job.ckpt"), &there) != 0 && stat(own_path(name), &there) == 0) {
            check(&j, whole, "killed after its end: call", n); /* only those of this process */
            continue;
        }
        j.tile = n % 3 == 0 ? 64 : n % 3 == 1 ? 17 : 200;
        j.threads = n % 4 == 3 ? 2 : 1;
        assert_int_equal(attempt(&j, true, -1, false, 0, NULL), 0);
        check(&j, whole, cut ? "cut off before call" : "killed before call", n);
        tried++;
    }
    printf("%s: %s before %ld calls\n", extension, cut ? "cut off from power" : "killed", tried);
    for (int i = 0; i < FILES; i++) {
        free(whole[i].at);
    }
}

/* Killed repeatedly, and resumed each time. */
static void again_and_again(const char *extension, bool cut, long calls)
{
    job j = job_of(extension, true);
    bytes whole[FILES];
    whole_run(j, whole);
    long kills = 0;
    int status = attempt(&j, false, calls, cut, 1, NULL);
    for (uint64_t seed = 2; status != 0 && kills < 1000; kills++) {
        struct stat there;
        if (stat(own_path("job.ckpt"), &there) != 0 && stat(file_of(&j, 2), &there) == 0) {
            break; /* between the removal of the checkpoint and its own end */
        }
        j.tile = 10 + testing_random(&seed) % 90;
        status = attempt(&j, true, calls + (long)(testing_random(&seed) % 40), cut, seed, NULL);
    }
    assert_in_range(kills, 5, 999);
    check(&j, whole, "kills", kills);
    printf("%s: %ld times in one run\n", extension, kills);
    for (int i = 0; i < FILES; i++) {
        free(whole[i].at);
    }
}

static bool is_built(const char *extension)
{
    weir_sink *sink = NULL;
    char file[32];
    snprintf(file, sizeof file, "is.%s", extension);
    if (weir_recording_create(own_path(file), NULL, &sink) != WEIR_OK) {
        printf("skipped: this build is without %s\n", extension);
        return false;
    }
    weir_sink_close(sink);
    return true;
}

static void all_of(const char *extension)
{
    if (is_built(extension)) {
        at_every_call(extension, false, 17);
        at_every_call(extension, true, 19);
        again_and_again(extension, false, 90);
        again_and_again(extension, true, 110);
    }
}

static void npy(void **state)
{
    (void)state;
    all_of("npy");
}

static void raw(void **state)
{
    (void)state;
    all_of("raw");
}

static void csv(void **state)
{
    (void)state;
    all_of("csv");
}

static void wav(void **state)
{
    (void)state;
    all_of("wav");
}

static void hdf5(void **state)
{
    (void)state;
    all_of("h5");
}

/* Ctrl-C: the kept output states how far it goes, and the run continues from there, not from the
 * last second. */
static void interrupted(void **state)
{
    (void)state;
    job j = job_of("npy", false);
    bytes whole[FILES];
    whole_run(j, whole);
    j.interrupt_after = 400;
    assert_int_equal(attempt(&j, false, -1, false, 0, NULL), 3);
    bytes side = file_bytes(own_path("sum.npy.json.part"));
    side.at[side.count] = '\0';
    assert_non_null(strstr((const char *)side.at, "\"complete\": false"));
    free(side.at);
    j.interrupt_after = 0;
    weir_run_report report = {.report_size = sizeof report};
    assert_ok(run(&j, true, &report));
    assert_true(report.resumed && report.resumed_frames >= 400 && report.resumed_frames < 470);
    check(&j, whole, "interrupted", 0);
    for (int i = 0; i < FILES; i++) {
        free(whole[i].at);
    }
}

int main(void)
{
    if (access("/dev/shm", W_OK) == 0) {
        setenv("TMPDIR", "/dev/shm", 0);
    }
    (void)own_path(""); /* one folder for all processes */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interrupted), cmocka_unit_test(npy), cmocka_unit_test(raw),
        cmocka_unit_test(csv),         cmocka_unit_test(wav), cmocka_unit_test(hdf5),
    };
    return cmocka_run_group_tests_name("resume", tests, NULL, own_folder_remove);
}
