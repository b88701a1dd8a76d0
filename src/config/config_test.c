/* SPDX-License-Identifier: MIT
 *
 * config_test.c: chains from files: what is accepted, what takes precedence (M8), and every mistake
 * as one line with file, line, column, what was found and what is allowed.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <weir/config.h>

static weir_chain *parse(const char *text, const weir_chain_options *flags)
{
    weir_chain *chain = NULL;
    weir_err err = weir_config_parse(text, strlen(text), "c.yaml", flags, &chain);
    if (err != WEIR_OK)
        fail_msg("%s\nrefused: %s", text, weir_err_detail());
    assert_non_null(chain);
    return chain;
}

static const weir_plan *plan(weir_chain *chain)
{
    static const char *const labels[] = {"a", "b", "c", "d"};
    static weir_spec spec;
    const weir_plan *planned = NULL;
    spec = weir_spec_make(WEIR_F32, 30000, 4, labels, NULL);
    if (weir_chain_plan(chain, &spec, &planned) != WEIR_OK)
        fail_msg("no plan: %s", weir_err_detail());
    return planned;
}

static void check_refused(const char *text, const char *start, const char *part)
{
    weir_chain *chain = NULL;
    if (weir_config_parse(text, strlen(text), "c.yaml", NULL, &chain) != WEIR_E_CHAIN)
        fail_msg("not refused as a chain: %s", text);
    assert_null(chain);
    const char *detail = weir_err_detail();
    if (strncmp(detail, start, strlen(start)) != 0 || strstr(detail, part) == NULL)
        fail_msg("%s\nfound:  %s\nwanted: %s ... %s", text, detail, start, part);
    assert_null(strchr(detail, '\n'));
    assert_null(strstr(detail + 1, "c.yaml")); /* its place once, not twice */
}

static void a_chain_is_a_list_or_a_map(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "chain:\n  - abs\n  - log: {}\n",
        "- abs: null\n- log: ~\n",
        "[abs, {log: {base: 2}}]",
        "{\"chain\": [{\"abs\": {}}, {\"log\": {\"base\": 2.0}}]}",
        "- abs:\n- log:\n    base: 2\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        weir_chain *chain = parse(texts[i], NULL);
        plan(chain);
        assert_int_equal(weir_chain_node_count(chain), 2);
        assert_int_equal(weir_chain_output_count(chain), 1);
        weir_chain_destroy(chain);
    }
}

static void an_empty_list_passes_its_input_through(void **state)
{
    (void)state;
    weir_chain *chain = parse("chain: []\n", NULL);
    plan(chain);
    assert_int_equal(weir_chain_node_count(chain), 0);
    assert_int_equal(weir_chain_output_count(chain), 1);
    assert_int_equal(weir_spec_columns(weir_chain_output_spec(chain, 0)), 4);
    weir_chain_destroy(chain);
}

static void splits_nest_and_their_names_are_joined(void **state)
{
    (void)state;
    weir_chain *chain = parse("- abs\n"
                              "- split:\n"
                              "    raw: []\n"
                              "    power:\n"
                              "      - pow: {exponent: 2}\n"
                              "      - split: {log: [log], slow: [{downsample: {factor: 3}}]}\n",
                              NULL);
    plan(chain);
    assert_int_equal(weir_chain_node_count(chain), 4);
    assert_int_equal(weir_chain_output_count(chain), 3);
    assert_string_equal(weir_chain_output_name(chain, 0), "raw");
    assert_string_equal(weir_chain_output_name(chain, 1), "power.log");
    assert_string_equal(weir_chain_output_name(chain, 2), "power.slow");
    assert_true(weir_chain_output_spec(chain, 0)->rate_hz == 30000);
    assert_true(weir_chain_output_spec(chain, 2)->rate_hz == 10000);
    weir_chain_destroy(chain);
}

static void check_outputs(const char *text, size_t nodes, const char *expected)
{
    char found[256] = "";
    weir_chain *chain = parse(text, NULL);
    plan(chain);
    assert_int_equal(weir_chain_node_count(chain), nodes);
    for (size_t i = 0; i < weir_chain_output_count(chain); i++) {
        size_t length = strlen(found);
        snprintf(found + length, sizeof found - length, "%s%s", i > 0 ? " " : "",
                 weir_chain_output_name(chain, i));
    }
    assert_string_equal(found, expected);
    weir_chain_destroy(chain);
}

