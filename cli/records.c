/* SPDX-License-Identifier: MIT
 *
 * records.c: --records: writes the events that units detect (spikes) into a table: CSV, or npy with
 * one field per column. It is written to NAME.part and renamed when complete; after an interruption
 * it stays NAME.part, with complete rows. One unit with records writes FILE; with several each has
 * a file, FILE.1.csv, FILE.2.csv, in the order of the chain.
 */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* A row of the npy file: no padding. */
typedef struct row {
    double time_s;
    uint64_t segment;
    int64_t frame;
    uint32_t column, kind;
    double amplitude;
} row;

enum { HEAD_BYTES = 256 }; /* of the npy file: written again when the number of rows is known */

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- one file ------------------------------------------------------------------------------------- */

static bool write_head(cli_record_file *file)
{
    const uint16_t one = 1;
    char order = *(const unsigned char *)&one == 1 ? '<' : '>', head[HEAD_BYTES];
    if (!file->npy)
        return fputs("time_s,segment,frame,column,channel,kind,amplitude\n", file->out.file) >= 0;
    memset(head, ' ', sizeof head);
    memcpy(head, "\x93NUMPY\x01\x00", 8);
    head[8] = (char)((HEAD_BYTES - 10) & 0xff);
    head[9] = (char)((HEAD_BYTES - 10) >> 8);
    int length =
        snprintf(head + 10, sizeof head - 10,
                 "{'descr': [('time_s', '%cf8'), ('segment', '%cu8'), ('frame', '%ci8'), "
                 "('column', '%cu4'), ('kind', '%cu4'), ('amplitude', '%cf8')], "
                 "'fortran_order': False, 'shape': (%llu,), }",
                 order, order, order, order, order, order, (unsigned long long)file->count);
    head[10 + length] = ' ';
    head[HEAD_BYTES - 1] = '\n';
    return fseek(file->out.file, 0, SEEK_SET) == 0 &&
           fwrite(head, sizeof head, 1, file->out.file) == 1 &&
           fseek(file->out.file, 0, SEEK_END) == 0;
}

/* A label; in quotes if it contains what ends a cell. */
static void put_label(FILE *file, const char *label)
{
    if (strpbrk(label, ",\"\r\n") == NULL) {
        fputs(label, file);
        return;
    }
    putc('"', file);
    for (; *label != '\0'; label++) {
        if (*label == '"')
            putc('"', file);
        putc(*label, file);
    }
    putc('"', file);
}

/* The channel of a column of a frame. */
static uint64_t channel_of(const weir_spec *spec, uint32_t column)
{
    int dim = weir_spec_dim(spec, "ch");
    uint64_t inner = 1;
    for (uint32_t i = spec->dim_count; dim > 0 && i-- > (uint32_t)dim + 1;)
        inner *= spec->dims[i].size;
    return dim > 0 ? column / inner % spec->dims[dim].size : 0;
}

static void put_csv(FILE *file, const weir_spec *spec, const row *r)
{
    int dim = weir_spec_dim(spec, "ch");
    uint64_t channel = channel_of(spec, r->column);
    fprintf(file, "%.9f,%llu,%lld,%u,", r->time_s, (unsigned long long)r->segment,
            (long long)r->frame, r->column);
    if (dim > 0 && spec->dims[dim].labels != NULL)
        put_label(file, spec->dims[dim].labels[channel]);
    else
        fprintf(file, "%llu", (unsigned long long)channel);
    fprintf(file, ",%u,%.*g\n", r->kind, spec->dtype == WEIR_F32 ? 9 : 17, r->amplitude);
}

static weir_err write_batch(void *user, const weir_record_batch *batch)
{
    cli_record_file *file = user;
    const weir_spec *spec = batch->spec;
    double start_s = (double)batch->segment_start_ns * 1e-9 + spec->dims[0].start;
    for (size_t i = 0; i < batch->count; i++) {
        const weir_record *record = &batch->records[i];
        row r = {.time_s = start_s + (double)record->index / spec->rate_hz,
                 .segment = record->segment,
                 .frame = record->index,
                 .column = record->column,
                 .kind = record->kind,
                 .amplitude = record->value};
        if (file->npy)
            fwrite(&r, sizeof r, 1, file->out.file);
        else
            put_csv(file->out.file, spec, &r);
    }
    file->count += batch->count;
    file->failed = ferror(file->out.file) != 0;
    return file->failed ? WEIR_E_IO : WEIR_OK;
}

