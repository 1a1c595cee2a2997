#include "cli/read_cargo.h"

#include <stdlib.h>

#include "base/file.h"
#include "base/memory.h"
#include "build/cargo_log.h"
#include "build/cargo_timings.h"
#include "cli/launcher_talk.h"

enum { ARTIFACTS_BYTES_MAX = 256 << 20 };

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

static int read_records(struct report *report, const char *log_path, const char *page_path,
                        struct lam_error *err)
{
    struct cargo_record log, page;
    cargo_record_init(&log);
    cargo_record_init(&page);
    int log_rc = load_log(report, log_path, &log, err);
    int rc = unheeded(log_rc, err);
    int page_rc = rc < 0 ? rc : cargo_timings_load(&page, page_path, err);
    rc = rc < 0 ? rc : unheeded(page_rc, err);
    if (log_rc == LAM_OK)
        say_damage(&log);
    if (page_rc == LAM_OK)
        say_damage(&page);
    bool prefers_log = log_rc == LAM_OK && (log.units.count > 0 || page_rc < 0);
    if (prefers_log && page_rc == LAM_OK)
        merge(&log, &page);
    if (rc >= 0 && prefers_log)
        rc = report_take_cargo(report, &log);
    else if (rc >= 0 && page_rc == LAM_OK)
        rc = report_take_cargo(report, &page);
    cargo_record_free(&log);
    cargo_record_free(&page);
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

int read_cargo(struct report *report, const char *recording, struct lam_error *err)
{
    if (!path_is_dir(recording))
        return LAM_OK;
    char *log = path_join(recording, CARGO_LOG_NAME),
         *page = path_join(recording, CARGO_TIMINGS_NAME),
         *noted = path_join(recording, CARGO_NOTES_NAME);
    struct cargo_notes notes;
    int rc = log && page && noted ? LAM_OK : LAM_E_NOMEM;
    if (rc == LAM_OK)
        rc = read_records(report, log, page, err);
    if (rc == LAM_OK && (rc = cargo_notes_load(&notes, noted, err)) == LAM_OK)
        rc = report_take_notes(report, &notes);
    else
        rc = unheeded(rc, err);
    if (rc == LAM_OK)
        rc = read_artifacts(report, recording, err);
    if (rc == LAM_OK)
        rc = read_headers(report, recording, err);
    if (rc == LAM_OK)
        rc = read_ninja(report, recording, err);
    mem_free(log);
    mem_free(page);
    mem_free(noted);
    return rc == LAM_E_NOMEM ? lam_error_set(err, rc, "%s: out of memory", recording) : rc;
}
