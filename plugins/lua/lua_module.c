/* lua_module.c: `require "lamella"`. */
#include <dlfcn.h>
#include <lauxlib.h>
#include <limits.h>
#include <lualib.h>
#include <stdlib.h>

#include "../common/open_default.h"
#include "lua_universe.h"

#define INTERVAL_TYPE "lamella.interval"

/* ---- events of the script's own ---- */

static struct lam_label label_at(lua_State *L, int index)
{
    size_t size;
    const char *text = luaL_checklstring(L, index, &size);
    return lam_label_intern(LAM_DEFAULT, text, size);
}

static struct lam_kind kind_at(lua_State *L, int index)
{
    return lam_kind_intern(LAM_DEFAULT, luaL_optstring(L, index, "GenericActivity"));
}

/* interval(label [, kind]): ends when its variable is closed (`local x <close> =`), or by x:finish(). */
static int interval(lua_State *L)
{
    struct lam_label label = label_at(L, 1);
    struct lam_kind kind = kind_at(L, 2);
    struct lam_handle *handle = lua_newuserdatauv(L, sizeof *handle, 0);
    luaL_setmetatable(L, INTERVAL_TYPE);
    *handle = lam_begin(LAM_DEFAULT, kind, label);
    return 1;
}

static int finish(lua_State *L)
{
    struct lam_handle *handle = luaL_checkudata(L, 1, INTERVAL_TYPE);
    lam_end(LAM_DEFAULT, *handle);
    *handle = lam_no_handle();
    return 0;
}

/* instant(label [, number [, kind]]) */
static int instant(lua_State *L)
{
    struct lam_label label = label_at(L, 1);
    struct lam_kind kind = kind_at(L, 3);
    if (lua_isnoneornil(L, 2))
        lam_instant(LAM_DEFAULT, kind, label);
    else
        lam_integer(LAM_DEFAULT, kind, label, (uint64_t)luaL_checkinteger(L, 2));
    return 0;
}

/* ---- hooks of the script's own: they and ours share the one that Lua has ---- */

/* debug.sethook: as it was, and then ours on top of what it has set. */
static int set_hook(lua_State *L)
{
    lua_State *target = lua_isthread(L, 1) ? lua_tothread(L, 1) : L;
    struct universe *universe = universe_of(L);
    int results = lua_tocfunction(L, lua_upvalueindex(1))(L);
    bool is_on = universe && universe->is_on;
    struct routine *routine = is_on ? routine_for(universe, target) : NULL;
    struct routine *before = universe && !is_on ? routine_of(universe, target) : NULL;
    if (before) /* of the time when it was on: no longer the script's */
        before->inner = NULL;
    if (routine) {
        routine->inner = lua_gethook(target);
        routine->inner_mask = lua_gethookmask(target);
        routine->inner_count = lua_gethookcount(target);
        routine_hook(universe, routine, target);
    }
    return results;
}

/* debug.gethook: what the script has set. Asking Lua would mean to set that again, which begins its count anew. */
static int get_hook(lua_State *L)
{
    lua_State *target = lua_isthread(L, 1) ? lua_tothread(L, 1) : L;
    struct universe *universe = universe_of(L);
    if (!universe || !universe_hooks(target))
        return lua_tocfunction(L, lua_upvalueindex(1))(L);
    struct routine *routine = routine_of(universe, target);
    if (!routine || !routine->inner) {
        luaL_pushfail(L);
        return 1;
    }
    char mask[4] = "", *end = mask;
    static const char letters[] = "crl"; /* bits 0 to 2 of the mask */
    for (int bit = 0; bit < 3; bit++)
        if (routine->inner_mask & 1 << bit)
            *end++ = letters[bit];
    /* Where the debug library keeps what its hook calls. */
    if (lua_getfield(L, LUA_REGISTRYINDEX, "_HOOKKEY") == LUA_TTABLE && lua_checkstack(target, 1)) {
        lua_pushthread(target);
        lua_xmove(target, L, 1);
        lua_rawget(L, -2);
    }
    lua_pushstring(L, mask);
    lua_pushinteger(L, routine->inner_count);
    return 3;
}

