/* SPDX-License-Identifier: MIT
 *
 * select.c: selects channels and time of a recording: --channels, --exclude, --start, --duration;
 * makes labels unique; determines the dtype. The same for every format.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "recording/reader.h"

#define LEAST_RATE 1e-9
#define MOST_RATE  1e12

/* ---- labels ------------------------------------------------------------------------------------- */

static uint64_t hash_text(const char *text)
{
    uint64_t hash = 14695981039346656037u;
    for (; *text; text++) {
        hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    }
    return hash;
}

/* Slot of a label in a table of channel numbers + 1, empty if it is not there. */
static uint32_t *
slot_of(const weiri_reader *reader, uint32_t *table, size_t mask, const char *label)
{
    size_t at = hash_text(label) & mask;
    while (table[at] && strcmp(reader->channels[table[at] - 1].label, label) != 0) {
        at = (at + 1) & mask;
    }
    return &table[at];
}

/* The second channel of a label becomes "label-2", and so on. */
static weir_err labels_unique(weiri_reader *reader)
{
    size_t size = 4;
    while (size < reader->channel_count * 4) {
        size *= 2;
    }
    uint32_t *table, *times;
    weir_err err = weiri_reader_get(reader, size, sizeof *table, &table);
    if (err == WEIR_OK) {
        err = weiri_reader_get(reader, reader->channel_count, sizeof *times, &times);
    }
    for (uint32_t i = 0; err == WEIR_OK && i < reader->channel_count; i++) {
        weiri_channel *channel = &reader->channels[i];
        char name[96];
        if (*channel->label == 0) {
            snprintf(name, sizeof name, "ch%u", i);
            err = weiri_reader_text(reader, name, strlen(name), &channel->label);
            if (err != WEIR_OK) {
                break;
            }
        }
        uint32_t *slot = slot_of(reader, table, size - 1, channel->label);
        if (*slot) {
            uint32_t first = *slot - 1;
            const char *label = channel->label;
            while (*slot) {
                times[first]++;
                snprintf(name, sizeof name, "%.80s-%u", label, times[first] + 1);
                slot = slot_of(reader, table, size - 1, name);
            }
            weiri_notice(&reader->notices,
                         "channel %u: label %.60s is used twice; renamed to %.70s", i, label, name);
            err = weiri_reader_text(reader, name, strlen(name), &channel->label);
        }
        *slot = i + 1;
    }
    return err;
}

/* ---- lists of channels --------------------------------------------------------------------------- */

static bool read_number(const char *text, size_t length, uint64_t *ret_number)
{
    uint64_t number = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9' || number > UINT32_MAX) {
            return false;
        }
        number = number * 10 + (uint64_t)(text[i] - '0');
    }
    *ret_number = number;
    return length > 0;
}

/* ": Fp1, Fp2, Cz, ...", as many labels as fit. */
static void list_labels(const weiri_reader *reader, char *text, size_t size)
{
    size_t used = 0;
    *text = 0;
    for (uint64_t i = 0; reader->channels && i < reader->channel_count; i++) {
        const char *label = reader->channels[i].label;
        bool fits = used + strlen(label) + 8 < size;
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : ": ",
                                 fits ? label : "...");
        if (!fits) {
            return;
        }
    }
}

static weir_err unknown(const weiri_reader *reader, const char *option, const char *item)
{
    const char *names[256];
    size_t count = 0;
    for (; reader->channels && count < reader->channel_count && count < 256; count++) {
        names[count] = reader->channels[count].label;
    }
    const char *near = count ? weiri_nearest(item, names, count) : NULL;
    char labels[200];
    list_labels(reader, labels, sizeof labels);
    return weiri_fail(WEIR_E_USAGE,
                      "%s: --%s: no channel %.60s%s%.60s%s; there are channels 0 to %llu%s",
                      reader->path, option, item, near ? ", did you mean " : "", near ? near : "",
                      near ? "?" : "", (unsigned long long)(reader->channel_count - 1), labels);
}

/* One item of a list: a number, a range of numbers, or a label. Numbers take precedence over
 * labels. */
