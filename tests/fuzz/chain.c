/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a chain file: parsed, planned for a small stream, and if the plan is small pushed
 * once. Finds crashes, leaks and allocations with unchecked sizes; a memory limit is set as a flag,
 * so a chain that needs more must be refused.
 */
#include <weir/weir.h>

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static weir_err ignore(void *user, const weir_message *block)
{
    (void)user;
    (void)block;
    return WEIR_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static float samples[64][4];
    weir_chain_options flags = weir_chain_options_default();
    flags.memory_limit = 16 << 20;
    weir_chain *chain = NULL;
    if (weir_config_parse((const char *)data, size, "fuzz", &flags, &chain) != WEIR_OK)
        return 0;
    weir_spec spec = weir_spec_make(WEIR_F32, 1000, 4, NULL, NULL);
    const weir_plan *plan = NULL;
    if (weir_chain_plan(chain, &spec, &plan) == WEIR_OK && plan->fits) {
        weir_message message = {
            .spec = &spec, .data = samples, .frames = 64, .first_index = WEIR_INDEX_NEXT};
        weir_err err = weir_chain_push(chain, &message, ignore, NULL);
        (void)err;
    }
    weir_chain_destroy(chain);
    return 0;
}
