/* lamella selftest: records programs whose times are known, and compares. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/byteout.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/strbuf.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/launcher_talk.h"
#include "cli/selftest_case.h"
#include "session/engine_probe.h"
#include "session/record.h"

#define HELPER_NAME "lamella-selftest"

enum { FORMAT_TEXT, FORMAT_JSON };

struct selftest_settings {
    uint32_t engine; /* STREAM_ENGINE_AUTO: all that work */
    int format;
};

static int parse_engine(void *target, const char *text, struct lam_error *err)
{
    static const uint32_t engines[] = {STREAM_ENGINE_SIGTRAP, STREAM_ENGINE_THREAD_PERF,
                                       STREAM_ENGINE_CPU_TIMER};
    struct selftest_settings *set = target;
    char name[16];
    snprintf(name, sizeof name, "%s", text);
    for (char *c = name; *c; c++)
        *c = *c == '-' ? '_' : *c;
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
        if (strcmp(name, engine_name(engines[i])) == 0) {
            set->engine = engines[i];
            return LAM_OK;
        }
    }
    return lam_error_set(err, LAM_E_USAGE, "must be sigtrap, thread-perf or cpu-timer");
}

/* This program, and the one that it records: beside it in a build directory, else where an installation puts it. */
static int find_programs(char **self, char **helper, struct lam_error *err)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length < 0)
        return lam_error_set(err, LAM_E_IO, "/proc/self/exe cannot be read");
    path[length] = '\0';
    char *dir = path_dir(path);
    *self = mem_strdup(path);
    *helper = dir ? path_join(dir, HELPER_NAME) : NULL;
    if (*helper && access(*helper, X_OK) < 0) {
        mem_free(*helper);
        *helper = path_join(dir, LAM_HELPERS_FROM_BINDIR "/" HELPER_NAME);
    }
    mem_free(dir);
    if (!*self || !*helper)
        return lam_error_set(err, LAM_E_NOMEM, "out of memory");
    if (access(*helper, X_OK) < 0)
        return lam_error_set(err, LAM_E_NOTFOUND, "%s is not there; install it along with lamella",
                             *helper);
    return LAM_OK;
}

static void show_progress(const char *engine, const char *program)
{
    fprintf(stderr, "\rlamella: %s: %s\033[K", engine, program);
}

static int find_engines(const struct selftest_settings *set, struct selftest_engines *engines,
                        struct lam_error *err)
{
    struct engine_probe probe;
    engine_probe_run(set->engine, true, true, &probe);
    char why[160] = "none is known";
    for (size_t i = 0; i < probe.count; i++) {
        const struct engine_trial *trial = &probe.trials[i];
        if (trial->verdict != ENGINE_WORKS) {
            engine_verdict_text(trial, why, sizeof why);
            continue;
        }
        struct selftest_engine *engine = array_add(engines);
        if (!engine)
            return lam_error_set(err, LAM_E_NOMEM, "out of memory");
        engine->engine = trial->engine;
        engine->kernel_mode = trial->kernel_mode || trial->engine == STREAM_ENGINE_CPU_TIMER;
        engine->interval_ns = trial->interval_ns;
        engine->cost.floor = trial->sample_cost_ns / 1e9;
    }
    if (!engines->count)
        return lam_error_set(err, LAM_E_UNSUPPORTED, "no such engine works here: %s", why);
    return LAM_OK;
}

