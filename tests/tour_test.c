/* SPDX-License-Identifier: MIT
 *
 * The tour of weir/weir.h: compiled, run, and compared with the text of the header line by line.
 */
#include <weir/weir.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* the tour begins */
static weir_err tour(double *ret_mean)
{
    const char *text = "memory_limit: 1 MiB\n"
                       "chain:\n"
                       "  - butterworth: {order: 4, cuton: 300 Hz, cutoff: 6 kHz}\n"
                       "  - pow: {exponent: 2}\n"
                       "  - binned_aggregate: {bin_duration: 10 ms, operation: mean}\n";
    const char *path = "synthetic:channels=4,rate=30000,seconds=1,seed=1";
    weir_chain_options flags = weir_chain_options_default();
    weir_chain *chain = NULL;
    weir_source *source = NULL;
    const weir_plan *plan = NULL;
    double sum = 0;
    uint64_t count = 0;

    weir_err err = weir_config_parse(text, strlen(text), "tour", &flags, &chain);
    if (err == WEIR_OK) {
        weir_recording_options how = weir_recording_options_default();
        how.cache = weir_chain_cache(chain); // its memory counts too
        err = weir_recording_open(path, &how, &source);
    }
    if (err == WEIR_OK)
        err = weir_chain_plan_run(chain, source, NULL, 0, &plan);
    if (err == WEIR_OK && !plan->fits) // nothing was read yet
        err = WEIR_E_PLAN;
    while (err == WEIR_OK) {
        float rows[32][4]; // [frames x channels], the caller's own
        weir_message block;
        err = weir_chain_pull(chain, rows, 32, &block);
        if (err != WEIR_OK || block.frames == 0)
            break;
        for (size_t i = 0; i < block.frames; i++, count++)
            sum += rows[i][0];
    }
    if (err == WEIR_OK)
        *ret_mean = sum / (double)count;
    weir_source_close(source);
    weir_chain_destroy(chain);
    return err; // weir_err_detail() says more
}
/* the tour ends */

static void tour_runs(void **state)
{
    (void)state;
    double mean = -1;
    assert_string_equal(weir_err_text(tour(&mean)), weir_err_text(WEIR_OK));
    assert_true(mean > 0);
}

/* The next line of the code between the two marks, or false at its end. */
static bool code_line(FILE *file, char *line, int size)
{
    return fgets(line, size, file) != NULL && strstr(line, "the tour ends") == NULL;
}

static void tour_is_what_the_header_says(void **state)
{
    (void)state;
    FILE *header = fopen(WEIR_SOURCE_DIR "/include/weir/weir.h", "r");
    FILE *test = fopen(WEIR_SOURCE_DIR "/tests/tour_test.c", "r");
    assert_non_null(header);
    assert_non_null(test);
    char ours[256], theirs[256];
    while (fgets(ours, sizeof(ours), test) && strncmp(ours, "/* the tour begins", 18) != 0)
        continue;
    while (fgets(theirs, sizeof(theirs), header) && strstr(theirs, "static weir_err tour") == NULL)
        continue;
    int lines = 0;
    for (; code_line(test, ours, sizeof(ours)); lines++) {
        char expected[300];
        snprintf(expected, sizeof(expected), ours[0] == '\n' ? " *%s" : " *     %s", ours);
        assert_string_equal(theirs, expected);
        assert_non_null(fgets(theirs, sizeof(theirs), header));
    }
    assert_string_equal(theirs, " */\n");
    assert_true(lines > 30);
    fclose(header);
    fclose(test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tour_runs),
        cmocka_unit_test(tour_is_what_the_header_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
