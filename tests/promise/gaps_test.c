/* SPDX-License-Identifier: MIT
 *
 * gaps_test.c: recordings with gaps, by the command (S4): bins and windows begin again with each
 * segment, frames that did not fill one are counted, and the side file states the time of each run
 * of rows; read back it is the same recording. Then 60,000 packets of one frame with timestamps of
 * a PTP clock under 16 MiB and 256 open files (M6, M7).
 */
#include "recordings.h"

#include "command_json.h"

#define RECORDINGS WEIR_SHARED_DIR "/recordings/"
#define MIB        (1 << 20)

static bool there(void)
{
    bool found = access(RECORDINGS, R_OK) == 0;
    if (!found) {
        printf("skipped: " RECORDINGS " is not there\n");
    }
    return found;
}

static json_t *run(const char *chain, const char *input, const char *more)
{
    char command[2048], file[256], output[256];
    snprintf(file, sizeof file, "%s", write_file("chain.yaml", chain, strlen(chain)));
    snprintf(output, sizeof output, "%s", own_path("out.npy"));
    snprintf(command, sizeof command,
             "ulimit -n 256; '%s' run '%s' '%s' --json -o '%s' --force %s 2>'%s'", WEIR_COMMAND,
             file, input, output, more, own_path("stderr"));
    return json_of_command(command);
}

static json_t *side_file(void)
{
    json_error_t error;
    json_t *root = json_load_file(own_path("out.npy.json"), 0, &error);
    assert_non_null(root);
    return root;
}

/* The content of the files, from their README. */
typedef struct gapped {
    const char *path;
    double rate_hz;
    size_t count;
    double start_s[6];
    uint64_t frames[6];
} gapped;

static const gapped files[] = {
    {"edf/edfPlusD.edf", 200, 6, {0, 2, 4, 12, 15, 19}, {200, 200, 1200, 200, 200, 200}},
    {"made-here/nsx23_three_segments.ns5", 30000, 3, {0, 1.5, 2}, {1000, 500, 250}},
    {"made-here/nsx30_two_segments.ns6", 30000, 2, {0, 3}, {600, 300}},
    {"made-here/nsx30_ptp_one_sample_packets.ns6", 30000, 2, {0, 0.533333333}, {1000, 500}},
};
#define FILES (sizeof files / sizeof *files)

/* The table of runs of rows: segments without rows have none. rows_of: rows for that many
 * frames. */
static void check_table(const gapped *of,
                        uint64_t (*rows_of)(uint64_t frames, uint64_t length),
                        uint64_t length,
                        uint64_t *ret_rows)
{
    json_t *side = side_file();
    json_t *table = json_object_get(side, "segments");
    uint64_t rows = 0;
    size_t at = 0;
    for (size_t i = 0; i < of->count; i++) {
        uint64_t here = rows_of(of->frames[i], length);
        if (here == 0) {
            continue;
        }
        json_t *row = json_array_get(table, at++);
        assert_true(fabs(json_number_value(json_object_get(row, "start_s")) - of->start_s[i]) <
                    1e-9);
        assert_int_equal(number(row, "first_row"), rows);
        assert_int_equal(number(row, "rows"), here);
        rows += here;
    }
    assert_int_equal(json_array_size(table), at);
    assert_int_equal(number(side, "segments_left_out"), 0);
    assert_int_equal(number(side, "rows"), rows);
    *ret_rows = rows;
    json_decref(side);
}

static uint64_t bins_of(uint64_t frames, uint64_t length)
{
    return frames / length;
}

/* Windows of twice the shift. */
static uint64_t windows_of(uint64_t frames, uint64_t length)
{
    return frames < length ? 0 : (frames - length) / (length / 2) + 1;
}

static uint64_t frames_of(uint64_t frames, uint64_t length)
{
    (void)length;
    return frames;
}

static void begin_again_at_gaps(void **state)
{
    (void)state;
    if (!there()) {
        skip();
    }
    for (size_t i = 0; i < FILES; i++) {
        const gapped *of = &files[i];
        for (uint64_t length = 60; length <= 260; length += 200) {
            char path[512], chain[256];
            uint64_t rows = 0, left = 0;
            snprintf(path, sizeof path, RECORDINGS "%s", of->path);
            /* Slightly longer than that many frames, so that rounding cannot change the number. */
            double seconds = ((double)length + 1e-7) / of->rate_hz;
            snprintf(chain, sizeof chain,
                     "- binned_aggregate: {bin_duration: %.12g s, operation: mean}\n",
                     (double)length / of->rate_hz);
            json_t *report = run(chain, path, "");
            assert_int_equal(number(report, "segments"), of->count);
            check_table(of, bins_of, length, &rows);
            for (size_t k = 0; k < of->count; k++) {
                left += of->frames[k] % length;
            }
            assert_int_equal(number(report, "unfinished_frames"), left);
            json_decref(report);
            snprintf(chain, sizeof chain,
                     "- window: {window_dur: %.14g s, window_shift: %.14g s}\n", seconds,
                     seconds / 2);
            report = run(chain, path, "--message-frames 77");
            check_table(of, windows_of, length, &rows);
            assert_int_equal(number(report, "frames_out"), rows);
            left = 0;
            for (size_t k = 0; k < of->count; k++) { /* frames in no window */
                uint64_t frames = of->frames[k];
                left += frames < length ? frames : (frames - length) % (length / 2);
            }
            assert_int_equal(number(report, "unfinished_frames"), left);
            json_decref(report);
        }
    }
}

