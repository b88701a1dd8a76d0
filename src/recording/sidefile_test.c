/* SPDX-License-Identifier: MIT
 *
 * sidefile_test.c: a side file is read back completely: any number of segments and channels, where
 * an unfinished output stopped; and a new output replaces no file of somebody else.
 */
#include "have_hdf5.h"
#include "recordings.h"

#include <fcntl.h>
#include <sys/stat.h>

#define RATE 1000

typedef struct output {
    weir_sink *sink;
    weir_spec spec;
    void *memory;
    uint64_t segment;
    int64_t next; /* index within it */
} output;

static output begin(const char *path, uint64_t channels, const char *const *labels, bool force)
{
    output out = {.spec = weir_spec_make(WEIR_F32, RATE, channels, labels, NULL)};
    weir_output_options options = weir_output_options_default();
    options.force = force;
    uint64_t bytes = 0;
    assert_ok(weir_recording_create(path, &options, &out.sink));
    assert_ok(out.sink->ops->plan(out.sink, &out.spec, &bytes));
    out.memory = malloc((size_t)bytes);
    assert_non_null(out.memory);
    assert_ok(out.sink->ops->start(out.sink, &out.spec, NULL, "", out.memory));
    return out;
}

/* Rows of one value, the segment's number, which is also its start in seconds. */
static void put(output *out, uint64_t segment, size_t frames)
{
    size_t count = frames * (size_t)weir_spec_columns(&out->spec);
    out->next = segment == out->segment ? out->next : 0;
    out->segment = segment;
    float *rows = malloc(count * sizeof *rows);
    for (size_t i = 0; i < count; i++) {
        rows[i] = (float)segment;
    }
    weir_message block = {.spec = &out->spec,
                          .data = rows,
                          .frames = frames,
                          .first_index = out->next,
                          .segment = segment,
                          .segment_start_ns = (int64_t)segment * 1000000000};
    assert_ok(out->sink->ops->write(out->sink, &block));
    out->next += (int64_t)frames;
    free(rows);
}

static void end(output *out, bool finish)
{
    if (finish) {
        assert_ok(out->sink->ops->finish(out->sink));
    }
    out->sink->ops->close(out->sink);
    free(out->memory);
}

static const char *text_of(const char *path)
{
    static char text[1 << 16];
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    ssize_t got = read(fd, text, sizeof text - 1);
    close(fd);
    text[got > 0 ? got : 0] = 0;
    return text;
}

/* S4: 3000 gaps are 3000 gaps, in every format, whenever the file is flushed. */
static void every_segment(void **state)
{
    (void)state;
    static const char *const names[] = {"s.npy", "s.raw", "s.csv", "s.wav", "s.h5"};
    enum { SEGMENTS = 3000 };
    for (size_t f = 0; f < sizeof names / sizeof *names; f++) {
        char path[256];
        snprintf(path, sizeof path, "%s", own_path(names[f]));
        weir_sink *probe = NULL;
        if (weir_recording_create(path, NULL, &probe) != WEIR_OK) {
            printf("skipped: %s: %s\n", names[f], weir_err_detail());
            continue;
        }
        probe->ops->close(probe);
        for (int finish = 0; finish < 2; finish++) {
            output out = begin(path, 2, NULL, true);
            for (uint64_t s = 0; s < SEGMENTS; s++) {
                put(&out, s, 1 + s % 3);
                put(&out, s, 0);
                if (s % 700 == 699) {
                    assert_ok(out.sink->ops->flush(out.sink));
                }
            }
            end(&out, finish);
            char made[280];
            snprintf(made, sizeof made, "%s%s", path, finish ? "" : ".part");
            for (int alone = 0; alone < (strcmp(names[f], "s.h5") == 0 ? 2 : 1); alone++) {
                weir_source *source = NULL;
                assert_ok(weir_recording_open(made, NULL, &source));
                const weir_source_info *info = source->ops->info(source);
                assert_int_equal(info->segment_count + info->segments_left_out, SEGMENTS);
                assert_int_equal(info->segments[63].start_ns, INT64_C(63000000000));
                recorded all = {0};
                assert_ok(read_source(source, 64, 0, &all));
                assert_int_equal(all.segments, SEGMENTS);
                assert_int_equal(all.frames, SEGMENTS * 2);
                assert_true(all.values[all.frames * 2 - 1] == SEGMENTS - 1);
                recorded_free(&all);
                source->ops->close(source);
                /* What HDF5 states in its own file. */
                snprintf(made, sizeof made, "%s.json", path);
                if (finish && !alone) {
                    unlink(made);
                }
                snprintf(made, sizeof made, "%s%s", path, finish ? "" : ".part");
            }
        }
    }
}

