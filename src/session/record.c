#include "session/record_state.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "session/agent_locate.h"
#include "session/control_file.h"
#include "session/recover.h"
#include "session/scratch.h"

enum {
    EXIT_OWN_FAILURE = 125,
    EXIT_CANNOT_EXECUTE = 126,
    EXIT_NOT_FOUND = 127,
    PACK_THREADS = 2,
    TIMES_INTERVAL_NS = 1000000000,
    SAVE_FIRST_NS =
        2000000000,   /* session.json is written again after this, then at ever longer intervals */
    SAVE_SHARE = 200, /* ... so that writing takes no more than a 200th of the time */
    ROOM_CHECK_NS = 1000000000,
    RATE_INTERVAL_NS = 1000000000,
    DAEMONS_NAMED = 3,
    EVACUATE_SLICE_NS = 50000000, /* signals wait no longer than this for a stream being packed */
};

void record_warn(struct recording *rec, const char *fmt, ...)
{
    struct strbuf text = {0};
    va_list args;
    va_start(args, fmt);
    strbuf_addv(&text, fmt, args);
    va_end(args);
    char *line = strbuf_take(&text, NULL);
    if (line && array_push(&rec->outcome->warnings, line) < 0)
        mem_free(line);
}

/* who: RUSAGE_SELF or RUSAGE_CHILDREN */
static uint64_t cpu_ns_of(int who)
{
    struct rusage usage;
    getrusage(who, &usage);
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000u +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000u;
}

/* ---- while it runs ---- */

static void read_clocks(struct recording *rec)
{
    struct session_times *times = &rec->facts.times;
    struct clock_reading now = session_clock_read(rec->facts.with_tsc);
    if (times->count < SESSION_TIMES_MAX) {
        (void)array_push(times, now); /* a reading less does no harm */
        return;
    }
    size_t kept = 0; /* a long session: every second one is enough */
    for (size_t i = 0; i < times->count; i += 2)
        times->items[kept++] = times->items[i];
    times->count = kept;
    (void)array_push(times, now);
}

/* The whole of session.json again, so that what the poll saw outlives the launcher. Rarer as it grows: at most 1% of the time. */
static void save_session(struct recording *rec, uint64_t now_ns)
{
    uint64_t cpu_ns = session_thread_cpu_ns();
    (void)session_json_write(rec->scratch, &rec->facts, NULL);
    uint64_t cost_ns = session_thread_cpu_ns() - cpu_ns;
    uint64_t pause_ns = cost_ns * SAVE_SHARE > SAVE_FIRST_NS ? cost_ns * SAVE_SHARE : SAVE_FIRST_NS;
    rec->next_save_ns = now_ns + pause_ns;
}

/* Looking at every file would cost a long build of many processes more than it saves: first what is left of the storage. */
static void make_room(struct recording *rec, uint64_t now_ns)
{
    rec->next_room_ns = now_ns + ROOM_CHECK_NS;
    if (!rec->is_memory || scratch_free_bytes(rec->scratch) + rec->keep_bytes > rec->free_bytes)
        return;
    collect_ended(rec->scratch, rec->directory, rec->keep_bytes, now_ns + EVACUATE_SLICE_NS,
                  &rec->collected);
    uint64_t took_ns = session_mono_ns() - now_ns;
    if (took_ns > ROOM_CHECK_NS / 100 && !rec->collected.streams)
        rec->next_room_ns = now_ns + took_ns * 100; /* others fill it, and nothing of ours can go */
}

/* Processes that start from now on are sampled as the budget allows, given what those before cost. Agents read the periods
 * once, when they start, each word by itself: one that starts now may mix old and new ones, and says so in its stream. */
