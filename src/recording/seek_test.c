/* SPDX-License-Identifier: MIT
 *
 * Every format can seek to a frame (weir_source_ops.seek, S10): the rows from there on have the
 * same values, segments and indexes as when read from the start. And the identity of an input:
 * another time of change, other options, another recording.
 */
#include "have_hdf5.h"
#include "recordings.h"

#include <fcntl.h>
#include <sys/stat.h>

#define RECORDINGS WEIR_SHARED_DIR "/recordings/"

typedef struct place {
    uint64_t segment;
    int64_t index, start_ns;
} place;

typedef struct heard {
    uint64_t frames;
    size_t frame_bytes;
    unsigned char *rows;
    place *places; /* of each frame */
} heard;

static heard
hear(const char *path, const weir_recording_options *options, uint64_t from, size_t tile)
{
    weir_source *source = NULL;
    uint64_t bytes = 0, room = 1 << 20;
    void *memory = NULL;
    assert_ok(weir_recording_open(path, options, &source));
    const weir_source_info *info = source->ops->info(source);
    heard h = {.frame_bytes = (size_t)weir_spec_frame_bytes(&info->spec)};
    assert_ok(source->ops->plan(source, tile, &bytes));
    assert_int_equal(posix_memalign(&memory, 64, (size_t)bytes + 1), 0);
    assert_ok(source->ops->start(source, tile, memory));
    uint64_t reached = 0;
    assert_ok(source->ops->seek(source, from, &reached));
    assert_int_equal(reached, from);
    h.rows = malloc(room * h.frame_bytes);
    h.places = malloc(room * sizeof *h.places);
    for (weir_message message = {.frames = 1}; message.frames > 0;) {
        assert_true(h.frames + tile < room);
        assert_ok(source->ops->read(source, h.rows + h.frames * h.frame_bytes, tile, &message));
        for (size_t i = 0; i < message.frames; i++) {
            h.places[h.frames + i] = (place){message.segment, message.first_index + (int64_t)i,
                                             message.segment_start_ns};
        }
        h.frames += message.frames;
    }
    weir_source_close(source);
    free(memory);
    return h;
}

static void unhear(heard *h)
{
    free(h->rows);
    free(h->places);
}

static void goes_to_any_frame(const char *path, const weir_recording_options *options)
{
    heard all = hear(path, options, 0, 64);
    uint64_t seed = 11;
    assert_true(all.frames > 10);
    const uint64_t fixed[] = {1, 63, 64, all.frames - 1, all.frames};
    for (size_t i = 0; i < 16; i++) {
        uint64_t from = i < 5 ? fixed[i] : testing_random(&seed) % all.frames;
        heard rest = hear(path, options, from, i % 2 == 0 ? 64 : 37);
        bool same =
            rest.frames == all.frames - from && memcmp(rest.rows, all.rows + from * all.frame_bytes,
                                                       (size_t)rest.frames * all.frame_bytes) == 0;
        for (uint64_t k = 0; same && k < rest.frames; k++) {
            const place *a = &rest.places[k], *b = &all.places[from + k];
            same = a->segment == b->segment && a->index == b->index && a->start_ns == b->start_ns;
        }
        if (!same) {
            fail_msg("%s: from frame %llu of %llu", path, (unsigned long long)from,
                     (unsigned long long)all.frames);
        }
        unhear(&rest);
    }
    weir_source *source = NULL;
    assert_ok(weir_recording_open(path, options, &source));
    uint64_t reached = 0;
    assert_ok(source->ops->seek(source, all.frames + 1, &reached));
    assert_int_equal(reached, all.frames);
    weir_source_close(source);
    unhear(&all);
}

