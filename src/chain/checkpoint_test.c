/* SPDX-License-Identifier: MIT
 *
 * Checkpoints of a run from and to memory (S10): what sources and sinks of other people need to state, that the plan has
 * the bytes, that a full disk keeps the former checkpoint, and that a source that cannot go to a frame is read up
 * to it. Files and kills: tests/fault/resume_test.c.
 */
#include "recordings.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "chain/checkpoint.h"
#include "no_sink.h"

enum { CHANNELS = 5, FRAMES = 3000, SEGMENT = 1100 };

/* ---- from and to memory ---------------------------------------------------------------------------- */

typedef struct memory_source {
    weir_source source;
    weir_source_info info;
    uint64_t next, read; /* read: frames delivered so far, by any way */
    const char *identity;
} memory_source;

static float value_at(uint64_t frame, uint64_t channel)
{
    return (float)((frame * 7919 + channel * 104729) % 2003) - 1000.0f;
}

static const weir_source_info *source_info(weir_source *source)
{
    return &((memory_source *)source)->info;
}

static weir_err source_plan(weir_source *source, uint64_t tile, uint64_t *ret_bytes)
{
    (void)source;
    (void)tile;
    *ret_bytes = 0;
    return WEIR_OK;
}

static weir_err source_start(weir_source *source, uint64_t tile, void *memory)
{
    (void)source;
    (void)tile;
    (void)memory;
    return WEIR_OK;
}

static weir_err source_read(weir_source *source, void *rows, size_t capacity, weir_message *ret)
{
    memory_source *m = (memory_source *)source;
    uint64_t segment = m->next / SEGMENT, end = (segment + 1) * SEGMENT;
    end = end < FRAMES ? end : FRAMES;
    size_t frames = (size_t)(end - m->next) < capacity ? (size_t)(end - m->next) : capacity;
    for (size_t i = 0; i < frames * CHANNELS; i++) {
        ((float *)rows)[i] = value_at(m->next + i / CHANNELS, i % CHANNELS);
    }
    *ret = (weir_message){.data = rows,
                          .frames = frames,
                          .segment = segment,
                          .segment_start_ns = (int64_t)segment * 10000000000,
                          .first_index = (int64_t)(m->next % SEGMENT)};
    m->next += frames;
    m->read += frames;
    return WEIR_OK;
}

static void source_close(weir_source *source)
{
    (void)source;
}

static weir_err source_identity(weir_source *source, char *text, size_t size)
{
    snprintf(text, size, "%s", ((memory_source *)source)->identity);
    return WEIR_OK;
}

static weir_err source_seek(weir_source *source, uint64_t frames, uint64_t *ret_frames)
{
    ((memory_source *)source)->next = *ret_frames = frames;
    return WEIR_OK;
}

static weir_source_ops source_ops = {.ops_size = sizeof(weir_source_ops),
                                     .name = "memory",
                                     .info = source_info,
                                     .plan = source_plan,
                                     .start = source_start,
                                     .read = source_read,
                                     .close = source_close,
                                     .identity = source_identity,
                                     .seek = source_seek};

typedef struct memory_sink {
    weir_sink sink;
    float rows[FRAMES][CHANNELS];
    uint64_t count;
    bool finished;
} memory_sink;

static weir_err sink_write(weir_sink *sink, const weir_message *block)
{
    memory_sink *m = (memory_sink *)sink;
    memcpy(m->rows[m->count], block->data, block->frames * sizeof m->rows[0]);
    m->count += block->frames;
    return WEIR_OK;
}

static weir_err sink_finish(weir_sink *sink)
{
    ((memory_sink *)sink)->finished = true;
    return WEIR_OK;
}

static weir_err sink_position(weir_sink *sink, weir_checkpoint *checkpoint, bool last)
{
    const memory_sink *m = (const memory_sink *)sink;
    (void)last;
    return weir_checkpoint_put(checkpoint, &m->count, sizeof m->count);
}

static weir_err sink_resume(weir_sink *sink, weir_checkpoint *checkpoint)
{
    memory_sink *m = (memory_sink *)sink;
    return weir_checkpoint_get(checkpoint, &m->count, sizeof m->count);
}

static weir_sink_ops sink_ops = {.ops_size = sizeof(weir_sink_ops),
                                 .name = "memory",
                                 .plan = no_sink_plan,
                                 .start = no_sink_start,
                                 .write = sink_write,
                                 .flush = no_sink_do,
                                 .finish = sink_finish,
                                 .close = no_sink_close,
                                 .position = sink_position,
                                 .commit = no_sink_do,
                                 .resume = sink_resume};

/* ---- runs ------------------------------------------------------------------------------------------ */

typedef struct job {
    memory_source source;
    memory_sink sink;
    weir_chain *chain;
    uint64_t stop_at; /* frames; 0 = never */
    bool full_disk;   /* from there on */
    uint64_t tile, threads;
    bool checkpoints;
} job;

