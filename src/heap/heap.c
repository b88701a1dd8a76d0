/* SPDX-License-Identifier: MIT
 *
 * heap.c: the table of heaps, and the check of a heap that a program brings. Allocates nothing.
 */
#include "heap/heap.h"

#include <stdio.h>
#include <string.h>

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

/* Required slots are there; those of a flag all or none. */
static weir_err check_slots(const weir_heap *heap)
{
    const weir_heap_ops *ops = heap->ops;
    if (ops->good_size == NULL || ops->alloc == NULL || ops->free == NULL ||
        ops->max_buffers == NULL) {
        const char *slot = ops->good_size == NULL ? "good_size"
                           : ops->alloc == NULL   ? "alloc"
                           : ops->free == NULL    ? "free"
                                                  : "max_buffers";
        return weiri_fail(WEIR_E_USAGE, "heap %s: function %s is missing", ops->name, slot);
    }
    const struct {
        const char *name;
        bool there;
        uint32_t flag;
    } slots[] = {
        {"page_size", WEIRI_HAS(ops, page_size), WEIR_HEAP_PAGES},
        {"reserve", WEIRI_HAS(ops, reserve), WEIR_HEAP_PAGES},
        {"commit", WEIRI_HAS(ops, commit), WEIR_HEAP_PAGES},
        {"decommit", WEIRI_HAS(ops, decommit), WEIR_HEAP_PAGES},
        {"release", WEIRI_HAS(ops, release), WEIR_HEAP_PAGES},
        {"copy_in", WEIRI_HAS(ops, copy_in), WEIR_HEAP_DEVICE},
        {"copy_out", WEIRI_HAS(ops, copy_out), WEIR_HEAP_DEVICE},
        {"queue_create", WEIRI_HAS(ops, queue_create), WEIR_HEAP_DEVICE},
        {"queue_wait", WEIRI_HAS(ops, queue_wait), WEIR_HEAP_DEVICE},
        {"queue_destroy", WEIRI_HAS(ops, queue_destroy), WEIR_HEAP_DEVICE},
    };
    for (size_t i = 0; i < sizeof slots / sizeof slots[0]; i++) {
        bool wanted = (ops->flags & slots[i].flag) != 0;
        if (slots[i].there != wanted) {
            return weiri_fail(WEIR_E_USAGE, "heap %s: function %s is %s though %s is %s", ops->name,
                              slots[i].name, slots[i].there ? "present" : "missing",
                              slots[i].flag == WEIR_HEAP_PAGES ? "WEIR_HEAP_PAGES"
                                                               : "WEIR_HEAP_DEVICE",
                              wanted ? "set" : "not set");
        }
    }
    return WEIR_OK;
}

weir_err weir_heap_check(const weir_heap *heap)
{
    static const weiri_sized rule = {
        .field = "heap: ops_size",
        .make = "set it to sizeof(weir_heap_ops)",
        .least = WEIRI_THROUGH(weir_heap_ops, max_buffers),
        .known = sizeof(weir_heap_ops),
    };
    if (heap == NULL || heap->ops == NULL) {
        return weiri_fail(WEIR_E_USAGE, "heap: ops is missing");
    }
    const weir_heap_ops *ops = heap->ops;
    weir_err err = weiri_sized_check(&rule, ops);
    if (err != WEIR_OK) {
        return err;
    }
    if (ops->name == NULL || ops->name[0] == '\0') {
        return weiri_fail(WEIR_E_USAGE, "heap: name is missing");
    }
    if ((ops->flags & ~(WEIR_HEAP_PAGES | WEIR_HEAP_DEVICE)) != 0) {
        return weiri_fail(WEIR_E_USAGE, "heap %s: slot flags is 0x%x, of unknown bits", ops->name,
                          ops->flags);
    }
    if (ops->reserved != 0) {
        return weiri_fail(WEIR_E_USAGE, "heap %s: slot reserved is not 0", ops->name);
    }
    err = check_slots(heap);
    if (err != WEIR_OK) {
        return err;
    }
    if (WEIRI_HAS(heap->ops, page_size)) {
        size_t page = ops->page_size((weir_heap *)heap);
        if (page == 0 || (page & (page - 1)) != 0) {
            return weiri_fail(WEIR_E_USAGE, "heap %s: page_size returns %zu, not a power of two",
                              ops->name, page);
        }
    }
    size_t good = ops->good_size((weir_heap *)heap, 1);
    if (good < 1 || good == SIZE_MAX) {
        return weiri_fail(WEIR_E_USAGE, "heap %s: good_size returns %zu for 1 byte", ops->name,
                          good);
    }
    return WEIR_OK;
}

weir_err weiri_heap_copy_in(
    weir_heap *heap, void *memory, size_t offset, const void *from, size_t bytes, weir_queue *queue)
{
    if (weiri_heap_is_device(heap)) {
        return heap->ops->copy_in(heap, memory, offset, from, bytes, queue);
    }
    memcpy((unsigned char *)memory + offset, from, bytes);
    return WEIR_OK;
}

weir_err weiri_heap_copy_out(
    weir_heap *heap, void *to, void *memory, size_t offset, size_t bytes, weir_queue *queue)
{
    if (weiri_heap_is_device(heap)) {
        return heap->ops->copy_out(heap, to, memory, offset, bytes, queue);
    }
    memcpy(to, (const unsigned char *)memory + offset, bytes);
    return WEIR_OK;
}

weir_err weiri_heap_synchronise(weir_heap *heap)
{
    return WEIRI_HAS(heap->ops, synchronise) ? heap->ops->synchronise(heap) : WEIR_OK;
}

void weir_heap_destroy(weir_heap *heap)
{
    if (heap != NULL && WEIRI_HAS(heap->ops, destroy)) {
        heap->ops->destroy(heap);
    }
}
