/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <weir/weir.h>

static void must(weir_err err)
{
    if (err != WEIR_OK) {
        fprintf(stderr, "%s: %s\n", weir_err_text(err), weir_err_detail());
        exit(weir_err_exit_status(err));
    }
}

static weir_err show(void *user, const weir_message *block) /* block: valid only during the call */
{
    for (size_t i = 0; i < block->frames; i++)
        printf("%s of channel 0: %.4f\n", (const char *)user, ((const float *)block->data)[i * 64]);
    return WEIR_OK;
}

int main(void)
{
    weir_chain_options options = weir_chain_options_default();
    options.memory_limit = 4 << 20; /* never more than 4 MiB, whatever the input */
    weir_chain *chain;
    must(weir_chain_create(&options, &chain));
    int node = WEIR_CHAIN_INPUT;
    weir_value band[] = {weir_number("order", 4), weir_text("cuton", "300 Hz"),
                         weir_text("cutoff", "6 kHz")};
    weir_value bins[] = {weir_text("bin_duration", "10 ms"), weir_text("operation", "std")};
    must(weir_chain_add(chain, node, "butterworth", band, 3, NULL, &node));
    must(weir_chain_add(chain, node, "binned_aggregate", bins, 2, NULL, &node));

    weir_spec spec = weir_spec_make(WEIR_F32, 30000, 64, NULL, NULL); /* [frames x 64] at 30 kHz */
    const weir_plan *plan;
    must(weir_chain_plan(chain, &spec, &plan));
    printf("planned: %llu bytes\n", (unsigned long long)plan->total_bytes);

    static float samples[1000 * 64];
    for (int i = 0; i < 1000 * 64; i++)
        samples[i] = (float)rand() / (float)RAND_MAX;
    weir_message message = {
        .spec = &spec, .data = samples, .frames = 1000, .first_index = WEIR_INDEX_NEXT};
    must(weir_chain_push(chain, &message, show, "deviation"));
    weir_chain_destroy(chain);
    return 0;
}
