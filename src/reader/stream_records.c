#include "reader/stream_records.h"

#include <stddef.h>
#include <string.h>

#define MEMBER_BYTES(type, member) sizeof(((struct type *)0)->member)
#define FIELD(type, member)                                                                 \
    {                                                                                       \
#member, offsetof(struct type, member), MEMBER_BYTES(type, member), 1, false, false \
    }
#define SIGNED(type, member)                                                               \
    {                                                                                      \
#member, offsetof(struct type, member), MEMBER_BYTES(type, member), 1, true, false \
    }
#define FIELDS(type, member)                                                         \
    {                                                                                \
#member, offsetof(struct type, member), MEMBER_BYTES(type, member[0]),       \
            MEMBER_BYTES(type, member) / MEMBER_BYTES(type, member[0]), false, false \
    }
#define SPARE(type, member)                                                                \
    {                                                                                      \
#member, offsetof(struct type, member), MEMBER_BYTES(type, member), 1, false, true \
    }
#define USAGE(type, member)                                                                     \
    FIELD(type, member.user_ns), FIELD(type, member.sys_ns), FIELD(type, member.max_rss_bytes), \
        FIELD(type, member.minor_faults), FIELD(type, member.major_faults),                     \
        FIELD(type, member.switches_voluntary), FIELD(type, member.switches_forced),            \
        FIELD(type, member.blocks_in), FIELD(type, member.blocks_out)

static const struct stream_field process_fields[] = {
    FIELD(stream_rec_process, ticks),        FIELD(stream_rec_process, exec_cpu_ns),
    FIELD(stream_rec_process, image_cpu_ns), FIELD(stream_rec_process, uid),
    FIELD(stream_rec_process, exe_bytes),    FIELD(stream_rec_process, cwd_bytes),
    FIELD(stream_rec_process, comm_bytes),
};
static const struct stream_text_field process_texts[] = {{"exe", 4}, {"cwd", 5}, {"comm", 6}};

static const struct stream_field argv_fields[] = {
    FIELD(stream_rec_blob, index),
    FIELD(stream_rec_blob, total_bytes),
};
static const struct stream_text_field argv_texts[] = {{"argv", STREAM_LENGTH_IS_AUX}};

static const struct stream_field config_fields[] = {
    FIELD(stream_rec_config, ticks),       FIELDS(stream_rec_config, period_ns),
    FIELD(stream_rec_config, kernel_mode), FIELD(stream_rec_config, level),
    FIELD(stream_rec_config, signal),      FIELD(stream_rec_config, wanted_engine),
    SIGNED(stream_rec_config, open_errno), FIELD(stream_rec_config, why_not),
};

static const struct stream_field time_fields[] = {
    FIELD(stream_rec_time, ticks),
    FIELD(stream_rec_time, mono_ns),
    FIELD(stream_rec_time, wall_ns),
};

static const struct stream_field thread_fields[] = {
    FIELD(stream_rec_thread, ticks),      FIELD(stream_rec_thread, cpu_ns),
    FIELD(stream_rec_thread, tid),        FIELD(stream_rec_thread, origin),
    FIELD(stream_rec_thread, name_bytes), SPARE(stream_rec_thread, reserved),
};
static const struct stream_text_field thread_texts[] = {{"name", 4}};

static const struct stream_field name_fields[] = {
    FIELD(stream_rec_name, ticks),
    FIELD(stream_rec_name, tid),
    FIELD(stream_rec_name, name_bytes),
};
static const struct stream_text_field name_texts[] = {{"name", 2}};

static const struct stream_field thread_end_fields[] = {
    FIELD(stream_rec_thread_end, ticks),
    FIELD(stream_rec_thread_end, cpu_ns),
    FIELD(stream_rec_thread_end, sampled_cpu_ns),
    FIELD(stream_rec_thread_end, run_ns),
    FIELD(stream_rec_thread_end, core_wait_ns),
    FIELD(stream_rec_thread_end, handler_ticks),
    FIELD(stream_rec_thread_end, samples),
    FIELD(stream_rec_thread_end, interrupts),
    FIELD(stream_rec_thread_end, tid),
    FIELD(stream_rec_thread_end, at_process_end),
};

static const struct stream_field wait_fields[] = {
    FIELD(stream_rec_wait, start_ticks), FIELD(stream_rec_wait, duration_ticks),
    FIELD(stream_rec_wait, stack),       FIELD(stream_rec_wait, kind),
    FIELD(stream_rec_wait, call),        FIELD(stream_rec_wait, cpu_ns),
};

