#include "build/unit_flags.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "build/command_line.h"

/* What `-C` can set and moves compile time. What they are set to is shown, but for paths. */
static const char *const codegen_flags[] = {
    "opt-level",
    "debuginfo",
    "codegen-units",
    "lto",
    "panic",
    "target-cpu",
    "target-feature",
    "linker-plugin-lto",
    "embed-bitcode",
    "overflow-checks",
    "debug-assertions",
    "strip",
    "split-debuginfo",
    "prefer-dynamic",
    "linker",
    "linker-flavor",
    "link-self-contained",
    "relocation-model",
    "code-model",
    "force-frame-pointers",
    "force-unwind-tables",
    "inline-threshold",
    "no-vectorize-loops",
    "no-vectorize-slp",
    "no-prepopulate-passes",
    "passes",
    "symbol-mangling-version",
    "instrument-coverage",
    "profile-generate",
    "profile-use",
    "incremental",
    "dwarf-version",
};

struct collector {
    struct arena *arena;
    LAM_ARRAY(struct unit_flag) flags;
};

/* A path says where somebody's files are; its last part says what it is. */
static const char *scrubbed(const char *flag, const char *value)
{
    if (!*value)
        return "yes";
    if (strcmp(flag, "linker") == 0)
        return path_name(value);
    return strchr(value, '/') || strchr(value, '@') ? "(path)" : value;
}

static int add_flag(struct collector *to, const char *flag, const char *value)
{
    struct unit_flag copy = {arena_strdup(to->arena, flag),
                             arena_strdup(to->arena, scrubbed(flag, value))};
    return copy.flag && copy.value ? array_push(&to->flags, copy) : LAM_E_NOMEM;
}

/* NAME or NAME=VALUE, name length in *length. */
static const char *split_value(const char *text, size_t *length)
{
    *length = strcspn(text, "=");
    return text[*length] ? text + *length + 1 : "";
}

static int add_codegen(struct collector *to, const char *text)
{
    size_t length;
    const char *value = split_value(text, &length);
    for (size_t i = 0; i < sizeof codegen_flags / sizeof *codegen_flags; i++)
        if (strlen(codegen_flags[i]) == length && memcmp(codegen_flags[i], text, length) == 0)
            return add_flag(to, codegen_flags[i], value);
    return LAM_OK;
}

static int add_unstable(struct collector *to, const char *text)
{
    size_t length;
    const char *value = split_value(text, &length);
    char *name = arena_printf(to->arena, "-Z %.*s", (int)length, text);
    return name ? add_flag(to, name, value) : LAM_E_NOMEM;
}

enum { FLAG_CODEGEN = 1, FLAG_UNSTABLE, FLAG_EDITION, FLAG_OPTIMIZE, FLAG_DEBUG };

static const struct command_option rustc_flags[] = {
    {"-C", VALUE_EITHER, FLAG_CODEGEN},
    {"--codegen", VALUE_EITHER, FLAG_CODEGEN},
    {"-Z", VALUE_EITHER, FLAG_UNSTABLE},
    {"--edition", VALUE_EITHER, FLAG_EDITION},
    {"-O", VALUE_NONE, FLAG_OPTIMIZE},
    {"-g", VALUE_NONE, FLAG_DEBUG},
    {"--crate-name", VALUE_EITHER, 0},
    {"--crate-type", VALUE_EITHER, 0},
    {"--emit", VALUE_EITHER, 0},
    {"--cfg", VALUE_EITHER, 0},
    {"--check-cfg", VALUE_EITHER, 0},
    {"--extern", VALUE_EITHER, 0},
    {"-L", VALUE_EITHER, 0},
    {"-l", VALUE_EITHER, 0},
    {"--out-dir", VALUE_EITHER, 0},
    {"-o", VALUE_EITHER, 0},
    {"--cap-lints", VALUE_EITHER, 0},
    {"--remap-path-prefix", VALUE_EITHER, 0},
    {NULL, VALUE_NONE, 0},
};

