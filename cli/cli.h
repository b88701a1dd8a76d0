/* SPDX-License-Identifier: MIT
 *
 * cli.h: shared by the files of the command, which includes include/weir/ only.
 */
#ifndef WEIR_CLI_H
#define WEIR_CLI_H

#include <argp.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>

#include <weir/weir.h>

#define X(name, function, summary) int function(int argc, char **argv);
#include "commands.def"
#undef X

typedef struct cli_command {
    const char *name;
    int (*function)(int argc, char **argv);
    const char *summary;
} cli_command;
extern const cli_command cli_commands[]; /* ended by a NULL name */

#define CLI_PRINTF(text, first) __attribute__((format(printf, text, first)))

/* Every option without a letter, so that no two children of an argp share a number. */
enum {
    CLI_OPT_MEMORY = 0x100,
    CLI_OPT_CACHE,
    CLI_OPT_THREADS,
    CLI_OPT_TILE,
    CLI_OPT_FUSE,
    CLI_OPT_JSON,
    CLI_OPT_REPORT,
    CLI_OPT_FORCE,
    CLI_OPT_OUTPUT_FORMAT,
    CLI_OPT_FORMAT,
    CLI_OPT_DTYPE,
    CLI_OPT_CHANNELS_IN_FILE,
    CLI_OPT_RATE,
    CLI_OPT_OFFSET,
    CLI_OPT_CHANNELS,
    CLI_OPT_EXCLUDE,
    CLI_OPT_START,
    CLI_OPT_DURATION,
    CLI_OPT_RAW,
    CLI_OPT_MESSAGE_FRAMES,
    CLI_OPT_MESSAGE_LENGTHS,
    CLI_OPT_MARKDOWN,
    CLI_OPT_POLICY,
    CLI_OPT_DATASET,
    CLI_OPT_RECORDS,
    CLI_OPT_UNIT,
    CLI_OPT_CHECKPOINT,
    CLI_OPT_RESUME,
    CLI_OPT_SCALE
};

/* ---- say.c: lines for a person --------------------------------------------------------------- */

/* Prints "weir: ..." as one line on standard error; returns status. */
int cli_fail(int status, const char *format, ...) CLI_PRINTF(2, 3);
/* The same for an error of the library: its detail, or its text if there is none. */
int cli_fail_weir(weir_err err);
/* Flushes standard output; status, or 7 if it could not be written. */
int cli_finish(int status);
/* Memory, or a line and exit status 6. */
void *cli_alloc(size_t count, size_t size);
/* printf into memory of cli_alloc. */
char *cli_text(const char *format, ...) CLI_PRINTF(1, 2);
/* Sequences for bold and for none; "" if the file is not a terminal, or with NO_COLOR. */
const char *cli_bold(FILE *file);
const char *cli_plain(FILE *file);
/* Writes text with control characters replaced, so that a recording's labels cannot control a
 * terminal. */
void cli_put_clean(FILE *file, const char *text);
/* Writes text into HTML or SVG; control characters become blanks, NULL nothing. */
void cli_put_escaped(FILE *file, const char *text);
/* The name nearest to `found`, or NULL. */
const char *cli_nearest(const char *found, const char *const *names, size_t count);

/* ---- figures.c: figures for a person, into text[size]; each returns text ------------------------- */

#define CLI_FIGURE 64
char *cli_bytes(uint64_t bytes, char *text, size_t size);    /* "3.1 MiB"; "none" for no limit */
char *cli_count(uint64_t count, char *text, size_t size);    /* "1,800,000"; "unknown" */
char *cli_rate(double rate_hz, char *text, size_t size);     /* "30 kHz" */
char *cli_duration(double seconds, char *text, size_t size); /* "11 min 38 s" */
char *cli_times(double times, char *text, size_t size);      /* "25.1 x", "278,000 x" */
char *cli_shape(const weir_spec *spec, char *text, size_t size); /* "time x 256 ch" */
/* "1.2 ms", "0", "never" of a lag or settling time; "differs" of a delay that depends on frequency. */
char *cli_frames_time(uint64_t frames, double rate_hz, char *text, size_t size);
char *cli_delay_time(double frames, double rate_hz, char *text, size_t size);
/* Exact length of a stretch of frames. */
double cli_seconds(uint64_t frames, double rate_hz);

/* ---- table.c: aligned columns ------------------------------------------------------------------- */

