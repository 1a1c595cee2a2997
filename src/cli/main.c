/* lamella: finds the command and runs it. */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/options.h"
#include "base/pool.h"
#include "base/strbuf.h"
#include "cli/command.h"
#include "cli/launcher_talk.h"

static const struct lam_command commands[] = {
    {"record", "run a command and record where its time goes", cmd_record},
    {"report", "say where the time of a recording went", cmd_report},
    {"diff", "say what changed between two runs, or two sets of them", cmd_diff},
    {"aggregate", "say how much many runs of the same work vary", cmd_aggregate},
    {"view", "print the samples, waits and processes of a recording", cmd_view},
    {"export", "write it in the format of another tool", cmd_export},
    {"page", "write it as one HTML file to look at in a browser", cmd_page},
    {"serve", "show pages of recordings to a browser on this machine", cmd_serve},
    {"probe", "break a recording down to the stacks that no marker claims", cmd_probe},
    {"doctor", "say what this machine allows, and how to get more", cmd_doctor},
    {"selftest", "record programs whose times are known, and compare", cmd_selftest},
    {"clean", "list, finish and remove recordings", cmd_clean},
};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static const char usage[] =
    "Usage: lamella COMMAND [OPTIONS] INPUT...\n"
    "       cargo lamella [RECORD-OPTIONS] CARGO-COMMAND...\n"
    "\n"
    "Slices the run of a compiler, a whole build or any other command thin enough to\n"
    "see what the machine was doing, when, and for whom.\n"
    "\n"
    "Commands:\n";
static const char usage_end[] = "\n"
                                "  lamella COMMAND --help   says more about a command\n"
                                "  lamella --version        prints the version\n"
                                "\n"
                                "Example:\n"
                                "  lamella record -- cargo build\n";

static void print_usage(FILE *out)
{
    fputs(usage, out);
    for (unsigned i = 0; i < COMMAND_COUNT; i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs(usage_end, out);
}

/* What was printed must have arrived: `lamella view x > /dev/full` fails. */
static int finish(int code)
{
    bool failed = fflush(stdout) != 0;
    if (failed && errno == EPIPE)
        return code; /* `lamella view x | head` has seen enough */
    if ((failed || ferror(stdout)) && code == EXIT_DONE) {
        perror("lamella: standard output");
        return EXIT_FAILED;
    }
    return code;
}

static int unknown_command(const char *word)
{
    const char *names[COMMAND_COUNT + 1] = {NULL};
    for (unsigned i = 0; i < COMMAND_COUNT; i++)
        names[i] = commands[i].name;
    const char *nearest = options_nearest(word, names);
    struct strbuf line = {0};
    strbuf_add(&line, "lamella: no command '");
    strbuf_add_printable(&line, word, strlen(word));
    strbuf_add(&line, "'; ");
    if (nearest)
        strbuf_addf(&line, "did you mean '%s'? ", nearest);
    strbuf_add(&line, "lamella --help lists them");
    fprintf(stderr, "%s\n", strbuf_text(&line));
    strbuf_free(&line);
    return EXIT_USAGE;
}

/* `record` leaves standard error to the command. */
static void warn_of_environment(const struct lam_command *command)
{
    const char *threads = pool_wrong_threads();
    if (!threads || command->run == cmd_record)
        return;
    struct strbuf line = {0};
    strbuf_add(&line, "lamella: LAMELLA_THREADS='");
    strbuf_add_printable(&line, threads, strlen(threads));
    strbuf_add(&line, "' is no number of threads from 1 on: all processors are used");
    fprintf(stderr, "%s\n", strbuf_text(&line));
    strbuf_free(&line);
}

/* What one thread of a pool allocates another one frees: with an arena for each thread, as many hold on to what any of them held once. */
enum { ARENAS_MAX = 8 };

static int run(int argc, char **argv)
{
    for (unsigned i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(argv[0], commands[i].name) != 0)
            continue;
        warn_of_environment(&commands[i]);
        return commands[i].run(argc, argv);
    }
    return unknown_command(argv[0]);
}

int main(int argc, char **argv)
{
    mallopt(M_ARENA_MAX, ARENAS_MAX);
    const char *self = argc > 0 ? path_name(argv[0]) : "lamella";
    if (strcmp(self, "cargo-lamella") == 0) {
        /* cargo runs `cargo-lamella lamella build` for `cargo lamella build` */
        int skip = argc > 1 && strcmp(argv[1], "lamella") == 0 ? 1 : 0;
        return finish(cmd_record_cargo(argc - skip, argv + skip));
    }
    if (argc < 2) {
        print_usage(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("lamella %s\n", LAM_VERSION);
        return finish(EXIT_DONE);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        static char help[] = "--help";
        if (argc > 2 && argv[1][0] != '-')
            return finish(run(2, (char *[]){argv[2], help, NULL})); /* lamella help record */
        print_usage(stdout);
        return finish(EXIT_DONE);
    }
    return finish(run(argc - 1, argv + 1));
}
