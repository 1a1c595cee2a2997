#include "session/session_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/byteout.h"
#include "base/file.h"
#include "base/json_write.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "session/build_settings.h"

static void put_strings(struct json_writer *json, const char *key, const char *const *items,
                        size_t count)
{
    json_member_array(json, key);
    for (size_t i = 0; i < count; i++)
        json_put_str(json, items[i]);
    json_put_end(json);
}

static void put_optional(struct json_writer *json, const char *key, const char *text)
{
    if (text && text[0])
        json_member_str(json, key, text);
}

static void put_command(struct json_writer *json, const struct session_facts *facts)
{
    json_member_array(json, "command");
    for (char *const *arg = facts->command; *arg; arg++)
        json_put_str(json, *arg);
    json_put_end(json);
    put_optional(json, "added_argument", facts->added_argument);
    put_optional(json, "cwd", facts->cwd);
    json_member_str(json, "directory", facts->directory);
    put_optional(json, "scratch", facts->scratch);
}

static void put_clock(struct json_writer *json, const struct session_facts *facts)
{
    json_member_u64(json, "started_at_unix_ns", facts->start.wall_ns);
    json_member_str(json, "clock", facts->with_tsc ? "tsc" : "monotonic");
    json_member_u64(json, "tick_rate_hz", facts->tick_rate_hz);
    json_member_u64(json, "start_ticks", facts->start.ticks);
    json_member_u64(json, "start_mono_ns", facts->start.mono_ns);
    json_member_array(json, "times");
    array_each(&facts->times, it)
    {
        json_put_array(json);
        json_put_u64(json, it->ticks);
        json_put_u64(json, it->mono_ns);
        json_put_u64(json, it->wall_ns);
        json_put_end(json);
    }
    json_put_end(json);
}

static void put_end(struct json_writer *json, const struct session_facts *facts)
{
    json_member_u64(json, "launcher_pid", facts->launcher_pid);
    json_member_u64(json, "launcher_start", facts->launcher_start);
    if (facts->command_pid)
        json_member_u64(json, "command_pid", facts->command_pid);
    if (!facts->has_end)
        return;
    json_member_u64(json, "elapsed_ns", facts->elapsed_ns);
    json_member_i64(json, "exit_code", facts->exit_code);
    if (WIFSIGNALED(facts->status))
        json_member_i64(json, "signal", WTERMSIG(facts->status));
    json_member_u64(json, "charged_cpu_ns", facts->charged_cpu_ns);
    json_member_u64(json, "launcher_cpu_ns", facts->launcher_cpu_ns);
}

static void put_rate(struct json_writer *json, const struct session_facts *facts)
{
    json_member_str(json, "wanted_engine", engine_name(facts->wanted_engine));
    json_member_str(json, "engine", engine_name(facts->engine));
    put_optional(json, "engine_note", facts->engine_note);
    put_optional(json, "command_note", facts->command_note);
    if (facts->command_why_not)
        json_member_u64(json, "command_why_not", facts->command_why_not);
    json_member_bool(json, "kernel_mode", facts->kernel_mode);
    json_member_bool(json, "rate_auto", facts->ladder.is_auto);
    json_member_u64(json, "rate_hz", facts->ladder.rate_hz);
    json_member_array(json, "period_ns");
    for (int i = 0; i < RATE_STEPS; i++)
        json_put_u64(json, facts->ladder.period_ns[i]);
    json_put_end(json);
    json_member_array(json, "step_cpu_ms");
    for (int i = 0; i < RATE_STEPS; i++)
        json_put_u64(json, facts->ladder.step_cpu_ms[i]);
    json_put_end(json);
    if (facts->sample_cost_ns)
        json_member_u64(json, "sample_cost_ns", facts->sample_cost_ns);
    if (facts->interruption_ns)
        json_member_u64(json, "interruption_ns", facts->interruption_ns);
    if (facts->max_bytes)
        json_member_u64(json, "max_bytes", facts->max_bytes);
    put_strings(json, "only", facts->only, facts->only_count);
    put_strings(json, "skip", facts->skip, facts->skip_count);
}

static void put_profiles(struct json_writer *json, const struct session_facts *facts)
{
    const struct profile_request *profiles = facts->profiles;
    if (!profiles)
        return;
    json_member_object(json, "self_profile");
    put_optional(json, "events", profiles->events);
    put_optional(json, "compiler", profiles->compiler);
    json_member_bool(json, "bootstrap", profiles->bootstrap);
    put_optional(json, "target_dir", profiles->target_dir);
    if (facts->files) { /* all are there */
        json_member_u64(json, "bytes", profiles->bytes);
        json_member_array(json, "profiles");
        array_each(&profiles->files, file) json_put_str(json, file->name);
        json_put_end(json);
    }
    json_put_end(json);
}

