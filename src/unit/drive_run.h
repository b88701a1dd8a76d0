/* SPDX-License-Identifier: MIT
 *
 * drive_run.h: plans a unit and runs it as a chain does, without chain and cache (drive.h). How many frames a
 * call consumes and produces is the chain's arithmetic on `due`.
 */
#ifndef WEIRI_DRIVE_RUN_H
#define WEIRI_DRIVE_RUN_H

#include "unit/drive_memory.h"
#include "unit/unit.h"

enum { DRIVE_FIELDS = 32 };

/* Some or all channels, with state and place. */
typedef struct drive_part {
    weiri_block block;
    weir_spec in[WEIRI_INPUTS_MAX], out;
    drive_memory fields[DRIVE_FIELDS];
    void *state[DRIVE_FIELDS];
    uint64_t consumed, produced;
    weir_record *log; /* records since the reset, columns of the whole; as long as the drive */
    size_t log_count, log_room;
    bool told; /* the segment's last call was made */
} drive_part;

typedef struct drive_piece {
    struct drive_piece *next;
    long double values[]; /* aligned for anything */
} drive_piece;

typedef struct drive {
    const weiri_unit_ops *ops;
    union {
        weir_spec in; /* the first input */
        weir_spec ins[WEIRI_INPUTS_MAX];
    };
    size_t inputs;
    weiri_unit_plan plan;
    weiri_notices notices;
    void *settings;
    size_t
        apart; /* values between two frames of the first input and of the output, of a strided unit */
    bool ends;                  /* set by a test: drive_run ends the segment after the last frame */
    const weir_record *records; /* of the whole run of drive_cuts */
    size_t record_count;

    unsigned char *prepared; /* constants as prepare left them */
    drive_memory constants;  /* what run sees */
    drive_part whole;
    weiri_block *block; /* of all channels */
    drive_piece *pieces;
} drive;

/* Frames that came out, [frames x columns of plan.out]. */
typedef struct drive_output {
    unsigned char *data;
    size_t frames;
} drive_output;

static inline void *drive_get(void *user, size_t bytes)
{
    drive *d = user;
    drive_piece *piece = calloc(1, sizeof *piece + bytes + 1);
    assert_non_null(piece);
    piece->next = d->pieces;
    d->pieces = piece;
    return piece->values;
}

/* ---- blocks of channels --------------------------------------------------------------------------- */

/* The spec of some of the channels. */
static inline weir_spec drive_part_spec(const weir_spec *spec, uint64_t first, uint64_t channels)
{
    weir_spec part = *spec;
    int dim = weir_spec_dim(spec, "ch");
    if (dim > 0 && channels < spec->dims[dim].size) {
        weir_axis *axis = &part.dims[dim];
        axis->size = channels;
        axis->labels = axis->labels == NULL ? NULL : axis->labels + first;
        axis->values = axis->values == NULL ? NULL : axis->values + first;
        axis->start += (double)first * axis->step;
        part.units = part.units == NULL ? NULL : part.units + first;
    }
    return part;
}

static inline uint64_t drive_channels(const drive *d)
{
    int dim = weir_spec_dim(&d->in, "ch");
    return dim > 0 ? d->in.dims[dim].size : 1;
}

/* As before the first frame: state is garbage and then reset; place and counts are 0. */
static inline void drive_part_reset(drive *d, drive_part *part)
{
    part->block.constants = d->constants.at;
    for (size_t i = 0; i < d->plan.field_count; i++) {
        memset(part->fields[i].at, drive_garbage(), part->fields[i].bytes);
    }
    if (d->ops->reset != NULL) {
        d->ops->reset(&part->block);
    }
    part->consumed = part->produced = 0;
    part->log_count = 0;
    part->told = false;
    part->block.saturated = 0;
    memset(part->block.missing, 0, (size_t)part->block.channels * sizeof *part->block.missing);
}