static const struct stream_field spawn_fields[] = {
    FIELD(stream_rec_spawn, ticks),      FIELD(stream_rec_spawn, child_pid),
    SIGNED(stream_rec_spawn, rc),        FIELD(stream_rec_spawn, why_not),
    FIELD(stream_rec_spawn, path_bytes), FIELD(stream_rec_spawn, argv_bytes),
    FIELD(stream_rec_spawn, cpu_ns),
};
static const struct stream_text_field spawn_texts[] = {{"path", 4}, {"argv", 5}};

static const struct stream_field child_exit_fields[] = {
    FIELD(stream_rec_child_exit, ticks),
    SIGNED(stream_rec_child_exit, status),
    SPARE(stream_rec_child_exit, reserved),
    USAGE(stream_rec_child_exit, usage),
};

static const struct stream_field process_end_fields[] = {
    FIELD(stream_rec_process_end, ticks),        FIELD(stream_rec_process_end, cpu_ns),
    USAGE(stream_rec_process_end, self),         USAGE(stream_rec_process_end, children),
    FIELD(stream_rec_process_end, live_threads), SIGNED(stream_rec_process_end, code),
};

static const struct stream_field module_fields[] = {
    FIELD(stream_rec_module, ticks),
    FIELD(stream_rec_module, start),
    FIELD(stream_rec_module, end),
    FIELD(stream_rec_module, bias),
    FIELD(stream_rec_module, inode),
    FIELD(stream_rec_module, device),
    FIELD(stream_rec_module, epoch),
    FIELD(stream_rec_module, path_bytes),
    FIELD(stream_rec_module, build_id_bytes),
    FIELD(stream_rec_module, flags),
};
static const struct stream_text_field module_texts[] = {{"path", 7}, {"build_id", 8}};

static const struct stream_field epoch_fields[] = {FIELD(stream_rec_epoch, ticks)};

static const struct stream_field notice_fields[] = {
    FIELD(stream_rec_notice, ticks),
    FIELD(stream_rec_notice, value),
};

static const struct stream_field string_fields[] = {
    FIELD(stream_rec_string, total_bytes),
    FIELD(stream_rec_string, offset),
    FIELD(stream_rec_string, piece_bytes),
    SPARE(stream_rec_string, reserved),
};
static const struct stream_text_field string_texts[] = {{"piece", 2}};

static const struct stream_field composed_fields[] = {
    FIELD(stream_rec_composed, count),
    FIELD(stream_rec_composed, flags),
};

static const struct stream_field kind_fields[] = {
    FIELD(stream_rec_kind, name),   FIELD(stream_rec_kind, label), FIELD(stream_rec_kind, space),
    FIELD(stream_rec_kind, weight), FIELD(stream_rec_kind, flags), SPARE(stream_rec_kind, reserved),
};

static const struct stream_field names_fields[] = {
    FIELD(stream_rec_names, count),
    FIELD(stream_rec_names, text_bytes),
};

static const struct stream_field map_fields[] = {
    FIELD(stream_rec_map, count),
    SPARE(stream_rec_map, reserved),
};

static const struct stream_field track_fields[] = {
    FIELD(stream_rec_track, ticks),
    FIELD(stream_rec_track, name),
    SPARE(stream_rec_track, reserved),
};

static const struct stream_field counter_fields[] = {
    FIELD(stream_rec_counter, name),
    FIELD(stream_rec_counter, measure),
};

static const struct stream_field policy_fields[] = {
    FIELD(stream_rec_policy, ticks),      FIELD(stream_rec_policy, threshold),
    FIELD(stream_rec_policy, auto_bytes), FIELD(stream_rec_policy, tree_bytes),
    FIELD(stream_rec_policy, one_in),     FIELD(stream_rec_policy, thread),
};

