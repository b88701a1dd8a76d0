/* SPDX-License-Identifier: MIT
 *
 * options.c: options that describe the input, shared by run, plan and info, and reading the values
 * of options: quantities as in a chain file, whole numbers, a decimal point in any locale.
 */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

FILE *cli_docs;

double cli_option_quantity(struct argp_state *state,
                           const char *option,
                           const char *text,
                           weir_quantity kind,
                           double least)
{
    double value = 0;
    if (weir_quantity_parse(text, kind, &value) != WEIR_OK)
        argp_failure(state, 2, 0, "%s: %s", option, weir_err_detail());
    if (!(value >= least))
        argp_failure(state, 2, 0, "%s: found %s; expected %g or more", option, text, least);
    return value;
}

uint64_t
cli_option_limit(struct argp_state *state, const char *option, const char *text, bool automatic)
{
    uint64_t limit = 0;
    if (weir_limit_parse(text, automatic, &limit) != WEIR_OK)
        argp_failure(state, 2, 0, "%s: %s", option, weir_err_detail());
    return limit;
}

uint64_t
cli_option_count(struct argp_state *state, const char *option, const char *text, uint64_t least)
{
    uint64_t count = 0;
    bool good = *text != '\0';
    for (const char *at = text; *at != '\0'; at++) {
        good = good && *at >= '0' && *at <= '9' && count <= (UINT64_MAX >> 2) / 10;
        count = good ? count * 10 + (uint64_t)(*at - '0') : 0;
    }
    if (!good || count < least)
        argp_failure(state, 2, 0, "%s: found '%s'; expected a whole number from %llu", option, text,
                     (unsigned long long)least);
    return count;
}

static const struct argp_option options[] = {
    {0, 0, 0, 0, "The input:", 2},
    {"format", CLI_OPT_FORMAT, "NAME", 0,
     "format of the input; required for - (standard input) and raw", 2},
    {"rate", CLI_OPT_RATE, "HZ", 0, "frame rate, for formats that do not state one", 2},
    {"dtype", CLI_OPT_DTYPE, "TYPE", 0,
     "raw: sample type: u8 i8 u16 i16 i24 u32 i32 u64 i64 f16 f32 f64 c64 c128, prefix > for big "
     "endian",
     2},
    {"channels-in-file", CLI_OPT_CHANNELS_IN_FILE, "N", 0, "raw: number of interleaved channels",
     2},
    {"offset", CLI_OPT_OFFSET, "BYTES", 0, "raw: position of the first sample", 2},
    {"scale", CLI_OPT_SCALE, "NUMBER", 0, "raw: physical value of one count: 0.195 (and --unit uV)",
     2},
    {"channels", CLI_OPT_CHANNELS, "LIST", 0,
     "channels to read: numbers from 0, ranges, labels: 0-63,70,Fp1", 2},
    {"exclude", CLI_OPT_EXCLUDE, "LIST", 0, "channels to leave out", 2},
    {"start", CLI_OPT_START, "TIME", 0, "start time, relative to the first frame: 10s", 2},
    {"duration", CLI_OPT_DURATION, "TIME", 0, "duration to read", 2},
    {"dataset", CLI_OPT_DATASET, "/GROUP/NAME", 0,
     "hdf5: dataset to read; can also follow the path: FILE.h5:/GROUP/NAME", 2},
    {"unit", CLI_OPT_UNIT, "TEXT", 0, "physical unit to assume for channels without one: uV", 2},
    {"raw", CLI_OPT_RAW, 0, 0, "deliver stored counts instead of physical values", 2},
    {"message-frames", CLI_OPT_MESSAGE_FRAMES, "N", 0, "split input into messages of N frames", 2},
    {"message-lengths", CLI_OPT_MESSAGE_LENGTHS, "FILE", 0,
     "split input into messages of the lengths listed in FILE (one per line, 0 allowed; repeats "
     "from the top)",
     2},
    {0}};

