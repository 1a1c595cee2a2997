/* session.json in memory (docs/session-json.md). What the file does not say is PROFILE_UNKNOWN, NULL, empty or -1. */
#ifndef LAMELLA_INPUT_SESSION_JSON_H
#define LAMELLA_INPUT_SESSION_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "profile/sink.h"

struct session_texts { /* ended by NUL each; bytes of outside origin */
    const char **items;
    size_t count;
};

struct session_usage {
    struct profile_usage usage;
    bool is_known;
};

struct session_reaped {
    uint32_t pid;
    uint64_t kernel_start; /* 0 when not known */
    const char *comm;
    int64_t status;
    int64_t at_ns;
    struct session_usage usage;
};

struct session_memory { /* of a process at a time */
    int64_t t_ns;
    uint64_t rss_bytes, anon_bytes;
};

struct session_holder {
    uint64_t seen; /* index in seen; not checked */
    uint64_t rss_bytes, anon_bytes;
};

struct session_memory_peak {
    int64_t t_ns;
    uint64_t rss_bytes, anon_bytes; /* PROFILE_UNKNOWN: there is no peak */
    LAM_ARRAY(struct session_holder) holders;
};

struct session_seen {
    uint32_t pid, ppid;
    uint32_t inner_pid; /* in a pid namespace of its own; 0 */
    uint64_t kernel_start;
    struct session_texts comm;
    const char *exe;
    struct session_texts argv;
    int64_t first_ns, last_ns;
    uint64_t cpu_ns, peak_rss_bytes;
    size_t first_memory, memory_count; /* in session_json.memory */
    bool is_running;
};

struct session_setting {
    const char *key, *value;
};

struct session_machine {
    const char *machine_id, *host, *cpu_model, *kernel, *os, *arch, *virt, *cpu_shares;
    uint64_t cores, mem_bytes;
};

struct session_timeline {
    struct session_texts columns;
    LAM_ARRAY(double) values; /* row after row; NaN: not known */
    size_t rows;
};

struct session_clock_reading {
    uint64_t ticks, mono_ns, wall_ns;
};

struct session_self_profile { /* what record --self-profile asked compilers for */
    bool is_asked;
    const char *events; /* NULL: their own choice */
    const char *compiler, *target_dir;
    bool bootstrap; /* RUSTC_BOOTSTRAP=1 was set for compilations */
    struct session_texts profiles;
};

struct session_json {
    uint64_t version;
    const char *tool_version, *cwd, *directory, *scratch, *session_id;
    bool is_complete, is_recovered, is_redacted;
    struct session_texts command;
    uint64_t started_at_unix_ns; /* 0 when not known */
    const char *clock;
    uint64_t tick_rate_hz, start_ticks, start_mono_ns; /* 0 when not known */
    LAM_ARRAY(struct session_clock_reading) times;
    uint64_t elapsed_ns;
    int64_t exit_code, signal;
    uint64_t launcher_pid, command_pid;
    uint64_t command_why_not; /* enum stream_unsampled; 0 */
    const char *wanted_engine, *engine, *engine_note;
    bool kernel_mode, rate_auto;
    double rate_hz; /* NaN when not known */
    uint64_t period_ns[4], step_cpu_ms[4];
    uint64_t sample_cost_ns, max_bytes, charged_cpu_ns;
    struct session_texts only, skip, warnings;
    struct session_texts streams; /* names of the stream files; empty when not known */
    struct session_machine machine;
    struct session_self_profile self_profile;
    LAM_ARRAY(struct session_setting) settings;
    LAM_ARRAY(struct session_reaped) reaped;
    LAM_ARRAY(struct session_seen) seen;
    LAM_ARRAY(struct session_memory) memory; /* of the processes in seen, one after another */
    struct session_memory_peak memory_peak;
    struct session_timeline timeline;
    struct arena arena; /* holds the texts */
};

/* Reads the file. Codes: those of file_read_all(); LAM_E_CORRUPT and LAM_E_TRUNCATED with the place; LAM_E_UNSUPPORTED for a
 * later version. On failure *session is empty and needs no free. */
int session_json_load(struct session_json *session, const char *path, struct lam_error *err);
int session_json_parse(struct session_json *session, const char *text, size_t size,
                       const char *name, struct lam_error *err);

/* What a recording without the file is taken to say: nothing. */
void session_json_init(struct session_json *session);
void session_json_free(struct session_json *session);

/* A column of the timeline by name: values.items[row * columns.count + column]. SIZE_MAX when there is none. */
size_t session_timeline_column(const struct session_timeline *timeline, const char *name);

#endif
