/* lamella report: where the time of a recording, of an instrumented program or of self-profiles went. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/byteout.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/table.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/launcher_talk.h"
#include "cli/read_report.h"
#include "cli/recording_ready.h"
#include "input/input_kind.h"
#include "input/recording.h"
#include "output/write_calls.h"
#include "output/write_labels.h"
#include "output/write_report.h"

enum { FORMAT_TEXT, FORMAT_JSON, FORMAT_MARKDOWN };
enum { TOP_DEFAULT = 15 };

struct report_settings {
    const char *const *inputs;
    size_t input_count;
    int format;
    uint64_t top;
    bool has_top, has_by;
    struct option_list markers, changes; /* changes: --what-if */
    struct report_view view;
};

/* "unit,phase,label" */
static int parse_by(void *target, const char *text, struct lam_error *err)
{
    struct report_settings *set = target;
    struct report_view *view = &set->view;
    const struct {
        const char *name;
        bool *flag;
    } names[] = {{"unit", &view->by_unit},     {"phase", &view->by_phase},
                 {"role", &view->by_role},     {"label", &view->by_label},
                 {"kind", &view->by_kind},     {"argument", &view->by_argument},
                 {"path", &view->by_path},     {"thread", &view->by_thread},
                 {"detail", &view->by_detail}, {"span", &view->by_span},
                 {"memory", &view->by_memory}, {"critical", &view->by_critical},
                 {"caller", &view->by_caller}, {"function", &view->by_function}};
    enum { COUNT = sizeof names / sizeof *names };
    for (size_t i = 0; i < COUNT; i++)
        *names[i].flag = false;
    for (const char *word = text; *word;) {
        size_t length = strcspn(word, ","), i = 0;
        while (i < COUNT &&
               (strlen(names[i].name) != length || memcmp(names[i].name, word, length) != 0))
            i++;
        if (i == COUNT)
            return lam_error_set(
                err, LAM_E_USAGE,
                "takes unit, phase, detail, role, span, memory, critical, label, kind, "
                "argument, path, caller, function and thread, separated by commas");
        *names[i].flag = true;
        word += length + (word[length] == ',');
    }
    view->by_label |= view->by_function; /* of events, what is called are labels */
    set->has_by = true;
    return LAM_OK;
}

static int parse_top(void *target, const char *text, struct lam_error *err)
{
    struct report_settings *set = target;
    if (!unit_parse_u64(text, &set->top) || set->top > UINT32_MAX)
        return lam_error_set(err, LAM_E_USAGE, "must be a number of rows, 0 for all");
    set->has_top = true;
    return LAM_OK;
}

static int write_text(const struct report *report, const struct report_settings *set,
                      struct lam_error *err)
{
    struct strbuf text = {0};
    struct term term = term_of(stdout);
    int rc = set->format == FORMAT_TEXT ? write_report_text(report, &set->view, &term, &text, err)
                                        : write_report_markdown(report, &set->view, &text, err);
    if (rc == LAM_OK)
        rc = launcher_print(&text, err);
    strbuf_free(&text);
    return rc;
}

static int write_report(const struct report *report, const struct report_settings *set,
                        struct lam_error *err)
{
    if (set->format != FORMAT_JSON)
        return write_text(report, set, err);
    struct byteout *out = mem_alloc(sizeof *out);
    if (!out)
        return lam_error_set(err, LAM_E_NOMEM, "report: out of memory");
    byteout_init_file(out, stdout);
    int rc = write_report_json(report, &set->view, out, err);
    mem_free(out);
    return rc;
}

/* Who calls whom, of what was read; the view points to both. */
struct both_calls {
    struct calls events, samples;
};

static bool wants_calls(const struct report_view *view)
{
    return view->around || view->by_caller || view->by_function;
}

static int make_calls(struct both_calls *calls, const struct report_reading *reading,
                      struct report_view *view, struct lam_error *err)
{
    int rc = LAM_OK;
    if (view->around || view->by_caller) {
        rc = calls_of_events(&calls->events, reading->labels);
        view->event_calls = reading->labels->events ? &calls->events : NULL;
    }
    if (rc == LAM_OK && reading->stacks) {
        rc = calls_of_samples(&calls->samples, reading->stacks);
        view->sample_calls = reading->stacks->samples.count ? &calls->samples : NULL;
    }
    if (rc < 0)
        return lam_error_set(err, rc, "report: out of memory");
    if (!view->around)
        return LAM_OK;
    struct calls_found_both found; /* better said before the output begins */
    rc = calls_found_make(view, &found, err);
    calls_found_free(&found);
    return rc;
}

