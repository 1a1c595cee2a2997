#include "build/cargo_command.h"

#include <string.h>

#include "base/file.h"

enum option_use {
    USE_NONE,
    USE_PLACE, /* handed on to another command */
    USE_MANIFEST,
    USE_TARGET_DIR,
    USE_MESSAGE_FORMAT,
    USE_TIMINGS,
    USE_HELP, /* nothing is built */
};

/* cargo's options that matter here, and those whose value must not be taken for something else. */
static const struct {
    const char *name;
    bool has_value; /* in the next argument, or behind '='; one letter: or right behind it */
    enum option_use use;
} options[] = {
    {"--manifest-path", true, USE_MANIFEST},
    {"--lockfile-path", true, USE_NONE},
    {"--config", true, USE_PLACE},
    {"-C", true, USE_PLACE},
    {"-Z", true, USE_PLACE},
    {"--locked", false, USE_NONE},
    {"--offline", false, USE_NONE},
    {"--frozen", false, USE_NONE},
    {"--target-dir", true, USE_TARGET_DIR},
    {"--message-format", true, USE_MESSAGE_FORMAT},
    {"--timings", false, USE_TIMINGS},
    {"--color", true, USE_NONE},
    {"-p", true, USE_NONE},
    {"--package", true, USE_NONE},
    {"--exclude", true, USE_NONE},
    {"-j", true, USE_NONE},
    {"--jobs", true, USE_NONE},
    {"-F", true, USE_NONE},
    {"--features", true, USE_NONE},
    {"--profile", true, USE_NONE},
    {"--bin", true, USE_NONE},
    {"--example", true, USE_NONE},
    {"--test", true, USE_NONE},
    {"--bench", true, USE_NONE},
    {"--artifact-dir", true, USE_NONE},
    {"--out-dir", true, USE_NONE},
    {"-h", false, USE_HELP},
    {"--help", false, USE_HELP},
    {"-V", false, USE_HELP},
    {"--version", false, USE_HELP},
    {"--list", false, USE_HELP},
    {"--explain", true, USE_HELP},
    {"--unit-graph", false, USE_HELP},
    {"--build-plan", false, USE_HELP},
};

/* Commands of cargo's own that build and take --timings, with their short names. install keeps its directory for itself, and
 * removes it. */
static const char *const builders[] = {"build", "b",   "check", "c",       "test",
                                       "t",     "run", "r",     "bench",   "clippy",
                                       "rustc", "doc", "d",     "rustdoc", "fix"};

struct option_at {
    const char *value; /* NULL: none */
    size_t taken;      /* arguments */
    int use;
};

/* An option that is not in the list is one argument. */
static struct option_at look_at(char *const *argv)
{
    const char *arg = argv[0];
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        size_t length = strlen(options[i].name);
        bool is_long = options[i].name[1] == '-';
        if (strncmp(arg, options[i].name, length) != 0)
            continue;
        if (arg[length] == '\0' && options[i].has_value)
            return (struct option_at){argv[1], argv[1] ? 2 : 1, (int)options[i].use};
        if (arg[length] == '\0')
            return (struct option_at){NULL, 1, (int)options[i].use};
        if (is_long && arg[length] == '=')
            return (struct option_at){arg + length + 1, 1, (int)options[i].use};
        if (!is_long && options[i].has_value)
            return (struct option_at){arg + length, 1, (int)options[i].use};
    }
    return (struct option_at){NULL, 1, USE_NONE};
}

static bool is_builder(const char *word)
{
    for (size_t i = 0; i < sizeof builders / sizeof *builders; i++)
        if (strcmp(word, builders[i]) == 0)
            return true;
    return false;
}

/* What follows the first word of `run` is the program's. */
static bool is_run(const char *word)
{
    return strcmp(word, "run") == 0 || strcmp(word, "r") == 0;
}

static bool runs_programs(const char *word)
{
    return is_run(word) || strcmp(word, "test") == 0 || strcmp(word, "t") == 0 ||
           strcmp(word, "bench") == 0;
}

static int use_option(struct cargo_command *command, char *const *argv, struct option_at option,
                      bool *helps)
{
    switch (option.use) {
    case USE_PLACE:
        for (size_t i = 0; i < option.taken; i++)
            if (array_push(&command->place, argv[i]) < 0)
                return LAM_E_NOMEM;
        return LAM_OK;
    case USE_MANIFEST:
        command->manifest_path = option.value;
        return LAM_OK;
    case USE_TARGET_DIR:
        command->target_dir = option.value;
        return LAM_OK;
    case USE_MESSAGE_FORMAT:
        command->is_listed_json |= option.value && strncmp(option.value, "json", 4) == 0;
        return LAM_OK;
    case USE_TIMINGS:
        command->has_timings = true;
        return LAM_OK;
    case USE_HELP:
        *helps = true;
        return LAM_OK;
    default:
        return LAM_OK;
    }
}

bool cargo_command_parse(char *const *argv, struct cargo_command *command)
{
    bool helps = false;
    *command = (struct cargo_command){0};
    if (!argv[0] || strcmp(path_name(argv[0]), "cargo") != 0)
        return false;
    for (size_t i = 1; argv[i] && strcmp(argv[i], "--") != 0;) {
        const char *arg = argv[i];
        if (arg[0] == '-') {
            struct option_at option = look_at(argv + i);
            if (use_option(command, argv + i, option, &helps) < 0)
                return false;
            i += option.taken;
            continue;
        }
        if (arg[0] == '+' && i == 1) {
            command->toolchain = arg;
        } else if (command->subcommand == 0) {
            command->subcommand = i;
        } else if (is_run(argv[command->subcommand])) {
            break;
        }
        i++;
    }
    command->takes_timings =
        command->subcommand > 0 && !helps && is_builder(argv[command->subcommand]);
    command->runs_programs = command->takes_timings && runs_programs(argv[command->subcommand]);
    return true;
}

void cargo_command_free(struct cargo_command *command)
{
    array_free(&command->place);
    *command = (struct cargo_command){0};
}
