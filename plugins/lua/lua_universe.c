/* lua_universe.c: from Lua's hooks to calls and tracks.
 *
 * Nothing here asks Lua for memory while a program runs, nor raises an error. */
#include "lua_universe.h"

#include <stdlib.h>

enum {
    FIRST_FRAMES = 16,
    FIRST_ROUTINES = 64,
    SPARES_MAX = 4096,
    SPARES_LOOK = 64,
    LEVELS_ASKED = 4096 /* one by one: Lua counts from the innermost each time */
};

/* What this thread runs. Checked against `epoch`, which changes when a universe stops, before `routine` is looked at. */
static __thread struct {
    lua_State *L;
    struct routine *routine;
    uint32_t epoch;
    uint32_t generation; /* of the recorder */
    struct lam_track track;
} running __attribute__((tls_model("initial-exec")));

static uint32_t epoch = 1; /* atomic */
static uint32_t forks;     /* of this process, since it was another */
static struct universe *universes;
static pthread_mutex_t universes_lock = PTHREAD_MUTEX_INITIALIZER;
static const char registry_key;

static void call_event(lua_State *L, lua_Debug *ar);
static void other_event(lua_State *L, lua_Debug *ar);

static uint32_t recorder_now(void)
{
    return __atomic_load_n(&lam_on, __ATOMIC_RELAXED);
}

/* ---- shadows ---- */

static inline void pop(struct routine *routine)
{
    uint32_t label = (routine->top--)->label;
    if (label)
        lam_call_exit(LAM_DEFAULT, (struct lam_label){label});
}

static __attribute__((noinline)) bool grow(struct routine *routine, size_t more)
{
    size_t used = (size_t)(routine->top - routine->frames) + 1;
    size_t size = routine->end ? (size_t)(routine->end - routine->frames) : FIRST_FRAMES / 2;
    while (size < used + more)
        size *= 2;
    struct shadow *frames = realloc(routine->frames, size * sizeof *frames);
    if (!frames)
        return false;
    routine->frames = frames;
    routine->top = frames + used - 1;
    routine->end = frames + size;
    return true;
}

/* Without memory a call is not seen; its return will find nothing to end. */
static inline void push(struct routine *routine, const void *call, const struct function *function)
{
    if (__builtin_expect(routine->top + 1 == routine->end, 0) && !grow(routine, 1))
        return;
    *++routine->top = (struct shadow){call, function->label, function->flags};
    if (function->label)
        lam_call_enter(LAM_DEFAULT, (struct lam_label){function->label});
}

static void pop_to(struct routine *routine, const struct shadow *frame)
{
    while (routine->top > frame)
        pop(routine);
}

static struct shadow *find_shadow(struct routine *routine, const void *call)
{
    struct shadow *frame = routine->top;
    while (frame > routine->frames && frame->call != call)
        frame--;
    return frame->call == call ? frame : NULL;
}

static bool next_outer(const struct universe *universe, lua_State *L, int level, lua_Debug *ar)
{
    if (!universe->functions.peeks)
        return level < LEVELS_ASKED && lua_getstack(L, level, ar);
    const void *call = call_previous(ar->i_ci);
    ar->i_ci = (struct CallInfo *)(uintptr_t)call;
    return call_previous(call) != NULL; /* the first element of the list is no call */
}

/* Makes the shadow what Lua's stack is from `level` outwards (0: all of it). Returns false without memory. */
static bool align(struct routine *routine, lua_State *L, int level)
{
    struct universe *universe = routine->universe;
    lua_Debug ar;
    size_t depth = 0, known = (size_t)(routine->top - routine->frames);
    bool is_there = lua_getstack(L, level, &ar);
    lua_Debug innermost = ar;
    for (int at = level; is_there; depth++)
        is_there = next_outer(universe, L, ++at, &ar);
    if (!grow(routine, depth + depth))
        return false;
    /* The calls as they are now, behind the shadow; of those with other addresses, what they run is told below. */
    struct shadow *fresh = routine->top + 1;
    if (universe->functions.peeks && depth)
        routine->frames->call = ar.i_ci;
    ar = innermost;
    for (size_t i = depth; i-- > 0;) {
        const struct function *function = function_of(&universe->functions, L, &ar);
        fresh[i] = function ? (struct shadow){ar.i_ci, function->label, function->flags}
                            : (struct shadow){ar.i_ci, 0, 0};
        next_outer(universe, L, ++level, &ar);
    }
    size_t same = 0;
    while (same < known && same < depth && routine->frames[same + 1].call == fresh[same].call &&
           routine->frames[same + 1].label == fresh[same].label)
        same++;
    pop_to(routine, routine->frames + same);
    for (size_t i = same; i < depth; i++) {
        struct function like = {.label = fresh[i].label, .flags = fresh[i].flags};
        push(routine, fresh[i].call, &like);
    }
    return true;
}

