/* SPDX-License-Identifier: MIT
 *
 * The cost with many cached buffers: steps of the search are counted, not time.
 */
#include <string.h>

#include "cache/idle.h"
#include "testing.h"

enum { FEW = 1000, MANY = 100000, LOOKS = 2000 };

/* The search of weiri_tree_find, counting its steps. */
static size_t steps_to(const weiri_tree *tree, size_t bytes, weiri_record **ret_found)
{
    size_t steps = 0;
    weiri_record *best = NULL, *at = tree->root;
    while (at != NULL) {
        steps++;
        if (at->asked < bytes) {
            at = at->right;
        } else {
            best = at;
            at = at->left;
        }
    }
    *ret_found = best;
    return steps;
}

/* Mean number of steps of a search among n cached buffers of `sizes` different sizes. */
static double mean_steps(size_t n, size_t sizes, uint64_t *seed)
{
    weiri_record *records = calloc(n, sizeof *records), *found = NULL;
    assert_non_null(records);
    weiri_idle idle;
    memset(&idle, 0, sizeof idle);
    for (size_t i = 0; i < n; i++) { /* in order: a plain tree would become a list */
        records[i].asked = records[i].buffer.charged = 64 * (1 + i % sizes);
        weiri_idle_add(&idle, &records[i]);
    }
    assert_int_equal(weiri_idle_check(&idle, "test"), WEIR_OK);
    size_t steps = 0;
    for (int i = 0; i < LOOKS; i++) {
        size_t bytes = 1 + testing_random(seed) % (64 * sizes);
        steps += steps_to(&idle.tree, bytes, &found);
        assert_ptr_equal(weiri_tree_find(&idle.tree, bytes), found);
        assert_true(found->asked >= bytes && found->asked < bytes + 64);
        weiri_idle_remove(&idle, found); /* and inserted again, at another place among its equals */
        weiri_idle_add(&idle, found);
    }
    assert_int_equal(weiri_idle_check(&idle, "test"), WEIR_OK);
    free(records);
    return (double)steps / LOOKS;
}

static void a_search_is_a_few_steps(void **state)
{
    (void)state;
    uint64_t seed = testing_seed("idle");
    static const struct {
        size_t n, sizes;
        double most; /* 2 log2(n), and the tree's spread */
    } rows[] = {{FEW, FEW, 25}, {FEW, 7, 25}, {MANY, MANY, 42}, {MANY, 4000, 42}, {MANY, 7, 42}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double steps = mean_steps(rows[i].n, rows[i].sizes, &seed);
        printf("%zu idle of %zu sizes: %.1f steps\n", rows[i].n, rows[i].sizes, steps);
        assert_true(steps >= 3 && steps <= rows[i].most);
    }
}

/* A steady size is found in its stack: the tree is not touched, whatever it contains. */
static void the_steady_size_needs_no_search(void **state)
{
    (void)state;
    weiri_record *records = calloc(MANY, sizeof *records);
    assert_non_null(records);
    weiri_idle idle;
    weiri_front front;
    memset(&idle, 0, sizeof idle);
    memset(&front, 0, sizeof front);
    for (size_t i = 1; i < MANY; i++) {
        records[i].asked = records[i].buffer.charged = 64 * (1 + i % 4000);
        weiri_idle_add(&idle, &records[i]);
    }
    idle.front = &front;
    records[0].asked = records[0].buffer.charged = 307200;
    for (int i = 0; i < 100; i++) {
        weiri_record *root = idle.tree.root;
        uint32_t random = idle.tree.random; /* changes with each insertion */
        weiri_idle_add(&idle, &records[0]);
        assert_ptr_equal(weiri_idle_find(&idle, 307200, 307200), &records[0]);
        weiri_idle_remove(&idle, &records[0]);
        assert_true(idle.tree.root == root && idle.tree.random == random);
    }
    free(records);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_search_is_a_few_steps),
        cmocka_unit_test(the_steady_size_needs_no_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
