/* SPDX-License-Identifier: MIT
 *
 * ends.c: the two ends of a run, sources and sinks: checks of their function tables before a chain calls
 * them. A program may bring its own, compiled against another version.
 */
#include "chain/chain.h"

static const weiri_sized source_rule = {
    .field = "ops_size",
    .make = "set it to sizeof(weir_source_ops)",
    .least = WEIRI_THROUGH(weir_source_ops, close),
    .known = sizeof(weir_source_ops),
};
static const weiri_sized info_rule = {
    .field = "info_size",
    .make = "set it to sizeof(weir_source_info)",
    .least = WEIRI_THROUGH(weir_source_info, variant),
    .known = sizeof(weir_source_info),
};
static const weiri_sized sink_rule = {
    .field = "ops_size",
    .make = "set it to sizeof(weir_sink_ops)",
    .least = WEIRI_THROUGH(weir_sink_ops, close),
    .known = sizeof(weir_sink_ops),
};

typedef struct slot {
    const char *name;
    bool there;
} slot;

/* `kind`: "source" or "sink". */
static weir_err check_slots(const char *kind, const char *name, const slot *slots, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!slots[i].there) {
            return weiri_fail(WEIR_E_USAGE, "%s %s: slot %s is NULL", kind,
                              name == NULL ? "without a name" : name, slots[i].name);
        }
    }
    return WEIR_OK;
}

weir_err weiri_source_check(weir_source *source)
{
    if (source == NULL || source->ops == NULL) {
        return weiri_fail(WEIR_E_USAGE, "source: %s is NULL", source == NULL ? "it" : "its ops");
    }
    const weir_source_ops *ops = source->ops;
    weir_err err = weiri_sized_check(&source_rule, ops);
    if (err != WEIR_OK) {
        return weiri_fail_prefix(err, "source: ");
    }
    const slot slots[] = {
        {"name", ops->name != NULL},   {"info", ops->info != NULL}, {"plan", ops->plan != NULL},
        {"start", ops->start != NULL}, {"read", ops->read != NULL}, {"close", ops->close != NULL},
    };
    err = check_slots("source", ops->name, slots, sizeof slots / sizeof *slots);
    if (err == WEIR_OK) {
        err = weiri_sized_check(&info_rule, ops->info(source));
        err = err == WEIR_OK ? err : weiri_fail_prefix(err, "source %s: ", ops->name);
    }
    return err;
}

weir_err weiri_sink_check(const weir_sink *sink)
{
    if (sink == NULL) {
        return WEIR_OK; /* an output without a sink */
    }
    if (sink->ops == NULL) {
        return weiri_fail(WEIR_E_USAGE, "sink: its ops is NULL");
    }
    const weir_sink_ops *ops = sink->ops;
    weir_err err = weiri_sized_check(&sink_rule, ops);
    if (err != WEIR_OK) {
        return weiri_fail_prefix(err, "sink: ");
    }
    const slot slots[] = {
        {"name", ops->name != NULL},   {"plan", ops->plan != NULL},
        {"start", ops->start != NULL}, {"write", ops->write != NULL},
        {"flush", ops->flush != NULL}, {"finish", ops->finish != NULL},
        {"close", ops->close != NULL},
    };
    return check_slots("sink", ops->name, slots, sizeof slots / sizeof *slots);
}

void weir_source_close(weir_source *source)
{
    if (source != NULL) {
        source->ops->close(source);
    }
}

void weir_sink_close(weir_sink *sink)
{
    if (sink != NULL) {
        sink->ops->close(sink);
    }
}

const weir_source_info *weir_source_info_get(weir_source *source)
{
    if (source == NULL) {
        return NULL;
    }
    return source->ops->info(source);
}