/* ---- who runs ---- */

static void run(struct routine *routine, struct lam_track track)
{
    if (running.track.id != track.id)
        lam_track_switch(LAM_DEFAULT, track);
    running.track = track;
    running.routine = routine;
    running.L = routine ? routine->L : NULL;
}

/* The routine that runs yields or is over. */
static void go_back(struct routine *routine)
{
    struct routine *resumer = routine->resumer;
    run(resumer, resumer ? resumer->track : routine->outside);
}

static bool get_track(struct routine *routine, uint32_t label)
{
    struct universe *universe = routine->universe;
    routine->track_label = label;
    routine->has_track = true;
    uint32_t look = universe->spare_count < SPARES_LOOK ? universe->spare_count : SPARES_LOOK;
    for (uint32_t i = 1; i <= look; i++) {
        struct spare_track *spare = &universe->spares[universe->spare_count - i];
        if (spare->label == label) {
            routine->track = spare->track;
            *spare = universe->spares[--universe->spare_count];
            return true;
        }
    }
    routine->track = lam_track_create(LAM_DEFAULT, (struct lam_label){label});
    return routine->track.id != 0;
}

static void give_track(struct routine *routine)
{
    struct universe *universe = routine->universe;
    routine->has_track = false;
    if (universe->spare_count == universe->spare_capacity && universe->spare_capacity < SPARES_MAX) {
        uint32_t capacity = universe->spare_capacity ? universe->spare_capacity * 2 : FIRST_ROUTINES;
        struct spare_track *spares = realloc(universe->spares, capacity * sizeof *spares);
        if (spares) {
            universe->spares = spares;
            universe->spare_capacity = capacity;
        }
    }
    if (universe->spare_count < universe->spare_capacity)
        universe->spares[universe->spare_count++] =
            (struct spare_track){routine->track, routine->track_label};
    else
        lam_track_end(LAM_DEFAULT, routine->track);
}

/* It has ended, by itself, by an error, or unnoticed. Its track must be running. */
static void end_routine(struct routine *routine)
{
    pop_to(routine, routine->frames);
    if (!routine->is_main && routine->has_track)
        give_track(routine);
}

static void end_elsewhere(struct routine *routine)
{
    struct routine *before = running.routine;
    struct lam_track track = running.track;
    if (routine->has_track) {
        run(routine, routine->track);
        end_routine(routine);
        run(before, track);
    } else {
        pop_to(routine, routine->frames);
    }
}

/* ---- routines ---- */

static uint32_t state_hash(const lua_State *L)
{
    return (uint32_t)((uint64_t)(uintptr_t)L * 0x9e3779b97f4a7c15ull >> 36);
}

static struct routine **place_of(struct routine **routines, uint32_t mask, const lua_State *L)
{
    uint32_t at = state_hash(L) & mask;
    while (routines[at] && routines[at]->L != L)
        at = (at + 1) & mask;
    return &routines[at];
}

struct routine *routine_of(struct universe *universe, lua_State *L)
{
    return universe->routines ? *place_of(universe->routines, universe->routine_mask, L) : NULL;
}

static int grow_routines(struct universe *universe)
{
    uint32_t size = universe->routines ? (universe->routine_mask + 1) * 2 : FIRST_ROUTINES;
    struct routine **routines = calloc(size, sizeof *routines);
    if (!routines)
        return LAM_E_NOMEM;
    for (uint32_t i = 0; universe->routines && i <= universe->routine_mask; i++)
        if (universe->routines[i])
            *place_of(routines, size - 1, universe->routines[i]->L) = universe->routines[i];
    free(universe->routines);
    universe->routines = routines;
    universe->routine_mask = size - 1;
    return LAM_OK;
}

struct routine *routine_for(struct universe *universe, lua_State *L)
{
    struct routine *routine = routine_of(universe, L);
    if (routine)
        return routine;
    if ((!universe->routines || universe->routine_count * 2 > universe->routine_mask) &&
        grow_routines(universe) < 0)
        return NULL;
    routine = calloc(1, sizeof *routine);
    if (!routine)
        return NULL;
    routine->L = L;
    routine->universe = universe;
    routine->is_main = L == universe->main;
    if (!grow(routine, 1)) {
        free(routine);
        return NULL;
    }
    *routine->top = (struct shadow){NULL, 0, 0};
    universe->routine_count++;
    return *place_of(universe->routines, universe->routine_mask, L) = routine;
}

