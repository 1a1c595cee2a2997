#include <string.h>

#include "base/file.h"
#include "build/command_line.h"

enum cc_field {
    CC_OUTPUT = 1,
    CC_OPTIMIZE,
    CC_DEBUG,
    CC_DEBUG_KIND,
    CC_LANGUAGE,
    CC_TARGET,
    CC_MAIN_FILE,
    CC_PREPROCESS, /* -E, -M, -fsyntax-only: no code is made */
    CC_SYNTAX,
    CC_INFO,
    CC_COMPILE_ONLY,
    CC_OBJECT, /* -c: the same, and the file is an object */
    CC_LTO,
    CC_CC1,
};

/* Options whose value is the next argument would else give a wrong source file. */
#define CC_COMMON_OPTIONS                                                                       \
    {"-o", VALUE_EITHER, CC_OUTPUT}, {"-O", VALUE_JOINED, CC_OPTIMIZE},                         \
        {"-g", VALUE_JOINED, CC_DEBUG}, {"-x", VALUE_EITHER, CC_LANGUAGE},                      \
        {"-E", VALUE_NONE, CC_PREPROCESS}, {"-fsyntax-only", VALUE_NONE, CC_SYNTAX},            \
        {"-flto", VALUE_JOINED, CC_LTO}, {"-D", VALUE_EITHER, 0}, {"-U", VALUE_EITHER, 0},      \
        {"-I", VALUE_EITHER, 0}, {"-include", VALUE_NEXT, 0}, {"-imacros", VALUE_NEXT, 0},      \
        {"-isystem", VALUE_NEXT, 0}, {"-iquote", VALUE_NEXT, 0}, {"-idirafter", VALUE_NEXT, 0}, \
        {"-iprefix", VALUE_NEXT, 0}, {"-isysroot", VALUE_NEXT, 0}, {"-MF", VALUE_NEXT, 0},      \
        {"-MT", VALUE_NEXT, 0}, {"-MQ", VALUE_NEXT, 0}, {"--version", VALUE_NONE, CC_INFO},     \
    {                                                                                           \
        "--help", VALUE_NONE, CC_INFO                                                           \
    }

static const struct command_option cc1_options[] = {
    CC_COMMON_OPTIONS,
    {"-imultiarch", VALUE_NEXT, 0},
    {"-imultilib", VALUE_NEXT, 0},
    {"-MD", VALUE_NEXT, 0}, /* cc1's take a file, the driver's do not */
    {"-MMD", VALUE_NEXT, 0},
    {"-dumpdir", VALUE_NEXT, 0},
    {"-dumpbase", VALUE_NEXT, CC_MAIN_FILE},
    {"-dumpbase-ext", VALUE_NEXT, 0},
    {"-auxbase", VALUE_NEXT, 0},
    {"-auxbase-strip", VALUE_NEXT, 0},
    {"-aux-info", VALUE_NEXT, 0},
    {"--param", VALUE_EITHER, 0},
    {"-A", VALUE_EITHER, 0},
    {"-version", VALUE_NONE, 0},
    {NULL, VALUE_NONE, 0},
};