static const char *path(void)
{
    static char text[256];
    snprintf(text, sizeof text, "%s", own_path("job.ckpt"));
    return text;
}

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static bool step(void *user, const weir_progress *progress)
{
    job *j = user;
    bool stops = j->stop_at > 0 && progress->frames_in >= j->stop_at;
    if (stops && j->full_disk) {
        limit_files(100);
    }
    return !stops;
}

static const weir_plan *plan(job *j, const char *text)
{
    weir_chain_options options = weir_chain_options_default();
    options.tile_frames = j->tile;
    options.threads = j->threads;
    options.checkpoints = j->checkpoints;
    assert_ok(weir_chain_create(&options, &j->chain));
    const weir_value order[] = {weir_number("order", 4), weir_text("cutoff", "100 Hz")};
    const weir_value seconds[] = {weir_text("time_constant", "0.2 s")};
    int node = WEIR_CHAIN_INPUT;
    assert_ok(weir_chain_add(j->chain, node, "butterworth", order, 2, NULL, &node));
    assert_ok(weir_chain_add(j->chain, node, "ewma", seconds, 1, NULL, &node));
    assert_ok(weir_chain_set_text(j->chain, text));
    j->source.source.ops = &source_ops;
    j->source.info.spec = weir_spec_make(WEIR_F32, 1000, CHANNELS, NULL, NULL);
    j->source.info.info_size = sizeof j->source.info;
    j->source.info.frames = FRAMES;
    j->source.identity = j->source.identity == NULL ? "an input" : j->source.identity;
    j->sink.sink.ops = &sink_ops;
    weir_sink *sinks[] = {&j->sink.sink};
    const weir_plan *planned = NULL;
    assert_ok(weir_chain_plan_run(j->chain, &j->source.source, sinks, 1, &planned));
    return planned;
}

static weir_err run(job *j, bool resume, weir_run_report *ret_report)
{
    weir_run_options options = {.options_size = sizeof options,
                                .progress = step,
                                .user = j,
                                .checkpoint = j->checkpoints ? path() : NULL,
                                .resume = resume};
    return weir_chain_run(j->chain, &options, ret_report);
}

static job *job_new(uint64_t tile, uint64_t threads)
{
    job *j = calloc(1, sizeof *j);
    assert_non_null(j);
    j->tile = tile;
    j->threads = threads;
    j->checkpoints = true;
    return j;
}

static void job_free(job *j)
{
    weir_chain_destroy(j->chain);
    free(j);
}

/* The rows that came before, as a file has them. */
static job *job_after(const job *before, uint64_t tile, uint64_t threads)
{
    job *j = job_new(tile, threads);
    memcpy(j->sink.rows, before->sink.rows, sizeof j->sink.rows);
    return j;
}

static job *whole_run(void)
{
    job *j = job_new(64, 1);
    weir_run_report report = {.report_size = sizeof report};
    j->checkpoints = false;
    plan(j, "a");
    assert_ok(run(j, false, &report));
    assert_int_equal(report.frames_in, FRAMES);
    assert_false(report.resumed);
    return j;
}

static void check_equal(const job *a, const job *b)
{
    assert_int_equal(a->sink.count, b->sink.count);
    assert_memory_equal(a->sink.rows, b->sink.rows, sizeof a->sink.rows);
    assert_true(b->sink.finished);
    assert_int_not_equal(access(path(), F_OK), 0);
}

/* Interrupted at 700, resumed with other tiles and threads, interrupted at 1500, resumed to the end. */
static void goes_on(bool seeks)
{
    job *whole = whole_run(), *a = job_new(64, 1);
    weir_run_report report = {.report_size = sizeof report};
    plan(a, "a");
    a->stop_at = 700;
    assert_int_equal(run(a, false, &report), WEIR_E_INTERRUPTED);
    assert_false(a->sink.finished);
    assert_int_equal(access(path(), F_OK), 0);
    job *b = job_after(a, 37, 2);
    plan(b, "a");
    b->stop_at = 1500;
    uint64_t first = report.frames_in;
    assert_int_equal(run(b, true, &report), WEIR_E_INTERRUPTED);
    assert_true(report.resumed);
    assert_int_equal(report.resumed_frames, first);
    job *c = job_after(b, 200, 1);
    plan(c, "a");
    first = report.frames_in;
    assert_ok(run(c, true, &report));
    assert_int_equal(report.frames_in, FRAMES);
    assert_int_equal(report.segments, 3);
    assert_int_equal(c->source.read, seeks ? FRAMES - first : FRAMES);
    check_equal(whole, c);
    job_free(whole);
    job_free(a);
    job_free(b);
    job_free(c);
}

static void other_tiles_and_threads(void **state)
{
    (void)state;
    goes_on(true);
}

static void without_seek(void **state)
{
    (void)state;
    source_ops.seek = NULL;
    goes_on(false);
    source_ops.seek = source_seek;
    source_ops.ops_size = offsetof(weir_source_ops, seek); /* one that was compiled before */
    goes_on(false);
    source_ops.ops_size = sizeof source_ops;
}

