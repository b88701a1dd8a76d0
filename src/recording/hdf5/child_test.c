/* SPDX-License-Identifier: MIT
 *
 * The reader with a helper that misbehaves: this program takes its place (WEIR_HDF5_READER) and
 * crashes, never stops computing, never answers, has another version, or answers with nonsense, as
 * a process may do with a damaged file. Each is an error of one line; no process and no descriptor
 * remains.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "recordings_hdf5.h"

#ifdef HAVE_HDF5
#include "recording/hdf5/read.h"

/* ---- the helper ------------------------------------------------------------------------------------------------ */

static void say(weiri_hdf5_answer head, const void *bytes)
{
    if (send(1, &head, sizeof head, MSG_NOSIGNAL) > 0 && head.bytes > 0 && bytes) {
        ssize_t sent = send(1, bytes, (size_t)head.bytes, MSG_NOSIGNAL);
        (void)sent;
    }
}

static weiri_hdf5_question hear(void)
{
    char texts[2 * WEIRI_HDF5_PATH];
    weiri_hdf5_question ask = {0};
    if (recv(1, &ask, sizeof ask, MSG_WAITALL) != (ssize_t)sizeof ask) {
        _exit(0);
    }
    size_t bytes =
        ask.place_bytes + ask.name_bytes; /* waiting for none would mean waiting for the next */
    if (bytes > 0 && recv(1, texts, bytes, MSG_WAITALL) != (ssize_t)bytes) {
        _exit(0);
    }
    return ask;
}

static const weiri_hdf5_described one = {.is_number = true,
                                         .is_signed = true,
                                         .value_bytes = 2,
                                         .dims = 2,
                                         .shape = {100, 2},
                                         .rows = 100};

static void misbehave(const char *how)
{
    static char noise[1 << 17];
    unsigned number = 0;
    sscanf(how, "%*[a-z]%u", &number);
    if (strcmp(how, "version") == 0) {
        say((weiri_hdf5_answer){.kind = WEIRI_HDF5_GREETS, .bytes = sizeof WEIRI_HDF5_GREETING},
            "weir-hdf5 0 0.0.0 of long ago and far away");
    }
    say((weiri_hdf5_answer){.kind = WEIRI_HDF5_GREETS, .bytes = sizeof WEIRI_HDF5_GREETING},
        WEIRI_HDF5_GREETING);
    hear();
    if (strcmp(how, "crash") == 0) {
        signal(SIGSEGV, SIG_DFL); /* from a sanitizer */
        raise(SIGSEGV);
    } else if (strcmp(how, "exit") == 0) {
        _exit(3);
    } else if (strcmp(how, "compute") == 0) {
        signal(SIGPROF, SIG_DFL);
        setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_usec = 20000}, NULL);
        for (volatile int i = 0;; i++) {
        }
    } else if (strcmp(how, "wait") == 0) {
        for (;;) {
            pause();
        }
    } else if (strcmp(how, "long") == 0) {
        say((weiri_hdf5_answer){.kind = WEIRI_HDF5_LISTED, .bytes = UINT64_MAX}, NULL);
    } else if (strcmp(how, "kind") == 0) {
        say((weiri_hdf5_answer){.kind = 99}, NULL);
    } else if (strcmp(how, "rows") == 0 || strcmp(how, "more") == 0) {
        say((weiri_hdf5_answer){.kind = WEIRI_HDF5_DESCRIBED, .bytes = sizeof one}, &one);
        weiri_hdf5_question ask = hear();
        for (; ask.verb == WEIRI_HDF5_VALUES; ask = hear()) {
            say((weiri_hdf5_answer){.kind = WEIRI_HDF5_NONE}, NULL);
        }
        uint64_t count = strcmp(how, "rows") == 0 ? 101 : 10;
        say((weiri_hdf5_answer){.kind = WEIRI_HDF5_BLOCK,
                                .count = count,
                                .bytes = count % 2 ? 0 : 50},
            noise);
    } else {
        /* Answers of all kinds, whose description of the content is true or not, at random. */
        uint64_t seed = number;
        for (uint32_t verb = 0; verb != WEIRI_HDF5_ROWS; verb = hear().verb) {
            /* After the last one, which is not a block or one too few, the helper ends. */
            weiri_hdf5_answer head = {.kind = (uint32_t)(testing_random(&seed) % 9)};
            head.count = testing_random(&seed) % 5;
            head.total = testing_random(&seed) % 5;
            head.bytes = testing_random(&seed) % 3 ? head.count * 8 : testing_random(&seed) % 5000;
            head.err = (uint32_t)(testing_random(&seed) % 20);
            head.bytes = head.kind == WEIRI_HDF5_LISTED      ? sizeof(weiri_hdf5_listed)
                         : head.kind == WEIRI_HDF5_DESCRIBED ? sizeof one
                                                             : head.bytes;
            for (size_t i = 0; i < head.bytes; i++) {
                noise[i] = (char)(testing_random(&seed) % 7 ? 0 : testing_random(&seed));
            }
            if (head.kind == WEIRI_HDF5_DESCRIBED) {
                weiri_hdf5_described data = one;
                data.shape[testing_random(&seed) % 4] = testing_random(&seed) % 300;
                data.dims = (uint32_t)(testing_random(&seed) % 6);
                data.rows = testing_random(&seed) % 200;
                memcpy(noise, &data, sizeof data);
            }
            say(head, noise);
        }
        say((weiri_hdf5_answer){.kind = WEIRI_HDF5_BLOCK,
                                .count = 1 + number % 3,
                                .bytes = number % 2},
            noise);
    }
    _exit(0);
}

