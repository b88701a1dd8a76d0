/* SPDX-License-Identifier: MIT
 *
 * windows.c: see windows.h. Every window but one is symmetric, so a function here writes the first half only, the
 * middle included; the other half is its mirror image, exactly.
 */
#include "dsp/windows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "dsp/bessel.h"

/* What a window is computed from: length is that of the symmetric window. */
typedef struct shape {
    const double *params;
    size_t params_count;
    size_t length;  /* 2.. */
    size_t written; /* samples that there is memory for: length, or one less */
    size_t half;    /* samples to write: (length + 1) / 2 */
} shape;

typedef void fill_fn(const shape *s, double *w);

/* ---- sums of cosines ------------------------------------------------------------------------------ */

/* sum of a[k] cos(k t), t from -pi to pi. */
static void cosines(const shape *s, const double *a, size_t count, double *w)
{
    for (size_t i = 0; i < s->half; i++) {
        double t = 2.0 * M_PI * (double)i / (double)(s->length - 1) - M_PI;
        double sum = 0.0;
        for (size_t k = 0; k < count; k++) {
            sum += a[k] * cos((double)k * t);
        }
        w[i] = sum;
    }
}

#define COSINES(name, ...)                                                                         \
    static void name(const shape *s, double *w)                                                    \
    {                                                                                              \
        static const double a[] = {__VA_ARGS__};                                                   \
        cosines(s, a, sizeof a / sizeof a[0], w);                                                  \
    }
COSINES(hann, 0.5, 0.5)
COSINES(hamming, 0.54, 1.0 - 0.54)
COSINES(blackman, 0.42, 0.5, 0.08)
COSINES(nuttall, 0.3635819, 0.4891775, 0.1365995, 0.0106411)
COSINES(blackmanharris, 0.35875, 0.48829, 0.14128, 0.01168)
COSINES(flattop, 0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368)

static void general_cosine(const shape *s, double *w)
{
    cosines(s, s->params, s->params_count, w);
}

static void general_hamming(const shape *s, double *w)
{
    double a[2] = {s->params[0], 1.0 - s->params[0]};
    cosines(s, a, 2, w);
}

/* ---- a formula of the sample's place -------------------------------------------------------------- */

/* Distance from the middle, as a part of the half width: 1 at the end, 0 in the middle. */
static double from_middle(const shape *s, size_t i)
{
    double end = (double)(s->length - 1);
    return (end - 2.0 * (double)i) / end;
}

#define EACH(name, expression)                                                                     \
    static void name(const shape *s, double *w)                                                    \
    {                                                                                              \
        double m = (double)s->length, end = m - 1.0;                                               \
        (void)end;                                                                                 \
        (void)m;                                                                                   \
        for (size_t i = 0; i < s->half; i++) {                                                     \
            double n = (double)i, u = from_middle(s, i);                                           \
            (void)n;                                                                               \
            (void)u;                                                                               \
            w[i] = (expression);                                                                   \
        }                                                                                          \
    }

static double sinc(double x)
{
    return x == 0.0 ? 1.0 : sin(M_PI * x) / (M_PI * x);
}

static double parzen_of(double part) /* 0 in the middle, 1 half a sample past the end */
{
    double rest = 1.0 - part;
    return 1.0 - 6.0 * part * part * rest;
}

EACH(boxcar, 1.0)
EACH(bartlett, 1.0 - u)
EACH(triangle, fmod(m, 2.0) == 0.0 ? (2.0 * n + 1.0) / m : 2.0 * (n + 1.0) / (m + 1.0))
EACH(barthann, 0.62 - 0.24 * u + 0.38 * cos(M_PI * u))
EACH(bohman, i == 0 ? 0.0 : (1.0 - u) * cos(M_PI * u) + sin(M_PI * u) / M_PI)
EACH(cosine, sin(M_PI *(n + 0.5) / m))
EACH(lanczos, sinc(u))
EACH(parzen,
     u <= 0.5 ? parzen_of(u * end / m)
              : 2.0 * (1.0 - u * end / m) * (1.0 - u * end / m) * (1.0 - u * end / m))
