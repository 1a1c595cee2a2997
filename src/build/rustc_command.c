#include <string.h>

#include "base/file.h"
#include "build/command_line.h"

enum rustc_field {
    RUSTC_CRATE_NAME = 1,
    RUSTC_CRATE_TYPE,
    RUSTC_EDITION,
    RUSTC_EMIT,
    RUSTC_TARGET,
    RUSTC_CODEGEN,
    RUSTC_CFG,
    RUSTC_PRINT,
    RUSTC_TEST,
    RUSTC_OUT_DIR,
    RUSTC_OUTPUT,
    RUSTC_OPTIMIZE,
    RUSTC_DEBUG,
    RUSTC_EXTERN,
    RUSTC_INFO, /* the run only tells something */
};

static const struct command_option rustc_options[] = {
    {"--crate-name", VALUE_EITHER, RUSTC_CRATE_NAME},
    {"--crate-type", VALUE_EITHER, RUSTC_CRATE_TYPE},
    {"--edition", VALUE_EITHER, RUSTC_EDITION},
    {"--emit", VALUE_EITHER, RUSTC_EMIT},
    {"--target", VALUE_EITHER, RUSTC_TARGET},
    {"-C", VALUE_EITHER, RUSTC_CODEGEN},
    {"--codegen", VALUE_EITHER, RUSTC_CODEGEN},
    {"--cfg", VALUE_EITHER, RUSTC_CFG},
    {"--print", VALUE_EITHER, RUSTC_PRINT},
    {"--test", VALUE_NONE, RUSTC_TEST},
    {"--out-dir", VALUE_EITHER, RUSTC_OUT_DIR},
    {"-o", VALUE_EITHER, RUSTC_OUTPUT},
    {"--output", VALUE_EITHER, RUSTC_OUTPUT}, /* rustdoc */
    {"-O", VALUE_NONE, RUSTC_OPTIMIZE},
    {"-g", VALUE_NONE, RUSTC_DEBUG},
    {"-vV", VALUE_NONE, RUSTC_INFO},
    {"-V", VALUE_NONE, RUSTC_INFO},
    {"-Vv", VALUE_NONE, RUSTC_INFO},
    {"--version", VALUE_NONE, RUSTC_INFO},
    {"-h", VALUE_NONE, RUSTC_INFO},
    {"--help", VALUE_NONE, RUSTC_INFO},
    {"--explain", VALUE_EITHER, RUSTC_INFO},
    /* Options with values that would else be taken for the source file. */
    {"--check-cfg", VALUE_EITHER, 0},
    {"-L", VALUE_EITHER, 0},
    {"-l", VALUE_EITHER, 0},
    {"-A", VALUE_EITHER, 0},
    {"-W", VALUE_EITHER, 0},
    {"-D", VALUE_EITHER, 0},
    {"-F", VALUE_EITHER, 0},
    {"--allow", VALUE_EITHER, 0},
    {"--warn", VALUE_EITHER, 0},
    {"--force-warn", VALUE_EITHER, 0},
    {"--deny", VALUE_EITHER, 0},
    {"--forbid", VALUE_EITHER, 0},
    {"--cap-lints", VALUE_EITHER, 0},
    {"-Z", VALUE_EITHER, 0},
    {"--extern", VALUE_EITHER, RUSTC_EXTERN},
    {"--sysroot", VALUE_EITHER, 0},
    {"--error-format", VALUE_EITHER, 0},
    {"--json", VALUE_EITHER, 0},
    {"--color", VALUE_EITHER, 0},
    {"--diagnostic-width", VALUE_EITHER, 0},
    {"--remap-path-prefix", VALUE_EITHER, 0},
    {"--env-set", VALUE_EITHER, 0},
    {"--crate-version", VALUE_EITHER, 0},
    {NULL, VALUE_NONE, 0},
};

/* What a `-C NAME=VALUE` sets. */
static const struct {
    const char *name;
    size_t offset;
    const char *without_value;
} codegen_fields[] = {
    {"opt-level", offsetof(struct unit, opt_level), NULL},
    {"codegen-units", offsetof(struct unit, codegen_units), NULL},
    {"lto", offsetof(struct unit, lto), "fat"},
    {"debuginfo", offsetof(struct unit, debug_info), NULL},
    {"incremental", offsetof(struct unit, incremental), NULL},
    {"metadata", offsetof(struct unit, metadata), NULL},
    {"extra-filename", offsetof(struct unit, extra_filename), NULL},
};