static void put_machine(struct json_writer *json, const struct machine_info *machine)
{
    json_member_object(json, "machine");
    put_optional(json, "machine_id", machine->machine_id);
    put_optional(json, "host", machine->host);
    put_optional(json, "cpu_model", machine->cpu_model);
    if (machine->cores)
        json_member_u64(json, "cores", machine->cores);
    if (machine->mem_bytes)
        json_member_u64(json, "mem_bytes", machine->mem_bytes);
    put_optional(json, "kernel", machine->kernel);
    put_optional(json, "os", machine->os);
    put_optional(json, "arch", machine->arch);
    put_optional(json, "virt", machine->virt);
    put_optional(json, "cpu_shares", machine->cpu_shares);
    json_put_end(json);
}

static void put_streams(struct json_writer *json, const struct dir_entries *files)
{
    if (!files)
        return;
    json_member_array(json, "streams");
    array_each(files, file)
    {
        if (text_ends_with(file->name, ".lam") && file->kind != DIR_KIND_DIR)
            json_put_str(json, file->name);
    }
    json_put_end(json);
}

static uint64_t timeval_ns(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_usec * 1000u;
}

static uint64_t count_of(long value)
{
    return value > 0 ? (uint64_t)value : 0;
}

static void put_usage(struct json_writer *json, const struct rusage *usage)
{
    json_member_object(json, "usage");
    json_member_u64(json, "user_ns", timeval_ns(&usage->ru_utime));
    json_member_u64(json, "sys_ns", timeval_ns(&usage->ru_stime));
    json_member_u64(json, "max_rss_bytes", count_of(usage->ru_maxrss) * 1024u);
    json_member_u64(json, "minor_faults", count_of(usage->ru_minflt));
    json_member_u64(json, "major_faults", count_of(usage->ru_majflt));
    json_member_u64(json, "switches_voluntary", count_of(usage->ru_nvcsw));
    json_member_u64(json, "switches_forced", count_of(usage->ru_nivcsw));
    json_member_u64(json, "blocks_in", count_of(usage->ru_inblock));
    json_member_u64(json, "blocks_out", count_of(usage->ru_oublock));
    json_put_end(json);
}

static void put_reaped(struct json_writer *json, const struct session_facts *facts)
{
    json_member_array(json, "reaped");
    for (size_t i = 0; facts->reaped && i < facts->reaped->count; i++) {
        const struct reaped_process *it = &facts->reaped->items[i];
        json_put_newline(json);
        json_put_object(json);
        json_member_u64(json, "pid", it->pid);
        if (it->has_stat) {
            json_member_u64(json, "kernel_start", it->kernel_start);
            json_member_str_n(json, "comm", it->comm, it->comm_bytes);
        }
        json_member_i64(json, "status", it->status);
        json_member_i64(json, "at_ns", (int64_t)(it->mono_ns - facts->start.mono_ns));
        put_usage(json, &it->usage);
        json_put_end(json);
    }
    json_put_end(json);
}

static void put_argv(struct json_writer *json, const struct seen_process *seen)
{
    json_member_array(json, "argv");
    const char *at = seen->argv, *end = seen->argv + seen->argv_bytes;
    while (at < end) {
        const char *stop = memchr(at, '\0', (size_t)(end - at));
        size_t length = (size_t)((stop ? stop : end) - at);
        json_put_str_n(json, at, length);
        at += length + 1;
    }
    json_put_end(json);
}

static void put_memory(struct json_writer *json, const struct memory_series *memory)
{
    json_member_array(json, "memory");
    array_each(&memory->readings, reading)
    {
        json_put_array(json);
        json_put_i64(json, reading->t_ns);
        json_put_u64(json, reading->rss_bytes);
        json_put_u64(json, reading->anon_bytes);
        json_put_end(json);
    }
    json_put_end(json);
}

static void put_memory_peak(struct json_writer *json, const struct memory_peak *peak)
{
    if (peak->anon_bytes == 0)
        return;
    json_member_object(json, "memory_peak");
    json_member_i64(json, "t_ns", peak->t_ns);
    json_member_u64(json, "rss_bytes", peak->rss_bytes);
    json_member_u64(json, "anon_bytes", peak->anon_bytes);
    json_member_array(json, "holders");
    array_each(&peak->holders, holder)
    {
        json_put_array(json);
        json_put_u64(json, holder->member);
        json_put_u64(json, holder->rss_bytes);
        json_put_u64(json, holder->anon_bytes);
        json_put_end(json);
    }
    json_put_end(json);
    json_put_end(json);
}

