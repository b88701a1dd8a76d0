/* SPDX-License-Identifier: MIT
 *
 * kill -9 at every single write of a run (flushed rows are readable), for every output format: a
 * child writes rows and segments and dies instead of its n-th write; everything flushed before is
 * then readable, value by value and gap by gap, for n from 1 until the run completes. HDF5 files
 * are also read with libhdf5's own driver. Writes are counted by functions with libc's names,
 * defined here.
 */
#include "have_hdf5.h"
#include "recordings.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { CHANNELS = 2, ROUNDS = 30, ROWS = 70 };

static long writes_left = -1; /* -1 = no end */

static void one_write(void)
{
    if (writes_left == 0) {
        kill(getpid(), SIGKILL);
    }
    writes_left -= writes_left > 0;
}

ssize_t write(int fd, const void *from, size_t bytes)
{
    one_write();
    return syscall(SYS_write, fd, from, bytes);
}

ssize_t pwrite(int fd, const void *from, size_t bytes, off_t at)
{
    one_write();
    return syscall(SYS_pwrite64, fd, from, bytes, at);
}

ssize_t pwrite64(int fd, const void *from, size_t bytes, off_t at)
{
    return pwrite(fd, from, bytes, at);
}

/* What the child has flushed, as recorded by the parent. */
typedef struct flushed {
    volatile uint64_t rows, segments;
} flushed;

static float value_at(uint64_t row, uint64_t channel)
{
    return (float)((row * 7 + channel * 1009) % 4093) / 8;
}

/* Every third round begins a segment. Rows of 2 Hz make chunks of 20: the index of HDF5 splits. */
static uint64_t segments_before(uint64_t row)
{
    return row == 0 ? 0 : 1 + (row - 1) / (3 * ROWS);
}

static void child(const char *path, long most, flushed *done)
{
    weir_spec spec = weir_spec_make(WEIR_F32, 2, CHANNELS, NULL, NULL);
    weir_output_options options = weir_output_options_default();
    options.force = true;
    weir_sink *sink = NULL;
    uint64_t bytes = 0;
    void *memory = NULL;
    bool good = weir_recording_create(path, &options, &sink) == WEIR_OK &&
                sink->ops->plan(sink, &spec, &bytes) == WEIR_OK &&
                (memory = malloc((size_t)bytes)) != NULL;
    writes_left = most;
    good = good && sink->ops->start(sink, &spec, NULL, "chain: []", memory) == WEIR_OK;
    for (uint64_t i = 0; good && i < ROUNDS; i++) {
        float rows[ROWS][CHANNELS];
        for (uint64_t t = 0; t < ROWS; t++) {
            for (uint64_t c = 0; c < CHANNELS; c++) {
                rows[t][c] = value_at(i * ROWS + t, c);
            }
        }
        weir_message block = {.spec = &spec,
                              .data = rows,
                              .frames = ROWS,
                              .segment = i / 3,
                              .segment_start_ns = (int64_t)(i / 3) * 1000000000000,
                              .first_index = (int64_t)(i % 3) * ROWS};
        good = sink->ops->write(sink, &block) == WEIR_OK && sink->ops->flush(sink) == WEIR_OK;
        done->rows = good ? (i + 1) * ROWS : done->rows;
    }
    good = good && sink->ops->finish(sink) == WEIR_OK;
    _exit(good ? 0 : 1);
}

static void look(const char *path, const char *format, uint64_t rows)
{
    weir_recording_options options = weir_recording_options_default();
    weir_source *source = NULL;
    recorded all = {0};
    if (strcmp(format, "raw") == 0) {
        options.dtype = "f32";
        options.channels_in_file = CHANNELS;
    }
    if (weir_recording_open(path, &options, &source) != WEIR_OK) {
        fail_msg("%s with %llu rows flushed: %s", path, (unsigned long long)rows,
                 weir_err_detail());
    }
    assert_ok(read_source(source, 64, 0, &all));
    const weir_source_info *info = source->ops->info(source);
    assert_true(all.frames >= rows);
    assert_int_equal(all.columns, CHANNELS);
    for (uint64_t i = 0; i < rows * CHANNELS; i++) {
        assert_true(all.values[i] == (double)value_at(i / CHANNELS, i % CHANNELS));
    }
    assert_true(info->segment_count >= segments_before(rows));
    for (uint64_t i = 0; i < segments_before(rows); i++) {
        assert_int_equal(info->segments[i].start_ns, (int64_t)i * 1000000000000);
        assert_true(i + 1 == segments_before(rows) || info->segments[i].frames == 3 * ROWS);
    }
    source->ops->close(source);
    recorded_free(&all);
}

