/* lua.h: record a Lua 5.4 program from the C program that hosts it.
 *
 *     lam_lua_start(L);          before or after scripts run, also with calls open
 *
 * Calls go to the default recorder (lamella/lamella.h), which LAMELLA_OUT or lam_open() opens; without it nothing is installed.
 * Include <lua.h> first; link lamella-lua and lamella. docs/interpreters.md is the tutorial.
 *
 * Threads  as Lua's own: one at a time in each universe (a main state and its coroutines); universes are independent. */
#ifndef LAMELLA_LUA_H
#define LAMELLA_LUA_H

#include "lamella/lamella.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Records the universe of L from here on: L itself, its main state, and every coroutine that is made later, or that Lua resumes.
 * Returns  LAM_OK, also when it is recorded already; LAM_E_CLOSED without a recorder; LAM_E_UNSUPPORTED for another Lua than 5.4;
 *          LAM_E_NOMEM. Raises no Lua error but for memory. */
LAM_API int lam_lua_start(lua_State *L);

/* Takes the hooks off and ends the calls that are open. Those of coroutines go when they run next. lua_close() does it as well. */
LAM_API void lam_lua_stop(lua_State *L);

/* For a host that drives Lua from C: ends the calls that an error has left open in `L`, and if it is a coroutine that has yielded or
 * is over, says that it does not run. Without it both are seen at the next call in that universe. */
LAM_API void lam_lua_settle(lua_State *L);

/* The module: start, stop, interval, instant. For luaL_requiref(). */
LAM_API int luaopen_lamella(lua_State *L);

#ifdef __cplusplus
}
#endif
#endif