EACH(gaussian, exp(-0.5 * pow(0.5 * u * end / s->params[0], 2.0)))
EACH(general_gaussian, exp(-0.5 * pow(0.5 * u * end / fabs(s->params[1]), 2.0 * s->params[0])))
EACH(kaiser,
     (double)(weiri_bessel_i0((long double)s->params[0] * sqrtl((1.0L - u) * (1.0L + u))) /
              weiri_bessel_i0(s->params[0])))

static void tukey(const shape *s, double *w)
{
    double taper = s->params_count > 0 ? s->params[0] : 0.5, end = (double)(s->length - 1);
    if (taper >= 1.0) {
        hann(s, w);
        return;
    }
    for (size_t i = 0; i < s->half; i++) {
        double n = (double)i;
        bool flat = taper <= 0.0 || n > floor(taper * end / 2.0);
        w[i] = flat ? 1.0 : 0.5 * (1.0 + cos(M_PI * (2.0 * n / taper / end - 1.0)));
    }
}

/* The one that need not be symmetric: all samples. */
static void exponential(const shape *s, double *w)
{
    double center = s->params_count > 0 ? s->params[0] : NAN;
    double tau = s->params_count > 1 ? s->params[1] : 1.0;
    center = isnan(center) ? (double)(s->length - 1) / 2.0 : center;
    for (size_t i = 0; i < s->written; i++) {
        w[i] = exp(-fabs((double)i - center) / tau);
    }
}

/* ---- more than a formula -------------------------------------------------------------------------- */

static void kaiser_bessel_derived(const shape *s, double *w)
{
    shape inner = {.params = s->params, .params_count = 1, .length = s->half + 1};
    long double sum = 0.0L;
    inner.half = inner.length;
    kaiser(
        &inner,
        w); /* half + 1 samples: there is memory for 2 half; past the middle u < 0, and only u^2 counts */
    for (size_t i = 0; i <= s->half; i++) {
        sum += w[i];
    }
    long double so_far = 0.0L;
    for (size_t i = 0; i < s->half; i++) {
        so_far += w[i];
        w[i] = (double)sqrtl(so_far / sum);
    }
}

/* Taylor window: sidelobes of nearly equal height, nbar of them (Carrara, Goodman, Majewski: Spotlight
 * Synthetic Aperture Radar, 1995, appendix D.2). */
static void taylor(const shape *s, double *w)
{
    double nbar = s->params_count > 0 ? s->params[0] : 4.0;
    double level = s->params_count > 1 ? s->params[1] : 30.0;
    bool normal = s->params_count <= 2 || s->params[2] != 0.0;
    double a = acosh(pow(10.0, level / 20.0)) / M_PI;
    double stretch = nbar * nbar / (a * a + (nbar - 0.5) * (nbar - 0.5));
    double m_all = (double)s->length;
    long double middle = 1.0L;
    for (size_t i = 0; i < s->half; i++) {
        w[i] = 1.0;
    }
    for (double m = 1.0; m < nbar; m++) {
        double above = 1.0, below = 2.0;
        for (double k = 1.0; k < nbar; k++) {
            above *= 1.0 - m * m / stretch / (a * a + (k - 0.5) * (k - 0.5));
            below *= k == m ? 1.0 : 1.0 - m * m / (k * k);
        }
        double f = (fmod(m, 2.0) == 1.0 ? above : -above) / below;
        for (size_t i = 0; i < s->half; i++) {
            w[i] += 2.0 * f * cos(2.0 * M_PI * m * ((double)i - m_all / 2.0 + 0.5) / m_all);
        }
        middle += 2.0L * f;
    }
    for (size_t i = 0; normal && i < s->half; i++) {
        w[i] = (double)(w[i] / middle);
    }
}

/* Chebyshev polynomial of odd or even order at x. */
static long double chebyshev(long double order, long double x)
{
    if (fabsl(x) <= 1.0L) {
        return cosl(order * acosl(x));
    }
    long double value = coshl(order * acoshl(fabsl(x)));
    return x < 0.0L && fmodl(order, 2.0L) == 1.0L ? -value : value;
}

