/* lamella doctor: what this machine allows, and what would allow more. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/byteout.h"
#include "base/file.h"
#include "base/json_write.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/strbuf.h"
#include "base/table.h"
#include "base/units.h"
#include "cli/launcher_talk.h"
#include "lamella/lamella.h"
#include "session/agent_locate.h"
#include "session/collect.h"
#include "session/engine_probe.h"
#include "session/machine_info.h"
#include "session/patience.h"
#include "session/rate_ladder.h"
#include "session/record.h"
#include "session/scratch.h"
#include "session/session_clock.h"
#include "session/toolchain_info.h"

enum { NAME_COLUMNS = 21, PATIENCE_MS = 1000 };

struct findings {
    struct machine_info machine;
    int paranoid;
    int yama; /* ptrace_scope; INT32_MIN: none */
    int seccomp;
    struct engine_probe probe;
    struct rate_ladder ladder;
    bool tsc_usable;
    struct scratch_places places;
    struct tool_list tools;
    char *agent; /* NULL: not found, agent_error says where it was looked for */
    struct lam_error agent_error;
    bool self_test_ran;  /* the launcher ran a command */
    bool self_test_good; /* ... and the agent was in it */
    char self_test_note[256];
    const char *library_options; /* LAMELLA_OPTIONS, NULL: not set; and what is wrong with it */
    char library_options_error[256];
    struct strbuf fix; /* one command a line; empty: nothing to gain */
    struct strbuf fix_why;
};

/* ---- finding out ---- */

static int read_number(const char *path)
{
    char *text;
    size_t length;
    if (file_read_all(path, 64, &text, &length, NULL) < 0)
        return INT32_MIN;
    int value = (int)strtol(text, NULL, 10);
    mem_free(text);
    return value;
}

/* 0 off, 1 strict, 2 a filter; -1 not known. */
static int read_seccomp(void)
{
    char *text;
    size_t length;
    if (file_read_all("/proc/self/status", 65536, &text, &length, NULL) < 0)
        return -1;
    const char *line = strstr(text, "\nSeccomp:");
    int value = line ? (int)strtol(line + 9, NULL, 10) : -1;
    mem_free(text);
    return value;
}

/* A recording of `true`, as a user would make one, in a directory that is removed again: whether the loader takes the agent,
 * the agent finds its place, and its stream comes home. */
static void self_test(struct findings *found)
{
    const char *temporary = getenv("TMPDIR");
    struct strbuf name = {0};
    strbuf_addf(&name, "%s/lamella-doctor.XXXXXX",
                temporary && temporary[0] == '/' ? temporary : "/tmp");
    char *dir = strbuf_take(&name, NULL);
    if (!dir || !mkdtemp(dir)) {
        snprintf(found->self_test_note, sizeof found->self_test_note, "no temporary directory: %s",
                 strerror(errno));
        mem_free(dir);
        return;
    }
    char *output = path_join(dir, "r.lamella");
    char *command[] = {"true", NULL};
    struct record_settings settings = {
        .output = output,
        .engine = STREAM_ENGINE_AUTO,
        .kernel_mode = true,
        .rate_auto = true,
        .is_quiet = true, /* doctor says it for all that it tries */
        .command = command,
        .environment = environ,
    };
    struct record_outcome outcome;
    struct lam_error error = LAM_ERROR_INIT;
    struct map streams = {0};
    int rc = record_run(&settings, &outcome, &error);
    found->self_test_ran = rc >= 0;
    if (rc >= 0)
        collect_pids(output, &streams);
    found->self_test_good = streams.count > 0;
    if (rc < 0)
        snprintf(found->self_test_note, sizeof found->self_test_note, "%s", error.msg);
    else if (!streams.count)
        snprintf(found->self_test_note, sizeof found->self_test_note,
                 "the command ran, but the agent was not in it: LD_PRELOAD does not work here");
    map_free(&streams);
    record_outcome_free(&outcome);
    (void)dir_remove_all(dir, NULL);
    mem_free(output);
    mem_free(dir);
}

