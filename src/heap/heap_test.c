/* SPDX-License-Identifier: MIT
 *
 * The host's heap, its pages, the counting heap, and the check of tables.
 */
#include <malloc.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "heap/heap.h"
#include "testing.h"

static weir_heap *host(void)
{
    weir_heap *heap = NULL;
    assert_ok(weir_heap_find("host", &heap));
    return heap;
}

static void heaps_are_found(void **state)
{
    (void)state;
    weir_heap *heap = NULL;
    assert_ok(weir_heap_find("HOST", &heap));
    assert_ptr_equal(heap, host());
    assert_fails(weir_heap_find("gpu", &heap), WEIR_E_USAGE, "no heap 'gpu'; there are: host");
    assert_fails(weir_heap_find(NULL, &heap), WEIR_E_USAGE, "no name");
    for (size_t i = 0; weiri_heaps[i] != NULL; i++) {
        assert_ok(weir_heap_find(weiri_heaps[i]->name, &heap));
        assert_ok(weir_heap_check(heap));
        weir_heap_destroy(heap); /* a static heap: continues to exist */
        assert_ok(weir_heap_check(heap));
    }
    weir_heap_destroy(NULL);
}

/* M4: the stated size of a request is what it occupies. */
static void what_is_charged(void **state)
{
    (void)state;
    weir_heap *heap = host();
    const size_t page = heap->ops->page_size(heap);
    assert_true(heap->ops->good_size(heap, 0) == 128);
    assert_true(heap->ops->good_size(heap, 48) == 128); /* with header and alignment */
    assert_true(heap->ops->good_size(heap, 49) == 192);
    assert_true(heap->ops->good_size(heap, page - 80) == page);
    assert_true(heap->ops->good_size(heap, page) == page);
    assert_true(heap->ops->good_size(heap, page + 1) == 2 * page);
    assert_true(heap->ops->good_size(heap, SIZE_MAX) == SIZE_MAX);
    assert_true(heap->ops->good_size(heap, (size_t)PTRDIFF_MAX + 1) == SIZE_MAX);
    for (size_t bytes = 1, before = 0; bytes < 4 * page; bytes++) {
        size_t good = heap->ops->good_size(heap, bytes);
        assert_true(good >= bytes && good >= before && good % 64 == 0);
        before = good;
    }
    assert_true(heap->ops->max_buffers(heap) > 1000);
}

/* M4: small blocks occupy no more of the C library's memory than they are charged, of any size. */
static void small_blocks_occupy_what_is_charged(void **state)
{
    (void)state;
#if defined(__GLIBC__) && !defined(TESTING_SANITIZED)
    weir_heap *heap = host();
    static void *blocks[4000];
    size_t charged = 0;
    struct mallinfo2 before = mallinfo2();
    for (size_t i = 0; i < 4000; i++) {
        size_t bytes = 1 + (i * 7) % 4016;
        assert_ok(heap->ops->alloc(heap, bytes, &blocks[i]));
        assert_true((uintptr_t)blocks[i] % 64 == 0);
        memset(blocks[i], 1, bytes);
        charged += heap->ops->good_size(heap, bytes);
    }
    struct mallinfo2 after = mallinfo2();
    size_t occupied = after.uordblks - before.uordblks;
    assert_true(occupied <= charged && occupied > charged - charged / 20);
    /* The space between blocks: no more than an arena grows by at once. */
    assert_true(after.arena - before.arena <= charged + 200 * 1024);
    for (size_t i = 0; i < 4000; i++) {
        heap->ops->free(heap, blocks[i], 1 + (i * 7) % 4016);
    }
#else
    printf("skipped: the allocator is not glibc's own here\n");
    skip();
#endif
}

static bool is_mapped_memory(void *memory, size_t bytes)
{
    unsigned char pages[64];
    return mincore(memory, bytes, pages) == 0;
}

/* What is above a page has left the process when free returns. */
static void freed_bytes_leave(void **state)
{
    (void)state;
    weir_heap *heap = host();
    const size_t page = heap->ops->page_size(heap);
    for (size_t bytes = page - 79; bytes <= 16 * page; bytes += page / 2 + 1) {
        void *memory = NULL;
        assert_ok(heap->ops->alloc(heap, bytes, &memory));
        assert_true((uintptr_t)memory % 64 == 0);
        memset(memory, 0xff, bytes);
        assert_true(is_mapped_memory(memory, bytes));
        heap->ops->free(heap, memory, bytes);
        assert_false(is_mapped_memory(memory, bytes));
    }
    heap->ops->free(heap, NULL, 10);
    heap->ops->free(heap, NULL, 10 * page);
}

