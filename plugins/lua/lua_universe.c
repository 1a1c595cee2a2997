/* lua_universe.c: starting and stopping. */
#include "lua_universe.h"

static struct universe *universes;
static pthread_mutex_t universes_lock = PTHREAD_MUTEX_INITIALIZER;
static const char registry_key;
#define REGISTRY_MODULE "lamella" /* luaopen_lamella of the copy that was first */

static void forked(void)
{
    forks++;
    epoch++;
    running.track.id = 0;
    running.L = NULL;
}

static void init_process(void)
{
    pthread_atfork(NULL, NULL, forked);
}

struct universe *universe_of(lua_State *L)
{
    struct universe *universe = NULL;
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &registry_key) == LUA_TUSERDATA)
        universe = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return universe;
}

/* Its universe was there, and is freed: lua_close() is at work. */
static bool is_closed(lua_State *L)
{
    bool is = lua_rawgetp(L, LUA_REGISTRYINDEX, &registry_key) == LUA_TBOOLEAN;
    lua_pop(L, 1);
    return is;
}

static void universe_free(struct universe *universe)
{
    pthread_mutex_lock(&universes_lock);
    struct universe **link = &universes;
    while (*link && *link != universe)
        link = &(*link)->next;
    if (*link)
        *link = universe->next;
    pthread_mutex_unlock(&universes_lock);
    routines_free(universe);
    functions_free(&universe->functions);
}

static int on_close(lua_State *L)
{
    struct universe *universe = lua_touserdata(L, 1);
    universe_stop(universe, L);
    universe_free(universe);
    lua_pushboolean(L, 0); /* a finalizer that comes later starts nothing anew */
    lua_rawsetp(L, LUA_REGISTRYINDEX, &registry_key);
    return 0;
}

lua_CFunction other_module(lua_State *L)
{
    lua_getfield(L, LUA_REGISTRYINDEX, REGISTRY_MODULE);
    lua_CFunction module = lua_tocfunction(L, -1);
    lua_pop(L, 1);
    return module == luaopen_lamella ? NULL : module;
}

static int make_universe(struct universe **out, lua_State *L)
{
    struct universe *universe = lua_newuserdatauv(L, sizeof *universe, 0);
    lua_Hook hook = lua_gethook(L);
    int mask = lua_gethookmask(L), count = lua_gethookcount(L);
    lua_sethook(L, NULL, 0, 0); /* the script's: what is tried below is no concern of its */
    *universe = (struct universe){.thread = pthread_self()};
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
    universe->main = lua_tothread(L, -1);
    lua_pop(L, 1);
    bool is_known = frames_probe(L);
    int rc = functions_init(&universe->functions, L);
    lua_sethook(L, hook, mask, count);
    if (!is_known || rc < 0) {
        functions_free(&universe->functions);
        lua_pop(L, 1);
        return is_known ? rc : LAM_E_UNSUPPORTED;
    }
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, on_close);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &registry_key);
    lua_pushcfunction(L, luaopen_lamella);
    lua_setfield(L, LUA_REGISTRYINDEX, REGISTRY_MODULE);
    pthread_mutex_lock(&universes_lock);
    universe->next = universes;
    universes = universe;
    pthread_mutex_unlock(&universes_lock);
    *out = universe;
    return LAM_OK;
}

/* Is there anything but C below us? A coroutine could have been made before. */
static bool runs_lua(lua_State *L)
{
    lua_Debug ar;
    for (int level = 0; lua_getstack(L, level, &ar); level++)
        if (lua_getinfo(L, "S", &ar) && *ar.what != 'C')
            return true;
    return false;
}

static void hook_state(struct universe *universe, lua_State *L)
{
    struct routine *routine = routine_for(universe, L);
    if (!routine)
        return;
    if (!universe_hooks(L)) {
        routine->inner = lua_gethook(L);
        routine->inner_mask = lua_gethookmask(L);
        routine->inner_count = lua_gethookcount(L);
    }
    routine_hook(universe, routine, L);
}