typedef struct cli_table cli_table;
/* Columns as "part|kind|>bytes": > aligns to the right. */
cli_table *cli_table_create(const char *columns);
/* The next cell, row by row. */
void cli_table_cell(cli_table *table, const char *format, ...) CLI_PRINTF(2, 3);
/* A line across, before the next row. */
void cli_table_rule(cli_table *table);
/* Limits rows to a width in terminal columns: text in the widest table columns is wrapped at blanks. */
#define CLI_COLUMNS 80
void cli_table_fit(cli_table *table, size_t columns);
void cli_table_print(const cli_table *table, FILE *file);
void cli_table_destroy(cli_table *table);
/* Prints a text in lines of at most CLI_COLUMNS; further lines begin after `indent` blanks, and
 * the first has been begun with as many characters. */
void cli_put_wrapped(FILE *file, const char *text, size_t indent);
/* Width of a UTF-8 text in terminal columns. */
size_t cli_width(const char *text);

/* ---- options.c ------------------------------------------------------------------------------------ */

/* Description of the input: --format, --rate and so on. */
typedef struct cli_input {
    weir_recording_options recording;
    uint64_t message_frames;  /* 0 = not given */
    const char *lengths_path; /* NULL = not given */
} cli_input;

extern const struct argp cli_input_argp; /* its input: cli_input */

/* Reads a whole number >= least, or ends the program with a line about the option. */
uint64_t
cli_option_count(struct argp_state *state, const char *option, const char *text, uint64_t least);
uint64_t
cli_option_limit(struct argp_state *state, const char *option, const char *text, bool automatic);
double cli_option_quantity(struct argp_state *state,
                           const char *option,
                           const char *text,
                           weir_quantity kind,
                           double least);

/* group.c: subcommands. */
#define CLI_MEMBERS_MAX 8
typedef struct cli_member {
    const char *name; /* NULL ends the list */
    int (*function)(int argc, char **argv);
    const char *summary;
} cli_member;
typedef struct cli_group {
    const char *name;
    const char *usage; /* what follows the command's name */
    cli_member members[CLI_MEMBERS_MAX];
} cli_group;
int cli_group_command(const cli_group *group, int argc, char **argv);

/* argp_parse, which ends the program on --help and wrong options; while cli_docs is set it
 * prints the options there as roff instead. >= 0: the command ends with that status. */
int cli_parse(const struct argp *argp, int argc, char **argv, void *input);
extern FILE *cli_docs;

/* ---- lengths.c: --message-lengths -------------------------------------------------------------------- */

/* One number per line, read repeatedly, through a fixed buffer. */
typedef struct cli_lengths {
    const char *path;
    int file;
    size_t at, filled;
    uint64_t line;
    uint64_t sum; /* of one pass */
    bool failed;  /* a line was printed about it */
    char buffer[4096];
} cli_lengths;
/* Opens it and reads it once: 0, or the exit status after a line was printed. */
int cli_lengths_open(cli_lengths *lengths, const char *path);
/* For weir_run_options.next_message; user is the cli_lengths. */
weir_err cli_lengths_next(cli_lengths *lengths, uint64_t *ret_frames);
void cli_lengths_close(cli_lengths *lengths);

/* ---- files.c: no input is among the outputs; a page or a picture is whole or not there --------------------- */

typedef struct cli_files {
    size_t count;
    struct cli_file *list;
} cli_files;
/* A file that is read, and its description for messages ("the chain file"); - is standard input.
 * Paths belong to the caller. */
void cli_files_read(cli_files *files, const char *path, const char *what);
/* A recording that is read: its side file too, and FILE in FILE:/DATASET. */
void cli_files_recording(cli_files *files, const char *path);
/* A file that is written, by which option, with PATH.part; for a recording also its side file. */
void cli_files_write(cli_files *files, const char *path, const char *what);
void cli_files_output(cli_files *files, const char *path, const char *what);
/* 0, or 2 after a line was printed: a file that would be written is an input, or another output. Ends the list. */
int cli_files_check(cli_files *files);

typedef struct cli_write {
    const char *path;
    char *target; /* PATH.part; of a device PATH; NULL = not begun */
    FILE *file;
} cli_write;
/* Whether the path can be written to: 0, or the exit status after a line was printed. */
int cli_write_check(const char *path, bool force);
int cli_write_begin(cli_write *out, const char *path, bool force);
/* Renames the file, or removes it if it is not to be kept or could not be written. A second call
 * does nothing. */
int cli_write_end(cli_write *out, bool keep);
/* Closes it and leaves the part; returns its name (of cli_alloc). */
char *cli_write_leave(cli_write *out);

/* ---- records.c: --records ---------------------------------------------------------------------------------- */

