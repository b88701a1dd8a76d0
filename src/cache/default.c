/* SPDX-License-Identifier: MIT
 *
 * default.c: the process's one default cache, and limits in the environment (M8). A chain has a cache of
 * its own and does not come here.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache/cache.h"

#define DEFAULT_CACHE_LIMIT (UINT64_C(512) << 20)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all below */
static weir_cache *the_cache;
static bool asked;
static bool warned;
static uint64_t asked_limit;

weir_err weiri_limit_environment(const char *name, uint64_t *limit)
{
    const char *text = getenv(name);
    if (text == NULL || text[0] == '\0') {
        return WEIR_OK;
    }
    if (weiri_equal_blind(text, "none")) {
        *limit = WEIR_NO_LIMIT;
        return WEIR_OK;
    }
    uint64_t bytes = 0;
    weir_err err = weir_bytes_parse(text, &bytes);
    if (err != WEIR_OK) {
        return weiri_fail_prefix(WEIR_E_USAGE, "environment, %s: ", name);
    }
    *limit = bytes;
    return WEIR_OK;
}

/* Under the lock. */
static weir_err make(void)
{
    if (the_cache != NULL) {
        return WEIR_OK;
    }
    weir_cache_options options = weir_cache_options_default();
    options.cache_limit = DEFAULT_CACHE_LIMIT;
    options.policy = "pages"; /* conversions come and go in any size: see weir/cache.h */
    const char *text = getenv("WEIR_CACHE_LIMIT");
    weir_err err = WEIR_OK;
    if (text != NULL && weiri_equal_blind(text, "auto")) {
        options.cache_limit = WEIR_LIMIT_AUTO;
    } else {
        err = weiri_limit_environment("WEIR_CACHE_LIMIT", &options.cache_limit);
    }
    if (err == WEIR_OK) {
        err = weiri_limit_environment("WEIR_MEMORY_LIMIT", &options.memory_limit);
    }
    return err == WEIR_OK ? weir_cache_create(&options, &the_cache) : err;
}

weir_err weir_cache_default(weir_cache **ret_cache)
{
    pthread_mutex_lock(&lock);
    weir_err err = make();
    if (err == WEIR_OK) {
        *ret_cache = the_cache;
    }
    pthread_mutex_unlock(&lock);
    return err;
}

static char *limit_text(uint64_t limit, char *text, size_t size)
{
    if (limit == WEIR_NO_LIMIT) {
        snprintf(text, size, "none");
        return text;
    }
    if (limit == WEIR_LIMIT_AUTO) {
        snprintf(text, size, "auto");
        return text;
    }
    snprintf(text, size, "%llu", (unsigned long long)limit);
    return text;
}

weir_err weir_cache_default_limit(uint64_t cache_limit)
{
    char first[24], other[24];
    bool warn = false;
    pthread_mutex_lock(&lock);
    weir_err err = make();
    if (err == WEIR_OK && !asked) {
        asked = true;
        asked_limit = cache_limit;
        weir_cache_limit_idle(the_cache, cache_limit);
    } else if (err == WEIR_OK && cache_limit != asked_limit && !warned) {
        warned = true;
        warn = true;
        limit_text(asked_limit, first, sizeof first);
        limit_text(cache_limit, other, sizeof other);
    }
    pthread_mutex_unlock(&lock);
    if (warn) {
        weiri_log("cache_limit of the default cache stays %s bytes; %s was asked for later", first,
                  other);
    }
    return err;
}

weir_err weir_limits_export(uint64_t cache_limit, uint64_t memory_limit)
{
    char text[24];
    if (setenv("WEIR_CACHE_LIMIT", limit_text(cache_limit, text, sizeof text), 1) != 0 ||
        setenv("WEIR_MEMORY_LIMIT", limit_text(memory_limit, text, sizeof text), 1) != 0) {
        return weiri_fail(WEIR_E_NOMEM, "no memory for the environment's limits");
    }
    return WEIR_OK;
}
