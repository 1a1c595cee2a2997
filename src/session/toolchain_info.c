#include "session/toolchain_info.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/glob.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "session/program_answer.h"
#include "session/program_check.h"
#include "symbols/debug_file.h"
#include "symbols/elf_file.h"
#include "symbols/elf_symbols.h"

/* The first entry of dir that a glob matches, as a path for mem_free(). */
static char *match_in(const char *dir, const char *glob)
{
    struct dir_entries entries = {0};
    char *path = NULL;
    if (dir_list(dir, &entries, NULL) < 0)
        return NULL;
    for (size_t i = 0; !path && i < entries.count; i++)
        if (glob_match_str(glob, entries.items[i].name))
            path = path_join(dir, entries.items[i].name);
    dir_entries_free(&entries);
    return path;
}

/* The directory that the toolchain in force lies in: rustc and cargo in PATH are often rustup's proxies. */
static char *rust_sysroot(void)
{
    return program_first_line((const char *const[]){"rustc", "--print", "sysroot", NULL});
}

static char *code_of_rustc(void)
{
    static const char *const places[] = {"x86_64-linux-gnu", "aarch64-linux-gnu", "../lib64"};
    char *root = rust_sysroot();
    char *lib = root ? path_join(root, "lib") : NULL;
    char *driver = lib ? match_in(lib, "librustc_driver-*.so") : NULL;
    /* Distributions put it where their libraries are. */
    for (size_t i = 0; lib && !driver && i < sizeof places / sizeof *places; i++) {
        char *below = path_join(lib, places[i]);
        driver = below ? match_in(below, "librustc_driver-*.so") : NULL;
        mem_free(below);
    }
    mem_free(root);
    mem_free(lib);
    return driver;
}

static char *code_of_cargo(const char *real)
{
    char *root = rust_sysroot();
    char *cargo = root ? path_join(root, "bin/cargo") : NULL;
    mem_free(root);
    if (cargo && path_exists(cargo))
        return cargo;
    mem_free(cargo);
    return mem_strdup(real);
}

/* The linker that comes with the toolchain and is in nobody's PATH; for mem_free(). */
static char *rust_lld(void)
{
    char *root = rust_sysroot();
    char *targets = root ? path_join(root, "lib/rustlib") : NULL;
    char *target = targets ? match_in(targets, "*-unknown-linux-gnu") : NULL;
    char *lld = target ? path_join(target, "bin/rust-lld") : NULL;
    mem_free(root);
    mem_free(targets);
    mem_free(target);
    if (lld && path_exists(lld))
        return lld;
    mem_free(lld);
    return NULL;
}

static char *code_of_gcc(const char *path, const char *backend)
{
    char option[64];
    snprintf(option, sizeof option, "-print-prog-name=%s", backend);
    char *code = program_first_line((const char *const[]){path, option, NULL});
    if (code && code[0] == '/')
        return code;
    mem_free(code);
    return NULL;
}

/* clang: most of it is in libclang-cpp and libLLVM where those are shared, and that is what is stripped or not. */
static char *code_of_clang(const char *real)
{
    char *dir = path_dir(real), *lib = dir ? path_join(dir, "../lib") : NULL;
    char *code = lib ? match_in(lib, "libclang-cpp.so*") : NULL;
    mem_free(dir);
    mem_free(lib);
    return code ? code : mem_strdup(real);
}

static char *code_of(const char *name, const char *path, const char *real)
{
    if (strcmp(name, "rustc") == 0)
        return code_of_rustc();
    if (strcmp(name, "cargo") == 0)
        return code_of_cargo(real);
    if (strcmp(name, "gcc") == 0)
        return code_of_gcc(path, "cc1");
    if (strcmp(name, "g++") == 0)
        return code_of_gcc(path, "cc1plus");
    if (strcmp(name, "clang") == 0 || strcmp(name, "clang++") == 0)
        return code_of_clang(real);
    return mem_strdup(real);
}

static enum tool_symbols symbols_of(const char *path)
{
    struct elf_file *file = NULL, *debug = NULL;
    if (elf_file_open(&file, path, NULL) < 0)
        return TOOL_SYMBOLS_UNKNOWN;
    enum tool_symbols found = TOOL_SYMBOLS_STRIPPED;
    if (elf_symbols_complete(file) || debug_file_find(&debug, file, path, NULL) >= 0)
        found = TOOL_SYMBOLS_FULL;
    elf_file_close(&debug);
    elf_file_close(&file);
    return found;
}

static int look_at(struct tool_list *tools, const char *name)
{
    bool is_rust_lld = strcmp(name, "rust-lld") == 0;
    char *path = is_rust_lld ? rust_lld() : program_find(name);
    if (!path)
        return LAM_OK;
    char *real = realpath(path, NULL);
    struct tool_info tool = {
        .name = name,
        .path = path,
        /* rust-lld takes the flavour of linker from its name or this option */
        .version = is_rust_lld ? program_first_line((const char *const[]){path, "-flavor", "gnu",
                                                                          "--version", NULL})
                               : program_first_line((const char *const[]){path, "--version", NULL}),
        .code = code_of(name, path, real ? real : path),
    };
    mem_free(real);
    if (tool.code)
        tool.symbols = symbols_of(tool.code);
    if (array_push(tools, tool) >= 0)
        return LAM_OK;
    mem_free(tool.path);
    mem_free(tool.version);
    mem_free(tool.code);
    return LAM_E_NOMEM;
}

int toolchain_find(struct tool_list *tools)
{
    static const char *const names[] = {"rustc", "cargo",  "gcc",     "g++",  "clang",   "clang++",
                                        "ld",    "ld.lld", "ld.gold", "mold", "rust-lld"};
    int rc = LAM_OK;
    for (size_t i = 0; rc >= 0 && i < sizeof names / sizeof *names; i++)
        rc = look_at(tools, names[i]);
    return rc;
}

void toolchain_free(struct tool_list *tools)
{
    array_each(tools, it)
    {
        mem_free(it->path);
        mem_free(it->version);
        mem_free(it->code);
    }
    array_free(tools);
}
