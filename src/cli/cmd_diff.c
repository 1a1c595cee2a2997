/* lamella diff: what changed between two runs, or two sets of runs, of the same work. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/compare.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/launcher_talk.h"
#include "cli/read_runs.h"
#include "cli/run_sides.h"
#include "output/write_compare.h"

enum { FORMAT_TEXT, FORMAT_JSON, FORMAT_MARKDOWN };
enum { TOP_DEFAULT = 20 };

struct diff_settings {
    struct run_sides sides;
    struct option_list against, exclude, markers;
    int format, metric;
    uint64_t top;
    double fail_above;
};

/* "5%" or "5" */
static int parse_percent(void *target, const char *text, struct lam_error *err)
{
    size_t length = strlen(text);
    char plain[32];
    double value;
    if (length > 0 && text[length - 1] == '%')
        length--;
    bool is_number = false;
    if (length < sizeof plain) {
        memcpy(plain, text, length);
        plain[length] = '\0';
        is_number = unit_parse_double(plain, &value) && value >= 0;
    }
    if (!is_number)
        return lam_error_set(err, LAM_E_USAGE, "must be a percentage, such as 5%%");
    *(double *)target = value / 100;
    return LAM_OK;
}

static int write_out(const struct compare *compare, const struct diff_settings *set,
                     struct lam_error *err)
{
    struct compare_view view = {.top = (uint32_t)set->top, .fail_above = set->fail_above};
    struct byteout *out = mem_alloc(sizeof *out);
    if (!out)
        return lam_error_set(err, LAM_E_NOMEM, "diff: out of memory");
    byteout_init_file(out, stdout);
    int rc;
    if (set->format == FORMAT_JSON) {
        rc = write_compare_json(compare, &view, out, err);
    } else {
        struct strbuf text = {0};
        struct term term = term_of(stdout);
        rc = set->format == FORMAT_TEXT ? write_compare_text(compare, &view, &term, &text, err)
                                        : write_compare_markdown(compare, &view, &text, err);
        if (rc == LAM_OK)
            rc = launcher_print(&text, err);
        strbuf_free(&text);
    }
    mem_free(out);
    return rc;
}

/* 1 when --fail-above says so. */
static int run_diff(struct diff_settings *set, struct lam_error *err)
{
    struct classifier_options options = {.files = set->markers.items,
                                         .file_count = set->markers.count};
    struct classifier *cls = NULL;
    struct run_matrix matrix = {0};
    struct compare compare = {0};
    int rc = classifier_open(&cls, &options, err);
    if (rc == LAM_OK)
        rc = run_sides_read(&set->sides, &matrix, cls, err);
    struct compare_options compare_options = {.metric = (enum run_metric)set->metric,
                                              .exclude = set->exclude.items,
                                              .exclude_count = set->exclude.count};
    if (rc == LAM_OK)
        rc = compare_make(&compare, &matrix, &compare_options, err);
    if (rc == LAM_OK)
        rc = write_out(&compare, set, err);
    if (rc == LAM_OK && !isnan(set->fail_above)) {
        if (!compare.judged)
            rc = lam_error_set(err, LAM_E_NOTFOUND, "no total is known on both sides to judge");
        else
            rc = compare_fails(&compare, set->fail_above);
    }
    compare_free(&compare);
    run_matrix_free(&matrix);
    classifier_close(&cls);
    return rc;
}

int cmd_diff(int argc, char **argv)
{
    static const char *const formats[] = {"text", "json", "markdown", NULL};
    /* In the order of enum run_metric. */
    static const char *const metrics[] = {"self", "time", "count", "cache-hits", NULL};
    struct diff_settings set = {.top = TOP_DEFAULT, .fail_above = NAN};
    const struct option_row rows[] = {
        {.long_name = "against",
         .short_name = 'a',
         .arg_name = "INPUT",
         .help = "the new runs begin here: this one, and all inputs behind it",
         .kind = OPTION_LIST,
         .target = &set.against},
        {.long_name = "metric",
         .short_name = 'm',
         .arg_name = "NAME",
         .help = "what of labels counts [self]",
         .kind = OPTION_CHOICE,
         .target = &set.metric,
         .choices = metrics},
        {.long_name = "exclude",
         .short_name = 'e',
         .arg_name = "GLOB",
         .help = "leave out labels, segments, phases and units called so, also from the totals; "
                 "may be given "
                 "several times",
         .kind = OPTION_LIST,
         .target = &set.exclude},
        {.long_name = "fail-above",
         .arg_name = "PERCENT",
         .help = "exit with 1 when the total rose by more, and, with repeated runs, by more than "
                 "noise",
         .kind = OPTION_CALL,
         .target = &set.fail_above,
         .parse = parse_percent},
        OPTION_ROW_FORMAT(&set.format, formats),
        {.long_name = "top",
         .short_name = 'n',
         .arg_name = "N",
         .help = "show the N largest changes of each table; 0 shows all (20)",
         .kind = OPTION_U64,
         .target = &set.top},
        OPTION_ROW_MARKERS(0, &set.markers),
        {0},
    };
    const struct option_spec spec = {
        .command = "lamella diff",
        .operands = "OLD... [--against] NEW...",
        .about =
            "Says what changed from the first input to the second: labels of self-profiles and "
            "instrumented programs; segments, phases and units of recordings; artifact sizes. An "
            "input "
            "is a recording, a self-profile, a directory of self-profiles as one, or a report "
            "stored with 'lamella report --format json'; - is standard input. Of several runs on "
            "each side medians are "
            "compared, with a 95% interval of the change; of one run each nobody can know what is "
            "noise, and it says so.",
        .example = "lamella diff before.lamella after.lamella\n"
                   "lamella diff old.mm_profdata new.mm_profdata\n"
                   "lamella diff old1 old2 old3 old4 --against new1 new2 new3 new4\n"
                   "lamella diff --fail-above 5% --format markdown baseline.json new.mm_profdata",
        .rows = rows,
        .min_operands = 1,
        .max_operands = SIZE_MAX,
    };
    struct lam_error error = LAM_ERROR_INIT;
    struct option_operands operands = {0};
    int rc = options_parse(&spec, argc, argv, &operands, &error);
    if (rc == LAM_OK)
        rc = run_sides_choose(&set.sides, &operands, &set.against, argc, argv, &error);
    if (rc == LAM_OK && set.top > UINT32_MAX)
        rc = lam_error_set(&error, LAM_E_USAGE, "--top is too large");
    int code = EXIT_DONE;
    if (rc != LAM_OK) {
        code = launcher_usage_end(&spec, rc, &error, EXIT_USAGE);
    } else {
        rc = run_diff(&set, &error);
        code = rc == LAM_OK ? EXIT_DONE : EXIT_FAILED;
        if (rc < 0)
            launcher_say("%s", error.msg);
    }
    run_sides_free(&set.sides);
    array_free(&set.against);
    array_free(&set.exclude);
    array_free(&set.markers);
    option_operands_free(&operands);
    return code;
}