static weir_err resolve(const weiri_reader *reader,
                        const char *option,
                        const char *item,
                        uint64_t *ret_first,
                        uint64_t *ret_last)
{
    size_t length = strlen(item);
    uint64_t first = 0, last = 0;
    const char *dash = strchr(item, '-');
    if (read_number(item, length, &first)) {
        last = first;
    } else if (!(dash && read_number(item, (size_t)(dash - item), &first) &&
                 read_number(dash + 1, strlen(dash + 1), &last))) {
        for (int blind = 0; reader->channels && blind < 2; blind++) {
            for (uint64_t i = 0; i < reader->channel_count; i++) {
                const char *label = reader->channels[i].label;
                if (blind ? weiri_equal_blind(label, item) : strcmp(label, item) == 0) {
                    *ret_first = *ret_last = i;
                    return WEIR_OK;
                }
            }
        }
        return unknown(reader, option, item);
    }
    if (first > last) {
        return weiri_fail(WEIR_E_USAGE, "%s: --%s: %.60s: the range is reversed", reader->path,
                          option, item);
    }
    if (last >= reader->channel_count) {
        return unknown(reader, option, item);
    }
    *ret_first = first;
    *ret_last = last;
    return WEIR_OK;
}

typedef struct listing {
    unsigned char *seen; /* one per channel */
    uint32_t *order;     /* channels in the listed order, each once */
    uint64_t count;
} listing;

static weir_err
read_list(const weiri_reader *reader, const char *option, const char *list, listing *ret)
{
    for (const char *at = list;;) {
        const char *end = at + strcspn(at, ",");
        const char *from = at + strspn(at, " \t");
        const char *to = end;
        while (to > from && (to[-1] == ' ' || to[-1] == '\t')) {
            to--;
        }
        char item[128];
        if (from >= to || (size_t)(to - from) >= sizeof item) {
            return weiri_fail(WEIR_E_USAGE, "%s: --%s: \"%.60s\": an item is empty or too long",
                              reader->path, option, list);
        }
        memcpy(item, from, (size_t)(to - from));
        item[to - from] = 0;
        uint64_t first = 0, last = 0;
        weir_err err = resolve(reader, option, item, &first, &last);
        if (err != WEIR_OK) {
            return err;
        }
        for (uint64_t i = first; i <= last; i++) {
            if (!ret->seen[i]) {
                ret->seen[i] = 1;
                ret->order[ret->count++] = (uint32_t)i;
            }
        }
        if (*end == 0) {
            return WEIR_OK;
        }
        at = end + 1;
    }
}

static weir_err new_listing(weiri_reader *reader, listing *ret)
{
    *ret = (listing){0};
    weir_err err = weiri_reader_get(reader, reader->channel_count, 1, &ret->seen);
    return err != WEIR_OK
               ? err
               : weiri_reader_get(reader, reader->channel_count, sizeof *ret->order, &ret->order);
}

static weir_err pick(weiri_reader *reader)
{
    const weir_recording_options *options = reader->options;
    reader->pick_count = reader->channel_count;
    if (options->channels == NULL && options->exclude == NULL) {
        return WEIR_OK;
    }
    if (reader->inner != 1) {
        return weiri_fail(WEIR_E_USAGE,
                          "%s: channels can only be selected in frames x channels; this array has "
                          "more dimensions",
                          reader->path);
    }
    listing picks, without = {0};
    weir_err err = new_listing(reader, &picks);
    if (err == WEIR_OK && options->exclude) {
        err = new_listing(reader, &without);
        if (err == WEIR_OK) {
            err = read_list(reader, "exclude", options->exclude, &without);
        }
    }
    if (err == WEIR_OK && options->channels) {
        err = read_list(reader, "channels", options->channels, &picks);
    } else if (err == WEIR_OK) {
        for (uint32_t i = 0; i < reader->channel_count; i++) {
            picks.order[picks.count++] = i;
        }
    }
    if (err != WEIR_OK) {
        return err;
    }
    uint64_t kept = 0;
    for (uint64_t i = 0; i < picks.count; i++) {
        if (without.seen == NULL || !without.seen[picks.order[i]]) {
            picks.order[kept++] = picks.order[i];
        }
    }
    if (kept == 0) {
        return weiri_fail(WEIR_E_USAGE, "%s: --exclude leaves no channel", reader->path);
    }
    reader->picks = picks.order;
    reader->pick_count = kept;
    return WEIR_OK;
}

static uint64_t channel_at(const weiri_reader *reader, uint64_t pick_number)
{
    return reader->picks ? reader->picks[pick_number] : pick_number;
}

