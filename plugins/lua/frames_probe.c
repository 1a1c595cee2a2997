/* frames_probe.c: is everything in Lua's memory where lua_frames.h looks for it? */
#include <errno.h>
#include <lauxlib.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lua_frames.h"

enum {
    CALL_BYTES = CALL_PREVIOUS + 8,
    PROTO_BYTES = PROTO_SOURCE + 8,
    CALLS_MAX = 1 << 20, /* above LUAI_MAXSTACK: the list of calls ends before that, or is none */
    APART_MAX = 1024,    /* bytes of Lua's stack between the two calls below */
};

static const char source[] = "=a chunk of lamella's, with a name beyond forty bytes";
static const char code[] = "local probe, up = ...\nreturn (probe(function()\nreturn up\nend))";

/* May that much be read there? In another layout what we take for a pointer is anything. The kernel looks at a set of signals before
 * it refuses to do with it what it does not know. */
static bool is_readable(const void *at, size_t size)
{
    int before = errno;
    const char *first = at, *last = first + size - 8;
    bool is = at != NULL;
    for (int i = 0; i < 2 && is; i++)
        is = syscall(SYS_rt_sigprocmask, -1, i ? last : first, NULL, 8) < 0 && errno == EINVAL;
    errno = before;
    return is;
}

static bool has_function(const void *call)
{
    if (!is_readable(call, CALL_BYTES) || !is_readable(read_pointer(call, 0), VALUE_BYTES))
        return false;
    const void *value = read_pointer(call, 0);
    uint8_t tag = ((const uint8_t *)value)[VALUE_TAG];
    return (tag != TAG_LUA && tag != TAG_C) || is_readable(read_pointer(value, 0), CLOSURE_PROTO + 8);
}

/* Does a list of calls begin there, that ends? In a circle the call that is kept in mind comes again. */
static bool has_outermost(const void *call)
{
    const void *kept = NULL;
    for (int i = 1; i <= CALLS_MAX && call != kept; i++, call = call_previous(call)) {
        if (!is_readable(call, CALL_BYTES))
            return false;
        if (!call_previous(call))
            return true;
        if ((i & (i - 1)) == 0)
            kept = call;
    }
    return false;
}

static bool knows_calls(const void *inner, const void *outer, lua_CFunction function)
{
    bool is_lua;
    if (!has_function(inner) || !has_function(outer) || !has_outermost(inner))
        return false;
    const void *inside = call_function(inner, &is_lua), *base = call_outermost(outer);
    if (is_lua || inside != (const void *)(uintptr_t)function || call_previous(inner) != outer)
        return false;
    call_function(outer, &is_lua);
    uintptr_t place = call_place(outer, base); /* of a vararg function, which has been moved up */
    return is_lua && call_place(base, base) == 0 && place > 0 && call_place(inner, base) > place &&
           call_place(inner, base) - place < APART_MAX;
}

static bool knows_function(const void *closure)
{
    if (!is_readable(closure, CLOSURE_PROTO + 8) ||
        !is_readable(read_pointer(closure, CLOSURE_PROTO), PROTO_BYTES))
        return false;
    const void *proto = read_pointer(closure, CLOSURE_PROTO);
    const void *name = read_pointer(proto, PROTO_SOURCE);
    return read_word(proto, PROTO_LINES) == (2 | 4ull << 32) &&
           is_readable(name, STRING_TEXT + sizeof source) && string_is_long(name) &&
           string_bytes(name) == sizeof source - 1 &&
           memcmp((const char *)name + STRING_TEXT, source, sizeof source) == 0;
}

static bool knows_short_string(lua_State *L)
{
    const char *text = lua_pushlstring(L, "a\0b", 3) - STRING_TEXT;
    return is_readable(text, STRING_TEXT + 8) && !string_is_long(text) && string_bytes(text) == 3;
}

/* Called by the chunk above with one of its functions. */
static int probe(lua_State *L)
{
    lua_Debug ar, up;
    bool is_right = lua_getstack(L, 0, &ar) && lua_getstack(L, 1, &up) &&
                    knows_calls(ar.i_ci, up.i_ci, probe) && knows_function(lua_topointer(L, 1)) &&
                    knows_short_string(L);
    if (is_right)
        is_right = state_global(lua_newthread(L)) == state_global(L) && state_global(L) != NULL;
    lua_pushboolean(L, is_right);
    return 1;
}

bool frames_probe(lua_State *L)
{
    int top = lua_gettop(L);
    bool is_right = lua_version(L) == 504 && sizeof(void *) == 8 &&
                    luaL_loadbuffer(L, code, sizeof code - 1, source) == LUA_OK;
    if (is_right) {
        lua_pushcfunction(L, probe);
        is_right = lua_pcall(L, 1, 1, 0) == LUA_OK && lua_toboolean(L, -1);
    }
    lua_settop(L, top);
    return is_right;
}
