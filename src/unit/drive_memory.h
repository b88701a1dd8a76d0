/* SPDX-License-Identifier: MIT
 *
 * drive_memory.h: guarded memory filled with garbage, and random numbers, for tests of units (drive.h).
 */
#ifndef WEIRI_DRIVE_MEMORY_H
#define WEIRI_DRIVE_MEMORY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { DRIVE_GUARD = 64 };

/* `bytes` bytes from `at` on, with DRIVE_GUARD known bytes before and after them. */
typedef struct drive_memory {
    unsigned char *base, *at;
    size_t bytes;
} drive_memory;

static inline uint64_t drive_random(uint64_t *state, uint64_t below)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return below == 0 ? 0 : (z ^ (z >> 31)) % below;
}

static inline uint64_t drive_seed(void)
{
    const char *given = getenv("WEIR_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    print_message("seed %llu (WEIR_SEED repeats it)\n", (unsigned long long)seed);
    return seed;
}

/* Another byte each time: what is not written differs between two runs. 0xff: NaN; the others: numbers. */
static inline unsigned char drive_garbage(void)
{
    static const unsigned char bytes[] = {0xff, 0x5a, 0x01, 0x7e, 0x83, 0x3c, 0xc3};
    static size_t next;
    return bytes[next++ % sizeof bytes];
}

static inline drive_memory drive_memory_get(size_t bytes, size_t offset)
{
    size_t room = (bytes + offset + 63) / 64 * 64 + 2 * DRIVE_GUARD;
    drive_memory memory = {.base = aligned_alloc(64, room), .bytes = bytes};
    assert_non_null(memory.base);
    memset(memory.base, 0xa5, room);
    memory.at = memory.base + DRIVE_GUARD + offset;
    memset(memory.at, drive_garbage(), bytes);
    return memory;
}

static inline void drive_memory_check(const drive_memory *memory, const char *what)
{
    bool good = true;
    for (const unsigned char *p = memory->base; p < memory->at; p++) {
        good = good && *p == 0xa5;
    }
    for (int i = 0; i < DRIVE_GUARD; i++) {
        good = good && memory->at[memory->bytes + i] == 0xa5;
    }
    if (!good) {
        fail_msg("the unit wrote outside %s", what);
    }
}

static inline void drive_memory_free(drive_memory *memory, const char *what)
{
    if (memory->base != NULL) {
        drive_memory_check(memory, what);
        memset(memory->at, 0xff, memory->bytes);
        free(memory->base);
    }
    *memory = (drive_memory){0};
}

/* The same content at another address. */
static inline void drive_memory_move(drive_memory *memory, const char *what)
{
    drive_memory moved = drive_memory_get(memory->bytes, 0);
    memcpy(moved.at, memory->at, memory->bytes);
    drive_memory_free(memory, what);
    *memory = moved;
}

#endif