static void share_hooks(lua_State *L)
{
    static const luaL_Reg shared[] = {{"sethook", set_hook}, {"gethook", get_hook}, {NULL, NULL}};
    lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    if (lua_getfield(L, -1, LUA_DBLIBNAME) == LUA_TTABLE)
        for (const luaL_Reg *entry = shared; entry->name; entry++) {
            lua_getfield(L, -1, entry->name);
            if (lua_iscfunction(L, -1) && lua_tocfunction(L, -1) != entry->func) {
                lua_pushcclosure(L, entry->func, 1);
                lua_setfield(L, -2, entry->name);
            } else {
                lua_pop(L, 1);
            }
        }
    lua_pop(L, 2);
}

/* ---- start and stop ---- */

/* LAMELLA_LUA="count:100000": a look at the stack every so many instructions, instead of every call. -1: it says something else. */
static int look_every(void)
{
    static const char prefix[] = "count:";
    const char *text = getenv("LAMELLA_LUA");
    if (!text || !*text)
        return 0;
    char *end = NULL;
    long count = -1;
    if (strncmp(text, prefix, sizeof prefix - 1) == 0)
        count = strtol(text + sizeof prefix - 1, &end, 10);
    return end && !*end && count >= 0 && count <= INT_MAX ? (int)count : -1;
}

#define WRONG_VARIABLE "LAMELLA_LUA should be count:NUMBER, a number of instructions"

/* NULL; or why nothing is recorded. */
static const char *begin(lua_State *L, int count)
{
    int rc = universe_start(L, count);
    if (rc == LAM_OK)
        share_hooks(L);
    if (rc == LAM_E_UNSUPPORTED)
        return "this Lua keeps its calls in a way that is not known";
    return rc < 0 ? lam_error_text(rc) : NULL;
}

/* As the environment says; what goes wrong stands in the recording. */
static void begin_by_itself(lua_State *L)
{
    int count = look_every();
    const char *wrong = count < 0 ? WRONG_VARIABLE : NULL;
    const char *refused = begin(L, count < 0 ? 0 : count);
    wrong = refused ? refused : wrong;
    if (wrong)
        lam_instant(LAM_DEFAULT, lam_kind_intern(LAM_DEFAULT, "GenericActivity"),
                    lam_label_intern(LAM_DEFAULT, wrong, strlen(wrong)));
}

/* What start() is told. Texts stay on Lua's stack. */
struct wishes {
    const char *path, *options;
    int count;
};

/* The first key of the table at 1 that is not known: why it is refused, on top of the stack; else NULL. */
static const char *refuse_keys(lua_State *L)
{
    static const char *const known[] = {"path", "options", "count", NULL};
    for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : NULL;
        const char *const *row = known;
        while (key && *row && strcmp(*row, key) != 0)
            row++;
        if (!key || !*row)
            return lua_pushfstring(L, "%s%s%s is none of path, options and count", key ? "'" : "a ",
                                   key ? key : luaL_typename(L, -2), key ? "'" : " as a key");
    }
    return NULL;
}

static const char *wish_text(lua_State *L, const char *key, const char **text)
{
    size_t size = 0;
    int type = lua_getfield(L, 1, key); /* stays there as long as the text is needed */
    *text = type == LUA_TSTRING ? lua_tolstring(L, -1, &size) : NULL;
    if (type == LUA_TNIL || (*text && strlen(*text) == size))
        return NULL;
    return lua_pushfstring(L, "%s should be a string, not %s", key,
                           *text ? "one with zeros in it" : luaL_typename(L, -1));
}

static const char *wish_count(lua_State *L, int *count)
{
    if (lua_getfield(L, 1, "count") == LUA_TNIL)
        return NULL;
    lua_Integer wanted = lua_isinteger(L, -1) ? lua_tointeger(L, -1) : -1;
    *count = (int)wanted;
    return wanted >= 0 && wanted <= INT_MAX
               ? NULL
               : lua_pushliteral(L,
                                 "count should be a number of instructions, or 0 for every call");
}