/* ---- all of them ---------------------------------------------------------------------------------- */

static bool has_records(const weir_chain *chain, size_t node)
{
    weir_unit_report unit = {.report_size = sizeof unit};
    const weir_unit_info *info = NULL;
    return weir_chain_node_report(chain, node, &unit) == WEIR_OK &&
           weir_unit_find(unit.name, &info) == WEIR_OK && (info->flags & WEIR_UNIT_RECORDS) != 0;
}

static char *file_name(const char *path, const char *extension, size_t number, size_t count)
{
    if (count == 1)
        return cli_text("%s", path);
    return cli_text("%.*s.%zu%s", (int)(extension - path), path, number + 1, extension);
}

int cli_records_name(cli_records *records, const weir_chain *chain)
{
    const char *path = records->path, *slash = path == NULL ? NULL : strrchr(path, '/');
    if (path == NULL)
        return 0;
    const char *extension = strrchr(slash != NULL ? slash : path, '.');
    if (extension == NULL ||
        (strcasecmp(extension, ".csv") != 0 && strcasecmp(extension, ".npy") != 0))
        return cli_fail(2, "--records: found '%s'; expected NAME.csv or NAME.npy", path);
    size_t nodes = weir_chain_node_count(chain);
    records->files = cli_alloc(nodes + 1, sizeof *records->files);
    for (size_t i = 0; i < nodes; i++)
        if (has_records(chain, i))
            records->files[records->count++].node = (int)i;
    for (size_t i = 0; i < records->count; i++) {
        cli_record_file *file = &records->files[i];
        file->path = file_name(path, extension, i, records->count);
        file->npy = strcasecmp(extension, ".npy") == 0;
    }
    return records->count > 0 ? 0
                              : cli_fail(2, "--records: no unit of the chain writes records; "
                                            "threshold_crossing does");
}

void cli_records_list(const cli_records *records, cli_files *files)
{
    for (size_t i = 0; i < records->count; i++)
        cli_files_write(files, records->files[i].path, "--records");
}

int cli_records_begin(cli_records *records, weir_chain *chain, bool force)
{
    for (size_t i = 0; i < records->count; i++) {
        cli_record_file *file = &records->files[i];
        int status = cli_write_begin(&file->out, file->path, force);
        if (status != 0)
            return status;
        if (!write_head(file))
            return cli_fail(7, "%s: cannot be written: %s", file->path, strerror(errno));
        weir_err err = weir_chain_on_records(chain, file->node, write_batch, file);
        if (err != WEIR_OK)
            return cli_fail_weir(err);
    }
    records->flushed = seconds_now();
    return 0;
}

void cli_records_flush(cli_records *records)
{
    double now = records->count > 0 ? seconds_now() : 0.0;
    if (records->count == 0 || now - records->flushed < 1.0)
        return;
    records->flushed = now;
    for (size_t i = 0; i < records->count; i++)
        fflush(
            /* an error is kept with the file and reported at its end */
            records->files[i].out.file);
}

const char *cli_records_failed(const cli_records *records)
{
    for (size_t i = 0; i < records->count; i++)
        if (records->files[i].failed)
            return records->files[i].path;
    return NULL;
}

int cli_records_end(cli_records *records, bool complete)
{
    int status = 0;
    for (size_t i = 0; i < records->count; i++) {
        cli_record_file *file = &records->files[i];
        if (file->out.target == NULL)
            continue;
        if (file->npy && !write_head(file) && complete)
            status = cli_fail(7, "%s: cannot be written: %s", file->path, strerror(errno));
        if (complete && status == 0) {
            status = cli_write_end(&file->out, true);
        } else if (file->count > 0) {
            char *part = cli_write_leave(&file->out);
            free(file->path);
            file->path = part;
        } else {
            (void)cli_write_end(&file->out, false);
        }
    }
    return status;
}

void cli_records_free(cli_records *records)
{
    (void)cli_records_end(records, false);
    for (size_t i = 0; i < records->count; i++)
        free(records->files[i].path);
    free(records->files);
    *records = (cli_records){0};
}
