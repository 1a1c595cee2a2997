#include <math.h>
#include <string.h>
#include <time.h>

#include "base/json_write.h"
#include "output/write_calls.h"
#include "output/write_cargo.h"
#include "output/write_classes.h"
#include "output/write_graph.h"
#include "output/write_headers.h"
#include "output/write_labels.h"
#include "output/write_machine.h"
#include "output/write_macros.h"
#include "output/write_ninja.h"
#include "output/write_replay.h"
#include "output/write_report.h"
#include "output/write_spans.h"

enum { REPORT_JSON_VERSION = 1, SECONDS_DECIMALS = 9 };

/* Not measured is null, never zero. */
static void put_seconds(struct json_writer *json, const char *key, double seconds)
{
    if (isfinite(seconds))
        json_member_fixed(json, key, seconds, SECONDS_DECIMALS);
    else
        json_member_null(json, key);
}

static void put_ns(struct json_writer *json, const char *key, uint64_t ns)
{
    put_seconds(json, key, report_seconds(ns));
}

static void put_count(struct json_writer *json, const char *key, uint64_t count)
{
    if (count == PROFILE_UNKNOWN)
        json_member_null(json, key);
    else
        json_member_u64(json, key, count);
}

static void put_exit_code(struct json_writer *json, int exit_code)
{
    if (exit_code < 0)
        json_member_null(json, "exit_code");
    else
        json_member_i64(json, "exit_code", exit_code);
}

static void put_amount(struct json_writer *json, const struct report_amount *amount)
{
    json_member_u64(json, "samples", amount->samples);
    put_ns(json, "cpu_s", amount->cpu_ns);
    put_ns(json, "late_cpu_s", amount->late_ns);
}

static void put_started_at(struct json_writer *json, int64_t unix_ns)
{
    time_t seconds = (time_t)(unix_ns / 1000000000);
    struct tm parts;
    char text[40];
    if (unix_ns <= 0 || !gmtime_r(&seconds, &parts) ||
        !strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts))
        json_member_null(json, "started_at");
    else
        json_member_str(json, "started_at", text);
}

static void put_session(struct json_writer *json, const struct report *report)
{
    const struct profile_session *session = &report->session;
    json_member_object(json, "session");
    put_started_at(json, session->started_at_unix_ns);
    put_ns(json, "elapsed_s", session->elapsed_ns);
    json_member_str(json, "command", session->command);
    json_member_str(json, "directory", session->directory);
    json_member_str(json, "tool", "lamella");
    json_member_str(json, "tool_version", session->tool_version);
    json_member_str(json, "host", session->host);
    json_member_bool(json, "complete", session->complete);
    put_exit_code(json, session->exit_code);
    bool was_watched = !report_is_of_events(report);
    put_count(json, "cores", session->cores ? session->cores : PROFILE_UNKNOWN);
    json_member_str(json, "engine", report_engine_name(session->engine));
    put_count(json, "rate_hz", was_watched ? session->rate_hz : PROFILE_UNKNOWN);
    json_member_bool(json, "rate_auto", session->rate_auto);
    json_member_bool(json, "kernel_mode", session->kernel_mode != 0);
    bool is_asked = session->self_profile != NULL;
    json_member_str(json, "self_profile",
                    is_asked && !*session->self_profile ? "default" : session->self_profile);
    put_count(json, "self_profiles", is_asked ? report->end.self_profiles : PROFILE_UNKNOWN);
    json_member_bool(json, "rustc_bootstrap", session->rustc_bootstrap);
    json_member_u64(json, "units", report->units.count);
    json_member_u64(json, "processes", report->processes.count);
    json_member_u64(json, "threads", report->threads.count);
    put_seconds(json, "cores_used", report->cores_used);
    put_count(json, "peak_threads", was_watched ? report->peak_threads : PROFILE_UNKNOWN);
    put_ns(json, "serial_tail_s", was_watched ? report->tail_ns : PROFILE_UNKNOWN);
    put_ns(json, "critical_path_s",
           report->graph.path.count ? (uint64_t)report->graph.critical_path_ns : PROFILE_UNKNOWN);
    put_ns(json, "handler_s", was_watched ? report->handler_ns : PROFILE_UNKNOWN);
    put_seconds(json, "cpu_busy_mean", report->cpu_busy_mean);
    put_seconds(json, "loadavg_mean", report->loadavg_mean);
    json_put_end(json);
}