static bool is_flawed(const weiri_reader *reader, uint64_t number)
{
    const weiri_channel *channel = &reader->channels[number];
    return channel->flaw && !(channel->flaw_of_scale && reader->options->counts);
}

/* A selected channel that cannot be read is an error that names it. For weir info (one_rate) it
 * is left out. */
static weir_err check_flaws(weiri_reader *reader)
{
    uint64_t count = 0, first = 0;
    for (uint64_t i = 0; reader->channels && i < reader->pick_count; i++) {
        bool flawed = is_flawed(reader, channel_at(reader, i));
        first = flawed && count == 0 ? channel_at(reader, i) : first;
        count += flawed;
    }
    if (count == 0) {
        return WEIR_OK;
    }
    const char *flaw = reader->channels[first].flaw;
    const char *raw = reader->channels[first].flaw_of_scale ? ", --raw delivers its counts" : "";
    if (!reader->options->one_rate || count == reader->pick_count) {
        return weiri_fail(WEIR_E_RECORDING, "%s: %s; --exclude %llu leaves it out%s",
                          reader->input.fd >= 0 ? reader->input.name : reader->path, flaw,
                          (unsigned long long)first, raw);
    }
    uint32_t *order = NULL;
    uint64_t kept = 0;
    weir_err err = weiri_reader_get(reader, reader->pick_count - count, sizeof *order, &order);
    for (uint64_t i = 0; err == WEIR_OK && i < reader->pick_count; i++) {
        if (!is_flawed(reader, channel_at(reader, i))) {
            order[kept++] = (uint32_t)channel_at(reader, i);
        }
    }
    if (err == WEIR_OK) {
        weiri_notice(&reader->notices, "%llu channels are left out: %s", (unsigned long long)count,
                     flaw);
        reader->picks = order;
        reader->pick_count = kept;
    }
    return err;
}

/* ---- one rate ------------------------------------------------------------------------------------- */

/* "100 Hz: 0-2 (EEG Fpz-Cz, ...); 1 Hz: 3-6 (...)": can be given to --channels directly. */
static void list_rates(const weiri_reader *reader, char *text, size_t size)
{
    size_t used = 0;
    text[0] = 0;
    for (uint64_t i = 0; i < reader->channel_count && used + 160 < size; i++) {
        double rate = reader->channels[i].rate_hz;
        bool named = false;
        for (uint64_t k = 0; k < i; k++) {
            named = named || reader->channels[k].rate_hz == rate;
        }
        named = named || reader->channels[i].rate_hz == 0; /* none of its values can be read */
        if (named) {
            continue;
        }
        used += (size_t)snprintf(text + used, size - used, "%s%g Hz: ", used ? "; " : "", rate);
        const char *comma = "";
        for (uint64_t k = i; k < reader->channel_count && used + 100 < size;) {
            uint64_t end = k;
            while (end < reader->channel_count && reader->channels[end].rate_hz == rate) {
                end++;
            }
            if (end > k + 1) {
                used += (size_t)snprintf(text + used, size - used, "%s%llu-%llu", comma,
                                         (unsigned long long)k, (unsigned long long)(end - 1));
            } else if (end > k) {
                used += (size_t)snprintf(text + used, size - used, "%s%llu (%.24s)", comma,
                                         (unsigned long long)k, reader->channels[k].label);
            }
            comma = end > k ? "," : comma;
            k = end > k ? end : k + 1;
        }
    }
}

/* Only the selected channels with that rate. */
static weir_err pick_rate(weiri_reader *reader, double rate_hz, const char *rates)
{
    uint32_t *order = NULL;
    uint64_t kept = 0;
    weir_err err = weiri_reader_get(reader, reader->pick_count, sizeof *order, &order);
    for (uint64_t i = 0; err == WEIR_OK && i < reader->pick_count; i++) {
        uint64_t number = channel_at(reader, i);
        if (reader->channels[number].rate_hz == rate_hz) {
            order[kept++] = (uint32_t)number;
        }
    }
    if (err == WEIR_OK) {
        weiri_notice(&reader->notices,
                     "channels of other rates are left out; select them with --channels: %s",
                     rates);
        reader->picks = order;
        reader->pick_count = kept;
    }
    return err;
}

