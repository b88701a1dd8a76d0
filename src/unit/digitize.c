/* SPDX-License-Identifier: MIT
 *
 * digitize.c: a range of amplitudes as all numbers of a signed integer type.
 */
#include "unit/levels.h"

typedef struct digitize_settings {
    double min_val, max_val;
    int dtype;
} digitize_settings;

enum { INT16, INT32, INT64 };
static const weir_choice dtypes[] = {
    {"int16", "i16"}, {"int32", "i32"}, {"int64", NULL}, {NULL, NULL}};

static weiri_levels levels_of(const digitize_settings *given)
{
    bool narrow = given->dtype == INT16;
    return (weiri_levels){
        .low = given->min_val,
        .high = given->max_val,
        .range = given->max_val - given->min_val,
        .span = narrow ? (double)UINT16_MAX : (double)UINT32_MAX,
        .least = narrow ? (double)INT16_MIN : (double)INT32_MIN,
    };
}

static weir_err plan(const void *settings, weiri_unit_plan *plan)
{
    const digitize_settings *given = settings;
    if (given->dtype == INT64) {
        return weiri_fail(WEIR_E_CHAIN, "dtype: int64 is not supported; the largest is int32");
    }
    weir_err err = weiri_levels_plan(plan, given->min_val, given->max_val,
                                     given->dtype == INT16 ? WEIR_I16 : WEIR_I32);
    if (err == WEIR_OK) {
        weiri_levels levels = levels_of(given);
        double step = levels.range / levels.span;
        weiri_notice(plan->notices, "the amplitude is the number x %.9g + %.9g", step,
                     levels.low - levels.least * step);
    }
    return err;
}

static void prepare(const void *settings, const weiri_unit_plan *plan, void *constants)
{
    (void)plan;
    *(weiri_levels *)constants = levels_of(settings);
}

static const weir_setting table[] = {
    {.name = "min_val",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_AMPLITUDE,
     .offset = offsetof(digitize_settings, min_val),
     .help = "amplitude of the smallest number of the type; smaller ones become it",
     .example = "-100",
     .live = true},
    {.name = "max_val",
     .type = WEIR_SETTING_QUANTITY,
     .kind = WEIR_AMPLITUDE,
     .offset = offsetof(digitize_settings, max_val),
     .help = "amplitude of the largest number of the type; greater ones become it",
     .example = "100",
     .live = true},
    {.name = "dtype",
     .type = WEIR_SETTING_ENUM,
     .preset = "int16",
     .choices = dtypes,
     .offset = offsetof(digitize_settings, dtype),
     .help = "type of the output: int16 or int32"},
    {0},
};

const weiri_unit_ops weiri_unit_digitize = {
    .ops_size = sizeof(weiri_unit_ops),
    .info = {.name = "digitize",
             .summary = "amplitudes as all numbers of a signed integer type",
             .formula = "y = round((min(max(x, min_val), max_val) - min_val) / (max_val - min_val) "
                        "(2^b - 1) - 2^(b-1)), to the nearest even, b = 16 or 32; what is outside "
                        "the range is counted as saturated, a missing sample becomes 0. 16 bits "
                        "are computed in the type of the input, 32 in float64.",
             .ezmsg = "digitize.DigitizeTransformer",
             .differs = "No int64. A notice, not the attributes conversion and offset, states how "
                        "to get amplitudes back. For float32 input and int32 ezmsg-sigproc's "
                        "largest number wraps to the smallest.",
             .flags = WEIR_UNIT_COLUMNWISE,
             .settings = table},
    .settings_bytes = sizeof(digitize_settings),
    .plan = plan,
    .prepare = prepare,
    .run = weiri_levels_run,
};