static int run_engines(struct selftest_engines *engines, struct lam_error *err)
{
    char *self = NULL, *helper = NULL;
    int rc = find_programs(&self, &helper, err);
    const char *temporary = getenv("TMPDIR");
    struct strbuf template = {0};
    strbuf_addf(&template, "%s/lamella-selftest.XXXXXX",
                temporary && temporary[0] == '/' ? temporary : "/tmp");
    char *dir = strbuf_take(&template, NULL);
    bool is_made = rc == LAM_OK && dir && mkdtemp(dir);
    if (rc == LAM_OK && !is_made)
        rc = lam_error_set(err, LAM_E_IO, "no directory can be made in %s",
                           temporary ? temporary : "/tmp");
    bool is_shown = isatty(STDERR_FILENO);
    struct selftest_place place = {
        .lamella = self, .helper = helper, .dir = dir, .progress = is_shown ? show_progress : NULL};
    int held = engine_hold_open();
    for (size_t i = 0; rc == LAM_OK && i < engines->count; i++)
        rc = selftest_run_engine(&place, &engines->items[i], err);
    if (held >= 0)
        close(held);
    if (is_shown)
        fputs("\r\033[K", stderr);
    if (is_made)
        dir_remove_all(dir, NULL);
    mem_free(dir);
    mem_free(self);
    mem_free(helper);
    return rc;
}

static int write_result(const struct selftest_engines *engines, int format, struct lam_error *err)
{
    if (format == FORMAT_TEXT) {
        struct strbuf text = {0};
        struct term term = term_of(stdout);
        int rc = selftest_write_text(engines, &term, &text);
        if (rc == LAM_OK)
            fputs(strbuf_text(&text), stdout);
        strbuf_free(&text);
        return rc == LAM_OK ? rc : lam_error_set(err, rc, "out of memory");
    }
    struct byteout *out = mem_alloc(sizeof *out);
    if (!out)
        return lam_error_set(err, LAM_E_NOMEM, "out of memory");
    byteout_init_file(out, stdout);
    int rc = selftest_write_json(engines, out, err);
    mem_free(out);
    return rc;
}

static int run(const struct selftest_settings *set)
{
    struct lam_error error = LAM_ERROR_INIT;
    struct selftest_engines engines = {0};
    size_t failures = 0;
    char *outer = NULL;
    int rc = LAM_OK;
    if (record_is_nested(&outer))
        rc = lam_error_set(
            &error, LAM_E_BUSY,
            "this runs inside a recording, to which all that it records would be added");
    mem_free(outer);
    if (rc == LAM_OK)
        rc = find_engines(set, &engines, &error);
    if (rc == LAM_OK)
        rc = run_engines(&engines, &error);
    if (rc == LAM_OK)
        rc = write_result(&engines, set->format, &error);
    array_each(&engines, engine)
    {
        failures += engine->failures;
        array_free(&engine->rows);
    }
    array_free(&engines);
    if (rc < 0)
        launcher_say("selftest: %s", error.msg);
    return rc < 0 || failures ? EXIT_FAILED : EXIT_DONE;
}

int cmd_selftest(int argc, char **argv)
{
    static const char *const formats[] = {"text", "json", NULL};
    struct selftest_settings set = {.engine = STREAM_ENGINE_AUTO};
    const struct option_row rows[] = {
        {.long_name = "engine",
         .arg_name = "NAME",
         .help = "sigtrap, thread-perf or cpu-timer; all that work here when left out",
         .kind = OPTION_CALL,
         .target = &set,
         .parse = parse_engine},
        OPTION_ROW_FORMAT(&set.format, formats),
        {0},
    };
    const struct option_spec spec = {
        .command = "lamella selftest",
        .about = "Records programs whose time by function, thread, process and wait is known, with "
                 "each engine that this "
                 "machine permits, and compares: how far shares are off, what is missing, what a "
                 "sample costs. Takes about "
                 "a quarter of a minute an engine. The exit code is 1 when something is outside "
                 "what is allowed.",
        .example = "lamella selftest\nlamella selftest --engine cpu-timer --format json",
        .rows = rows,
    };
    struct lam_error error = LAM_ERROR_INIT;
    struct option_operands operands = {0};
    int rc = options_parse(&spec, argc, argv, &operands, &error);
    int code = rc == LAM_OK ? run(&set) : launcher_usage_end(&spec, rc, &error, EXIT_USAGE);
    option_operands_free(&operands);
    return code;
}
