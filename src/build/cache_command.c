/* Programs that keep what compilers made: asked for a compilation, they may have it. */
#include <string.h>

#include "base/file.h"
#include "build/command_line.h"

/* Called as `ccache gcc …`, with settings before the compiler perhaps; or by the compiler's name, through a link. 0: neither, but
 * with a command of its own, or to be a server. */
static size_t compiler_at(const struct unit_command *command, const char *program)
{
    if (strcmp(path_name(command->argv[0]), program) != 0)
        return 0;
    size_t at = 1;
    while (at < command->argc && command->argv[at][0] != '-' && strchr(command->argv[at], '='))
        at++;
    return at < command->argc && command->argv[at][0] != '-' ? at : command->argc;
}

static int from_cc(const struct unit_command *command, const char *program, struct arena *arena,
                   struct unit *unit)
{
    size_t compiler = compiler_at(command, program);
    if (compiler >= command->argc)
        return 0;
    int rc = unit_from_cc_driver(command, compiler + 1, arena, unit);
    if (rc > 0 && strstr(path_name(command->argv[compiler]), "++") && unit->language &&
        strcmp(unit->language, "c") == 0)
        unit->language = "c++";
    unit->is_cache = rc > 0;
    return rc;
}

int unit_from_cache(const struct unit_command *command, struct arena *arena, struct unit *unit)
{
    const char *program = path_name(command->exe ? command->exe : command->argv[0]);
    if (command->argc < 2)
        return 0;
    if (!is_rust_compiler(command->argv[1]))
        return from_cc(command, program, arena, unit);
    int rc = unit_from_rustc(command, arena, unit);
    unit->kind = UNIT_RUSTC;
    unit->is_cache = rc > 0;
    return rc;
}

int unit_from_ccache(const struct unit_command *command, struct arena *arena, struct unit *unit)
{
    int rc = from_cc(command, "ccache", arena, unit);
    unit->runs_compiler = rc > 0;
    return rc;
}