/* 65,536 labels make a side file of more than 1 MiB. */
static void many_channels(void **state)
{
    (void)state;
    enum { CHANNELS = 65536 };
    char path[256], *texts = malloc(CHANNELS * 16);
    const char **labels = malloc(CHANNELS * sizeof *labels);
    for (size_t i = 0; i < CHANNELS; i++) {
        snprintf(texts + i * 16, 16, "electrode%zu", i);
        labels[i] = texts + i * 16;
    }
    snprintf(path, sizeof path, "%s", own_path("wide.raw"));
    output out = begin(path, CHANNELS, labels, false);
    put(&out, 0, 2);
    end(&out, true);
    weir_source *source = NULL;
    assert_ok(weir_recording_open(path, NULL, &source));
    const weir_source_info *info = source->ops->info(source);
    assert_int_equal(info->frames, 2);
    assert_int_equal(info->notice_count, 0);
    assert_true(info->spec.rate_hz == RATE);
    assert_string_equal(info->spec.dims[1].labels[65535], "electrode65535");
    source->ops->close(source);
    free(labels);
    free(texts);
}

/* The part of an unlabelled stream states its number of channels, however many rows it has. */
static void part_without_labels(void **state)
{
    (void)state;
    char path[256], part[280], side[280];
    snprintf(path, sizeof path, "%s", own_path("plain.raw"));
    snprintf(part, sizeof part, "%s.part", path);
    snprintf(side, sizeof side, "%s.json.part", path);
    output out = begin(path, 3, NULL, false);
    put(&out, 0, 20);
    assert_ok(out.sink->ops->flush(out.sink));
    put(&out, 0, 7);
    end(&out, false);
    FILE *file = fopen(part, "ab"); /* killed between a write and the side file's next state */
    static const float more[3] = {0};
    assert_int_equal(fwrite(more, sizeof more, 1, file), 1);
    fclose(file);
    weir_source *source = NULL;
    assert_ok(weir_recording_open(part, NULL, &source));
    const weir_source_info *info = source->ops->info(source);
    assert_int_equal(info->spec.dims[1].size, 3);
    assert_int_equal(info->frames, 28);
    source->ops->close(source);
    /* It states that it is not complete, and where it ends. */
    assert_non_null(strstr(text_of(side), "\"complete\": false,\n\"stopped_s\": 0.027\n"));
    out = begin(path, 3, NULL, true);
    put(&out, 0, 20);
    end(&out, true);
    snprintf(side, sizeof side, "%s.json", path);
    assert_non_null(strstr(text_of(side), "\"complete\": true\n"));
    assert_null(strstr(text_of(side), "stopped_s"));
}

static void unfinished_is_said(void **state)
{
    (void)state;
    char path[256], part[280];
    snprintf(path, sizeof path, "%s", own_path("stopped.npy"));
    snprintf(part, sizeof part, "%s.part", path);
    output out = begin(path, 1, NULL, false);
    put(&out, 2, 500);
    end(&out, false);
    weir_source *source = NULL;
    assert_ok(weir_recording_open(part, NULL, &source));
    const weir_source_info *info = source->ops->info(source);
    assert_int_equal(info->notice_count, 1);
    assert_non_null(strstr(info->notices[0], "was interrupted at 2.5 s"));
    source->ops->close(source);
}