struct rustc_reader {
    struct arena *arena;
    struct unit *unit;
    const char *emit;
    LAM_ARRAY(const char *) externs;
    bool is_probe; /* --print and the like */
    bool is_test;
    bool has_output_file;
};

static int set_text(struct rustc_reader *reader, const char **field, const char *value)
{
    *field = arena_strdup(reader->arena, value);
    return *field ? LAM_OK : LAM_E_NOMEM;
}

/* Appends to a list with commas. */
static int append_text(struct rustc_reader *reader, const char **field, const char *value,
                       size_t length)
{
    *field = *field ? arena_printf(reader->arena, "%s,%.*s", *field, (int)length, value)
                    : arena_strndup(reader->arena, value, length);
    return *field ? LAM_OK : LAM_E_NOMEM;
}

static int read_codegen(struct rustc_reader *reader, const char *value)
{
    for (size_t i = 0; i < sizeof codegen_fields / sizeof codegen_fields[0]; i++) {
        size_t length = strlen(codegen_fields[i].name);
        if (strncmp(value, codegen_fields[i].name, length) != 0 ||
            (value[length] != '=' && value[length] != 0))
            continue;
        const char *text =
            value[length] == '=' ? value + length + 1 : codegen_fields[i].without_value;
        const char **field = (const char **)((char *)reader->unit + codegen_fields[i].offset);
        return text ? set_text(reader, field, text) : LAM_OK;
    }
    if (strcmp(value, "help") == 0)
        reader->is_probe = true;
    return LAM_OK;
}

/* feature="NAME"; test, which stands for --test where a package brings a harness of its own (harness = false). */
static int read_cfg(struct rustc_reader *reader, const char *value)
{
    size_t length = strlen(value);
    if (strcmp(value, "test") == 0)
        reader->is_test = true;
    if (strncmp(value, "feature=\"", 9) != 0 || length < 11 || value[length - 1] != '"')
        return LAM_OK;
    return append_text(reader, &reader->unit->features, value + 9, length - 10);
}

/* Some requests to print come with a real compilation. */
static bool is_harmless_print(const char *what)
{
    return strncmp(what, "native-static-libs", 18) == 0 || strncmp(what, "link-args", 9) == 0;
}

/* [OPTIONS:]NAME[=PATH]; the path may come twice, as .rlib and .rmeta. */
static int read_extern(struct rustc_reader *reader, const char *value)
{
    const char *path = strchr(value, '=');
    const char *colon = strchr(value, ':');
    if (path)
        return array_push(&reader->externs, path + 1);
    return array_push(&reader->externs, colon ? colon + 1 : value);
}

static int rustc_argument(void *ctx, int field, const char *value)
{
    struct rustc_reader *reader = ctx;
    struct unit *unit = reader->unit;
    switch (field) {
    case 0:
        /* A file of arguments that is gone stands for the source only where nothing else does. */
        return unit->source && unit->source[0] != '@' ? LAM_OK
                                                      : set_text(reader, &unit->source, value);
    case RUSTC_CRATE_NAME:
        return set_text(reader, &unit->crate, value);
    case RUSTC_CRATE_TYPE:
        return append_text(reader, &unit->crate_type, value, strlen(value));
    case RUSTC_EDITION:
        return set_text(reader, &unit->edition, value);
    case RUSTC_EMIT:
        return append_text(reader, &reader->emit, value, strlen(value));
    case RUSTC_TARGET:
        return set_text(reader, &unit->target, value);
    case RUSTC_CODEGEN:
        return read_codegen(reader, value);
    case RUSTC_CFG:
        return read_cfg(reader, value);
    case RUSTC_PRINT:
        reader->is_probe = reader->is_probe || !is_harmless_print(value);
        return LAM_OK;
    case RUSTC_TEST:
        reader->is_test = true;
        return LAM_OK;
    case RUSTC_OUT_DIR:
        return reader->has_output_file ? LAM_OK : set_text(reader, &unit->output, value);
    case RUSTC_OUTPUT:
        reader->has_output_file = true;
        return set_text(reader, &unit->output, value);
    case RUSTC_EXTERN:
        return read_extern(reader, value);
    case RUSTC_OPTIMIZE:
        return set_text(reader, &unit->opt_level, "3");
    case RUSTC_DEBUG:
        return set_text(reader, &unit->debug_info, "2");
    default:
        reader->is_probe = true;
        return LAM_OK;
    }
}

