/* Commands of `lamella`: one file each, one row each in the table of main.c. */
#ifndef LAMELLA_CLI_COMMAND_H
#define LAMELLA_CLI_COMMAND_H

/* Exit codes. `record` has others: it exits with the code of the command that it ran. */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct lam_command {
    const char *name;
    const char *summary;               /* one line of `lamella --help` */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name; returns the exit code */
};

int cmd_report(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_aggregate(int argc, char **argv);
int cmd_view(int argc, char **argv);
int cmd_probe(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_page(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_selftest(int argc, char **argv);

#endif
