#include "session/record_state.h"

#include <errno.h>
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
#include "session/build_settings.h"
#include "session/control_file.h"
#include "session/patience.h"
#include "session/program_check.h"
#include "session/scratch.h"

enum {
    WAIT_MIN_US = 1000,  /* waits shorter than this are not stored */
    DEFAULT_NAMES = 100, /* recordings begun in one second in one directory */
    SCRATCH_SHARE = 8,   /* of the free memory-backed storage, how much a recording may hold */
    PATIENCE_MS = 1000,
    FILES_LEAST = 24, /* what the launcher has open at a time, and a few that it was given */
    CLOCK_SPACING_NS = 5000000, /* between two readings that tell the counter's rate */
};

static int no_memory(struct lam_error *err)
{
    return lam_error_set(err, LAM_E_NOMEM, "out of memory");
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
    if (errno == ENOENT && !strchr(path, '/'))
        return lam_error_set(err, LAM_E_NOTFOUND,
                             "%s: the working directory is gone; name another place with -o", path);
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
    rec->free_bytes = scratch_free_bytes(rec->scratch);
    rec->keep_bytes =
        rec->free_bytes / SCRATCH_SHARE; /* it is the machine's memory, and others want some too */
    return LAM_OK;
}

/* ---- what is recorded with what ---- */

static int find_agent(struct recording *rec, struct lam_error *err)
{
    struct program_verdict verdict = program_check(rec->settings->command[0]);
    int rc = agent_locate(&rec->agent, err);
    if (rc < 0)
        return rc;
    rec->command_why_not = verdict.why_not;
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
    pid_t waiter =
        settings->is_quiet
            ? -1
            : patience_begin(PATIENCE_MS, "lamella: trying which way of sampling works here\n");
    rec->held_event = engine_hold_open();
    engine_probe_run(settings->engine, settings->kernel_mode, false, &rec->probe);
    patience_end(waiter);
    const struct engine_trial *best = engine_probe_best(&rec->probe);
    note_engine(rec);
    if (!best && settings->engine != STREAM_ENGINE_AUTO)
        return lam_error_set(err, LAM_E_UNSUPPORTED, "--engine %s: %s; lamella doctor says more",
                             engine_name(settings->engine),
                             strchr(rec->engine_note, ':') ? strchr(rec->engine_note, ':') + 2
                                                           : "does not work here");
    if (!best) {
        record_warn(
            rec,
            "no way of sampling works here, only the account is kept; lamella doctor says why");
        rec->facts.ladder = rate_ladder_fixed(0);
        return LAM_OK;
    }
    uint32_t tick_ns = best->engine == STREAM_ENGINE_CPU_TIMER ? best->interval_ns : 0;
    rec->facts.engine = best->engine;
    rec->facts.kernel_mode = best->kernel_mode;
    rec->facts.interruption_ns = best->sample_cost_ns;
    if (rec->engine_note[0] && settings->engine == STREAM_ENGINE_AUTO)
        snprintf(rec->outcome->engine_note, sizeof rec->outcome->engine_note,
                 "sampled with %s%s; %s", engine_name(best->engine),
                 best->engine == STREAM_ENGINE_CPU_TIMER ? ""
                 : best->kernel_mode                     ? " and kernel mode"
                                                         : " without kernel mode",
                 rec->engine_note);
    if (tick_ns && !settings->rate_auto && 1000000000u / settings->rate_hz < tick_ns / 2)
        record_warn(
            rec, "--rate %u: the CPU timer is served every %.1f ms only, about %u times a second",
            settings->rate_hz, tick_ns * 1e-6, 1000000000u / tick_ns);
    rec->facts.ladder = rate_ladder_auto(best->sample_cost_ns, tick_ns);
    rec->facts.sample_cost_ns = rec->facts.ladder.sample_cost_ns;
    if (!settings->rate_auto)
        rec->facts.ladder = rate_ladder_fixed(settings->rate_hz);
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
    facts->command = settings->shown_command ? settings->shown_command : settings->command;
    facts->added_argument = settings->added_argument;
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
    facts->command_why_not = rec->command_why_not;
    facts->max_bytes = settings->max_bytes;
    facts->only = settings->only;
    facts->only_count = settings->only_count;
    facts->skip = settings->skip;
    facts->skip_count = settings->skip_count;
    facts->machine = &rec->machine;
    facts->profiles = settings->profiles;
    return LAM_OK;
}

static int write_control(struct recording *rec, struct lam_error *err)
{
    const struct session_facts *facts = &rec->facts;
    struct control_page page = {
        .version = 1,
        .engine = facts->wanted_engine,
        .best_engine = facts->engine,
        .kernel_mode = facts->kernel_mode,
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
    if (rc >= 0 && rec->settings->profiles)
        rc = profile_request_put(rec->settings->profiles, &page, err);
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
        char *value = agent_preload_value(rec->preload, environment_find(given, "LD_PRELOAD"));
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

/* Said at once, and with its name: later it would be the failure of whatever is opened last. */
static int check_files(struct lam_error *err)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_max >= FILES_LEAST)
        return LAM_OK;
    return lam_error_set(
        err, LAM_E_UNSUPPORTED,
        "only %llu files may be open at a time (ulimit -Hn), and recording needs %d",
        (unsigned long long)files.rlim_max, FILES_LEAST);
}

int record_prepare(struct recording *rec, struct lam_error *err)
{
    struct clock_reading before;
    int rc = check_files(err);
    if (rc >= 0)
        rc = find_agent(rec, err);
    if (rc >= 0)
        rc = make_directory(rec, err);
    if (rc >= 0 && rec->settings->profiles)
        rc = profile_request_begin(rec->settings->profiles, rec->directory, err);
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
    while (session_mono_ns() - before.mono_ns < CLOCK_SPACING_NS) {
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
