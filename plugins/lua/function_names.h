/* function_names.h: the labels of functions, `name (file:line)`, cached by prototype.
 *
 * A prototype may be collected and another one made in its place, of a source that lies where the other's was. So a hit compares
 * what the label was made of: lines, and the source's hash, or for a long source its length and its text. */
#ifndef LAMELLA_PLUGIN_FUNCTION_NAMES_H
#define LAMELLA_PLUGIN_FUNCTION_NAMES_H

#include "lamella/lamella.h"
#include "lua_frames.h"

enum function_flag {
    FUNCTION_YIELDS = 1,  /* coroutine.yield */
    FUNCTION_RESUMES = 2, /* coroutine.resume, and what coroutine.wrap returns */
    FUNCTION_WRAPS = 4,   /* the latter */
};

struct function {
    const void *key; /* prototype or C function; NULL: free */
    const void *source;
    uint64_t lines;
    uint64_t word;
    uint32_t label; /* 0: not recorded */
    uint32_t flags;
    char *text; /* of a long source */
    size_t text_bytes;
};

struct functions {
    struct function *slots;
    uint32_t mask, count;
    bool peeks; /* frames_probe() */
    lua_State *main;
    lua_CFunction yield, resume, wrapped;
};

/* Needs a Lua stack with room for 8 values. */
int functions_init(struct functions *functions, lua_State *L, bool peeks);
void functions_free(struct functions *functions);

/* The function of the call `ar`, found the long way; NULL: no memory. Asks Lua for nothing that it would have to allocate. */
const struct function *function_learn(struct functions *functions, lua_State *L, lua_Debug *ar);

static inline uint32_t function_hash(const void *key)
{
    return (uint32_t)((uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15ull >> 40);
}

static inline bool function_is_same(const struct function *function, const void *source)
{
    return function->source == source && function->word == string_word(source) &&
           (!function->text ||
            memcmp(function->text, (const char *)source + STRING_TEXT, function->text_bytes) == 0);
}

static inline const struct function *function_of(struct functions *functions, lua_State *L,
                                                 lua_Debug *ar)
{
    if (__builtin_expect(functions->peeks, 1)) {
        bool is_lua;
        const void *key = call_function(ar->i_ci, &is_lua);
        const struct function *function = &functions->slots[function_hash(key) & functions->mask];
        if (__builtin_expect(key && function->key == key, 1) &&
            (!is_lua || (function->lines == read_word(key, PROTO_LINES) &&
                         function_is_same(function, read_pointer(key, PROTO_SOURCE)))))
            return function;
    }
    return function_learn(functions, L, ar);
}

#endif