static int rustc_flag(void *ctx, int field, const char *value)
{
    struct collector *to = ctx;
    switch (field) {
    case FLAG_CODEGEN:
        return add_codegen(to, value);
    case FLAG_UNSTABLE:
        return add_unstable(to, value);
    case FLAG_EDITION:
        return add_flag(to, "edition", value);
    case FLAG_OPTIMIZE:
        return add_flag(to, "opt-level", "3");
    case FLAG_DEBUG:
        return add_flag(to, "debuginfo", "2");
    default:
        return LAM_OK;
    }
}

/* gcc's and clang's: -O2, -g3, -std=c++17, -fPIC, -march=native, -flto=auto. Definitions and paths are nobody's business. */
static int cc_flag(struct collector *to, const char *arg)
{
    size_t length;
    const char *value = split_value(arg, &length);
    if (arg[0] != '-' || !arg[1] || !strchr("OgfmsW", arg[1]) || strchr(arg, '/'))
        return LAM_OK;
    if (arg[1] == 'W' || (arg[1] == 's' && strncmp(arg, "-std=", 5) != 0))
        return LAM_OK;
    if (arg[1] == 'O')
        return add_flag(to, "-O", arg[2] ? arg + 2 : "1");
    if (strncmp(arg, "-fdebug-prefix-map", 18) == 0 || strncmp(arg, "-ffile-prefix-map", 17) == 0 ||
        strncmp(arg, "-fdebug-compilation-dir", 23) == 0 ||
        strncmp(arg, "-frandom-seed", 13) == 0 || strncmp(arg, "-main-file-name", 15) == 0)
        return LAM_OK;
    char *flag = arena_strndup(to->arena, arg, length);
    return flag ? add_flag(to, flag, value) : LAM_E_NOMEM;
}

static int compare_flags(const void *a, const void *b)
{
    const struct unit_flag *left = a, *right = b;
    int by = strcmp(left->flag, right->flag);
    return by ? by : strcmp(left->value, right->value);
}

static int hand_over(struct collector *from, struct unit_flags *flags)
{
    size_t kept = 0;
    array_sort(&from->flags, compare_flags);
    struct unit_flag *items = arena_array(from->arena, from->flags.count + 1, sizeof *items);
    if (!items)
        return LAM_E_NOMEM;
    for (size_t i = 0; i < from->flags.count; i++)
        if (kept == 0 || compare_flags(&items[kept - 1], &from->flags.items[i]) != 0)
            items[kept++] = from->flags.items[i];
    *flags = (struct unit_flags){items, kept};
    return LAM_OK;
}

int unit_flags_of(const struct unit_command *command, enum unit_kind kind, struct arena *arena,
                  struct unit_flags *flags)
{
    struct command_args args = {0};
    struct collector to = {.arena = arena};
    bool is_rust = kind == UNIT_RUSTC || kind == UNIT_RUSTDOC;
    *flags = (struct unit_flags){NULL, 0};
    if (!is_rust && kind != UNIT_COMPILE)
        return LAM_OK;
    int rc = command_expand(command, is_rust, arena, &args);
    if (rc == LAM_OK && is_rust)
        rc = command_walk(&args, 1, rustc_flags, rustc_flag, &to);
    for (size_t i = 1; rc == LAM_OK && !is_rust && i < args.count; i++)
        rc = cc_flag(&to, args.items[i]);
    if (rc == LAM_OK)
        rc = hand_over(&to, flags);
    array_free(&args);
    array_free(&to.flags);
    return rc;
}

void unit_flags_text(const struct unit_flags *flags, struct strbuf *text)
{
    for (size_t i = 0; i < flags->count; i++)
        strbuf_addf(text, "%s%s=%s", i ? " " : "", flags->items[i].flag, flags->items[i].value);
}