/* A recording with gaps, written by a chain without units. */
static bool write_gaps(const char *path)
{
    weir_source *source = NULL;
    weir_sink *sink = NULL;
    weir_chain *chain = NULL;
    const weir_plan *plan = NULL;
    weir_run_report report = {.report_size = sizeof report};
    if (weir_recording_create(path, NULL, &sink) != WEIR_OK) {
        printf("skipped: %s: not built\n", path);
        return false;
    }
    assert_ok(weir_recording_open(
        "synthetic:channels=3,rate=1000,seconds=2,seed=3,pause_every=0.31,pause=0.2", NULL,
        &source));
    assert_ok(weir_chain_create(NULL, &chain));
    assert_ok(weir_chain_output(chain, WEIR_CHAIN_INPUT, "all"));
    assert_ok(weir_chain_plan_run(chain, source, &sink, 1, &plan));
    assert_ok(weir_chain_run(chain, NULL, &report));
    weir_source_close(source);
    weir_sink_close(sink);
    weir_chain_destroy(chain);
    return true;
}

static void written_formats(void **state)
{
    (void)state;
    static const char *const names[] = {"g.npy", "g.raw", "g.csv", "g.wav", "g.h5"};
    for (size_t i = 0; i < 5; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s", own_path(names[i]));
        if (write_gaps(path)) {
            weir_recording_options options = weir_recording_options_default();
            goes_to_any_frame(path, &options);
            options.start_s = 0.4;
            options.duration_s = 0.9;
            options.channels = "2,0";
            goes_to_any_frame(path, &options);
        }
    }
    goes_to_any_frame(
        "synthetic:channels=3,rate=3000,seconds=2,seed=3,pause_every=0.31,pause=0.2,dtype=i16",
        NULL);
}

static void recordings(void **state)
{
    (void)state;
    static const char *const names[] = {
        "edf/edfPlusD.edf",
        "edf/bdfPlusC.bdf",
        "made-here/nsx23_three_segments.ns5",
        "made-here/nsx30_two_segments.ns6",
        "made-here/nsx30_ptp_one_sample_packets.ns6",
        "made-here/nsx22_2kHz_late_start.ns3",
        "npy/ca1.npy",
        "text/ecg.txt",
    };
    if (access(RECORDINGS, R_OK) != 0) {
        printf("skipped: " RECORDINGS " is not there\n");
        return;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[512];
        weir_recording_options options = weir_recording_options_default();
        snprintf(path, sizeof path, RECORDINGS "%s", names[i]);
        options.rate_hz = i >= 6 ? 1000 : 0;
        goes_to_any_frame(path, &options);
    }
}

static void identity(const char *path, const weir_recording_options *options, char text[400])
{
    weir_source *source = NULL;
    assert_ok(weir_recording_open(path, options, &source));
    assert_ok(source->ops->identity(source, text, 400));
    weir_source_close(source);
}

static void what_it_is(void **state)
{
    (void)state;
    char path[256], text[400], other[400];
    snprintf(path, sizeof path, "%s", own_path("i.npy"));
    assert_true(write_gaps(path));
    weir_recording_options options = weir_recording_options_default();
    identity(path, &options, text);
    identity(path, NULL, other);
    assert_string_equal(text, other);
    struct {
        weir_recording_options options;
    } asked[5];
    for (size_t i = 0; i < 5; i++) {
        asked[i].options = options;
    }
    asked[0].options.start_s = 0.1;
    asked[1].options.channels = "0,1";
    asked[2].options.counts = true;
    asked[3].options.duration_s = 0.1;
    asked[4].options.unit = "mV";
    for (size_t i = 0; i < 5; i++) {
        identity(path, &asked[i].options, other);
        assert_string_not_equal(text, other);
    }
    struct timespec times[2] = {{.tv_sec = 5}, {.tv_sec = 5, .tv_nsec = 1}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    identity(path, &options, other);
    assert_string_not_equal(text, other);
    identity("synthetic:channels=1,seed=1", NULL, text);
    identity("synthetic:channels=1,seed=2", NULL, other);
    assert_string_not_equal(text, other);
    identity("synthetic:channels=1,seed=1", &asked[3].options, other);
    assert_string_not_equal(text, other);
}

int main(void)
{
    (void)own_path("");
    use_hdf5_helper();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_formats),
        cmocka_unit_test(recordings),
        cmocka_unit_test(what_it_is),
    };
    return cmocka_run_group_tests_name("seek", tests, NULL, own_folder_remove);
}