static void adapt_rate(struct recording *rec, uint64_t now_ns)
{
    struct rate_spent spent = {0};
    rec->next_rate_ns = now_ns + RATE_INTERVAL_NS;
    if (!rec->facts.ladder.is_auto)
        return;
    array_each(tree_poll_seen(rec->poll), seen)
    {
        spent.samples += rate_ladder_samples(&rec->facts.ladder, seen->cpu_ns);
        spent.cpu_ns += (double)seen->cpu_ns;
    }
    struct rate_ladder now = rate_ladder_adapt(&rec->facts.ladder, &spent);
    for (int i = 0; i < RATE_STEPS; i++)
        __atomic_store_n(&rec->control->period_ns[i], now.period_ns[i], __ATOMIC_RELAXED);
}

static uint64_t on_tick(void *ctx)
{
    struct recording *rec = ctx;
    uint64_t now_ns = session_mono_ns();
    if (now_ns >= rec->next_times_ns) {
        read_clocks(rec);
        rec->next_times_ns = now_ns + TIMES_INTERVAL_NS;
    }
    if (now_ns >= tree_poll_due_ns(rec->poll)) {
        (void)tree_poll_pass(rec->poll); /* out of memory: a row less */
        const struct timeline *rows = tree_poll_rows(rec->poll);
        if (rec->settings->progress && rows->count)
            rec->settings->progress(rec->settings->ctx, now_ns - rec->launch.start_mono_ns,
                                    &array_last(rows));
    }
    if (now_ns >= rec->next_rate_ns)
        adapt_rate(rec, now_ns);
    if (now_ns >= rec->next_save_ns)
        save_session(rec, now_ns);
    if (now_ns >= rec->next_room_ns)
        make_room(rec, now_ns);
    return tree_poll_due_ns(rec->poll);
}

/* A signal that came before the command was started, when nobody else could get it. */
static int pending_end(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    sigset_t pending;
    sigpending(&pending);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct sigaction action;
        if (sigismember(&pending, ends[i]) && sigaction(ends[i], NULL, &action) == 0 &&
            action.sa_handler != SIG_IGN)
            return ends[i];
    }
    return 0;
}

static int start_command(struct recording *rec, struct lam_error *err)
{
    int errnum = 0, sig = pending_end();
    rec->outcome->exit_code = EXIT_OWN_FAILURE;
    if (sig) {
        rec->outcome->exit_code = 128 + sig;
        return lam_error_set(err, LAM_E_CANCELLED,
                             "ended by a signal before the command was started");
    }
    rec->children_before_ns = cpu_ns_of(RUSAGE_CHILDREN);
    int rc = launch_start(&rec->launch, &rec->signals, rec->settings->command, rec->environment,
                          &errnum, err);
    if (errnum == ENOENT)
        rec->outcome->exit_code = EXIT_NOT_FOUND;
    else if (errnum)
        rec->outcome->exit_code = EXIT_CANNOT_EXECUTE;
    if (rc >= 0) {
        rec->outcome->has_run = true;
        rec->facts.command_pid = (uint32_t)rec->launch.pid;
    } else if (errnum == ENOENT) {
        lam_error_set(err, LAM_E_NOTFOUND, "%s: command not found", rec->settings->command[0]);
    }
    return rc;
}

/* ---- the end ---- */

/* Counts the processes that go on, and names the first of them. */
static size_t find_daemons(const struct recording *rec, struct strbuf *names)
{
    size_t count = 0;
    array_each(tree_poll_seen(rec->poll), seen)
    {
        if (!seen->is_alive || !seen->threads)
            continue;
        if (count < DAEMONS_NAMED) {
            const struct seen_name *name = &array_last(&seen->names);
            strbuf_add(names, count ? ", " : "");
            strbuf_add_bytes(names, name->text, name->bytes);
            strbuf_addf(names, " %u", seen->pid);
        }
        count++;
    }
    if (count > DAEMONS_NAMED)
        strbuf_add(names, ", ...");
    return count;
}

