/* SPDX-License-Identifier: MIT
 *
 * Reading and writing raw: what must be stated, complete frames, offsets, pipes that deliver in
 * pieces.
 */
#include "recordings.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>

static weir_recording_options stated(const char *dtype, uint64_t channels)
{
    weir_recording_options options = weir_recording_options_default();
    options.format = "raw";
    options.rate_hz = 100;
    options.dtype = dtype;
    options.channels_in_file = channels;
    return options;
}

static void values_behind_an_offset(void **state)
{
    (void)state;
    unsigned char bytes[5 + 40 * 3 * 3];
    memset(bytes, 0xee, 5);
    for (int i = 0; i < 120; i++) {
        int count = i * 70001 - 4000000;
        for (int b = 0; b < 3; b++) {
            bytes[5 + i * 3 + b] = (unsigned char)((unsigned)count >> (16 - 8 * b));
        }
    }
    const char *path = write_file("a.xyz", bytes, sizeof bytes);
    weir_recording_options options = stated(">i24", 3);
    options.offset_bytes = 5;
    weir_source *source = NULL;
    assert_ok(weir_recording_open(path, &options, &source));
    assert_int_equal(source->ops->info(source)->spec.dtype, WEIR_F32); /* f32 holds 24 bits */
    recorded all = {0};
    assert_ok(read_source(source, 7, 3, &all));
    assert_int_equal(all.frames, 40);
    for (int i = 0; i < 120; i++) {
        assert_true(all.values[i] == i * 70001 - 4000000);
    }
    recorded_free(&all);
    source->ops->close(source);
}

/* Counts times the scale, for the selected channels; counts if requested. */
static void scaled_counts(void **state)
{
    (void)state;
    static const int16_t counts[] = {-32768, 1, 32767, 2, 100, -3};
    const char *path = write_file("scale.raw", counts, sizeof counts);
    for (int kind = 0; kind < 3; kind++) { /* all channels, the second, counts */
        weir_recording_options options = stated("i16", 2);
        options.scale = -0.195;
        options.channels = kind == 1 ? "1" : NULL;
        options.counts = kind == 2;
        weir_source *source = NULL;
        assert_ok(weir_recording_open(path, &options, &source));
        const weir_source_info *info = source->ops->info(source);
        assert_int_equal(info->spec.dtype, kind == 2 ? WEIR_I16 : WEIR_F32);
        assert_true(kind == 2 ? info->scales == NULL : info->scales[0] == -0.195);
        recorded all = {0};
        assert_ok(read_source(source, 2, 3, &all));
        for (int i = 0; i < (kind == 1 ? 3 : 6); i++) {
            int16_t count = counts[kind == 1 ? 2 * i + 1 : i];
            assert_true(all.values[i] == (kind == 2 ? count : (double)(float)(count * -0.195)));
        }
        recorded_free(&all);
        source->ops->close(source);
    }
    weir_recording_options options = stated("c64", 1);
    options.scale = 2;
    assert_int_equal(open_only(path, &options), WEIR_E_USAGE);
    options = stated("i16", 2);
    options.scale = INFINITY;
    assert_int_equal(open_only(path, &options), WEIR_E_USAGE);
}

static void what_must_be_stated(void **state)
{
    (void)state;
    static const char bytes[12] = {0};
    char path[256];
    snprintf(path, sizeof path, "%s", write_file("b.dat", bytes, 12));
    weir_recording_options options = stated("i16", 3);
    options.format = NULL; /* the name says it */
    assert_ok(open_only(path, &options));
    options = stated(NULL, 3);
    assert_fails(open_only(path, &options), WEIR_E_USAGE, "--dtype");
    options = stated("i16", 0);
    assert_fails(open_only(path, &options), WEIR_E_USAGE, "--channels-in-file");
    options = stated("i16", 1u << 30);
    assert_fails(open_only(path, &options), WEIR_E_USAGE, "at most");
    options = stated("i16", 3);
    options.rate_hz = 0;
    assert_fails(open_only(path, &options), WEIR_E_USAGE, "--rate");
    options = stated("i17", 3);
    assert_fails(open_only(path, &options), WEIR_E_USAGE, "i17");
    options = stated("i16", 4);
    weir_source *source = NULL; /* a remainder is counted */
    assert_ok(weir_recording_open(path, &options, &source));
    const weir_source_info *info = source->ops->info(source);
    assert_int_equal(info->frames, 1);
    assert_int_equal(info->notice_count, 2);
    assert_non_null(strstr(info->notices[0], "the last 4 bytes are ignored (a frame has 8)"));
    assert_non_null(strstr(info->notices[1], "4 channels of 2 bytes, from offset 0; are dtype"));
    source->ops->close(source);
    options = stated("i16", 3);
    options.offset_bytes = 13;
    assert_fails(open_only(path, &options), WEIR_E_RECORDING, "before the offset");
    options.offset_bytes = UINT64_MAX;
    assert_fails(open_only(path, &options), WEIR_E_RECORDING, "before the offset");
    assert_fails(open_only(write_file("c.dat", "", 0), &options), WEIR_E_RECORDING, "offset");
}