/* Files left by an earlier run are replaced only with force; links are replaced, not followed. */
static void parts_are_kept(void **state)
{
    (void)state;
    static const char *const ends[] = {".part", ".json.part", ".json.next"};
    char path[256], begun[280], victim[256];
    snprintf(path, sizeof path, "%s", own_path("keep.npy"));
    for (size_t i = 0; i < 3; i++) {
        snprintf(victim, sizeof victim, "%s", write_file("victim", "precious", 8));
        snprintf(begun, sizeof begun, "%s%s", path, ends[i]);
        weir_sink *sink = NULL;
        for (int link = 0; link < 3; link++) {
            if (link == 0) {
                assert_int_equal(symlink(victim, begun), 0);
            } else if (link == 1) {
                assert_int_equal(linkat(AT_FDCWD, victim, AT_FDCWD, begun, 0), 0);
            } else {
                snprintf(begun, sizeof begun, "%s", write_file("keep.npy.part", "rows", 4));
            }
            if (i < 2 || link == 2) { /* the next state of a side file is not kept */
                assert_fails(weir_recording_create(path, NULL, &sink), WEIR_E_USAGE, "use --force");
            }
            output out = begin(path, 1, NULL, true);
            put(&out, 0, 10);
            end(&out, true);
            assert_string_equal(text_of(victim), "precious");
            struct stat status;
            assert_true(lstat(begun, &status) != 0);
            unlink(path);
            snprintf(begun, sizeof begun, "%s.json", path);
            unlink(begun);
            snprintf(begun, sizeof begun, "%s%s", path, ends[i]);
        }
        /* An empty one contains nothing. */
        int fd = open(begun, O_CREAT | O_WRONLY, 0666);
        assert_true(fd >= 0);
        close(fd);
        assert_ok(weir_recording_create(path, NULL, &sink));
        sink->ops->close(sink);
        unlink(begun);
    }
    weir_sink *sink = NULL;
    char folder[280];
    snprintf(folder, sizeof folder, "%s.part", path);
    assert_int_equal(mkdir(folder, 0777), 0);
    weir_output_options force = weir_output_options_default();
    force.force = true;
    assert_fails(weir_recording_create(path, &force, &sink), WEIR_E_USAGE, "is a folder");
    assert_int_equal(rmdir(folder), 0);
}

/* A file created under the name during the run is not replaced. */
static void name_taken_meanwhile(void **state)
{
    (void)state;
    char path[256], part[280];
    snprintf(path, sizeof path, "%s", own_path("late.npy"));
    snprintf(part, sizeof part, "%s.part", path);
    output out = begin(path, 1, NULL, false);
    put(&out, 0, 10);
    write_file("late.npy", "other", 5);
    assert_fails(out.sink->ops->finish(out.sink), WEIR_E_USAGE, "already exists");
    end(&out, false);
    assert_string_equal(text_of(path), "other");
    assert_int_equal(access(part, F_OK), 0);
}

/* Other orders and types of keys, escapes, and text that is not JSON: read, or ignored with a
 * notice. */