/* No phase says anything of a program that builds nothing ("program", "unknown"): its functions do. They are known after another
 * reading, since stacks are only kept on request. */
static bool is_better_by_function(const struct report_settings *set, const struct report *report)
{
    struct report_amount amounts[SEGMENT_COUNT], all = {0};
    if (set->has_by || set->view.around || set->markers.count > 0 || set->view.unit ||
        set->format == FORMAT_JSON || report->units.count > 0 || !report->session.has_samples)
        return false;
    report_by_segment(report, REPORT_NO_UNIT, amounts);
    for (size_t i = 0; i < SEGMENT_COUNT; i++)
        all.cpu_ns += amounts[i].cpu_ns;
    return amounts[SEGMENT_UNKNOWN].cpu_ns + amounts[SEGMENT_PROCESS].cpu_ns > all.cpu_ns / 2;
}

/* Reads what the view asks for, and may change the view. is_one: of several groups a name may be missing in some. */
static int read_inputs(struct report_settings *set, const struct input_group *group, bool is_one,
                       struct report_reading_options *options, struct report_reading *reading,
                       struct both_calls *calls, struct lam_error *err)
{
    struct report_view *view = &set->view;
    int rc = report_reading_open_group(reading, group, options, err);
    if (rc == LAM_OK && is_better_by_function(set, reading->report)) {
        report_reading_close(reading);
        *reading = (struct report_reading){0};
        view->by_phase = false;
        view->by_function = options->want_stacks = true;
        rc = report_reading_open_group(reading, group, options, err);
    }
    view->labels = reading->labels;
    if (rc == LAM_OK && wants_calls(view))
        rc = make_calls(calls, reading, view, err);
    if (rc == LAM_E_NOTFOUND && view->around && !is_one) {
        launcher_say("%s: %s", group->paths.items[0], err->msg);
        *err = (struct lam_error)LAM_ERROR_INIT;
        view->around = NULL;
        rc = LAM_OK;
    }
    return rc;
}

/* Tables of events that were asked for by name are missed in an output without them. */
static void say_no_events(const struct report_settings *set, const char *input)
{
    const struct report_view *view = &set->view;
    const char *what = view->by_path                          ? "path"
                       : view->by_argument                    ? "argument"
                       : view->by_kind                        ? "kind"
                       : view->by_thread                      ? "thread"
                       : view->by_label && !view->by_function ? "label"
                                                              : NULL;
    if (set->has_by && what && set->format != FORMAT_JSON && !labels_are_shown(view))
        launcher_say("%s: no table by %s: it has no events (phase, unit and function are tables of "
                     "samples)",
                     input, what);
}

static int read_and_write(struct report_settings *set, const struct input_group *group, bool is_one,
                          struct classifier *cls, struct lam_error *err)
{
    struct report_reading reading = {0};
    struct both_calls calls = {0};
    const struct report_view asked = set->view;
    struct report_reading_options options = {
        .cls = cls,
        .by_unit = set->format == FORMAT_JSON && asked.by_unit,
        .by_argument = asked.by_argument,
        .by_path = asked.by_path || asked.around || asked.by_caller,
        .want_stacks = wants_calls(&asked),
        .want_spans = asked.by_span || asked.by_critical || set->format == FORMAT_JSON,
        .unit = asked.unit,
    };
    int rc = read_inputs(set, group, is_one, &options, &reading, &calls, err);
    struct replay_answers answers = {0};
    size_t changes = group->recording || is_one ? set->changes.count : 0;
    bool is_asked = asked.by_critical || changes > 0 || set->format == FORMAT_JSON;
    if (rc == LAM_OK && is_asked) {
        rc = replay_answers_make(&answers, reading.report, set->changes.items, changes, err);
        set->view.replay = &answers;
    }
    if (rc == LAM_OK) {
        say_no_events(set, group->paths.items[0]);
        rc = write_report(reading.report, set, err);
    }
    set->view = asked;
    replay_answers_free(&answers);
    calls_free(&calls.events);
    calls_free(&calls.samples);
    report_reading_close(&reading);
    return rc;
}

/* ---- several builds ---- */

/* "2 of 3: a.lamella with 4 self-profiles", "3 of 3: a.mm_profdata and 7 others" */
static void name_group(const struct input_groups *groups, size_t index, struct strbuf *out)
{
    const struct input_group *group = &groups->items.items[index];
    const char *name = group->paths.items[0];
    size_t profiles = group->profiles.count, events = group->events.count;
    strbuf_addf(out, "%zu of %zu: ", index + 1, groups->items.count);
    strbuf_add_printable(out, name, strlen(name));
    if (!group->recording && group->paths.count > 1)
        strbuf_addf(out, " and %zu more", group->paths.count - 1);
    if (group->recording && profiles)
        strbuf_addf(out, " with %zu self-profile%s of its processes", profiles,
                    unit_plural(profiles));
    if (group->recording && events)
        strbuf_addf(out, "%s %zu recording%s of their events", profiles ? " and" : " with", events,
                    unit_plural(events));
}

