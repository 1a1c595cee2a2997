#include "cli/read_cargo.h"

#include <stdlib.h>

#include "base/file.h"
#include "base/memory.h"
#include "build/cargo_log.h"
#include "build/cargo_messages.h"
#include "build/cargo_timings.h"
#include "cli/launcher_talk.h"

enum { ARTIFACTS_BYTES_MAX = 256 << 20 };

struct paths { /* of cargo's own, in a recording; for mem_free() */
    char *log, *page, *messages, *notes;
};

/* Says what was wrong and goes on, unless memory is short. */
static int unheeded(int rc, struct lam_error *err)
{
    if (rc >= 0 || rc == LAM_E_NOMEM)
        return rc;
    if (rc != LAM_E_NOTFOUND)
        launcher_say("warning: %s", err->msg);
    *err = (struct lam_error)LAM_ERROR_INIT;
    return LAM_OK;
}

static void say_damage(const struct cargo_record *record)
{
    if (record->damage[0])
        launcher_say("warning: %s; what could be read is used", record->damage);
}

/* Of the builds in a log the one that began soonest after the session; SIZE_MAX: none of them is this one. */
static size_t our_run(const struct cargo_runs *runs, const struct report *report)
{
    size_t best = SIZE_MAX;
    int64_t best_ns = INT64_MAX;
    for (size_t i = 0; i < runs->count; i++) {
        int64_t at_ns = runs->items[i].started_at_unix_ns - report->session.started_at_unix_ns;
        if (runs->items[i].has_started_at && llabs(at_ns) < best_ns) {
            best_ns = llabs(at_ns);
            best = i;
        }
    }
    return best;
}

static int load_log(const struct report *report, const char *path, struct cargo_record *record,
                    struct lam_error *err)
{
    struct cargo_runs runs;
    int rc = cargo_log_load(&runs, path, err);
    if (rc < 0)
        return rc;
    size_t ours = our_run(&runs, report);
    if (ours == SIZE_MAX) {
        rc = LAM_E_NOTFOUND;
    } else {
        *record = runs.items[ours];
        cargo_record_init(&runs.items[ours]);
    }
    cargo_runs_free(&runs);
    return rc;
}

/* The log knows units better, the page sampled the machine. */
static void merge(struct cargo_record *log, struct cargo_record *page)
{
    struct cargo_record was = *log;
    log->cpu = page->cpu;
    page->cpu = was.cpu;
    if (page->concurrency.count == 0)
        return;
    log->concurrency = page->concurrency;
    page->concurrency = was.concurrency;
    log->is_concurrency_derived = false;
}

/* Cargo's records of one build, each read when it is there. */
struct records {
    struct cargo_record log, page, messages;
    bool has_log, has_page, has_messages;
};

static int settle(int rc, struct cargo_record *record, bool *has, struct lam_error *err)
{
    *has = rc == LAM_OK;
    if (*has)
        say_damage(record);
    return unheeded(rc, err);
}

/* Units with times are worth most, and the log knows them better than the page; the list has none. */
static struct cargo_record *best_of(struct records *records)
{
    if (records->has_log && (records->log.units.count > 0 || !records->has_page))
        return &records->log;
    if (records->has_page)
        return &records->page;
    return records->has_messages ? &records->messages : NULL;
}

static int take_best(struct report *report, struct records *records)
{
    struct cargo_record *best = best_of(records);
    int rc = LAM_OK;
    if (best == &records->log && records->has_page)
        merge(&records->log, &records->page);
    if (best && records->has_messages && best != &records->messages)
        rc = cargo_record_take_messages(best, &records->messages);
    return best && rc == LAM_OK ? report_take_cargo(report, best) : rc;
}

static int read_records(struct report *report, const struct paths *paths, struct lam_error *err)
{
    struct records records = {0};
    cargo_record_init(&records.log);
    cargo_record_init(&records.page);
    cargo_record_init(&records.messages);
    int rc =
        settle(load_log(report, paths->log, &records.log, err), &records.log, &records.has_log, err);
    if (rc >= 0)
        rc = settle(cargo_timings_load(&records.page, paths->page, err), &records.page,
                    &records.has_page, err);
    if (rc >= 0)
        rc = settle(cargo_messages_load(&records.messages, paths->messages, err), &records.messages,
                    &records.has_messages, err);
    if (rc >= 0)
        rc = take_best(report, &records);
    cargo_record_free(&records.log);
    cargo_record_free(&records.page);
    cargo_record_free(&records.messages);
    return rc;
}

static int read_artifacts(struct report *report, const char *recording, struct lam_error *err)
{
    char *text = NULL, *path = path_join(recording, ARTIFACTS_NAME);
    size_t size = 0;
    struct artifact_list list = {0};
    int rc = path ? file_read_all(path, ARTIFACTS_BYTES_MAX, &text, &size, err) : LAM_E_NOMEM;
    if (rc >= 0)
        rc = artifact_list_parse(&list, text, size, path, err);
    rc = rc < 0 ? unheeded(rc, err) : report_take_artifacts(report, &list);
    artifact_list_free(&list);
    mem_free(text);
    mem_free(path);
    return rc;
}

static int read_headers(struct report *report, const char *recording, struct lam_error *err)
{
    char *text = NULL, *path = path_join(recording, HEADERS_NAME);
    size_t size = 0;
    int rc = path ? file_read_all(path, ARTIFACTS_BYTES_MAX, &text, &size, err) : LAM_E_NOMEM;
    if (rc >= 0)
        rc = header_costs_parse(&report->headers, text, size, path, err);
    rc = unheeded(rc, err);
    mem_free(text);
    mem_free(path);
    return rc;
}

static int read_ninja(struct report *report, const char *recording, struct lam_error *err)
{
    char *text = NULL, *path = path_join(recording, NINJA_LOG_NAME);
    size_t size = 0;
    int rc = path ? file_read_all(path, ARTIFACTS_BYTES_MAX, &text, &size, err) : LAM_E_NOMEM;
    if (rc >= 0)
        rc = ninja_log_parse(&report->ninja, text, size, path, err);
    rc = unheeded(rc, err);
    mem_free(text);
    mem_free(path);
    return rc;
}

static int read_notes(struct report *report, const char *path, struct lam_error *err)
{
    struct cargo_notes notes;
    int rc = cargo_notes_load(&notes, path, err);
    return rc == LAM_OK ? report_take_notes(report, &notes) : unheeded(rc, err);
}

int read_cargo(struct report *report, const char *recording, struct lam_error *err)
{
    if (!path_is_dir(recording))
        return LAM_OK;
    struct paths paths = {
        .log = path_join(recording, CARGO_LOG_NAME),
        .page = path_join(recording, CARGO_TIMINGS_NAME),
        .messages = path_join(recording, CARGO_MESSAGES_NAME),
        .notes = path_join(recording, CARGO_NOTES_NAME),
    };
    bool ok = paths.log && paths.page && paths.messages && paths.notes;
    int rc = ok ? read_records(report, &paths, err) : LAM_E_NOMEM;
    if (rc == LAM_OK)
        rc = read_notes(report, paths.notes, err);
    if (rc == LAM_OK)
        rc = read_artifacts(report, recording, err);
    if (rc == LAM_OK)
        rc = read_headers(report, recording, err);
    if (rc == LAM_OK)
        rc = read_ninja(report, recording, err);
    mem_free(paths.log);
    mem_free(paths.page);
    mem_free(paths.messages);
    mem_free(paths.notes);
    return rc == LAM_E_NOMEM ? lam_error_set(err, rc, "%s: out of memory", recording) : rc;
}
