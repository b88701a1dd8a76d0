/* SPDX-License-Identifier: MIT
 *
 * bench.c: `weir bench`: the list of benches. Each is in a file of its own.
 */
#include "bench.h"

static const cli_group bench = {
    "bench",
    "[OPTION...]",
    {{"speed", bench_speed_command, "weir beside other libraries: times as fast as real time"},
     {"units", bench_units_command, "each processing unit beside the machine's limit and its peers"},
     {"memory", bench_memory_command, "what is held, by policy, limit and lengths of messages"}}};

int bench_command(int argc, char **argv)
{
    return cli_group_command(&bench, argc, argv);
}
