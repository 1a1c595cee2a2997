#include "build/cargo_command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { TAKES = 1, HAS = 2, LISTED = 4, OTHER = 8, RUNS = 16 };

static void test_commands(void **state)
{
    (void)state;
    static const struct {
        const char *line; /* one blank between */
        int expected;
        size_t subcommand;
        const char *target_dir;
        size_t place;
    } rows[] = {
        {"cargo build", TAKES, 1, NULL, 0},
        {"/usr/bin/cargo +nightly b", TAKES, 2, NULL, 0},
        {"cargo -v --color always test --all -- --timings --help", TAKES | RUNS, 4, NULL, 0},
        {"cargo run -- --timings", TAKES | RUNS, 1, NULL, 0},
        {"cargo run prog --timings --target-dir x", TAKES | RUNS, 1, NULL, 0},
        {"cargo run --bin prog --timings", TAKES | HAS | RUNS, 1, NULL, 0},
        {"cargo build --timings=html,json", TAKES | HAS, 1, NULL, 0},
        {"cargo build --timingsx", TAKES, 1, NULL, 0},
        {"cargo check --target-dir /tmp/t --manifest-path a/Cargo.toml -C x", TAKES, 1, "/tmp/t", 2},
        {"cargo check --target-dir=/tmp/t --config=a=b -Zx -Z y", TAKES, 1, "/tmp/t", 4},
        {"cargo -C dir clippy --message-format json-render-diagnostics", TAKES | LISTED, 3, NULL, 2},
        {"cargo rustc --message-format=short -- -C opt-level=3", TAKES, 1, NULL, 0},
        {"cargo test --test build name", TAKES | RUNS, 1, NULL, 0},
        {"cargo build --help", 0, 1, NULL, 0},
        {"cargo build -h", 0, 1, NULL, 0},
        {"cargo --version", 0, 0, NULL, 0},
        {"cargo xtask build", 0, 1, NULL, 0}, /* an alias or a plug-in */
        {"cargo install foo", 0, 1, NULL, 0},
        {"cargo", 0, 0, NULL, 0},
        {"cargo --color", 0, 0, NULL, 0},
        {"cargo build --target-dir", TAKES, 1, NULL, 0},
        {"cargo -- build", 0, 0, NULL, 0},
        {"make", OTHER, 0, NULL, 0},
        {"cargo-clippy build", OTHER, 0, NULL, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[256], *argv[32], *save = NULL;
        size_t argc = 0;
        snprintf(text, sizeof text, "%s", rows[i].line);
        for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save))
            argv[argc++] = word;
        argv[argc] = NULL;
        struct cargo_command command;
        bool is_cargo = cargo_command_parse(argv, &command);
        int found = is_cargo ? 0 : OTHER;
        found |= command.takes_timings ? TAKES : 0;
        found |= command.has_timings ? HAS : 0;
        found |= command.runs_programs ? RUNS : 0;
        found |= command.is_listed_json ? LISTED : 0;
        const char *dir = command.target_dir ? command.target_dir : "-";
        if (found != rows[i].expected || command.subcommand != rows[i].subcommand ||
            strcmp(dir, rows[i].target_dir ? rows[i].target_dir : "-") != 0 ||
            command.place.count != rows[i].place)
            fail_msg("%s: %d, subcommand %zu, %s, %zu", rows[i].line, found, command.subcommand,
                     dir, command.place.count);
        cargo_command_free(&command);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_commands)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
