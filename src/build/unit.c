#include "build/unit.h"

#include <string.h>

#include "base/file.h"
#include "base/glob.h"
#include "build/command_line.h"

static const char *const kind_names[UNIT_KIND_COUNT] = {
    [UNIT_NONE] = "none",
    [UNIT_RUSTC] = "rustc",
    [UNIT_RUSTDOC] = "rustdoc",
    [UNIT_COMPILE] = "compile",
    [UNIT_ASSEMBLE] = "assemble",
    [UNIT_LINK] = "link",
    [UNIT_BUILD_SCRIPT] = "build_script",
};

const char *unit_kind_name(enum unit_kind kind)
{
    return kind < UNIT_KIND_COUNT ? kind_names[kind] : "none";
}

/* The programs that make units, by the base name of their files. */
static const struct {
    const char *program; /* glob */
    enum unit_kind kind;
    int (*read)(const struct unit_command *command, struct arena *arena, struct unit *unit);
} programs[] = {
    {"rustc", UNIT_RUSTC, unit_from_rustc},
    {"clippy-driver", UNIT_RUSTC, unit_from_rustc},
    {"rustdoc", UNIT_RUSTDOC, unit_from_rustc},
    {"sccache", UNIT_NONE, unit_from_cache},
    {"cachepot", UNIT_NONE, unit_from_cache},
    {"kache", UNIT_NONE, unit_from_cache},
    {"ccache", UNIT_NONE, unit_from_ccache},
    {"cc1", UNIT_COMPILE, unit_from_cc},
    {"cc1plus", UNIT_COMPILE, unit_from_cc},
    {"cc1obj", UNIT_COMPILE, unit_from_cc},
    {"cc1objplus", UNIT_COMPILE, unit_from_cc},
    {"f951", UNIT_COMPILE, unit_from_cc},
    {"gnat1", UNIT_COMPILE, unit_from_cc},
    {"lto1", UNIT_COMPILE, unit_from_cc},
    {"clang", UNIT_COMPILE, unit_from_clang},
    {"clang++", UNIT_COMPILE, unit_from_clang},
    {"clang-1?", UNIT_COMPILE, unit_from_clang},
    {"clang-2?", UNIT_COMPILE, unit_from_clang},
    {"clang++-1?", UNIT_COMPILE, unit_from_clang},
    {"clang++-2?", UNIT_COMPILE, unit_from_clang},
    {"as", UNIT_ASSEMBLE, unit_from_as},
    {"*-as", UNIT_ASSEMBLE, unit_from_as},
    {"ld", UNIT_LINK, unit_from_ld},
    {"*-ld", UNIT_LINK, unit_from_ld},
    {"ld.*", UNIT_LINK, unit_from_ld},
    {"*-ld.*", UNIT_LINK, unit_from_ld},
    {"lld", UNIT_LINK, unit_from_ld},
    {"rust-lld", UNIT_LINK, unit_from_ld},
    {"mold", UNIT_LINK, unit_from_ld},
    {"wild", UNIT_LINK, unit_from_ld},
    {"build-script-*", UNIT_BUILD_SCRIPT, unit_from_build_script},
    {"build_script_*", UNIT_BUILD_SCRIPT, unit_from_build_script},
};

/* A build tool starts by absolute path what it made itself; the executable's own path has symbolic links resolved. */
static const char *program_path(const struct unit_command *command, const char *exe)
{
    return command->argv[0][0] == '/' ? command->argv[0] : exe;
}

int unit_from_command(const struct unit_command *command, struct arena *arena, struct unit *unit)
{
    const char *exe = command->exe && *command->exe ? command->exe
                      : command->argc > 0           ? command->argv[0]
                                                    : NULL;
    if (!exe || command->argc == 0)
        return 0;
    const char *program = path_name(exe);
    size_t length = strlen(program);
    if (text_ends_with(program, " (deleted)"))
        length -= strlen(" (deleted)");
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        if (!glob_match(programs[i].program, strlen(programs[i].program), program, length))
            continue;
        struct unit found = {
            .kind = programs[i].kind, .program = program_path(command, exe), .cwd = command->cwd};
        int rc = programs[i].read(command, arena, &found);
        if (rc > 0)
            *unit = found;
        return rc;
    }
    return 0;
}