static error_t parse(int key, char *text, struct argp_state *state)
{
    cli_input *input = state->input;
    weir_recording_options *recording = input != NULL ? &input->recording : NULL;
    switch (key) {
    case CLI_OPT_FORMAT:
        recording->format = text;
        break;
    case CLI_OPT_RATE:
        recording->rate_hz = cli_option_quantity(state, "--rate", text, WEIR_FREQUENCY, 1e-9);
        break;
    case CLI_OPT_DTYPE:
        recording->dtype = text;
        break;
    case CLI_OPT_CHANNELS_IN_FILE:
        recording->channels_in_file = cli_option_count(state, "--channels-in-file", text, 1);
        break;
    case CLI_OPT_OFFSET:
        if (weir_bytes_parse(text, &recording->offset_bytes) != WEIR_OK)
            argp_failure(state, 2, 0, "--offset: %s", weir_err_detail());
        break;
    case CLI_OPT_SCALE:
        recording->scale = cli_option_quantity(state, "--scale", text, WEIR_PLAIN, -INFINITY);
        if (recording->scale == 0)
            argp_failure(state, 2, 0, "--scale: found 0, which would make every value 0");
        break;
    case CLI_OPT_CHANNELS:
        recording->channels = text;
        break;
    case CLI_OPT_EXCLUDE:
        recording->exclude = text;
        break;
    case CLI_OPT_START:
        recording->start_s = cli_option_quantity(state, "--start", text, WEIR_TIME, 0);
        break;
    case CLI_OPT_DURATION:
        recording->duration_s = cli_option_quantity(state, "--duration", text, WEIR_TIME, 0);
        break;
    case CLI_OPT_DATASET:
        recording->dataset = text;
        break;
    case CLI_OPT_UNIT:
        recording->unit = text;
        break;
    case CLI_OPT_RAW:
        recording->counts = true;
        break;
    case CLI_OPT_MESSAGE_FRAMES:
        input->message_frames = cli_option_count(state, "--message-frames", text, 1);
        break;
    case CLI_OPT_MESSAGE_LENGTHS:
        input->lengths_path = text;
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    if (input->message_frames != 0 && input->lengths_path != NULL)
        argp_failure(state, 2, 0, "--message-frames and --message-lengths cannot be used together");
    return 0;
}

const struct argp cli_input_argp = {options, parse, 0, 0, 0, 0, 0};

/* ---- argp for users and for the man page ------------------------------------------------------------ */

static void put_roff(const char *text)
{
    for (; *text != '\0'; text++)
        fprintf(cli_docs, *text == '-' || *text == '\\' ? "\\%c" : "%c", *text);
}

static void put_options(const struct argp *argp)
{
    for (const struct argp_option *option = argp->options; option != NULL; option++) {
        if (option->name == NULL && option->key == 0 && option->doc == NULL)
            break;
        if (option->name == NULL || (option->flags & OPTION_HIDDEN) != 0)
            continue;
        fputs(".TP\n", cli_docs);
        if (option->key > 0x20 && option->key < 0x7f)
            fprintf(cli_docs, "\\fB\\-%c\\fR, ", option->key);
        fputs("\\fB\\-\\-", cli_docs);
        put_roff(option->name);
        fprintf(cli_docs, "\\fR%s%s%s\n", option->arg != NULL ? "=\\fI" : "",
                option->arg != NULL ? option->arg : "", option->arg != NULL ? "\\fR" : "");
        put_roff(option->doc != NULL ? option->doc : "");
        putc('\n', cli_docs);
    }
    for (const struct argp_child *child = argp->children; child != NULL && child->argp != NULL;
         child++)
        put_options(child->argp);
}

int cli_parse(const struct argp *argp, int argc, char **argv, void *input)
{
    if (cli_docs != NULL) {
        fputs(".SS \"", cli_docs);
        put_roff(argv[0]);
        fprintf(cli_docs, " %s\"\n", argp->args_doc != NULL ? argp->args_doc : "");
        if (argp->doc != NULL) {
            size_t length = strcspn(argp->doc, "\v");
            char *first = cli_text("%.*s", (int)length, argp->doc);
            put_roff(first);
            free(first);
            putc('\n', cli_docs);
        }
        put_options(argp);
        return 0;
    }
    /* argp's letter for help is -?; most programs use -h. */
    static char help[] = "--help";
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "-h") == 0)
            argv[i] = help;
    argp_err_exit_status = 2;
    error_t failed = argp_parse(argp, argc, argv, 0, NULL, input);
    return failed == 0 ? -1 : cli_fail(1, "options: %s", strerror(failed));
}
