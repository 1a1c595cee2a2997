#include "function_labels.h"

#include <dlfcn.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdbool.h>
#include <stdio.h>

#include "../common/code_label.h"
#include "lua_frames.h"

enum {
    NAME_BYTES = 160,
    SOURCE_BYTES = 240,
    TEXT_BYTES = 1024, /* two names and a source */
    SHOWN_BYTES = 45,  /* of the text that a chunk was loaded from: as much as Lua shows */
    LEVELS_LOOKED = 16,
    LOCALS_LOOKED = 64,
};

/* Any bytes: Lua's strings hold zeros. */
struct text {
    size_t size;
    char bytes[TEXT_BYTES];
};

/* `most` bytes of it, cut between letters of UTF-8. */
static void add_some(struct text *text, const char *bytes, size_t size, size_t most)
{
    size_t room = sizeof text->bytes - text->size;
    most = most < room ? most : room;
    if (size > most)
        for (size = most; size && ((uint8_t)bytes[size] & 0xc0) == 0x80;)
            size--;
    memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
}

static void add(struct text *text, const char *words)
{
    add_some(text, words, strlen(words), TEXT_BYTES);
}

static void add_string(struct text *text, lua_State *L, int index)
{
    size_t size;
    const char *bytes = lua_tolstring(L, index, &size);
    add_some(text, bytes, size, NAME_BYTES);
}

/* ---- names of values ---- */

/* The key of the value at `what` in a table, or the value of a key: on top of the stack, if it is there. Without a metamethod, and
 * without a string that would have to be made. */
static bool find_key(lua_State *L, int table, int what)
{
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1))
        if (lua_type(L, -2) == LUA_TSTRING && lua_rawequal(L, -1, what)) {
            lua_pop(L, 1);
            return true;
        }
    return false;
}

static bool find_value(lua_State *L, int table, const char *key)
{
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1))
        if (lua_type(L, -2) == LUA_TSTRING && strcmp(lua_tostring(L, -2), key) == 0)
            return true;
    return false;
}

/* The name under which a module shows the function on top of the stack, as tracebacks of Lua's own look for it. */
static bool find_in_modules(lua_State *L, struct text *out)
{
    int function = lua_gettop(L), loaded = function + 1, name = function + 2, module = function + 3;
    bool is_found = false;
    if (lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE) == LUA_TTABLE)
        for (lua_pushnil(L); !is_found && lua_next(L, loaded); lua_settop(L, name)) {
            is_found = lua_type(L, name) == LUA_TSTRING && lua_istable(L, module) &&
                       find_key(L, module, function);
            if (!is_found)
                continue;
            if (strcmp(lua_tostring(L, name), LUA_GNAME) != 0) {
                add_string(out, L, name);
                add(out, ".");
            }
            add_string(out, L, -1);
        }
    lua_settop(L, function);
    return is_found;
}

/* The method of a C library's class, as `FILE*:read`. A class is a metatable in the registry that holds the name under which it
 * stands there. */
static bool find_in_classes(lua_State *L, struct text *out)
{
    int function = lua_gettop(L), name = function + 1, class = function + 2;
    bool is_found = false;
    for (lua_pushnil(L); !is_found && lua_next(L, LUA_REGISTRYINDEX); lua_settop(L, name)) {
        if (lua_type(L, name) != LUA_TSTRING || !lua_istable(L, class))
            continue;
        bool is_class = find_value(L, class, "__name") && lua_rawequal(L, -1, name);
        lua_settop(L, class);
        is_found = is_class && (find_key(L, class, function) ||
                                (find_value(L, class, "__index") && lua_istable(L, -1) &&
                                 find_key(L, lua_gettop(L), function)));
        if (is_found) {
            add_string(out, L, name);
            add(out, ":");
            add_string(out, L, -1);
        }
    }
    lua_settop(L, function);
    return is_found;
}