#ifdef HAVE_HDF5
static void look_by_library(const char *path, uint64_t rows)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(file >= 0);
    hid_t data = H5Dopen2(file, "/data", H5P_DEFAULT), space = H5Dget_space(data);
    hsize_t shape[2] = {0};
    assert_int_equal(H5Sget_simple_extent_dims(space, shape, NULL), 2);
    assert_true(shape[0] >= rows);
    float *values = calloc((size_t)shape[0] * CHANNELS + 1, sizeof *values);
    assert_true(H5Dread(data, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    for (uint64_t i = 0; i < rows * CHANNELS; i++) {
        assert_true(values[i] == value_at(i / CHANNELS, i % CHANNELS));
    }
    free(values);
    H5Sclose(space);
    H5Dclose(data);
    H5Fclose(file);
}
#else
static void look_by_library(const char *path, uint64_t rows)
{
    (void)path;
    (void)rows;
}
#endif

static void killed_at_every_write(const char *format, const char *name)
{
    flushed *done =
        mmap(NULL, sizeof *done, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(done != MAP_FAILED);
    char path[256], part[280], side[280];
    snprintf(path, sizeof path, "%s", own_path(name));
    snprintf(part, sizeof part, "%s.part", path);
    snprintf(side, sizeof side, "%s.json", path);
    long most = 0;
    uint64_t last = 0;
    for (bool through = false; !through; most++) {
        assert_true(most < 5000);
        *done = (flushed){0};
        fflush(NULL);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            child(path, most, done);
        }
        int status = 0;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        through = WIFEXITED(status);
        assert_true(through ? WEXITSTATUS(status) == 0 : WTERMSIG(status) == SIGKILL);
        assert_true(done->rows >= last); /* with one write more it has flushed at least as much */
        last = done->rows;
        if (done->rows > 0) {
            look(through ? path : part, format, done->rows);
            if (strcmp(format, "hdf5") == 0) {
                look_by_library(through ? path : part, done->rows);
            }
        }
    }
    assert_int_equal(last, ROUNDS * ROWS);
    printf("%s: killed at each of %ld writes\n", format, most - 1);
    unlink(path);
    unlink(side);
    munmap(done, sizeof *done);
}

static void npy(void **state)
{
    (void)state;
    killed_at_every_write("npy", "k.npy");
}

static void raw(void **state)
{
    (void)state;
    killed_at_every_write("raw", "k.raw");
}

static void csv(void **state)
{
    (void)state;
    killed_at_every_write("csv", "k.csv");
}

static void wav(void **state)
{
    (void)state;
    killed_at_every_write("wav", "k.wav");
}

static void hdf5(void **state)
{
    (void)state;
    weir_sink *sink = NULL;
    if (weir_recording_create(own_path("k.h5"), NULL, &sink) != WEIR_OK) {
        printf("skipped: this build is without HDF5\n");
        return;
    }
    sink->ops->close(sink);
    use_hdf5_helper();
    killed_at_every_write("hdf5", "k.h5");
}

int main(void)
{
    /* In memory if there is such a folder: each end of a run would wait for a disk. */
    if (access("/dev/shm", W_OK) == 0) {
        setenv("TMPDIR", "/dev/shm", 0);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(npy), cmocka_unit_test(raw),  cmocka_unit_test(csv),
        cmocka_unit_test(wav), cmocka_unit_test(hdf5),
    };
    return cmocka_run_group_tests_name("kill", tests, NULL, own_folder_remove);
}