static void texts_of_others(void **state)
{
    (void)state;
    static const struct {
        const char *text, *label; /* NULL: it is not used */
    } cases[] = {
        {"{\"segments\":[{\"rows\":2,\"start_s\":1e0,\"first_row\":0,\"x\":[{},[1,null,true]]}],"
         "\"dims\":[\"time\",\"ch\"],\"axes\":{\"ch\":{\"labels\":[\"\\ud83d\\ude00\\n\\/\"],"
         "\"unit\":\"\"},\"time\":{\"unit\":\"s\"}},\"rate_hz\":7.5e1,\"weir\":\"9\",\"new\":-0.5}",
         "\xf0\x9f\x98\x80?/"},
        {"{\"weir\": \"1\", \"rate_hz\": 75, \"rate_hz\": 75}", NULL},
        {"{\"weir\": \"1\", \"rate_hz\": 75,}", NULL},
        {"{\"weir\": \"1\", \"rate_hz\": 75} x", NULL},
        {"{\"weir\": \"1\", \"rate_hz\": \"75\"}", NULL},
        {"{\"weir\": \"\\ud83d\", \"rate_hz\": 75}", NULL},
        {"{\"weir\": \"1\", \"rate_hz\": 75, \"a\": nul}", NULL},
        {"{\"weir\": \"1\", \"rate_hz\": 75", NULL},
        {"", NULL},
        {"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", NULL},
    };
    static const float body[2] = {1, 2};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_file("o.raw.json", cases[i].text, strlen(cases[i].text));
        weir_recording_options options = weir_recording_options_default();
        options.rate_hz = 75;
        options.dtype = "f32";
        options.channels_in_file = 1;
        weir_source *source = NULL;
        assert_ok(weir_recording_open(write_file("o.raw", body, sizeof body), &options, &source));
        const weir_source_info *info = source->ops->info(source);
        if (cases[i].label) {
            assert_string_equal(info->spec.dims[1].labels[0], cases[i].label);
            assert_int_equal(info->segments[0].start_ns, 1000000000);
            assert_int_equal(info->notice_count, 0);
        } else {
            assert_int_equal(info->notice_count, 1);
            assert_non_null(strstr(info->notices[0], "not written by weir"));
        }
        source->ops->close(source);
    }
    /* From an older weir, which left segments out: refused, since the gaps are unknown (S4). */
    static const char lost[] = "{\"weir\": \"1\", \"rate_hz\": 75, \"segments\": [{\"start_s\": 0, "
                               "\"first_row\": 0, \"rows\": 2}], \"segments_left_out\": 4}";
    write_file("o.raw.json", lost, strlen(lost));
    weir_recording_options options = weir_recording_options_default();
    options.dtype = "f32";
    options.channels_in_file = 1;
    weir_source *source = NULL;
    assert_fails(weir_recording_open(own_path("o.raw"), &options, &source), WEIR_E_RECORDING,
                 "does not list all segments");
}

/* Any byte may change, or the file end anywhere: it is read, ignored or refused. */
static void damaged(void **state)
{
    (void)state;
    static const char *const labels[] = {"a\"b", "\xc2\xb5", "c"};
    char path[256], side[280], whole[4096];
    snprintf(path, sizeof path, "%s", own_path("d.raw"));
    snprintf(side, sizeof side, "%s.json", path);
    output out = begin(path, 3, labels, true);
    for (uint64_t s = 0; s < 5; s++) {
        put(&out, s, 4);
    }
    end(&out, true);
    snprintf(whole, sizeof whole, "%.4000s", text_of(side));
    size_t length = strlen(whole);
    uint64_t seed = testing_seed("damaged");
    size_t opened = 0;
    for (int i = 0; i < 4000; i++) {
        char text[4096];
        size_t bytes = length;
        memcpy(text, whole, length);
        for (uint64_t k = testing_random(&seed) % 3; k < 3; k++) {
            static const char some[] = "\"\\[]{},:-+.eE0129nutf \n\xff";
            size_t at = testing_random(&seed) % length;
            text[at] = some[testing_random(&seed) % (sizeof some - 1)];
        }
        if (i % 4 == 0) {
            bytes = testing_random(&seed) % length;
        }
        write_file("d.raw.json", text, bytes);
        weir_recording_options options = weir_recording_options_default();
        weir_source *source = NULL;
        options.dtype = i % 2 ? "f32" : NULL;
        options.channels_in_file = i % 2 ? 3 : 0;
        options.rate_hz = i % 3 ? 10 : 0;
        if (weir_recording_open(path, &options, &source) == WEIR_OK) {
            recorded all = {0};
            assert_ok(read_source(source, 7, 0, &all));
            assert_true(all.frames * all.columns == 60);
            recorded_free(&all);
            source->ops->close(source);
            opened++;
        }
    }
    assert_true(opened > 1000);
}

int main(void)
{
    use_hdf5_helper();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_segment),       cmocka_unit_test(many_channels),
        cmocka_unit_test(part_without_labels), cmocka_unit_test(unfinished_is_said),
        cmocka_unit_test(parts_are_kept),      cmocka_unit_test(name_taken_meanwhile),
        cmocka_unit_test(texts_of_others),     cmocka_unit_test(damaged),
    };
    return cmocka_run_group_tests_name("sidefile", tests, NULL, own_folder_remove);
}
