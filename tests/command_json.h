/* SPDX-License-Identifier: MIT
 *
 * command_json.h: runs the command and reads the JSON that it prints.
 */
#ifndef WEIR_TEST_COMMAND_JSON_H
#define WEIR_TEST_COMMAND_JSON_H

#include <jansson.h>

#include "testing.h"

/* Fails unless the command ends with status 0 and prints one JSON object, which the caller frees. */
static inline json_t *json_of_command(const char *command)
{
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    json_error_t error;
    json_t *root = json_loadf(pipe, 0, &error);
    int status = pclose(pipe);
    if (status != 0 || root == NULL) {
        fail_msg("status %d, %s: %s", status, error.text, command);
    }
    return root;
}

static inline uint64_t number(json_t *root, const char *key)
{
    json_t *value = json_object_get(root, key);
    if (!json_is_number(value)) {
        fail_msg("no number '%s'", key);
    }
    return (uint64_t)json_number_value(value);
}

#endif