static inline void drive_part_open(drive *d, drive_part *part, uint64_t first, uint64_t channels)
{
    bool all = channels == drive_channels(d); /* other inputs and the output may have more */
    for (size_t i = 0; i < d->inputs; i++) {
        part->in[i] = all ? d->ins[i] : drive_part_spec(&d->ins[i], first, channels);
    }
    part->out = all ? d->plan.out : drive_part_spec(&d->plan.out, first, channels);
    uint64_t columns = weir_spec_columns(&part->in[0]);
    for (size_t i = 0; i < d->plan.field_count; i++) {
        uint64_t bytes = weiri_field_bytes(&d->plan.fields[i], columns);
        part->fields[i] = drive_memory_get((size_t)bytes, 0);
        part->state[i] = part->fields[i].at;
    }
    part->block = (weiri_block){.ops = d->ops,
                                .in = part->in,
                                .out = &part->out,
                                .first_channel = first,
                                .columns = columns,
                                .channels = channels,
                                .state = part->state,
                                .missing = drive_get(d, (size_t)channels * sizeof(uint64_t))};
    part->log = NULL;
    part->log_room = 0;
    drive_part_reset(d, part);
}

static inline void drive_part_close(drive *d, drive_part *part)
{
    for (size_t i = 0; i < d->plan.field_count; i++) {
        drive_memory_free(&part->fields[i], d->plan.fields[i].name);
    }
}

/* Copies some channels' values of [frames x outer x channels x inner], `to` compact. */
static inline unsigned char *drive_gather(const weir_spec *spec,
                                          uint64_t first,
                                          uint64_t channels,
                                          const unsigned char *rows,
                                          size_t frames)
{
    weiri_split split = weiri_spec_channels(spec);
    size_t entry = (size_t)split.inner * weir_dtype_bytes(spec->dtype), some = (size_t)channels;
    unsigned char *to = malloc(frames * (size_t)split.outer * some * entry + 1);
    assert_non_null(to);
    for (size_t i = 0; i < frames * (size_t)split.outer; i++) {
        memcpy(to + i * some * entry, rows + (i * (size_t)split.size + (size_t)first) * entry,
               some * entry);
    }
    return to;
}

/* ---- opening --------------------------------------------------------------------------------------- */

static inline void drive_close(drive *d)
{
    drive_part_close(d, &d->whole);
    drive_memory_free(&d->constants, "its constants");
    while (d->pieces != NULL) {
        drive_piece *next = d->pieces->next;
        free(d->pieces);
        d->pieces = next;
    }
    free(d);
}

/* Reads settings and plans into plan, whose strings and lists live as long as the drive. */
static inline weir_err drive_plan(
    drive *d, const weir_value *given, size_t count, void **ret_settings, weiri_unit_plan *plan)
{
    weiri_memory memory = {drive_get, d};
    void *settings = drive_get(d, d->ops->settings_bytes);
    *plan = (weiri_unit_plan){
        .in = d->ins,
        .inputs = d->inputs,
        .out = d->in,
        .due = WEIRI_DUE_SAME,
        .columnwise = (d->ops->info.flags & WEIR_UNIT_COLUMNWISE) != 0,
        .memory = memory,
        .notices = &d->notices,
    };
    weir_err err = WEIR_OK;
    if (d->ops->info.settings != NULL) {
        err = weiri_settings_read(d->ops->info.settings, NULL, given, count, memory, &d->notices,
                                  settings, NULL, NULL);
    }
    if (err == WEIR_OK) {
        err = d->ops->plan(settings, plan);
    }
    if (err == WEIR_OK) {
        const weiri_due *due = &plan->due;
        plan->out.rate_hz = weiri_decimal_scaled(d->in.rate_hz, due->q, due->p);
        plan->out.dims[0].step = due->p == due->q ? d->in.dims[0].step : 1.0 / plan->out.rate_hz;
        *ret_settings = settings;
    }
    return err;
}