/* By an npy file and its side file, gaps and events are passed to a second chain. */
static void read_back(void **state)
{
    (void)state;
    if (!there()) {
        skip();
    }
    for (size_t i = 0; i < FILES; i++) {
        const gapped *of = &files[i];
        char path[512];
        uint64_t rows = 0;
        snprintf(path, sizeof path, RECORDINGS "%s", of->path);
        json_decref(run("- scale: {scale: 2}\n", path, ""));
        check_table(of, frames_of, 0, &rows);
        weir_source *first = NULL, *second = NULL;
        assert_ok(weir_recording_open(path, NULL, &first));
        assert_ok(weir_recording_open(own_path("out.npy"), NULL, &second));
        const weir_source_info *a = first->ops->info(first), *b = second->ops->info(second);
        assert_string_equal(a->start_time, b->start_time);
        assert_int_equal(a->segment_count, b->segment_count);
        for (size_t k = 0; k < a->segment_count; k++) {
            assert_int_equal(a->segments[k].start_ns, b->segments[k].start_ns);
            assert_int_equal(a->segments[k].frames, b->segments[k].frames);
        }
        assert_int_equal(a->annotation_count, b->annotation_count);
        for (size_t k = 0; k < a->annotation_count; k++) {
            assert_int_equal(a->annotations[k].onset_ns, b->annotations[k].onset_ns);
            assert_int_equal(a->annotations[k].duration_ns, b->annotations[k].duration_ns);
            assert_string_equal(a->annotations[k].text, b->annotations[k].text);
        }
        recorded from = {0}, to = {0};
        assert_ok(read_source(first, 100, 0, &from));
        assert_ok(read_source(second, 100, 0, &to));
        assert_int_equal(from.frames, to.frames);
        for (uint64_t k = 0; k < from.frames * from.columns; k++) {
            assert_true(2 * from.values[k] == to.values[k]);
        }
        recorded_free(&from);
        recorded_free(&to);
        first->ops->close(first);
        second->ops->close(second);
    }
}

/* ---- a PTP clock ---------------------------------------------------------------------------------- */

enum { PACKETS = 60000, CHANNELS = 64, HEAD = 314 + 66 * CHANNELS };

static void put(unsigned char *to, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        to[i] = (unsigned char)(value >> (8 * i));
    }
}

/* Two seconds, with a gap of half a second in the middle. */
static void write_ptp(const char *path)
{
    static unsigned char head[HEAD], packet[13 + 2 * CHANNELS];
    memcpy(head, "BRSMPGRP\x03", 9);
    put(head + 10, HEAD, 4);
    put(head + 286, 1, 4);
    put(head + 290, 1000000000, 4);
    put(head + 310, CHANNELS, 4);
    for (int c = 0; c < CHANNELS; c++) {
        unsigned char *channel = head + 314 + 66 * c;
        memcpy(channel, "CC", 2);
        snprintf((char *)channel + 4, 16, "elec%d", c + 1);
        put(channel + 22, (uint16_t)-32764, 2);
        put(channel + 24, 32764, 2);
        put(channel + 26, (uint16_t)-8191, 2);
        put(channel + 28, 8191, 2);
        memcpy(channel + 30, "uV", 2);
    }
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(head, sizeof head, 1, file), 1);
    for (uint64_t i = 0; i < PACKETS; i++) {
        packet[0] = 1;
        put(packet + 1, 1700000000000000000u + i * 1000000000 / 30000 + (i >= 30000) * 500000000,
            8);
        put(packet + 9, 1, 4);
        for (uint64_t c = 0; c < CHANNELS; c++) {
            put(packet + 13 + 2 * c, (uint16_t)((7 * i + 13 * c) % 2001 - 1000), 2);
        }
        assert_int_equal(fwrite(packet, sizeof packet, 1, file), 1);
    }
    assert_int_equal(fclose(file), 0);
}

static void ptp_within_16_mib(void **state)
{
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s", own_path("ptp.ns6"));
    write_ptp(path);
    json_t *report = run("- common_reference: {}\n"
                         "- butterworth: {order: 4, cuton: 300 Hz, cutoff: 6 kHz}\n"
                         "- binned_aggregate: {bin_duration: 10 ms, operation: mean}\n",
                         path, "--memory-limit 16M");
    uint64_t plan = number(report, "plan_bytes"), before = number(report, "rss_before_bytes");
    uint64_t growth = number(report, "rss_peak_bytes") - before;
    print_message("60,000 packets of %d channels: plan %llu, RSS growth %llu B, %.3f s\n", CHANNELS,
                  (unsigned long long)plan, (unsigned long long)growth,
                  json_number_value(json_object_get(report, "seconds")));
    assert_int_equal(number(report, "frames_in"), PACKETS);
    assert_int_equal(number(report, "segments"), 2);
    assert_int_equal(number(report, "frames_out"), 200);
    assert_true(plan <= 16 * MIB);
    assert_true(growth <= plan + 4 * MIB); /* M7 */
    json_decref(report);
    const gapped of = {"", 30000, 2, {0, 1.5}, {30000, 30000}};
    uint64_t rows = 0;
    check_table(&of, bins_of, 300, &rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(begin_again_at_gaps),
        cmocka_unit_test(read_back),
        cmocka_unit_test(ptp_within_16_mib),
    };
    return cmocka_run_group_tests_name("gaps", tests, NULL, own_folder_remove);
}
