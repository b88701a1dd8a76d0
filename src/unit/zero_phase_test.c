/* SPDX-License-Identifier: MIT
 *
 * zero_phase_test.c: zero_phase and butterworth_zero_phase against the same filters computed at once over the whole
 * segment, in long double.
 */
#include "unit/drive.h"

#include "dsp/design.h"
#include "dsp/sos.h"

enum { FRAMES = 1500, CHANNELS = 19 };

/* Band-pass 1 kHz to 6 kHz of order 3 at 30 kHz. */
static weiri_sos_params sections_of_test(void)
{
    weiri_sos_params sections;
    weiri_zpk prototype = weiri_butterworth_prototype(3);
    weiri_design_sections(&prototype, WEIRI_BANDPASS, 1.0 / 30.0, 0.2, &sections);
    return sections;
}

static drive *open_unit(const char *unit, const char *name, double value, double grain)
{
    weir_spec spec = weir_spec_make(WEIR_F64, 30000.0, CHANNELS, NULL, NULL);
    weir_value given[] = {weir_number("order", 3), weir_text("cuton", "1 kHz"),
                          weir_text("cutoff", "6 kHz"), weir_number(name, value),
                          weir_number("grain", grain)};
    drive *d = NULL;
    if (drive_open(unit, &spec, given, grain > 0 ? 5 : 4, &d) != WEIR_OK) {
        fail_msg("%s", weir_err_detail());
    }
    d->ends = true;
    return d;
}

/* values[count] through the sections from the steady state of the first, in place. */
static void filter(const weiri_sos_params *sections, long double *values, size_t count)
{
    long double x0 = values[0];
    for (size_t s = 0; s < sections->sections; s++) {
        const double *c = sections->coefs[s];
        long double gain = s == sections->sections - 1 ? (long double)sections->gain : 1.0L;
        long double y0 = gain * x0 * (1.0L + c[0] + c[1]) / (1.0L - c[2] - c[3]);
        long double x1 = gain * x0, x2 = x1, y1 = y0, y2 = y0;
        for (size_t i = 0; i < count; i++) {
            long double x = gain * values[i];
            long double y = x + c[0] * x1 + c[1] * x2 + c[2] * y1 + c[3] * y2;
            x2 = x1, x1 = x, y2 = y1, y1 = y;
            values[i] = y;
        }
        x0 = y0;
    }
}

static void turn(long double *values, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        long double value = values[i];
        values[i] = values[count - 1 - i];
        values[count - 1 - i] = value;
    }
}

/* What sosfiltfilt does with one channel: both ends extended oddly by `padding` frames. */
static void forward_backward(long double *values, size_t count, size_t padding)
{
    static long double all[FRAMES + 200];
    weiri_sos_params sections = sections_of_test();
    size_t size = count + 2 * padding;
    for (size_t j = 0; j < padding; j++) {
        all[j] = 2.0L * values[0] - values[padding - j];
        all[padding + count + j] = 2.0L * values[count - 1] - values[count - 2 - j];
    }
    memcpy(all + padding, values, count * sizeof *all);
    filter(&sections, all, size);
    turn(all, size);
    filter(&sections, all, size);
    turn(all, size);
    memcpy(values, all + padding, count * sizeof *all);
}

/* For any grain; segments shorter than the extension, the look-ahead and a block too. */
static void it_is_sosfiltfilt(void **state)
{
    (void)state;
    static const size_t lengths[] = {1, 2, 21, 22, 23, 300, FRAMES};
    uint64_t random = drive_seed();
    for (size_t k = 0; k < 3 * sizeof lengths / sizeof lengths[0]; k++) {
        size_t frames = lengths[k / 3];
        drive *d = open_unit("zero_phase", "tolerance", 1e-13, (double[]){0, 1, 97}[k % 3]);
        double *data = drive_signal(&d->in, frames, 20.0, 0.0, &random);
        drive_output o = drive_cuts(d, data, frames, &random);
        assert_int_equal(o.frames, frames);
        for (size_t c = 0; c < CHANNELS; c += 6) {
            static long double values[FRAMES];
            for (size_t i = 0; i < frames; i++) {
                values[i] = data[i * CHANNELS + c];
            }
            forward_backward(values, frames, frames < 22 ? frames - 1 : 21);
            for (size_t i = 0; i < frames; i++) {
                drive_near(drive_value(d, &o, i * CHANNELS + c), (double)values[i], 0.0, 1e-10,
                           "sosfiltfilt");
            }
        }
        free(o.data);
        free(data);
        drive_close(d);
    }
}