/* Dolph-Chebyshev: the window whose spectrum is a Chebyshev polynomial, so that all sidelobes are equally low. Its
 * spectrum is real and even about the middle, so half of it is transformed, by turning a phasor in long double:
 * after 10,000 turns it is off by 1e-15. */
static void chebwin(const shape *s, double *w)
{
    long double length = s->length, order = length - 1.0L;
    long double level = powl(10.0L, fabsl((long double)s->params[0]) / 20.0L);
    long double beta = coshl(acoshl(level) / order);
    size_t lines = (s->length - 1) / 2;
    /* The spectrum is in the memory of the mirrored half; where one sample is shared, it is written last. */
    double *spectrum = w + (s->length - 1 - lines);
    long double peak = 0.0L;
    for (size_t k = 1; k <= lines; k++) {
        long double at = (long double)k * (long double)M_PIl / length;
        spectrum[k - 1] = (double)(chebyshev(order, beta * cosl(at)) / level);
    }
    for (size_t i = 0; i < s->half; i++) {
        long double angle = (long double)M_PIl * (long double)(s->length - 1 - 2 * i) / length;
        long double c = cosl(angle), d = sinl(angle), x = 1.0L, y = 0.0L, sum = 1.0L;
        for (size_t k = 0; k < lines; k++) {
            long double turned = x * c - y * d;
            y = x * d + y * c;
            x = turned;
            sum += 2.0L * spectrum[k] * x;
        }
        w[i] = (double)sum;
        peak = sum > peak ? sum : peak;
    }
    for (size_t i = 0; i < s->half; i++) {
        w[i] = (double)(w[i] / peak);
    }
}

/* The first discrete prolate spheroidal sequence: the eigenvector of the largest eigenvalue of a tridiagonal
 * matrix (Percival and Walden: Spectral Analysis for Physical Applications, 1993, 8.3), which is symmetric, positive
 * and rises to the middle. */
static long double dpss_diagonal(const shape *s, size_t i)
{
    long double at = (long double)(s->length - 1 - 2 * i) / 2.0L;
    return at * at * cosl(2.0L * (long double)M_PIl * s->params[0] / (long double)s->length);
}

static long double dpss_beside(const shape *s, size_t i) /* between i - 1 and i */
{
    return (long double)i * (long double)(s->length - i) / 2.0L;
}

/* Whether value is above every eigenvalue of the matrix of symmetric vectors; and, where w is not NULL, the ratios of
 * an eigenvector's elements, each to the next. Towards the middle, where it rises, they are well determined. */
static bool dpss_is_above(const shape *s, long double value, double *w)
{
    long double turn = cosl(2.0L * (long double)M_PIl * s->params[0] / (long double)s->length);
    long double ratio = 0.0L;
    for (size_t i = 0; i + 1 < s->half; i++) {
        long double at = (long double)(s->length - 1 - 2 * i) / 2.0L;
        long double pivot = value - at * at * turn - dpss_beside(s, i) * ratio;
        if (pivot <= 0.0L) {
            return false;
        }
        ratio = dpss_beside(s, i + 1) / pivot;
        if (w != NULL) {
            w[i] = (double)ratio;
        }
    }
    /* the middle's other neighbour is its own double (even length), or its neighbour's (odd) */
    size_t last = s->half - 1;
    long double other =
        s->length % 2 == 0 ? dpss_beside(s, last + 1) : dpss_beside(s, last) * ratio;
    return value - dpss_diagonal(s, last) - dpss_beside(s, last) * ratio - other > 0.0L;
}

static void dpss(const shape *s, double *w)
{
    long double length = s->length, low = 0.0L;
    /* Gershgorin: no row's sum is above length^2 / 2 */
    long double high = length * length / 2.0L + 1.0L;
    low = -high;
    for (int i = 0; i < 80; i++) {
        long double middle = low + (high - low) / 2.0L;
        if (dpss_is_above(s, middle, NULL)) {
            high = middle;
        } else {
            low = middle;
        }
    }
    (void)dpss_is_above(s, high, w);
    /* SciPy's norm "approximate": the greatest sample of an even length is a bit below the middle's 1 */
    double peak =
        s->length % 2 == 0 ? (double)(length * length / (length * length + s->params[0])) : 1.0;
    w[s->half - 1] = peak;
    for (size_t i = s->half - 1; i-- > 0;) {
        w[i] *= w[i + 1];
    }
}