static void put_coverage(struct json_writer *json, const struct report *report)
{
    const struct report_coverage *cov = &report->coverage;
    json_member_object(json, "coverage");
    put_ns(json, "sampled_cpu_s", cov->sampled_ns);
    put_ns(json, "process_cpu_s", cov->charged_ns);
    put_seconds(json, "ratio", cov->ratio);
    put_ns(json, "closing_cpu_s", cov->closing_ns);
    put_ns(json, "late_cpu_s", cov->late_ns);
    put_ns(json, "startup_cpu_s", cov->startup_ns);
    put_ns(json, "tail_cpu_s", cov->tail_ns);
    put_ns(json, "unsampled_cpu_s", cov->unsampled_ns);
    put_ns(json, "unaccounted_cpu_s", report_unaccounted_ns(report));
    put_ns(json, "running_cpu_s", cov->running_ns);
    json_member_u64(json, "expected_samples", (uint64_t)llround(cov->expected_samples));
    json_member_u64(json, "samples", cov->samples);
    json_member_u64(json, "at_return_samples", cov->at_return_samples);
    json_member_u64(json, "merged_samples", cov->merged_samples);
    json_member_u64(json, "lost_samples", cov->lost_samples);
    json_member_u64(json, "truncated_stacks", cov->truncated_stacks);
    json_member_u64(json, "frames", cov->frames);
    json_member_u64(json, "unresolved_frames", cov->unresolved_frames);
    json_member_u64(json, "samples_without_symbols", cov->samples_without_symbols);
    if (report->cargo)
        json_member_u64(json, "units_unseen", report->cargo_unseen.count);
    else
        json_member_null(json, "units_unseen");
    json_member_u64(json, "units_without_samples", cov->units_without_samples);
    put_ns(json, "sampled_span_s", cov->sampled_span_ns);
    put_ns(json, "elapsed_s", report->session.elapsed_ns);
    json_member_u64(json, "streams", report->end.streams);
    json_member_u64(json, "damaged_streams", report->end.damaged_streams);
    json_member_u64(json, "unreadable_streams", report->end.unreadable_streams);
    json_member_u64(json, "overwritten_pages", report->end.overwritten_pages);
    json_member_u64(json, "untold_calls", report->end.untold_calls);
    json_member_u64(json, "cut_texts", report->end.cut_texts);
    json_member_u64(json, "unbalanced_exits", report->end.unbalanced_exits);
    json_member_u64(json, "refused_ends", report->end.refused_ends);
    json_member_u64(json, "refused_recorders", report->end.refused_recorders);
    json_member_u64(json, "clamped_times", report->end.clamped_times);
    json_put_end(json);
}

static void put_place(struct json_writer *json, struct phase_bucket bucket)
{
    json_member_str(json, "segment", phase_segment_name(bucket.segment));
    json_member_str(json, "phase", bucket.phase_name);
    json_member_str(json, "detail", bucket.detail);
}

static void put_totals(struct json_writer *json, const struct report *report,
                       const struct report_rows *rows)
{
    double total = rows->total.cpu_ns ? (double)rows->total.cpu_ns : NAN;
    json_member_array(json, "segments");
    for (size_t i = SEGMENT_FRONTEND; i < SEGMENT_COUNT; i++) {
        if (rows->segments[i].amount.samples == 0)
            continue;
        json_put_object(json);
        json_member_str(json, "segment", phase_segment_name((enum phase_segment)i));
        put_amount(json, &rows->segments[i].amount);
        put_seconds(json, "share", (double)rows->segments[i].amount.cpu_ns / total);
        json_put_end(json);
    }
    json_put_end(json);
    json_member_array(json, "phases");
    for (size_t i = SEGMENT_FRONTEND; i < SEGMENT_COUNT; i++) {
        array_each(&rows->segments[i].details, row)
        {
            json_put_object(json);
            put_place(json, classifier_bucket(report->cls, row->bucket));
            put_amount(json, &row->amount);
            put_seconds(json, "share", (double)row->amount.cpu_ns / total);
            json_put_end(json);
        }
    }
    json_put_end(json);
    json_member_array(json, "roles");
    for (size_t i = 0; i < ROLE_COUNT; i++) {
        if (rows->roles[i].amount.samples == 0)
            continue;
        json_put_object(json);
        json_member_str(json, "role", thread_role_name(rows->roles[i].role));
        put_amount(json, &rows->roles[i].amount);
        json_put_end(json);
    }
    json_put_end(json);
}

static void put_waits(struct json_writer *json, const struct report_waits *waits)
{
    json_member_array(json, "waits");
    for (size_t kind = 1; kind < REPORT_WAIT_KINDS; kind++) {
        if (waits->count[kind] == 0)
            continue;
        json_put_object(json);
        json_member_str(json, "kind", report_wait_names[kind]);
        json_member_u64(json, "count", waits->count[kind]);
        put_ns(json, "seconds", waits->ns[kind]);
        json_put_end(json);
    }
    json_put_end(json);
}

