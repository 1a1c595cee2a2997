/* All of it async-signal-safe and without shared state: it runs in children of vfork. */
#include "agent/compiler_args.h"

#include "agent/agent.h"
#include "core/bytes.h"

static const char crate_key[] = "CARGO_CRATE_NAME=";
static const char bootstrap_key[] = "RUSTC_BOOTSTRAP=";

static const char *name_of(const char *path)
{
    const char *name = path;
    for (const char *c = path; *c; c++)
        if (*c == '/')
            name = c + 1;
    return name;
}

static int is_compiler(const char *path)
{
    const char *name = name_of(path);
    return text_equal(name, "rustc") || text_equal(name, "clippy-driver");
}

static const char *value_of(char *const envp[], const char *key)
{
    for (; envp && *envp; envp++)
        if (text_starts(*envp, key))
            return *envp + bytes_length(key);
    return NULL;
}

/* cargo sets this variable for compilations alone: neither for build scripts nor for its own probes. It reaches compilers behind
 * wrappers, too. Very old cargos do not set it. */
static int is_for_cargo(char *const envp[])
{
    return value_of(envp, crate_key) || text_equal(name_of(agent.exe), "cargo");
}

/* -V, -vV, --version, --print and the like only tell something; real compilations may be asked to print two things. */
static int only_tells(const char *word, const char *next)
{
    if (text_equal(word, "-vV") || text_equal(word, "-V") || text_equal(word, "-Vv") ||
        text_equal(word, "--version") || text_equal(word, "-h") || text_equal(word, "--help") ||
        text_starts(word, "--explain"))
        return 1;
    if (!text_starts(word, "--print"))
        return 0;
    const char *what = word[7] == '=' ? word + 8 : next ? next : "";
    return !text_starts(what, "native-static-libs") && !text_starts(what, "link-args");
}

/* Somebody asks for it already: the user, or we, where a proxy starts the compiler proper. */
static int asks_already(const char *word, const char *next)
{
    if (text_equal(word, "-Z"))
        return next && text_starts(next, "self-profile");
    return text_starts(word, "-Zself-profile");
}

static int is_compilation(char *const argv[])
{
    int has_crate = 0;
    for (size_t i = 1; argv[i]; i++) {
        const char *word = argv[i], *next = argv[i + 1];
        if (only_tells(word, next) || asks_already(word, next))
            return 0;
        if (word[0] ==
            '@') /* a long command line lies in a file: cargo does so with compilations alone */
            has_crate = 1;
        else if (text_equal(word, "--crate-name"))
            has_crate = next && !text_equal(next, "___");
        else if (text_starts(word, "--crate-name="))
            has_crate = !text_equal(word + 13, "___");
    }
    return has_crate;
}

static int is_below(const char *path, const char *root)
{
    size_t length = bytes_length(root);
    return length && text_starts(path, root) && path[length] == '/';
}

enum compiler_ask compiler_ask(const char *path, char *const argv[], char *const envp[])
{
    const struct control_page *control = agent.control;
    if (!control->profile_args_bytes || !argv || !argv[0] || !is_compiler(path) ||
        !is_for_cargo(envp) || !is_compilation(argv))
        return COMPILER_ASK_NO;
    const char *bootstrap = value_of(envp, bootstrap_key);
    if (bootstrap && text_equal(bootstrap, "-1")) /* the user wants it to refuse such options */
        return COMPILER_ASK_NO;
    if (control->profile_plain_root_bytes && is_below(path, control->profile_plain_root))
        return COMPILER_ASK_PLAIN;
    return COMPILER_ASK_BOOTSTRAP;
}

static size_t count_words(void)
{
    size_t count = 0;
    for (uint32_t i = 0; i < agent.control->profile_args_bytes; i++)
        count += !agent.control->profile_args[i];
    return count;
}

size_t compiler_args_size(char *const argv[])
{
    size_t count = 0;
    while (argv[count])
        count++;
    return (count + count_words() + 1) * sizeof(char *);
}

char **compiler_args_build(char *const argv[], void *scratch)
{
    char **out = scratch;
    size_t n = 0;
    for (; argv[n]; n++)
        out[n] = argv[n];
    const char *at = agent.control->profile_args;
    const char *end = at + agent.control->profile_args_bytes;
    for (size_t left = count_words(); left && at < end; left--) {
        out[n++] = (char *)(uintptr_t)at;
        at += bytes_length(at) + 1;
    }
    out[n] = NULL;
    return out;
}