static inline unsigned char *
drive_prepare(drive *d, const void *settings, const weiri_unit_plan *plan)
{
    drive_memory memory = drive_memory_get((size_t)plan->constant_bytes, 0);
    memset(memory.at, 0, memory.bytes);
    if (d->ops->prepare != NULL) {
        d->ops->prepare(settings, plan, memory.at);
    }
    unsigned char *prepared = drive_get(d, memory.bytes);
    memcpy(prepared, memory.at, memory.bytes);
    drive_memory_free(&memory, "its constants");
    return prepared;
}

/* Checks that flags, due and fields are consistent. */
static inline void drive_check_plan(const drive *d)
{
    const weiri_unit_plan *plan = &d->plan;
    uint32_t flags = d->ops->info.flags;
    bool same = weiri_due_is_same(&plan->due);
    int in = weir_spec_dim(&d->in, "ch"), out = weir_spec_dim(&plan->out, "ch");
    assert_true(weiri_due_check(&plan->due));
    assert_int_equal(weir_spec_check(&plan->out), WEIR_OK);
    assert_true(same || (flags & WEIR_UNIT_CHANGES_RATE) != 0);
    assert_true(d->inputs == 1 || (flags & WEIR_UNIT_JOINS) != 0);
    assert_true(plan->field_count <= DRIVE_FIELDS);
    assert_true(plan->field_count == 0 || d->ops->reset != NULL);
    assert_true(plan->field_count == 0 ||
                (flags & (WEIR_UNIT_STATEFUL | WEIR_UNIT_CHANGES_RATE)) != 0);
    assert_true(!plan->columnwise || in <= 0 ||
                (out > 0 && plan->out.dims[out].size == d->in.dims[in].size));
}

/* A unit with several inputs. On an error the drive is closed and *ret_drive is left as it was. */
static inline weir_err drive_open_all(const char *name,
                                      const weir_spec *ins,
                                      size_t inputs,
                                      const weir_value *settings,
                                      size_t count,
                                      drive **ret_drive)
{
    drive *d = calloc(1, sizeof *d);
    assert_non_null(d);
    weir_err err = weiri_unit_find(name, &d->ops);
    assert_int_equal(err, WEIR_OK);
    assert_true(inputs >= 1 && inputs <= WEIRI_INPUTS_MAX);
    memcpy(d->ins, ins, inputs * sizeof *ins);
    d->inputs = inputs;
    err = drive_plan(d, settings, count, &d->settings, &d->plan);
    if (err != WEIR_OK) {
        d->plan.field_count = 0;
        drive_close(d);
        return err;
    }
    drive_check_plan(d);
    d->prepared = drive_prepare(d, d->settings, &d->plan);
    d->constants = drive_memory_get((size_t)d->plan.constant_bytes, 0);
    memcpy(d->constants.at, d->prepared, d->constants.bytes);
    drive_part_open(d, &d->whole, 0, drive_channels(d));
    d->block = &d->whole.block;
    *ret_drive = d;
    return WEIR_OK;
}

static inline weir_err drive_open(const char *name,
                                  const weir_spec *in,
                                  const weir_value *settings,
                                  size_t count,
                                  drive **ret_drive)
{
    return drive_open_all(name, in, 1, settings, count, ret_drive);
}

static inline void drive_reset(drive *d)
{
    drive_part_reset(d, &d->whole);
}

