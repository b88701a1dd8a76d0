/* SPDX-License-Identifier: MIT
 *
 * front.c: see front.h. Rings instead of lists: one pointer per stack gives access to both ends,
 * and a cache's own block stays smaller than a page.
 */
#include "cache/front.h"

#include <string.h>

weiri_record *weiri_front_peek(weiri_front *front, size_t asked)
{
    weiri_record **newest = weiri_front_find(front, asked);
    return newest != NULL ? *newest : NULL;
}

static weiri_record *take_all(weiri_front *front, weiri_record **newest)
{
    weiri_record *list = *newest;
    if (list == NULL) {
        return NULL;
    }
    front->count -= list->priority;
    weiri_record *last = list->left;
    for (weiri_record *at = list; at != last; at = at->right) {
        at->next = at->right;
    }
    last->next = NULL;
    *newest = NULL;
    return list;
}

weiri_record *weiri_front_push_slow(weiri_front *front, weiri_record *record)
{
    weiri_record *out = NULL;
    weiri_record **newest = weiri_front_find(front, record->asked);
    if (newest == NULL) {
        size_t slot = weiri_front_slot(record->asked);
        newest = &front->newest[slot];
        if (*newest != NULL && front->newest[slot ^ 1] == NULL) {
            newest = &front->newest[slot ^ 1];
        }
        out = take_all(front, newest);
        record->left = record->right = record;
        record->priority = 1;
    } else {
        weiri_record *second = *newest;
        if (second->priority == WEIRI_FRONT_DEPTH) {
            out = second->left;
            out->next = NULL;
            weiri_front_take_off(front, newest, out);
        }
        record->right = second;
        record->left = second->left;
        second->left->right = record;
        second->left = record;
        record->priority = second->priority + 1;
    }
    *newest = record;
    front->count++;
    return out;
}

void weiri_front_remove(weiri_front *front, weiri_record *record)
{
    weiri_record **newest = weiri_front_find(front, record->asked);
    if (newest != NULL) {
        weiri_front_take_off(front, newest, record);
    }
}

weiri_record *weiri_front_drain(weiri_front *front)
{
    weiri_record *all = NULL;
    for (size_t i = 0; i < WEIRI_FRONT_SLOTS && front->count > 0; i++) {
        weiri_record *list = take_all(front, &front->newest[i]);
        while (list != NULL) {
            weiri_record *next = list->next;
            list->next = all;
            all = list;
            list = next;
        }
    }
    return all;
}

bool weiri_front_has(const weiri_front *front, const weiri_record *record)
{
    size_t slot = weiri_front_slot(record->asked);
    for (size_t i = 0; i < 2; i++) {
        const weiri_record *newest = front->newest[slot ^ i];
        if (newest == NULL || newest->asked != record->asked) {
            continue;
        }
        const weiri_record *at = newest;
        for (uint32_t n = 0; n < newest->priority; n++, at = at->right) {
            if (at == record) {
                return true;
            }
        }
    }
    return false;
}