static const struct command_option clang_options[] = {
    CC_COMMON_OPTIONS,
    {"-cc1", VALUE_NONE, CC_CC1},
    {"-cc1as", VALUE_NONE, CC_CC1},
    {"-main-file-name", VALUE_NEXT, CC_MAIN_FILE},
    {"-triple", VALUE_NEXT, CC_TARGET},
    {"-target", VALUE_NEXT, CC_TARGET},
    {"--target", VALUE_EITHER, CC_TARGET},
    {"-debug-info-kind", VALUE_EITHER, CC_DEBUG_KIND},
    {"-c", VALUE_NONE, CC_OBJECT},
    {"-S", VALUE_NONE, CC_COMPILE_ONLY},
    {"-emit-llvm", VALUE_NONE, CC_COMPILE_ONLY},
    {"-emit-obj", VALUE_NONE, CC_COMPILE_ONLY},
    {"-print-", VALUE_JOINED, CC_INFO},
    {"--print-", VALUE_JOINED, CC_INFO},
    {"-dumpversion", VALUE_NONE, CC_INFO},
    {"-dumpmachine", VALUE_NONE, CC_INFO},
    {"-mllvm", VALUE_NEXT, 0},
    {"-Xclang", VALUE_NEXT, 0},
    {"-Xlinker", VALUE_NEXT, 0},
    {"-Xassembler", VALUE_NEXT, 0},
    {"-Xpreprocessor", VALUE_NEXT, 0},
    {"-dependency-file", VALUE_NEXT, 0},
    {"-dwarf-debug-flags", VALUE_NEXT, 0},
    {"-ferror-limit", VALUE_EITHER, 0},
    {"-fmessage-length", VALUE_EITHER, 0},
    {"-fdebug-compilation-dir", VALUE_EITHER, 0},
    {"-fcoverage-compilation-dir", VALUE_EITHER, 0},
    {"-internal-isystem", VALUE_NEXT, 0},
    {"-internal-externc-isystem", VALUE_NEXT, 0},
    {"-resource-dir", VALUE_NEXT, 0},
    {"-target-cpu", VALUE_NEXT, 0},
    {"-target-feature", VALUE_NEXT, 0},
    {"-tune-cpu", VALUE_NEXT, 0},
    {"-target-abi", VALUE_NEXT, 0},
    {"-target-linker-version", VALUE_NEXT, 0},
    {"-mrelocation-model", VALUE_NEXT, 0},
    {"-mthread-model", VALUE_NEXT, 0},
    {"-mcode-model", VALUE_EITHER, 0},
    {"-pic-level", VALUE_NEXT, 0},
    {"-dwarf-version", VALUE_EITHER, 0},
    {"-split-dwarf-file", VALUE_NEXT, 0},
    {"-split-dwarf-output", VALUE_NEXT, 0},
    {"-stack-protector", VALUE_NEXT, 0},
    {"-fdebug-prefix-map", VALUE_EITHER, 0},
    {"-L", VALUE_EITHER, 0},
    {"-l", VALUE_EITHER, 0},
    {"-T", VALUE_EITHER, 0},
    {"-z", VALUE_NEXT, 0},
    {"-u", VALUE_NEXT, 0},
    {"-gcc-toolchain", VALUE_NEXT, 0},
    {"--sysroot", VALUE_EITHER, 0},
    {"--param", VALUE_EITHER, 0},
    {"-wrapper", VALUE_NEXT, 0},
    {"-dumpbase", VALUE_NEXT, 0},
    {"-dumpdir", VALUE_NEXT, 0},
    {NULL, VALUE_NONE, 0},
};

struct cc_reader {
    struct arena *arena;
    struct unit *unit;
    const char *main_file;
    size_t sources;
    bool is_preprocess, is_syntax, is_info, is_compile_only, is_object, is_cc1;
};

static int set_text(struct cc_reader *reader, const char **field, const char *value)
{
    *field = arena_strdup(reader->arena, value);
    return *field ? LAM_OK : LAM_E_NOMEM;
}

/* -g, -g3, -ggdb, -gdwarf-5, -gsplit-dwarf; -g0 and -gno-… switch off. */
static int read_debug(struct cc_reader *reader, const char *value)
{
    if (strcmp(value, "0") == 0)
        return set_text(reader, &reader->unit->debug_info, "0");
    if (strncmp(value, "no-", 3) == 0 || strncmp(value, "column-info", 11) == 0)
        return LAM_OK;
    bool is_level = value[0] >= '1' && value[0] <= '3' && value[1] == 0;
    return set_text(reader, &reader->unit->debug_info, is_level ? value : "2");
}

static int cc_argument(void *ctx, int field, const char *value)
{
    struct cc_reader *reader = ctx;
    struct unit *unit = reader->unit;
    switch (field) {
    case 0:
        reader->sources++;
        return set_text(reader, &unit->source, value);
    case CC_OUTPUT:
        return set_text(reader, &unit->output, value);
    case CC_OPTIMIZE:
        return set_text(reader, &unit->opt_level, *value ? value : "1");
    case CC_DEBUG:
        return read_debug(reader, value);
    case CC_DEBUG_KIND:
        return set_text(reader, &unit->debug_info, value);
    case CC_LANGUAGE:
        return set_text(reader, &unit->language, value);
    case CC_TARGET:
        return set_text(reader, &unit->target, value);
    case CC_LTO:
        return set_text(reader, &unit->lto, *value == '=' ? value + 1 : "fat");
    case CC_MAIN_FILE:
        return set_text(reader, &reader->main_file, value);
    case CC_PREPROCESS:
        reader->is_preprocess = true;
        return LAM_OK;
    case CC_SYNTAX:
        reader->is_syntax = true;
        return LAM_OK;
    case CC_OBJECT:
        reader->is_object = true;
        reader->is_compile_only = true;
        return LAM_OK;
    case CC_COMPILE_ONLY:
        reader->is_compile_only = true;
        return LAM_OK;
    case CC_CC1:
        reader->is_cc1 = true;
        return LAM_OK;
    default:
        reader->is_info = true;
        return LAM_OK;
    }
}

static const struct {
    const char *end, *language;
} endings[] = {
    {".c", "c"},           {".i", "c"},
    {".cc", "c++"},        {".cpp", "c++"},
    {".cxx", "c++"},       {".c++", "c++"},
    {".C", "c++"},         {".ii", "c++"},
    {".m", "objective-c"}, {".mm", "objective-c++"},
    {".s", "asm"},         {".S", "asm"},
    {".f90", "fortran"},   {".f", "fortran"},
    {".ll", "llvm-ir"},    {".bc", "llvm-ir"},
    {".d", "d"},           {".go", "go"},
    {".adb", "ada"},
};

