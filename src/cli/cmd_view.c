/* lamella view: prints what a recording holds. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/byteout.h"
#include "base/file_input.h"
#include "base/memory.h"
#include "base/options.h"
#include "cli/command.h"
#include "cli/launcher_talk.h"
#include "cli/recording_ready.h"
#include "cli/recording_symbols.h"
#include "input/input_groups.h"
#include "output/write_view.h"

enum { DEPTH_DEFAULT = 8 };

struct view_settings {
    struct view_options view;
    int format;
    bool is_raw;
    bool has_phases;
    bool has_filter;
    uint64_t depth; /* UINT64_MAX: not given */
};

static const char *const formats[] = {"text", "json", NULL};

static int parse_show(void *target, const char *text, struct lam_error *err)
{
    struct view_options *view = target;
    static const struct {
        const char *name;
        size_t hides;
    } kinds[] = {
        {"processes", offsetof(struct view_options, hides_processes)},
        {"threads", offsetof(struct view_options, hides_threads)},
        {"samples", offsetof(struct view_options, hides_samples)},
        {"waits", offsetof(struct view_options, hides_waits)},
        {"intervals", offsetof(struct view_options, hides_intervals)},
        {"instants", offsetof(struct view_options, hides_instants)},
        {"folds", offsetof(struct view_options, hides_folds)},
    };
    enum { KINDS = sizeof kinds / sizeof *kinds };
    for (unsigned i = 0; i < KINDS; i++)
        *((bool *)((char *)view + kinds[i].hides)) = true;
    while (*text) {
        size_t size = strcspn(text, ",");
        bool is_known = false;
        for (unsigned i = 0; i < KINDS; i++) {
            if (size == strlen(kinds[i].name) && memcmp(text, kinds[i].name, size) == 0) {
                *((bool *)((char *)view + kinds[i].hides)) = false;
                is_known = true;
            }
        }
        if (!is_known)
            return lam_error_set(
                err, LAM_E_USAGE,
                "takes processes, threads, samples, waits, intervals, instants, folds, "
                "with commas between");
        text += size + (text[size] == ',');
    }
    return LAM_OK;
}

/* Streams of a directory, or the one file. */
static int view_raw(const char *path, bool is_json, struct byteout *out, struct lam_error *err)
{
    if (file_input_is_stdin(path))
        return lam_error_set(err, LAM_E_UNSUPPORTED, "standard input: --raw takes a path");
    recording_make_ready(path);
    if (!path_is_dir(path))
        return write_view_raw(path, is_json, out, err);
    struct dir_entries entries = {0};
    int rc = dir_list(path, &entries, err);
    size_t streams = 0;
    for (size_t i = 0; rc >= 0 && i < entries.count; i++) {
        if (!text_ends_with(entries.items[i].name, ".lam"))
            continue;
        streams++;
        char *file = path_join(path, entries.items[i].name);
        rc = file ? write_view_raw(file, is_json, out, err)
                  : lam_error_set(err, LAM_E_NOMEM, "%s: out of memory", path);
        mem_free(file);
    }
    dir_entries_free(&entries);
    if (rc >= 0 && !streams)
        rc = lam_error_set(err, LAM_E_NOTFOUND, "%s: no stream file (.lam) is in it", path);
    return rc;
}

/* *found: whether anything was printed that the filters chose. */
static int view_inputs(const struct option_operands *inputs, const struct view_options *options,
                       bool *found, struct byteout *out, struct lam_error *err)
{
    struct symbols *symbols = NULL;
    struct input_groups groups = {0};
    struct view *view = NULL;
    int rc = recording_groups_find(&groups, inputs->items, inputs->count, err);
    if (rc >= 0)
        rc = recording_symbols_open(&groups, &symbols, err);
    if (rc >= 0)
        rc = write_view_open(&view, options, out, symbols, err);
    if (rc >= 0) {
        struct profile_sink sink = write_view_sink(view);
        rc = input_groups_read(&groups, &sink, err);
        *found = write_view_found(view) > 0;
    }
    write_view_close(&view);
    symbols_close(&symbols);
    input_groups_free(&groups);
    return rc;
}

static int run_view(const struct view_settings *set, const struct option_operands *inputs)
{
    struct byteout *out = mem_alloc(sizeof *out);
    struct lam_error err = LAM_ERROR_INIT;
    if (!out) {
        launcher_say("out of memory");
        return EXIT_FAILED;
    }
    byteout_init_fd(out, STDOUT_FILENO);
    struct view_options view = set->view;
    bool found = true;
    int rc = set->has_phases && !set->is_raw ? classifier_open(&view.cls, NULL, &err) : LAM_OK;
    if (rc == LAM_OK)
        rc = set->is_raw ? view_raw(inputs->items[0], view.is_json, out, &err)
                         : view_inputs(inputs, &view, &found, out, &err);
    classifier_close(&view.cls);
    bool is_reading_wrong = rc < 0 && !out->failed;
    int flushed = byteout_flush(out, "standard output", &err);
    bool is_pipe_closed = out->errnum == EPIPE;
    mem_free(out);
    if (is_pipe_closed)
        return EXIT_DONE; /* `lamella view x | head` has seen enough */
    if (is_reading_wrong || flushed < 0) {
        launcher_say("%s", err.msg);
        return EXIT_FAILED;
    }
    if (!found)
        launcher_say("%s%s: nothing in %s %s", inputs->items[0],
                     inputs->count > 1 ? " and others" : "", inputs->count > 1 ? "them" : "it",
                     set->has_filter ? "matches what was asked for" : "to show");
    return EXIT_DONE;
}