static void a_unit_after_a_split_joins_its_branches(void **state)
{
    (void)state;
    check_outputs("- split: {raw: [], slow: [ewma: {}]}\n- difference: {inputs: [raw, slow]}\n", 2,
                  "difference");
    check_outputs("- split: {raw: [], slow: [ewma: {}]}\n- difference\n- log\n- abs\n", 4, "abs");
    /* a branch that is not joined stays an output, in the file's order; the last unit names the
     * joined one */
    check_outputs("- split: {raw: [], x: [abs], y: [log], z: [log: {base: 2}]}\n"
                  "- add: {inputs: [z, raw]}\n- abs\n",
                  5, "x y abs");
    /* splits in branches, and one after the other */
    check_outputs("- split:\n"
                  "    a:\n"
                  "      - split: {p: [abs], q: [log], r: [log]}\n"
                  "      - add: {inputs: [p, q]}\n"
                  "    b: []\n"
                  "- difference: {inputs: [b, a]}\n"
                  "- split: {c: [abs], d: []}\n"
                  "- add\n",
                  7, "a.r add");
    /* joined, and split again to the end */
    check_outputs("- split: {a: [], b: [abs]}\n- add\n- split: {c: [abs], d: []}\n", 3, "c d");
}

/* Identifies each input by its values. */
static weir_err keep(void *user, const weir_message *block)
{
    *(float *)user = *(const float *)block->data;
    return WEIR_OK;
}

static void inputs_keep_their_order(void **state)
{
    (void)state;
    static const struct {
        const char *inputs;
        float value;
    } cases[] = {{"", -12}, {"{inputs: [a, b]}", -12}, {"{inputs: [b, a]}", 12}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[128];
        snprintf(text, sizeof text, "- split: {a: [], b: [pow: {exponent: 2}]}\n- difference: %s\n",
                 cases[i].inputs);
        weir_chain *chain = parse(text, NULL);
        const weir_plan *planned = NULL;
        weir_spec spec = weir_spec_make(WEIR_F32, 100, 1, NULL, NULL);
        assert_int_equal(weir_chain_plan(chain, &spec, &planned), WEIR_OK);
        float in = 4, out = 0;
        weir_message message = {
            .spec = &spec, .data = &in, .frames = 1, .first_index = WEIR_INDEX_NEXT};
        assert_int_equal(weir_chain_push(chain, &message, keep, &out), WEIR_OK);
        assert_true(out == cases[i].value);
        weir_chain_destroy(chain);
    }
}

/* M8: flag, file, environment, default. */
static void a_flag_goes_before_the_file(void **state)
{
    (void)state;
    const char *file = "{memory_limit: 64 MiB, tile: 128, gap_tolerance: 2 ms, chain: [abs]}";
    assert_int_equal(setenv("WEIR_MEMORY_LIMIT", "48M", 1), 0);

    weir_chain *chain = parse(file, NULL);
    const weir_plan *planned = plan(chain);
    assert_int_equal(planned->memory_limit_bytes, 64 << 20);
    assert_int_equal(planned->tile_frames, 128);
    assert_true(weir_chain_gap_tolerance(chain) == 2e-3);
    weir_chain_destroy(chain);

    weir_chain_options flags = weir_chain_options_default();
    flags.memory_limit = 32 << 20;
    flags.tile_frames = 64;
    chain = parse(file, &flags);
    planned = plan(chain);
    assert_int_equal(planned->memory_limit_bytes, 32 << 20);
    assert_int_equal(planned->tile_frames, 64);
    weir_chain_destroy(chain);

    chain = parse("{memory_limit: null, chain: [abs]}", NULL);
    assert_int_equal(plan(chain)->memory_limit_bytes, 48 << 20);
    weir_chain_destroy(chain);

    chain = parse("{memory_limit: none, chain: [abs]}", NULL);
    assert_true(plan(chain)->memory_limit_bytes == WEIR_NO_LIMIT);
    weir_chain_destroy(chain);
    assert_int_equal(unsetenv("WEIR_MEMORY_LIMIT"), 0);
}

static void limits_take_numbers_and_quantities(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t limit;
    } cases[] = {{"67108864", 67108864},
                 {"64M", 67108864},
                 {"\"64 MB\"", 64000000},
                 {"0x4000000", 67108864},
                 {"1.5e6", 1500000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[128];
        snprintf(text, sizeof text, "{memory_limit: %s, tile: auto, chain: [abs]}", cases[i].text);
        weir_chain *chain = parse(text, NULL);
        assert_int_equal(plan(chain)->memory_limit_bytes, cases[i].limit);
        weir_chain_destroy(chain);
    }
}

