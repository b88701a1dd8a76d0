/* SPDX-License-Identifier: MIT
 *
 * main_job_test.c: the chain of DESIGN 7 at 256 channels, by the command: M6 (one plan for messages
 * of 300 frames, of 9000, and of 300 with every 300th 2..40 times as long; <= 4 MiB; kept), M7 (the
 * system's figure: RSS growth <= plan + 4 MiB, in a new process).
 */
#include "conform/stream.h"

#include "command_json.h"
#include <unistd.h>

#define MIB (1 << 20)

static char folder[64];

static json_t *run(const char *cut)
{
    char command[1024];
    snprintf(command, sizeof command,
             "'%s' run '%s/examples/spike_band_power.yaml' "
             "synthetic:channels=256,rate=30000,seconds=16,seed=1 %s --json -o %s/out.npy --force "
             "2>%s/stderr",
             WEIR_COMMAND, WEIR_SOURCE_DIR, cut, folder, folder);
    return json_of_command(command);
}

/* The used fraction of the planned bytes, over all measured parts. */
static double used_part(json_t *root)
{
    json_t *part, *parts = json_object_get(json_object_get(root, "plan"), "parts");
    double used = 0, planned = 0;
    size_t i;
    json_array_foreach(parts, i, part)
    {
        const char *kind = json_string_value(json_object_get(part, "kind"));
        if (strcmp(kind, "threads") != 0 && strcmp(kind, "spare") != 0 &&
            strcmp(kind, "records") != 0 && strcmp(kind, "charges") != 0) {
            used += (double)number(part, "used_bytes");
            planned += (double)number(part, "bytes");
        }
    }
    print_message("used %.0f of %.0f B\n", used, planned);
    assert_true(planned > 0);
    return used / planned;
}

/* 300 frames per message, every 300th 2..40 times as long. */
static void write_stalls(const char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < 12000; i++) {
        fprintf(file, "%d\n", i % 300 == 299 ? 300 * (2 + i / 300 % 39) : 300);
    }
    assert_int_equal(fclose(file), 0);
}

static void plan_is_kept(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/weir_main_XXXXXX");
    assert_non_null(mkdtemp(folder));
    char stalls[128], cut[200];
    snprintf(stalls, sizeof stalls, "%s/stalls.txt", folder);
    write_stalls(stalls);
    snprintf(cut, sizeof cut, "--message-lengths %s", stalls);
    const char *const cuts[] = {"--message-frames 300", "--message-frames 9000", cut};
    uint64_t plans[3];
    for (int i = 0; i < 3; i++) {
        json_t *root = run(cuts[i]);
        plans[i] = number(root, "plan_bytes");
        uint64_t held = number(root, "held_peak_bytes");
        uint64_t before = number(root, "rss_before_bytes");
        uint64_t peak = number(root, "rss_peak_bytes");
        print_message("%s: plan %llu held %llu rss growth %llu B\n", cuts[i],
                      (unsigned long long)plans[i], (unsigned long long)held,
                      (unsigned long long)(peak - before));
        assert_int_equal(number(root, "frames_in"), 16 * 30000);
        assert_true(held <= plans[i]);       /* M6 */
        assert_true(used_part(root) >= 0.8); /* M6: nor far below the plan */
        assert_true(plans[i] <= 4 * MIB);
        assert_true(peak > 0 && peak - before <= plans[i] + 4 * MIB); /* M7 */
        json_decref(root);
    }
    assert_int_equal(plans[0], plans[1]);
    assert_int_equal(plans[0], plans[2]);
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(plan_is_kept)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