/* Why it cannot be done; else NULL. */
static const char *read_wishes(lua_State *L, struct wishes *wishes)
{
    *wishes = (struct wishes){.count = look_every()};
    const char *refused = NULL;
    if (lua_istable(L, 1)) {
        refused = refuse_keys(L);
        refused = refused ? refused : wish_text(L, "path", &wishes->path);
        refused = refused ? refused : wish_text(L, "options", &wishes->options);
        refused = refused ? refused : wish_count(L, &wishes->count);
    } else if (!lua_isnoneornil(L, 1)) {
        refused = lua_pushfstring(L, "start takes a table, not %s", luaL_typename(L, 1));
    }
    return refused || wishes->count >= 0 ? refused : WRONG_VARIABLE;
}

/* start([{path =, options =, count =}]): true, and what of it does not count, if anything; or nil and why not. */
static int start(lua_State *L)
{
    struct wishes wishes;
    struct opening opening = {.is_opened = 0};
    const char *refused = read_wishes(L, &wishes);
    int rc = refused ? LAM_E_INVAL : open_default(wishes.path, wishes.options, &opening);
    if (!refused && rc < 0)
        refused = opening.words;
    if (!refused) {
        refused = begin(L, wishes.count);
        if (refused && opening.is_opened)
            lam_close();
    }
    if (refused) {
        lua_pushnil(L);
        lua_pushstring(L, refused);
        return 2;
    }
    struct universe *universe = universe_of(L);
    if (universe && universe->count != wishes.count && !*opening.words)
        strcpy(opening.words, "the count stays as it is: recording is on already");
    if (universe)
        universe->opened |= opening.is_opened != 0;
    lua_pushboolean(L, 1);
    if (!*opening.words)
        return 1;
    lua_pushstring(L, opening.words);
    return 2;
}

static int stop(lua_State *L)
{
    struct universe *universe = universe_of(L);
    lam_lua_stop(L);
    if (universe && universe->opened)
        lam_close();
    if (universe)
        universe->opened = false;
    return 0;
}

/* `lua -l lamella` gives the module a global of its name once we have returned. It goes when the first Lua function runs. */
static bool is_from_command_line(lua_State *L)
{
    lua_Debug ar;
    bool is_required = lua_gettop(L) == 2;
    for (int level = 0; is_required && lua_getstack(L, level, &ar); level++)
        is_required = lua_getinfo(L, "S", &ar) && *ar.what == 'C';
    lua_getglobal(L, "lamella");
    is_required = is_required && lua_isnil(L, -1);
    lua_pop(L, 1);
    return is_required;
}

static void hide_global(lua_State *L, lua_Debug *ar)
{
    struct universe *universe = universe_of(L);
    lua_getinfo(L, "S", ar);
    if (*ar->what != 'C') {
        lua_pushglobaltable(L);
        lua_pushliteral(L, "lamella");
        lua_pushnil(L);
        lua_rawset(L, -3);
        lua_pop(L, 1);
        if (universe)
            routine_hook(universe, routine_of(universe, L), L);
        else
            lua_sethook(L, NULL, 0, 0);
    }
    /* What that call would have been told, but for this hook. */
    lua_Hook hook = lua_gethook(L);
    if (hook && hook != hide_global)
        hook(L, ar);
}

bool module_has(lua_CFunction function)
{
    static const lua_CFunction own[] = {start, stop, interval, finish, instant};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (function == own[i])
            return true;
    Dl_info info; /* this module's, or another copy's */
    return function && dladdr((const void *)(uintptr_t)function, &info) && info.dli_sname &&
           strcmp(info.dli_sname, "luaopen_lamella") == 0;
}

int luaopen_lamella(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"start", start}, {"stop", stop}, {"interval", interval}, {"instant", instant}, {NULL, NULL}};
    static const luaL_Reg of_interval[] = {
        {"finish", finish}, {"__close", finish}, {"__gc", finish}, {NULL, NULL}};
    if (lua_version(L) != 504)
        return luaL_error(L, "lamella.so is made for Lua 5.4");
    lua_CFunction other = other_module(L);
    if (other)
        return other(L);
    bool leaves_global = is_from_command_line(L);
    luaL_newmetatable(L, INTERVAL_TYPE);
    luaL_setfuncs(L, of_interval, 0);
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
    luaL_newlib(L, functions);
    const char *out = getenv("LAMELLA_OUT");
    if (out && *out)
        begin_by_itself(L);
    if (leaves_global)
        lua_sethook(L, hide_global, LUA_MASKCALL, 0);
    return 1;
}
