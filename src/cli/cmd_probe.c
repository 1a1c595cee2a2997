/* lamella probe: what the markers say about a recording, and the stacks behind it. */
#include <stdio.h>
#include <string.h>

#include "analysis/report.h"
#include "analysis/sink_tee.h"
#include "analysis/symbol_names.h"
#include "base/file_input.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/launcher_talk.h"
#include "cli/recording_ready.h"
#include "cli/recording_symbols.h"
#include "input/input_kind.h"
#include "input/read_recording.h"
#include "output/write_probe.h"

enum { FORMAT_TEXT, FORMAT_JSON };
enum { TOP_DEFAULT = 10, DEPTH_DEFAULT = 12 };

struct probe_settings {
    const char *recording, *process;
    int format;
    bool suggests, has_choice;
    uint64_t top, depth;
    struct probe_choice choice;
    struct option_list markers;
};

static int parse_choice(void *target, const char *text, struct lam_error *err)
{
    struct probe_settings *set = target;
    set->has_choice = true;
    return probe_choice_parse(&set->choice, text, err);
}

static int parse_count(void *target, const char *text, struct lam_error *err)
{
    if (!unit_parse_u64(text, target) || *(uint64_t *)target > UINT32_MAX)
        return lam_error_set(err, LAM_E_USAGE, "must be a number, 0 for all");
    return LAM_OK;
}

static int write_text(const struct probe_view *view, struct lam_error *err)
{
    struct strbuf text = {0};
    struct term term = term_of(stdout);
    int rc = write_probe_text(view, &term, &text, err);
    if (rc == LAM_OK)
        rc = launcher_print(&text, err);
    strbuf_free(&text);
    return rc;
}

static int write_view(const struct probe_view *view, int format, struct lam_error *err)
{
    if (format == FORMAT_TEXT)
        return write_text(view, err);
    struct byteout *out = mem_alloc(sizeof *out);
    if (!out)
        return lam_error_set(err, LAM_E_NOMEM, "probe: out of memory");
    byteout_init_file(out, stdout);
    int rc = write_probe_json(view, out, err);
    mem_free(out);
    return rc;
}

static int show(struct probe *probe, const struct report *report, const struct probe_settings *set,
                struct lam_error *err)
{
    struct probe_totals totals;
    struct probe_stacks stacks = {0};
    struct probe_suggestions lines = {0};
    const struct probe_choice *choice = set->has_choice ? &set->choice : NULL;
    bool wants_stacks = choice && !set->suggests;
    int rc = probe_totals(probe, &totals);
    if (rc == LAM_OK && wants_stacks)
        rc = probe_stacks(probe, choice, (uint32_t)set->depth, &stacks);
    uint32_t most = set->top ? (uint32_t)set->top : UINT32_MAX;
    if (rc == LAM_OK && set->suggests)
        rc = probe_suggest(probe, choice, most, &lines);
    if (rc < 0)
        lam_error_set(err, rc, "probe: out of memory");
    struct probe_view view = {.probe = probe,
                              .totals = &totals,
                              .choice = choice,
                              .stacks = wants_stacks ? &stacks : NULL,
                              .lines = set->suggests ? &lines : NULL,
                              .cls = report->cls,
                              .report = report,
                              .top = (uint32_t)set->top};
    if (rc == LAM_OK && wants_stacks && stacks.stacks.count == 0)
        launcher_say("no sample is in this bucket; without --bucket the buckets are listed");
    if (rc == LAM_OK)
        rc = write_view(&view, set->format, err);
    probe_suggestions_free(&lines);
    probe_stacks_free(&stacks);
    probe_totals_free(&totals);
    return rc;
}

static int open_symbols(const char *recording, struct symbols **symbols, struct lam_error *err)
{
    int rc = recording_symbols_of(recording, symbols, err);
    if (rc == LAM_OK || rc == LAM_E_NOMEM)
        return rc;
    launcher_say("warning: %s; no frame has a name", err->msg);
    *err = (struct lam_error)LAM_ERROR_INIT;
    return LAM_OK;
}

