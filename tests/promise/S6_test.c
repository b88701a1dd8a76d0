/* SPDX-License-Identifier: MIT
 *
 * S6_test.c: the processor's mode for subnormal numbers is weir's own while units run and the
 * caller's in every callback and on return: with one block per push or many, after an error of the
 * sink, with any mode of the caller. tests/conform tests that states do not stay in subnormal
 * numbers.
 */
#include <fenv.h>
#include <math.h>
#include <string.h>

#include <weir/weir.h>

#include "testing.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#define FTZ_AND_DAZ 0x8040u
#define FLAGS       0x3fu /* no mode was observed yet */

typedef struct seen {
    unsigned mode;
    size_t blocks, fails_at;
} seen;

static weir_err look(void *user, const weir_message *block)
{
    seen *at = user;
    assert_int_equal(_mm_getcsr() & ~FLAGS, at->mode & ~FLAGS);
    assert_true(block->frames > 0);
    return ++at->blocks == at->fails_at ? WEIR_E_IO : WEIR_OK;
}

static weir_chain *make_chain(const weir_spec *spec)
{
    weir_chain_options options = weir_chain_options_default();
    weir_value half[] = {weir_number("scale", 0.5)};
    weir_chain *chain = NULL;
    const weir_plan *plan = NULL;
    int node = WEIR_CHAIN_INPUT, left = 0, right = 0;
    options.tile_frames = 16;
    assert_ok(weir_chain_create(&options, &chain));
    assert_ok(weir_chain_add(chain, node, "scale", half, 1, NULL, &node));
    assert_ok(weir_chain_add(chain, node, "abs", NULL, 0, NULL, &left));
    assert_ok(weir_chain_add(chain, node, "scale", half, 1, NULL, &right));
    assert_ok(weir_chain_plan(chain, spec, &plan));
    return chain;
}

static void check(unsigned mode, size_t frames, size_t fails_at, size_t blocks)
{
    static float rows[64 * 3];
    weir_spec spec = weir_spec_make(WEIR_F32, 1000, 3, NULL, NULL);
    weir_chain *chain = make_chain(&spec);
    unsigned before = _mm_getcsr();
    seen at = {.mode = mode, .fails_at = fails_at};
    weir_message message = {
        .spec = &spec, .data = rows, .frames = frames, .first_index = WEIR_INDEX_NEXT};
    for (size_t i = 0; i < 64 * 3; i++) {
        rows[i] = 0x1p-126f; /* half of it is subnormal */
    }
    _mm_setcsr(mode);
    weir_err err = weir_chain_push(chain, &message, look, &at);
    unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    assert_int_equal(err, fails_at == 0 ? WEIR_OK : WEIR_E_IO);
    assert_int_equal(after & ~FLAGS, mode & ~FLAGS);
    assert_int_equal(at.blocks, blocks);
    weir_chain_destroy(chain);
}

static void callers_mode(void **state)
{
    (void)state;
    unsigned plain = _mm_getcsr() & ~FTZ_AND_DAZ;
    const unsigned modes[] = {plain, plain | 0x8000u, plain | FTZ_AND_DAZ, plain | 0x6000u,
                              plain & ~0x1f80u};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        check(modes[i], 1, 0, 2);
        check(modes[i], 64, 0, 8); /* two outputs, four tiles */
        check(modes[i], 64, 1, 1);
        check(modes[i], 64, 4, 4);
        check(modes[i], 0, 0, 0);
    }
}

typedef struct values {
    float first;
} values;

static weir_err keep(void *user, const weir_message *block)
{
    ((values *)user)->first += fabsf(((const float *)block->data)[0]);
    return WEIR_OK;
}

/* After the first block the sink's mode stays until units run: they must not run in it. */
static void own_mode_between_blocks(void **state)
{
    (void)state;
    static float rows[64 * 3];
    weir_spec spec = weir_spec_make(WEIR_F32, 1000, 3, NULL, NULL);
    weir_chain *chain = make_chain(&spec);
    values sum = {0};
    weir_message message = {
        .spec = &spec, .data = rows, .frames = 64, .first_index = WEIR_INDEX_NEXT};
    for (size_t i = 0; i < 64 * 3; i++) {
        rows[i] = 0x1p-126f;
    }
    assert_ok(weir_chain_push(chain, &message, keep, &sum));
    assert_true(sum.first == 0); /* flushed in each tile and each branch */
    weir_chain_destroy(chain);
}

/* The bits of all output. */
static weir_err keep_all(void *user, const weir_message *block)
{
    const unsigned char *bytes = block->data;
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < block->frames * (size_t)weir_spec_frame_bytes(block->spec); i++) {
        hash = (hash ^ bytes[i]) * 16777619u;
    }
    uint32_t sum = 0;
    memcpy(&sum, user, sizeof sum);
    sum = sum * 31 + hash;
    memcpy(user, &sum, sizeof sum);
    return WEIR_OK;
}

/* A caller whose own arithmetic traps, or rounds differently, gets the same values and no
 * SIGFPE: a logarithm of 0, a square that is too large, filters designed meanwhile. */
static void traps_and_rounding(void **state)
{
    (void)state;
    static float rows[64 * 3], seen_plain[2], out[2];
    for (size_t i = 0; i < 64 * 3; i++) {
        rows[i] = i < 3 ? 0 : 3e38f;
    }
    weir_spec spec = weir_spec_make(WEIR_F32, 1000, 3, NULL, NULL);
    static const int rounding[] = {FE_TONEAREST, FE_TONEAREST, FE_UPWARD, FE_TOWARDZERO};
    for (size_t i = 0; i < 4; i++) {
        weir_chain *chain = NULL;
        const weir_plan *plan = NULL;
        weir_value scale[] = {weir_number("scale", 0.1)};
        weir_value filter[] = {weir_number("order", 4), weir_number("cutoff", 1e-3)};
        int node = WEIR_CHAIN_INPUT, squares = 0;
        weir_message message = {
            .spec = &spec, .data = rows, .frames = 64, .first_index = WEIR_INDEX_NEXT};
        fenv_t before;
        fegetenv(&before);
        if (i > 0) {
            feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW);
            fesetround(rounding[i]);
        }
        assert_ok(weir_chain_create(NULL, &chain));
        assert_ok(weir_chain_add(chain, node, "scale", scale, 1, NULL, &node));
        assert_ok(weir_chain_add(chain, node, "log", NULL, 0, NULL, &squares));
        assert_ok(weir_chain_add(chain, node, "butterworth", filter, 2, NULL, &squares));
        assert_ok(weir_chain_plan(chain, &spec, &plan));
        values sum = {0};
        assert_ok(weir_chain_push(chain, &message, keep_all, &sum));
        assert_int_equal(fegetround(), rounding[i]);
        assert_int_equal(fegetexcept() != 0, i > 0);
        fesetenv(&before);
        weir_chain_destroy(chain);
        memcpy(i == 0 ? seen_plain : out, &sum, sizeof sum);
        assert_true(i == 0 || memcmp(seen_plain, out, sizeof sum) == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(traps_and_rounding),
        cmocka_unit_test(callers_mode),
        cmocka_unit_test(own_mode_between_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
    puts("skipped: S6: modes are looked at on x86-64 only");
    return 0;
}
#endif