/* What --raw does not look at must not be given with it. */
static int check_raw(const struct view_settings *set, size_t inputs, struct lam_error *err)
{
    if (inputs > 1)
        return lam_error_set(err, LAM_E_USAGE, "--raw takes one input");
    if (set->has_filter)
        return lam_error_set(err, LAM_E_USAGE, "--raw prints whole files and takes no filter");
    if (set->has_phases || set->view.hides_stacks || set->view.is_tree || set->depth != UINT64_MAX)
        return lam_error_set(err, LAM_E_USAGE,
                             "--raw prints records as they are: --phases, --no-stacks, --tree and "
                             "--depth say nothing to it");
    return LAM_OK;
}

int cmd_view(int argc, char **argv)
{
    struct view_settings set = {.view = {.from_s = (double)NAN, .to_s = (double)NAN},
                                .depth = UINT64_MAX};
    const struct option_row rows[] = {
        {"process", 'p', "PID|NAME",
         "only processes with this pid, or with NAME in their program's name", OPTION_TEXT,
         &set.view.process, NULL, NULL},
        {"pid", 0, "PID", "the same as --process", OPTION_TEXT, &set.view.process, NULL, NULL},
        {"thread", 't', "TID|NAME",
         "only threads with this id, or with NAME in their name at the moment", OPTION_TEXT,
         &set.view.thread, NULL, NULL},
        {"from", 0, "TIME", "only what happens from then on, seconds since the start",
         OPTION_SECONDS, &set.view.from_s, NULL, NULL},
        {"to", 0, "TIME", "only what happens up to then", OPTION_SECONDS, &set.view.to_s, NULL, NULL},
        {"label", 'l',
         "TEXT", "only samples and waits with TEXT in the name of a frame, and events with TEXT in their label",
         OPTION_TEXT, &set.view.label, NULL, NULL},
        {"show", 's',
         "KINDS", "processes, threads, samples, waits, intervals, instants, folds; several with commas between",
         OPTION_CALL, &set.view, NULL, parse_show},
        {"phases", 0, NULL, "name the segment, phase and detail of each sample", OPTION_FLAG,
         &set.has_phases, NULL, NULL},
        {"tree", 0,
         NULL, "indent events by what they are inside of, one thread or track after the other (text only)",
         OPTION_FLAG, &set.view.is_tree, NULL, NULL},
        {"no-stacks", 0, NULL, "leave the frames out", OPTION_FLAG, &set.view.hides_stacks, NULL,
         NULL},
        {"depth", 'd', "N", "frames shown of a stack, innermost first; 0 shows all (text only) [8]",
         OPTION_U64, &set.depth, NULL, NULL},
        {"format", 'f', "FORMAT", "how it is printed, json one object a line [text]", OPTION_CHOICE,
         &set.format, formats, NULL},
        {"raw", 0, NULL, "the records of the stream files as they are, with their offsets",
         OPTION_FLAG, &set.is_raw, NULL, NULL},
        {0},
    };
    const struct option_spec spec = {
        .command = "lamella view",
        .operands = "INPUT...",
        .about = "Prints what a recording (a directory, or one .lam file) or self-profiles "
                 "(.mm_profdata, or a directory of them) hold: processes, their threads, and the "
                 "samples, waits and events of each thread in the order of time.",
        .example = "lamella view -p rustc --from 1.5 --to 2 build.lamella\n"
                   "lamella view --label typeck --tree profiles/",
        .rows = rows,
        .min_operands = 1,
        .max_operands = SIZE_MAX,
    };
    struct option_operands operands = {0};
    struct lam_error err = LAM_ERROR_INIT;
    int rc = options_parse(&spec, argc, argv, &operands, &err);
    const struct view_options *view = &set.view;
    set.has_filter = view->process || view->thread || view->label || view->hides_processes ||
                     view->hides_threads || view->hides_samples || view->hides_waits ||
                     view->hides_intervals || view->hides_instants || view->hides_folds ||
                     !isnan(view->from_s) || !isnan(view->to_s);
    if (rc == LAM_OK && set.is_raw)
        rc = check_raw(&set, operands.count, &err);
    if (set.depth == UINT64_MAX)
        set.depth = DEPTH_DEFAULT;
    if (rc == LAM_OK && set.depth > UINT32_MAX)
        rc = lam_error_set(&err, LAM_E_USAGE, "--depth is too large");
    if (rc != LAM_OK) {
        option_operands_free(&operands);
        return launcher_usage_end(&spec, rc, &err, EXIT_USAGE);
    }
    set.view.is_json = set.format == 1;
    set.view.depth = (uint32_t)set.depth;
    int code = run_view(&set, &operands);
    option_operands_free(&operands);
    return code;
}
