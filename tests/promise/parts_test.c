/* SPDX-License-Identifier: MIT
 *
 * parts_test.c: a composite unit equals its parts: the same bits as when they are added one by one,
 * names in plan and errors, settings while running; and a part's error leaves the chain as it was.
 */
#include "chain/chain.h"
#include "conform/stream.h"

static weir_value bandpass_items[3], lowpass_items[2], downsample_items[1], whole[3], square[1];

static void make_settings(void)
{
    bandpass_items[0] = weir_number("order", 4);
    bandpass_items[1] = weir_text("cuton", "300 Hz");
    bandpass_items[2] = weir_text("cutoff", "3 kHz");
    lowpass_items[0] = weir_number("order", 2);
    lowpass_items[1] = weir_text("cutoff", "200 Hz");
    downsample_items[0] = weir_number("factor", 3);
    whole[0] = weir_map_of("bandpass", bandpass_items, 3);
    whole[1] = weir_map_of("lowpass", lowpass_items, 2);
    whole[2] = weir_map_of("downsample", downsample_items, 1);
    square[0] = weir_number("exponent", 2);
}

static weir_chain *new_chain(void)
{
    weir_chain *chain = NULL;
    test_ok(weir_chain_create(NULL, &chain));
    return chain;
}

static weir_chain *make_whole(int *ret_node)
{
    weir_chain *chain = new_chain();
    test_ok(
        weir_chain_add(chain, WEIR_CHAIN_INPUT, "square_law_bandpower", whole, 3, NULL, ret_node));
    return chain;
}

static weir_chain *make_parts(int *ret_lowpass)
{
    weir_chain *chain = new_chain();
    int node = WEIR_CHAIN_INPUT;
    test_ok(weir_chain_add(chain, node, "butterworth", bandpass_items, 3, NULL, &node));
    test_ok(weir_chain_add(chain, node, "pow", square, 1, NULL, &node));
    test_ok(weir_chain_add(chain, node, "butterworth", lowpass_items, 2, NULL, ret_lowpass));
    test_ok(weir_chain_add(chain, *ret_lowpass, "downsample", downsample_items, 1, NULL, &node));
    return chain;
}

static test_output run(weir_chain *chain, int node, const char *key, const test_signal *signal)
{
    test_output output = {0};
    test_random random = {3};
    const weir_plan *plan = NULL;
    weir_value cutoff = weir_text(key, "90 Hz");
    test_ok(weir_chain_plan(chain, &signal->spec, &plan));
    test_push(chain, signal, 0, 1000, 300, 0, 0, &random, &output);
    test_ok(weir_chain_set(chain, node, &cutoff));
    test_push(chain, signal, 1000, signal->frames, 300, 0, 0, &random, &output);
    return output;
}

static void same_bits_as_its_parts(void **state)
{
    (void)state;
    weir_spec spec = weir_spec_make(WEIR_F32, 30000.0, 7, NULL, NULL);
    test_signal signal = test_signal_make(spec, 2000, 11);
    int node = 0, lowpass = 0;
    weir_chain *a = make_whole(&node), *b = make_parts(&lowpass);
    assert_int_equal(node, 3);
    test_output of_whole = run(a, node, "lowpass.cutoff", &signal);
    test_output of_parts = run(b, lowpass, "cutoff", &signal);
    assert_true(of_whole.frames > 600);
    test_same(&of_whole, &of_parts, "a unit and its parts");
    const weir_plan *plan = NULL;
    weir_chain *planned = make_whole(&node);
    test_ok(weir_chain_plan(planned, &spec, &plan));
    static const char *const names[] = {
        "1 square_law_bandpower.bandpass", "2 square_law_bandpower.square",
        "3 square_law_bandpower.lowpass", "4 square_law_bandpower.downsample"};
    for (size_t i = 0, unit = 0; i < plan->part_count; i++) {
        const weir_plan_part *part = weir_plan_part_at(plan, i);
        if (strcmp(part->kind, "unit") == 0) {
            assert_string_equal(part->name, names[unit]);
            unit++;
        }
    }
    weir_chain_destroy(planned);
    weir_unit_report report = {.report_size = sizeof report};
    test_ok(weir_chain_node_report(a, 2, &report));
    assert_string_equal(report.name, "square_law_bandpower.lowpass");
    test_output_free(&of_whole);
    test_output_free(&of_parts);
    free(signal.data);
    weir_chain_destroy(a);
    weir_chain_destroy(b);
}

static void check_detail(weir_err err, const char *expected)
{
    assert_int_equal(err, WEIR_E_CHAIN);
    if (strstr(weir_err_detail(), expected) == NULL) {
        fail_msg("'%s', expected '%s'", weir_err_detail(), expected);
    }
}

static void errors_name_unit_and_setting(void **state)
{
    (void)state;
    weir_spec spec = weir_spec_make(WEIR_F32, 30000.0, 7, NULL, NULL);
    const weir_plan *plan = NULL;
    weir_chain_options options = weir_chain_options_default();
    options.name = "c.yaml";
    weir_chain *chain = NULL;
    test_ok(weir_chain_create(&options, &chain));
    int node = 0;
    weir_value settings[3], mark = {.line = 2, .column = 5};
    memcpy(settings, whole, sizeof settings);
    settings[1] = weir_number("lowpass", 3);
    settings[1].line = 4;
    settings[1].column = 7;
    check_detail(weir_chain_add(chain, -1, "square_law_bandpower", settings, 3, &mark, &node),
                 "c.yaml:4:7: square_law_bandpower: lowpass: found");
    weir_value items[2] = {weir_number("order", 2), weir_text("cutof", "3 Hz")};
    items[1].line = 5;
    items[1].column = 9;
    settings[1] = weir_map_of("lowpass", items, 2);
    check_detail(weir_chain_add(chain, -1, "square_law_bandpower", settings, 3, &mark, &node),
                 "c.yaml:5:9: square_law_bandpower.lowpass: cutof: no such setting");
    assert_int_equal(weir_chain_node_count(chain), 0);
    items[1].key = "cutoff";
    items[1].text = "20 kHz";
    test_ok(weir_chain_add(chain, -1, "square_law_bandpower", settings, 3, &mark, &node));
    assert_int_equal(weir_chain_node_count(chain), 4);
    check_detail(weir_chain_plan(chain, &spec, &plan),
                 "c.yaml:5:9: square_law_bandpower.lowpass: cutoff: 20000 Hz is above");
    weir_chain_destroy(chain);
    chain = make_whole(&node);
    test_ok(weir_chain_plan(chain, &spec, &plan));
    weir_value order = weir_number("lowpass.order", 3);
    check_detail(weir_chain_set(chain, node, &order),
                 "square_law_bandpower.lowpass: order: cannot be changed while the chain runs");
    weir_value none = weir_number("lowpas.cutoff", 3);
    check_detail(weir_chain_set(chain, node, &none),
                 "square_law_bandpower.downsample: no setting 'lowpas.cutoff'");
    weir_chain_destroy(chain);
}

int main(void)
{
    make_settings();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits_as_its_parts),
        cmocka_unit_test(errors_name_unit_and_setting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
