/* SPDX-License-Identifier: MIT
 *
 * decimal.c: see decimal.h. Fractions have 64 bits over 64, so that the product of two has 128.
 */
#include "base/decimal.h"

#include <math.h>

__extension__ typedef unsigned __int128 wide;

/* Of 256 doubles that are no fraction one has over * under below this by chance; the others' are near 2^53.
 * 2^45: frames / rate is found again up to 10 hours at 30 kHz. */
#define SIMPLE ((wide)1 << 45)

static wide common(wide a, wide b)
{
    while (b != 0) {
        wide rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static uint64_t fit(wide value)
{
    return value > UINT64_MAX ? UINT64_MAX : (uint64_t)value;
}

/* ---- meaning of a double -------------------------------------------------------------------- */

/* Its shortest decimal; false: too many places for 64 bits. */
static bool as_decimal(double number, weiri_fraction *ret)
{
    char text[40];
    const char *at = weiri_number_write(number, text, sizeof text);
    uint64_t digits = 0;
    int power = 0;
    bool point = false;
    for (; (*at >= '0' && *at <= '9') || *at == '.'; at++) {
        if (*at == '.') {
            point = true;
            continue;
        }
        digits = digits * 10 + (uint64_t)(*at - '0');
        power -= point ? 1 : 0;
    }
    if (*at == 'e') {
        bool down = at[1] == '-';
        int exponent = 0;
        for (at += 2; *at >= '0' && *at <= '9'; at++) {
            exponent = exponent * 10 + (*at - '0');
        }
        power += down ? -exponent : exponent;
    }
    weiri_fraction f = {digits, 1};
    for (; power > 0; power--) {
        if (!weiri_mul(f.over, 10, &f.over)) {
            return false;
        }
    }
    for (; power < 0; power++) {
        if (f.over % 10 == 0) {
            f.over /= 10;
        } else if (!weiri_mul(f.under, 10, &f.under)) {
            return false;
        }
    }
    uint64_t divisor = (uint64_t)common(f.over, f.under);
    *ret = (weiri_fraction){f.over / divisor, f.under / divisor};
    return true;
}

/* The fraction with the least denominator between the neighbours' midpoints, by its continued fraction.
 * Where 64 bits do not hold it, the last convergent before it: nearer than 2^-64 of the number. */
static weiri_fraction simplest(double number)
{
    int exponent;
    uint64_t mantissa = (uint64_t)ldexp(frexp(number, &exponent), 53);
    /* number = mantissa * 2^(exponent - 53), 2^-63 <= number < 2^53. The ends are in quarters of its last
     * bit; below a power of two the next double is half as far. */
    unsigned half = mantissa == UINT64_C(1) << 52 ? 1 : 2;
    wide low = (wide)mantissa * 4 - half, high = (wide)mantissa * 4 + half;
    wide low_under = (wide)1 << (55 - exponent), high_under = low_under; /* 2^2 to 2^117 */
    weiri_fraction before = {0, 1}, f = {1, 0};
    for (;;) {
        wide whole = low / low_under;
        bool last = (whole + 1) * high_under < high;
        wide term = last ? whole + 1 : whole;
        if (term > UINT64_MAX || term * f.over + before.over > UINT64_MAX ||
            term * f.under + before.under > UINT64_MAX) {
            return f;
        }
        weiri_fraction next = {(uint64_t)term * f.over + before.over,
                               (uint64_t)term * f.under + before.under};
        before = f;
        f = next;
        if (last) {
            return f;
        }
        wide rest = low - whole * low_under;
        low = high_under;
        wide under = high - whole * high_under;
        high = low_under;
        low_under = under;
        high_under = rest;
    }
}

weiri_fraction weiri_fraction_of(double number)
{
    if (number >= 0x1p53) {
        return (weiri_fraction){number < 0x1p64 ? (uint64_t)number : UINT64_MAX, 1};
    }
    if (!(number >= 0x1p-63)) {
        return (weiri_fraction){0, 1};
    }
    weiri_fraction f = simplest(number);
    if ((wide)f.over * f.under >= SIMPLE) {
        (void)as_decimal(number, &f);
    }
    return f;
}

/* ---- arithmetic ------------------------------------------------------------------------------- */

weiri_fraction weiri_frames_exact(double duration_s, double rate_hz)
{
    weiri_fraction a = weiri_fraction_of(duration_s), b = weiri_fraction_of(rate_hz);
    wide over = (wide)a.over * b.over, under = (wide)a.under * b.under;
    wide divisor = common(over, under);
    over /= divisor;
    under /= divisor;
    if (over > UINT64_MAX || under > UINT64_MAX) {
        return weiri_fraction_of(duration_s * rate_hz);
    }
    return (weiri_fraction){(uint64_t)over, (uint64_t)under};
}

/* One division after the other gives the same floor, and needs no 256 bits. */
uint64_t weiri_frames_floor(double duration_s, double rate_hz)
{
    weiri_fraction a = weiri_fraction_of(duration_s), b = weiri_fraction_of(rate_hz);
    return fit((wide)a.over * b.over / a.under / b.under);
}

uint64_t weiri_frames_ceil(double duration_s, double rate_hz)
{
    weiri_fraction a = weiri_fraction_of(duration_s), b = weiri_fraction_of(rate_hz);
    wide product = (wide)a.over * b.over;
    return product == 0 ? 0 : fit((product - 1) / a.under / b.under + 1);
}

uint64_t weiri_fraction_times(weiri_fraction fraction, uint64_t times)
{
    uint64_t product = 0; /* the processor divides 64 bits, a call 128 */
    return !__builtin_mul_overflow(fraction.over, times, &product)
               ? product / fraction.under
               : fit((wide)fraction.over * times / fraction.under);
}

uint64_t weiri_decimation(double rate_hz, double target_hz)
{
    weiri_fraction rate = weiri_fraction_of(rate_hz), target = weiri_fraction_of(target_hz);
    wide under = (wide)rate.under * target.over;
    uint64_t k = under == 0 ? 0 : fit((wide)rate.over * target.under / under);
    if (k < UINT64_MAX && rate_hz / ((double)k + 1.0) == target_hz) {
        k++;
    }
    return k > 0 ? k : 1;
}

int64_t weiri_frames_ns(int64_t frame, weiri_fraction rate_hz)
{
    uint64_t frames = frame < 0 ? -(uint64_t)frame : (uint64_t)frame;
    if (rate_hz.over == 0) {
        return frame < 0 ? INT64_MIN : frame > 0 ? INT64_MAX : 0;
    }
    wide scaled = (wide)frames * rate_hz.under; /* seconds times rate_hz.over */
    wide rest = scaled % rate_hz.over * 1000000000 + rate_hz.over / 2;
    wide seconds = scaled / rate_hz.over;
    seconds = seconds < INT64_MAX ? seconds : INT64_MAX;
    wide ns = seconds * 1000000000 + rest / rate_hz.over;
    int64_t clamped = ns < INT64_MAX ? (int64_t)ns : INT64_MAX;
    return frame < 0 ? -clamped : clamped;
}

int64_t weiri_ns_sum(int64_t a, int64_t b)
{
    if (b > 0 && a > INT64_MAX - b) {
        return INT64_MAX;
    }
    return b < 0 && a < INT64_MIN - b ? INT64_MIN : a + b;
}

/* The quotient of two whole numbers that doubles hold is the double nearest to it. */
static bool quotient(wide over, wide under, double *ret)
{
    wide divisor = common(over, under);
    over /= divisor;
    under /= divisor;
    double a = (double)over, b = (double)under;
    if (a >= 0x1p127 || b >= 0x1p127 || (wide)a != over || (wide)b != under) {
        return false;
    }
    *ret = a / b;
    return true;
}

double weiri_decimal_sum(double a, double b)
{
    weiri_fraction x = weiri_fraction_of(a), y = weiri_fraction_of(b);
    wide left = (wide)x.over * y.under, right = (wide)y.over * x.under, sum = left + right;
    double exact;
    bool fits = sum >= left && a >= 0 && b >= 0 && a < 0x1p64 && b < 0x1p64;
    return fits && quotient(sum, (wide)x.under * y.under, &exact) ? exact : a + b;
}

double weiri_decimal_scaled(double number, uint64_t times, uint64_t divide_by)
{
    double size = fabs(number), exact = size * (double)times / (double)divide_by;
    if (size >= 0x1p-63 && size < 0x1p64) {
        weiri_fraction x = weiri_fraction_of(size);
        (void)quotient((wide)x.over * times, (wide)x.under * divide_by, &exact);
    }
    return copysign(exact, number);
}
