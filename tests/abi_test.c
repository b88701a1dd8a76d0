/* SPDX-License-Identifier: MIT
 *
 * Sizes and offsets of public structs, and values of constants, as programs that were compiled before know
 * them. Where one of these changes, so must the soname; a struct that starts with its size may grow at its
 * end.
 */
#include <weir/config.h>
#include <weir/recording.h>
#include <weir/weir.h>

#include "testing.h"

#define SIZE(type, pinned)                                                                         \
    {                                                                                              \
        "sizeof " #type, sizeof(struct type), pinned                                               \
    }
#define FIELD(type, field, pinned)                                                                 \
    {                                                                                              \
#type "." #field, offsetof(struct type, field), pinned                                     \
    }
#define VALUE(name, pinned)                                                                        \
    {                                                                                              \
#name, (long long)(name), pinned                                                           \
    }

typedef struct row {
    const char *name;
    long long found, pinned;
} row;

/* clang-format off */
static const row layout[] = {
    SIZE(weir_value, 56),
    FIELD(weir_value, key, 0),
    FIELD(weir_value, type, 8),
    FIELD(weir_value, number, 16),
    FIELD(weir_value, text, 24),
    FIELD(weir_value, items, 32),
    FIELD(weir_value, count, 40),
    FIELD(weir_value, line, 48),
    FIELD(weir_value, column, 52),
    SIZE(weir_list, 24),
    FIELD(weir_list, count, 0),
    FIELD(weir_list, of, 8),
    FIELD(weir_list, listed, 16),
    SIZE(weir_matrix, 24),
    FIELD(weir_matrix, rows, 0),
    FIELD(weir_matrix, columns, 8),
    FIELD(weir_matrix, numbers, 16),
    SIZE(weir_choice, 16),
    FIELD(weir_choice, name, 0),
    FIELD(weir_choice, also, 8),
    SIZE(weir_setting, 72),
    FIELD(weir_setting, name, 0),
    FIELD(weir_setting, type, 8),
    FIELD(weir_setting, kind, 12),
    FIELD(weir_setting, preset, 16),
    FIELD(weir_setting, min, 24),
    FIELD(weir_setting, max, 32),
    FIELD(weir_setting, choices, 40),
    FIELD(weir_setting, offset, 48),
    FIELD(weir_setting, help, 56),
    FIELD(weir_setting, example, 64),
    SIZE(weir_heap_ops, 112),
    FIELD(weir_heap_ops, ops_size, 0),
    FIELD(weir_heap_ops, name, 8),
    FIELD(weir_heap_ops, flags, 16),
    FIELD(weir_heap_ops, reserved, 20),
    FIELD(weir_heap_ops, good_size, 24),
    FIELD(weir_heap_ops, alloc, 32),
    FIELD(weir_heap_ops, free, 40),
    FIELD(weir_heap_ops, max_buffers, 48),
    FIELD(weir_heap_ops, page_size, 56),
    FIELD(weir_heap_ops, reserve, 64),
    FIELD(weir_heap_ops, commit, 72),
    FIELD(weir_heap_ops, decommit, 80),
    FIELD(weir_heap_ops, release, 88),
    FIELD(weir_heap_ops, synchronise, 96),
    FIELD(weir_heap_ops, destroy, 104),
    SIZE(weir_heap, 8),
    FIELD(weir_heap, ops, 0),
    SIZE(weir_heap_counts, 40),
    FIELD(weir_heap_counts, bytes, 0),
    FIELD(weir_heap_counts, bytes_peak, 8),
    FIELD(weir_heap_counts, buffers, 16),
    FIELD(weir_heap_counts, calls, 24),
    FIELD(weir_heap_counts, frees, 32),
    SIZE(weir_buffer, 32),
    FIELD(weir_buffer, memory, 0),
    FIELD(weir_buffer, bytes, 8),
    FIELD(weir_buffer, charged, 16),
    FIELD(weir_buffer, cache, 24),
    SIZE(weir_cache_options, 48),
    FIELD(weir_cache_options, options_size, 0),
    FIELD(weir_cache_options, heap, 8),
    FIELD(weir_cache_options, policy, 16),
    FIELD(weir_cache_options, cache_limit, 24),
    FIELD(weir_cache_options, memory_limit, 32),
    FIELD(weir_cache_options, max_buffers, 40),
    SIZE(weir_cache_stats, 176),
    FIELD(weir_cache_stats, stats_size, 0),
    FIELD(weir_cache_stats, version, 8),
    FIELD(weir_cache_stats, reserved, 12),
    FIELD(weir_cache_stats, live_bytes, 16),
    FIELD(weir_cache_stats, held_bytes, 56),
    FIELD(weir_cache_stats, heap_failures, 160),
    FIELD(weir_cache_stats, auto_limit_bytes, 168),
    SIZE(weir_axis, 56),
    FIELD(weir_axis, name, 0),
    FIELD(weir_axis, unit, 8),
    FIELD(weir_axis, size, 16),
    FIELD(weir_axis, start, 24),
    FIELD(weir_axis, step, 32),
    FIELD(weir_axis, labels, 40),
    FIELD(weir_axis, values, 48),
    SIZE(weir_spec, 256),
    FIELD(weir_spec, dtype, 0),
    FIELD(weir_spec, dim_count, 4),
    FIELD(weir_spec, dims, 8),
    FIELD(weir_spec, rate_hz, 232),
    FIELD(weir_spec, units, 240),
    FIELD(weir_spec, name, 248),
    SIZE(weir_message, 56),
    FIELD(weir_message, spec, 0),
    FIELD(weir_message, data, 8),
    FIELD(weir_message, frames, 16),
    FIELD(weir_message, segment, 24),
    FIELD(weir_message, segment_start_ns, 32),
    FIELD(weir_message, first_index, 40),
    FIELD(weir_message, output, 48),
    SIZE(weir_unit_info, 32),
    FIELD(weir_unit_info, name, 0),
    FIELD(weir_unit_info, summary, 8),
    FIELD(weir_unit_info, flags, 16),
    FIELD(weir_unit_info, reserved, 20),
    FIELD(weir_unit_info, settings, 24),
    SIZE(weir_segment, 16),
    FIELD(weir_segment, start_ns, 0),
    FIELD(weir_segment, frames, 8),
    SIZE(weir_source_info, 368),
    FIELD(weir_source_info, format, 0),
    FIELD(weir_source_info, spec, 8),
    FIELD(weir_source_info, frames, 264),
    FIELD(weir_source_info, scales, 272),
    FIELD(weir_source_info, segments, 280),
    FIELD(weir_source_info, segment_count, 288),
    FIELD(weir_source_info, segments_left_out, 296),
    FIELD(weir_source_info, start_time, 304),
    FIELD(weir_source_info, notices, 312),
    FIELD(weir_source_info, notice_count, 320),
    FIELD(weir_source_info, notices_left_out, 328),
    FIELD(weir_source_info, annotations, 336),
    FIELD(weir_source_info, annotation_count, 344),
    FIELD(weir_source_info, annotations_left_out, 352),
    FIELD(weir_source_info, variant, 360),
    SIZE(weir_source_ops, 64),
    FIELD(weir_source_ops, ops_size, 0),
    FIELD(weir_source_ops, name, 8),
    FIELD(weir_source_ops, info, 16),
    FIELD(weir_source_ops, plan, 24),
    FIELD(weir_source_ops, start, 32),
    FIELD(weir_source_ops, read, 40),
    FIELD(weir_source_ops, close, 48),
    FIELD(weir_source_ops, idle, 56),
    SIZE(weir_source, 8),
    FIELD(weir_source, ops, 0),
    SIZE(weir_sink_ops, 64),
    FIELD(weir_sink_ops, ops_size, 0),
    FIELD(weir_sink_ops, name, 8),
    FIELD(weir_sink_ops, plan, 16),
    FIELD(weir_sink_ops, start, 24),
    FIELD(weir_sink_ops, write, 32),
    FIELD(weir_sink_ops, flush, 40),
    FIELD(weir_sink_ops, finish, 48),
    FIELD(weir_sink_ops, close, 56),
    SIZE(weir_sink, 8),
    FIELD(weir_sink, ops, 0),
    SIZE(weir_chain_options, 88),
    FIELD(weir_chain_options, options_size, 0),
    FIELD(weir_chain_options, heap, 8),
    FIELD(weir_chain_options, policy, 16),
    FIELD(weir_chain_options, memory_limit, 24),
    FIELD(weir_chain_options, cache_limit, 32),
    FIELD(weir_chain_options, tile_frames, 40),
    FIELD(weir_chain_options, longest_message, 48),
    FIELD(weir_chain_options, threads, 56),
    FIELD(weir_chain_options, gap_tolerance_s, 64),
    FIELD(weir_chain_options, name, 72),
    FIELD(weir_chain_options, fuse, 80),
    SIZE(weir_plan_part, 48),
    FIELD(weir_plan_part, name, 0),
    FIELD(weir_plan_part, kind, 8),
    FIELD(weir_plan_part, bytes, 16),
    FIELD(weir_plan_part, used_bytes, 24),
    FIELD(weir_plan_part, capacity_frames, 32),
    FIELD(weir_plan_part, spec, 40),
    SIZE(weir_plan, 64),
    FIELD(weir_plan, parts, 0),
    FIELD(weir_plan, part_count, 8),
    FIELD(weir_plan, total_bytes, 16),
    FIELD(weir_plan, memory_limit_bytes, 24),
    FIELD(weir_plan, fits, 32),
    FIELD(weir_plan, tile_frames, 40),
    FIELD(weir_plan, threads, 48),
    FIELD(weir_plan, whole_messages, 56),
    SIZE(weir_progress, 56),
    FIELD(weir_progress, frames_in, 0),
    FIELD(weir_progress, frames_total, 8),
    FIELD(weir_progress, seconds, 16),
    FIELD(weir_progress, rate_hz, 24),
    FIELD(weir_progress, plan_bytes, 32),
    FIELD(weir_progress, memory_limit_bytes, 40),
    FIELD(weir_progress, cache, 48),
    SIZE(weir_run_options, 40),
    FIELD(weir_run_options, options_size, 0),
    FIELD(weir_run_options, message_frames, 8),
    FIELD(weir_run_options, next_message, 16),
    FIELD(weir_run_options, progress, 24),
    FIELD(weir_run_options, user, 32),
    SIZE(weir_run_report, 96),
    FIELD(weir_run_report, frames_in, 0),
    FIELD(weir_run_report, frames_out, 8),
    FIELD(weir_run_report, seconds, 16),
    FIELD(weir_run_report, x_real_time, 24),
    FIELD(weir_run_report, plan_bytes, 32),
    FIELD(weir_run_report, memory_limit_bytes, 40),
    FIELD(weir_run_report, rss_before_bytes, 48),
    FIELD(weir_run_report, rss_peak_bytes, 56),
    FIELD(weir_run_report, segments, 64),
    FIELD(weir_run_report, messages, 72),
    FIELD(weir_run_report, missing_samples, 80),
    FIELD(weir_run_report, unfinished_frames, 88),
    SIZE(weir_unit_report, 48),
    FIELD(weir_unit_report, name, 0),
    FIELD(weir_unit_report, missing, 8),
    FIELD(weir_unit_report, channels, 16),
    FIELD(weir_unit_report, missing_total, 24),
    FIELD(weir_unit_report, unfinished_frames, 32),
    FIELD(weir_unit_report, saturated, 40),
    SIZE(weir_recording_options, 120),
    FIELD(weir_recording_options, options_size, 0),
    FIELD(weir_recording_options, cache, 8),
    FIELD(weir_recording_options, format, 16),
    FIELD(weir_recording_options, rate_hz, 24),
    FIELD(weir_recording_options, dtype, 32),
    FIELD(weir_recording_options, channels_in_file, 40),
    FIELD(weir_recording_options, offset_bytes, 48),
    FIELD(weir_recording_options, channels, 56),
    FIELD(weir_recording_options, exclude, 64),
    FIELD(weir_recording_options, start_s, 72),
    FIELD(weir_recording_options, duration_s, 80),
    FIELD(weir_recording_options, gap_tolerance_s, 88),
    FIELD(weir_recording_options, counts, 96),
    FIELD(weir_recording_options, one_rate, 97),
    FIELD(weir_recording_options, dataset, 104),
    FIELD(weir_recording_options, unit, 112),
    SIZE(weir_output_options, 32),
    FIELD(weir_output_options, options_size, 0),
    FIELD(weir_output_options, cache, 8),
    FIELD(weir_output_options, format, 16),
    FIELD(weir_output_options, force, 24),
    SIZE(weir_format_info, 32),
    FIELD(weir_format_info, name, 0),
    FIELD(weir_format_info, summary, 8),
    FIELD(weir_format_info, extensions, 16),
    FIELD(weir_format_info, reads, 24),
    FIELD(weir_format_info, writes, 25),
};

