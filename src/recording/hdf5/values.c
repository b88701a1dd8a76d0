/* SPDX-License-Identifier: MIT
 *
 * values.c: numbers and texts of attributes and small datasets, requested from the helper. Its
 * answers are checked: with a damaged file it may answer anything.
 */
#include "recording/hdf5/read.h"

#ifdef WEIRI_HDF5
#include <math.h>
#include <string.h>

/* Each text ends, and nothing follows the last one. */
static bool texts_end(const unsigned char *texts, const weiri_hdf5_answer *head)
{
    uint64_t ends = 0;
    for (uint64_t i = 0; i < head->bytes; i++) {
        ends += texts[i] == 0;
    }
    return ends == head->count && (head->bytes == 0 || texts[head->bytes - 1] == 0);
}

bool weiri_hdf5_some(weiri_reader *reader,
                     hdf5_in *in,
                     const char *place,
                     const char *name,
                     uint64_t first,
                     uint64_t count,
                     weiri_hdf5_answer *ret)
{
    weiri_hdf5_question ask = {.verb = WEIRI_HDF5_VALUES, .first = first, .count = count};
    if (in->child.socket < 0) {
        return false;
    }
    weiri_hdf5_child_ask(&in->child, ask, place, name);
    weir_err err = weiri_hdf5_child_answer(&in->child, ret);
    if (err == WEIR_OK) {
        err = weiri_hdf5_child_take(&in->child, in->answer, (size_t)ret->bytes);
    }
    if (err != WEIR_OK) {
        if (in->child.socket >= 0) {
            weiri_notice(&reader->notices, "not used: %s", weiri_hdf5_child_why(&in->child));
        }
        return false;
    }
    bool sound = ret->count <= count && ret->count <= ret->total &&
                 (ret->kind == WEIRI_HDF5_NUMBERS ? ret->bytes == ret->count * sizeof(double)
                  : ret->kind == WEIRI_HDF5_TEXTS ? texts_end(in->answer, ret)
                                                  : ret->kind == WEIRI_HDF5_NONE);
    if (!sound) {
        err = weiri_hdf5_child_nonsense(&in->child);
    }
    return err == WEIR_OK && ret->kind != WEIRI_HDF5_NONE;
}

uint64_t weiri_hdf5_count(weiri_reader *reader, hdf5_in *in, const char *place, const char *name)
{
    weiri_hdf5_answer head;
    return weiri_hdf5_some(reader, in, place, name, 0, 0, &head) ? head.total : 0;
}

bool weiri_hdf5_number(weiri_reader *reader,
                       hdf5_in *in,
                       const char *place,
                       const char *name,
                       weir_quantity kind,
                       double *ret_number)
{
    weiri_hdf5_answer head;
    double number = NAN;
    if (!weiri_hdf5_some(reader, in, place, name, 0, 1, &head) || head.total != 1 ||
        head.count != 1) {
        return false;
    }
    if (head.kind == WEIRI_HDF5_NUMBERS) {
        memcpy(&number, in->answer, sizeof number);
    } else if (weir_quantity_parse((const char *)in->answer, kind, &number) != WEIR_OK) {
        weiri_notice(&reader->notices, "not used: %.60s of %.60s: %.80s", name, place,
                     weir_err_detail());
        return false;
    }
    if (!isfinite(number)) {
        weiri_notice(&reader->notices, "not used: %.60s%s%.60s: found %g, expected a finite number",
                     name, *name ? " of " : "", place, number);
        return false;
    }
    *ret_number = number;
    return true;
}

const double *weiri_hdf5_numbers(
    weiri_reader *reader, hdf5_in *in, const char *place, const char *name, uint64_t count)
{
    double *numbers = NULL;
    weiri_hdf5_answer head;
    for (uint64_t done = 0; done < count; done += head.count) {
        if (!weiri_hdf5_some(reader, in, place, name, done, count - done, &head) ||
            head.kind != WEIRI_HDF5_NUMBERS || head.total != count || head.count == 0 ||
            (numbers == NULL &&
             weiri_reader_get(reader, count, sizeof *numbers, &numbers) != WEIR_OK)) {
            return NULL;
        }
        memcpy(numbers + done, in->answer, (size_t)head.bytes);
    }
    return numbers;
}

const char *const *weiri_hdf5_texts(
    weiri_reader *reader, hdf5_in *in, const char *place, const char *name, uint64_t count)
{
    const char **texts = NULL;
    weiri_hdf5_answer head;
    for (uint64_t done = 0; done < count;) {
        if (!weiri_hdf5_some(reader, in, place, name, done, count - done, &head) ||
            head.kind != WEIRI_HDF5_TEXTS || head.total != count || head.count == 0 ||
            (texts == NULL && weiri_reader_get(reader, count, sizeof *texts, &texts) != WEIR_OK)) {
            return NULL;
        }
        const char *text = (const char *)in->answer;
        for (uint64_t end = done + head.count; done < end; done++) {
            size_t bytes = strlen(text);
            if (weiri_reader_text(reader, text, bytes, &texts[done]) != WEIR_OK) {
                return NULL;
            }
            text += bytes + 1;
        }
    }
    return texts;
}
#endif
