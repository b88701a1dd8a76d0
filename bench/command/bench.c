/* SPDX-License-Identifier: MIT
 *
 * bench.c: `weir bench`: the list of benches. Each is in a file of its own.
 */
#include "bench.h"

static const cli_group bench = {
    "bench",
    "[OPTION...]",
    {{"speed", bench_speed_command,
      "speed of weir and of other libraries, as multiples of real time"},
     {"units", bench_units_command,
      "speed of each processing unit, of its peers, and the machine's limit"},
     {"memory", bench_memory_command,
      "allocated memory, by cache policy, limit and message lengths"}}};

int bench_command(int argc, char **argv)
{
    return cli_group_command(&bench, argc, argv);
}
