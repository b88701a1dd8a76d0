/* SPDX-License-Identifier: MIT
 *
 * Writing npy: what is written is read back, the part file is a valid npy file after every flush, names are
 * kept, side files restore rate, labels and segments.
 */
#include "make_npy.h"

#include <sys/stat.h>

static void
write_some(weir_sink *sink, const weir_spec *spec, uint64_t segment, int64_t first, size_t frames)
{
    float rows[64 * 3];
    for (size_t i = 0; i < frames * 3; i++) {
        rows[i] = (float)value((size_t)first + i / 3, i % 3);
    }
    weir_message block = {.spec = spec,
                          .data = rows,
                          .frames = frames,
                          .segment = segment,
                          .segment_start_ns = (int64_t)segment * 5000000000,
                          .first_index = first};
    assert_ok(sink->ops->write(sink, &block));
}

static bool exists(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0;
}

/* Rate, labels, units and segments of a file written by weir; a side file that does not fit is
 * reported and ignored. */
static void side_file_comes_back(const char *path)
{
    weir_recording_options options = at_rate(0);
    weir_source *source = NULL;
    assert_ok(weir_recording_open(path, &options, &source));
    const weir_source_info *info = source->ops->info(source);
    assert_true(info->spec.rate_hz == 100);
    assert_string_equal(info->spec.dims[1].labels[0], "a\"b");
    assert_string_equal(info->spec.dims[1].labels[1], "\xc2\xb5");
    assert_string_equal(info->spec.dims[1].labels[2], "\xc3\xbf"); /* Latin-1 became UTF-8 */
    assert_string_equal(info->spec.units[2], "mV");
    assert_int_equal(info->segment_count, 2);
    assert_int_equal(info->segments[1].start_ns, 5070000000);
    assert_int_equal(info->segments[1].frames, 10);
    assert_int_equal(info->notice_count, 0);
    source->ops->close(source);
    /* By label and time: 3.15 s to 5.1 s are the last 5 frames before the gap and 3 after it. */
    options.channels = "\xc2\xb5";
    options.start_s = 3.15;
    options.duration_s = 1.95;
    recorded all = read_path(path, &options, 0);
    assert_int_equal(all.frames, 8);
    assert_true(all.values[0] == value(315, 1) && all.values[5] == value(7, 1));
    recorded_free(&all);
    static const struct {
        const char *text, *said;
    } others[] = {
        {"{\"weir\": 1}", "not written by weir"},
        {"[1, 2", "not written by weir"},
        {"{\"weir\": \"1\", \"rate_hz\": 100}", "segments"},
        {"{\"weir\": \"1\", \"rate_hz\": 100, \"segments\": [{\"start_s\": 0, \"first_row\": 0, "
         "\"rows\": 331}]}",
         "states 331 rows, the file has 330; its last segment is assumed to be shorter"},
        {"{\"weir\": \"1\", \"rate_hz\": 100, \"segments\": [{\"start_s\": 0, \"first_row\": 0, "
         "\"rows\": 329}]}",
         "assumed to be longer"},
        {"{\"weir\": \"1\", \"rate_hz\": 100, \"segments\": [{\"start_s\": 0, \"first_row\": 1, "
         "\"rows\": 330}]}",
         "do not fit"},
        {"{\"weir\": \"1\", \"rate_hz\": 100, \"dims\": [\"x\", \"time\"], \"axes\": {\"time\": "
         "{\"unit\": \"\", \"step\": 1}}, \"segments\": [{\"start_s\": 0, \"first_row\": 0, "
         "\"rows\": 330}]}",
         "axes are not used"}, /* two axes with one name */
        {"{\"weir\": \"1\", \"rate_hz\": 50, \"segments\": [{\"start_s\": 0, \"first_row\": 0, "
         "\"rows\": 330}]}",
         "--rate 100 Hz overrides"},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        write_file("other.npy.json", others[i].text, strlen(others[i].text));
        float body[330 * 3] = {0};
        options = at_rate(100);
        assert_ok(weir_recording_open(
            make("other.npy", 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (330, 3)}",
                 body, sizeof body),
            &options, &source));
        info = source->ops->info(source);
        assert_int_equal(info->notice_count, 1);
        assert_non_null(strstr(info->notices[0], others[i].said));
        assert_int_equal(info->segment_count, 1);
        source->ops->close(source);
    }
}