int universe_start(lua_State *L, int count)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!recorder_now())
        return LAM_E_CLOSED;
    if (lua_version(L) != 504)
        return LAM_E_UNSUPPORTED;
    pthread_once(&once, init_process);
    struct universe *universe = universe_of(L);
    if (!universe && other_module(L))
        return LAM_OK;
    if (!universe && is_closed(L))
        return LAM_E_CLOSED;
    int rc = universe ? LAM_OK : make_universe(&universe, L);
    if (rc < 0)
        return rc;
    if (universe->is_on && universe_hooks(L) && universe_hooks(universe->main))
        return LAM_OK;
    if (!universe->is_on) { /* else the recorder was closed meanwhile, and what is open is told anew */
        universe->generation = recorder_now();
        universe->forks = forks;
    }
    universe->count = count;
    universe->is_on = true;
    universe->is_sparse = false;
    universe->resumed = NULL;
    universe->has_older = universe->has_older || runs_lua(L) || L != universe->main;
    hook_state(universe, universe->main);
    if (L != universe->main)
        hook_state(universe, L);
    lua_Debug ar = {.event = LUA_HOOKCOUNT};
    if (lua_getstack(L, 0, &ar) && routine_arrive(L, &ar))
        routine_align(running.routine, L, 0);
    return LAM_OK;
}

/* The calls that are open end now. On the thread that has run them. */
static void end_all(struct universe *universe)
{
    struct routine *main = routine_of(universe, universe->main);
    bool is_ours = false; /* whatever has happened to the epoch */
    pointer_map_each(&universe->routines, slot) is_ours |= slot->value == running.routine;
    struct lam_track outside = is_ours && main ? main->outside : running.track;
    pointer_map_each(&universe->routines, slot)
    {
        struct routine *routine = slot->value;
        if (shadow_is_empty(&routine->stack) || routine->is_stale)
            continue;
        run(routine, routine->track);
        routine_end(routine);
    }
    run(NULL, outside);
}

void universe_stop(struct universe *universe, lua_State *L)
{
    if (!universe->is_on)
        return;
    end_all(universe);
    universe->is_on = false;
    routine_unhook(routine_of(universe, universe->main), universe->main);
    routine_unhook(routine_of(universe, L), L);
    /* release: pairs with the acquire in epoch_now(). Other threads look again before they touch a routine. */
    __atomic_add_fetch(&epoch, 1, __ATOMIC_RELEASE);
}

/* os.exit, or exit() by the host: no state is closed. Only what this thread has run may be touched. */
__attribute__((destructor)) static void at_exit(void)
{
    /* A fork may have copied it locked. */
    if (pthread_mutex_trylock(&universes_lock) != 0)
        return;
    for (struct universe *universe = universes; universe; universe = universe->next)
        if (universe->is_on && pthread_equal(universe->thread, pthread_self()) &&
            universe->forks == forks && universe->generation == recorder_now())
            end_all(universe);
    pthread_mutex_unlock(&universes_lock);
}

/* ---- for hosts ---- */

int lam_lua_start(lua_State *L)
{
    return universe_start(L, 0);
}

void lam_lua_stop(lua_State *L)
{
    struct universe *universe = universe_of(L);
    if (universe)
        universe_stop(universe, L);
}

void lam_lua_settle(lua_State *L)
{
    struct universe *universe = universe_of(L);
    struct routine *routine = universe && universe->is_on ? routine_of(universe, L) : NULL;
    if (!routine || running.epoch != epoch_now() || running.generation != recorder_now())
        return;
    if (running.routine != routine && running.L == L)
        return;
    lua_Debug ar;
    bool is_over = lua_status(L) != LUA_YIELD && !lua_getstack(L, 0, &ar);
    if (running.routine == routine) {
        if (is_over)
            routine_end(routine);
        else if (lua_getstack(L, 0, &ar))
            routine_settle(routine, ar.i_ci);
        if (!routine->is_main || shadow_is_empty(&routine->stack))
            go_back(routine);
    } else if (is_over && routine->track.id) {
        routine_end_elsewhere(routine);
    }
}
