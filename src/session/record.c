#include "session/record.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "session/agent_locate.h"
#include "session/collect.h"
#include "session/control_file.h"
#include "session/launch.h"
#include "session/program_check.h"
#include "session/recover.h"
#include "session/scratch.h"

enum {
    EXIT_OWN_FAILURE = 125,
    EXIT_CANNOT_EXECUTE = 126,
    EXIT_NOT_FOUND = 127,
    WAIT_MIN_US = 1000, /* waits shorter than this are not stored */
    PACK_THREADS = 2,
    DEFAULT_NAMES = 100, /* recordings begun in one second in one directory */
    TIMES_INTERVAL_NS = 1000000000,
    SAVE_FIRST_NS =
        2000000000, /* session.json is written again after this, then at ever longer intervals */
    ROOM_CHECK_NS = 1000000000,
    EVACUATE_SLICE_NS = 50000000, /* signals wait no longer than this for a stream being packed */
};

struct recording {
    const struct record_settings *settings;
    struct record_outcome *outcome;
    struct session_facts facts;
    struct machine_info machine;
    struct engine_probe probe;
    struct launch launch;
    struct launch_signals signals;
    bool holds_signals;
    struct tree_poll *poll;
    struct control_page *control;
    int held_event;
    char *agent;    /* where it is */
    char *preload;  /* what the loader is told: the agent, or a link to it */
    char *link_dir; /* of that link; NULL */
    char *directory;
    char *scratch;
    bool is_memory;
    uint64_t keep_bytes; /* scratch may hold so much before finished streams are brought over */
    char *cwd;
    char engine_note[256];
    char command_note[256];
    char **environment; /* of the command */
    char *out_variable, *preload_variable;
    uint64_t children_before_ns;
    uint64_t next_times_ns, next_save_ns, next_room_ns;
    struct collect_result collected;
};

static int no_memory(struct lam_error *err)
{
    return lam_error_set(err, LAM_E_NOMEM, "out of memory");
}