void routine_hook(struct universe *universe, struct routine *routine, lua_State *L)
{
    int mask = universe->count ? LUA_MASKCOUNT : LUA_MASKCALL | LUA_MASKRET;
    int count = universe->count;
    if (routine && routine->inner) {
        mask |= routine->inner_mask;
        count = count ? count : routine->inner_count;
    }
    lua_sethook(L, universe->count || (routine && routine->inner) ? other_event : call_event, mask,
                count);
}

bool universe_hooks(lua_State *L)
{
    lua_Hook hook = lua_gethook(L);
    return hook == call_event || hook == other_event;
}

static void unhook(const struct routine *routine, lua_State *L)
{
    if (!universe_hooks(L))
        return;
    if (routine && routine->inner)
        lua_sethook(L, routine->inner, routine->inner_mask, routine->inner_count);
    else
        lua_sethook(L, NULL, 0, 0);
}

/* Another stream has begun: a forked child's, or the recorder was opened again. What is open is told there anew. */
static void begin_anew(struct universe *universe)
{
    universe->spare_count = 0;
    for (uint32_t i = 0; universe->routines && i <= universe->routine_mask; i++)
        if (universe->routines[i]) {
            universe->routines[i]->is_stale = true;
            universe->routines[i]->has_track = false;
            universe->routines[i]->outside.id = 0;
        }
    universe->forks = forks;
    universe->generation = recorder_now();
}

static void tell_again(struct routine *routine)
{
    routine->is_stale = false;
    for (struct shadow *frame = routine->frames + 1; frame <= routine->top; frame++)
        if (frame->label)
            lam_call_enter(LAM_DEFAULT, (struct lam_label){frame->label});
}

/* `from` ran until now, `to` runs again. If an error ended `from`, and that can be told, it is over. */
static void left(struct routine *from, struct routine *to, const lua_Debug *ar)
{
    if (from->resumer != to || !(to->top->flags & FUNCTION_RESUMES) || to->universe->count)
        return;
    bool is_return = ar->event == LUA_HOOKRET && to->top->call == (const void *)ar->i_ci;
    /* While resume returns it still holds the coroutine; that of a wrap is over if it did not return. */
    bool is_over =
        is_return ? !(to->top->flags & FUNCTION_WRAPS) && lua_status(from->L) > LUA_YIELD : true;
    if (is_over)
        end_routine(from);
}

/* Something happens in L, which did not run until now. Returns false when it is not to be recorded. */
static __attribute__((noinline)) bool arrive(lua_State *L, lua_Debug *ar)
{
    struct universe *universe = universe_of(L);
    struct routine *routine = universe ? routine_of(universe, L) : NULL;
    uint32_t generation = recorder_now();
    if (!universe || !universe->is_on || !generation) {
        unhook(routine, L);
        return false;
    }
    if (running.generation != generation)
        running.track.id = 0;
    bool is_valid = running.epoch == __atomic_load_n(&epoch, __ATOMIC_ACQUIRE);
    struct routine *from = is_valid ? running.routine : NULL;
    running.epoch = __atomic_load_n(&epoch, __ATOMIC_ACQUIRE);
    running.generation = generation;
    if (universe->forks != forks || universe->generation != generation)
        begin_anew(universe);
    bool was_here = running.L == L && routine && !routine->is_stale;
    if (!routine) {
        routine = routine_for(universe, L);
        if (!routine)
            return false;
        routine_hook(universe, NULL, L); /* its mask may be what the maker's script had asked for */
    }
    lua_Debug up = *ar;
    bool is_first = ar->event == LUA_HOOKCALL && !lua_getstack(L, 1, &up);
    bool is_inside = from && from->universe == universe;
    if (is_inside && from != routine)
        left(from, routine, ar);
    if (is_first && !routine->is_main && routine->top > routine->frames)
        end_elsewhere(routine); /* Lua has collected it, or the host took it again */
    if (!is_inside && !was_here) {
        routine->outside = running.track;
        routine->resumer = NULL;
    } else if (is_inside && from != routine && from->resumer != routine) {
        routine->resumer = from;
    }
    if (!routine->has_track) {
        const struct function *body =
            routine->is_main ? NULL : function_of(&universe->functions, L, ar);
        get_track(routine, body ? body->label : lam_label_intern(LAM_DEFAULT, "main", 4).id);
    }
    run(routine, routine->track);
    if (routine->is_stale)
        tell_again(routine);
    return true;
}