/* The former checkpoint stays, byte by byte, and the run goes on from it. */
static void full_disk(void **state)
{
    (void)state;
    job *whole = whole_run(), *a = job_new(64, 1);
    weir_run_report report = {.report_size = sizeof report};
    plan(a, "a");
    a->stop_at = 700;
    assert_int_equal(run(a, false, &report), WEIR_E_INTERRUPTED);
    unsigned char before[16384], after[16384];
    FILE *file = fopen(path(), "rb");
    size_t bytes = fread(before, 1, sizeof before, file);
    fclose(file);
    job *b = job_after(a, 64, 1);
    plan(b, "a");
    b->stop_at = 1500;
    b->full_disk = true;
    signal(SIGXFSZ, SIG_IGN);
    assert_fails(run(b, true, &report), WEIR_E_IO,
                 "job.ckpt.part: cannot be written: File too large");
    limit_files(RLIM_INFINITY);
    file = fopen(path(), "rb");
    assert_int_equal(fread(after, 1, sizeof after, file), bytes);
    fclose(file);
    assert_memory_equal(before, after, bytes);
    assert_int_not_equal(access(own_path("job.ckpt.part"), F_OK), 0);
    job *c = job_after(b, 64, 1);
    plan(c, "a");
    assert_ok(run(c, true, &report));
    check_equal(whole, c);
    job_free(whole);
    job_free(a);
    job_free(b);
    job_free(c);
}

/* M6: planned, and used. */
static void is_planned(void **state)
{
    (void)state;
    job *j = job_new(64, 1);
    const weir_plan *planned = plan(j, "a");
    weir_run_report report = {.report_size = sizeof report};
    size_t part = planned->part_count;
    for (size_t i = 0; i < planned->part_count; i++) {
        part = strcmp(planned->parts[i].kind, "checkpoint") == 0 ? i : part;
    }
    assert_true(part < planned->part_count);
    j->stop_at = 700;
    assert_int_equal(run(j, false, &report), WEIR_E_INTERRUPTED);
    uint64_t bytes = planned->parts[part].bytes;
    assert_in_range(weir_chain_state_bytes(j->chain), bytes - 63, bytes);
    assert_in_range(weir_chain_used_bytes(j->chain, part), bytes / 10 * 8, bytes);
    weiri_checkpoint_remove(path());
    job_free(j);
}

static weir_err refused(job *j, bool resume)
{
    weir_run_report report = {.report_size = sizeof report};
    weir_err err = run(j, resume, &report);
    job_free(j);
    return err;
}

static void what_is_refused(void **state)
{
    (void)state;
    job *j = job_new(64, 1), *stopped = job_new(64, 1);
    weir_run_report report = {.report_size = sizeof report};
    plan(stopped, "a");
    stopped->stop_at = 700;
    assert_int_equal(run(stopped, false, &report), WEIR_E_INTERRUPTED);
    plan(j, "a");
    assert_fails(refused(j, false), WEIR_E_USAGE, "job.ckpt: already exists");
    plan(j = job_new(64, 1), "b");
    assert_fails(refused(j, true), WEIR_E_USAGE, "the chain file has changed");
    (j = job_new(64, 1))->source.identity = "another";
    plan(j, "a");
    assert_fails(refused(j, true), WEIR_E_USAGE, "was an input; is another");
    plan(j = job_new(64, 1), "a");
    weir_value value = weir_text("cutoff", "90 Hz"); /* a live setting: the saved one is restored */
    assert_ok(weir_chain_set(j->chain, 0, &value));
    memcpy(j->sink.rows, stopped->sink.rows, sizeof j->sink.rows);
    assert_ok(run(j, true, &report));
    job *whole = whole_run();
    check_equal(whole, j);
    job_free(j);
    job_free(whole);
    job_free(stopped);

    (j = job_new(64, 1))->checkpoints = false;
    plan(j, "a");
    j->checkpoints = true;
    assert_fails(refused(j, false), WEIR_E_USAGE, "planned without checkpoints");
    source_ops.identity = NULL;
    plan(j = job_new(64, 1), "a");
    assert_fails(refused(j, false), WEIR_E_USAGE, "a source of type memory has no identity");
    source_ops.identity = source_identity;
    sink_ops.position = NULL;
    plan(j = job_new(64, 1), "a");
    assert_fails(refused(j, false), WEIR_E_USAGE, "sinks of type memory cannot be resumed");
    sink_ops.position = sink_position;
    assert_int_not_equal(access(path(), F_OK), 0);
}

int main(void)
{
    (void)own_path("");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_tiles_and_threads),
        cmocka_unit_test(without_seek),
        cmocka_unit_test(full_disk),
        cmocka_unit_test(is_planned),
        cmocka_unit_test(what_is_refused),
    };
    return cmocka_run_group_tests_name("checkpoint", tests, NULL, own_folder_remove);
}
