/* SPDX-License-Identifier: MIT
 *
 * hdf5_block.c: blocks of a file that have no checksum, looked at when libhdf5 reads them: it takes what they
 * state unseen, goes round for ever in a list that leads back, and takes a block that it holds for whatever
 * leads there. So each node of a B-tree is seen to lead to nodes of its kind one level below, each heap of names
 * to names of its own that end. Blocks with checksums, and headers of objects (hdf5_header.c), are not its affair.
 */
#include "recording/hdf5_file.h"

#ifdef WEIRI_HDF5
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define HEAP_BYTES 32u /* before its names */
#define FREE_BYTES 16u /* of an entry of its list of free places */
#define NODE_BYTES 24u /* before the first key of a B-tree's node */

__attribute__((format(printf, 3, 4))) static bool
refuse(weiri_hdf5 *h, haddr_t at, const char *format, ...)
{
    char text[200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    h->refused = true;
    snprintf(h->why, sizeof h->why, "%.80s: offset %llu: %s", h->name, (unsigned long long)at,
             text);
    return false;
}

/* So many bytes of the file, or fewer where it ends. */
static size_t peek(const weiri_hdf5 *h, haddr_t at, void *to, size_t bytes)
{
    size_t got = 0;
    return weiri_input_read(h->input, at, to, bytes, 1, &got) == WEIR_OK ? got : 0;
}

/* ---- heaps of names ---------------------------------------------------------------------------------------- */

/* Names that lie apart from their heap are no other heap's: libhdf5 fills in that of the first only. */
static bool names_are_own(weiri_hdf5 *h, haddr_t at, haddr_t names)
{
    weiri_hdf5_heaps *all = h->heaps;
    size_t known = all->count < WEIRI_HDF5_HEAPS ? all->count : WEIRI_HDF5_HEAPS;
    for (size_t i = 0; i < known; i++) {
        if (all->list[i].names == names) {
            return all->list[i].at == at;
        }
    }
    all->list[all->count % WEIRI_HDF5_HEAPS].at = at;
    all->list[all->count % WEIRI_HDF5_HEAPS].names = names;
    all->count++;
    return true;
}

/* Places that are free lie within, and are not more than there are: else the list leads back to itself. */
static bool free_list_fits(weiri_hdf5 *h, haddr_t names, uint64_t size, uint64_t next)
{
    uint64_t sum = 0;
    while (next != 1) { /* the end of the list */
        unsigned char entry[FREE_BYTES];
        if (size >= FREE_BYTES && next <= size - FREE_BYTES &&
            names + next > h->input->size - FREE_BYTES) {
            return refuse(h, h->input->size,
                          "the file ends here, expected %llu bytes of names from %llu",
                          (unsigned long long)size, (unsigned long long)names);
        }
        if (size < FREE_BYTES || next > size - FREE_BYTES ||
            peek(h, names + next, entry, sizeof entry) < sizeof entry) {
            return refuse(h, names,
                          "names of %llu bytes: a free place at %llu, which is not within them",
                          (unsigned long long)size, (unsigned long long)next);
        }
        uint64_t bytes = weiri_little(entry + 8, 8);
        if (bytes < FREE_BYTES || bytes > size - next || bytes > size - sum) {
            return refuse(
                h, names + next,
                "a free place of %llu bytes among names of %llu, %llu of them free so far; "
                "allowed: %u to what is left",
                (unsigned long long)bytes, (unsigned long long)size, (unsigned long long)sum,
                FREE_BYTES);
        }
        sum += bytes;
        next = weiri_little(entry, 8);
    }
    return true;
}

/* A heap of names is no longer than the file that states it, and its last name ends: libhdf5 counts on both. */
static bool heap_fits(weiri_hdf5 *h, haddr_t at, const unsigned char *from, size_t bytes)
{
    if (bytes < HEAP_BYTES) {
        return refuse(h, at, "a heap of names: found %zu bytes, expected %u", bytes, HEAP_BYTES);
    }
    uint64_t size = weiri_little(from + 8, 8), names = weiri_little(from + 24, 8);
    if (size == 0 || size > h->input->size || names > INT64_MAX - h->base) {
        return refuse(h, at, "a heap of names: %llu bytes of them at %llu; allowed: 1 to %llu",
                      (unsigned long long)size, (unsigned long long)names,
                      (unsigned long long)h->input->size);
    }
    names += h->base;
    if (names != at + HEAP_BYTES && !names_are_own(h, at, names)) {
        return refuse(h, at, "a heap of names: those at %llu are another heap's",
                      (unsigned long long)names);
    }
    unsigned char last = 0;
    if (peek(h, names + size - 1, &last, 1) == 1 && last != 0) {
        return refuse(h, names + size - 1, "the last of %llu bytes of names: found %u, allowed 0",
                      (unsigned long long)size, last);
    }
    return free_list_fits(h, names, size, weiri_little(from + 16, 8));
}

/* ---- nodes of B-trees --------------------------------------------------------------------------------------- */

/* An entry of the index of chunks: at a multiple of their shape, and as long as libhdf5 1.10 takes it to be: it
 * reads as many bytes as the index says, and then uses as many as the shape says. Behind each row of them a
 * checksum of four bytes may lie. */
static bool chunk_fits(const weiri_hdf5 *h, const unsigned char *key)
{
    uint64_t stored = weiri_little(key, 4);
    for (size_t i = 0; i < h->chunk_dims; i++) {
        if (weiri_little(key + 8 + 8 * i, 8) % h->chunk[i] != 0) {
            return false;
        }
    }
    if (h->chunk_packed && weiri_little(key + 4, 4) == 0) {
        return stored <= 2 * h->chunk_bytes + 4096;
    }
    return stored == h->chunk_bytes || stored == h->chunk_bytes + 4;
}

/* A node is of the kind and level that its parent takes it for: what libhdf5 holds it does not look at again,
 * and from a node that leads to itself it does not come back. One behind the file's end is not read. */
static bool child_fits(weiri_hdf5 *h, haddr_t parent, uint64_t child, const unsigned char *head)
{
    unsigned char found[6];
    if (child > INT64_MAX - h->base) {
        return refuse(h, parent, "a node of a B-tree leads to %llu: behind all files",
                      (unsigned long long)child);
    }
    if (peek(h, h->base + child, found, sizeof found) < sizeof found ||
        (memcmp(found, "TREE", 4) == 0 && found[4] == head[4] && found[5] == head[5] - 1)) {
        return true;
    }
    return refuse(h, h->base + child,
                  "found %02x%02x%02x%02x, kind %u, level %u; allowed: a B-tree's node of kind %u, "
                  "level %u",
                  found[0], found[1], found[2], found[3], found[4], found[5], head[4], head[5] - 1);
}

static bool node_fits(weiri_hdf5 *h, haddr_t at, const unsigned char *from, size_t bytes)
{
    bool chunks = from[4] == 1;
    size_t key = chunks ? 8 + 8 * ((size_t)h->chunk_dims + 1) : 8;
    if (chunks && h->chunk_bytes == 0) {
        /* Of a table beside the signal, in one chunk. */
        return from[5] == 0 ||
               refuse(h, at, "an index of one chunk of level %u, allowed 0", from[5]);
    }
    uint64_t count = weiri_little(from + 6, 2);
    for (uint64_t i = 0; i < count && NODE_BYTES + i * (key + 8) + key + 8 <= bytes; i++) {
        const unsigned char *entry = from + NODE_BYTES + i * (key + 8);
        if (from[5] > 0 && !child_fits(h, at, weiri_little(entry + key, 8), from)) {
            return false;
        }
        if (from[5] == 0 && chunks && !chunk_fits(h, entry)) {
            return refuse(h, at + (haddr_t)(entry - from),
                          "a chunk of %llu bytes; allowed: %llu, packed ones less, at multiples of "
                          "their shape",
                          (unsigned long long)weiri_little(entry, 4),
                          (unsigned long long)h->chunk_bytes);
        }
    }
    return true;
}

bool weiri_hdf5_block_fits(weiri_hdf5 *h, haddr_t at, const unsigned char *from, size_t bytes)
{
    if (bytes >= 4 && memcmp(from, "HEAP", 4) == 0) {
        return heap_fits(h, at, from, bytes);
    }
    if (bytes >= NODE_BYTES && memcmp(from, "TREE", 4) == 0 && from[4] < 2) {
        return node_fits(h, at, from, bytes);
    }
    return true;
}
#endif
