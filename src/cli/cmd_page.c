/* lamella page: a build to look at, as one HTML file. */
#include <string.h>

#include "base/options.h"
#include "base/out_file.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/launcher_talk.h"
#include "cli/page_build.h"

struct page_settings {
    struct page_plan plan;
    struct run_sides sides;
    const char *output;
    bool replaces, compares, redacts;
    uint64_t max_stack_bytes;
    struct option_list against, markers;
};

static void say_what_it_holds(const struct page_settings *set)
{
    const char *name = strcmp(set->output, "-") == 0 ? "the page" : set->output;
    if (set->redacts)
        launcher_say(
            "%s holds names of crates, programs, threads and functions, and times; arguments, "
            "paths, command lines and the host are left out",
            name);
    else
        launcher_say(
            "%s holds command lines, paths, the host, names of crates, programs, threads and "
            "functions, and times; --redact leaves out the first three",
            name);
}

static int write_page(const struct page_settings *set, struct lam_error *err)
{
    struct out_file *file = NULL;
    bool is_pipe_closed = false;
    /* Before anything is read: a long read must not end in "exists". */
    int rc = out_file_open(&file, set->output, PACKING_NONE, set->replaces, err);
    if (rc == LAM_OK)
        rc = page_build(&set->plan, out_file_bytes(file), err);
    if (file && (rc == LAM_OK || byteout_failed(out_file_bytes(file))))
        rc = out_file_commit(file, &is_pipe_closed, err);
    out_file_close(&file);
    if (rc == LAM_OK && !is_pipe_closed)
        say_what_it_holds(set);
    return is_pipe_closed ? LAM_OK : rc;
}

static int choose_inputs(struct page_settings *set, const struct option_operands *operands,
                         int argc, char **argv, struct lam_error *err)
{
    set->plan.redacts = set->redacts;
    set->plan.max_stack_bytes = set->max_stack_bytes;
    set->plan.marker_files = set->markers.items;
    set->plan.marker_file_count = set->markers.count;
    if (set->compares || set->against.count) {
        set->plan.sides = &set->sides;
        return run_sides_choose(&set->sides, operands, &set->against, argc, argv, err);
    }
    set->plan.inputs = operands->items;
    set->plan.input_count = operands->count;
    return LAM_OK;
}

int cmd_page(int argc, char **argv)
{
    struct page_settings set = {.output = "-", .max_stack_bytes = PAGE_STACKS_BY_SIZE};
    const struct option_row rows[] = {
        {"output", 'o', "FILE", "where it goes; - is standard output [-]", OPTION_TEXT, &set.output,
         NULL, NULL},
        {"force", 'f', NULL, "replace a file that is there", OPTION_FLAG, &set.replaces, NULL, NULL},
        {"compare", 'c', NULL,
         "two inputs, or two sets of them, and what changed from one to the other", OPTION_FLAG,
         &set.compares, NULL, NULL},
        {"against", 'a',
         "INPUT", "with --compare: the new runs begin here; of each set the run of middle length is shown, and all are compared",
         OPTION_LIST, &set.against, NULL, NULL},
        {"redact", 'r', NULL, "leave out arguments, paths, command lines and the host", OPTION_FLAG,
         &set.redacts, NULL, NULL},
        {"max-stacks", 0, "BYTES",
         "of the file, for flame graphs: small branches are cut to keep to it, and counted; 0 cuts "
         "nothing [26KiB, and 256 bytes for each unit over 160]",
         OPTION_BYTES, &set.max_stack_bytes, NULL, NULL},
        OPTION_ROW_MARKERS('m', &set.markers),
        {0},
    };
    const struct option_spec spec = {
        .command = "lamella page",
        .operands = "INPUT [[--against] INPUT...]",
        .about =
            "Writes a recording, or self-profiles (several inputs of one build as one), as one "
            "HTML file "
            "to look at in a browser: the "
            "build, every thread of every unit over time, phases, units, stacks. It works from a "
            "disk and fetches nothing.",
        .example = "lamella page -o build.html build.lamella\n"
                   "lamella page --redact -o shared.html build.lamella\n"
                   "lamella page --compare -o change.html before.lamella after.lamella",
        .rows = rows,
        .min_operands = 1,
        .max_operands = SIZE_MAX,
    };
    struct option_operands operands = {0};
    struct lam_error err = LAM_ERROR_INIT;
    int code = EXIT_DONE;
    int rc = options_parse(&spec, argc, argv, &operands, &err);
    if (rc == LAM_OK)
        rc = choose_inputs(&set, &operands, argc, argv, &err);
    if (rc == LAM_OK)
        rc = out_file_spares(set.output, operands.items, operands.count, &err);
    if (rc == LAM_OK)
        rc = out_file_spares(set.output, set.against.items, set.against.count, &err);
    if (rc != LAM_OK) {
        code = launcher_usage_end(&spec, rc, &err, EXIT_USAGE);
    } else if (write_page(&set, &err) < 0) {
        launcher_say("%s", err.msg);
        code = EXIT_FAILED;
    }
    run_sides_free(&set.sides);
    array_free(&set.against);
    array_free(&set.markers);
    option_operands_free(&operands);
    return code;
}