/* What stands before the report of a group, and behind the last one. */
static int write_between(const struct report_settings *set, const struct input_groups *groups,
                         size_t index, struct lam_error *err)
{
    struct strbuf text = {0};
    bool is_first = index == 0, is_over = index == groups->items.count;
    if (set->format == FORMAT_JSON) {
        strbuf_add(&text, is_over ? "]}\n"
                          : is_first
                              ? "{\"format\":\"lamella-reports\",\"version\":1,\"reports\":[\n"
                              : ",\n");
    } else if (!is_over) {
        strbuf_addf(&text, "%s%s", is_first ? "" : "\n", set->format == FORMAT_MARKDOWN ? "# " : "");
        name_group(groups, index, &text);
        strbuf_add(&text, set->format == FORMAT_MARKDOWN ? "\n\n" : "\n");
    }
    int rc = strbuf_ok(&text) ? launcher_print(&text, err)
                              : lam_error_set(err, LAM_E_NOMEM, "report: out of memory");
    strbuf_free(&text);
    return rc;
}

/* Builds have an account, phases and a critical path each: they are answered one after the other. */
static int report_groups(struct report_settings *set, struct classifier *cls, struct lam_error *err)
{
    struct input_groups groups = {0};
    int rc = recording_groups_find(&groups, set->inputs, set->input_count, err);
    bool is_many = groups.items.count > 1;
    for (size_t i = 0; rc == LAM_OK && i < groups.items.count; i++) {
        rc = is_many ? write_between(set, &groups, i, err) : LAM_OK;
        if (rc == LAM_OK)
            rc = read_and_write(set, &groups.items.items[i], !is_many, cls, err);
    }
    if (rc == LAM_OK && is_many)
        rc = write_between(set, &groups, groups.items.count, err);
    input_groups_free(&groups);
    return rc;
}

/* ---- memory ---- */

static uint64_t bytes_of_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
}

/* Who reads a directory will say why it cannot be. */
static uint64_t bytes_of_directory(const char *path)
{
    struct dir_entries entries = {0};
    uint64_t bytes = 0;
    (void)dir_list(path, &entries, NULL);
    for (size_t i = 0; i < entries.count; i++) {
        char *file = path_join(path, entries.items[i].name);
        bytes += file ? bytes_of_file(file) : 0;
        mem_free(file);
    }
    dir_entries_free(&entries);
    return bytes;
}

/* Of a file, of the files in a directory, or of a recording with the self-profiles in it. */
static uint64_t bytes_of(const char *path)
{
    if (!path_is_dir(path))
        return bytes_of_file(path);
    char *profiles = path_join(path, RECORDING_PROFILES_DIR);
    uint64_t bytes = bytes_of_directory(path);
    bytes += profiles && path_is_dir(profiles) ? bytes_of_directory(profiles) : 0;
    mem_free(profiles);
    return bytes;
}

/* Everything else takes a few megabytes, whatever is read: who asks for keys should know before the machine does. */
static void say_what_keys_need(const struct report_settings *set)
{
    enum { WORTH_SAYING = 256 << 20 };
    bool is_asked = set->view.by_argument || set->view.by_path;
    uint64_t bytes = 0;
    for (size_t i = 0; is_asked && i < set->input_count; i++)
        bytes += bytes_of(set->inputs[i]);
    if (bytes >= WORTH_SAYING)
        launcher_say(
            "--by %s keeps every different %s while it reads: that may take as much memory "
            "as the input is long, %s",
            set->view.by_argument ? "argument" : "path", set->view.by_argument ? "key" : "path",
            unit_bytes((double)bytes).text);
}

/* They have no stacks, and nothing to classify: a report of a small one is done before the rules are read. */
static bool are_self_profiles(const struct report_settings *set)
{
    for (size_t i = 0; i < set->input_count; i++) {
        enum input_kind kind;
        if (input_kind_of(set->inputs[i], &kind, NULL) < 0 || kind != INPUT_PROFDATA)
            return false;
    }
    return true;
}

