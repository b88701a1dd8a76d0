/* SPDX-License-Identifier: MIT
 *
 * testing.h: shared by tests: cmocka with the headers it needs, random numbers from a printed seed.
 */
#ifndef WEIR_TESTING_H
#define WEIR_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* Built with a sanitizer that replaces the system's allocator. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TESTING_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TESTING_SANITIZED 1
#endif
#endif

/* Fails with the detail line if a call that must succeed does not. */
#define assert_ok(call)                                                                            \
    do {                                                                                           \
        if ((call) != WEIR_OK) {                                                                   \
            fail_msg("%s: %s", #call, weir_err_detail());                                          \
        }                                                                                          \
    } while (0)

/* Asserts an error and that its detail line contains a text. */
#define assert_fails(call, err, text)                                                              \
    do {                                                                                           \
        assert_int_equal(call, err);                                                               \
        if (strstr(weir_err_detail(), text) == NULL) {                                             \
            fail_msg("'%s' is not in '%s'", text, weir_err_detail());                              \
        }                                                                                          \
    } while (0)

/* WEIR_TEST_SEED repeats a run. */
static inline uint64_t testing_seed(const char *what)
{
    const char *text = getenv("WEIR_TEST_SEED");
    uint64_t seed = text != NULL ? strtoull(text, NULL, 0) : UINT64_C(20260131);
    printf("%s: seed %llu\n", what, (unsigned long long)seed);
    fflush(stdout);
    return seed != 0 ? seed : 1;
}

/* xorshift64*: the next number of a seed. */
static inline uint64_t testing_random(uint64_t *seed)
{
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return *seed * UINT64_C(2685821657736338717);
}

#endif