/* ---- the table ------------------------------------------------------------------------------------ */

/* What a parameter may be. */
typedef enum allowed { ANY, ABOVE_0, FROM_0, NOT_0, BETA, DECIBEL, SIDELOBES, FLAG } allowed;

typedef struct param {
    const char *name;
    allowed allowed;
    bool may_be_null;
} param;

typedef struct row {
    const char *name, *also; /* other names, each between commas */
    fill_fn *fill;
    size_t least, most; /* parameters */
    param params[3];
} row;

enum { GENERAL_COSINE, EXPONENTIAL, DPSS, DERIVED, KAISER, BOXCAR };

static const row rows[] = {
    [GENERAL_COSINE] = {"general_cosine",
                        ",general cosine,",
                        general_cosine,
                        1,
                        WEIRI_WINDOW_PARAMS,
                        {{"a", ANY, false}}},
    [EXPONENTIAL] = {"exponential",
                     ",poisson,",
                     exponential,
                     0,
                     2,
                     {{"center", ANY, true}, {"tau", NOT_0, false}}},
    [DPSS] = {"dpss", ",", dpss, 1, 1, {{"NW", ABOVE_0, false}}},
    [DERIVED] = {"kaiser_bessel_derived",
                 ",kaiser bessel derived,kbd,",
                 kaiser_bessel_derived,
                 1,
                 1,
                 {{"beta", BETA, false}}},
    [KAISER] = {"kaiser", ",ksr,", kaiser, 1, 1, {{"beta", BETA, false}}},
    [BOXCAR] = {"boxcar", ",box,ones,rect,rectangular,none,", boxcar, 0, 0, {{0}}},
    {"barthann", ",brthan,bth,", barthann, 0, 0, {{0}}},
    {"bartlett", ",bart,brt,", bartlett, 0, 0, {{0}}},
    {"blackman", ",black,blk,", blackman, 0, 0, {{0}}},
    {"blackmanharris", ",blackharr,bkh,", blackmanharris, 0, 0, {{0}}},
    {"bohman", ",bman,bmn,", bohman, 0, 0, {{0}}},
    {"chebwin", ",cheb,", chebwin, 1, 1, {{"attenuation", DECIBEL, false}}},
    {"cosine", ",halfcosine,", cosine, 0, 0, {{0}}},
    {"flattop", ",flat,flt,", flattop, 0, 0, {{0}}},
    {"gaussian", ",gauss,gss,", gaussian, 1, 1, {{"std", NOT_0, false}}},
    {"general_gaussian",
     ",general gaussian,general gauss,general_gauss,ggs,",
     general_gaussian,
     2,
     2,
     {{"p", FROM_0, false}, {"sig", NOT_0, false}}},
    {"general_hamming", ",general hamming,", general_hamming, 1, 1, {{"alpha", ANY, false}}},
    {"hamming", ",hamm,ham,", hamming, 0, 0, {{0}}},
    {"hann", ",han,hanning,", hann, 0, 0, {{0}}},
    {"lanczos", ",sinc,", lanczos, 0, 0, {{0}}},
    {"nuttall", ",nutl,nut,", nuttall, 0, 0, {{0}}},
    {"parzen", ",parz,par,", parzen, 0, 0, {{0}}},
    {"taylor",
     ",taylorwin,",
     taylor,
     0,
     3,
     {{"nbar", SIDELOBES, false}, {"sll", DECIBEL, false}, {"norm", FLAG, false}}},
    {"triangle", ",triang,tri,", triangle, 0, 0, {{0}}},
    {"tukey", ",tuk,", tukey, 0, 1, {{"alpha", ANY, false}}},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

const char *weiri_window_name(const weiri_window *window)
{
    return rows[window->kind].name;
}

weiri_window weiri_window_kaiser(double beta)
{
    return (weiri_window){.kind = KAISER, .count = 1, .params = {beta}};
}

/* Whether `name` is one of a row's; upper and lower case are the same. */
static bool is_called(const row *r, const char *name)
{
    char looked[48];
    if (weiri_equal_blind(r->name, name)) {
        return true;
    }
    int length = snprintf(looked, sizeof looked, ",%s,", name);
    return length > 2 && (size_t)length < sizeof looked && strchr(name, ',') == NULL &&
           strcasestr(r->also, looked) != NULL;
}

static weir_err unknown(const char *setting, const char *name)
{
    const char *names[ROWS];
    char list[512] = "";
    size_t used = 0;
    for (size_t i = 0; i < ROWS; i++) {
        names[i] = rows[i].name;
        int more = snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", names[i]);
        used += more > 0 && (size_t)more < sizeof list - used ? (size_t)more : 0;
    }
    const char *near = weiri_nearest(name, names, ROWS);
    return weiri_fail(WEIR_E_CHAIN, "%s: there is no window '%.40s'%s%s%s; there are: %s", setting,
                      name, near != NULL ? " (did you mean " : "", near != NULL ? near : "",
                      near != NULL ? "?)" : "", list);
}

static weir_err find(const char *setting, const char *text, weiri_window *window)
{
    static const struct {
        const char *end;
        int shape;
    } ends[] = {{"_symmetric", 1}, {"_periodic", -1}};
    char name[48];
    size_t length = strlen(text);
    window->shape = 0;
    if (length >= sizeof name) {
        return unknown(setting, text);
    }
    memcpy(name, text, length + 1);
    for (size_t i = 0; i < 2; i++) {
        size_t end = strlen(ends[i].end);
        if (length > end && weiri_equal_blind(name + length - end, ends[i].end)) {
            name[length - end] = '\0';
            window->shape = ends[i].shape;
        }
    }
    for (size_t i = 0; i < ROWS; i++) {
        if (is_called(&rows[i], name)) {
            window->kind = (int)i;
            return WEIR_OK;
        }
    }
    return unknown(setting, name);
}

/* NULL where x is allowed, else what is. */
static const char *not_allowed(allowed what, double x)
{
    switch (what) {
    case ABOVE_0:
        return x > 0.0 ? NULL : "above 0";
    case FROM_0:
        return x >= 0.0 ? NULL : "0 or more";
    case NOT_0:
        return x != 0.0 ? NULL : "not 0";
    case BETA:
        return fabs(x) <= 700.0 ? NULL : "from -700 to 700";
    case DECIBEL:
        return fabs(x) <= 300.0 ? NULL : "from -300 to 300 (dB)";
    case SIDELOBES:
        return x >= 1.0 && x <= 1000.0 && x == floor(x) ? NULL : "a whole number from 1 to 1000";
    case FLAG:
    case ANY:
        break;
    }
    return NULL;
}

static weir_err
read_param(const char *setting, const weir_value *value, weiri_window *window, size_t number)
{
    const row *r = &rows[window->kind];
    const param *p = &r->params[window->kind == GENERAL_COSINE ? 0 : number];
    double x = NAN;
    bool number_given = value->type == WEIR_VALUE_NUMBER && isfinite(value->number);
    if (number_given || (value->type == WEIR_VALUE_BOOL && p->allowed == FLAG)) {
        x = value->number;
    } else if (value->type != WEIR_VALUE_NULL || !p->may_be_null) {
        return weiri_fail(WEIR_E_CHAIN, "%s: %s of window %s must be a number", setting, p->name,
                          r->name);
    }
    const char *rule = isnan(x) ? NULL : not_allowed(p->allowed, x);
    if (rule != NULL) {
        return weiri_fail(WEIR_E_CHAIN, "%s: %s of window %s is %.15g, it must be %s", setting,
                          p->name, r->name, x, rule);
    }
    window->params[number] = x;
    window->count = number + 1;
    return WEIR_OK;
}

static weir_err check_count(const char *setting, const weiri_window *window, size_t given)
{
    const row *r = &rows[window->kind];
    if (given >= r->least && given <= r->most) {
        return WEIR_OK;
    }
    if (r->most == 0) {
        return weiri_fail(WEIR_E_CHAIN, "%s: window %s has no parameters, %zu are given", setting,
                          r->name, given);
    }
    char names[64] = "";
    for (size_t i = 0, used = 0; i < 3 && r->params[i].name != NULL; i++) {
        int more = snprintf(names + used, sizeof names - used, ", %s", r->params[i].name);
        used += more > 0 ? (size_t)more : 0;
    }
    return weiri_fail(WEIR_E_CHAIN,
                      "%s: window %s needs %zu to %zu parameters, %zu are given; write [%s%s]",
                      setting, r->name, r->least, r->most, given, r->name, names);
}

weir_err weiri_window_read(const char *setting, const weir_value *value, weiri_window *ret_window)
{
    weiri_window window = {.kind = BOXCAR};
    const weir_value *params = NULL;
    size_t given = 0;
    weir_err err = WEIR_OK;
    if (value == NULL || value->type == WEIR_VALUE_NULL) {
        *ret_window = window;
        return WEIR_OK;
    }
    if (value->type == WEIR_VALUE_NUMBER) {
        window.kind = KAISER;
        params = value;
        given = 1;
    } else if (value->type == WEIR_VALUE_TEXT && value->text != NULL) {
        err = find(setting, value->text, &window);
    } else if (value->type == WEIR_VALUE_LIST && value->count > 0 &&
               value->items[0].type == WEIR_VALUE_TEXT && value->items[0].text != NULL) {
        err = find(setting, value->items[0].text, &window);
        params = value->items + 1;
        given = value->count - 1;
    } else {
        return weiri_fail(WEIR_E_CHAIN,
                          "%s: expected a name, or a list of a name and its parameters: hann, "
                          "[kaiser, 8.6]",
                          setting);
    }
    if (err == WEIR_OK && window.kind == GENERAL_COSINE && given == 1 &&
        params->type == WEIR_VALUE_LIST) { /* as SciPy: the coefficients are one parameter */
        given = params->count;
        params = params->items;
    }
    if (err == WEIR_OK) {
        err = check_count(setting, &window, given);
    }
    for (size_t i = 0; err == WEIR_OK && i < given; i++) {
        err = read_param(setting, &params[i], &window, i);
    }
    if (err == WEIR_OK) {
        *ret_window = window;
    }
    return err;
}

static bool is_periodic(const weiri_window *window, bool asked)
{
    return window->shape == 0 ? asked : window->shape < 0;
}

weir_err
weiri_window_check(const char *setting, const weiri_window *window, size_t count, bool periodic)
{
    bool repeats = is_periodic(window, periodic);
    if (window->kind == DERIVED && (repeats || count % 2 != 0)) {
        return weiri_fail(WEIR_E_CHAIN,
                          "%s: window kaiser_bessel_derived is for an even number of samples and "
                          "symmetric only; there are %zu%s",
                          setting, count, repeats ? ", periodic" : "");
    }
    if (window->kind == DPSS && count > 1 && window->params[0] >= (double)count / 2.0) {
        return weiri_fail(WEIR_E_CHAIN,
                          "%s: NW of window dpss is %.15g, it must be below %.15g, "
                          "half the number of samples",
                          setting, window->params[0], (double)count / 2.0);
    }
    if (window->kind == EXPONENTIAL && !repeats && window->count > 0 && !isnan(window->params[0])) {
        return weiri_fail(WEIR_E_CHAIN,
                          "%s: a symmetric exponential window has its center in the middle; write "
                          "null for center, or exponential_periodic",
                          setting);
    }
    return WEIR_OK;
}

void weiri_window_fill(const weiri_window *window, size_t count, bool periodic, double *ret_samples)
{
    if (count <= 1) {
        for (size_t i = 0; i < count; i++) {
            ret_samples[i] = 1.0;
        }
        return;
    }
    shape s = {
        .params = window->params,
        .params_count = window->count,
        .length = count + (is_periodic(window, periodic) ? 1 : 0),
        .written = count,
    };
    s.half = (s.length + 1) / 2;
    rows[window->kind].fill(&s, ret_samples);
    for (size_t i = s.half; i < count && window->kind != EXPONENTIAL; i++) {
        ret_samples[i] = ret_samples[s.length - 1 - i];
    }
}