static void the_system_refuses(void **state)
{
    (void)state;
    weir_heap *heap = host();
    void *memory = &memory;
    assert_fails(heap->ops->alloc(heap, SIZE_MAX, &memory), WEIR_E_NOMEM, "address space");
    assert_fails(heap->ops->alloc(heap, SIZE_MAX / 4, &memory), WEIR_E_NOMEM, "mmap");
    assert_fails(heap->ops->reserve(heap, SIZE_MAX / 4 & ~(size_t)0xfff, &memory), WEIR_E_NOMEM,
                 "address space");
    assert_ptr_equal(memory, &memory); /* results are written only on success */
}

static size_t resident_pages(void *memory, size_t bytes, size_t page)
{
    static unsigned char pages[64];
    size_t count = 0;
    assert_true(bytes / page <= sizeof pages && mincore(memory, bytes, pages) == 0);
    for (size_t i = 0; i < bytes / page; i++) {
        count += pages[i] & 1;
    }
    return count;
}

static void pages_come_and_go(void **state)
{
    (void)state;
    weir_heap *heap = host();
    const size_t page = heap->ops->page_size(heap);
    void *range = NULL;
    assert_true(heap->ops->flags & WEIR_HEAP_PAGES);
    assert_ok(heap->ops->reserve(heap, 64 * page, &range));
    char *bytes = range;
    assert_int_equal(resident_pages(range, 64 * page, page), 0);
    assert_ok(heap->ops->commit(heap, range, 8 * page, 16 * page));
    memset(bytes + 8 * page, 0xee, 16 * page);
    assert_int_equal(resident_pages(range, 64 * page, page), 16);
    assert_ok(heap->ops->decommit(heap, range, 12 * page, 4 * page));
    assert_int_equal(resident_pages(range, 64 * page, page), 12);
    assert_ok(heap->ops->commit(heap, range, 12 * page, 4 * page));
    for (size_t i = 12 * page; i < 16 * page; i++) {
        assert_true(bytes[i] == 0); /* comes back zeroed */
    }
    assert_true((unsigned char)bytes[12 * page - 1] == 0xee); /* neighbours keep theirs */
    assert_true((unsigned char)bytes[16 * page] == 0xee);
    heap->ops->release(heap, range, 64 * page);
    assert_false(is_mapped_memory(range, 64 * page));
    heap->ops->release(heap, NULL, page);
}

/* ---- counting ------------------------------------------------------------------------------ */

static void buffers_are_counted(void **state)
{
    (void)state;
    weir_heap *heap = NULL;
    void *a = NULL, *b = NULL;
    assert_ok(weir_heap_counting_create(host(), &heap));
    assert_ok(weir_heap_check(heap));
    assert_ok(heap->ops->alloc(heap, 100, &a));
    assert_ok(heap->ops->alloc(heap, 5000, &b));
    weir_heap_counts counts = weir_heap_counting_counts(heap);
    assert_true(counts.bytes == 192 + 8192 && counts.buffers == 2 && counts.calls == 2);
    heap->ops->free(heap, b, 5000);
    heap->ops->free(heap, NULL, 1);
    counts = weir_heap_counting_counts(heap);
    assert_true(counts.bytes == 192 && counts.bytes_peak == 192 + 8192 && counts.frees == 1);
    heap->ops->free(heap, a, 100);
    counts = weir_heap_counting_counts(heap);
    assert_true(counts.bytes == 0 && counts.buffers == 0);
    assert_true(heap->ops->max_buffers(heap) == host()->ops->max_buffers(host()));
    assert_ok(weiri_heap_synchronise(heap));
    weir_heap_destroy(heap);
}

static void pages_are_counted(void **state)
{
    (void)state;
    weir_heap *heap = NULL;
    void *range = NULL;
    assert_ok(weir_heap_counting_create(host(), &heap));
    const size_t page = heap->ops->page_size(heap);
    assert_ok(heap->ops->reserve(heap, 32 * page, &range));
    assert_true(weir_heap_counting_counts(heap).bytes == 0);
    assert_ok(heap->ops->commit(heap, range, 0, 8 * page));
    assert_ok(heap->ops->commit(heap, range, 4 * page, 8 * page)); /* four of them twice */
    assert_true(weir_heap_counting_counts(heap).bytes == 12 * page);
    assert_ok(heap->ops->decommit(heap, range, 0, 2 * page));
    assert_ok(heap->ops->decommit(heap, range, 0, 2 * page));
    assert_true(weir_heap_counting_counts(heap).bytes == 10 * page);
    heap->ops->release(heap, range, 32 * page); /* with pages committed */
    assert_true(weir_heap_counting_counts(heap).bytes == 0);
    assert_true(weir_heap_counting_counts(heap).bytes_peak == 12 * page);
    assert_ok(heap->ops->reserve(heap, 32 * page, &range)); /* left to destroy's own records */
    weir_heap_destroy(heap);
    host()->ops->release(host(), range, 32 * page);
}