static void put_ledger(struct json_writer *json, const struct report_ledger *ledger, bool is_known)
{
    put_ns(json, "lifetime_s", ledger->lifetime_ns);
    put_ns(json, "run_s", is_known ? ledger->run_ns : PROFILE_UNKNOWN);
    put_ns(json, "core_wait_s", is_known ? ledger->core_wait_ns : PROFILE_UNKNOWN);
    put_ns(json, "blocked_s", is_known ? ledger->blocked_ns : PROFILE_UNKNOWN);
    put_seconds(json, "residual_s", is_known ? (double)ledger->residual_ns / 1e9 : NAN);
}

static void put_usage(struct json_writer *json, const struct report_process *process)
{
    struct profile_usage none;
    memset(&none, 0xff, sizeof none);
    const struct profile_usage *usage = process->has_usage ? &process->usage : &none;
    put_ns(json, "user_s", usage->user_ns);
    put_ns(json, "sys_s", usage->sys_ns);
    put_count(json, "max_rss_bytes", usage->max_rss_bytes);
    put_count(json, "minor_faults", usage->minor_faults);
    put_count(json, "major_faults", usage->major_faults);
    put_count(json, "switches_voluntary", usage->switches_voluntary);
    put_count(json, "switches_forced", usage->switches_forced);
    put_count(json, "blocks_in", usage->blocks_in);
    put_count(json, "blocks_out", usage->blocks_out);
}

static void put_life(struct json_writer *json, const struct report_process *process)
{
    put_seconds(json, "start_s", (double)process->start_ns / 1e9);
    put_seconds(json, "end_s", process->has_end ? (double)process->end_ns / 1e9 : NAN);
    put_seconds(json, "wall_s", report_process_wall_s(process));
    put_ns(json, "cpu_s", process->cpu_ns);
    put_usage(json, process);
}

static void put_unit_facts(struct json_writer *json, const struct unit *unit)
{
    const struct {
        const char *key, *value;
    } facts[] = {
        {"kind", unit_kind_name(unit->kind)},
        {"crate", unit->crate},
        {"package", unit->package},
        {"version", unit->version},
        {"crate_type", unit->crate_type},
        {"mode", unit->mode},
        {"language", unit->language},
        {"edition", unit->edition},
        {"target", unit->target},
        {"opt_level", unit->opt_level},
        {"codegen_units", unit->codegen_units},
        {"lto", unit->lto},
        {"debug_info", unit->debug_info},
        {"incremental", unit->incremental},
        {"features", unit->features},
        {"metadata", unit->metadata},
        {"source", unit->source},
        {"output", unit->output},
    };
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        json_member_str(json, facts[i].key, facts[i].value);
}

static void put_cargo_unit(struct json_writer *json, const struct cargo_unit *cargo)
{
    put_seconds(json, "cargo_frontend_s", cargo ? cargo->frontend_s : NAN);
    put_seconds(json, "cargo_codegen_s", cargo ? cargo->codegen_s : NAN);
    put_seconds(json, "cargo_link_s", cargo ? cargo->link_s : NAN);
    put_seconds(json, "rmeta_s", cargo ? cargo->rmeta_s : NAN);
    put_count(json, "unblocked",
              cargo ? cargo->unblocked.count + cargo->unblocked_rmeta.count : PROFILE_UNKNOWN);
}

static void put_unit(struct json_writer *json, const struct report *report, uint32_t index)
{
    const struct report_unit *unit = &report->units.items[index];
    const struct report_process *process = &report->processes.items[unit->process];
    json_put_object(json);
    json_member_str(json, "unit", unit->title);
    put_unit_facts(json, &unit->info);
    json_member_u64(json, "pid", process->pid);
    put_exit_code(json, process->exit_code);
    json_member_bool(json, "sampled", process->sampled == PROFILE_SAMPLED_YES);
    put_life(json, process);
    put_ledger(json, &process->ledger, process->ledger.lifetime_ns > 0);
    json_member_u64(json, "samples", process->amount.samples);
    put_ns(json, "sampled_cpu_s", process->amount.cpu_ns);
    put_ns(json, "late_cpu_s", process->amount.late_ns);
    json_member_array(json, "phases");
    struct report_cells cells = report_cells(report, unit->process);
    for (size_t i = 0; i < cells.count; i++) {
        json_put_object(json);
        json_member_str(json, "role", thread_role_name(cells.items[i].role));
        json_member_str(json, "cgu", cells.items[i].cgu);
        put_place(json, classifier_bucket(report->cls, cells.items[i].bucket));
        put_amount(json, &cells.items[i].amount);
        json_put_end(json);
    }
    json_put_end(json);
    put_waits(json, &process->ledger.waits);
    write_unit_class_json(json, unit);
    json_member_str(json, "status", cargo_status_name(unit->status));
    json_member_str(json, "reason", unit->reason);
    put_cargo_unit(json, report_cargo_unit(report, unit));
    write_graph_unit_json(json, report, index);
    json_put_end(json);
}