/* ---- the reader -------------------------------------------------------------------------------------------------- */

/* Opens and reads with that helper; everything is closed afterwards. */
static weir_err open_with(const char *how)
{
    weir_recording_options options = weir_recording_options_default();
    weir_source *source = NULL;
    recorded all = {0};
    options.format = "hdf5";
    options.rate_hz = 500;
    options.dataset = "/x";
    setenv("WEIR_TEST_HELPER", how, 1);
    setenv("WEIR_HDF5_READER", "/proc/self/exe", 1);
    int before = open_descriptors();
    weir_err err = weir_recording_open(write_file("t.h5", "no matter", 9), &options, &source);
    if (err == WEIR_OK) {
        err = read_source(source, 64, 0, &all);
        source->ops->close(source);
        recorded_free(&all);
    }
    assert_int_equal(open_descriptors(), before);
    assert_true(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
    setenv("WEIR_HDF5_READER", WEIR_HDF5_PROGRAM, 1);
    return err;
}

static void ends_of_the_helper(void **state)
{
    (void)state;
    assert_fails(open_with("crash"), WEIR_E_RECORDING,
                 "libhdf5 crashed while reading it (signal 11,");
    assert_fails(open_with("exit"), WEIR_E_RECORDING, "weir-hdf5 ended unexpectedly (status 3)");
    assert_fails(open_with("compute"), WEIR_E_RECORDING, "libhdf5 computed for too long");
    assert_fails(open_with("version"), WEIR_E_IO, "is not of this version of weir");
}

static void nonsense(void **state)
{
    (void)state;
    static const char *const how[] = {"long", "kind", "rows", "more"};
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        assert_fails(open_with(how[i]), WEIR_E_RECORDING, "gave an invalid answer");
    }
    for (int i = 0; i < 200; i++) {
        char random[32];
        snprintf(random, sizeof random, "random%d", i + 1);
        weir_err err = open_with(random);
        assert_true(err == WEIR_OK || strchr(weir_err_detail(), '\n') == NULL);
    }
}

static void no_program(void **state)
{
    (void)state;
    weir_source *source = NULL;
    weir_recording_options options = weir_recording_options_default();
    options.format = "hdf5";
    setenv("WEIR_HDF5_READER", "/nowhere/weir-hdf5", 1);
    assert_fails(weir_recording_open(write_file("t.h5", "no matter", 9), &options, &source),
                 WEIR_E_IO, "/nowhere/weir-hdf5, which reads HDF5 files, cannot be started");
    setenv("WEIR_HDF5_READER", WEIR_HDF5_PROGRAM, 1);
    assert_fails(weir_recording_open(own_path("t.h5"), &options, &source), WEIR_E_RECORDING,
                 "not an HDF5 file: its signature is missing");
}

static void on_alarm(int number)
{
    (void)number;
}

/* A signal of the caller's (Ctrl-C) ends a wait that would not end by itself. */
static void a_signal(void **state)
{
    (void)state;
    struct sigaction action = {.sa_handler = on_alarm}; /* no SA_RESTART */
    sigaction(SIGALRM, &action, NULL);
    /* Repeatedly: on a busy machine the first signal may come before the wait has begun. */
    const struct itimerval often = {{.tv_usec = 200000}, {.tv_usec = 200000}}, never = {{0}, {0}};
    setitimer(ITIMER_REAL, &often, NULL);
    assert_fails(open_with("wait"), WEIR_E_INTERRUPTED, "interrupted while waiting for libhdf5");
    setitimer(ITIMER_REAL, &never, NULL);
}

/* ---- the helper itself --------------------------------------------------------------------------------------------- */