static void mistakes_are_one_line_with_a_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *start, *part;
    } cases[] = {
        {"", "c.yaml:1:1: ", "empty"},
        {"# nothing\n", "c.yaml:1:1: ", "empty"},
        {"abs", "c.yaml:1:1: ", "'abs'"},
        {"{}", "c.yaml:1:1: ", "chain:"},
        {"memory_limit: 1M\n", "c.yaml:1:1: ", "is missing"},
        {"chain:\n", "c.yaml:1:1: chain: ", "nothing"},
        {"chain: {abs: {}}\n", "c.yaml:1:1: chain: ", "a map"},
        {"chain: abs\n", "c.yaml:1:1: chain: ", "abs"},
        {"memory_limti: 1M\nchain: [abs]\n", "c.yaml:1:1: ", "did you mean memory_limit?"},
        {"chain: [abs]\nbutterworth: {}\n", "c.yaml:2:1: ", "unit 'butterworth' as a key"},
        {"memory_limit: 10 Hz\nchain: [abs]\n", "c.yaml:1:1: memory_limit: ", "Hz"},
        {"memory_limit: [1]\nchain: [abs]\n", "c.yaml:1:1: memory_limit: ", "64 MiB"},
        {"memory_limit: -1\nchain: [abs]\n", "c.yaml:1:1: memory_limit: ", "-1"},
        {"memory_limit: true\nchain: [abs]\n", "c.yaml:1:1: memory_limit: ", "64 MiB"},
        {"tile: some\nchain: [abs]\n", "c.yaml:1:1: tile: ", "16777216, or auto"},
        {"tile: 0\nchain: [abs]\n", "c.yaml:1:1: tile: ", "0"},
        {"tile: 1.5\nchain: [abs]\n", "c.yaml:1:1: tile: ", "whole"},
        {"threads: 0\nchain: [abs]\n", "c.yaml:1:1: threads: ", "from 1"},
        {"threads: .nan\nchain: [abs]\n", "c.yaml:1:1: threads: ", "from 1"},
        {"threads: 65\nchain: [abs]\n", "c.yaml:1:1: threads: ", "from 1 to 64"},
        {"gap_tolerance: 3 Hz\nchain: [abs]\n", "c.yaml:1:1: gap_tolerance: ", "Hz"},
        {"gap_tolerance: -1\nchain: [abs]\n", "c.yaml:1:1: gap_tolerance: ", "-1"},
        {"chain:\n  - butterwort: {}\n", "c.yaml:2:5: ", "butterworth"},
        {"chain:\n  - abs\n  - butterwort\n", "c.yaml:3:5: ", "butterworth"},
        {"- pow: {exponemt: 2}\n", "c.yaml:1:9: pow: ", "exponent"},
        {"- pow: {on_gpa: hold}\n", "c.yaml:1:9: pow: ", "did you mean 'on_gap'"},
        {"- butterworth: {ordr: 4}\n", "c.yaml:1:17: butterworth: ", " on_gap"},
        {"- abs: {x: 4}\n", "c.yaml:1:9: abs: ", "allowed: on_gap"},
        {"- binned_aggregate: {bin_duration: 10 Hz}\n", "c.yaml:1:22: binned_aggregate: ", "Hz"},
        {"- pow: {exponent: .inf}\n", "c.yaml:1:9: pow: ", "finite"},
        {"- pow: {exponent: 1e999}\n", "c.yaml:1:9: pow: ", "finite"},
        {"- pow: {exponent: 2, exponent: 3}\n", "c.yaml:1:22: ", "line 1, column 9"},
        {"- pow: 2\n", "c.yaml:1:3: pow: ", "expected a map"},
        {"- pow: [2]\n", "c.yaml:1:3: pow: ", "a list"},
        {"- abs:\n  log:\n", "c.yaml:2:3: ", "one unit"},
        {"- {}\n", "c.yaml:1:3: ", "an empty map"},
        {"- 3\n", "c.yaml:1:3: ", "'3'"},
        {"- [abs]\n", "c.yaml:1:3: ", "a list"},
        {"tile: none\nchain: [abs]\n", "c.yaml:1:1: tile: ", "or auto"},
        {"- split: {a: [abs]}\n- abs\n", "c.yaml:2:3: ", "found abs after a split"},
        {"- split: {a: [abs]}\n- abs: {}\n", "c.yaml:2:3: ", "(add, difference, merge, concat)"},
        {"- split: {a: [abs]}\n- split: {b: [abs]}\n",
         "c.yaml:2:3: ", "found a split after a split"},
        {"- split: {a: [], b: []}\n- ad: {}\n", "c.yaml:2:3: ", "nearest is 'add'"},
        {"- split: {a: []}\n- add\n", "c.yaml:2:3: add: ", "found 1 input; 2 to 8"},
        {"- split: {a: [], b: []}\n- add: {inputs: [a]}\n", "c.yaml:2:9: add: ", "found 1 input;"},
        {"- split: {a: [], b: []}\n- add: {inputs: a}\n",
         "c.yaml:2:9: add: inputs: ", "as in [a, b]"},
        {"- split: {a: [], b: []}\n- add: {inputs: [a, c]}\n",
         "c.yaml:2:21: add: inputs: ", "'c'; "},
        {"- split: {a: [], b: []}\n- add: {inputs: [a, [b]]}\n",
         "c.yaml:2:21: ", "preceding split: a, b"},
        {"- split: {a: [], b: []}\n- add: {inputs: [a, b], x: 1}\n",
         "c.yaml:2:25: add: x: ", "no such setting"},
        {"- split: {a: [], b: []}\n- add: 3\n", "c.yaml:2:3: add: ", "expected a map"},
        {"- split:\n    a: [{split: {c: [abs], d: [log]}}]\n    b: []\n- add\n",
         "c.yaml:2:5: a: ", "cannot be joined"},
        {"- split: {a: [abs], difference: [], b: [log]}\n- difference: {inputs: [a, b]}\n",
         "c.yaml:2:3: output difference: ", "already"},
        {"- abs\n- split: {a: [], b: []}\n", "c.yaml:2:18: output b: ", "the output a already"},
        {"- add\n", "c.yaml:1:3: add: ", "place it after a split"},
        {"- abs: {inputs: [a]}\n", "c.yaml:1:9: abs: ", "inputs"},
        {"- split: [abs]\n", "c.yaml:1:3: split: ", "expected a map"},
        {"- split: {}\n", "c.yaml:1:3: split: ", "expected a map"},
        {"- split: {a/b: [abs]}\n", "c.yaml:1:11: split: ", "'a/b'"},
        {"- split: {a: abs}\n", "c.yaml:1:11: a: ", "a list of units"},
        {"- split: {a: [abs], a: [log]}\n", "c.yaml:1:21: ", "'a' again"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_refused(cases[i].text, cases[i].start, cases[i].part);
}

static void a_cutoff_above_half_the_rate_has_its_place(void **state)
{
    (void)state;
    weir_chain *chain = parse("- abs\n- butterworth:\n    order: 4\n    cutoff: 20 kHz\n", NULL);
    weir_spec spec = weir_spec_make(WEIR_F32, 30000, 4, NULL, NULL);
    const weir_plan *planned = NULL;
    assert_int_equal(weir_chain_plan(chain, &spec, &planned), WEIR_E_CHAIN);
    assert_true(strncmp(weir_err_detail(), "c.yaml:4:5: butterworth: cutoff: ", 33) == 0);
    weir_chain_destroy(chain);
}

static void files_are_read_or_named(void **state)
{
    (void)state;
    char path[] = "/tmp/weir_config_XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, "[abs]", 5), 5);
    close(file);
    weir_chain *chain = NULL;
    assert_int_equal(weir_config_load(path, NULL, &chain), WEIR_OK);
    weir_chain_destroy(chain);
    unlink(path);
    chain = NULL;
    assert_int_equal(weir_config_load(path, NULL, &chain), WEIR_E_IO);
    assert_non_null(strstr(weir_err_detail(), path));
    assert_int_equal(weir_config_load("/tmp", NULL, &chain), WEIR_E_IO);
    assert_non_null(strstr(weir_err_detail(), "/tmp"));
    assert_null(chain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_is_a_list_or_a_map),
        cmocka_unit_test(an_empty_list_passes_its_input_through),
        cmocka_unit_test(splits_nest_and_their_names_are_joined),
        cmocka_unit_test(a_unit_after_a_split_joins_its_branches),
        cmocka_unit_test(inputs_keep_their_order),
        cmocka_unit_test(a_flag_goes_before_the_file),
        cmocka_unit_test(limits_take_numbers_and_quantities),
        cmocka_unit_test(mistakes_are_one_line_with_a_place),
        cmocka_unit_test(a_cutoff_above_half_the_rate_has_its_place),
        cmocka_unit_test(files_are_read_or_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