/* ---- events ---- */

/* Coroutines from before the start are met when they are resumed. */
static void hook_resumed(struct universe *universe, lua_State *L, lua_Debug *ar, uint32_t flags)
{
    int top = lua_gettop(L);
    if (flags & FUNCTION_WRAPS) {
        lua_getinfo(L, "f", ar);
        lua_getupvalue(L, -1, 1);
    } else {
        lua_getlocal(L, ar, 1);
    }
    lua_State *resumed = lua_gettop(L) > top ? lua_tothread(L, -1) : NULL;
    if (resumed && !lua_gethook(resumed))
        routine_hook(universe, routine_of(universe, resumed), resumed);
    lua_settop(L, top);
}

/* A call of what is not an ordinary function. */
static __attribute__((noinline)) void special(struct routine *routine, lua_State *L, lua_Debug *ar,
                                              uint32_t flags)
{
    if (flags & FUNCTION_RESUMES && routine->universe->has_older)
        hook_resumed(routine->universe, L, ar, flags);
    /* What it yields to runs from here on. (If it may not yield, we shall hear of it again.) */
    if (flags & FUNCTION_YIELDS && !routine->is_main)
        go_back(routine);
}

/* Takes off what errors have left, so that the call `outer` is on top. */
static __attribute__((noinline)) void unwind(struct routine *routine, lua_State *L, const void *outer)
{
    struct shadow *frame = find_shadow(routine, outer);
    if (frame)
        pop_to(routine, frame);
    else if (align(routine, L, 1) && routine->top == routine->frames)
        routine->frames->call = outer;
}

static inline __attribute__((always_inline)) void on_call(struct routine *routine, lua_State *L,
                                                          lua_Debug *ar)
{
    struct functions *functions = &routine->universe->functions;
    const void *outer;
    if (__builtin_expect(functions->peeks, 1)) {
        outer = call_previous(ar->i_ci);
    } else {
        lua_Debug up;
        outer = lua_getstack(L, 1, &up) ? up.i_ci : NULL;
    }
    if (__builtin_expect(routine->top->call != outer, 0))
        unwind(routine, L, outer);
    const struct function *function = function_of(functions, L, ar);
    if (__builtin_expect(!function, 0))
        return;
    push(routine, ar->i_ci, function);
    if (__builtin_expect(function->flags != 0, 0))
        special(routine, L, ar, function->flags);
}

static inline void on_return(struct routine *routine, const lua_Debug *ar)
{
    const void *call = ar->i_ci;
    if (__builtin_expect(routine->top->call != call, 0)) {
        struct shadow *frame = find_shadow(routine, call);
        if (!frame)
            return;
        pop_to(routine, frame);
    }
    pop(routine);
    if (__builtin_expect(routine->top == routine->frames, 0)) {
        end_routine(routine);
        go_back(routine);
    }
}

static __attribute__((noinline)) void on_tail_call(struct routine *routine, lua_State *L,
                                                   lua_Debug *ar)
{
    struct shadow *frame = find_shadow(routine, ar->i_ci);
    if (frame)
        pop_to(routine, frame - 1);
    on_call(routine, L, ar);
}

/* The script's own hook, last: it may raise an error. */
static void call_inner(const struct routine *routine, lua_State *L, lua_Debug *ar)
{
    static const int masks[] = {LUA_MASKCALL, LUA_MASKRET, LUA_MASKLINE, LUA_MASKCOUNT, LUA_MASKCALL};
    if (ar->event >= 0 && ar->event <= LUA_HOOKTAILCALL && routine->inner_mask & masks[ar->event])
        routine->inner(L, ar);
}

static inline bool is_here(lua_State *L)
{
    /* acquire: pairs with the release in universe_stop(), so that a routine that is gone is not taken for valid. */
    return __builtin_expect(running.L == L && running.generation == recorder_now() &&
                                running.epoch == __atomic_load_n(&epoch, __ATOMIC_ACQUIRE),
                            1);
}

static inline void on_any_call(lua_State *L, lua_Debug *ar)
{
    if (ar->event == LUA_HOOKCALL)
        on_call(running.routine, L, ar);
    else if (ar->event == LUA_HOOKRET)
        on_return(running.routine, ar);
    else if (ar->event == LUA_HOOKTAILCALL)
        on_tail_call(running.routine, L, ar);
}