static const struct stream_field settings_fields[] = {
    FIELD(stream_rec_settings, text_bytes),
    SPARE(stream_rec_settings, reserved),
};
static const struct stream_text_field settings_texts[] = {{"text", 0}};
static const struct stream_field refused_fields[] = {
    SIGNED(stream_rec_refused, code),
    FIELD(stream_rec_refused, text_bytes),
};
static const struct stream_text_field refused_texts[] = {{"text", 1}};

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define ROW(TYPE, type, aux, fields) \
    [STREAM_REC_##TYPE] = {          \
        STREAM_REC_##TYPE, sizeof(struct type), COUNT(fields), 0, #TYPE, aux, fields, NULL}
#define ROW_TEXT(TYPE, type, aux, fields, texts) \
    [STREAM_REC_##TYPE] = {STREAM_REC_##TYPE,    \
                           sizeof(struct type),  \
                           COUNT(fields),        \
                           COUNT(texts),         \
                           #TYPE,                \
                           aux,                  \
                           fields,               \
                           texts}

static const struct stream_record_row rows[] = {
    ROW_TEXT(PROCESS, stream_rec_process, NULL, process_fields, process_texts),
    ROW_TEXT(ARGV, stream_rec_blob, "bytes", argv_fields, argv_texts),
    ROW(CONFIG, stream_rec_config, "engine", config_fields),
    ROW(TIME, stream_rec_time, NULL, time_fields),
    ROW_TEXT(THREAD, stream_rec_thread, "thread", thread_fields, thread_texts),
    ROW_TEXT(THREAD_NAME, stream_rec_name, "thread", name_fields, name_texts),
    ROW(THREAD_END, stream_rec_thread_end, "thread", thread_end_fields),
    ROW(WAIT, stream_rec_wait, "thread", wait_fields),
    ROW_TEXT(SPAWN, stream_rec_spawn, "kind", spawn_fields, spawn_texts),
    ROW(CHILD_EXIT, stream_rec_child_exit, "pid", child_exit_fields),
    ROW(PROCESS_END, stream_rec_process_end, "how", process_end_fields),
    ROW_TEXT(MODULE, stream_rec_module, "module", module_fields, module_texts),
    ROW(EPOCH, stream_rec_epoch, "epoch", epoch_fields),
    ROW(NOTICE, stream_rec_notice, "notice", notice_fields),
    ROW_TEXT(STRING, stream_rec_string, "string", string_fields, string_texts),
    ROW(COMPOSED, stream_rec_composed, "string", composed_fields),
    ROW(KIND, stream_rec_kind, "kind", kind_fields),
    ROW(NAMES, stream_rec_names, "space", names_fields),
    ROW(MAP, stream_rec_map, "space", map_fields),
    ROW(TRACK, stream_rec_track, "track", track_fields),
    ROW(COUNTER, stream_rec_counter, "counter", counter_fields),
    ROW(POLICY, stream_rec_policy, "policy", policy_fields),
    ROW_TEXT(SETTINGS, stream_rec_settings, NULL, settings_fields, settings_texts),
    ROW_TEXT(REFUSED, stream_rec_refused, NULL, refused_fields, refused_texts),
};

const struct stream_record_row *stream_record_row(uint32_t type)
{
    return type < COUNT(rows) && rows[type].name ? &rows[type] : NULL;
}

const struct stream_field stream_header_fields[] = {
    FIELD(stream_header, byte_order),    FIELD(stream_header, version_major),
    FIELD(stream_header, version_minor), FIELD(stream_header, arch),
    FIELD(stream_header, producer),      FIELD(stream_header, clock),
    FIELD(stream_header, flags),         FIELD(stream_header, tick_rate_hz),
    FIELD(stream_header, start_ticks),   FIELD(stream_header, start_mono_ns),
    FIELD(stream_header, start_wall_ns), FIELD(stream_header, pid),
    FIELD(stream_header, ppid),          FIELD(stream_header, kernel_start),
    FIELD(stream_header, session_id),    FIELDS(stream_header, counts),
    FIELD(stream_header, next_offset),   FIELD(stream_header, measure),
    FIELDS(stream_header, lost),         FIELDS(stream_header, damage),
};
const uint32_t stream_header_field_count = COUNT(stream_header_fields);

const struct stream_field stream_page_fields[] = {
    FIELD(stream_page, magic),        FIELD(stream_page, kind),
    FIELD(stream_page, size_bytes),   FIELD(stream_page, thread),
    FIELD(stream_page, self_offset),  FIELD(stream_page, base_ticks),
    FIELD(stream_page, sequence),     FIELD(stream_page, tid),
    FIELD(stream_page, packed_bytes), FIELD(stream_page, used_bytes),
};
const uint32_t stream_page_field_count = COUNT(stream_page_fields);

uint64_t stream_field_get(const struct stream_field *field, const void *body, unsigned index)
{
    const uint8_t *at = (const uint8_t *)body + field->offset + (size_t)index * field->bytes;
    uint64_t value = 0;
    uint16_t half;
    uint32_t word;
    switch (field->bytes) {
    case 1:
        return *at;
    case 2:
        memcpy(&half, at, sizeof half);
        return half;
    case 4:
        memcpy(&word, at, sizeof word);
        return field->is_signed ? (uint64_t)(int64_t)(int32_t)word : word;
    default:
        memcpy(&value, at, sizeof value);
        return value;
    }
}

static void swap_bytes(uint8_t *at, unsigned bytes)
{
    for (unsigned i = 0; i < bytes / 2; i++) {
        uint8_t other = at[i];
        at[i] = at[bytes - 1 - i];
        at[bytes - 1 - i] = other;
    }
}

void stream_fields_swap(const struct stream_field *fields, uint32_t count, void *body)
{
    for (uint32_t i = 0; i < count; i++) {
        for (unsigned k = 0; k < fields[i].count; k++)
            swap_bytes((uint8_t *)body + fields[i].offset + k * fields[i].bytes, fields[i].bytes);
    }
}
