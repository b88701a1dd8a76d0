/* SPDX-License-Identifier: MIT
 *
 * order.c: the order in which a flush of libhdf5 reaches the file. libhdf5 writes its index,
 * headers and superblock in any order, and if the process is killed in between, the file points to
 * blocks that do not exist. Here overwriting writes of a flush are delayed until the flush is
 * complete, and then made in an order in which the file can be read after every single write: new
 * blocks at once, then the superblock (the file's length), the index from its root down (a parent
 * refers to a new child before the old child loses its half), other blocks, and the headers last
 * (the number of rows). Rows themselves are written directly to new places.
 *
 * A power cut preserves no order, and a checkpoint needs the file as it was then. So with
 * checkpoints all overwriting writes are delayed until they are in a durable checkpoint: a resumed
 * run writes them again and so restores that state, whatever part of it had reached the disk.
 */
#include "recording/hdf5/driver.h"

#ifdef WEIRI_HDF5
#include <string.h>
#include <unistd.h>

enum {
    SUPERBLOCK,
    INDEX, /* and 255 more: the root's level first */
    OTHER = 600,
    HEADER = 1000
};

/* If the file has no node there yet, this one is new. */
static bool is_new_node(const weiri_hdf5 *h, haddr_t at)
{
    char mark[4];
    return pread(h->fd, mark, sizeof mark, (off_t)at) != (ssize_t)sizeof mark ||
           memcmp(mark, "TREE", sizeof mark) != 0;
}

bool weiri_hdf5_hold(weiri_hdf5 *h, H5FD_mem_t type, haddr_t at, size_t bytes, const void *from)
{
    weiri_hdf5_order *order = h->order;
    const unsigned char *block = from;
    if (order == NULL || !order->holding || type == H5FD_MEM_DRAW) {
        return false;
    }
    for (size_t i = 0; i < order->count; i++) {
        if (order->list[i].at == at && order->list[i].bytes == bytes) {
            memcpy(order->bytes + order->list[i].from, from, bytes);
            return true;
        }
    }
    if (order->count == WEIRI_HDF5_HELD || bytes > sizeof order->bytes - order->used) {
        return false;
    }
    int rank = type == H5FD_MEM_SUPER ? SUPERBLOCK : type == H5FD_MEM_OHDR ? HEADER : OTHER;
    if (bytes > 6 && memcmp(block, "TREE", 4) == 0) {
        if (is_new_node(h, at)) {
            return false;
        }
        rank = INDEX + (255 - block[5]);
    }
    order->list[order->count++] =
        (weiri_hdf5_held){.at = at, .bytes = bytes, .from = order->used, .rank = rank};
    memcpy(order->bytes + order->used, from, bytes);
    order->used += bytes;
    return true;
}

void weiri_hdf5_overlay(const weiri_hdf5 *h, haddr_t at, size_t bytes, void *to)
{
    const weiri_hdf5_order *order = h->order;
    for (size_t i = 0; order && i < order->count; i++) {
        const weiri_hdf5_held *held = &order->list[i];
        haddr_t first = held->at > at ? held->at : at;
        haddr_t end = held->at + held->bytes < at + bytes ? held->at + held->bytes : at + bytes;
        if (first < end) {
            memcpy((unsigned char *)to + (first - at),
                   order->bytes + held->from + (first - held->at), (size_t)(end - first));
        }
    }
}

weir_err weiri_hdf5_release(weiri_hdf5 *h)
{
    weiri_hdf5_order *order = h->order;
    order->holding = order->durable;
    /* By rank, else in order of arrival: of two states of one block the later one is written
     * last. */
    for (size_t i = 1; i < order->count; i++) {
        weiri_hdf5_held one = order->list[i];
        size_t to = i;
        for (; to > 0 && order->list[to - 1].rank > one.rank; to--) {
            order->list[to] = order->list[to - 1];
        }
        order->list[to] = one;
    }
    weir_err err = WEIR_OK;
    for (size_t i = 0; err == WEIR_OK && i < order->count; i++) {
        const weiri_hdf5_held *held = &order->list[i];
        err = weiri_hdf5_put(h, held->at, order->bytes + held->from, held->bytes);
    }
    order->count = order->used = 0;
    return err;
}
#endif