static const char *language_of(const char *source)
{
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        if (text_ends_with(source, endings[i].end))
            return endings[i].language;
    return NULL;
}

static int walk(const struct unit_command *command, size_t first, struct arena *arena,
                const struct command_option *table, struct cc_reader *reader)
{
    struct command_args args = {0};
    int rc = command_expand(command, false, arena, &args);
    if (rc == LAM_OK)
        rc = command_walk(&args, first, table, cc_argument, reader);
    array_free(&args);
    return rc;
}

static void finish(struct cc_reader *reader)
{
    struct unit *unit = reader->unit;
    if (!unit->opt_level)
        unit->opt_level = "0";
    unit->mode = reader->is_preprocess ? "preprocess" : reader->is_syntax ? "check" : "build";
    const char *named =
        unit->source && strcmp(unit->source, "-") != 0 ? language_of(unit->source) : NULL;
    if (!unit->language)
        unit->language = named;
    if (unit->language && strcmp(unit->language, "cpp-output") == 0)
        unit->language = "c";
    if (unit->language && strcmp(unit->language, "c++-cpp-output") == 0)
        unit->language = "c++";
    if ((!unit->source || strcmp(unit->source, "-") == 0) && reader->main_file)
        unit->source = reader->main_file;
}

int unit_from_cc(const struct unit_command *command, struct arena *arena, struct unit *unit)
{
    static const struct {
        const char *program, *language;
    } languages[] = {{"cc1", "c"},
                     {"cc1plus", "c++"},
                     {"cc1obj", "objective-c"},
                     {"cc1objplus", "objective-c++"},
                     {"f951", "fortran"},
                     {"gnat1", "ada"},
                     {"d21", "d"},
                     {"go1", "go"}};
    struct cc_reader reader = {.arena = arena, .unit = unit};
    int rc = walk(command, 1, arena, cc1_options, &reader);
    if (rc < 0 || reader.is_info || (!unit->source && !reader.main_file))
        return rc < 0 ? rc : 0;
    const char *program = path_name(command->exe ? command->exe : command->argv[0]);
    unit->language = NULL;
    for (size_t i = 0; i < sizeof languages / sizeof languages[0]; i++)
        if (strcmp(program, languages[i].program) == 0)
            unit->language = languages[i].language;
    finish(&reader);
    if (strcmp(program, "lto1") == 0)
        unit->mode = "lto";
    return 1;
}

/* A driver's object is called as its source where -o says nothing. */
static int name_object(struct cc_reader *reader)
{
    struct unit *unit = reader->unit;
    const char *name = path_name(unit->source), *dot = strrchr(name, '.');
    if (unit->output || reader->is_preprocess || reader->is_syntax || strcmp(name, "-") == 0)
        return 1;
    unit->output =
        arena_printf(reader->arena, "%.*s.o", (int)(dot ? dot - name : (long)strlen(name)), name);
    return unit->output ? 1 : LAM_E_NOMEM;
}

/* One clang either is a -cc1, or a driver. A driver with a single job runs the compiler in its own process; with several
 * it starts a -cc1 for each compilation, and those are the units. */
int unit_from_clang(const struct unit_command *command, struct arena *arena, struct unit *unit)
{
    struct cc_reader reader = {.arena = arena, .unit = unit};
    int rc = walk(command, 1, arena, clang_options, &reader);
    if (rc < 0)
        return rc;
    bool is_single_job =
        reader.sources == 1 && (reader.is_compile_only || reader.is_preprocess || reader.is_syntax);
    if (reader.is_info || !unit->source || !(reader.is_cc1 || is_single_job))
        return 0;
    finish(&reader);
    if (unit->language && strcmp(unit->language, "asm") == 0)
        unit->kind = UNIT_ASSEMBLE;
    return reader.is_object ? name_object(&reader) : 1;
}

int unit_from_cc_driver(const struct unit_command *command, size_t first, struct arena *arena,
                        struct unit *unit)
{
    struct cc_reader reader = {.arena = arena, .unit = unit};
    int rc = walk(command, first, arena, clang_options, &reader);
    if (rc < 0)
        return rc;
    if (reader.is_info || reader.is_preprocess || reader.is_syntax || !reader.is_object ||
        reader.sources != 1 || strcmp(unit->source, "-") == 0)
        return 0;
    finish(&reader);
    unit->kind = unit->language && strcmp(unit->language, "asm") == 0 ? UNIT_ASSEMBLE : UNIT_COMPILE;
    return name_object(&reader);
}
