/* SPDX-License-Identifier: MIT
 *
 * err.c: the texts of errors, the detail line of each thread, the log callback.
 * Nothing here prints, and nothing allocates: the detail is thread-local storage of fixed size.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/locale.h"

static _Thread_local char detail[WEIRI_DETAIL_BYTES];
static _Thread_local uint64_t fail_count;

/* The callback and its user belong together, and a program that sets another must be sure that the old
 * one is no longer being called: so one lock, held while it is called. */
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static weir_log_fn log_fn;
static void *log_user;

const char *weir_err_text(weir_err err)
{
    switch (err) {
#define WEIR_ERR_CASE(name, value, exit_status, text)                                              \
    case WEIR_##name:                                                                              \
        return text;
        WEIR_ERR_LIST(WEIR_ERR_CASE)
#undef WEIR_ERR_CASE
    }
    return "unknown error";
}

int weir_err_exit_status(weir_err err)
{
    switch (err) {
#define WEIR_ERR_CASE(name, value, exit_status, text)                                              \
    case WEIR_##name:                                                                              \
        return exit_status;
        WEIR_ERR_LIST(WEIR_ERR_CASE)
#undef WEIR_ERR_CASE
    }
    return 1;
}

const char *weir_err_detail(void)
{
    return detail;
}

uint64_t weiri_fail_count(void)
{
    return fail_count;
}

/* What comes from a file may hold anything; the detail stays one line that a terminal can show. A
 * sequence of UTF-8 truncated at the end is removed completely. */
static void one_line(char *text, bool cut)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x20 || c == 0x7f) {
            text[i] = '?';
        }
    }
    if (cut) {
        while (length > 0 && ((unsigned char)text[length - 1] & 0xc0) == 0x80) {
            length--;
        }
        if (length > 0 && ((unsigned char)text[length - 1] & 0x80) != 0) {
            length--;
        }
        text[length] = '\0';
    }
}

void weiri_format(char *text, size_t size, const char *format, va_list args)
{
    locale_t c = weiri_locale_c();
    locale_t before = c != (locale_t)0 ? uselocale(c) : (locale_t)0;
    int wanted = vsnprintf(text, size, format, args);
    if (c != (locale_t)0) {
        (void)uselocale(before);
    }
    if (wanted < 0) {
        text[0] = '\0';
        wanted = 0;
    }
    one_line(text, (size_t)wanted >= size);
}

weir_err weiri_fail(weir_err err, const char *format, ...)
{
    char text[WEIRI_DETAIL_BYTES]; /* separate: the arguments may be in detail */
    va_list args;
    va_start(args, format);
    weiri_format(text, sizeof text, format, args);
    va_end(args);
    memcpy(detail, text, strlen(text) + 1);
    fail_count++;
    return err;
}

weir_err weiri_null(const char *call)
{
    return weiri_fail(WEIR_E_USAGE, "%s: NULL is not allowed", call);
}

weir_err weiri_fail_prefix(weir_err err, const char *format, ...)
{
    char text[WEIRI_DETAIL_BYTES];
    va_list args;
    va_start(args, format);
    weiri_format(text, sizeof text, format, args);
    va_end(args);
    size_t length = strlen(text);
    size_t room = sizeof text - 1 - length;
    size_t old = strlen(detail);
    bool cut = old > room;
    memcpy(text + length, detail, cut ? room : old);
    text[length + (cut ? room : old)] = '\0';
    one_line(text, cut);
    memcpy(detail, text, strlen(text) + 1);
    fail_count++;
    return err;
}

void weir_log_set(weir_log_fn log, void *user)
{
    pthread_mutex_lock(&log_lock);
    log_fn = log;
    log_user = user;
    pthread_mutex_unlock(&log_lock);
}

void weiri_log(const char *format, ...)
{
    char text[WEIRI_DETAIL_BYTES];
    va_list args;
    va_start(args, format);
    weiri_format(text, sizeof text, format, args);
    va_end(args);
    pthread_mutex_lock(&log_lock);
    if (log_fn != NULL) {
        log_fn(log_user, text);
    }
    pthread_mutex_unlock(&log_lock);
}
