/* SPDX-License-Identifier: MIT
 *
 * small.c: small requests of policy `pages`: slabs of one unit (4 KiB), divided into equal places.
 * A slab is a run in use like a buffer; it is freed with its last place.
 *
 * In a slab's record: buffer.charged = free places, one bit each; priority = class; left and right
 * = the list of slabs of its class with a free place. In a small buffer's record: left = its slab,
 * stamp = place.
 */
#include "cache/pages/pages.h"

/* As many places as fit, in multiples of 64 bytes: no class wastes more than a third of a
 * request. */
static const uint16_t class_bytes[WEIRI_SMALL_CLASSES] = {
    64, 128, 192, 256, 320, 384, 448, 512, 576, 640, 768, 1024, 1344, 2048,
};

/* Class by multiple of 64 B. */
static const uint8_t class_of[WEIRI_SMALL_MAX / 64] = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 10, 11, 11, 11, 11,
    12, 12, 12, 12, 12, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13,
};

size_t weiri_small_class(size_t bytes)
{
    return class_of[(bytes - 1) / 64];
}

size_t weiri_small_bytes(size_t class)
{
    return class_bytes[class];
}

static uint64_t all_places(size_t class)
{
    size_t places = WEIRI_UNIT / class_bytes[class];
    return places == 64 ? UINT64_MAX : (UINT64_C(1) << places) - 1;
}

static void list_add(weiri_pages *p, weiri_record *slab)
{
    weiri_record **head = &p->slabs[slab->priority];
    slab->left = NULL;
    slab->right = *head;
    if (*head != NULL) {
        (*head)->left = slab;
    }
    *head = slab;
}

static void list_remove(weiri_pages *p, weiri_record *slab)
{
    *(slab->left != NULL ? &slab->left->right : &p->slabs[slab->priority]) = slab->right;
    if (slab->right != NULL) {
        slab->right->left = slab->left;
    }
}

static void take_place(weiri_record *slab, weiri_record *record)
{
    size_t bytes = class_bytes[slab->priority];
    uint64_t free = slab->buffer.charged;
    record->stamp = (uint64_t)__builtin_ctzll(free);
    slab->buffer.charged = free & (free - 1);
    record->left = slab;
    record->kind = WEIRI_RUN_SMALL;
    record->buffer.memory = (char *)slab->buffer.memory + record->stamp * bytes;
    record->buffer.bytes = record->buffer.charged = bytes;
}

bool weiri_small_place(weiri_pages *p, size_t class, weiri_record *record)
{
    weiri_record *slab = p->slabs[class];
    if (slab == NULL) {
        return false;
    }
    take_place(slab, record);
    if (slab->buffer.charged == 0) {
        list_remove(p, slab);
    }
    return true;
}

void weiri_slab_make(weiri_record *slab, size_t class, weiri_record *record)
{
    slab->priority = (uint32_t) class;
    slab->buffer.charged = all_places(class);
    record->left = slab;
    record->kind = WEIRI_RUN_SMALL;
}

void weiri_slab_open(weiri_pages *p, weiri_record *slab, weiri_record *record)
{
    slab->kind = WEIRI_RUN_SLAB;
    take_place(slab, record);
    list_add(p, slab);
}

bool weiri_small_put(weiri_pages *p, weiri_record *record)
{
    weiri_record *slab = record->left;
    bool was_full = slab->buffer.charged == 0;
    slab->buffer.charged |= UINT64_C(1) << record->stamp;
    bool empty = slab->buffer.charged == all_places(slab->priority);
    if (empty && !was_full) {
        list_remove(p, slab);
    } else if (was_full && !empty) {
        list_add(p, slab);
    }
    return empty;
}

uint64_t weiri_slab_places(const weiri_record *slab)
{
    return all_places(slab->priority);
}