/* The usual one: every call, and no hook of the script's. */
static void call_event(lua_State *L, lua_Debug *ar)
{
    if (is_here(L) || arrive(L, ar))
        on_any_call(L, ar);
}

static void other_event(lua_State *L, lua_Debug *ar)
{
    if (!is_here(L) && !arrive(L, ar))
        return;
    struct routine *routine = running.routine;
    if (!routine->universe->count)
        on_any_call(L, ar);
    else if (ar->event == LUA_HOOKCOUNT)
        align(routine, L, 0);
    if (routine->inner)
        call_inner(routine, L, ar);
}

/* ---- starting and stopping ---- */

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

static int on_close(lua_State *L)
{
    struct universe *universe = lua_touserdata(L, 1);
    universe_stop(universe, L);
    universe_free(universe);
    return 0;
}

static struct universe *make_universe(lua_State *L)
{
    struct universe *universe = lua_newuserdatauv(L, sizeof *universe, 0);
    *universe = (struct universe){.thread = pthread_self()};
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
    universe->main = lua_tothread(L, -1);
    lua_pop(L, 1);
    const char *wish = getenv("LAMELLA_LUA");
    bool peeks = !(wish && strcmp(wish, "api") == 0) && frames_probe(L);
    if (functions_init(&universe->functions, L, peeks) < 0) {
        lua_pop(L, 1);
        return NULL;
    }
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, on_close);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &registry_key);
    pthread_mutex_lock(&universes_lock);
    universe->next = universes;
    universes = universe;
    pthread_mutex_unlock(&universes_lock);
    return universe;
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
    if (!universe)
        universe = make_universe(L);
    if (!universe)
        return LAM_E_NOMEM;
    if (universe->is_on)
        return LAM_OK;
    universe->count = count;
    universe->is_on = true;
    universe->generation = recorder_now();
    universe->forks = forks;
    universe->has_older = universe->has_older || runs_lua(L) || L != universe->main;
    hook_state(universe, universe->main);
    if (L != universe->main)
        hook_state(universe, L);
    lua_Debug ar = {.event = LUA_HOOKCOUNT};
    if (lua_getstack(L, 0, &ar) && arrive(L, &ar))
        align(running.routine, L, 0);
    return LAM_OK;
}

/* The calls that are open end now. On the thread that has run them. */
static void end_all(struct universe *universe)
{
    struct routine *main = universe->routines ? routine_of(universe, universe->main) : NULL;
    bool is_ours = running.epoch == epoch && running.routine && running.routine->universe == universe;
    struct lam_track outside = is_ours && main ? main->outside : running.track;
    for (uint32_t i = 0; universe->routines && i <= universe->routine_mask; i++) {
        struct routine *routine = universe->routines[i];
        if (!routine || routine->top == routine->frames || routine->is_stale)
            continue;
        run(routine, routine->track);
        end_routine(routine);
    }
    run(NULL, outside);
}

void universe_stop(struct universe *universe, lua_State *L)
{
    if (!universe->is_on)
        return;
    end_all(universe);
    universe->is_on = false;
    unhook(routine_of(universe, universe->main), universe->main);
    unhook(routine_of(universe, L), L);
    /* release: pairs with the acquire in universe_event(). Other threads look again before they touch a routine. */
    __atomic_add_fetch(&epoch, 1, __ATOMIC_RELEASE);
}

void universe_free(struct universe *universe)
{
    pthread_mutex_lock(&universes_lock);
    struct universe **link = &universes;
    while (*link && *link != universe)
        link = &(*link)->next;
    if (*link)
        *link = universe->next;
    pthread_mutex_unlock(&universes_lock);
    for (uint32_t i = 0; universe->routines && i <= universe->routine_mask; i++)
        if (universe->routines[i]) {
            free(universe->routines[i]->frames);
            free(universe->routines[i]);
        }
    free(universe->routines);
    free(universe->spares);
    functions_free(&universe->functions);
    universe->routines = NULL;
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
    if (!routine || running.epoch != epoch || running.generation != recorder_now())
        return;
    if (running.routine != routine && running.L == L)
        return;
    bool is_over = lua_status(L) != LUA_YIELD && !lua_getstack(L, 0, &(lua_Debug){0});
    if (running.routine == routine) {
        if (is_over)
            end_routine(routine);
        else
            align(routine, L, 0);
        if (!routine->is_main || routine->top == routine->frames)
            go_back(routine);
    } else if (is_over && routine->has_track) {
        end_elsewhere(routine);
    }
}
