/* SPDX-License-Identifier: MIT
 *
 * reference_test.c: S2 and S1, by the command: every case of ../shared/reference whose units exist
 * gives the reference's answer within the case's tolerance, its time axis in the side file, and the
 * same bytes for other message boundaries and tiles. Cases of other units are skipped and named.
 */
#include "conform/stream.h"

#include <dirent.h>
#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/recording.h>

#define REFERENCE WEIR_SHARED_DIR "/reference"

static char folder[64];

static char *path_in(char *path, const char *name)
{
    snprintf(path, 128, "%s/%s", folder, name);
    return path;
}

/* Reads all of an npy file as doubles. */
static double *read_all(const char *path, size_t *ret_frames, size_t *ret_columns)
{
    weir_recording_options options = weir_recording_options_default();
    options.rate_hz = 1.0;
    weir_source *source = NULL;
    test_ok(weir_recording_open(path, &options, &source));
    const weir_source_info *info = weir_source_info_get(source);
    size_t frames = (size_t)info->frames, columns = (size_t)weir_spec_columns(&info->spec);
    size_t frame_bytes = (size_t)weir_spec_frame_bytes(&info->spec);
    uint64_t bytes = 0;
    test_ok(source->ops->plan(source, frames + 1, &bytes));
    void *memory = aligned_alloc(64, (size_t)(bytes + 127) / 64 * 64);
    test_signal signal = {.spec = info->spec, .data = malloc((frames + 1) * frame_bytes)};
    double *values = malloc((frames * columns + 1) * sizeof *values);
    assert_true(memory != NULL && signal.data != NULL && values != NULL);
    test_ok(source->ops->start(source, frames + 1, memory));
    for (size_t at = 0; at < frames;) {
        weir_message message = {0};
        test_ok(
            source->ops->read(source, signal.data + at * frame_bytes, frames + 1 - at, &message));
        assert_true(message.frames > 0);
        at += message.frames;
    }
    for (size_t i = 0; i < frames * columns; i++) {
        values[i] = test_signal_get(&signal, i);
    }
    weir_source_close(source);
    free(memory);
    free(signal.data);
    *ret_frames = frames;
    *ret_columns = columns;
    return values;
}

static bool same_files(const char *a, const char *b)
{
    char command[512];
    snprintf(command, sizeof command, "cmp -s '%s' '%s'", a, b);
    return system(command) == 0;
}

static int
run_case(const char *chain, const char *input, double rate, const char *cut, const char *output)
{
    char command[1024];
    snprintf(command, sizeof command,
             "'%s' run '%s' '%s/%s' --rate %.17g %s --quiet --force -o '%s'", WEIR_COMMAND, chain,
             REFERENCE, input, rate, cut, output);
    return system(command);
}

/* A unit of the chain that weir does not have yet; NULL = it has all of them. */
static const char *missing_unit(json_t *chain)
{
    size_t i;
    json_t *entry;
    json_array_foreach(chain, i, entry)
    {
        const char *name = json_is_string(entry) ? json_string_value(entry)
                                                 : json_object_iter_key(json_object_iter(entry));
        const weir_unit_info *info = NULL;
        if (weir_unit_find(name, &info) != WEIR_OK) {
            return name;
        }
    }
    return NULL;
}

static void check_values(const char *name, json_t *root, const char *output)
{
    char path[256];
    size_t frames, columns, expected_frames, expected_columns;
    snprintf(path, sizeof path, "%s/%s/expected.npy", REFERENCE, name);
    double *expected = read_all(path, &expected_frames, &expected_columns);
    double *found = read_all(output, &frames, &columns);
    double rtol = json_number_value(json_object_get(root, "rtol"));
    double atol = json_number_value(json_object_get(root, "atol"));
    if (frames != expected_frames || columns != expected_columns) {
        print_error("%s: %zu x %zu, expected %zu x %zu\n", name, frames, columns, expected_frames,
                    expected_columns);
        fail();
    }
    for (size_t i = 0; i < frames * columns; i++) {
        bool close = fabs(found[i] - expected[i]) <= atol + rtol * fabs(expected[i]) ||
                     (isnan(found[i]) && isnan(expected[i])) || found[i] == expected[i];
        if (!close) {
            print_error("%s: frame %zu column %zu: %.17g, expected %.17g\n", name, i / columns,
                        i % columns, found[i], expected[i]);
            fail();
        }
    }
    free(expected);
    free(found);
}

