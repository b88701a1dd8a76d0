/* SPDX-License-Identifier: MIT
 *
 * host.c: the host's memory.
 *
 * Below a page: the C library's allocator. Above: whole pages from mmap, freed by munmap, because an
 * allocator keeps what is freed (glibc raises its own mmap threshold up to 32 MiB as blocks are freed, and
 * then a freed buffer stays in its arena): with munmap the bytes are freed when free returns, as
 * M3 and M7 require. The cost is a system call and a fault for each new page (1.5 us), which the cache
 * amortises.
 *
 * What is charged (M4): of a small request its bytes, up to 64 B lost to alignment, and 16 B of the
 * allocator's header, rounded up to 64 B. The alignment is made here: glibc's posix_memalign leaves
 * gaps between blocks that nothing fits (48 B requested occupied 146 B on average, 1008 B 1024; glibc
 * 2.36), and what cannot be foreseen cannot be charged. Mapped requests are charged in pages, and need no
 * header since free receives the size.
 *
 * Also reserves address space and commits pages of it. It keeps nothing that was freed.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "heap/heap.h"

#define ALIGNMENT 64
#define HEADER    16
#define OVERHEAD  (ALIGNMENT + HEADER)

/* Of x86-64, and of arm64 with 4 KiB pages; elsewhere a multiple or a part of it, and advice is lost. */
#define HUGE_PAGE ((size_t)2 << 20)

/* Mappings that are left to the rest of the process: its libraries and stacks, and a cache's ranges. */
#define MAPPINGS_LEFT    4096
#define MAPPINGS_DEFAULT 65530 /* the kernel's own, where /proc does not say */

static pthread_once_t facts_once = PTHREAD_ONCE_INIT;
static size_t page_bytes;
static size_t mappings;

static void facts_read(void)
{
    long page = sysconf(_SC_PAGESIZE);
    page_bytes = page > 0 ? (size_t)page : 4096;
    mappings = MAPPINGS_DEFAULT;
    FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
    if (file != NULL) {
        unsigned long long count = 0;
        if (fscanf(file, "%llu", &count) == 1) {
            mappings = (size_t)count;
        }
        fclose(file);
    }
}

static size_t page_size(weir_heap *heap)
{
    (void)heap;
    pthread_once(&facts_once, facts_read);
    return page_bytes;
}

/* Which of the two ways serves a request; a pure function of its size, since free decides by it too. */
static bool is_mapped(size_t bytes, size_t page)
{
    return bytes > page - OVERHEAD;
}

static size_t good_size(weir_heap *heap, size_t bytes)
{
    size_t page = page_size(heap);
    bytes = bytes > 0 ? bytes : 1;
    if (!is_mapped(bytes, page)) {
        return weiri_round_up(bytes + OVERHEAD, ALIGNMENT);
    }
    size_t good = weiri_round_up(bytes, page);
    return good > PTRDIFF_MAX ? SIZE_MAX : good;
}

static weir_err no_memory(size_t bytes, const char *what)
{
    return weiri_fail(WEIR_E_NOMEM, "host: the system refuses %zu bytes (%s)", bytes, what);
}

/* malloc aligns to 16 B, so between its result and the next multiple of 64 B there is always space for
 * the pointer that free needs. */
static weir_err small_alloc(size_t bytes, void **ret_memory)
{
    void *raw = malloc(bytes + ALIGNMENT);
    if (raw == NULL) {
        return no_memory(bytes + ALIGNMENT, "malloc");
    }
    char *memory = (char *)raw + (ALIGNMENT - (uintptr_t)raw % ALIGNMENT);
    memcpy(memory - sizeof raw, &raw, sizeof raw);
    *ret_memory = memory;
    return WEIR_OK;
}

static void small_free(void *memory)
{
    void *raw;
    memcpy(&raw, (char *)memory - sizeof raw, sizeof raw);
    free(raw);
}

