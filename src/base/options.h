/* Command-line options, the one way for all commands. A command describes its options as rows;
 * parsing, messages and the text of --help come from them.
 *
 *     struct record_settings set = {…defaults…};
 *     const struct option_row rows[] = {
 *         {"output", 'o', "DIR", "where the recording goes", OPTION_TEXT, &set.output},
 *         {"rate", 'r', "HZ", "samples a second and thread, or 'auto'", OPTION_CALL, &set, .parse = parse_rate},
 *         {"quiet", 'q', NULL, "say nothing", OPTION_FLAG, &set.is_quiet},
 *         {0},
 *     };
 *     const struct option_spec spec = {
 *         .command = "lamella record", .operands = "[--] COMMAND [ARG…]", .about = "Runs a command and records …",
 *         .example = "lamella record -- cargo build", .rows = rows, .stops_at_operand = true, .min_operands = 1,
 *         .max_operands = SIZE_MAX};
 *     int rc = options_parse(&spec, argc, argv, &rest, err);   // argv[0] is skipped
 *     if (rc == OPTIONS_HELP) { options_help(&spec, &text); … return 0; } */
#ifndef LAMELLA_BASE_OPTIONS_H
#define LAMELLA_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "base/strbuf.h"

enum option_kind {
    OPTION_FLAG,    /* bool *: true; --no-NAME sets it false */
    OPTION_COUNT,   /* unsigned *: one more each time (-vv) */
    OPTION_TEXT,    /* const char **: points into argv; may not be empty */
    OPTION_LIST,    /* struct option_list *: appended each time */
    OPTION_U64,     /* uint64_t *: decimal */
    OPTION_DOUBLE,  /* double *: finite */
    OPTION_SECONDS, /* double *: unit_parse_seconds() */
    OPTION_BYTES,   /* uint64_t *: unit_parse_bytes() */
    OPTION_CHOICE,  /* int *: the index in choices */
    OPTION_CALL,    /* parse(target, text, err) */
    OPTION_HEADING, /* no option: help starts a line in --help above those that follow */
};

struct option_list LAM_ARRAY_BODY(const char *); /* array_free() when done */

/* Reads the text of an option (NULL when the row has no arg_name, or it was left out) into target. LAM_OK or
 * LAM_E_USAGE, described without the option's name, which the parser puts in front ("must be at
 * least 1"). */
typedef int (*option_parse_fn)(void *target, const char *text, struct lam_error *err);

/* In the order in which rows are read, whatever that costs in padding. */
struct option_row {        // NOLINT(clang-analyzer-optin.performance.Padding)
    const char *long_name; /* without dashes; none and no short_name either ends the rows */
    char short_name;       /* 0: none */
    const char *arg_name; /* "DIR"; NULL for flags; "[DIR]": it may be left out, and stands behind a = only */
    const char *help; /* one line, without a full stop; wrapped by the printer */
    enum option_kind kind;
    void *target;
    const char *const *choices; /* OPTION_CHOICE: names, ended by NULL */
    option_parse_fn parse;      /* OPTION_CALL */
};

struct option_spec {
    const char *command;  /* "lamella record" */
    const char *operands; /* "RECORDING", for the usage line; NULL when there are none */
    const char *about;    /* one or more sentences */
    const char *example;  /* one or more lines, each a command */
    const struct option_row *rows;
    bool stops_at_operand; /* what follows the first operand is not ours */
    size_t min_operands;
    size_t max_operands;
};

struct option_operands {
    const char **items; /* ended by NULL; points into argv */
    size_t count;
    bool after_dashes; /* a "--" came before the first of them */
};

#define OPTIONS_HELP 1

/* Reads argv[1…]. LAM_OK: targets are set, *rest holds the operands (option_operands_free).
 * OPTIONS_HELP: --help or -h (the latter unless a row uses it) came first. LAM_E_USAGE with one
 * line that names the option and what it takes; a mistyped name gets the nearest one as advice.
 * LAM_E_NOMEM. Options that come twice: the last one counts. Targets may have been changed when it
 * fails. */
int options_parse(const struct option_spec *spec, int argc, char *const *argv,
                  struct option_operands *rest, struct lam_error *err);
void option_operands_free(struct option_operands *rest);

/* The text of --help, 80 columns: usage, about, options, example. */
void options_help(const struct option_spec *spec, struct strbuf *text);

/* The candidate nearest to a mistyped word, or NULL when none is near; candidates are ended by
 * NULL. Also for commands. */
const char *options_nearest(const char *word, const char *const *candidates);

#endif