static void writing(void **state)
{
    (void)state;
    static const char *const labels[] = {"a\"b", "\xc2\xb5", "\xff"};
    static const char *const units[] = {"uV", "uV", "mV"};
    weir_spec spec = weir_spec_make(WEIR_F32, 100, 3, labels, units);
    char path[256], part[280], side[280];
    snprintf(path, sizeof path, "%s", own_path("out.npy"));
    snprintf(part, sizeof part, "%s.part", path);
    snprintf(side, sizeof side, "%s.json", path);
    weir_sink *sink = NULL;
    int before = open_descriptors();
    assert_ok(weir_recording_create(path, NULL, &sink));
    uint64_t bytes = 0;
    assert_ok(sink->ops->plan(sink, &spec, &bytes));
    assert_false(exists(part));
    void *memory = malloc((size_t)bytes);
    assert_ok(sink->ops->start(sink, &spec, NULL, "chain:\n  - log: {}\n", memory));
    weir_sink *second = NULL;
    weir_output_options force = weir_output_options_default();
    force.force = true;
    assert_fails(weir_recording_create(path, NULL, &second), WEIR_E_USAGE, "another run");
    assert_fails(weir_recording_create(path, &force, &second), WEIR_E_USAGE, "another run");
    assert_true(exists(part));
    uint64_t rows = 0;
    for (int i = 0; i < 5; i++) {
        write_some(sink, &spec, 0, (int64_t)rows, 64);
        rows += 64;
        assert_ok(sink->ops->flush(sink));
        /* Flushed rows are a complete npy file under the part's name. */
        weir_recording_options options = at_rate(100);
        options.format = "npy";
        recorded all = read_path(part, &options, 0);
        assert_int_equal(all.frames, rows);
        recorded_free(&all);
    }
    write_some(sink, &spec, 1, 7, 10);
    assert_ok(sink->ops->finish(sink));
    sink->ops->close(sink);
    free(memory);
    assert_int_equal(open_descriptors(), before);
    assert_true(exists(path) && exists(side) && !exists(part));
    weir_recording_options options = at_rate(100);
    recorded all = read_path(path, &options, 3);
    assert_int_equal(all.frames, 330);
    assert_int_equal(all.segments, 2); /* the gap is kept */
    for (size_t i = 0; i < 320 * 3; i++) {
        assert_true(all.values[i] == value(i / 3, i % 3));
    }
    recorded_free(&all);

    side_file_comes_back(path);
    assert_fails(weir_recording_create(path, NULL, &sink), WEIR_E_USAGE, "--force");
    unlink(path);
    assert_fails(weir_recording_create(path, NULL, &sink), WEIR_E_USAGE, "out.npy.json");
    assert_ok(weir_recording_create(path, &force, &sink));
    sink->ops->close(sink);
    assert_false(exists(path));
}

/* An output begun and not finished: rows are kept, an empty file is not. */
static void unfinished(void **state)
{
    (void)state;
    weir_spec spec = weir_spec_make(WEIR_F32, 100, 3, NULL, NULL);
    char path[256], part[280];
    snprintf(path, sizeof path, "%s", own_path("u.npy"));
    snprintf(part, sizeof part, "%s.part", path);
    for (int rows = 0; rows < 2; rows++) {
        weir_sink *sink = NULL;
        void *memory = malloc(1 << 16);
        assert_ok(weir_recording_create(path, NULL, &sink));
        assert_ok(sink->ops->start(sink, &spec, NULL, "", memory));
        if (rows) {
            write_some(sink, &spec, 0, 0, 20);
        }
        sink->ops->close(sink);
        free(memory);
        assert_false(exists(path));
        assert_int_equal(exists(part), rows);
    }
    weir_recording_options options = at_rate(100);
    recorded all = read_path(part, &options, 0);
    assert_int_equal(all.frames, 20);
    recorded_free(&all);
}

static void outputs_that_cannot_be(void **state)
{
    (void)state;
    weir_spec spec = weir_spec_make(WEIR_F32, 100, 3, NULL, NULL);
    weir_sink *sink = NULL;
    uint64_t bytes = 0;
    assert_fails(weir_recording_create("x.what", NULL, &sink), WEIR_E_USAGE, "x.what");
    assert_fails(weir_recording_create("/tmp", NULL, &sink), WEIR_E_USAGE, "/tmp");
    assert_fails(weir_recording_create("-", NULL, &sink), WEIR_E_USAGE, "--output-format");
    weir_output_options options = weir_output_options_default();
    options.format = "edf";
    assert_fails(weir_recording_create("x.edf", &options, &sink), WEIR_E_USAGE, "not written");
    options.format = "npy";
    assert_ok(weir_recording_create("-", &options, &sink));
    assert_fails(sink->ops->plan(sink, &spec, &bytes), WEIR_E_USAGE, "pipe");
    sink->ops->close(sink);
    assert_fails(weir_recording_create("/nowhere/at/all.npy", NULL, &sink), WEIR_E_IO,
                 "/nowhere/at/all.npy");
    void *memory = malloc(1 << 16);
    /* A full disk. */
    options.format = "raw";
    assert_ok(weir_recording_create("/dev/full", &options, &sink));
    assert_ok(sink->ops->plan(sink, &spec, &bytes));
    assert_ok(sink->ops->start(sink, &spec, NULL, "", memory));
    write_some(sink, &spec, 0, 0, 20);
    assert_fails(sink->ops->flush(sink), WEIR_E_IO, "/dev/full");
    sink->ops->close(sink);
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writing),
        cmocka_unit_test(unfinished),
        cmocka_unit_test(outputs_that_cannot_be),
    };
    return cmocka_run_group_tests_name("npy_write", tests, NULL, own_folder_remove);
}