static void make(bool packed)
{
    static int16_t rows[20000][16];
    const hsize_t shape[2] = {20000, 16}, chunk[2] = {1000, 1};
    hid_t file = H5Fcreate(own_path("m.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(2, shape, NULL), how = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(how, 2, chunk);
    if (packed) {
        H5Pset_deflate(how, 1);
    }
    for (size_t i = 0; i < 20000 * 16; i++) {
        rows[i / 16][i % 16] = (int16_t)(i * 7 + i / 100);
    }
    hid_t data = H5Dcreate2(file, "x", H5T_STD_I16LE, space, H5P_DEFAULT, how, H5P_DEFAULT);
    assert_true(H5Dwrite(data, H5T_NATIVE_INT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0);
    H5Dclose(data);
    H5Pclose(how);
    H5Sclose(space);
    assert_true(H5Fclose(file) >= 0);
}

static uint64_t status_bytes(pid_t pid, const char *name)
{
    char path[64], line[256], format[64];
    unsigned long kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    snprintf(format, sizeof format, "%s: %%lu", name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) && sscanf(line, format, &kib) != 1) {
    }
    fclose(file);
    return (uint64_t)kib * 1024;
}

/* M7: the helper's memory, its peak included, is within what is declared for it. Code of
 * libraries that this process has loaded too does not count. */
static void memory_is_declared(void **state)
{
    (void)state;
#ifdef TESTING_SANITIZED
    printf("skipped: a sanitizer's own memory is not declared\n");
    skip();
#endif
    for (int packed = 0; packed < 2; packed++) {
        weir_cache *cache = NULL;
        weir_recording_options options = weir_recording_options_default();
        weir_source *source = NULL;
        weir_message block;
        static float rows[64 * 16];
        static unsigned char memory[1 << 20];
        uint64_t bytes = 0, frames = 0;
        make(packed);
        assert_ok(weir_cache_create(NULL, &cache));
        options.cache = cache;
        options.rate_hz = 500;
        assert_ok(weir_recording_open(own_path("m.h5"), &options, &source));
        const hdf5_in *in = ((weiri_reader *)source)->own;
        assert_ok(source->ops->plan(source, 64, &bytes));
        assert_true(bytes <= sizeof memory);
        assert_ok(source->ops->start(source, 64, memory));
        while (frames < 19968) {
            assert_ok(source->ops->read(source, rows, 64, &block));
            frames += block.frames;
        }
        weir_cache_stats stats;
        weir_cache_stats_read(cache, &stats);
        uint64_t peak = status_bytes(in->child.pid, "VmHWM");
        uint64_t code = status_bytes(in->child.pid, "RssFile"), data = peak - code;
        printf("declared %llu, peak %llu of which %llu code\n",
               (unsigned long long)stats.charged_bytes, (unsigned long long)peak,
               (unsigned long long)code);
        assert_true(data + WEIRI_HDF5_TEXT <= stats.charged_bytes);
        assert_true(peak <= stats.charged_bytes + (4u << 20));
        /* The kernel enforces this limit. */
        struct rlimit limit;
        assert_int_equal(prlimit(in->child.pid, RLIMIT_DATA, NULL, &limit), 0);
        assert_true(limit.rlim_cur + WEIRI_HDF5_STACK + WEIRI_HDF5_TEXT <= stats.charged_bytes);
        source->ops->close(source);
        weir_cache_destroy(cache);
    }
}

/* Ctrl-C goes to the whole process group: the reader decides, the helper continues. The helper
 * does not inherit the caller's descriptors, signal mask and ignored signals. */
static void nothing_of_the_callers(void **state)
{
    (void)state;
    weir_recording_options options = weir_recording_options_default();
    weir_source *source = NULL;
    recorded all = {0};
    sigset_t blocked;
    char path[64];
    make(false);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGPROF);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    signal(SIGPROF, SIG_IGN);
    int other = open("/dev/null", O_RDONLY); /* without O_CLOEXEC */
    options.rate_hz = 500;
    assert_ok(weir_recording_open(own_path("m.h5"), &options, &source));
    const hdf5_in *in = ((weiri_reader *)source)->own;
    snprintf(path, sizeof path, "/proc/%d/fd/4", (int)in->child.pid);
    assert_int_equal(access(path, F_OK), -1);
    snprintf(path, sizeof path, "/proc/%d/fd/3", (int)in->child.pid);
    assert_int_equal(access(path, F_OK), 0);
    const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(kill(in->child.pid, signals[i]), 0);
    }
    assert_ok(read_source(source, 64, 0, &all));
    assert_int_equal(all.frames, 20000);
    recorded_free(&all);
    /* from its timer, which is not blocked there */
    assert_int_equal(kill(in->child.pid, SIGPROF), 0);
    assert_int_equal(waitpid(in->child.pid, NULL, 0), in->child.pid);
    source->ops->close(source); /* somebody else has waited for it */
    close(other);
    signal(SIGPROF, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &blocked, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_of_the_helper), cmocka_unit_test(nonsense),
        cmocka_unit_test(no_program),         cmocka_unit_test(a_signal),
        cmocka_unit_test(memory_is_declared), cmocka_unit_test(nothing_of_the_callers),
    };
    if (getenv("WEIR_TEST_HELPER") &&
        getsockopt(1, SOL_SOCKET, SO_TYPE, &(int){0}, &(socklen_t){sizeof(int)}) == 0) {
        misbehave(getenv("WEIR_TEST_HELPER"));
    }
    return run_hdf5_tests("hdf5_child", tests);
}
#endif
