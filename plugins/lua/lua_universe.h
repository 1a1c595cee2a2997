/* lua_universe.h: one Lua universe (a main state and its coroutines) while it is recorded.
 *
 * Every coroutine that had an event is a *routine* with a shadow of its calls. Lua keeps its calls in a list whose elements are used
 * again but never move, so that the address of a call tells whether a shadow and Lua agree: each event first takes off the shadow
 * what Lua has left in the meantime without saying so (errors). */
#ifndef LAMELLA_PLUGIN_LUA_UNIVERSE_H
#define LAMELLA_PLUGIN_LUA_UNIVERSE_H

#include <pthread.h>

#include "function_names.h"
#include <lua.h>

#include "lamella/lua.h"

struct shadow {
    const void *call; /* CallInfo of Lua's */
    uint32_t label;   /* 0: not recorded */
    uint32_t flags;   /* enum function_flag */
};

struct routine {
    lua_State *L;
    struct shadow *top;
    struct shadow *frames; /* frames[0] stands below the first call */
    struct shadow *end;
    struct universe *universe;
    struct routine *resumer; /* who runs when this one yields; NULL: the host */
    struct lam_track track;
    struct lam_track outside; /* what the thread ran when the host came in here */
    uint32_t track_label;
    bool has_track, is_main, is_stale;
    lua_Hook inner; /* the script's own */
    int inner_mask, inner_count;
};

struct spare_track {
    struct lam_track track;
    uint32_t label;
};

struct universe {
    uint32_t forks, generation;
    bool is_on, has_older; /* there may be coroutines from before the start */
    bool opened;           /* by lamella.start(), to be closed by stop */
    int count;             /* sampling: instructions; 0: every call */
    lua_State *main;
    struct functions functions;
    struct routine **routines; /* by state */
    uint32_t routine_count, routine_mask;
    struct spare_track *spares; /* of coroutines that are over, for others with the same body */
    uint32_t spare_count, spare_capacity;
    struct universe *next;
    pthread_t thread; /* that started it */
};

/* The universe of L; NULL: it was never recorded. */
struct universe *universe_of(lua_State *L);

/* Makes one, kept by the registry, if need be, and records it. count: instructions between two looks; 0: every call. */
int universe_start(lua_State *L, int count);
/* Ends all calls and takes the hooks off. L: any state of it. */
void universe_stop(struct universe *universe, lua_State *L);
/* Memory; it is stopped. */
void universe_free(struct universe *universe);

/* The routine of L if it has one. */
struct routine *routine_of(struct universe *universe, lua_State *L);
/* Makes it; NULL: no memory. */
struct routine *routine_for(struct universe *universe, lua_State *L);
/* Sets our hook on L, on top of the one that routine->inner names. */
void routine_hook(struct universe *universe, struct routine *routine, lua_State *L);
bool universe_hooks(lua_State *L); /* is ours set there? */

#endif