static void warn(struct recording *rec, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void warn(struct recording *rec, const char *fmt, ...)
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

static uint64_t children_cpu_ns(void)
{
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000u +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000u;
}

static uint64_t own_cpu_ns(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000u +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000u;
}

/* ---- the directory ---- */

static char *default_name(int attempt)
{
    char text[64], suffix[16] = "";
    time_t now = time(NULL);
    struct tm local;
    localtime_r(&now, &local);
    strftime(text, sizeof text, "lamella-%Y%m%d-%H%M%S", &local);
    if (attempt)
        snprintf(suffix, sizeof suffix, "-%d", attempt + 1);
    struct strbuf name = {0};
    strbuf_addf(&name, "%s%s.lamella", text, suffix);
    return strbuf_take(&name, NULL);
}

static int make_named(const char *path, struct lam_error *err)
{
    if (mkdir(path, 0777) == 0)
        return LAM_OK;
    if (errno == EEXIST)
        return lam_error_set(
            err, LAM_E_EXISTS,
            "%s: exists already, and a recording never overwrites; name another with -o", path);
    if (errno == ENOENT) {
        char *above = path_dir(path);
        int rc = lam_error_set(err, LAM_E_NOTFOUND, "%s: there is no directory %s to make it in",
                               path, above ? above : "above it");
        mem_free(above);
        return rc;
    }
    return lam_error_errno(
        err, errno, "%s: cannot make the recording's directory; name another place with -o", path);
}

static int make_default(char **path, struct lam_error *err)
{
    int rc = LAM_E_EXISTS;
    for (int attempt = 0; rc == LAM_E_EXISTS && attempt < DEFAULT_NAMES; attempt++) {
        mem_free(*path);
        *path = default_name(attempt);
        rc = *path ? make_named(*path, err) : no_memory(err);
    }
    return rc;
}

static int make_directory(struct recording *rec, struct lam_error *err)
{
    char *given = NULL;
    int rc;
    if (rec->settings->output) {
        given = mem_strdup(rec->settings->output);
        rc = given ? make_named(given, err) : no_memory(err);
    } else {
        rc = make_default(&given, err);
    }
    if (rc >= 0) {
        /* Absolute: the command may be anywhere when later commands read this. */
        char *real = realpath(given, NULL);
        rec->directory = real;
        rec->outcome->directory = given;
        return real ? LAM_OK : lam_error_errno(err, errno, "%s", given);
    }
    mem_free(given);
    return rc;
}

static int make_scratch(struct recording *rec, struct lam_error *err)
{
    int rc = scratch_create(rec->directory, &rec->scratch, &rec->is_memory, err);
    if (rc < 0)
        return rc;
    struct scratch_places places = {0};
    uint64_t room = 0;
    if (rec->is_memory && scratch_candidates(&places) >= 0)
        array_each(&places, place)
        {
            if (text_starts_with(rec->scratch, place->path))
                room = place->free_bytes;
        }
    scratch_places_free(&places);
    rec->keep_bytes = room / 8; /* it is the machine's memory, and others want some too */
    return LAM_OK;
}

/* ---- what is recorded with what ---- */

static int find_agent(struct recording *rec, struct lam_error *err)
{
    struct program_verdict verdict = program_check(rec->settings->command[0]);
    int rc = agent_locate(&rec->agent, err);
    if (rc < 0)
        return rc;
    if (verdict.why_not != STREAM_UNSAMPLED_NO)
        snprintf(rec->command_note, sizeof rec->command_note, "%s", verdict.reason);
    if (verdict.must_drop)
        return LAM_OK; /* preload stays NULL: neither it nor what it starts can be sampled */
    if (agent_path_is_plain(rec->agent)) {
        rec->preload = mem_strdup(rec->agent);
        return rec->preload ? LAM_OK : no_memory(err);
    }
    return agent_link_plain(rec->agent, &rec->preload, &rec->link_dir, err);
}

static void note_engine(struct recording *rec)
{
    const struct engine_trial *best = engine_probe_best(&rec->probe);
    const struct engine_trial *first = rec->probe.count ? &rec->probe.trials[0] : NULL;
    char why[160];
    if (!first || first == best)
        return;
    engine_verdict_text(first, why, sizeof why);
    snprintf(rec->engine_note, sizeof rec->engine_note, "%s%s: %s", engine_name(first->engine),
             first->engine == STREAM_ENGINE_CPU_TIMER ? ""
             : first->kernel_mode                     ? " with kernel mode"
                                                      : " without kernel mode",
             why);
}

static int choose_engine(struct recording *rec, struct lam_error *err)
{
    const struct record_settings *settings = rec->settings;
    bool account_only =
        settings->engine == STREAM_ENGINE_NONE || (!settings->rate_auto && settings->rate_hz == 0);
    rec->facts.wanted_engine = account_only ? STREAM_ENGINE_NONE : settings->engine;
    rec->facts.engine = STREAM_ENGINE_NONE;
    if (account_only) {
        rec->facts.ladder = rate_ladder_fixed(0);
        return LAM_OK;
    }
    rec->held_event = engine_hold_open();
    engine_probe_run(settings->engine, settings->kernel_mode, false, &rec->probe);
    const struct engine_trial *best = engine_probe_best(&rec->probe);
    note_engine(rec);
    if (!best && settings->engine != STREAM_ENGINE_AUTO)
        return lam_error_set(err, LAM_E_UNSUPPORTED, "--engine %s: %s; lamella doctor says more",
                             engine_name(settings->engine),
                             strchr(rec->engine_note, ':') ? strchr(rec->engine_note, ':') + 2
                                                           : "does not work here");
    if (!best) {
        warn(rec,
             "no way of sampling works here, only the account is kept; lamella doctor says why");
        rec->facts.ladder = rate_ladder_fixed(0);
        return LAM_OK;
    }
    uint32_t tick_ns = best->engine == STREAM_ENGINE_CPU_TIMER ? best->interval_ns : 0;
    rec->facts.engine = best->engine;
    rec->facts.kernel_mode = best->kernel_mode;
    rec->facts.interruption_ns = best->sample_cost_ns;
    rec->facts.sample_cost_ns = rate_sample_cost_ns(best->sample_cost_ns);
    if (rec->engine_note[0] && settings->engine == STREAM_ENGINE_AUTO)
        snprintf(rec->outcome->engine_note, sizeof rec->outcome->engine_note,
                 "sampled with %s%s; %s", engine_name(best->engine),
                 best->engine == STREAM_ENGINE_CPU_TIMER ? ""
                 : best->kernel_mode                     ? " and kernel mode"
                                                         : " without kernel mode",
                 rec->engine_note);
    if (tick_ns && !settings->rate_auto && 1000000000u / settings->rate_hz < tick_ns / 2)
        warn(rec, "--rate %u: the CPU timer is served every %.1f ms only, about %u times a second",
             settings->rate_hz, tick_ns * 1e-6, 1000000000u / tick_ns);
    rec->facts.ladder = settings->rate_auto ? rate_ladder_auto(best->sample_cost_ns, tick_ns)
                                            : rate_ladder_fixed(settings->rate_hz);
    return LAM_OK;
}

static int fill_facts(struct recording *rec, struct lam_error *err)
{
    const struct record_settings *settings = rec->settings;
    struct session_facts *facts = &rec->facts;
    struct proc_stat self;
    if (getrandom(&facts->session_id, sizeof facts->session_id, 0) !=
            (ssize_t)sizeof facts->session_id ||
        !facts->session_id)
        facts->session_id = session_mono_ns() << 16 ^ (uint64_t)getpid(); /* 0 means none */
    machine_info_read(&rec->machine);
    rec->cwd = getcwd(NULL, 0);
    facts->command = settings->command;
    facts->environment = settings->environment;
    facts->cwd = rec->cwd;
    facts->directory = rec->directory;
    facts->scratch = rec->scratch;
    facts->launcher_pid = (uint32_t)getpid();
    if (!tree_poll_peek(getpid(), &self))
        return lam_error_set(err, LAM_E_IO, "/proc is not there: lamella needs it");
    facts->launcher_start = self.kernel_start;
    facts->engine_note = rec->engine_note;
    facts->command_note = rec->command_note;
    facts->max_bytes = settings->max_bytes;
    facts->only = settings->only;
    facts->only_count = settings->only_count;
    facts->skip = settings->skip;
    facts->skip_count = settings->skip_count;
    facts->machine = &rec->machine;
    return LAM_OK;
}

static int write_control(struct recording *rec, struct lam_error *err)
{
    const struct session_facts *facts = &rec->facts;
    struct control_page page = {
        .version = 1,
        .engine = facts->wanted_engine,
        .best_engine = facts->engine,
        .kernel_mode = rec->settings->kernel_mode,
        .rate_auto = facts->ladder.is_auto,
        .session_id = facts->session_id,
        .max_bytes = facts->max_bytes,
        .launcher_pid = facts->launcher_pid,
        .wait_min_us = WAIT_MIN_US,
        .tsc_usable = facts->with_tsc,
        .tick_rate_hz = facts->tick_rate_hz,
        .start_ticks = facts->start.ticks,
        .start_mono_ns = facts->start.mono_ns,
        .start_wall_ns = facts->start.wall_ns,
    };
    memcpy(page.magic, CONTROL_MAGIC, sizeof page.magic);
    memcpy(page.period_ns, facts->ladder.period_ns, sizeof page.period_ns);
    memcpy(page.step_cpu_ms, facts->ladder.step_cpu_ms, sizeof page.step_cpu_ms);
    const char *agent = rec->preload ? rec->preload : rec->agent;
    if (strlen(agent) >= sizeof page.agent_path)
        return lam_error_set(err, LAM_E_TOOBIG, "%s: a path of more than %zu bytes", agent,
                             sizeof page.agent_path - 1);
    memcpy(page.agent_path, agent, strlen(agent));
    int rc = control_put_patterns(&page, rec->settings->only, rec->settings->only_count,
                                  rec->settings->skip, rec->settings->skip_count, err);
    return rc < 0 ? rc : control_create(rec->scratch, &page, &rec->control, err);
}

/* Both places: the recording's names the scratch place, that of the scratch place names the recording. */
static int write_session(struct recording *rec, struct lam_error *err)
{
    int rc = session_json_write(rec->scratch, &rec->facts, err);
    return rc < 0 ? rc : session_json_write(rec->directory, &rec->facts, err);
}

/* ---- the command's environment ---- */

static bool is_variable(const char *entry, const char *name)
{
    size_t length = strlen(name);
    return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

static char *variable(const char *name, const char *value)
{
    struct strbuf buf = {0};
    strbuf_addf(&buf, "%s=", name);
    strbuf_add(&buf, value);
    return strbuf_take(&buf, NULL);
}

static const char *find_variable(char *const *environment, const char *name)
{
    for (; *environment; environment++)
        if (is_variable(*environment, name))
            return *environment + strlen(name) + 1;
    return NULL;
}

/* The user's environment with LD_PRELOAD and LAMELLA_OUT of ours, and nothing else changed. */
static int make_environment(struct recording *rec, struct lam_error *err)
{
    char *const *given = rec->settings->environment;
    size_t count = 0, used = 0;
    while (given[count])
        count++;
    rec->environment = mem_zalloc(count + 3, sizeof *rec->environment);
    rec->out_variable = variable("LAMELLA_OUT", rec->scratch);
    if (rec->preload) {
        char *value = agent_preload_value(rec->preload, find_variable(given, "LD_PRELOAD"));
        rec->preload_variable = value ? variable("LD_PRELOAD", value) : NULL;
        mem_free(value);
    }
    if (!rec->environment || !rec->out_variable || (rec->preload && !rec->preload_variable))
        return no_memory(err);
    for (size_t i = 0; i < count; i++)
        if (!is_variable(given[i], "LAMELLA_OUT") &&
            !(rec->preload && is_variable(given[i], "LD_PRELOAD")))
            rec->environment[used++] = given[i];
    rec->environment[used++] = rec->out_variable;
    if (rec->preload_variable)
        rec->environment[used++] = rec->preload_variable;
    return LAM_OK;
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
    uint64_t pause_ns = cost_ns * 200 > SAVE_FIRST_NS ? cost_ns * 200 : SAVE_FIRST_NS;
    rec->next_save_ns = now_ns + pause_ns;
}

static void make_room(struct recording *rec, uint64_t now_ns)
{
    rec->next_room_ns = now_ns + ROOM_CHECK_NS;
    if (rec->is_memory)
        collect_ended(rec->scratch, rec->directory, rec->keep_bytes, now_ns + EVACUATE_SLICE_NS,
                      &rec->collected);
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
    rec->children_before_ns = children_cpu_ns();
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

static size_t count_daemons(const struct recording *rec)
{
    size_t count = 0;
    array_each(tree_poll_seen(rec->poll), seen)
    {
        count += seen->is_alive && seen->threads > 0;
    }
    return count;
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
    outcome->charged_cpu_ns = children_cpu_ns() - rec->children_before_ns;
    outcome->daemons = count_daemons(rec);
    facts->has_end = facts->complete = true;
    facts->elapsed_ns = outcome->elapsed_ns;
    facts->exit_code = outcome->exit_code;
    facts->status = rec->launch.status;
    facts->charged_cpu_ns = outcome->charged_cpu_ns;
    facts->launcher_cpu_ns = own_cpu_ns();
    /* The ticks of a whole run tell the rate better than those of the probing. */
    if (facts->with_tsc)
        facts->tick_rate_hz = session_tick_rate(&facts->start, &array_last(&facts->times));
    if (outcome->daemons)
        warn(rec, "%zu %s of the command still %s and %s not in the recording from here on",
             outcome->daemons, outcome->daemons == 1 ? "process" : "processes",
             outcome->daemons == 1 ? "runs" : "run", outcome->daemons == 1 ? "is" : "are");
    if (rec->command_note[0])
        warn(rec, "%s itself was not sampled: %s", rec->settings->command[0], rec->command_note);
}

static void share_warnings(struct recording *rec)
{
    rec->facts.warnings.items = rec->outcome->warnings.items;
    rec->facts.warnings.count = rec->outcome->warnings.count;
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
        warn(rec, "symbols were not stored: %s", unheeded.msg);
    if (rc >= 0) {
        share_warnings(rec);
        rec->facts.scratch = NULL;
        rc = session_json_write(rec->directory, &rec->facts, err);
    }
    rec->facts.recorded = NULL;
    map_free(&recorded);
    if (rc < 0) {
        rec->outcome->scratch = mem_strdup(rec->scratch);
        return rc;
    }
    if (scratch_remove(rec->scratch, &unheeded) < 0)
        warn(rec, "%s", unheeded.msg);
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

static int prepare(struct recording *rec, struct lam_error *err)
{
    struct clock_reading before;
    int rc = find_agent(rec, err);
    if (rc >= 0)
        rc = make_directory(rec, err);
    if (rc >= 0)
        rc = make_scratch(rec, err);
    if (rc < 0)
        return rc;
    launch_signals_hold(&rec->signals);
    rec->holds_signals = true;
    rec->facts.with_tsc = session_tsc_usable();
    before = session_clock_read(rec->facts.with_tsc);
    if ((rc = choose_engine(rec, err)) < 0 || (rc = fill_facts(rec, err)) < 0 ||
        (rc = make_environment(rec, err)) < 0)
        return rc;
    /* A counter's rate needs some milliseconds between the readings; probing an engine took longer. */
    while (session_mono_ns() - before.mono_ns < 5000000u) {
    }
    rec->facts.start = session_clock_read(rec->facts.with_tsc);
    rec->facts.tick_rate_hz = session_tick_rate(&before, &rec->facts.start);
    rc = write_control(rec, err);
    if (rc >= 0)
        rc = write_session(rec, err);
    if (rc >= 0)
        rc = tree_poll_open(&rec->poll, getpid(), rec->facts.start.mono_ns, err);
    return rc;
}

int record_run(const struct record_settings *settings, struct record_outcome *outcome,
               struct lam_error *err)
{
    struct recording rec = {.settings = settings, .outcome = outcome, .held_event = -1};
    *outcome = (struct record_outcome){.exit_code = EXIT_OWN_FAILURE};
    int rc = prepare(&rec, err);
    if (rc >= 0)
        rc = start_command(&rec, err);
    if (rc < 0) {
        discard(&rec);
        recording_free(&rec);
        return rc;
    }
    rec.facts.poll = rec.poll;
    rec.facts.reaped = &rec.launch.reaped;
    rec.next_save_ns = rec.launch.start_mono_ns + SAVE_FIRST_NS;
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
