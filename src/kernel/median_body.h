/* SPDX-License-Identifier: MIT
 *
 * median_body.h: the body of median.c for one type of sample: included once with T = float, once
 * with T = double. T_MAX is its largest finite value, T_INDEX a signed integer of the same width,
 * T_MOST its largest value, NAME(x) the kernel's name, VECTOR, INDEX, PS, STEP_OF, TURN and SIDE as
 * in median.c. Intentionally without include guard.
 */

#define LANES (WEIRI_VECTOR / sizeof(T))
#define ALIGN __attribute__((aligned(WEIRI_VECTOR)))

/* The search in each lane. The value of the given rank (from 0) is one of the values a to b:
 * `before` values are less than a, `upto` are at most b, and the least above b is `beyond`. */
typedef struct NAME(search) {
    T_INDEX good[LANES] ALIGN, rank[LANES] ALIGN, before[LANES] ALIGN, upto[LANES] ALIGN;
    T a[LANES] ALIGN, b[LANES] ALIGN, beyond[LANES] ALIGN, guess[LANES] ALIGN;
} NAME(search);

/* Missing values become infinite, the others are counted and added. */
static void
NAME(leave_out)(T *values, size_t count, INDEX *ret_good, VECTOR *ret_ends, VECTOR *ret_sum)
{
    const VECTOR none = (VECTOR){0}, infinite = none + (T)INFINITY, most = none + T_MAX;
    VECTOR least = infinite, largest = -infinite, unused = infinite, sum = none;
    INDEX good = (INDEX){0};
    for (size_t i = 0; i < count; i++) {
        VECTOR *value = (VECTOR *)(values + i * LANES);
        INDEX present = (INDEX)(*value <= most) & (INDEX)(*value >= -most);
        sum += (VECTOR)((INDEX)*value & present);
        *value = (VECTOR)weiri_blend((weiri_bits)present, (weiri_bits)*value, (weiri_bits)infinite);
        STEP_OF(*value, most, &good, &largest, &unused);
        least = LEAST_OF(PS, *value, least);
    }
    *ret_good = good;
    ret_ends[0] = least;
    ret_ends[1] = largest;
    *ret_sum = sum;
}

/* Both ends and the mean, which is the first guess. Values [count x LANES]. A sum that is not finite says that
 * something may be missing. */
static void NAME(start)(T *values, size_t count, NAME(search) * s)
{
    const VECTOR none = (VECTOR){0}, infinite = none + (T)INFINITY;
    VECTOR ends[2] = {infinite, -infinite}, sum[2] = {none, none};
    INDEX good = (INDEX){0} + (T_INDEX)count;
    for (size_t i = 0; i < count;
         i += 2) { /* two sums, for their latency; of an odd count one twice */
        VECTOR x = *(const VECTOR *)(values + i * LANES);
        VECTOR y = *(const VECTOR *)(values + (i + 1 < count ? i + 1 : i) * LANES);
        ends[0] = LEAST_OF(PS, y, LEAST_OF(PS, x, ends[0]));
        ends[1] = LARGEST_OF(PS, y, LARGEST_OF(PS, x, ends[1]));
        sum[0] += x;
        sum[1] += y;
    }
    sum[0] += sum[1];
    if (!weiri_all_ones((weiri_bits)(sum[0] * (T)0 == none))) {
        NAME(leave_out)(values, count, &good, ends, sum);
    }
    memcpy(s->good, &good, sizeof good);
    memcpy(s->a, &ends[0], sizeof ends[0]);
    memcpy(s->b, &ends[1], sizeof ends[1]);
    memcpy(s->guess, sum, sizeof sum[0]);
    for (size_t i = 0; i < LANES; i++) {
        s->rank[i] = (s->good[i] - 1) / 2;
        s->before[i] = 0;
        s->upto[i] = s->good[i];
        s->beyond[i] = (T)INFINITY;
        s->guess[i] /= (T)s->good[i];
    }
}

/* A value between a and b that halves those that floats have there: in order they are integers in order, but that
 * the negative ones count down. */
static inline T NAME(halfway)(T a, T b)
{
    T_INDEX x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    x ^= (x < 0 ? -1 : 0) & T_MOST;
    y ^= (y < 0 ? -1 : 0) & T_MOST;
    T_INDEX middle = (x & y) + ((x ^ y) >> 1);
    middle ^= (middle < 0 ? -1 : 0) & T_MOST;
    T value;
    memcpy(&value, &middle, sizeof value);
    return value;
}