/* Whether a list with commas has the word, alone or as WORD=FILE. */
static bool list_has(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, word, length) == 0 &&
            (at[length] == 0 || at[length] == ',' || at[length] == '='))
            return true;
    return false;
}

/* An example of a documentation, which rustdoc hands over on standard input. */
static bool is_doctest(const struct unit *unit)
{
    return strcmp(unit->source, "-") == 0 && unit->output && strstr(unit->output, "/rustdoctest");
}

static const char *rustc_mode(const struct rustc_reader *reader)
{
    const struct unit *unit = reader->unit;
    if (unit->kind == UNIT_RUSTDOC)
        return reader->is_test ? "doctest" : "doc";
    if (strcmp(unit->source, "-") == 0)
        return is_doctest(unit) ? "doctest" : "probe";
    if (unit->crate && strncmp(unit->crate, "build_script_", 13) == 0)
        return "build-script";
    if (reader->is_test)
        return "test";
    bool links = !reader->emit || list_has(reader->emit, "link") || list_has(reader->emit, "obj") ||
                 list_has(reader->emit, "asm") || list_has(reader->emit, "llvm-ir") ||
                 list_has(reader->emit, "llvm-bc");
    if (links)
        return "build";
    return unit->program && strcmp(path_name(unit->program), "clippy-driver") == 0 ? "clippy"
                                                                                   : "check";
}

/* The crate's name as rustc makes it from the file's. */
static int default_crate_name(struct rustc_reader *reader)
{
    const char *name =
        path_name(is_doctest(reader->unit) ? reader->unit->output : reader->unit->source);
    const char *dot = strchr(name, '.');
    char *crate = arena_strndup(reader->arena, name, dot ? (size_t)(dot - name) : strlen(name));
    if (!crate)
        return LAM_E_NOMEM;
    for (char *c = crate; *c; c++)
        *c = *c == '-' ? '_' : *c;
    reader->unit->crate = *crate ? crate : NULL;
    return LAM_OK;
}

static int rustc_package(struct rustc_reader *reader, const struct unit_command *command)
{
    struct unit *unit = reader->unit;
    int rc = package_from_source(unit->source, command->cwd, reader->arena, unit);
    if (rc == LAM_OK && unit->output && strcmp(unit->mode, "build-script") == 0 && !unit->version) {
        const char *package = package_from_build_dir(unit->output, reader->arena);
        if (package)
            unit->package = package;
    }
    return rc;
}

static int keep_externs(struct rustc_reader *reader)
{
    size_t count = reader->externs.count;
    const char **inputs = arena_array(reader->arena, count, sizeof *inputs);
    if (!inputs)
        return LAM_E_NOMEM;
    if (count > 0)
        memcpy(inputs, reader->externs.items, count * sizeof *inputs);
    reader->unit->inputs = inputs;
    reader->unit->input_count = count;
    return LAM_OK;
}

bool is_rust_compiler(const char *path)
{
    const char *name = path_name(path);
    return strcmp(name, "rustc") == 0 || strcmp(name, "clippy-driver") == 0;
}

int unit_from_rustc(const struct unit_command *command, struct arena *arena, struct unit *unit)
{
    struct command_args args = {0};
    struct rustc_reader reader = {.arena = arena, .unit = unit};
    int rc = command_expand(command, true, arena, &args);
    /* A wrapper is called as `WRAPPER rustc …`: the compiler's own name is no source file. */
    size_t first = args.count > 1 && is_rust_compiler(args.items[1]) ? 2 : 1;
    first += first < args.count && args.items[first][0] == '+'; /* rustup's toolchain */
    if (rc == LAM_OK)
        rc = command_walk(&args, first, rustc_options, rustc_argument, &reader);
    array_free(&args);
    if (rc == LAM_OK)
        rc = keep_externs(&reader);
    array_free(&reader.externs);
    if (rc < 0)
        return rc;
    /* Caches ask so for the list of source files, before each compilation and instead of one. */
    bool lists_only =
        reader.emit && text_starts_with(reader.emit, "dep-info") && !strchr(reader.emit, ',');
    if (reader.is_probe || !unit->source || lists_only)
        return 0;
    unit->language = "rust";
    unit->mode = rustc_mode(&reader);
    unit->emits_metadata = reader.emit && list_has(reader.emit, "metadata");
    unit->emits_link = !reader.emit || list_has(reader.emit, "link");
    if (!unit->crate)
        rc = default_crate_name(&reader);
    if (rc == LAM_OK)
        rc = rustc_package(&reader, command);
    return rc < 0 ? rc : 1;
}