static void put_seen_process(struct json_writer *json, const struct session_facts *facts,
                             const struct seen_process *seen)
{
    json_put_newline(json);
    json_put_object(json);
    json_member_u64(json, "pid", seen->pid);
    json_member_u64(json, "ppid", seen->ppid);
    if (seen->inner_pid)
        json_member_u64(json, "inner_pid", seen->inner_pid);
    json_member_u64(json, "kernel_start", seen->kernel_start);
    json_member_array(json, "comm");
    array_each(&seen->names, name)
    {
        json_put_str_n(json, name->text, name->bytes);
    }
    json_put_end(json);
    if (!facts->recorded || !map_get(facts->recorded, seen->pid, NULL)) {
        put_optional(json, "exe", seen->exe);
        if (seen->argv)
            put_argv(json, seen);
    }
    json_member_i64(json, "first_ns", seen->first_ns);
    json_member_i64(json, "last_ns", seen->last_ns);
    json_member_u64(json, "cpu_ns", seen->cpu_ns);
    json_member_u64(json, "peak_rss_bytes", seen->peak_rss_bytes);
    put_memory(json, &seen->memory);
    if (facts->has_end && seen->is_alive && seen->threads)
        json_member_bool(json, "running", true);
    json_put_end(json);
}

static void put_number(struct json_writer *json, double value, int decimals)
{
    json_put_fixed(json, value, decimals); /* NaN is null */
}

static void put_timeline(struct json_writer *json, const struct timeline *rows)
{
    static const char *const columns[] = {
        "t_ns",    "processes", "threads", "tree_busy", "cpu_busy",   "load1",
        "psi_cpu", "psi_io",    "psi_mem", "rss_bytes", "anon_bytes", "mem_available_bytes"};
    json_member_object(json, "timeline");
    put_strings(json, "columns", columns, sizeof columns / sizeof *columns);
    json_member_array(json, "rows");
    array_each(rows, row)
    {
        json_put_newline(json);
        json_put_array(json);
        json_put_i64(json, row->t_ns);
        put_number(json, row->processes, 0);
        put_number(json, row->threads, 0);
        put_number(json, row->tree_busy, 3);
        put_number(json, row->cpu_busy, 3);
        put_number(json, row->load1, 2);
        put_number(json, row->psi_cpu, 4);
        put_number(json, row->psi_io, 4);
        put_number(json, row->psi_mem, 4);
        put_number(json, row->rss_bytes, 0);
        put_number(json, row->anon_bytes, 0);
        put_number(json, row->mem_available_bytes, 0);
        json_put_end(json);
    }
    json_put_end(json);
    json_put_end(json);
}

static void put_poll(struct json_writer *json, const struct session_facts *facts)
{
    if (!facts->poll)
        return;
    struct poll_cost cost = tree_poll_cost(facts->poll);
    json_member_object(json, "poll");
    json_member_u64(json, "passes", cost.passes);
    json_member_u64(json, "cpu_ns", cost.cpu_ns);
    json_member_u64(json, "not_kept", cost.not_kept);
    json_put_end(json);
    json_member_array(json, "seen");
    array_each(tree_poll_seen(facts->poll), seen)
    {
        put_seen_process(json, facts, seen);
    }
    json_put_end(json);
    put_memory_peak(json, tree_poll_memory_peak(facts->poll));
    put_timeline(json, tree_poll_rows(facts->poll));
}

static void put_attachments(struct json_writer *json, const struct session_facts *facts)
{
    if (!facts->attachments || facts->attachments->count == 0)
        return;
    json_member_array(json, "attachments");
    array_each(facts->attachments, it)
    {
        json_put_object(json);
        json_member_str(json, "kind", it->kind);
        json_member_str(json, "file", it->file);
        put_optional(json, "from", it->from);
        json_put_end(json);
    }
    json_put_end(json);
}

static void put_all(struct json_writer *json, const struct session_facts *facts)
{
    char id[17];
    snprintf(id, sizeof id, "%016llx", (unsigned long long)facts->session_id);
    json_put_object(json);
    json_member_str(json, "format", "lamella-session");
    json_member_u64(json, "version", 1);
    json_member_str(json, "tool_version", LAM_VERSION);
    json_member_str(json, "session_id", id);
    json_member_bool(json, "complete", facts->complete);
    put_command(json, facts);
    put_clock(json, facts);
    put_end(json, facts);
    put_rate(json, facts);
    put_profiles(json, facts);
    put_machine(json, facts->machine);
    json_put_key(json, "settings");
    build_settings_write(json, facts->environment);
    put_strings(json, "warnings", (const char *const *)facts->warnings.items, facts->warnings.count);
    put_streams(json, facts->files);
    put_attachments(json, facts);
    put_reaped(json, facts);
    put_poll(json, facts);
    json_put_end(json);
}

int session_json_write(const char *dir, const struct session_facts *facts, struct lam_error *err)
{
    struct strbuf text = {0};
    struct byteout *out = mem_zalloc(1, sizeof *out);
    char *path = path_join(dir, SESSION_JSON_NAME);
    int rc = out && path ? LAM_OK : lam_error_set(err, LAM_E_NOMEM, "out of memory");
    if (rc >= 0) {
        struct json_writer json;
        byteout_init_strbuf(out, &text);
        json_writer_init(&json, out, 0);
        put_all(&json, facts);
        rc = json_writer_finish(&json, path, err);
    }
    if (rc >= 0)
        rc = file_write_all(path, strbuf_text(&text), text.length, err);
    strbuf_free(&text);
    mem_free(path);
    mem_free(out);
    return rc;
}