/* Guesses for the next pass, each a <= guess < b. False: all lanes are done: the result is a or
 * b, and for an even number of values the next one is known too. */
static bool NAME(guess)(NAME(search) * s, int pass)
{
    T_INDEX open = 0;
    for (size_t i = 0; i < LANES; i++) {
        T a = s->a[i], b = s->b[i];
        T_INDEX before = s->before[i], upto = s->upto[i], rank = s->rank[i];
        T_INDEX odd = s->good[i] & 1;
        T_INDEX at_a = before == rank ? 1 : 0;
        T share = ((T)(rank - before) + (T)0.5) / (T)(upto - before);
        T guess = pass == 0 ? s->guess[i] : a + (b - a) * share;
        guess = at_a ? a : guess;
        guess = guess < b ? guess : a; /* NaN too, where b - a is too large */
        s->guess[i] = guess > a ? guess : a;
        open += (a < b ? 1 : 0) & (upto != rank + 1 ? 1 : 0) & (1 - (at_a & odd));
    }
    for (size_t i = 0; pass > PASSES && pass % 2 == 1 && i < LANES; i++) {
        T guess = NAME(halfway)(s->a[i], s->b[i]);
        s->guess[i] = s->a[i] < guess && guess < s->b[i] ? guess : s->guess[i];
    }
    return open > 0;
}

static void NAME(pass)(const T *values, size_t count, NAME(search) * s)
{
    const VECTOR v = *(const VECTOR *)s->guess, infinite = (VECTOR){0} + (T)INFINITY;
    VECTOR below[2] = {-infinite, -infinite}, above[2] = {infinite, infinite};
    INDEX upto[2] = {{0}, {0}};
    size_t i = 0;
    for (; i + 2 <= count; i += 2) { /* two, for their latency */
        STEP_OF(*(const VECTOR *)(values + i * LANES), v, &upto[0], &below[0], &above[0]);
        STEP_OF(*(const VECTOR *)(values + i * LANES + LANES), v, &upto[1], &below[1], &above[1]);
    }
    if (i < count) {
        STEP_OF(*(const VECTOR *)(values + i * LANES), v, &upto[0], &below[0], &above[0]);
    }
    T_INDEX n[LANES] ALIGN;
    T low[2][LANES] ALIGN, high[2][LANES] ALIGN;
    upto[0] += upto[1];
    memcpy(n, upto, sizeof n);
    memcpy(low, below, sizeof low);
    memcpy(high, above, sizeof high);
    for (size_t k = 0; k < LANES; k++) {
        T largest = low[0][k] > low[1][k] ? low[0][k] : low[1][k];
        T least = high[0][k] < high[1][k] ? high[0][k] : high[1][k];
        bool up = n[k] <= s->rank[k]; /* what is searched for is above the guess */
        s->a[k] = up ? least : s->a[k];
        s->before[k] = up ? n[k] : s->before[k];
        s->b[k] = up ? s->b[k] : largest;
        s->upto[k] = up ? s->upto[k] : n[k];
        s->beyond[k] = up ? s->beyond[k] : least;
    }
}

/* The median of each lane's good values, or of an even number the two in the middle; low = high for an odd one.
 * + 0 makes -0 and what counts as 0 (S6) one value. */
static void NAME(middle)(T *values, size_t count, NAME(search) * s, T *ret_low, T *ret_high)
{
    NAME(start)(values, count, s);
    for (int pass = 0; NAME(guess)(s, pass); pass++) {
        NAME(pass)(values, count, s);
    }
    for (size_t i = 0; i < LANES; i++) {
        T low = s->before[i] == s->rank[i] ? s->a[i] : s->b[i];
        bool apart = s->good[i] % 2 == 0 && s->upto[i] == s->rank[i] + 1;
        ret_low[i] = low + (T)0;
        ret_high[i] = (apart ? s->beyond[i] : low) + (T)0;
    }
}

/* ---- of columns ---------------------------------------------------------------------------------- */