static weir_err one_rate(weiri_reader *reader, double *ret_rate)
{
    if (reader->channels == NULL) {
        *ret_rate = reader->rate_hz;
        return WEIR_OK;
    }
    double rate = reader->channels[channel_at(reader, 0)].rate_hz;
    *ret_rate = rate;
    for (uint64_t i = 1; i < reader->pick_count; i++) {
        if (reader->channels[channel_at(reader, i)].rate_hz != rate) {
            char text[640];
            list_rates(reader, text, sizeof text);
            return reader->options->one_rate ? pick_rate(reader, rate, text)
                                             : weiri_fail(WEIR_E_USAGE,
                                                          "%s: channels of different rates must be "
                                                          "selected separately with --channels: %s",
                                                          reader->path, text);
        }
    }
    return WEIR_OK;
}

/* ---- dtype, labels, spec ---------------------------------------------------------------------------- */

/* DESIGN 3: f32 if every count stays distinct, else f64. */
static weir_dtype choose_dtype(const weiri_reader *reader)
{
    static const weiri_scale plain = {.numer = 1, .denom = 1};
    weiri_coding coding = reader->stored.coding;
    if (reader->options->counts || reader->stored.is_complex) {
        return weiri_stored_dtype(reader->stored);
    }
    bool narrow = true;
    for (uint64_t i = 0; i < reader->pick_count; i++) {
        const weiri_scale *scale = weiri_reader_scale(reader, channel_at(reader, i));
        scale = scale == NULL ? &plain : scale;
        bool same = scale->numer == scale->denom && scale->base == 0 && scale->offset == 0;
        if (!weiri_scale_fits_f32(scale, reader->stored) &&
            !(same && (coding == WEIRI_CODING_F32 || coding == WEIRI_CODING_F16))) {
            narrow = false;
        }
        if (reader->channels == NULL) {
            break;
        }
    }
    return narrow ? WEIR_F32 : WEIR_F64;
}

/* A complex value has no physical scale here. */
static weir_err check_complex(const weiri_reader *reader)
{
    bool looks = reader->stored.is_complex && reader->channels && !reader->options->counts;
    for (uint64_t i = 0; looks && i < reader->pick_count; i++) {
        const weiri_scale *scale = &reader->channels[channel_at(reader, i)].scale;
        if (scale->denom != 0 &&
            (scale->numer != scale->denom || scale->base != 0 || scale->offset != 0)) {
            return weiri_fail(WEIR_E_USAGE,
                              "%s: complex values with a scale are not read; --raw delivers them "
                              "as they are stored",
                              reader->path);
        }
    }
    return WEIR_OK;
}

static weir_err name_picks(weiri_reader *reader, const char ***ret_labels, const char ***ret_units)
{
    const char **labels = NULL, **units = NULL;
    double *scales = NULL;
    weir_err err = WEIR_OK;
    if (reader->channels || reader->picks) {
        err = weiri_reader_get(reader, reader->pick_count, sizeof *labels, &labels);
    }
    if (err == WEIR_OK && reader->channels) {
        err = weiri_reader_get(reader, reader->pick_count, sizeof *units, &units);
    }
    if (err == WEIR_OK && (reader->channels || reader->scale.denom != 0)) {
        err = weiri_reader_get(reader, reader->pick_count, sizeof *scales, &scales);
    }
    bool any_unit = false, any_scale = false;
    for (uint64_t i = 0; err == WEIR_OK && scales && i < reader->pick_count; i++) {
        const weiri_scale *scale = weiri_reader_scale(reader, channel_at(reader, i));
        scales[i] = scale == NULL ? 1 : scale->numer / scale->denom;
        any_scale = any_scale || scale != NULL;
    }
    for (uint64_t i = 0; err == WEIR_OK && labels && i < reader->pick_count; i++) {
        uint64_t number = channel_at(reader, i);
        if (reader->channels == NULL) {
            /* In a recording without labels the channel numbers become labels if some are left
             * out. */
            char text[24];
            snprintf(text, sizeof text, "%llu", (unsigned long long)number);
            err = weiri_reader_text(reader, text, strlen(text), &labels[i]);
            continue;
        }
        const weiri_channel *channel = &reader->channels[number];
        labels[i] = channel->label;
        units[i] = reader->options->counts ? "" : channel->unit;
        any_unit = any_unit || *units[i];
    }
    if (err == WEIR_OK) {
        *ret_labels = labels;
        *ret_units = any_unit ? units : NULL;
        reader->info.scales = any_scale ? scales : NULL;
    }
    return err;
}

