/* SPDX-License-Identifier: MIT
 *
 * picture.c: the picture of a report: the lowest and highest values of the first output's first channels over time.
 * A sink in front of the output's own sorts each block into the columns of a plot. How long the run will be need not
 * be known: columns begin one frame wide and are merged in pairs whenever they are used up, so that at the end 512
 * to 1024 of them are used, whatever the length.
 */
#include "plot.h"

#include <math.h>
#include <stdlib.h>

enum { CHANNELS = 4 }; /* at most PLOT_PANELS */

typedef struct cli_picture {
    weir_sink sink;
    weir_sink *inner; /* the output's own; NULL = nothing is written */
    plot *plot;
    uint64_t channels;     /* of the output */
    double start_s, end_s; /* of the signal so far */
    uint64_t charged_bytes;
    bool begun;
} cli_picture;

static cli_picture *self(weir_sink *sink)
{
    return (cli_picture *)sink;
}

static void add(cli_picture *picture, const weir_message *block)
{
    plot *p = picture->plot;
    const weir_spec *spec = block->spec;
    double start = plot_time(spec, block), end = start + (double)block->frames / spec->rate_hz;
    if (block->frames == 0)
        return;
    if (!picture->begun) {
        picture->begun = true;
        picture->start_s = picture->end_s = start;
        p->start_s =
            start - 0.5 / spec->rate_hz; /* the middle of a column: no rounding to a neighbour */
        p->end_s = p->start_s + PLOT_COLUMNS / spec->rate_hz;
    }
    plot_reach(p, end);
    plot_add(p, 0, p->panel_count, spec, block);
    picture->end_s = fmax(picture->end_s, end);
}

/* ---- the sink ------------------------------------------------------------------------------ */

static weir_err sink_plan(weir_sink *sink, const weir_spec *spec, uint64_t *ret_bytes)
{
    weir_sink *inner = self(sink)->inner;
    *ret_bytes = 0;
    return inner != NULL ? inner->ops->plan(inner, spec, ret_bytes) : WEIR_OK;
}

static weir_err sink_start(weir_sink *sink,
                           const weir_spec *spec,
                           const weir_source_info *source,
                           const char *chain,
                           void *memory)
{
    weir_sink *inner = self(sink)->inner;
    return inner != NULL ? inner->ops->start(inner, spec, source, chain, memory) : WEIR_OK;
}

static weir_err sink_write(weir_sink *sink, const weir_message *block)
{
    weir_sink *inner = self(sink)->inner;
    weir_err err = inner != NULL ? inner->ops->write(inner, block) : WEIR_OK;
    if (err == WEIR_OK)
        add(self(sink), block);
    return err;
}

static weir_err sink_flush(weir_sink *sink)
{
    weir_sink *inner = self(sink)->inner;
    return inner != NULL ? inner->ops->flush(inner) : WEIR_OK;
}

static weir_err sink_finish(weir_sink *sink)
{
    weir_sink *inner = self(sink)->inner;
    return inner != NULL ? inner->ops->finish(inner) : WEIR_OK;
}

static void sink_close(weir_sink *sink)
{
    weir_sink_close(self(sink)->inner);
    self(sink)->inner = NULL; /* the picture itself stays for the report */
}

static weir_err sink_position(weir_sink *sink, weir_checkpoint *checkpoint, bool last)
{
    weir_sink *inner = self(sink)->inner;
    return inner->ops->position(inner, checkpoint, last);
}

static weir_err sink_commit(weir_sink *sink)
{
    weir_sink *inner = self(sink)->inner;
    return inner->ops->commit(inner);
}

static weir_err sink_resume(weir_sink *sink, weir_checkpoint *checkpoint)
{
    weir_sink *inner = self(sink)->inner;
    return inner->ops->resume(inner, checkpoint);
}

static const weir_sink_ops alone = {.ops_size = sizeof(weir_sink_ops),
                                    .name = "picture",
                                    .plan = sink_plan,
                                    .start = sink_start,
                                    .write = sink_write,
                                    .flush = sink_flush,
                                    .finish = sink_finish,
                                    .close = sink_close};

static const weir_sink_ops in_front = {.ops_size = sizeof(weir_sink_ops),
                                       .name = "recording",
                                       .plan = sink_plan,
                                       .start = sink_start,
                                       .write = sink_write,
                                       .flush = sink_flush,
                                       .finish = sink_finish,
                                       .close = sink_close,
                                       .position = sink_position,
                                       .commit = sink_commit,
                                       .resume = sink_resume};

/* ---- the picture --------------------------------------------------------------------------- */

int cli_picture_open(cli_job *job)
{
    const weir_spec *spec = weir_chain_output_spec(job->chain, 0);
    const char *file = job->output_files[0];
    uint64_t channels = weir_spec_columns(spec);
    size_t panels = channels < CHANNELS ? (size_t)channels : CHANNELS;
    uint64_t bytes = sizeof(cli_picture) + sizeof(plot) + panels * sizeof(plot_panel);
    weir_err err = weir_cache_charge(weir_chain_cache(job->chain), bytes);
    if (err != WEIR_OK)
        return cli_fail_weir(err);
    cli_picture *picture = cli_alloc(1, sizeof(*picture));
    picture->inner = job->sinks[0];
    picture->sink.ops = picture->inner != NULL ? &in_front : &alone;
    picture->plot = cli_alloc(1, sizeof(*picture->plot));
    picture->plot->end_s = 1;
    picture->channels = channels;
    picture->charged_bytes = bytes;
    plot_notes_add(picture->plot, weir_source_info_get(job->source));
    for (size_t i = 0; i < panels; i++) {
        plot_panel *panel = plot_panel_add(
            picture->plot, file != NULL ? file : weir_chain_output_name(job->chain, 0), spec, i);
        panel->note_count = picture->plot->note_count;
    }
    job->picture = picture;
    job->sinks[0] = &picture->sink;
    return 0;
}

void cli_picture_write(const cli_job *job, const cli_result *result, FILE *file)
{
    const cli_picture *picture = job->picture;
    plot *p = picture->plot;
    if (picture->begun) { /* the axis: what is drawn are the columns' mean times */
        p->start_s = picture->start_s;
        p->end_s = picture->end_s;
    }
    fprintf(file, "<h2>Signal</h2>\n<p>Output ");
    cli_put_escaped(file, weir_chain_output_name(job->chain, 0));
    if (p->panel_count < picture->channels)
        fprintf(file, ", the first %zu of %llu values of a frame", p->panel_count,
                (unsigned long long)picture->channels);
    if (result->report.resumed)
        fputs(", from where the run was resumed", file);
    fputs(": lowest to highest value, and their mean as a line. Grey: no data.</p>\n", file);
    plot_svg(p, file);
}

void cli_picture_free(cli_job *job)
{
    cli_picture *picture = job->picture;
    if (picture == NULL)
        return;
    for (size_t i = 0; i < picture->plot->panel_count; i++)
        free(picture->plot->panels[i]);
    weir_cache_uncharge(weir_chain_cache(job->chain), picture->charged_bytes);
    free(picture->plot);
    free(picture);
    job->picture = NULL;
}