void NAME(reduce_median)(const T *rows, size_t frames, size_t columns, void *scratch, double *ret)
{
    T *values = scratch;
    for (size_t first = 0; first < columns; first += LANES) {
        size_t lanes = columns - first < LANES ? columns - first : LANES;
        NAME(search) s;
        T low[LANES] ALIGN, high[LANES] ALIGN;
        for (size_t f = 0; f < frames && lanes == LANES; f++) {
            memcpy(values + f * LANES, rows + f * columns + first, LANES * sizeof(T));
        }
        for (size_t i = 0; i < frames * LANES && lanes < LANES; i++) {
            size_t lane = i % LANES < lanes ? i % LANES : lanes - 1;
            values[i] = rows[i / LANES * columns + first + lane];
        }
        NAME(middle)(values, frames, &s, low, high);
        for (size_t i = 0; i < lanes; i++) {
            ret[first + i] =
                s.good[i] == 0 ? (double)NAN : 0.5 * (double)low[i] + 0.5 * (double)high[i];
        }
    }
}

/* ---- of rows ------------------------------------------------------------------------------------- */

/* Some rows as lanes; if there are fewer, the last one several times. */
static void NAME(turn)(
    const T *rows, size_t stride, size_t frames, const uint32_t *members, size_t count, T *values)
{
    for (size_t f = 0; f < LANES; f += SIDE) {
        const T *row[SIDE];
        for (size_t i = 0; i < SIDE; i++) {
            row[i] = rows + (f + i < frames ? f + i : frames - 1) * stride;
        }
        size_t at = 0;
        for (; members == NULL && at + SIDE <= count; at += SIDE) {
            TURN(row, at, values + at * LANES + f, LANES);
        }
        for (; at < count; at++) {
            for (size_t i = 0; i < SIDE; i++) {
                values[at * LANES + f + i] = row[i][members == NULL ? at : members[at]];
            }
        }
    }
}

/* Next to the middle of an odd number in order, below and above: the same again, or another value. */
static void NAME(next)(const T *values, size_t count, size_t lane, T middle, size_t good, T *ret)
{
    size_t less = 0, more = 0;
    ret[0] = -(T)INFINITY;
    ret[1] = (T)INFINITY;
    for (size_t i = 0; i < count; i++) {
        T x = values[i * LANES + lane];
        less += x < middle ? 1 : 0;
        more += x > middle && x <= T_MAX ? 1 : 0;
        ret[0] = x < middle && x > ret[0] ? x : ret[0];
        ret[1] = x > middle && x < ret[1] ? x : ret[1];
    }
    ret[0] = less == good / 2 ? ret[0] + (T)0 : middle;
    ret[1] = more == good / 2 ? ret[1] + (T)0 : middle;
}

static inline T NAME(between)(T a, T b)
{
    T sum = a + b;
    return fabs((double)sum) <= (double)T_MAX ? sum / 2 : a / 2 + b / 2;
}

static void NAME(shift_by)(const T *values,
                           size_t count,
                           size_t lane,
                           size_t good,
                           T low,
                           T high,
                           bool others,
                           weiri_shift *ret)
{
    T near[2];
    ret->gain = 1.0;
    ret->less = ret->pivot = 0.0;
    if (good > 0 && !others) {
        ret->less = (double)NAME(between)(low, high);
    }
    ret->below = ret->above = ret->less;
    if (good < 2 || !others) {
        return;
    }
    ret->pivot = (double)high;
    if (good % 2 == 0) { /* an odd number is left: the middle is one of two */
        ret->below = (double)high;
        ret->less = ret->above = (double)low;
    } else {
        NAME(next)(values, count, lane, low, good, near);
        ret->below = (double)NAME(between)(low, near[1]);
        ret->less = (double)NAME(between)(near[0], near[1]);
        ret->above = (double)NAME(between)(near[0], low);
    }
}

void NAME(medians)(const T *rows,
                   size_t stride,
                   size_t frames,
                   const uint32_t *members,
                   size_t count,
                   bool others,
                   void *scratch,
                   weiri_shift *ret)
{
    T *values = scratch;
    for (size_t first = 0; first < frames; first += LANES) {
        size_t some = frames - first < LANES ? frames - first : LANES;
        NAME(search) s;
        T low[LANES] ALIGN, high[LANES] ALIGN;
        NAME(turn)(rows + first * stride, stride, some, members, count, values);
        NAME(middle)(values, count, &s, low, high);
        for (size_t i = 0; i < some; i++) {
            NAME(shift_by)
            (values, count, i, (size_t)s.good[i], low[i], high[i], others, ret + first + i);
        }
    }
}

#undef LANES
#undef ALIGN
