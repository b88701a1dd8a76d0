/* SPDX-License-Identifier: MIT
 *
 * Slabs of records: records are allocated from slabs in use, so that others become empty and can be
 * freed.
 */
#include "cache/records.h"
#include "testing.h"

#define PER_SLAB ((WEIRI_SLAB_BYTES - sizeof(weiri_slab)) / sizeof(weiri_record))

static _Alignas(64) unsigned char blocks[3][WEIRI_SLAB_BYTES];

static void a_slab_is_full_of_records(void **state)
{
    (void)state;
    weiri_records records;
    weiri_records_init(&records, NULL);
    assert_null(weiri_records_get(&records));
    weiri_records_add(&records, blocks[0], WEIRI_SLAB_BYTES, 4096, true);
    assert_true(records.free_count == PER_SLAB && PER_SLAB >= 32);
    weiri_record *got[PER_SLAB];
    for (size_t i = 0; i < PER_SLAB; i++) {
        got[i] = weiri_records_get(&records);
        assert_true(got[i] != NULL && got[i]->state == WEIRI_RECORD_TAKEN && got[i]->asked == 0);
        assert_true((unsigned char *)(got[i] + 1) <= blocks[0] + WEIRI_SLAB_BYTES);
        got[i]->asked = i;
    }
    assert_null(weiri_records_get(&records));
    for (size_t i = 0; i < PER_SLAB; i++) {
        assert_true(got[i]->asked == i); /* none overlaps another */
        weiri_records_put(&records, got[i]);
    }
    assert_true(records.free_count == PER_SLAB && records.used_count == 0);
    assert_null(weiri_records_trim(&records, 0)); /* built in: remains */
}

static void empty_slabs_go(void **state)
{
    (void)state;
    weiri_records records;
    weiri_record *got[3 * PER_SLAB];
    weiri_records_init(&records, NULL);
    for (size_t s = 0; s < 3; s++) {
        weiri_records_add(&records, blocks[s], WEIRI_SLAB_BYTES, 4096, s == 0);
    }
    for (size_t i = 0; i < 3 * PER_SLAB; i++) {
        got[i] = weiri_records_get(&records);
        assert_non_null(got[i]);
    }
    assert_null(weiri_records_trim(&records, 0));
    /* One record left in the second slab keeps it; the third is empty. */
    weiri_record *kept = NULL;
    for (size_t i = 0; i < 3 * PER_SLAB; i++) {
        bool in_second = got[i]->slab == (weiri_slab *)(void *)blocks[1];
        if (in_second && kept == NULL) {
            kept = got[i];
        } else {
            weiri_records_put(&records, got[i]);
        }
    }
    assert_null(weiri_records_trim(&records, 2 * PER_SLAB)); /* fewer would remain */
    assert_ptr_equal(weiri_records_trim(&records, PER_SLAB), blocks[2]);
    assert_null(weiri_records_trim(&records, 0));
    assert_true(records.free_count == 2 * PER_SLAB - 1);
    weiri_records_put(&records, kept);
    assert_ptr_equal(weiri_records_trim(&records, PER_SLAB), blocks[1]);
    assert_true(records.free_count == PER_SLAB && records.slabs == records.last);
}

/* While few records are in use they stay in few slabs. */
static void records_stay_together(void **state)
{
    (void)state;
    weiri_records records;
    weiri_records_init(&records, NULL);
    for (size_t s = 0; s < 3; s++) {
        weiri_records_add(&records, blocks[s], WEIRI_SLAB_BYTES, 4096, s == 0);
    }
    for (int round = 0; round < 100; round++) {
        weiri_record *got[10];
        for (size_t i = 0; i < 10; i++) {
            got[i] = weiri_records_get(&records);
            assert_ptr_equal(got[i]->slab, blocks[0]);
        }
        for (size_t i = 0; i < 10; i++) {
            weiri_records_put(&records, got[(i * 7) % 10]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slab_is_full_of_records),
        cmocka_unit_test(empty_slabs_go),
        cmocka_unit_test(records_stay_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
