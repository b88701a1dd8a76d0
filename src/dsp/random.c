/* SPDX-License-Identifier: MIT
 *
 * random.c: see random.h. PCG-64: M. O'Neill, PCG: A family of simple fast space-efficient statistically good
 * algorithms for random number generation (2014), 128-bit state, output by xor of the halves and a rotation.
 * Ziggurat: G. Marsaglia, W. Tsang, The ziggurat method for generating random variables (2000), 256 layers.
 */
#include "dsp/random.h"

#include <math.h>
#include <stdbool.h>

__extension__ typedef unsigned __int128 wide;

/* ---- seed: 64 bits are spread over 256 --------------------------------------------------------- */

enum { POOL = 4 };

static uint32_t hash(uint32_t value, uint32_t *constant, uint32_t multiplier)
{
    value ^= *constant;
    *constant *= multiplier;
    value *= *constant;
    return value ^ value >> 16;
}

static uint32_t mix(uint32_t a, uint32_t b)
{
    uint32_t mixed = 0xca01f9ddu * a - 0x4973f715u * b;
    return mixed ^ mixed >> 16;
}

static void spread(uint64_t seed, uint64_t *ret_words)
{
    uint32_t pool[POOL] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t constant = 0x43b0d7e5u;
    for (int i = 0; i < POOL; i++) {
        pool[i] = hash(pool[i], &constant, 0x931e8875u);
    }
    for (int from = 0; from < POOL; from++) {
        for (int to = 0; to < POOL; to++) {
            if (from != to) {
                pool[to] = mix(pool[to], hash(pool[from], &constant, 0x931e8875u));
            }
        }
    }
    constant = 0x8b51f9ddu;
    for (int i = 0; i < POOL; i++) {
        uint32_t low = hash(pool[2 * i % POOL], &constant, 0x58f38dedu);
        uint32_t high = hash(pool[(2 * i + 1) % POOL], &constant, 0x58f38dedu);
        ret_words[i] = (uint64_t)high << 32 | low;
    }
}

/* ---- generator ---------------------------------------------------------------------------------- */

static void advance(weiri_random *random)
{
    const wide multiplier =
        (wide)UINT64_C(2549297995355413924) << 64 | UINT64_C(4865540595714422341);
    random->state = random->state * multiplier + random->step;
}

void weiri_random_seed(weiri_random *random, uint64_t seed)
{
    uint64_t words[POOL];
    spread(seed, words);
    random->step = ((wide)words[2] << 64 | words[3]) << 1 | 1;
    random->state = random->step; /* from 0, one step on */
    random->state += (wide)words[0] << 64 | words[1];
    advance(random);
}

uint64_t weiri_random_next(weiri_random *random)
{
    advance(random);
    uint64_t both = (uint64_t)(random->state >> 64) ^ (uint64_t)random->state;
    unsigned turn = (unsigned)(random->state >> 122);
    return both >> turn | both << (-turn & 63);
}

double weiri_random_uniform(weiri_random *random)
{
    return (double)(weiri_random_next(random) >> 11) * 0x1p-53;
}

/* ---- normal ------------------------------------------------------------------------------------- */

enum { LAYERS = 256 };

/* Layer i ends at edge[i]; all have the same area. edge[0] is the width of a rectangle as large as layer 0, which
 * includes the tail; edge[LAYERS] is the top, 0. */
typedef struct ziggurat {
    double edge[LAYERS + 1], height[LAYERS + 1];
} ziggurat;

#define TAIL 3.6541528853610087963519472518

static double density(double x)
{
    return exp(-0.5 * x * x);
}

static void build(ziggurat *z)
{
    double area = TAIL * density(TAIL) + sqrt(atan(1.0) * 2.0) * erfc(TAIL / sqrt(2.0));
    z->edge[0] = area / density(TAIL);
    z->edge[1] = TAIL;
    for (int i = 2; i < LAYERS; i++) {
        z->edge[i] = sqrt(-2.0 * log(area / z->edge[i - 1] + density(z->edge[i - 1])));
    }
    z->edge[LAYERS] = 0.0;
    for (int i = 0; i <= LAYERS; i++) {
        z->height[i] = density(z->edge[i]);
    }
}

static double draw_tail(weiri_random *random, bool negative)
{
    for (;;) {
        double x = -log1p(-weiri_random_uniform(random)) / TAIL;
        double y = -log1p(-weiri_random_uniform(random));
        if (2.0 * y > x * x) {
            return negative ? -(TAIL + x) : TAIL + x;
        }
    }
}

static double draw(const ziggurat *z, weiri_random *random)
{
    for (;;) {
        uint64_t bits = weiri_random_next(random);
        int layer =
            (LAYERS - (int)(bits & 0xff)) % LAYERS; /* there they are counted from the top */
        uint64_t size = bits >> 9 & 0xfffffffffffff;
        double x = (double)size * 0x1p-52 * z->edge[layer];
        x = (bits >> 8 & 1) != 0 ? -x : x;
        if (fabs(x) < z->edge[layer + 1]) {
            return x;
        }
        if (layer == 0) {
            return draw_tail(random, (size >> 8 & 1) != 0);
        }
        double low = z->height[layer], high = z->height[layer + 1];
        if (low + (high - low) * weiri_random_uniform(random) < density(x)) {
            return x;
        }
    }
}

void weiri_random_normals(weiri_random *random, double *ret_numbers, uint64_t count)
{
    ziggurat z;
    build(&z);
    for (uint64_t i = 0; i < count; i++) {
        ret_numbers[i] = draw(&z, random);
    }
}