/* Looking ahead no further than the tolerance asks for is seen, but not above the tolerance. */
static void the_tolerance_is_kept(void **state)
{
    (void)state;
    static const double tolerances[] = {1e-2, 1e-4, 1e-6};
    uint64_t random = drive_seed(), lag = 0;
    for (size_t k = 0; k < 3; k++) {
        drive *d = open_unit("zero_phase", "tolerance", tolerances[k], 1);
        assert_true(weiri_due_lag(&d->plan.due) > lag);
        lag = weiri_due_lag(&d->plan.due);
        double *data = drive_signal(&d->in, FRAMES, 0.0, 0.0, &random), worst = 0.0, most = 0.0;
        drive_output o = drive_run(d, data, FRAMES, 0, NULL);
        for (size_t c = 0; c < CHANNELS; c++) {
            static long double values[FRAMES];
            for (size_t i = 0; i < FRAMES; i++) {
                values[i] = data[i * CHANNELS + c];
                most = fmax(most, fabs(data[i * CHANNELS + c]));
            }
            forward_backward(values, FRAMES, 21);
            for (size_t i = 0; i < FRAMES; i++) {
                worst = fmax(worst, fabs(drive_value(d, &o, i * CHANNELS + c) - (double)values[i]));
            }
        }
        assert_true(worst < tolerances[k] * 4.0 * most && worst > tolerances[k] * 1e-3 * most);
        free(o.data);
        free(data);
        drive_close(d);
    }
}

/* Missing samples, at the ends too: as if they had not come, in their channel only; missing in the output. */
static void missing_samples_are_left_out(void **state)
{
    (void)state;
    uint64_t random = drive_seed();
    drive *d = open_unit("zero_phase", "tolerance", 1e-13, 50);
    double *data = drive_signal(&d->in, FRAMES, 0.0, 0.0, &random);
    for (size_t i = 0; i < 60; i++) {
        data[(700 + i) * CHANNELS + 3] = (double)NAN;
        data[i * CHANNELS + 18] = data[(FRAMES - 1 - i) * CHANNELS + 18] = (double)INFINITY;
    }
    drive_output o = drive_cuts(d, data, FRAMES, &random);
    static long double values[FRAMES];
    for (int c = 3; c <= 18; c += 15) {
        size_t count = 0;
        for (size_t i = 0; i < FRAMES; i++) {
            if (isfinite(data[i * CHANNELS + (size_t)c])) {
                values[count++] = data[i * CHANNELS + (size_t)c];
            }
        }
        forward_backward(values, count, c == 3 ? 21 : 0);
        for (size_t i = 0, k = 0; i < FRAMES; i++) {
            double found = drive_value(d, &o, i * CHANNELS + (size_t)c);
            if (isfinite(data[i * CHANNELS + (size_t)c])) {
                drive_near(found, (double)values[k++], 0.0, 1e-10, "without them");
            } else {
                assert_true(isnan(found));
            }
        }
    }
    free(o.data);
    free(data);
    drive_close(d);
}

/* butterworth_zero_phase: forward from the steady state of the first sample, then for each block of 40 frames backward
 * from the steady state of frame (k + 1) 40 + L - 1; L as ezmsg-sigproc 3.11.1 computes it. */
static void the_grid_is_fixed(void **state)
{
    (void)state;
    enum { GRAIN = 40 };
    uint64_t random = drive_seed();
    static const struct {
        double cutoff;
        uint64_t ahead;
    } cases[] = {{0.01, 49}, {1e-4, 98}, {0.9, 12}};
    weiri_sos_params sections = sections_of_test();
    for (size_t k = 0; k < 3; k++) {
        uint64_t ahead = cases[k].ahead;
        drive *d = open_unit("butterworth_zero_phase", "settle_cutoff", cases[k].cutoff, GRAIN);
        assert_int_equal(weiri_due_lag(&d->plan.due), ahead + GRAIN - 1);
        double *data = drive_signal(&d->in, FRAMES, 20.0, 0.0, &random);
        drive_output o = drive_cuts(d, data, FRAMES, &random);
        static long double forward[FRAMES], block[FRAMES];
        for (size_t i = 0; i < FRAMES; i++) {
            forward[i] = data[i * CHANNELS + 17];
        }
        filter(&sections, forward, FRAMES);
        for (size_t first = 0, end; first < FRAMES; first = end) {
            size_t last = first + GRAIN + ahead;
            end = last <= FRAMES ? first + GRAIN : FRAMES;
            last = last <= FRAMES ? last : FRAMES;
            memcpy(block, forward + first, (last - first) * sizeof *block);
            turn(block, last - first);
            filter(&sections, block, last - first);
            turn(block, last - first);
            for (size_t i = first; i < end; i++) {
                drive_near(drive_value(d, &o, i * CHANNELS + 17), (double)block[i - first], 0.0,
                           1e-10, "on the grid");
            }
        }
        free(o.data);
        free(data);
        drive_close(d);
    }
    drive *d = open_unit("butterworth_zero_phase", "max_pad_duration", 1e-3, 0);
    assert_int_equal(weiri_due_lag(&d->plan.due), 2 * 30 - 1);
    drive_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_sosfiltfilt),
        cmocka_unit_test(the_tolerance_is_kept),
        cmocka_unit_test(missing_samples_are_left_out),
        cmocka_unit_test(the_grid_is_fixed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