static void put_threads(struct json_writer *json, const struct report *report)
{
    json_member_array(json, "threads");
    array_each(&report->threads, thread)
    {
        json_put_object(json);
        json_member_u64(json, "pid", report->processes.items[thread->process].pid);
        json_member_u64(json, "tid", thread->tid);
        json_member_str_n(json, "name", thread->name, thread->name_bytes);
        json_member_str(json, "role", thread_role_name(thread->role));
        json_member_bool(json, "main", thread->is_main);
        put_seconds(json, "start_s", (double)thread->start_ns / 1e9);
        put_seconds(json, "end_s", (double)thread->end_ns / 1e9);
        put_ns(json, "cpu_s", thread->cpu_ns);
        put_ledger(json, &thread->ledger, thread->has_ledger);
        put_ns(json, "handler_s", thread->handler_ns);
        json_member_u64(json, "samples", thread->sampled.samples);
        put_ns(json, "sampled_cpu_s", thread->sampled.cpu_ns);
        put_waits(json, &thread->ledger.waits);
        json_put_end(json);
    }
    json_put_end(json);
}

static void put_processes(struct json_writer *json, const struct report *report)
{
    json_member_array(json, "processes");
    array_each(&report->processes, process)
    {
        json_put_object(json);
        json_member_u64(json, "pid", process->pid);
        json_member_u64(json, "ppid", process->ppid);
        json_member_str(json, "exe", process->exe);
        json_member_str(json, "role", process->role);
        json_member_str(json, "unit", process->unit == REPORT_NO_UNIT ? NULL : process->title);
        put_life(json, process);
        json_member_bool(json, "forked", process->forked);
        json_member_bool(json, "running", process->running);
        json_member_bool(json, "sampled", process->sampled == PROFILE_SAMPLED_YES);
        bool has_reason = process->sampled != PROFILE_SAMPLED_YES;
        json_member_str(json, "why_not", has_reason ? report_why_not(process->why_not) : NULL);
        json_member_str(json, "engine", process->engine ? report_engine_name(process->engine) : NULL);
        put_exit_code(json, process->exit_code);
        if (process->signal)
            json_member_i64(json, "signal", process->signal);
        else
            json_member_null(json, "signal");
        put_ns(json, "startup_cpu_s", process->startup_ns);
        put_ns(json, "tail_cpu_s", process->tail_ns);
        json_member_u64(json, "samples", process->amount.samples);
        put_ns(json, "sampled_cpu_s", process->amount.cpu_ns);
        put_ns(json, "late_cpu_s", process->amount.late_ns);
        json_member_u64(json, "lost", process->lost);
        json_put_end(json);
    }
    json_put_end(json);
}

static void put_findings(struct json_writer *json, const struct report *report)
{
    json_member_array(json, "findings");
    array_each(&report->findings, finding)
    {
        json_put_object(json);
        json_member_str(json, "id", finding->id);
        json_member_str(json, "severity", report_severity_name(finding->severity));
        json_member_str(json, "text", finding->text);
        put_seconds(json, "seconds", finding->seconds);
        json_member_str(json, "unit",
                        finding->unit == REPORT_NO_UNIT ? NULL
                                                        : report->units.items[finding->unit].title);
        json_put_end(json);
    }
    json_put_end(json);
}

int write_report_json(const struct report *report, const struct report_view *view,
                      struct byteout *out, struct lam_error *err)
{
    struct report_rows rows;
    int rc = report_rows_make(report, view, &rows, err);
    if (rc < 0)
        return rc;
    struct json_writer json;
    json_writer_init(&json, out, 2);
    json_put_object(&json);
    json_member_str(&json, "format", "lamella-report");
    json_member_u64(&json, "version", REPORT_JSON_VERSION);
    put_session(&json, report);
    put_coverage(&json, report);
    put_totals(&json, report, &rows);
    json_member_array(&json, "units");
    array_each(&rows.units, index) put_unit(&json, report, *index);
    json_put_end(&json);
    write_cargo_json(&json, report);
    write_headers_json(&json, report);
    write_ninja_json(&json, report);
    write_graph_json(&json, report, view);
    if (view->replay && view->replay->is_there)
        write_replay_json(&json, view->replay);
    rc = write_classes_json(&json, report, &rows);
    if (rc == LAM_OK)
        rc = write_macros_json(&json, report, view);
    write_labels_json(&json, report, view);
    if (rc == LAM_OK)
        rc = write_calls_json(&json, view, err);
    put_threads(&json, report);
    put_processes(&json, report);
    write_machine_json(&json, report, view);
    if (view->by_span)
        write_spans_json(&json, report, view);
    put_findings(&json, report);
    json_put_end(&json);
    report_rows_free(&rows);
    if (rc < 0)
        return lam_error_set(err, rc, "report: out of memory");
    return json_writer_finish(&json, "report", err);
}