typedef struct cli_record_file {
    char *path; /* after cli_records_end with complete false: the remaining PATH.part */
    int node;
    bool npy, failed;
    uint64_t count; /* records in it */
    cli_write out;
} cli_record_file;
typedef struct cli_records {
    const char *path; /* as stated by the user; NULL = not stated */
    size_t count;
    cli_record_file *files;
    double flushed;
} cli_records;
/* Determines the files: one per unit with records. 0, or 2 after a line was printed. */
int cli_records_name(cli_records *records, const weir_chain *chain);
void cli_records_list(const cli_records *records, cli_files *files);
/* Creates them, and makes the chain write to them. */
int cli_records_begin(cli_records *records, weir_chain *chain, bool force);
/* Once a second. */
void cli_records_flush(cli_records *records);
/* The one that could not be written, or NULL. */
const char *cli_records_failed(const cli_records *records);
/* Closes them; complete: they are renamed, else they stay as parts if they have records. A
 * second call does nothing. */
int cli_records_end(cli_records *records, bool complete);
void cli_records_free(cli_records *records);

/* ---- job.c: a chain, a recording and outputs, opened and planned ------------------------------------- */

typedef struct cli_job {
    const char *chain_path, *input_path, *output_path; /* output_path NULL = none */
    cli_input input;
    weir_chain_options chain_options;
    const char *output_format;
    const char *report_path;
    const char *trace_path;    /* a cache's allocations and frees are recorded there; NULL = not */
    weir_cache *untiled_cache; /* the cache that is recorded; NULL = the chain's */
    cli_write trace;
    cli_records records;
    bool force, quiet, json, planning; /* planning: nothing will be written */
    const char *checkpoint_path;       /* NULL = none */
    bool resume;
    cli_lengths *lengths;
    weir_chain *chain;
    weir_source *source;
    size_t output_count;
    weir_sink **sinks;
    char **output_files; /* one an output; entries NULL without -o */
    const weir_plan *plan;
    struct cli_picture *picture; /* of --report; NULL = none */
} cli_job;

extern const struct argp run_argp, plan_argp; /* their input: cli_job */

cli_job *cli_job_create(void);
/* Chain, recording, sinks, plan: 0, or the exit status after a line was printed. */
int cli_job_open(cli_job *job);

/* After planning without -o: plans again as with `-o path`; nothing is written. The plan's
 * bytes, or 0 if that format cannot represent the output. job->plan is then the new one. */
uint64_t cli_job_plan_output(cli_job *job, const char *path);
/* Closes the outputs of an unfinished run: output_files are then what is kept of them, NAME.part
 * or NULL. */
void cli_job_stop(cli_job *job);
void cli_job_destroy(cli_job *job);

/* The plan as a table, with total, limit and explanations. */
void cli_plan_print(const cli_job *job, FILE *file);
json_t *cli_plan_json(const cli_job *job);
/* One line about a plan that does not fit; returns its exit status. */
int cli_plan_refuse(const cli_job *job);

/* ---- summary.c, report.c, picture.c: what a run measured ------------------------------------------------------------ */

typedef struct cli_result {
    weir_err err; /* WEIR_OK or WEIR_E_INTERRUPTED */
    weir_run_report report;
    weir_cache_stats stats;
} cli_result;

void cli_summary_print(const cli_job *job, const cli_result *result, FILE *file);
json_t *cli_summary_json(const cli_job *job, const cli_result *result);
/* Calls line() for each notice of recording and chain. */
void cli_notices(const cli_job *job, void (*line)(void *user, const char *text), void *user);
/* picture.c: the picture of the first output's signal for --report, gathered while the job runs. Its sink takes the
 * place of the output's own, to which it passes everything on. The memory is charged to the chain's cache. 0, or the
 * exit status after a line was printed. */
int cli_picture_open(cli_job *job);
/* Writes it as SVG, after the run. */
void cli_picture_write(const cli_job *job, const cli_result *result, FILE *file);
void cli_picture_free(cli_job *job);

/* Writes the report of --report: 0, or the exit status after a line was printed. */
int cli_report_write(const cli_job *job, const cli_result *result);

/* ---- json.c --------------------------------------------------------------------------------------------- */

json_t *cli_json_text(const char *text); /* null for NULL; bytes that are not UTF-8 are replaced */
json_t *cli_json_count(uint64_t count);  /* null for "unknown" and "none" */
json_t *cli_json_real(double number);    /* null if not finite */
/* Prints and destroys it; status, or 7 if it could not be written. */
int cli_json_print(json_t *json, int status);

/* ---- progress.c ------------------------------------------------------------------------------------------- */

extern volatile sig_atomic_t cli_stop; /* SIGINT, SIGTERM or SIGHUP came */
void cli_signals_set(void);

typedef struct cli_progress {
    bool shown;  /* on a terminal */
    bool drawn;  /* something is on the line */
    double next; /* seconds at which it is drawn again */
} cli_progress;
void cli_progress_start(cli_progress *progress, bool quiet);
/* Draws at most five times a second; false when the run is to end. */
bool cli_progress_step(cli_progress *progress, const weir_progress *state);
void cli_progress_end(cli_progress *progress);

#endif