/* A .hea file next to it means a WFDB record, whose samples may be packed. */
static void wfdb(void **state)
{
    (void)state;
    static const char bytes[12] = {0};
    char path[256];
    snprintf(path, sizeof path, "%s", write_file("100.dat", bytes, 12));
    write_file("100.hea", "100 2 360 4\n", 12);
    weir_recording_options options = stated("i16", 3);
    options.format = NULL;
    assert_fails(open_only(path, &options), WEIR_E_RECORDING, "100.hea; WFDB cannot be read");
    options.format = "raw"; /* an explicit statement is followed */
    assert_ok(open_only(path, &options));
}

/* A live pipe: complete frames are delivered as they arrive, a frame in two pieces is joined. */
static void pipe_in_pieces(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    char path[64];
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    weir_recording_options options = stated("<i16", 2);
    options.start_s = 0.01; /* one frame is skipped */
    weir_source *source = NULL;
    assert_ok(weir_recording_open(path, &options, &source));
    uint64_t bytes = 0;
    assert_ok(source->ops->plan(source, 100, &bytes));
    void *memory = malloc((size_t)bytes);
    assert_ok(source->ops->start(source, 100, memory));
    static const int16_t counts[] = {0, 1, 2, 3, 4, 5, 6, 7};
    assert_int_equal(write(ends[1], counts, 12), 12); /* three frames */
    float rows[200];
    weir_message message;
    assert_ok(source->ops->read(source, rows, 100, &message));
    assert_int_equal(message.frames, 2);
    assert_int_equal(message.first_index, 1);
    assert_true(rows[0] == 2 && rows[3] == 5);
    assert_int_equal(write(ends[1], counts + 6, 4), 4);
    assert_ok(source->ops->read(source, rows, 100, &message));
    assert_int_equal(message.frames, 1);
    assert_true(rows[1] == 7);
    assert_int_equal(write(ends[1], counts, 3), 3);
    close(ends[1]);
    assert_ok(source->ops->read(source, rows, 100, &message));
    assert_int_equal(message.frames, 0);
    assert_int_equal(source->ops->info(source)->notice_count, 1);
    assert_non_null(strstr(source->ops->info(source)->notices[0], "the last 3 bytes are ignored"));
    source->ops->close(source);
    free(memory);
    close(ends[0]);
}

static void nothing(int number)
{
    (void)number;
}

/* A signal ends the wait for a pipe without data. */
static void interrupted(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    char path[64];
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    weir_recording_options options = stated("f32", 2);
    weir_source *source = NULL;
    assert_ok(weir_recording_open(path, &options, &source));
    assert_ok(source->ops->start(source, 100, NULL));
    struct sigaction action = {.sa_handler = nothing}, before;
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    struct itimerval soon = {.it_interval = {.tv_usec = 20000}, .it_value = {.tv_usec = 20000}};
    assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
    float rows[200];
    weir_message message;
    assert_int_equal(source->ops->read(source, rows, 100, &message), WEIR_E_INTERRUPTED);
    soon = (struct itimerval){0};
    assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
    sigaction(SIGALRM, &before, NULL);
    source->ops->close(source);
    close(ends[0]);
    close(ends[1]);
}