static void warn_of_daemons(struct recording *rec)
{
    struct strbuf names = {0};
    size_t count = rec->outcome->daemons = find_daemons(rec, &names);
    if (count)
        record_warn(
            rec, "%zu %s of the command still %s (%s) and %s not in the recording from here on",
            count, unit_either(count, "process", "processes"), unit_either(count, "runs", "run"),
            strbuf_text(&names), unit_either(count, "is", "are"));
    strbuf_free(&names);
}

static void note_end(struct recording *rec)
{
    struct session_facts *facts = &rec->facts;
    struct record_outcome *outcome = rec->outcome;
    launch_reap(&rec->launch);
    (void)tree_poll_pass(rec->poll);
    control_set_stop(rec->control);
    read_clocks(rec);
    outcome->exit_code = launch_exit_code(rec->launch.status);
    outcome->elapsed_ns = rec->launch.end_mono_ns - facts->start.mono_ns;
    outcome->charged_cpu_ns = cpu_ns_of(RUSAGE_CHILDREN) - rec->children_before_ns;
    facts->has_end = facts->complete = true;
    facts->elapsed_ns = outcome->elapsed_ns;
    facts->exit_code = outcome->exit_code;
    facts->status = rec->launch.status;
    facts->charged_cpu_ns = outcome->charged_cpu_ns;
    facts->launcher_cpu_ns = cpu_ns_of(RUSAGE_SELF);
    /* The ticks of a whole run tell the rate better than those of the probing. */
    if (facts->with_tsc)
        facts->tick_rate_hz = session_tick_rate(&facts->start, &array_last(&facts->times));
    warn_of_daemons(rec);
    if (rec->command_note[0])
        record_warn(rec, "%s itself was not sampled: %s", rec->settings->command[0],
                    rec->command_note);
}

static void share_warnings(struct recording *rec)
{
    rec->facts.warnings.items = rec->outcome->warnings.items;
    rec->facts.warnings.count = rec->outcome->warnings.count;
}

/* Everything is in the recording: its list of files, by which a reader sees that one has gone, and no scratch place. */
static int write_last(struct recording *rec, struct lam_error *err)
{
    struct dir_entries files = {0};
    share_warnings(rec);
    rec->facts.scratch = NULL;
    if (rec->settings->profiles)
        profile_request_finish(rec->settings->profiles);
    rec->facts.files = dir_list(rec->directory, &files, NULL) >= 0 ? &files : NULL;
    int rc = session_json_write(rec->directory, &rec->facts, err);
    rec->facts.files = NULL;
    dir_entries_free(&files);
    return rc;
}

/* Clocks can be set: the end is the start and what went by since. */
static void attach(struct recording *rec)
{
    const struct record_settings *settings = rec->settings;
    struct lam_error error = LAM_ERROR_INIT;
    struct record_window window = {.start_unix_ns = (int64_t)rec->facts.start.wall_ns,
                                   .end_unix_ns =
                                       (int64_t)(rec->facts.start.wall_ns + rec->facts.elapsed_ns)};
    if (settings->attach && settings->attach(settings->attach_ctx, rec->directory, &window,
                                             &rec->attachments, &error) < 0)
        record_warn(rec, "%s", error.msg);
    rec->facts.attachments = &rec->attachments;
}

/* The order matters to whoever dies in between: the recording names the scratch place until all is in it. */
static int bring_home(struct recording *rec, struct lam_error *err)
{
    struct map recorded = {0};
    struct lam_error unheeded = LAM_ERROR_INIT;
    collect_pids(rec->scratch, &recorded);
    collect_pids(rec->directory, &recorded);
    rec->facts.recorded = &recorded;
    share_warnings(rec);
    int rc = session_json_write(rec->scratch, &rec->facts, err);
    if (rc >= 0)
        rc = collect_all(rec->scratch, rec->directory, PACK_THREADS, 0, &rec->collected, err);
    if (rc >= 0) /* what resolves symbols reads it; it still names the scratch place */
        rc = session_json_write(rec->directory, &rec->facts, err);
    if (rc >= 0 && rec->settings->symbols &&
        rec->settings->symbols(rec->settings->symbols_ctx, rec->directory, &unheeded) < 0)
        record_warn(rec, "symbols were not stored: %s", unheeded.msg);
    if (rc >= 0)
        attach(rec);
    if (rc >= 0)
        rc = write_last(rec, err);
    rec->facts.recorded = NULL;
    map_free(&recorded);
    if (rc < 0) {
        rec->outcome->scratch = mem_strdup(rec->scratch);
        return rc;
    }
    if (scratch_remove(rec->scratch, &unheeded) < 0)
        record_warn(rec, "%s", unheeded.msg);
    rec->outcome->packed_bytes = rec->collected.packed_bytes;
    return LAM_OK;
}

