/* SPDX-License-Identifier: MIT
 *
 * random_test.c: against numbers that NumPy 2's default_rng gave.
 */
#include "dsp/random.h"

#include <math.h>

#include "testing.h"

static void numbers_are_numpys(void **state)
{
    (void)state;
    static const struct {
        uint64_t seed, raw[3];
        double uniform, normal[4];
    } cases[] = {
        {0,
         {UINT64_C(11749869230777074271), UINT64_C(4976686463289251617),
          UINT64_C(755828109848996024)},
         0x1.461fd79fb3850p-1,
         {0x1.017ed89db8441p-3, -0x1.0e8cfe9bd45ccp-3, 0x1.47e57a468b06dp-1, 0x1.adabbec84d4f0p-4}},
        {12345,
         {UINT64_C(4193609425186963869), UINT64_C(5843160025838961886),
          UINT64_C(14708796524633321433)},
         0x1.d1958c6d97fe0p-3,
         {-0x1.6c7fcc2ecc744p+0, 0x1.4383b54eb0649p+0, -0x1.bdc76014d359ep-1,
          -0x1.0964b5602ac3cp-2}},
        {UINT64_C(1099511627783),
         {UINT64_C(15307346044642009514), UINT64_C(4709548916763817589),
          UINT64_C(2836937976252648324)},
         0x1.a8dd3c4069bc4p-1,
         {-0x1.2c754dbb34494p+0, 0x1.fc0e36b2c05eap-5, -0x1.7088c449fa1d1p-2,
          -0x1.469ae0e4ca706p-1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        weiri_random random;
        double normal[4];
        weiri_random_seed(&random, cases[i].seed);
        for (size_t k = 0; k < 3; k++) {
            assert_true(weiri_random_next(&random) == cases[i].raw[k]);
        }
        weiri_random_seed(&random, cases[i].seed);
        assert_true(weiri_random_uniform(&random) == cases[i].uniform);
        weiri_random_seed(&random, cases[i].seed);
        weiri_random_normals(&random, normal, 4);
        for (size_t k = 0; k < 4; k++) {
            assert_true(fabs(normal[k] - cases[i].normal[k]) < 1e-14);
        }
    }
}

/* Of 20000 numbers some are in the tail and some beside a layer: each takes more draws, so the last tells. */
static void rare_draws_are_numpys(void **state)
{
    (void)state;
    static double numbers[20000];
    weiri_random random;
    weiri_random_seed(&random, 3);
    weiri_random_normals(&random, numbers, 20000);
    assert_true(fabs(numbers[5970] - 4.036861678844423) < 1e-13);
    assert_true(fabs(numbers[16548] + 3.7411627382527723) < 1e-13);
    assert_true(fabs(numbers[19999] + 0.260399015233995) < 1e-13);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_are_numpys),
                                       cmocka_unit_test(rare_draws_are_numpys)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