/* Changes live settings between two frames; all settings are given anew. WEIR_E_CHAIN as plan says. */
static inline weir_err drive_set(drive *d, const weir_value *settings, size_t count)
{
    weiri_unit_plan plan;
    void *changed = NULL;
    weir_err err = drive_plan(d, settings, count, &changed, &plan);
    if (err != WEIR_OK) {
        return err;
    }
    assert_int_equal(plan.constant_bytes, d->plan.constant_bytes);
    assert_int_equal(plan.field_count, d->plan.field_count);
    assert_int_equal(plan.scratch_bytes, d->plan.scratch_bytes);
    assert_int_equal(plan.scratch_column_bytes, d->plan.scratch_column_bytes);
    assert_memory_equal(&plan.due, &d->plan.due, sizeof plan.due);
    for (size_t i = 0; i < plan.field_count; i++) {
        assert_int_equal(plan.fields[i].rows, d->plan.fields[i].rows);
    }
    drive_memory before = d->constants;
    d->settings = changed;
    d->plan = plan;
    d->prepared = drive_prepare(d, changed, &plan);
    d->constants = drive_memory_get((size_t)plan.constant_bytes, 0);
    memcpy(d->constants.at, d->prepared, d->constants.bytes);
    d->block->constants = d->constants.at;
    if (d->ops->changed != NULL) {
        d->ops->changed(d->block, before.at);
    }
    drive_memory_free(&before, "its constants");
    return WEIR_OK;
}

/* ---- running ---------------------------------------------------------------------------------------- */

/* How many frames the next call consumes and produces, as the chain decides it. false: nothing to do. */
static inline bool drive_decide(const weiri_due *due,
                                const drive_part *part,
                                size_t have,
                                size_t room,
                                bool ended,
                                weiri_work *work)
{
    uint64_t n = part->consumed, m = part->produced, target = weiri_due_at(due, n, ended);
    size_t consume = 0;
    if (target <= m && !ended && have > 0) {
        uint64_t most = weiri_due_inverse(due, m + room);
        most = most > n ? most - n : 1;
        consume = most < have ? (size_t)most : have;
        target = weiri_due_at(due, n + consume, false);
    }
    uint64_t produce = target > m ? target - m : 0;
    produce = produce < room ? produce : room;
    produce -= ended ? 0 : produce % due->grain;
    work->consumed = n;
    work->produced = m;
    work->consume = consume;
    work->produce = (size_t)produce;
    return consume > 0 || produce > 0;
}

/* Room for the records of a call, as many as the unit stated. */
static inline drive_memory drive_records(const drive *d, drive_part *part, const weiri_work *work)
{
    uint64_t most = weiri_record_most(&d->plan, work->consume, weir_spec_columns(part->in));
    drive_memory memory = drive_memory_get((size_t)most * sizeof(weir_record), 0);
    part->block.records = (weiri_record_list){(weir_record *)(void *)memory.at, (size_t)most, 0, 0};
    return memory;
}

/* Keeps them, after a look at the contract: how many, of which frames, in which order. */
static inline void drive_log(drive *d, drive_part *part, const weiri_work *work)
{
    const weiri_record_list *records = &part->block.records;
    const weiri_block *block = &part->block;
    weiri_split all = weiri_spec_channels(&d->in);
    uint64_t delay = d->plan.record_delay, end = work->consumed + work->consume;
    uint64_t from = work->consumed > delay ? work->consumed - delay : 0;
    uint64_t to = work->ended ? end : end > delay ? end - delay : 0;
    assert_true(records->count == 0 || (d->ops->info.flags & WEIR_UNIT_RECORDS) != 0);
    assert_true(records->count <= records->room);
    if (part->log_count + records->count > part->log_room) {
        part->log_room = 2 * (part->log_count + records->count);
        weir_record *more = drive_get(d, part->log_room * sizeof *more);
        if (part->log_count > 0) {
            memcpy(more, part->log, part->log_count * sizeof *more);
        }
        part->log = more;
    }
    for (size_t i = 0; i < records->count; i++) {
        weir_record record = records->list[i];
        uint64_t piece = block->channels * all.inner, column = record.column;
        assert_true(record.index >= (int64_t)from && record.index < (int64_t)to);
        assert_true(column < weir_spec_columns(part->in));
        assert_true(i == 0 || records->list[i - 1].index < record.index ||
                    (records->list[i - 1].index == record.index &&
                     records->list[i - 1].column < record.column));
        record.column = (uint32_t)((column / piece * all.size + block->first_channel) * all.inner +
                                   column % piece);
        part->log[part->log_count++] = record;
    }
}

