/* SPDX-License-Identifier: MIT
 *
 * Nominal heaps: what they charge; that the addresses they return have no memory until they are
 * written to.
 */
#include <string.h>
#include <sys/mman.h>

#include "heap/heap.h"
#include "testing.h"

static weir_heap *find(const char *name)
{
    weir_heap *heap = NULL;
    assert_ok(weir_heap_find(name, &heap));
    return heap;
}

static void what_is_charged(void **state)
{
    (void)state;
    weir_heap *exact = find("nominal"), *as_host = find("nominal:host"), *host = find("host");
    static const size_t sizes[] = {0, 1, 48, 4016, 4017, 4096, 4097, 307200, (size_t)1 << 40};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t bytes = sizes[i];
        assert_true(exact->ops->good_size(exact, bytes) == (bytes > 0 ? bytes : 1));
        assert_true(as_host->ops->good_size(as_host, bytes) == host->ops->good_size(host, bytes));
    }
    assert_true(exact->ops->good_size(exact, SIZE_MAX) == SIZE_MAX);
    assert_true(as_host->ops->good_size(as_host, SIZE_MAX) == SIZE_MAX);
}

static void addresses_only(void **state)
{
    (void)state;
    static const char *const names[] = {"nominal", "nominal:host"};
    for (size_t n = 0; n < 2; n++) {
        weir_heap *heap = find(names[n]);
        const size_t large = (size_t)1 << 34; /* 16 GiB each, a quarter of a TiB in all */
        void *blocks[16], *small = NULL, *none = &small;
        for (size_t i = 0; i < 16; i++) {
            unsigned char resident = 1;
            assert_ok(heap->ops->alloc(heap, large, &blocks[i]));
            assert_true((uintptr_t)blocks[i] % 64 == 0);
            assert_int_equal(mincore(blocks[i], 4096, &resident), 0);
            assert_int_equal(resident & 1, 0);
        }
        memset(blocks[0], 1, 100000); /* may be written to */
        assert_ok(heap->ops->alloc(heap, 100, &small));
        assert_true((uintptr_t)small % 64 == 0);
        memset(small, 1, 100);
        heap->ops->free(heap, small, 100);
        for (size_t i = 0; i < 16; i++) {
            unsigned char resident = 0;
            heap->ops->free(heap, blocks[i], large);
            assert_int_equal(mincore(blocks[i], 4096, &resident), -1); /* unmapped */
        }
        heap->ops->free(heap, NULL, large);
        assert_fails(heap->ops->alloc(heap, SIZE_MAX / 4, &none), WEIR_E_NOMEM, names[n]);
        assert_fails(heap->ops->alloc(heap, SIZE_MAX, &none), WEIR_E_NOMEM, names[n]);
        assert_ptr_equal(none, &small);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_charged),
        cmocka_unit_test(addresses_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
