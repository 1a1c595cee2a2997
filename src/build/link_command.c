#include <string.h>

#include "base/file.h"
#include "build/command_line.h"

enum link_field { LINK_OUTPUT = 1, LINK_INFO, LINK_SHARED, LINK_RELOCATABLE };

static const struct command_option ld_options[] = {
    {"-o", VALUE_EITHER, LINK_OUTPUT},
    {"--output", VALUE_EITHER, LINK_OUTPUT},
    {"-shared", VALUE_NONE, LINK_SHARED},
    {"-r", VALUE_NONE, LINK_RELOCATABLE},
    {"--relocatable", VALUE_NONE, LINK_RELOCATABLE},
    {"-v", VALUE_NONE, LINK_INFO},
    {"-V", VALUE_NONE, LINK_INFO},
    {"--version", VALUE_NONE, LINK_INFO},
    {"--help", VALUE_NONE, LINK_INFO},
    /* names that begin as -o does, or take the next argument */
    {"-oformat", VALUE_NEXT, 0},
    {"--oformat", VALUE_EITHER, 0},
    {"-omagic", VALUE_NONE, 0},
    {"-m", VALUE_EITHER, 0},
    {"-z", VALUE_EITHER, 0},
    {"-dynamic-linker", VALUE_EITHER, 0},
    {"--dynamic-linker", VALUE_EITHER, 0},
    {"-plugin", VALUE_NEXT, 0},
    {"-plugin-opt", VALUE_EITHER, 0},
    {"-soname", VALUE_EITHER, 0},
    {"-rpath", VALUE_EITHER, 0},
    {"-rpath-link", VALUE_EITHER, 0},
    {"-flavor", VALUE_NEXT, 0},
    {"-L", VALUE_EITHER, 0},
    {"-l", VALUE_EITHER, 0},
    {"-T", VALUE_EITHER, 0},
    {"-e", VALUE_EITHER, 0},
    {"-u", VALUE_EITHER, 0},
    {"-h", VALUE_EITHER, 0},
    {NULL, VALUE_NONE, 0},
};

static const struct command_option as_options[] = {
    {"-o", VALUE_EITHER, LINK_OUTPUT},
    {"--version", VALUE_NONE, LINK_INFO},
    {"-version", VALUE_NONE, LINK_INFO},
    {"--help", VALUE_NONE, LINK_INFO},
    {"-I", VALUE_EITHER, 0},
    {"--defsym", VALUE_NEXT, 0},
    {"--MD", VALUE_EITHER, 0},
    {"--debug-prefix-map", VALUE_EITHER, 0},
    {NULL, VALUE_NONE, 0},
};

struct link_reader {
    struct arena *arena;
    struct unit *unit;
    LAM_ARRAY(const char *) inputs;
    bool is_info, is_shared, is_relocatable;
};

static int link_argument(void *ctx, int field, const char *value)
{
    struct link_reader *reader = ctx;
    struct unit *unit = reader->unit;
    const char **text = field == 0 ? &unit->source : field == LINK_OUTPUT ? &unit->output : NULL;
    if (field == 0 && array_push(&reader->inputs, value) < 0)
        return LAM_E_NOMEM;
    if (text && (field != 0 || unit->kind == UNIT_ASSEMBLE || !*text)) {
        *text = arena_strdup(reader->arena, value);
        return *text ? LAM_OK : LAM_E_NOMEM;
    }
    reader->is_info = reader->is_info || field == LINK_INFO;
    reader->is_shared = reader->is_shared || field == LINK_SHARED;
    reader->is_relocatable = reader->is_relocatable || field == LINK_RELOCATABLE;
    return LAM_OK;
}

static int walk(const struct unit_command *command, const struct command_option *table,
                struct link_reader *reader)
{
    struct command_args args = {0};
    int rc = command_expand(command, false, reader->arena, &args);
    if (rc == LAM_OK)
        rc = command_walk(&args, 1, table, link_argument, reader);
    array_free(&args);
    size_t count = reader->inputs.count;
    const char **inputs = arena_array(reader->arena, count, sizeof *inputs);
    if (inputs && count > 0)
        memcpy(inputs, reader->inputs.items, count * sizeof *inputs);
    array_free(&reader->inputs);
    reader->unit->inputs = inputs;
    reader->unit->input_count = inputs ? count : 0;
    return rc == LAM_OK && !inputs ? LAM_E_NOMEM : rc;
}

int unit_from_as(const struct unit_command *command, struct arena *arena, struct unit *unit)
{
    struct link_reader reader = {.arena = arena, .unit = unit};
    int rc = walk(command, as_options, &reader);
    if (rc < 0 || (reader.is_info && !unit->output))
        return rc < 0 ? rc : 0;
    unit->language = "asm";
    unit->mode = "build";
    if (!unit->output)
        unit->output = "a.out";
    return 1;
}

int unit_from_ld(const struct unit_command *command, struct arena *arena, struct unit *unit)
{
    /* rustup's toolchains wrap lld in a small program of the linker's name, which starts the real one. */
    if (command->exe && strstr(command->exe, "/gcc-ld/"))
        return 0;
    struct link_reader reader = {.arena = arena, .unit = unit};
    int rc = walk(command, ld_options, &reader);
    if (rc < 0 || (!unit->source && !unit->output) ||
        (reader.is_info && !unit->output && !unit->source))
        return rc < 0 ? rc : 0;
    unit->source = NULL; /* the first of many objects says nothing */
    unit->mode = reader.is_relocatable ? "relocatable" : reader.is_shared ? "shared" : "executable";
    if (!unit->output)
        unit->output = "a.out";
    return 1;
}
