/* SPDX-License-Identifier: MIT
 *
 * quantize.c: a range of amplitudes as unsigned numbers of a few bits.
 */
#include <math.h>

#include "unit/levels.h"

typedef struct quantize_settings {
    double max_val, min_val;
    int64_t bits;
} quantize_settings;

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    const quantize_settings *given = settings;
    weir_dtype dtype = given->bits <= 8 ? WEIR_U8 : given->bits <= 16 ? WEIR_U16 : WEIR_I32;
    return weiri_levels_plan(plan, given->min_val, given->max_val, dtype);
}

static void prepare(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    const quantize_settings *given = settings;
    (void)plan;
    *(weiri_levels *)constants = (weiri_levels){
        .low = given->min_val,
        .high = given->max_val,
        .range = given->max_val - given->min_val,
        .span = ldexp(1.0, (int)given->bits) - 1.0,
    };
}

static const weir_setting table[] = {
    {.name = "max_val",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_AMPLITUDE,
     .offset = offsetof(quantize_settings, max_val),
     .help = "amplitude of the largest number; greater ones become it",
     .example = "100",
     .live = true},
    {.name = "min_val",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_AMPLITUDE,
     .preset = "0",
     .offset = offsetof(quantize_settings, min_val),
     .help = "amplitude of the number 0; smaller ones become it",
     .live = true},
    {.name = "bits",
     .type = WEIR_SETTING_INTEGER,
     .preset = "8",
     .min = 1,
     .max = 31,
     .offset = offsetof(quantize_settings, bits),
     .help = "bits of the numbers; the output is u8 up to 8, u16 up to 16, else i32"},
    {0},
};

const weiri_unit_ops weiri_unit_quantize = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "quantize",
             .summary = "amplitudes as unsigned numbers of a few bits",
             .formula = "y = round((min(max(x, min_val), max_val) - min_val) / (max_val - min_val) "
                        "(2^bits - 1)), to the nearest even; what is outside the range is counted "
                        "as saturated, a missing sample becomes 0.",
             .ezmsg = "quantize.QuantizeTransformer",
             .differs = "Up to 31 bits (ezmsg-sigproc: 64): there is no larger integer type. "
                        "1 bit gives u8, not bool; 17 to 31 bits i32, not uint32.",
             .flags = WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(quantize_settings),
    .plan = plan,
    .prepare = prepare,
    .run = weiri_levels_run,
};