/* Whether the last call of a segment is due, which units with records get: it consumes and produces nothing. */
static inline bool drive_tell(const drive *d, drive_part *part, bool ended, weiri_work *work)
{
    bool last = ended && d->plan.record_frames > 0 && !part->told;
    part->told = part->told || last;
    *work = (weiri_work){.consumed = part->consumed, .produced = part->produced};
    return last;
}

/* The frames of the first input as a strided unit may get them: d->apart values that are not its own after
 * each. Without any, nothing. */
static inline drive_memory drive_apart(const drive *d, const drive_part *part, weiri_work *work)
{
    if (d->apart == 0) {
        return (drive_memory){0};
    }
    size_t value = weir_dtype_bytes(part->in[0].dtype);
    size_t row = (size_t)weir_spec_frame_bytes(part->in), stride = row + d->apart * value;
    drive_memory memory = drive_memory_get(work->consume * stride, value);
    for (size_t frame = 0; frame < work->consume; frame++) {
        memcpy(memory.at + frame * stride, (const unsigned char *)work->in[0] + frame * row, row);
    }
    work->in[0] = memory.at;
    work->in_stride = stride / value;
    return memory;
}

/* The other way: work->out becomes memory with d->apart values after each frame, which must stay as they are. */
static inline drive_memory drive_out_apart(const drive *d, const drive_part *part, weiri_work *work)
{
    if (d->apart == 0) {
        return (drive_memory){0};
    }
    size_t value = weir_dtype_bytes(part->out.dtype);
    size_t stride = (size_t)weir_spec_frame_bytes(&part->out) + d->apart * value;
    drive_memory memory = drive_memory_get(work->produce * stride, value);
    memset(memory.at, 0xa5, work->produce * stride);
    work->out = memory.at;
    work->out_stride = stride / value;
    return memory;
}

static inline void drive_out_together(const drive *d,
                                      const drive_part *part,
                                      const weiri_work *work,
                                      drive_memory *memory,
                                      unsigned char *ret_rows)
{
    size_t row = (size_t)weir_spec_frame_bytes(&part->out);
    size_t between = d->apart * weir_dtype_bytes(part->out.dtype);
    for (size_t frame = 0; d->apart > 0 && frame < work->produce; frame++) {
        const unsigned char *at = memory->at + frame * (row + between);
        memcpy(ret_rows + frame * row, at, row);
        for (size_t i = 0; i < between; i++) {
            assert_int_equal(at[row + i], 0xa5);
        }
    }
    drive_memory_free(memory, "its output");
}

/* One call of run on copies of the first frames of `rows`, of which there are `have`; in_place: the output
 * is where the input is. Returns the frames consumed; nothing consumed and produced: nothing to do. */