static const row values[] = {
    VALUE(WEIR_OK, 0),
    VALUE(WEIR_E_INTERNAL, 1),
    VALUE(WEIR_E_USAGE, 2),
    VALUE(WEIR_E_CHAIN, 3),
    VALUE(WEIR_E_RECORDING, 4),
    VALUE(WEIR_E_PLAN, 5),
    VALUE(WEIR_E_LIMIT, 6),
    VALUE(WEIR_E_NOMEM, 7),
    VALUE(WEIR_E_IO, 8),
    VALUE(WEIR_E_INTERRUPTED, 9),
    VALUE(WEIR_PLAIN, 0),
    VALUE(WEIR_FREQUENCY, 1),
    VALUE(WEIR_TIME, 2),
    VALUE(WEIR_BYTES, 3),
    VALUE(WEIR_AMPLITUDE, 4),
    VALUE(WEIR_VALUE_NULL, 0),
    VALUE(WEIR_VALUE_BOOL, 1),
    VALUE(WEIR_VALUE_NUMBER, 2),
    VALUE(WEIR_VALUE_TEXT, 3),
    VALUE(WEIR_VALUE_LIST, 4),
    VALUE(WEIR_VALUE_MAP, 5),
    VALUE(WEIR_SETTING_NUMBER, 0),
    VALUE(WEIR_SETTING_INTEGER, 1),
    VALUE(WEIR_SETTING_QUANTITY, 2),
    VALUE(WEIR_SETTING_STRING, 3),
    VALUE(WEIR_SETTING_ENUM, 4),
    VALUE(WEIR_SETTING_ENUM_LIST, 5),
    VALUE(WEIR_SETTING_BOOL, 6),
    VALUE(WEIR_SETTING_LIST, 7),
    VALUE(WEIR_SETTING_MATRIX, 8),
    VALUE(WEIR_SETTING_ANY, 9),
    VALUE(WEIR_SETTING_IGNORED, 10),
    VALUE(WEIR_U8, 0),
    VALUE(WEIR_U16, 1),
    VALUE(WEIR_I16, 2),
    VALUE(WEIR_I32, 3),
    VALUE(WEIR_F32, 4),
    VALUE(WEIR_F64, 5),
    VALUE(WEIR_C64, 6),
    VALUE(WEIR_C128, 7),
    VALUE(WEIR_HEAP_PAGES, 1),
    VALUE(WEIR_HEAP_DEVICE, 2),
    VALUE(WEIR_MAX_DIMS, 4),
    VALUE(WEIR_UNIT_COUPLES_CHANNELS, 1),
    VALUE(WEIR_UNIT_CHANGES_RATE, 2),
    VALUE(WEIR_UNIT_IN_PLACE, 4),
    VALUE(WEIR_UNIT_ANY_DTYPE, 8),
    VALUE(WEIR_UNIT_HOLDS_OVER_GAP, 16),
    VALUE(WEIR_UNIT_STATEFUL, 32),
    VALUE(WEIR_UNIT_COMPLEX, 256),
    VALUE(WEIR_TILE_AUTO, 0),
    VALUE(WEIR_CHAIN_INPUT, -1),
};
/* clang-format on */

static void compare(const row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (rows[i].found != rows[i].pinned) {
            fail_msg("%s is %lld, pinned as %lld", rows[i].name, rows[i].found, rows[i].pinned);
        }
    }
}

static void structs(void **state)
{
    (void)state;
    if (sizeof(void *) != 8 || sizeof(size_t) != 8) {
        printf("skipped: layouts are pinned for machines with 64-bit pointers\n");
        skip();
    }
    compare(layout, sizeof layout / sizeof layout[0]);
}

static void constants(void **state)
{
    (void)state;
    compare(values, sizeof values / sizeof values[0]);
    assert_true(WEIR_NO_LIMIT == UINT64_MAX && WEIR_UNSET == UINT64_MAX - 1);
    assert_true(WEIR_TILE_NONE == UINT64_MAX && WEIR_FRAMES_UNKNOWN == UINT64_MAX);
    assert_true(WEIR_INDEX_NEXT == INT64_MIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structs),
        cmocka_unit_test(constants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
