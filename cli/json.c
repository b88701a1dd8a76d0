/* SPDX-License-Identifier: MIT
 *
 * json.c: values for --json that are always valid JSON, whatever the labels of a recording contain.
 */
#include "cli.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Labels come from files, for example Latin-1 in EDF. Bytes that are not UTF-8 are read as
 * Latin-1. */
json_t *cli_json_text(const char *text)
{
    if (text == NULL)
        return json_null();
    json_t *json = json_string(text);
    if (json != NULL)
        return json;
    char *latin = cli_alloc(2 * strlen(text) + 1, 1), *to = latin;
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c >= 0x80)
            *to++ = (char)(0xc0 | c >> 6);
        *to++ = (char)(c >= 0x80 ? 0x80 | (c & 0x3f) : c);
    }
    json = json_string(latin);
    free(latin);
    return json != NULL ? json : json_null();
}

json_t *cli_json_count(uint64_t count)
{
    return count > INT64_MAX ? json_null() : json_integer((json_int_t)count);
}

json_t *cli_json_real(double number)
{
    return isfinite(number) ? json_real(number) : json_null();
}

int cli_json_print(json_t *json, int status)
{
    bool failed =
        json == NULL || json_dumpf(json, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) != 0;
    json_decref(json);
    if (failed && json == NULL)
        return cli_fail(weir_err_exit_status(WEIR_E_NOMEM), "no memory left for JSON");
    putchar('\n');
    return cli_finish(status);
}
