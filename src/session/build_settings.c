#include "session/build_settings.h"

#include <string.h>
#include <strings.h>

#include "base/glob.h"

static const char *const names[] = {
    "RUSTFLAGS",
    "RUSTDOCFLAGS",
    "RUSTC",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_BOOTSTRAP",
    "RUSTC_LOG", /* what it writes takes time */
    "RUST_MIN_STACK",
    "RUSTUP_TOOLCHAIN",
    "CARGO_INCREMENTAL",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_BUILD_*",
    "CARGO_UNSTABLE_*",
    "CARGO_PROFILE_*",
    "CARGO_TARGET_*_LINKER",
    "CARGO_TARGET_*_RUSTFLAGS",
    "CARGO_TERM_PROGRESS_WHEN",
    "CC",
    "CXX",
    "LD",
    "AR",
    "CFLAGS",
    "CXXFLAGS",
    "CPPFLAGS",
    "LDFLAGS",
    "MAKEFLAGS",
    "NINJAFLAGS",
    "CMAKE_BUILD_TYPE",
    "CMAKE_BUILD_PARALLEL_LEVEL",
    "CMAKE_GENERATOR",
    "CMAKE_*_COMPILER_LAUNCHER",
    "CCACHE_DISABLE",
    "SCCACHE_RECACHE",
    "MOLD_JOBS",
    "RAYON_NUM_THREADS",
    "MALLOC_ARENA_MAX",
    "MALLOC_CONF",
    "LD_BIND_NOW",
};

static bool names_a_secret(const char *word, size_t length)
{
    static const char *const hints[] = {"token",  "passw",   "secret",     "credential",
                                        "apikey", "api_key", "private_key"};
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++) {
        size_t n = strlen(hints[i]);
        for (size_t at = 0; at + n <= length; at++)
            if (strncasecmp(word + at, hints[i], n) == 0)
                return true;
    }
    return false;
}

static void scrub_word(struct strbuf *out, const char *word, size_t length)
{
    const char *equals = memchr(word, '=', length);
    const char *scheme = memmem(word, length, "://", 3);
    const char *at = scheme ? memchr(scheme, '@', length - (size_t)(scheme - word)) : NULL;
    if (equals && names_a_secret(word, (size_t)(equals - word))) {
        strbuf_add_bytes(out, word, (size_t)(equals - word) + 1);
        strbuf_add(out, "(removed)");
    } else if (at) {
        strbuf_add_bytes(out, word, (size_t)(scheme - word) + 3);
        strbuf_add(out, "(removed)");
        strbuf_add_bytes(out, at, length - (size_t)(at - word));
    } else {
        strbuf_add_bytes(out, word, length);
    }
}

void build_settings_scrub(struct strbuf *out, const char *value)
{
    while (*value) {
        /* \x1f: what CARGO_ENCODED_RUSTFLAGS has between its words */
        size_t blanks = strspn(value, " \t\n\x1f");
        strbuf_add_bytes(out, value, blanks);
        value += blanks;
        size_t length = strcspn(value, " \t\n\x1f");
        scrub_word(out, value, length);
        value += length;
    }
}

static bool is_known(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (glob_match(names[i], strlen(names[i]), name, length))
            return true;
    return false;
}

void build_settings_write(struct json_writer *json, char *const *environment)
{
    json_put_array(json);
    for (; environment && *environment; environment++) {
        const char *equals = strchr(*environment, '=');
        if (!equals || !is_known(*environment, (size_t)(equals - *environment)))
            continue;
        struct strbuf value = {0};
        if (names_a_secret(*environment, (size_t)(equals - *environment)))
            strbuf_add(&value, "(removed)");
        else
            build_settings_scrub(&value, equals + 1);
        json_put_object(json);
        json_member_str_n(json, "key", *environment, (size_t)(equals - *environment));
        json_member_str_n(json, "value", strbuf_text(&value), value.length);
        json_put_end(json);
        strbuf_free(&value);
    }
    json_put_end(json);
}

const char *environment_find(char *const *environment, const char *name)
{
    size_t length = strlen(name);
    for (; *environment; environment++)
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
            return *environment + length + 1;
    return NULL;
}
