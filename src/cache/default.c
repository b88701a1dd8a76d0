/* SPDX-License-Identifier: MIT
 *
 * default.c: the process's default caches, one per heap, and limits in the environment (M8). Chains
 * have caches of their own and do not use these.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache/cache.h"
#include "cache/default.h"

#define DEFAULT_CACHE_LIMIT (UINT64_C(512) << 20)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects all below */
static struct slot {
    weir_heap *heap; /* NULL = free */
    weir_cache *cache;
    bool asked, warned;
    uint64_t asked_limit;
    uint64_t preset; /* with which the cache was created */
} slots[WEIRI_DEFAULTS];

weir_err weir_limit_parse(const char *text, bool automatic, uint64_t *ret_limit)
{
    if (text == NULL || ret_limit == NULL) {
        return weiri_null(__func__);
    }
    uint64_t limit = WEIR_NO_LIMIT;
    if (automatic && weiri_equal_blind(text, "auto")) {
        limit = WEIR_LIMIT_AUTO;
    } else if (!weiri_equal_blind(text, "none")) {
        weir_err err = weir_bytes_parse(text, &limit);
        if (err != WEIR_OK) {
            return err;
        }
    }
    *ret_limit = limit;
    return WEIR_OK;
}

weir_err weiri_limit_environment(const char *name, bool automatic, uint64_t *limit)
{
    const char *text = getenv(name);
    if (text == NULL || text[0] == '\0') {
        return WEIR_OK;
    }
    weir_err err = weir_limit_parse(text, automatic, limit);
    return err == WEIR_OK ? WEIR_OK : weiri_fail_prefix(err, "environment: %s: ", name);
}

/* Lock held. */
static weir_err make(struct slot *at)
{
    if (at->cache != NULL) {
        return WEIR_OK;
    }
    weir_cache_options options = weir_cache_options_default();
    options.heap = at->heap;
    options.cache_limit = DEFAULT_CACHE_LIMIT;
    /* Conversions allocate buffers of any size: see weir/cache.h. */
    options.policy = (at->heap->ops->flags & WEIR_HEAP_PAGES) != 0 ? "pages" : "fit";
    weir_err err = weiri_limit_environment("WEIR_CACHE_LIMIT", true, &options.cache_limit);
    if (err == WEIR_OK) {
        err = weiri_limit_environment("WEIR_MEMORY_LIMIT", false, &options.memory_limit);
    }
    at->preset = options.cache_limit;
    return err == WEIR_OK ? weir_cache_create(&options, &at->cache) : err;
}

/* Lock held. The slot of a heap, with its cache. */
static weir_err find(weir_heap *heap, struct slot **ret_slot)
{
    weir_err err = heap == NULL ? weir_heap_find("host", &heap) : WEIR_OK;
    if (err != WEIR_OK) {
        return err;
    }
    for (size_t i = 0; i < WEIRI_DEFAULTS; i++) {
        if (slots[i].heap == NULL) {
            slots[i].heap = heap;
        }
        if (slots[i].heap == heap) {
            *ret_slot = &slots[i];
            return make(&slots[i]);
        }
    }
    return weiri_fail(WEIR_E_USAGE, "default caches: there are %d already, one a heap",
                      WEIRI_DEFAULTS);
}

weir_err weiri_cache_default_of(weir_heap *heap, weir_cache **ret_cache)
{
    struct slot *at = NULL;
    pthread_mutex_lock(&lock);
    weir_err err = find(heap, &at);
    if (err == WEIR_OK) {
        *ret_cache = at->cache;
    }
    pthread_mutex_unlock(&lock);
    return err;
}

weir_err weir_cache_default(weir_cache **ret_cache)
{
    if (ret_cache == NULL) {
        return weiri_null(__func__);
    }
    return weiri_cache_default_of(NULL, ret_cache);
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

weir_err weiri_cache_default_limit_of(weir_heap *heap, uint64_t cache_limit)
{
    char first[24], other[24];
    const char *name = "host";
    struct slot *at = NULL;
    bool warn = false;
    pthread_mutex_lock(&lock);
    weir_err err = find(heap, &at);
    if (err == WEIR_OK && cache_limit == WEIRI_LIMIT_PRESET) {
        cache_limit = at->preset;
    }
    if (err == WEIR_OK && !at->asked) {
        at->asked = true;
        at->asked_limit = cache_limit;
        weir_cache_limit_idle(at->cache, cache_limit);
    } else if (err == WEIR_OK && cache_limit != at->asked_limit && !at->warned) {
        at->warned = true;
        warn = true;
        name = at->heap->ops->name;
        limit_text(at->asked_limit, first, sizeof first);
        limit_text(cache_limit, other, sizeof other);
    }
    pthread_mutex_unlock(&lock);
    if (warn) {
        weiri_log(
            "cache_limit of the default cache of heap %s stays %s bytes; %s was asked for later",
            name, first, other);
    }
    return err;
}

weir_err weir_cache_default_limit(uint64_t cache_limit)
{
    return weiri_cache_default_limit_of(NULL, cache_limit);
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
