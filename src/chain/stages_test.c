/* SPDX-License-Identifier: MIT
 *
 * stages_test.c: most frames that come out of some, which edges and strips are sized by. Exact: a bin that is
 * shorter than a seventh of the tile by 1e-12 has eight ends in a tile once in years.
 */
#include "chain/chain.h"

#include <math.h>

#include "testing.h"

static void frames_out_are_never_too_few(void **state)
{
    (void)state;
    double seventh = 4096.0 / 7.0;
    assert_int_equal(weiri_frames_out(4096, seventh * (1.0 - 1e-12)), 8);
    assert_int_equal(weiri_frames_out(4096, seventh * (1.0 + 1e-12)), 7);
    assert_int_equal(weiri_frames_out(300, 300.0), 1);
    assert_int_equal(weiri_frames_out(301, 300.0), 2);
    assert_int_equal(weiri_frames_out(1, 600.0), 1);
    assert_int_equal(weiri_frames_out(0, 600.0), 1);
    assert_int_equal(weiri_frames_out(100, 0.5), 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(frames_out_are_never_too_few)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
