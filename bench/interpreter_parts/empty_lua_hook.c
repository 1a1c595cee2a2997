/* The least that any recorder of Lua's calls costs: a hook of C that does nothing. And one that counts. */
#include <lauxlib.h>

static lua_Integer calls;

static void nothing(lua_State *L, lua_Debug *ar)
{
    (void)L;
    (void)ar;
}

static void counting(lua_State *L, lua_Debug *ar)
{
    (void)L;
    (void)ar;
    calls++;
}

static int set(lua_State *L)
{
    lua_sethook(L, nothing, LUA_MASKCALL | LUA_MASKRET, 0);
    return 0;
}

static int count(lua_State *L)
{
    lua_pushinteger(L, calls);
    return 1;
}

int luaopen_empty_lua_hook(lua_State *L)
{
    static const luaL_Reg functions[] = {{"set", set}, {"count", count}, {NULL, NULL}};
    luaL_newlib(L, functions);
    lua_sethook(L, counting, LUA_MASKCALL, 0);
    return 1;
}