static const struct engine_trial *trial_of(const struct findings *found, uint32_t engine,
                                           bool kernel_mode)
{
    for (size_t i = 0; i < found->probe.count; i++)
        if (found->probe.trials[i].engine == engine &&
            found->probe.trials[i].kernel_mode == kernel_mode)
            return &found->probe.trials[i];
    return NULL;
}

/* What would make the best engine work. */
static void find_fix(struct findings *found)
{
    const struct engine_trial *full = trial_of(found, STREAM_ENGINE_SIGTRAP, true);
    if (!full || full->verdict == ENGINE_WORKS)
        return;
    if (full->verdict != ENGINE_REFUSED)
        return;
    if (full->errnum == EACCES && found->paranoid > 1) {
        strbuf_add(&found->fix, "sudo sysctl kernel.perf_event_paranoid=1");
        strbuf_add(&found->fix_why,
                   "lets ordinary users sample in kernel mode too, until the next boot; a line "
                   "'kernel.perf_event_paranoid = 1' in /etc/sysctl.d/ keeps it");
    } else if (full->errnum == EPERM || full->errnum == ENOSYS) {
        strbuf_add(&found->fix, "docker run --security-opt seccomp=unconfined ...");
        strbuf_add(&found->fix_why, "the container's seccomp profile forbids perf_event_open; one "
                                    "that allows it is enough");
    }
}

static void find_out(struct findings *found)
{
    pid_t waiter =
        patience_begin(PATIENCE_MS, "lamella: trying what works here; this takes a moment\n");
    machine_info_read(&found->machine);
    found->paranoid = engine_paranoid();
    found->yama = read_number("/proc/sys/kernel/yama/ptrace_scope");
    found->seccomp = read_seccomp();
    found->tsc_usable = session_tsc_usable();
    int held = engine_hold_open();
    engine_probe_run(STREAM_ENGINE_AUTO, true, true, &found->probe);
    if (held >= 0)
        close(held);
    const struct engine_trial *best = engine_probe_best(&found->probe);
    if (best)
        found->ladder = rate_ladder_auto(
            best->sample_cost_ns, best->engine == STREAM_ENGINE_CPU_TIMER ? best->interval_ns : 0);
    found->library_options = getenv("LAMELLA_OPTIONS");
    if (found->library_options)
        (void)lam_options_explain(found->library_options, found->library_options_error,
                                  sizeof found->library_options_error);
    (void)scratch_candidates(&found->places);
    (void)toolchain_find(&found->tools);
    patience_end(waiter); /* it would be one of the trial's processes */
    if (agent_locate(&found->agent, &found->agent_error) >= 0)
        self_test(found);
    find_fix(found);
}

static void findings_free(struct findings *found)
{
    scratch_places_free(&found->places);
    toolchain_free(&found->tools);
    mem_free(found->agent);
    strbuf_free(&found->fix);
    strbuf_free(&found->fix_why);
}

/* ---- text ---- */

struct page {
    struct strbuf text;
    struct term term;
};

static void heading(struct page *page, const char *title)
{
    if (page->text.length)
        strbuf_add_char(&page->text, '\n');
    style_add(&page->text, &page->term, STYLE_BOLD, title);
    strbuf_add_char(&page->text, '\n');
}

enum mark { MARK_GOOD, MARK_BAD, MARK_PLAIN };

