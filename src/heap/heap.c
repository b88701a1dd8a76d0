/* SPDX-License-Identifier: MIT
 *
 * heap.c: the table of heaps, and the check of one that comes from outside. Hands out no bytes.
 */
#include "heap/heap.h"

#include <stdio.h>

const weiri_heap_kind *const weiri_heaps[] = {
#define X(name) &weiri_heap_##name,
#include "heap/heaps.def"
#undef X
    NULL,
};

weir_err weir_heap_find(const char *name, weir_heap **ret_heap)
{
    const char *names[sizeof weiri_heaps / sizeof weiri_heaps[0]] = {NULL};
    char list[256] = "";
    size_t used = 0;
    if (name == NULL || ret_heap == NULL) {
        return weiri_fail(WEIR_E_USAGE, "no name of a heap");
    }
    size_t count = 0;
    for (; weiri_heaps[count] != NULL; count++) {
        names[count] = weiri_heaps[count]->name;
        if (weiri_equal_blind(names[count], name)) {
            return weiri_heaps[count]->open(ret_heap);
        }
        if (used < sizeof list) {
            int wrote = snprintf(list + used, sizeof list - used, " %s", names[count]);
            used += wrote > 0 ? (size_t)wrote : 0;
        }
    }
    return weiri_fail(WEIR_E_USAGE, "no heap '%.40s'; there are:%s", name, list);
}

/* One slot of the table: required ones must be there, those of pages all or none. */
static weir_err check_slots(const weir_heap *heap)
{
    const weir_heap_ops *ops = heap->ops;
    if (ops->good_size == NULL || ops->alloc == NULL || ops->free == NULL ||
        ops->max_buffers == NULL) {
        const char *slot = ops->good_size == NULL ? "good_size"
                           : ops->alloc == NULL   ? "alloc"
                           : ops->free == NULL    ? "free"
                                                  : "max_buffers";
        return weiri_fail(WEIR_E_USAGE, "heap %s: slot %s is not there", ops->name, slot);
    }
    const struct {
        const char *name;
        bool there;
    } pages[] = {
        {"page_size", WEIRI_HEAP_HAS(heap, page_size)},
        {"reserve", WEIRI_HEAP_HAS(heap, reserve)},
        {"commit", WEIRI_HEAP_HAS(heap, commit)},
        {"decommit", WEIRI_HEAP_HAS(heap, decommit)},
        {"release", WEIRI_HEAP_HAS(heap, release)},
    };
    bool wanted = (ops->flags & WEIR_HEAP_PAGES) != 0;
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        if (pages[i].there != wanted) {
            return weiri_fail(WEIR_E_USAGE, "heap %s: slot %s is %s though WEIR_HEAP_PAGES is %s",
                              ops->name, pages[i].name, pages[i].there ? "there" : "not there",
                              wanted ? "set" : "not set");
        }
    }
    return WEIR_OK;
}

weir_err weir_heap_check(const weir_heap *heap)
{
    if (heap == NULL || heap->ops == NULL) {
        return weiri_fail(WEIR_E_USAGE, "heap: slot ops is not there");
    }
    const weir_heap_ops *ops = heap->ops;
    size_t least = offsetof(weir_heap_ops, max_buffers) + sizeof ops->max_buffers;
    if (ops->ops_size < least || ops->ops_size > 4096) {
        return weiri_fail(WEIR_E_USAGE, "heap: slot ops_size is %zu; %zu to 4096 are wanted",
                          ops->ops_size, least);
    }
    if (ops->name == NULL || ops->name[0] == '\0') {
        return weiri_fail(WEIR_E_USAGE, "heap: slot name is not there");
    }
    if ((ops->flags & ~(WEIR_HEAP_PAGES | WEIR_HEAP_DEVICE)) != 0) {
        return weiri_fail(WEIR_E_USAGE, "heap %s: slot flags is 0x%x, of unknown bits", ops->name,
                          ops->flags);
    }
    if (ops->reserved != 0) {
        return weiri_fail(WEIR_E_USAGE, "heap %s: slot reserved is not 0", ops->name);
    }
    weir_err err = check_slots(heap);
    if (err != WEIR_OK) {
        return err;
    }
    if (WEIRI_HEAP_HAS(heap, page_size)) {
        size_t page = ops->page_size((weir_heap *)heap);
        if (page == 0 || (page & (page - 1)) != 0) {
            return weiri_fail(WEIR_E_USAGE, "heap %s: slot page_size says %zu, not a power of two",
                              ops->name, page);
        }
    }
    size_t good = ops->good_size((weir_heap *)heap, 1);
    if (good < 1 || good == SIZE_MAX) {
        return weiri_fail(WEIR_E_USAGE, "heap %s: slot good_size says %zu for 1 byte", ops->name,
                          good);
    }
    return WEIR_OK;
}

weir_err weiri_heap_synchronise(weir_heap *heap)
{
    return WEIRI_HEAP_HAS(heap, synchronise) ? heap->ops->synchronise(heap) : WEIR_OK;
}

void weir_heap_destroy(weir_heap *heap)
{
    if (heap != NULL && WEIRI_HEAP_HAS(heap, destroy)) {
        heap->ops->destroy(heap);
    }
}
