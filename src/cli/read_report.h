/* Inputs of any kind into a report of samples and totals of events: what report, diff and aggregate begin with. */
#ifndef LAMELLA_CLI_READ_REPORT_H
#define LAMELLA_CLI_READ_REPORT_H

#include "analysis/label_totals.h"
#include "analysis/report.h"
#include "analysis/stack_slices.h"
#include "analysis/symbol_names.h"
#include "input/input_groups.h"
#include "output/stack_totals.h"

/* All-zero is closed. */
struct report_reading {
    struct symbols *symbols;
    struct symbol_names names;
    struct report *report;       /* finished */
    struct labels *labels;       /* finished */
    struct stack_totals *stacks; /* of samples, mixed; NULL: nobody asked, or there are none */
};

struct report_reading_options {
    struct classifier *cls;
    const struct profile_sink *also; /* takes events as well; NULL */
    bool by_unit, by_argument, by_path;
    bool want_stacks;            /* stacks are added up as well */
    bool want_spans;             /* report.spans is filled */
    struct stack_slices *slices; /* takes samples with their stacks; NULL */
    const char *unit;            /* only events of processes that are called so; NULL */
};

/* One push of a group of recording_groups_find(). Says warnings on stderr. Codes: those of input_read() and the analyses.
 * report_reading_close() also after a failure. */
int report_reading_open_group(struct report_reading *reading, const struct input_group *group,
                              const struct report_reading_options *options, struct lam_error *err);

/* The same of inputs that are one group; else UNSUPPORTED. */
int report_reading_open(struct report_reading *reading, const char *const *inputs, size_t count,
                        const struct report_reading_options *options, struct lam_error *err);
void report_reading_close(struct report_reading *reading);

#endif