static inline size_t drive_call(drive *d,
                                drive_part *part,
                                const unsigned char *const *rows,
                                size_t have,
                                size_t room,
                                bool ended,
                                bool in_place,
                                drive_output *o)
{
    weiri_work work = {0};
    room = room < d->plan.due.grain ? (size_t)d->plan.due.grain : room;
    if (!drive_decide(&d->plan.due, part, have, room, ended, &work) &&
        !drive_tell(d, part, ended, &work)) {
        return 0;
    }
    work.ended = ended;
    drive_memory records = drive_records(d, part, &work);
    size_t columns = (size_t)weir_spec_columns(&part->in[0]);
    size_t value = weir_dtype_bytes(part->out.dtype);
    size_t bytes = work.produce * (size_t)weir_spec_frame_bytes(&part->out);
    drive_memory in[WEIRI_INPUTS_MAX];
    drive_memory out = drive_memory_get(bytes, value);
    drive_memory scratch = drive_memory_get(
        (size_t)(d->plan.scratch_bytes + d->plan.scratch_column_bytes * columns), 0);
    for (size_t i = 0; i < d->inputs; i++) {
        size_t given = work.consume * (size_t)weir_spec_frame_bytes(&part->in[i]);
        in[i] = drive_memory_get(given, weir_dtype_bytes(part->in[i].dtype));
        memcpy(in[i].at, rows[i], given);
        work.in[i] = in[i].at;
    }
    drive_memory apart = drive_apart(d, part, &work);
    drive_memory_move(&d->constants, "its constants");
    part->block.constants = d->constants.at;
    for (size_t i = 0; i < d->plan.field_count; i++) {
        drive_memory_move(&part->fields[i], d->plan.fields[i].name);
        part->state[i] = part->fields[i].at;
    }
    work.out = in_place ? in[0].at : out.at;
    unsigned char *rows_out = work.out;
    drive_memory out_apart = drive_out_apart(d, part, &work);
    work.scratch = scratch.at;
    d->ops->run(&part->block, &work);
    drive_out_together(d, part, &work, &out_apart, rows_out);
    drive_log(d, part, &work);
    drive_memory_free(&records, "its records");
    assert_memory_equal(d->constants.at, d->prepared, d->constants.bytes);
    drive_memory_check(&d->constants, "its constants");
    o->data = realloc(o->data, o->frames * (size_t)weir_spec_frame_bytes(&part->out) + bytes + 1);
    assert_non_null(o->data);
    memcpy(o->data + o->frames * (size_t)weir_spec_frame_bytes(&part->out), rows_out, bytes);
    o->frames += work.produce;
    for (size_t i = 0; i < d->inputs; i++) {
        if (!(in_place && i == 0)) {
            assert_memory_equal(in[i].at, rows[i], in[i].bytes);
        }
        drive_memory_free(&in[i], "its input");
    }
    drive_memory_free(&out, "its output");
    drive_memory_free(&scratch, "its scratch");
    drive_memory_free(&apart, "its input");
    part->consumed += work.consume;
    part->produced += work.produce;
    return work.consume;
}

/* Frames [compact] through a part, in pieces of up to `longest` (0 = all in one). */
static inline drive_output drive_part_run(drive *d,
                                          drive_part *part,
                                          const unsigned char *const *data,
                                          size_t frames,
                                          size_t longest,
                                          uint64_t *random,
                                          bool in_place)
{
    drive_output o = {NULL, 0};
    const weiri_due *due = &d->plan.due;
    uint64_t all = weiri_due_at(due, part->consumed + frames, d->ends) + due->grain;
    size_t at = 0;
    bool tells = d->ends && d->plan.record_frames > 0;
    while (at < frames || part->produced < weiri_due_at(due, part->consumed, d->ends) ||
           (tells && !part->told)) {
        bool ended =
            d->ends && at == frames && part->produced >= weiri_due_at(due, part->consumed, false);
        size_t piece = longest == 0 ? frames - at : (size_t)drive_random(random, longest + 1);
        size_t room = longest == 0 ? (size_t)all : 1 + (size_t)drive_random(random, longest);
        const unsigned char *rows[WEIRI_INPUTS_MAX];
        for (size_t i = 0; i < d->inputs; i++) {
            rows[i] = data[i] + at * (size_t)weir_spec_frame_bytes(&part->in[i]);
        }
        piece = piece < frames - at ? piece : frames - at;
        at += drive_call(d, part, rows, piece, room, ended, in_place, &o);
    }
    return o;
}

/* From the place that the drive is at. random may be NULL where longest is 0. */
static inline drive_output
drive_run_all(drive *d, const void *const *data, size_t frames, size_t longest, uint64_t *random)
{
    const unsigned char *rows[WEIRI_INPUTS_MAX];
    for (size_t i = 0; i < d->inputs; i++) {
        rows[i] = data[i];
    }
    return drive_part_run(d, &d->whole, rows, frames, longest, random, false);
}

static inline drive_output
drive_run(drive *d, const void *data, size_t frames, size_t longest, uint64_t *random)
{
    return drive_run_all(d, &data, frames, longest, random);
}

#endif