static void line(struct page *page, enum mark mark, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static void line(struct page *page, enum mark mark, const char *name, const char *fmt, ...)
{
    static const struct {
        const char *text;
        enum text_style style;
    } marks[] = {{"ok  ", STYLE_GREEN}, {"no  ", STYLE_YELLOW}, {"    ", STYLE_PLAIN}};
    struct strbuf value = {0};
    va_list args;
    va_start(args, fmt);
    strbuf_addv(&value, fmt, args);
    va_end(args);
    strbuf_add(&page->text, "  ");
    style_add(&page->text, &page->term, marks[mark].style, marks[mark].text);
    size_t columns = utf8_columns(name, strlen(name));
    strbuf_add(&page->text, name);
    strbuf_add_fill(&page->text, ' ', columns < NAME_COLUMNS ? NAME_COLUMNS - columns : 1);
    strbuf_add_printable(&page->text, strbuf_text(&value), value.length);
    strbuf_add_char(&page->text, '\n');
    strbuf_free(&value);
}

static void show_machine(struct page *page, const struct findings *found)
{
    const struct machine_info *machine = &found->machine;
    heading(page, "Machine");
    line(page, MARK_PLAIN, "kernel", "%s, %s", machine->kernel, machine->arch);
    line(page, MARK_PLAIN, "system", "%s", machine->os[0] ? machine->os : "not known");
    line(page, MARK_PLAIN, "processors", "%u, %s, virtualisation: %s", machine->cores,
         machine->cpu_model[0] ? machine->cpu_model : "model not known", machine->virt);
    line(page, MARK_PLAIN, "memory", "%s", unit_bytes((double)machine->mem_bytes).text);
    line(page, found->tsc_usable ? MARK_GOOD : MARK_BAD, "steady counter",
         found->tsc_usable ? "times are read from the processor's counter"
                           : "times are read from CLOCK_MONOTONIC, which costs a little more");
}

static void trial_name(const struct engine_trial *trial, char *name, size_t capacity)
{
    snprintf(name, capacity, "%s%s", engine_name(trial->engine),
             trial->engine == STREAM_ENGINE_CPU_TIMER ? ""
             : trial->kernel_mode                     ? " +kernel"
                                                      : "");
}

static void show_engines(struct page *page, const struct findings *found)
{
    heading(page, "Sampling (the first that works is used)");
    for (size_t i = 0; i < found->probe.count; i++) {
        const struct engine_trial *trial = &found->probe.trials[i];
        char name[48], text[192];
        trial_name(trial, name, sizeof name);
        engine_verdict_text(trial, text, sizeof text);
        if (trial->engine == STREAM_ENGINE_CPU_TIMER && trial->verdict == ENGINE_WORKS)
            line(page, MARK_GOOD, name, "%s; served every %s of CPU time", text,
                 unit_seconds(trial->interval_ns * 1e-9).text);
        else
            line(page, trial->verdict == ENGINE_WORKS ? MARK_GOOD : MARK_BAD, name, "%s", text);
    }
    if (engine_probe_best(&found->probe))
        line(page, MARK_PLAIN, "--rate auto",
             "%u samples a second of CPU time, falling to %u as a process ages",
             found->ladder.rate_hz, 1000000000u / found->ladder.period_ns[RATE_STEPS - 1]);
    if (found->paranoid != INT32_MIN)
        line(page, MARK_PLAIN, "perf_event_paranoid", "%d%s", found->paranoid,
             geteuid() == 0 ? " (does not bind root)" : "");
    line(page, MARK_PLAIN, "seccomp", "%s",
         found->seccomp == 2   ? "a filter is in force"
         : found->seccomp == 0 ? "no filter"
                               : "not known");
    if (found->yama != INT32_MIN)
        line(page, MARK_PLAIN, "ptrace_scope", "%d (lamella does not trace, so it does not matter)",
             found->yama);
}

static void show_recording(struct page *page, const struct findings *found)
{
    heading(page, "Recording");
    if (found->agent)
        line(page, MARK_GOOD, "agent", "%s", found->agent);
    else
        line(page, MARK_BAD, "agent", "%s", found->agent_error.msg);
    if (found->agent)
        line(page, found->self_test_good ? MARK_GOOD : MARK_BAD, "trial recording", "%s",
             found->self_test_good ? "the agent was loaded into a program and wrote its stream"
                                   : found->self_test_note);
    bool has_place = false;
    array_each(&found->places, place)
    {
        bool good = scratch_is_good(place);
        line(page, good ? MARK_GOOD : MARK_BAD, "scratch place", "%s: %s%s, %s free%s", place->path,
             place->is_memory ? "memory" : "not memory-backed",
             place->is_writable ? "" : ", not writable", unit_bytes((double)place->free_bytes).text,
             place->is_memory && !good && place->is_writable ? ", too little" : "");
        has_place = has_place || good;
    }
    if (!has_place)
        line(page, MARK_PLAIN, "",
             "streams will lie in the recording itself; short processes cost 2 to 3 ms more");
    if (found->library_options && found->library_options_error[0])
        line(page, MARK_BAD, "LAMELLA_OPTIONS", "%s: programs with liblamella will record nothing",
             found->library_options_error);
    else if (found->library_options)
        line(page, MARK_GOOD, "LAMELLA_OPTIONS", "%s", found->library_options);
}

static void show_tools(struct page *page, const struct findings *found)
{
    static const char *const symbols[] = {"symbols not known", "has its symbols",
                                          "stripped: its functions have no names"};
    heading(page, "Compilers and linkers");
    array_each(&found->tools, tool)
    {
        enum mark mark = tool->symbols == TOOL_SYMBOLS_FULL ? MARK_GOOD : MARK_PLAIN;
        line(page, mark, tool->name, "%s; %s; %s", tool->version ? tool->version : tool->path,
             tool->code ? path_name(tool->code) : tool->path, symbols[tool->symbols]);
    }
    if (!found->tools.count)
        line(page, MARK_PLAIN, "", "none in PATH");
}

static void show_fix(struct page *page, const struct findings *found)
{
    if (!found->fix.length)
        return;
    heading(page, "To sample more");
    strbuf_addf(&page->text, "  %s\n", strbuf_text(&found->fix));
    strbuf_addf(&page->text, "      %s\n", strbuf_text(&found->fix_why));
}

static int show_text(const struct findings *found)
{
    struct page page = {.term = term_of(stdout)};
    show_machine(&page, found);
    show_engines(&page, found);
    show_recording(&page, found);
    show_tools(&page, found);
    show_fix(&page, found);
    fputs(strbuf_text(&page.text), stdout);
    int rc = strbuf_ok(&page.text) && fflush(stdout) == 0 ? LAM_OK : LAM_E_IO;
    strbuf_free(&page.text);
    return rc;
}

/* ---- JSON ---- */

static void put_trials(struct json_writer *json, const struct findings *found)
{
    static const char *const verdicts[] = {"untried", "works", "refused",
                                           "silent",  "died",  "bad_kernel"};
    json_member_array(json, "engines");
    for (size_t i = 0; i < found->probe.count; i++) {
        const struct engine_trial *trial = &found->probe.trials[i];
        char text[192];
        engine_verdict_text(trial, text, sizeof text);
        json_put_object(json);
        json_member_str(json, "engine", engine_name(trial->engine));
        json_member_bool(json, "kernel_mode", trial->kernel_mode);
        json_member_bool(json, "works", trial->verdict == ENGINE_WORKS);
        json_member_str(json, "verdict", verdicts[trial->verdict]);
        json_member_str(json, "text", text);
        if (trial->verdict == ENGINE_REFUSED)
            json_member_i64(json, "errno", trial->errnum);
        if (trial->verdict == ENGINE_WORKS) {
            json_member_u64(json, "interruption_ns", trial->sample_cost_ns);
            json_member_u64(json, "interval_ns", trial->interval_ns);
        }
        json_put_end(json);
    }
    json_put_end(json);
    const struct engine_trial *best = engine_probe_best(&found->probe);
    json_member_str(json, "engine", best ? engine_name(best->engine) : NULL);
    if (best)
        json_member_bool(json, "kernel_mode", best->kernel_mode);
    json_member_array(json, "period_ns");
    for (int i = 0; i < RATE_STEPS; i++)
        json_put_u64(json, found->ladder.period_ns[i]);
    json_put_end(json);
}

static void put_recording(struct json_writer *json, const struct findings *found)
{
    json_member_str(json, "agent", found->agent);
    json_member_bool(json, "recording_works", found->self_test_good);
    if (!found->self_test_good)
        json_member_str(json, "recording_note",
                        found->agent ? found->self_test_note : found->agent_error.msg);
    json_member_str(json, "library_options", found->library_options);
    json_member_str(json, "library_options_error",
                    found->library_options_error[0] ? found->library_options_error : NULL);
    json_member_array(json, "scratch");
    array_each(&found->places, place)
    {
        json_put_object(json);
        json_member_str(json, "path", place->path);
        json_member_bool(json, "memory", place->is_memory);
        json_member_bool(json, "writable", place->is_writable);
        json_member_u64(json, "free_bytes", place->free_bytes);
        json_member_bool(json, "used", scratch_is_good(place));
        json_put_end(json);
    }
    json_put_end(json);
}

static void put_tools(struct json_writer *json, const struct findings *found)
{
    json_member_array(json, "tools");
    array_each(&found->tools, tool)
    {
        json_put_object(json);
        json_member_str(json, "name", tool->name);
        json_member_str(json, "path", tool->path);
        json_member_str(json, "version", tool->version);
        json_member_str(json, "code", tool->code);
        if (tool->symbols == TOOL_SYMBOLS_UNKNOWN)
            json_member_null(json, "has_symbols");
        else
            json_member_bool(json, "has_symbols", tool->symbols == TOOL_SYMBOLS_FULL);
        json_put_end(json);
    }
    json_put_end(json);
}

static void put_level(struct json_writer *json, const char *key, int value, int unknown)
{
    if (value == unknown)
        json_member_null(json, key);
    else
        json_member_i64(json, key, value);
}

static int show_json(const struct findings *found)
{
    struct byteout *out = mem_zalloc(1, sizeof *out);
    struct json_writer json;
    struct lam_error error = LAM_ERROR_INIT;
    if (!out)
        return LAM_E_NOMEM;
    byteout_init_file(out, stdout);
    json_writer_init(&json, out, 2);
    json_put_object(&json);
    json_member_str(&json, "version", LAM_VERSION);
    json_member_str(&json, "kernel", found->machine.kernel);
    json_member_str(&json, "os", found->machine.os);
    json_member_str(&json, "arch", found->machine.arch);
    json_member_str(&json, "cpu_model", found->machine.cpu_model);
    json_member_str(&json, "virt", found->machine.virt);
    json_member_u64(&json, "cores", found->machine.cores);
    json_member_u64(&json, "mem_bytes", found->machine.mem_bytes);
    json_member_bool(&json, "tsc_usable", found->tsc_usable);
    put_level(&json, "perf_event_paranoid", found->paranoid, INT32_MIN);
    put_level(&json, "ptrace_scope", found->yama, INT32_MIN);
    put_level(&json, "seccomp", found->seccomp, -1);
    put_trials(&json, found);
    put_recording(&json, found);
    put_tools(&json, found);
    json_member_str(&json, "fix", found->fix.length ? strbuf_text(&found->fix) : NULL);
    json_put_end(&json);
    int rc = json_writer_finish(&json, "stdout", &error);
    mem_free(out);
    if (rc < 0)
        launcher_say("%s", error.msg);
    return rc;
}

int cmd_doctor(int argc, char **argv)
{
    static const char *const formats[] = {"text", "json", NULL};
    int format = 0;
    struct option_operands rest = {0};
    const struct option_row rows[] = {
        {.long_name = "format",
         .short_name = 'f',
         .arg_name = "FORMAT",
         .help = "text or json [text]",
         .kind = OPTION_CHOICE,
         .target = &format,
         .choices = formats},
        {0},
    };
    const struct option_spec spec = {
        .command = "lamella doctor",
        .about = "Says what this machine allows: which ways of sampling work and what each costs, "
                 "whether a recording can be made, "
                 "which compilers are here and whether they have symbols, and what would allow "
                 "more. The exit code is 0 when a "
                 "recording can be made, 1 when not.",
        .example = "lamella doctor\nlamella doctor --format json",
        .rows = rows,
    };
    struct lam_error error = LAM_ERROR_INIT;
    struct findings found = {.agent_error = LAM_ERROR_INIT};
    int rc = options_parse(&spec, argc, argv, &rest, &error);
    option_operands_free(&rest);
    if (rc != LAM_OK)
        return launcher_usage_end(&spec, rc, &error, 2);
    find_out(&found);
    rc = format == 1 ? show_json(&found) : show_text(&found);
    int code = rc >= 0 && found.self_test_good ? 0 : 1;
    findings_free(&found);
    return code;
}
