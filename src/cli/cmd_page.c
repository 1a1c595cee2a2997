/* lamella page: a build to look at, as one HTML file. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/options.h"
#include "base/out_file.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/launcher_talk.h"
#include "cli/read_report.h"
#include "output/write_page.h"

enum { STACK_BYTES = 48 << 10 };

struct page_settings {
    const char *const *inputs;
    size_t count;
    const char *output;
    bool replaces, redacts;
    uint64_t max_stack_bytes;
    struct option_list markers;
};

static int put_recording(const struct page_settings *set, struct classifier *cls, const char *input,
                         struct byteout *out, struct lam_error *err)
{
    struct report_reading reading = {0};
    struct stack_slices slices;
    stack_slices_init(&slices);
    struct report_reading_options options = {
        .cls = cls, .by_unit = true, .want_spans = true, .slices = &slices};
    int rc = report_reading_open(&reading, &input, 1, &options, err);
    struct page_options page = {.name = path_name(input),
                                .redacts = set->redacts,
                                .labels = reading.labels,
                                .slices = &slices,
                                .names = symbol_names_frames(&reading.names),
                                .max_stack_bytes = set->max_stack_bytes};
    if (rc == LAM_OK)
        rc = write_page_recording(reading.report, &page, out, err);
    stack_slices_free(&slices);
    report_reading_close(&reading);
    return rc;
}

static int write_all(const struct page_settings *set, struct byteout *out, struct lam_error *err)
{
    struct classifier_options options = {.files = set->markers.items,
                                         .file_count = set->markers.count};
    struct classifier *cls = NULL;
    int rc = write_page_begin(out, err);
    if (rc == LAM_OK)
        rc = classifier_open(&cls, &options, err);
    for (size_t i = 0; rc == LAM_OK && i < set->count; i++)
        rc = put_recording(set, cls, set->inputs[i], out, err);
    classifier_close(&cls);
    write_page_end(out);
    return rc;
}

static int write_page(const struct page_settings *set, struct lam_error *err)
{
    struct out_file *file = NULL;
    bool is_pipe_closed = false;
    int rc = out_file_open(&file, set->output, PACKING_NONE, set->replaces, err);
    if (rc == LAM_OK)
        rc = write_all(set, out_file_bytes(file), err);
    if (rc == LAM_OK)
        rc = out_file_commit(file, &is_pipe_closed, err);
    out_file_close(&file);
    return is_pipe_closed ? LAM_OK : rc;
}

int cmd_page(int argc, char **argv)
{
    struct page_settings set = {.output = "-", .max_stack_bytes = STACK_BYTES};
    const struct option_row rows[] = {
        {"output", 'o', "FILE", "where it goes; - is standard output [-]", OPTION_TEXT, &set.output,
         NULL, NULL},
        {"force", 'f', NULL, "replace a file that is there", OPTION_FLAG, &set.replaces, NULL, NULL},
        {"redact", 'r', NULL, "leave out arguments, paths, command lines and the host", OPTION_FLAG,
         &set.redacts, NULL, NULL},
        {"max-stacks", 0,
         "BYTES", "of the file, for flame graphs; small branches are cut to keep to it, and counted; 0 cuts nothing [48KiB]",
         OPTION_BYTES, &set.max_stack_bytes, NULL, NULL},
        OPTION_ROW_MARKERS('m', &set.markers),
        {0},
    };
    const struct option_spec spec = {
        .command = "lamella page",
        .operands = "INPUT",
        .about = "Writes a recording, or a self-profile, as one HTML file to look at in a browser: "
                 "nothing is fetched.",
        .example = "lamella page -o build.html build.lamella",
        .rows = rows,
        .min_operands = 1,
        .max_operands = 1,
    };
    struct option_operands operands = {0};
    struct lam_error err = LAM_ERROR_INIT;
    int code = EXIT_DONE;
    int rc = options_parse(&spec, argc, argv, &operands, &err);
    if (rc != LAM_OK) {
        code = launcher_usage_end(&spec, rc, &err, EXIT_USAGE);
    } else {
        set.inputs = operands.items;
        set.count = operands.count;
        if (write_page(&set, &err) < 0) {
            launcher_say("%s", err.msg);
            code = EXIT_FAILED;
        }
    }
    array_free(&set.markers);
    option_operands_free(&operands);
    return code;
}