static void rustc_title(const struct unit *unit, struct strbuf *title)
{
    const char *package = unit->package ? unit->package : unit->crate ? unit->crate : "?";
    bool is_script = unit->mode && strcmp(unit->mode, "build-script") == 0;
    bool is_bin = unit->crate_type && strcmp(unit->crate_type, "bin") == 0;
    /* Where the package has several crates (a library and programs), the crate tells them apart; a library is usually
     * called as its package, but for dashes. */
    bool has_own_name = unit->crate && strlen(unit->crate) == strlen(package);
    for (size_t i = 0; has_own_name && package[i]; i++)
        has_own_name = package[i] == unit->crate[i] || (package[i] == '-' && unit->crate[i] == '_');
    if (unit->version || is_script)
        strbuf_add(title, package);
    else
        strbuf_add(title, unit->crate ? unit->crate : package);
    if (unit->version)
        strbuf_addf(title, " %s", unit->version);
    if (is_script)
        strbuf_add(title, " build script");
    else if (unit->version && unit->crate && !has_own_name)
        strbuf_addf(title, " (%s)", unit->crate);
    if (!is_script && unit->mode && strcmp(unit->mode, "build") != 0)
        strbuf_addf(title, " (%s)", unit->mode);
    else if (!is_script && is_bin)
        strbuf_add(title, " (bin)");
}

/* Bytes of "-" and cargo's 16 digits at text; 0 when they are not there. */
static size_t hash_bytes_at(const char *text)
{
    enum { DIGITS = 16 };
    if (text[0] != '-' || strspn(text + 1, "0123456789abcdef") != DIGITS)
        return 0;
    return text[1 + DIGITS] == '\0' || text[1 + DIGITS] == '.' || text[1 + DIGITS] == '/' ? 1 + DIGITS
                                                                                          : 0;
}

static void add_without_hash(struct strbuf *title, const char *name, size_t length)
{
    for (size_t i = 0; i < length;) {
        size_t hash = i > 0 ? hash_bytes_at(name + i) : 0;
        if (!hash)
            strbuf_add_char(title, name[i]);
        i += hash ? hash : 1;
    }
}

/* ccAbCdEf.o, ccAbCdEf.ltrans0.ltrans.o, @/tmp/ccAbCdEf */
bool unit_is_temporary(const char *path)
{
    path += path[0] == '@';
    const char *name = path_name(path);
    return path[0] == '/' &&
           (glob_match_str("cc??????", name) || glob_match_str("cc??????.o", name) ||
            glob_match_str("cc??????.s", name) || glob_match_str("cc??????.*ltrans*", name) ||
            glob_match_str("cc??????.lto*", name));
}

/* What was linked, as its maker calls it: cargo puts hashes behind names, and gives a build script the name of a directory. */
static void link_title(const char *output, struct strbuf *title)
{
    const char *name = path_name(output);
    strbuf_add(title, "link ");
    if (text_starts_with(name, "build_script_") && name > output) {
        const char *end = name - 1, *start = end;
        while (start > output && start[-1] != '/')
            start--;
        if (end - start > 17 && hash_bytes_at(end - 17)) {
            strbuf_add_bytes(title, start, (size_t)(end - 17 - start));
            strbuf_add(title, " build script");
            return;
        }
    }
    add_without_hash(title, name, strlen(name));
}

static void assemble_title(const struct unit *unit, struct strbuf *title)
{
    const char *output = unit->output && !unit_is_temporary(unit->output) ? unit->output : NULL;
    const char *source = unit->source && !unit_is_temporary(unit->source) ? unit->source : NULL;
    strbuf_add(title, "assemble ");
    if (output || source)
        strbuf_add(title, path_name(output ? output : source));
    else
        strbuf_add(title, unit->output || unit->source ? "a temporary file" : "?");
}

static void compile_title(const struct unit *unit, struct strbuf *title)
{
    bool is_made_up = unit->source && unit_is_temporary(unit->source);
    strbuf_add(title, is_made_up     ? "a temporary file"
                      : unit->source ? path_name(unit->source)
                                     : "?");
}

void unit_title(const struct unit *unit, struct strbuf *title)
{
    switch (unit->kind) {
    case UNIT_RUSTC:
    case UNIT_RUSTDOC:
        rustc_title(unit, title);
        break;
    case UNIT_COMPILE:
        compile_title(unit, title);
        if (unit->mode && strcmp(unit->mode, "build") != 0)
            strbuf_addf(title, " (%s)", unit->mode);
        break;
    case UNIT_ASSEMBLE:
        assemble_title(unit, title);
        break;
    case UNIT_LINK:
        link_title(unit->output ? unit->output : "?", title);
        break;
    case UNIT_BUILD_SCRIPT:
        strbuf_addf(title, "run %s%s%s build script", unit->package ? unit->package : "?",
                    unit->version ? " " : "", unit->version ? unit->version : "");
        break;
    default:
        strbuf_add(title, "?");
    }
}
