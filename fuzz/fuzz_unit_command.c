/* Command lines of recorded processes: the input is a program's path and its arguments, each ended by NUL. */
#include <stdint.h>
#include <string.h>

#include "build/unit.h"

enum { ARGS_MAX = 1000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    const char *args[ARGS_MAX];
    size_t count = 0;
    char *text = arena_strndup(&arena, (const char *)data, size);
    for (size_t at = 0; text && at < size && count < ARGS_MAX;) {
        args[count++] = text + at;
        at += strlen(text + at) + 1;
    }
    if (count >= 2) {
        /* no files: the fuzzer would name its own */
        struct unit_command command = {
            .exe = args[0], .cwd = args[1], .argv = args + 1, .argc = count - 1};
        struct unit unit;
        if (unit_from_command(&command, &arena, &unit) > 0) {
            struct strbuf title = {0};
            unit_title(&unit, &title);
            strbuf_free(&title);
        }
    }
    arena_free(&arena);
    return 0;
}
