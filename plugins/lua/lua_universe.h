/* lua_universe.h: one Lua universe (a main state and its coroutines) while it is recorded.
 *
 * Every coroutine that had an event is a *routine* with a shadow of those calls that the recorder is told of. Each has the place of
 * Lua's call on its stack: an event at that place or further out tells that it is over, and before a call is told those that Lua has
 * left without saying so (errors) are taken off: what is open lies on the way from the call outwards. So a call that is not told, with
 * one in N nearly all, costs a look at its function and its place.
 *
 * Nothing here asks Lua for memory while a program runs, nor raises an error. */
#ifndef LAMELLA_PLUGIN_LUA_UNIVERSE_H
#define LAMELLA_PLUGIN_LUA_UNIVERSE_H

#include <pthread.h>

#include "../common/call_shadow.h"
#include "../common/spare_tracks.h"
#include "function_names.h"
#include <lua.h>

#include "lamella/lua.h"

struct routine {
    lua_State *L;
    const void *base; /* call_outermost(); NULL: not known yet */
    struct shadow_stack stack;
    struct universe *universe;
    struct routine *resumer;  /* who runs when this one yields; NULL: the host */
    struct lam_track track;   /* 0: none yet */
    struct lam_track outside; /* what the thread ran when the host came in here */
    struct routine *resumes;  /* the one that it resumed last, which may be over */
    uintptr_t resumed_at; /* the place of the resumer's call of `resumed_by`; 0: not by Lua's own */
    uintptr_t resumes_at; /* the same of its own call that has begun last, until somebody runs by it */
    uint16_t resumed_by, resumes_by; /* enum function_flag */
    uint32_t track_label;
    bool is_main, is_stale;
    bool is_away;   /* it has not begun, or has yielded or ended, as far as was seen */
    lua_Hook inner; /* the script's own */
    int inner_mask, inner_count;
};

struct universe {
    uint32_t forks, generation;
    bool is_on, has_older; /* there may be coroutines from before the start */
    const void *resumed;   /* the coroutine that was looked at for that last, or its wrap */
    bool is_sparse;        /* calls that need not be told have been met */
    bool opened;           /* by lamella.start(), to be closed by stop */
    int count;             /* sampling: instructions; 0: every call */
    lua_State *main;
    struct functions functions;
    struct pointer_map routines; /* by state */
    struct spare_tracks spares;
    struct universe *next;
    pthread_t thread; /* that started it */
};

/* The universe of L; NULL: it was never recorded. */
struct universe *universe_of(lua_State *L);

/* The module's other copy, from another file, if that one has been at work here: two would call each other's hooks. */
lua_CFunction other_module(lua_State *L);

/* Makes one, kept by the registry, if need be, and records it. count: instructions between two looks; 0: every call. */
int universe_start(lua_State *L, int count);
/* Ends all calls and takes the hooks off. L: any state of it. */
void universe_stop(struct universe *universe, lua_State *L);

/* ---- lua_routines.c ---- */

/* What this thread runs. Checked against `epoch`, which changes when a universe stops, before `routine` is looked at. */
struct running {
    lua_State *L;
    const void *base;
    struct routine *routine;
    uint32_t epoch;
    uint32_t generation; /* of the recorder */
    /* What running_look() saw last: the place of the innermost call that is told, and is it recorded? Only sparse_event() reads these;
     * with another hook they may lag. */
    uintptr_t told_at;
    bool is_in_recorded;
    struct function_place *places;
    struct lam_track track;
};
extern __thread struct running running
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
extern uint32_t epoch __attribute__((visibility("hidden"))); /* atomic */
extern uint32_t forks; /* of this process, since it was another */

/* acquire: pairs with the release in universe_stop(), so that a routine that is gone is not taken for valid. */
static inline uint32_t epoch_now(void)
{
    return __atomic_load_n(&epoch, __ATOMIC_ACQUIRE);
}

static inline uint32_t recorder_now(void)
{
    return __atomic_load_n(&lam_on, __ATOMIC_RELAXED);
}

/* After whatever changes the shadow of what runs. */
static inline void running_look(void)
{
    if (!running.routine)
        return;
    const struct shadow *top = running.routine->stack.top;
    running.told_at = top->place;
    running.is_in_recorded = top->open.told & LAM_TOLD_RECORDED;
}

/* The routine of L if it has one; or made, NULL: no memory. */
struct routine *routine_of(struct universe *universe, lua_State *L);
struct routine *routine_for(struct universe *universe, lua_State *L);
void routines_free(struct universe *universe);
void run(struct routine *routine, struct lam_track track);
/* The routine that runs yields or is over. */
void go_back(struct routine *routine);
/* It has ended, by itself, by an error, or unnoticed; `end`: its track must be running. */
void routine_end(struct routine *routine);
void routine_end_elsewhere(struct routine *routine);
/* Takes off the shadow what is not on the way from `call`, which is open, outwards. */
void routine_settle(struct routine *routine, const void *call);
/* Makes the shadow what Lua's stack is from `level` outwards (0: all of it), as far as there is memory. */
void routine_align(struct routine *routine, lua_State *L, int level);
/* Something happens in L, which did not run until now. Returns false when it is not to be recorded. */
bool routine_arrive(lua_State *L, lua_Debug *ar);

/* ---- lua_events.c ---- */

/* Sets our hook on L, on top of the one that routine->inner names; takes it off; is it set? */
void routine_hook(struct universe *universe, struct routine *routine, lua_State *L);
void routine_unhook(const struct routine *routine, lua_State *L);
bool universe_hooks(lua_State *L);

#endif
