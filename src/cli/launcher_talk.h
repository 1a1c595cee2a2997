/* What record, doctor and clean have in common in how they talk. */
#ifndef LAMELLA_CLI_LAUNCHER_TALK_H
#define LAMELLA_CLI_LAUNCHER_TALK_H

#include "base/error.h"
#include "base/options.h"
#include "base/strbuf.h"

int cmd_record(int argc, char **argv);
int cmd_record_cargo(int argc, char **argv); /* cargo lamella [RECORD-OPTIONS] CARGO-COMMAND... */
int cmd_doctor(int argc, char **argv);
int cmd_clean(int argc, char **argv);

/* One line on stderr, "lamella: …", printable whatever is in it. */
void launcher_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* On stdout, at once. A reader that has had enough is no failure. LAM_OK or the failure, described. */
int launcher_print(const struct strbuf *text, struct lam_error *err);

/* After options_parse() returned other than LAM_OK: prints the help on stdout (0) or the error and the way to the help on stderr
 * (usage_code). Returns the exit code. */
int launcher_usage_end(const struct option_spec *spec, int rc, const struct lam_error *error,
                       int usage_code);

#endif