weir_err weiri_reader_select(weiri_reader *reader)
{
    const weir_recording_options *options = reader->options;
    double start_s = isnan(options->start_s) ? 0 : options->start_s;
    if (!(start_s >= 0) || isinf(start_s)) {
        return weiri_fail(WEIR_E_USAGE, "%s: start %g s: must be 0 or more", reader->path, start_s);
    }
    if (!isnan(options->duration_s) && !(options->duration_s > 0)) {
        return weiri_fail(WEIR_E_USAGE, "%s: duration %g s: must be above 0", reader->path,
                          options->duration_s);
    }
    /* Without a start nothing is removed: a segment may begin before the first frame (S4). */
    reader->from_s = start_s > 0 ? start_s : -INFINITY;
    reader->to_s =
        isnan(options->duration_s) ? INFINITY : weiri_decimal_sum(start_s, options->duration_s);
    double rate_hz = 0;
    const char **labels = NULL, **units = NULL;
    weir_err err = reader->channels ? labels_unique(reader) : WEIR_OK;
    if (err == WEIR_OK) {
        err = pick(reader);
    }
    if (err == WEIR_OK) {
        err = check_flaws(reader);
    }
    if (err == WEIR_OK) {
        err = check_complex(reader);
    }
    if (err == WEIR_OK) {
        err = one_rate(reader, &rate_hz);
    }
    /* 1 / rate is a step. */
    if (err == WEIR_OK && !(rate_hz >= LEAST_RATE && rate_hz <= MOST_RATE)) {
        err = weiri_fail(options->rate_hz != 0 ? WEIR_E_USAGE : WEIR_E_RECORDING,
                         "%s: a rate of %g Hz: expected %g to %g", reader->path, rate_hz,
                         LEAST_RATE, MOST_RATE);
    }
    if (err == WEIR_OK) {
        err = name_picks(reader, &labels, &units);
    }
    if (err == WEIR_OK) {
        reader->info.spec =
            weir_spec_make(choose_dtype(reader), rate_hz, reader->pick_count, labels, units);
    }
    return err;
}

bool weiri_reader_within(const weiri_reader *reader, double whole_s)
{
    double start_s = isnan(reader->options->start_s) ? 0 : reader->options->start_s;
    double end_s = weiri_decimal_sum(start_s, reader->options->duration_s); /* NAN: to the end */
    return start_s >= 0 && end_s <= whole_s * (1 + 1e-12);
}

/* ---- time ------------------------------------------------------------------------------------------- */

/* First frame of a segment at or after a time: ceil(time x rate) in decimals (S3: 0.1 s at 30
 * kHz is frame 3000), so that selections which are adjacent in time are adjacent in frames. A
 * later segment's start is known to the nanosecond only, or, after years, to the precision of a
 * double: a frame within that distance counts. */
static uint64_t frame_at(const weiri_reader *reader, const weir_segment *segment, double s)
{
    double rate_hz = reader->info.spec.rate_hz;
    if (segment->start_ns == reader->first_ns) {
        return weiri_frames_ceil(s, rate_hz);
    }
    double after_ns = s * 1e9 - ((double)segment->start_ns - (double)reader->first_ns);
    double near_s = fmax(1e-9, s * 0x1p-51);
    double frame = ceil(after_ns * 1e-9 * rate_hz - fmin(near_s * rate_hz, 0.5));
    return frame <= 0 ? 0 : frame >= 9e18 ? UINT64_MAX - 1 : (uint64_t)frame;
}

void weiri_reader_window(const weiri_reader *reader,
                         const weir_segment *segment,
                         uint64_t *ret_first,
                         uint64_t *ret_frames)
{
    uint64_t first = frame_at(reader, segment, reader->from_s);
    uint64_t end = isinf(reader->to_s) ? UINT64_MAX : frame_at(reader, segment, reader->to_s);
    if (segment->frames != WEIR_FRAMES_UNKNOWN && end > segment->frames) {
        end = segment->frames;
    }
    *ret_first = first;
    *ret_frames = end == UINT64_MAX ? WEIR_FRAMES_UNKNOWN : end > first ? end - first : 0;
}