static weir_err host_alloc(weir_heap *heap, size_t bytes, void **ret_memory)
{
    size_t good = good_size(heap, bytes);
    if (good == SIZE_MAX) {
        return no_memory(bytes, "more than its address space");
    }
    if (!is_mapped(bytes, page_bytes)) {
        return small_alloc(bytes, ret_memory);
    }
    void *memory = mmap(NULL, good, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return no_memory(good, "mmap");
    }
    *ret_memory = memory;
    return WEIR_OK;
}

static void host_free(weir_heap *heap, void *memory, size_t bytes)
{
    if (memory == NULL) {
        return;
    }
    if (!is_mapped(bytes, page_size(heap))) {
        small_free(memory);
        return;
    }
    size_t good = good_size(heap, bytes);
    /* Neighbouring mappings are one to the kernel, and removing a piece from the middle needs one more:
     * at its limit it refuses. max_buffers stays below that; if others have used them up, the bytes
     * are freed all the same and only the addresses stay. */
    if (munmap(memory, good) != 0) {
        (void)madvise(memory, good, MADV_DONTNEED);
    }
}

/* Each mapped buffer may need a mapping of its own, of which the kernel allows max_map_count per process.
 * Small buffers have no such bound; but a cache may hold any mixture. */
static size_t max_buffers(weir_heap *heap)
{
    (void)page_size(heap);
    return mappings > 2 * MAPPINGS_LEFT ? mappings - MAPPINGS_LEFT : mappings / 2;
}

/* Address space only: without access it counts neither as resident nor as committed. */
static weir_err host_reserve(weir_heap *heap, size_t bytes, void **ret_range)
{
    (void)heap;
    void *range = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) {
        return no_memory(bytes, "of address space");
    }
    *ret_range = range;
    return WEIR_OK;
}

/* Whole huge pages are requested explicitly: one fault of 90 us instead of 512 of 1.5. Other
 * memory never gets one, whatever the system's default: decommitting a part of a huge page frees
 * nothing until the kernel is short of memory, though RSS says so at once. The advice is no more
 * than that: if it fails, nothing is lost. */
static weir_err host_commit(weir_heap *heap, void *range, size_t offset, size_t bytes)
{
    (void)heap;
    char *at = (char *)range + offset;
    if (mprotect(at, bytes, PROT_READ | PROT_WRITE) != 0) {
        return no_memory(bytes, "mprotect");
    }
    bool huge = ((uintptr_t)at | bytes) % HUGE_PAGE == 0;
    (void)madvise(at, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    return WEIR_OK;
}

/* Mapped anew over the old pages: these are freed at once, memory committed again is zeroed, and unlike
 * madvise it also returns the system's commit charge (overcommit_memory 2). If no mapping is
 * left for the split, madvise frees the bytes and only the access stays. */
static weir_err host_decommit(weir_heap *heap, void *range, size_t offset, size_t bytes)
{
    (void)heap;
    void *at = (char *)range + offset;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    if (mmap(at, bytes, PROT_NONE, flags, -1, 0) == MAP_FAILED &&
        madvise(at, bytes, MADV_DONTNEED) != 0) {
        return weiri_fail(WEIR_E_INTERNAL, "host: madvise: %s", strerror(errno));
    }
    return WEIR_OK;
}

static void host_release(weir_heap *heap, void *range, size_t bytes)
{
    (void)heap;
    if (range != NULL) {
        (void)munmap(range, bytes);
    }
}

static const weir_heap_ops ops = {
    .ops_size = sizeof(weir_heap_ops),
    .name = "host",
    .flags = WEIR_HEAP_PAGES,
    .good_size = good_size,
    .alloc = host_alloc,
    .free = host_free,
    .max_buffers = max_buffers,
    .page_size = page_size,
    .reserve = host_reserve,
    .commit = host_commit,
    .decommit = host_decommit,
    .release = host_release,
};

static weir_err host_open(weir_heap **ret_heap)
{
    static weir_heap heap = {&ops};
    *ret_heap = &heap;
    return WEIR_OK;
}

const weiri_heap_kind weiri_heap_host = {
    .name = "host",
    .summary = "the host's memory: small requests by malloc, above a page by mmap",
    .open = host_open,
};