/* Names of dimensions, start and step of the stream's, as in the reference. */
static void check_side(const char *name, json_t *root, const char *output)
{
    char path[160];
    snprintf(path, sizeof path, "%s.json", output);
    json_error_t error;
    json_t *side = json_load_file(path, 0, &error);
    if (side == NULL) {
        print_error("%s: %s: %s\n", name, path, error.text);
        fail();
    }
    json_t *dims = json_object_get(side, "dims");
    json_t *expected_dims = json_object_get(root, "output_dims");
    if (!json_equal(dims, expected_dims)) {
        print_error("%s: dims %s\n", name, json_dumps(dims, 0));
        fail();
    }
    json_t *axis =
        json_object_get(json_object_get(side, "axes"), json_string_value(json_array_get(dims, 0)));
    double start = json_number_value(json_object_get(axis, "start"));
    double step = json_number_value(json_object_get(axis, "step"));
    double gain = json_number_value(json_object_get(root, "output_gain"));
    if (fabs(step - gain) > 1e-12 * gain) {
        print_error("%s: step %.17g, expected %.17g\n", name, step, gain);
        fail();
    }
    size_t i;
    json_t *offset;
    json_array_foreach(json_object_get(root, "output_offsets"), i, offset)
    {
        if (json_is_number(offset)) {
            if (fabs(start - json_number_value(offset)) > 1e-9) {
                print_error("%s: start %.17g, expected %.17g\n", name, start,
                            json_number_value(offset));
                fail();
            }
            break;
        }
    }
    json_decref(side);
}

static void write_inputs(json_t *root, const char *chain, const char *lengths)
{
    assert_int_equal(json_dump_file(json_object_get(root, "chain"), chain, 0), 0);
    FILE *file = fopen(lengths, "w");
    assert_non_null(file);
    size_t i;
    json_t *length;
    json_array_foreach(json_object_get(root, "message_lengths"), i, length)
    {
        fprintf(file, "%lld\n", (long long)json_integer_value(length));
    }
    assert_int_equal(fclose(file), 0);
}

static bool check_case(const char *name)
{
    char path[256], chain[128], lengths[128], first[128], second[128], cut[256];
    snprintf(path, sizeof path, "%s/%s/case.json", REFERENCE, name);
    json_error_t error;
    json_t *root = json_load_file(path, 0, &error);
    if (root == NULL) {
        print_error("%s: %s\n", path, error.text);
        fail();
    }
    const char *missing = missing_unit(json_object_get(root, "chain"));
    if (missing != NULL) {
        print_message("skipped %s: there is no unit %s yet\n", name, missing);
        json_decref(root);
        return false;
    }
    path_in(chain, "chain.yaml");
    path_in(lengths, "lengths.txt");
    path_in(first, "first.npy");
    path_in(second, "second.npy");
    write_inputs(root, chain, lengths);
    const char *input = json_string_value(json_object_get(root, "input"));
    double rate = json_number_value(json_object_get(root, "fs"));
    snprintf(cut, sizeof cut, "--message-lengths '%s'", lengths);
    if (run_case(chain, input, rate, cut, first) != 0) {
        print_error("%s: the command failed\n", name);
        fail();
    }
    check_values(name, root, first);
    check_side(name, root, first);
    const char *const others[] = {"", "--message-frames 37 --tile 16",
                                  "--message-frames 1 --tile 5"};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(run_case(chain, input, rate, others[i], second), 0);
        if (!same_files(first, second)) {
            print_error("S1: %s: other bytes with '%s'\n", name, others[i]);
            fail();
        }
    }
    json_decref(root);
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void reference_cases(void **state)
{
    (void)state;
    DIR *dir = opendir(REFERENCE);
    if (dir == NULL) {
        print_message("skipped: %s is not there: no reference answer was compared\n", REFERENCE);
        skip();
    }
    char *names[256];
    size_t count = 0, passed = 0;
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        char path[512];
        struct stat info;
        snprintf(path, sizeof path, "%s/%s/case.json", REFERENCE, entry->d_name);
        if (stat(path, &info) == 0) {
            assert_true(count < 256);
            names[count++] = strdup(entry->d_name);
        }
    }
    closedir(dir);
    qsort(names, count, sizeof names[0], by_name);
    snprintf(folder, sizeof folder, "/tmp/weir_reference_XXXXXX");
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < count; i++) {
        passed += check_case(names[i]);
        free(names[i]);
    }
    print_message("%zu of %zu reference cases, each by four cuts\n", passed, count);
    assert_true(count >= 69 && passed >= 47);
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reference_cases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