/* How long a name that Lua tells is: those of fields may hold zeros. They are strings of Lua's, but for two words of its own. */
static size_t name_bytes(const lua_Debug *ar)
{
    size_t length = strlen(ar->name);
    bool is_key = strcmp(ar->namewhat, "field") == 0 || strcmp(ar->namewhat, "global") == 0;
    if (!is_key || strcmp(ar->name, "?") == 0 || strcmp(ar->name, "integer index") == 0)
        return length;
    size_t whole = string_bytes(ar->name - STRING_TEXT);
    return whole >= length && ar->name[whole] == 0 ? whole : length;
}

/* What the first call calls it. */
static bool find_in_call(lua_State *L, lua_Debug *ar, struct text *out)
{
    lua_getinfo(L, "n", ar);
    if (ar->name)
        add_some(out, ar->name, name_bytes(ar), NAME_BYTES);
    return ar->name != NULL;
}

/* The name of a local variable that holds the function on top of L's stack, in a call of `state`: for functions that are called by
 * no name (a tail call, a callback). One value more finds room on any stack: it is L, or waits in a C function. */
static bool find_in_locals(lua_State *L, lua_State *state, struct text *out)
{
    lua_Debug ar;
    const void *function = lua_topointer(L, -1);
    for (int level = 0; level < LEVELS_LOOKED && lua_getstack(state, level, &ar); level++)
        for (int i = 1; i < LOCALS_LOOKED; i++) {
            const char *name = lua_getlocal(state, &ar, i);
            if (!name)
                break;
            bool is_it = *name != '(' && lua_topointer(state, -1) == function;
            lua_pop(state, 1);
            if (is_it) {
                add(out, name);
                return true;
            }
        }
    return false;
}

/* ---- labels ---- */

static void add_place(struct text *out, const lua_Debug *ar)
{
    char line[24];
    const char *source = ar->source;
    size_t size = ar->srclen;
    add(out, " (");
    if (*source == '@' || *source == '=') {
        size_t left_out = size - 1 > SOURCE_BYTES ? size - 1 - SOURCE_BYTES : 0;
        while (left_out && ((uint8_t)source[1 + left_out] & 0xc0) == 0x80)
            left_out++;
        add(out, left_out ? "..." : "");
        add_some(out, source + 1 + left_out, size - 1 - left_out, SOURCE_BYTES);
    } else { /* as Lua calls it, zeros included */
        const char *end = memchr(source, '\n', size);
        bool is_whole = !end && size < SHOWN_BYTES;
        add(out, "[string \"");
        add_some(out, source, end ? (size_t)(end - source) : size, SHOWN_BYTES);
        add(out, is_whole ? "\"]" : "...\"]");
    }
    snprintf(line, sizeof line, ":%d)", *ar->what == 'm' ? 1 : ar->linedefined);
    add(out, line);
}

/* A C function that nothing in Lua is called after. The name that its first call used belongs to no function alone, so that the place of
 * its code stands beside it; a reader puts the symbol there if the file has one. */
static struct lam_label code_of(const void *address, struct text *called)
{
    Dl_info info;
    if (dladdr(address, &info) && info.dli_sname) {
        called->size = 0;
        add(called, info.dli_sname);
        add(called, " (C)");
        return lam_label_intern(LAM_DEFAULT, called->bytes, called->size);
    }
    add(called, called->size ? " (C)" : "(C)");
    return code_label((uintptr_t)address, called->bytes, called->size);
}

uint32_t function_label(lua_State *L, lua_State *main, lua_Debug *ar, const void *address)
{
    struct text label;
    label.size = 0;
    bool is_c = *ar->what == 'C';
    if (*ar->what == 'm') {
        add(&label, "main chunk");
    } else if (!find_in_modules(L, &label)) {
        if (is_c && !find_in_classes(L, &label)) {
            find_in_call(L, ar, &label);
            return code_of(address, &label).id;
        }
        if (!is_c && !find_in_call(L, ar, &label) && !find_in_locals(L, L, &label) &&
            !(main != L && find_in_locals(L, main, &label)))
            add(&label, "anonymous");
    }
    if (is_c)
        add(&label, " (C)");
    else
        add_place(&label, ar);
    return lam_label_intern(LAM_DEFAULT, label.bytes, label.size).id;
}
