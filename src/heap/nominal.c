/* SPDX-License-Identifier: MIT
 *
 * nominal.c: allocates address space, which uses no memory unless it is written to.
 *
 * Two heaps for replays of traces, which need a cache's decisions and not the content of its buffers:
 * hundreds of gigabytes may be in use in one on a small machine. Both map with MAP_NORESERVE, so that the system
 * keeps no promise of memory for them either; what is written to (a cache's own records) is real memory.
 *
 *   nominal       charged exactly as requested: a policy that rounds by itself (mlx) is seen exactly.
 *   nominal:host  charged as by the host (host.c), with its pages: what a policy would hold there.
 *
 * They are not for signals: what they charge is not what the system would have to provide.
 */
#include <stdint.h>
#include <sys/mman.h>

#include "heap/heap.h"

/* From here on mapped; below, the host's own small blocks, since a mapping occupies at least a page. */
#define MAPPED_FROM 4096

static const weir_heap *host(void)
{
    static weir_heap *found; /* always the same pointer, so racing threads write the same */
    weir_heap *heap = __atomic_load_n(&found, __ATOMIC_ACQUIRE);
    if (heap == NULL && weiri_heap_host.open(&heap) == WEIR_OK) {
        __atomic_store_n(&found, heap, __ATOMIC_RELEASE);
    }
    return heap;
}

static size_t exact_good_size(weir_heap *heap, size_t bytes)
{
    (void)heap;
    return bytes > PTRDIFF_MAX - MAPPED_FROM ? SIZE_MAX : bytes > 0 ? bytes : 1;
}

static size_t host_good_size(weir_heap *heap, size_t bytes)
{
    (void)heap;
    return host()->ops->good_size((weir_heap *)host(), bytes);
}

static weir_err nominal_alloc(weir_heap *heap, size_t bytes, void **ret_memory)
{
    if (bytes < MAPPED_FROM) {
        return host()->ops->alloc((weir_heap *)host(), bytes, ret_memory);
    }
    void *memory = MAP_FAILED;
    if (heap->ops->good_size(heap, bytes) != SIZE_MAX) {
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    if (memory == MAP_FAILED) {
        return weiri_fail(WEIR_E_NOMEM, "%s: %zu bytes are more than the address space has",
                          heap->ops->name, bytes);
    }
    *ret_memory = memory;
    return WEIR_OK;
}

static void nominal_free(weir_heap *heap, void *memory, size_t bytes)
{
    (void)heap;
    if (memory == NULL) {
        return;
    }
    if (bytes < MAPPED_FROM) {
        host()->ops->free((weir_heap *)host(), memory, bytes);
    } else {
        (void)munmap(memory, bytes);
    }
}

static size_t max_buffers(weir_heap *heap)
{
    (void)heap;
    return host()->ops->max_buffers((weir_heap *)host());
}

static size_t page_size(weir_heap *heap)
{
    (void)heap;
    return host()->ops->page_size((weir_heap *)host());
}

static weir_err reserve(weir_heap *heap, size_t bytes, void **ret_range)
{
    (void)heap;
    return host()->ops->reserve((weir_heap *)host(), bytes, ret_range);
}

static weir_err commit(weir_heap *heap, void *range, size_t offset, size_t bytes)
{
    (void)heap;
    return host()->ops->commit((weir_heap *)host(), range, offset, bytes);
}

static weir_err decommit(weir_heap *heap, void *range, size_t offset, size_t bytes)
{
    (void)heap;
    return host()->ops->decommit((weir_heap *)host(), range, offset, bytes);
}

static void release(weir_heap *heap, void *range, size_t bytes)
{
    (void)heap;
    host()->ops->release((weir_heap *)host(), range, bytes);
}

#define SLOTS                                                                                      \
    .ops_size = sizeof(weir_heap_ops), .flags = WEIR_HEAP_PAGES, .alloc = nominal_alloc,           \
    .free = nominal_free, .max_buffers = max_buffers, .page_size = page_size, .reserve = reserve,  \
    .commit = commit, .decommit = decommit, .release = release

static const weir_heap_ops exact_ops = {.name = "nominal", .good_size = exact_good_size, SLOTS};
static const weir_heap_ops as_host_ops = {
    .name = "nominal:host", .good_size = host_good_size, SLOTS};

static weir_err check_host(weir_heap *heap, weir_heap **ret_heap)
{
    if (host() == NULL) {
        return weiri_fail(WEIR_E_INTERNAL, "%s: there is no host heap", heap->ops->name);
    }
    *ret_heap = heap;
    return WEIR_OK;
}

static weir_err exact_open(weir_heap **ret_heap)
{
    static weir_heap heap = {&exact_ops};
    return check_host(&heap, ret_heap);
}

static weir_err as_host_open(weir_heap **ret_heap)
{
    static weir_heap heap = {&as_host_ops};
    return check_host(&heap, ret_heap);
}

const weiri_heap_kind weiri_heap_nominal = {
    .name = "nominal",
    .summary = "address space only, charged as asked: for replays of traces",
    .open = exact_open,
};

const weiri_heap_kind weiri_heap_nominal_host = {
    .name = "nominal:host",
    .summary = "address space only, charged as by the host: for replays of traces",
    .open = as_host_open,
};