/* Written data can be piped to another weir. */
static void out_to_a_pipe_and_a_file(void **state)
{
    (void)state;
    weir_spec spec = weir_spec_make(WEIR_I16, 100, 2, NULL, NULL);
    int16_t rows[] = {1, -2, 3, -4};
    weir_message block = {.spec = &spec, .data = rows, .frames = 2, .first_index = WEIR_INDEX_NEXT};
    char file[256];
    snprintf(file, sizeof file, "%s", own_path("out.raw"));
    char fifo[256];
    snprintf(fifo, sizeof fifo, "%s", own_path("fifo"));
    assert_int_equal(mkfifo(fifo, 0600), 0);
    int reader = open(fifo, O_RDONLY | O_NONBLOCK);
    assert_true(reader >= 0);
    weir_output_options options = weir_output_options_default();
    options.format = "raw";
    const char *paths[] = {fifo, file};
    for (int i = 0; i < 2; i++) {
        weir_sink *sink = NULL;
        uint64_t bytes = 0;
        assert_ok(weir_recording_create(paths[i], &options, &sink));
        assert_ok(sink->ops->plan(sink, &spec, &bytes));
        void *memory = malloc((size_t)bytes);
        assert_ok(sink->ops->start(sink, &spec, NULL, "", memory));
        for (int k = 0; k < 3; k++) {
            assert_ok(sink->ops->write(sink, &block));
            assert_ok(sink->ops->flush(sink));
        }
        assert_ok(sink->ops->finish(sink));
        sink->ops->close(sink);
        free(memory);
    }
    int16_t found[100];
    assert_int_equal(read(reader, found, sizeof found), 24);
    assert_memory_equal(found + 8, rows, 8);
    close(reader);
    /* With everything stated, and with nothing: the side file states it. */
    for (int i = 0; i < 2; i++) {
        weir_recording_options in = i ? weir_recording_options_default() : stated("i16", 2);
        weir_source *source = NULL;
        assert_ok(weir_recording_open(file, &in, &source));
        assert_true(source->ops->info(source)->spec.rate_hz == 100);
        recorded all = {0};
        assert_ok(read_source(source, 4, 0, &all));
        assert_int_equal(all.frames, 6);
        assert_int_equal(all.columns, 2);
        assert_true(all.values[11] == -4);
        recorded_free(&all);
        source->ops->close(source);
    }
}

/* A side file is used if weir wrote it and it fits the file; options take precedence. */
static void side_file(void **state)
{
    (void)state;
    static const char bytes[48] = {0};
    static const struct {
        const char *text, *refused; /* NULL: is read */
        uint64_t columns;
    } cases[] = {
        {"{\"weir\": \"1\", \"dtype\": \"i16\", \"rate_hz\": 5, \"dims\": [\"time\", \"ch\"], "
         "\"axes\": {\"ch\": {\"unit\": \"\", \"labels\": [\"a\", \"b\", \"c\"]}}}",
         NULL, 3},
        {"{\"weir\": \"1\", \"dtype\": \"i16\", \"rate_hz\": 5, \"dims\": [\"win\", \"time\", "
         "\"ch\"], "
         "\"rows\": 4}",
         NULL, 6},
        {"{\"weir\": \"1\", \"dtype\": \"i16\", \"rate_hz\": 5, \"rows\": 5}", "--channels-in-file",
         0},
        {"{\"weir\": \"1\", \"dtype\": \"i17\", \"rate_hz\": 5, \"rows\": 4}", "--channels-in-file",
         0},
        {"{\"weir\": \"1\", \"rate_hz\": 5, \"rows\": 4}", "--dtype", 0},
        {"{\"dtype\": \"i16\", \"rate_hz\": 5, \"rows\": 4}", "--dtype", 0},
        {"[1", "--dtype", 0},
    };
    char path[256];
    snprintf(path, sizeof path, "%s", write_file("s.raw", bytes, sizeof bytes));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_file("s.raw.json", cases[i].text, strlen(cases[i].text));
        weir_source *source = NULL;
        if (cases[i].refused) {
            assert_fails(weir_recording_open(path, NULL, &source), WEIR_E_USAGE, cases[i].refused);
            continue;
        }
        assert_ok(weir_recording_open(path, NULL, &source));
        assert_int_equal(weir_spec_columns(&source->ops->info(source)->spec), cases[i].columns);
        source->ops->close(source);
        weir_recording_options in = weir_recording_options_default();
        in.channels_in_file = 12;
        assert_ok(weir_recording_open(path, &in, &source));
        assert_int_equal(source->ops->info(source)->frames, 2);
        source->ops->close(source);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_behind_an_offset),  cmocka_unit_test(scaled_counts),
        cmocka_unit_test(what_must_be_stated),      cmocka_unit_test(wfdb),
        cmocka_unit_test(pipe_in_pieces),           cmocka_unit_test(interrupted),
        cmocka_unit_test(out_to_a_pipe_and_a_file), cmocka_unit_test(side_file),
    };
    return cmocka_run_group_tests_name("raw", tests, NULL, own_folder_remove);
}