static int run_probe(const struct probe_settings *set, struct lam_error *err)
{
    struct classifier_options options = {.files = set->markers.items,
                                         .file_count = set->markers.count};
    struct classifier *cls = NULL;
    struct symbols *symbols = NULL;
    struct symbol_names names = {0};
    struct probe *probe = NULL;
    struct report *report = NULL;
    enum input_kind kind; /* first: what is not there needs no word about its symbols */
    int rc = input_kind_of(set->recording, &kind, err);
    if (rc == LAM_OK && kind != INPUT_RECORDING && kind != INPUT_STREAM)
        rc = lam_error_set(err, LAM_E_UNSUPPORTED, "%s: %s; probe takes a recording",
                           file_input_name(set->recording), input_kind_text(kind));
    if (rc == LAM_OK)
        rc = classifier_open(&cls, &options, err);
    if (rc == LAM_OK) {
        recording_make_ready(set->recording);
        rc = open_symbols(set->recording, &symbols, err);
    }
    names.symbols = symbols;
    struct probe_options wanted = {
        .cls = cls, .names = symbol_names_frames(&names), .process = set->process};
    if (rc == LAM_OK)
        rc = probe_open(&probe, &wanted, err);
    struct report_options account = {.cls = cls, .names = wanted.names};
    if (rc == LAM_OK)
        rc = report_open(&report, &account, err);
    if (rc == LAM_OK) {
        struct sink_tee both;
        struct profile_sink first = probe_sink(probe), second = report_sink(report),
                            sink = sink_tee(&both, &first, &second);
        rc = read_recording(set->recording, &sink, err);
    }
    if (rc == LAM_OK)
        rc = report_finish(report, err);
    if (rc == LAM_OK)
        rc = show(probe, report, set, err);
    probe_close(&probe);
    report_close(&report);
    symbol_names_free(&names);
    symbols_close(&symbols);
    classifier_close(&cls);
    return rc;
}

int cmd_probe(int argc, char **argv)
{
    static const char *const formats[] = {"text", "json", NULL};
    struct probe_settings set = {.top = TOP_DEFAULT, .depth = DEPTH_DEFAULT};
    const struct option_row rows[] = {
        {.long_name = "bucket",
         .short_name = 'b',
         .arg_name = "SEGMENT[/PHASE[/DETAIL]]",
         .help =
             "the heaviest stacks behind this bucket, with the marker that decided and the next "
             "best; the detail - is none",
         .kind = OPTION_CALL,
         .target = &set,
         .parse = parse_choice},
        {.long_name = "suggest",
         .short_name = 's',
         .help = "propose marker lines for names that no marker claims: in the bucket, or in all "
                 "that is unknown, rest or without a detail",
         .kind = OPTION_FLAG,
         .target = &set.suggests},
        {.long_name = "process",
         .short_name = 'p',
         .arg_name = "NAME",
         .help = "only programs with NAME in their path, or that this pattern with * and ? matches",
         .kind = OPTION_TEXT,
         .target = &set.process},
        {.long_name = "top",
         .short_name = 'n',
         .arg_name = "N",
         .help = "show N stacks or lines, 0 for all [10]",
         .kind = OPTION_CALL,
         .target = &set.top,
         .parse = parse_count},
        {.long_name = "depth",
         .short_name = 'd',
         .arg_name = "N",
         .help = "show N frames of a stack: the deciding one, what it called, then what called it; "
                 "0 for all [12]",
         .kind = OPTION_CALL,
         .target = &set.depth,
         .parse = parse_count},
        OPTION_ROW_MARKERS('m', &set.markers),
        {.long_name = "format",
         .short_name = 'f',
         .arg_name = "FORMAT",
         .help = "how it is printed, text or json [text]",
         .kind = OPTION_CHOICE,
         .target = &set.format,
         .choices = formats},
        {0},
    };
    const struct option_spec spec = {
        .command = "lamella probe",
        .operands = "RECORDING",
        .about = "Prints what the markers make of a recording: the CPU time by segment, phase and "
                 "detail with all that none claimed, and how whole the stacks are; then the stacks "
                 "behind one bucket, or marker lines for what no marker claims.",
        .example = "lamella probe build.lamella\n"
                   "lamella probe --bucket backend/optimize/- build.lamella\n"
                   "lamella probe --suggest build.lamella > my.markers\n"
                   "lamella report --markers my.markers build.lamella",
        .rows = rows,
        .min_operands = 1,
        .max_operands = 1,
    };
    struct lam_error error = LAM_ERROR_INIT;
    struct option_operands operands = {0};
    int rc = options_parse(&spec, argc, argv, &operands, &error);
    int code = EXIT_DONE;
    if (rc == LAM_OK) {
        set.recording = operands.items[0];
        if (run_probe(&set, &error) < 0) {
            launcher_say("%s", error.msg);
            code = EXIT_FAILED;
        }
    } else {
        code = launcher_usage_end(&spec, rc, &error, EXIT_USAGE);
    }
    array_free(&set.markers);
    option_operands_free(&operands);
    return code;
}