static int run_report(struct report_settings *set, struct lam_error *err)
{
    struct classifier_options options = {.files = set->markers.items,
                                         .file_count = set->markers.count,
                                         .no_builtin = are_self_profiles(set)};
    struct classifier *cls;
    if (set->view.around && !set->has_by)
        set->view.by_unit = set->view.by_phase = set->view.by_label = false;
    if (set->view.unit || set->format == FORMAT_JSON)
        set->top = set->has_top ? set->top : 0;
    set->view.top = (uint32_t)set->top;
    set->view.has_top = set->has_top;
    int rc = classifier_open(&cls, &options, err);
    if (rc < 0)
        return rc;
    say_what_keys_need(set);
    rc = report_groups(set, cls, err);
    classifier_close(&cls);
    return rc;
}

int cmd_report(int argc, char **argv)
{
    static const char *const formats[] = {"text", "json", "markdown", NULL};
    struct report_settings set = {.top = TOP_DEFAULT,
                                  .view = {.by_unit = true, .by_phase = true, .by_label = true}};
    const struct option_row rows[] = {
        OPTION_ROW_FORMAT(&set.format, formats),
        {.long_name = "top",
         .short_name = 'n',
         .arg_name = "N",
         .help = "show the N largest units and labels; 0 shows all (15 in text and Markdown, all "
                 "in JSON)",
         .kind = OPTION_CALL,
         .target = &set,
         .parse = parse_top},
        {.long_name = "percent-above",
         .arg_name = "P",
         .help = "leave out units, phases and labels below P percent",
         .kind = OPTION_DOUBLE,
         .target = &set.view.percent_above},
        {.long_name = "by",
         .arg_name = "LIST",
         .help =
             "which tables, separated by commas: unit, phase, detail, role, span (when each thread "
             "was in which phase), memory (who held it when), critical (what waited for what), "
             "function and caller (who calls whom); of events label, kind, argument, path, caller, "
             "thread, unit "
             "(unit,phase,label)",
         .kind = OPTION_CALL,
         .target = &set,
         .parse = parse_by},
        {.long_name = "around",
         .short_name = 'a',
         .arg_name = "NAME",
         .help =
             "who calls the label or function called so (its whole name, else a part of it, or a "
             "pattern with * and ?) and whom it calls, with how often and what share of its "
             "time; alone, or beside the tables of --by",
         .kind = OPTION_TEXT,
         .target = &set.view.around},
        {.long_name = "unit",
         .short_name = 'u',
         .arg_name = "NAME",
         .help = "only the units called so (part of a name, or a pattern with * and ?), with "
                 "details and waits",
         .kind = OPTION_TEXT,
         .target = &set.view.unit},
        {.long_name = "what-if",
         .arg_name = "CHANGE",
         .help = "what the build would take with a change, by a replay of its schedule: unit=NAME "
                 "(free), unit=NAME:2x (faster), split=NAME, link=2x, cores=N, jobs=N, "
                 "codegen-units=N; several with commas are one change; may be repeated",
         .kind = OPTION_LIST,
         .target = &set.changes},
        OPTION_ROW_MARKERS('m', &set.markers),
        {0},
    };
    const struct option_spec spec = {
        .command = "lamella report",
        .operands = "INPUT...",
        .about =
            "Says where the time of a recording went: how much of it was seen, which phases "
            "and units took it, what "
            "could not be sampled, and what stands out. Shares are of CPU time. Of an "
            "instrumented program, or of self-profiles (.mm_profdata files, or directories "
            "of them, several as one), says which labels took it. By argument and by path "
            "every different one takes memory. Self-profiles of a recording's processes are read "
            "with it; inputs of different builds are answered one after the other. - is standard "
            "input, a self-profile.",
        .example = "lamella report build.lamella\n"
                   "lamella report --unit serde build.lamella\n"
                   "lamella report --by critical --what-if link=2x,cores=8 build.lamella\n"
                   "lamella report --format json build.lamella > report.json\n"
                   "lamella report --by argument --top 30 regex-123.mm_profdata\n"
                   "lamella report --around table.sort out.lamella\n"
                   "lamella report target/profiles/\n"
                   "lamella report build.lamella target/profiles/",
        .rows = rows,
        .min_operands = 1,
        .max_operands = SIZE_MAX,
    };
    struct lam_error error = LAM_ERROR_INIT;
    struct option_operands operands = {0};
    int rc = options_parse(&spec, argc, argv, &operands, &error);
    int code = EXIT_DONE;
    if (rc == LAM_OK) {
        set.inputs = operands.items;
        set.input_count = operands.count;
        rc = run_report(&set, &error);
        if (rc < 0) {
            launcher_say("%s", error.msg);
            code = EXIT_FAILED;
        }
    } else {
        code = launcher_usage_end(&spec, rc, &error, EXIT_USAGE);
    }
    array_free(&set.markers);
    array_free(&set.changes);
    option_operands_free(&operands);
    return code;
}