static void discard(struct recording *rec)
{
    if (rec->scratch)
        (void)scratch_remove(rec->scratch, NULL);
    if (rec->directory)
        (void)dir_remove_all(rec->directory, NULL); /* made by us a moment ago */
    mem_free(rec->outcome->directory);
    rec->outcome->directory = NULL;
}

/* Removed only when nobody is left who might be told of it: programs started later by a daemon would complain. */
static void remove_link(struct recording *rec)
{
    if (rec->link_dir && !rec->outcome->daemons)
        (void)dir_remove_all(rec->link_dir, NULL);
}

static void recording_free(struct recording *rec)
{
    if (rec->holds_signals)
        launch_signals_restore(&rec->signals);
    if (rec->held_event >= 0)
        close(rec->held_event);
    control_close(&rec->control);
    tree_poll_close(&rec->poll);
    array_free(&rec->launch.reaped);
    array_each(&rec->attachments, attachment) mem_free(attachment->from);
    array_free(&rec->attachments);
    array_free(&rec->facts.times);
    remove_link(rec);
    mem_free(rec->agent);
    mem_free(rec->preload);
    mem_free(rec->link_dir);
    mem_free(rec->directory);
    mem_free(rec->scratch);
    mem_free(rec->cwd);
    mem_free(rec->environment);
    mem_free(rec->out_variable);
    mem_free(rec->preload_variable);
}

int record_run(const struct record_settings *settings, struct record_outcome *outcome,
               struct lam_error *err)
{
    struct recording rec = {.settings = settings, .outcome = outcome, .held_event = -1};
    *outcome = (struct record_outcome){.exit_code = EXIT_OWN_FAILURE};
    int rc = record_prepare(&rec, err);
    if (rc >= 0)
        rc = start_command(&rec, err);
    if (rc < 0) {
        discard(&rec);
        recording_free(&rec);
        return rc;
    }
    rec.facts.poll = rec.poll;
    rec.facts.reaped = &rec.launch.reaped;
    rec.next_save_ns = rec.launch.start_mono_ns; /* at once: now the command's pid is known */
    rec.next_room_ns = rec.launch.start_mono_ns + ROOM_CHECK_NS;
    launch_wait(&rec.launch, on_tick, &rec);
    if (settings->finishing)
        settings->finishing(settings->ctx);
    note_end(&rec);
    rc = bring_home(&rec, err);
    recording_free(&rec);
    return rc;
}

void record_outcome_free(struct record_outcome *outcome)
{
    array_each(&outcome->warnings, line)
    {
        mem_free(*line);
    }
    array_free(&outcome->warnings);
    mem_free(outcome->directory);
    mem_free(outcome->scratch);
    *outcome = (struct record_outcome){0};
}

bool record_is_nested(char **directory)
{
    const char *out = getenv("LAMELLA_OUT");
    struct control_page page;
    struct session_stub stub;
    if (!out || !out[0] || control_read(out, &page, NULL) < 0 || page.stop ||
        !agent_is_preloaded(getenv("LD_PRELOAD"), page.agent_path))
        return false;
    if (session_stub_read(out, &stub, NULL) < 0)
        return false;
    bool runs = session_launcher_runs(&stub);
    *directory = stub.directory;
    stub.directory = NULL;
    session_stub_free(&stub);
    return runs;
}