static void faults_are_made(void **state)
{
    (void)state;
    weir_heap *heap = NULL;
    void *memory = NULL;
    assert_ok(weir_heap_counting_create(host(), &heap));
    weir_heap_counting_fail(heap, 2, 2);
    assert_ok(heap->ops->alloc(heap, 10, &memory));
    heap->ops->free(heap, memory, 10);
    assert_fails(heap->ops->alloc(heap, 10, &memory), WEIR_E_NOMEM, "as requested by the test");
    assert_int_equal(heap->ops->reserve(heap, 4096, &memory), WEIR_E_NOMEM);
    assert_ok(heap->ops->reserve(heap, 4096, &memory));
    weir_heap_counting_fail(heap, 1, 1);
    assert_int_equal(heap->ops->commit(heap, memory, 0, 4096), WEIR_E_NOMEM);
    weir_heap_counting_fail(heap, 1, 1);
    weir_heap_counting_fail(heap, 0, 0);
    assert_ok(heap->ops->commit(heap, memory, 0, 4096));
    heap->ops->release(heap, memory, 4096);
    assert_true(weir_heap_counting_counts(heap).calls == 6);
    assert_true(weir_heap_counting_counts(heap).bytes == 0);
    weir_heap_destroy(heap);
}

static void *traffic(void *user)
{
    weir_heap *heap = user;
    for (int i = 0; i < 2000; i++) {
        void *memory = NULL;
        if (heap->ops->alloc(heap, 10 + (size_t)i, &memory) == WEIR_OK) {
            heap->ops->free(heap, memory, 10 + (size_t)i);
        }
    }
    return NULL;
}

static void two_threads_are_counted(void **state)
{
    (void)state;
    weir_heap *heap = NULL;
    pthread_t threads[2];
    assert_ok(weir_heap_counting_create(host(), &heap));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, traffic, heap), 0);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    weir_heap_counts counts = weir_heap_counting_counts(heap);
    assert_true(counts.calls == 4000 && counts.frees == 4000 && counts.bytes == 0);
    assert_true(counts.buffers == 0 && counts.bytes_peak <= 2 * 2112);
    weir_heap_destroy(heap);
}

/* ---- tables from outside ------------------------------------------------------------------- */

static size_t odd_page(weir_heap *heap)
{
    (void)heap;
    return 3000;
}

static void tables_are_checked(void **state)
{
    (void)state;
    const weir_heap_ops good = *host()->ops;
    weir_heap_ops ops = good;
    weir_heap heap = {&ops};
    assert_ok(weir_heap_check(&heap));
    assert_fails(weir_heap_check(NULL), WEIR_E_USAGE, "ops");
    assert_fails(weir_heap_check(&(weir_heap){NULL}), WEIR_E_USAGE, "ops");
    ops.ops_size = 16;
    assert_fails(weir_heap_check(&heap), WEIR_E_USAGE, "ops_size");
    ops = good;
    ops.name = NULL;
    assert_fails(weir_heap_check(&heap), WEIR_E_USAGE, "name");
    ops = good;
    ops.flags |= 64;
    assert_fails(weir_heap_check(&heap), WEIR_E_USAGE, "flags");
    ops = good;
    ops.reserved = 1;
    assert_fails(weir_heap_check(&heap), WEIR_E_USAGE, "reserved");
    ops = good;
    ops.free = NULL;
    assert_fails(weir_heap_check(&heap), WEIR_E_USAGE, "function free");
    ops = good;
    ops.decommit = NULL;
    assert_fails(weir_heap_check(&heap), WEIR_E_USAGE, "decommit");
    ops = good;
    ops.flags = 0;
    assert_fails(weir_heap_check(&heap), WEIR_E_USAGE, "page_size");
    ops = good;
    ops.page_size = odd_page;
    assert_fails(weir_heap_check(&heap), WEIR_E_USAGE, "power of two");
    /* One that was filled before there were pages. */
    ops = good;
    ops.flags = 0;
    ops.ops_size = offsetof(weir_heap_ops, page_size);
    assert_ok(weir_heap_check(&heap));
    assert_ok(weiri_heap_synchronise(&heap));
    weir_heap_destroy(&heap);
    weir_heap *counting = NULL;
    ops.alloc = NULL;
    assert_int_equal(weir_heap_counting_create(&heap, &counting), WEIR_E_USAGE);
    assert_null(counting);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heaps_are_found),
        cmocka_unit_test(what_is_charged),
        cmocka_unit_test(small_blocks_occupy_what_is_charged),
        cmocka_unit_test(freed_bytes_leave),
        cmocka_unit_test(the_system_refuses),
        cmocka_unit_test(pages_come_and_go),
        cmocka_unit_test(buffers_are_counted),
        cmocka_unit_test(pages_are_counted),
        cmocka_unit_test(faults_are_made),
        cmocka_unit_test(two_threads_are_counted),
        cmocka_unit_test(tables_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
