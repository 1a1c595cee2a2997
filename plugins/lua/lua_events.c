/* lua_events.c: from Lua's hook to calls. */
#include "lua_universe.h"

/* Coroutines from before the start are met when they are resumed. Whoever is resumed again and again is looked at once: where it lay
 * there can only be a newer one. */
static void hook_resumed(struct universe *universe, lua_State *L, lua_Debug *ar, uint32_t flags)
{
    const void *whom = call_value(ar->i_ci, flags & FUNCTION_WRAPS ? 0 : 1);
    if (whom == universe->resumed)
        return;
    universe->resumed = whom;
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
    if (flags & FUNCTION_RESUMES) {
        routine->resumes_at = call_place(ar->i_ci, routine->base);
        routine->resumes_by = (uint16_t)flags;
        if (routine->universe->has_older)
            hook_resumed(routine->universe, L, ar, flags);
    }
    /* What it yields to runs from here on. (If it may not yield, we shall hear of it again.) */
    if (flags & FUNCTION_YIELDS && !routine->is_main)
        go_back(routine);
}

static void call_event(lua_State *L, lua_Debug *ar);

static __attribute__((noinline)) void on_call(struct routine *routine, lua_State *L, lua_Debug *ar)
{
    struct shadow_stack *stack = &routine->stack;
    const void *outer = call_previous(ar->i_ci);
    uintptr_t place = call_place(ar->i_ci, routine->base), around = call_place(outer, routine->base);
    shadow_pop_from(stack, place);
    if (shadow_is_empty(stack) && outer != routine->base)
        routine_align(routine, L, 1);
    struct function *function = function_of(&routine->universe->functions, L, ar);
    if (!function)
        return;
    if (!function->callee.skip)
        routine_settle(routine, outer);
    bool is_inside =
        lam_callee_is_picked(&function->callee) && call_is_inside_own(ar->i_ci, routine->base);
    shadow_push_told(stack, place, around == stack->top->place, is_inside, &function->callee);
    if (function->callee.skip && lua_gethook(L) == call_event) {
        routine->universe->is_sparse = true;
        routine_hook(routine->universe, routine, L);
    }
    if (function->flags)
        special(routine, L, ar, function->flags);
    running_look();
}

static __attribute__((noinline)) void on_return(struct routine *routine, const lua_Debug *ar)
{
    struct shadow_stack *stack = &routine->stack;
    uintptr_t place = call_place(ar->i_ci, routine->base);
    if (shadow_is_empty(stack) || place > stack->top->place)
        return;
    shadow_pop_from(stack, place);
    if (shadow_is_empty(stack)) {
        routine_end(routine);
        go_back(routine);
    }
    running_look();
}

static void on_any(struct routine *routine, lua_State *L, lua_Debug *ar)
{
    if (ar->event == LUA_HOOKCALL || ar->event == LUA_HOOKTAILCALL)
        on_call(routine, L, ar);
    else if (ar->event == LUA_HOOKRET)
        on_return(routine, ar);
}

static inline bool is_here(lua_State *L)
{
    return __builtin_expect(
        running.L == L && running.generation == recorder_now() && running.epoch == epoch_now(), 1);
}

static __attribute__((noinline)) void event_elsewhere(lua_State *L, lua_Debug *ar)
{
    if (is_here(L) || routine_arrive(L, ar))
        on_any(running.routine, L, ar);
}

/* The usual hook: every call, no hook of the script's. What most events are goes without a call of a function but the recorder's,
 * last; so nothing is saved on the stack. */
static __attribute__((noinline)) void call_event(lua_State *L, lua_Debug *ar)
{
    if (!is_here(L)) {
        event_elsewhere(L, ar);
        return;
    }
    struct shadow_stack *stack = &running.routine->stack;
    struct shadow *top = stack->top;
    uintptr_t place = call_place(ar->i_ci, running.base);
    if (ar->event == LUA_HOOKRET) {
        if (__builtin_expect(place == top->place && top - 1 != stack->frames, 1)) {
            stack->top = top - 1;
            lam_callee_exit(LAM_DEFAULT, &top->open);
            return;
        }
    } else if (__builtin_expect(call_place(call_previous(ar->i_ci), running.base) == top->place &&
                                    top + 1 != stack->end,
                                1)) {
        bool is_lua;
        const void *key = call_function(ar->i_ci, &is_lua);
        struct function *function = function_peek(&running.routine->universe->functions, key);
        if (__builtin_expect(function->is_learnt && !function->flags && !function->callee.skip &&
                                 place > top->place && function_is_of(function, key, is_lua),
                             1)) {
            top[1].place = place;
            stack->top = top + 1;
            if (!lam_callee_skips(&function->callee, &top->open, &top[1].open))
                lam_callee_enter_event(LAM_DEFAULT, &function->callee, &top->open, &top[1].open);
            return;
        }
    }
    on_any(running.routine, L, ar);
}

/* Of what runs: the one in N, or a direct call of a recorded one. */
static void sparse_told(lua_State *L, lua_Debug *ar, const void *key)
{
    struct functions *functions = &running.routine->universe->functions;
    if (running.places[function_place_of(key)].key == key)
        function_bring_back(functions, key);
    if (lam_callee_is_picked(&function_search(functions, key)->callee))
        event_elsewhere(L, ar); /* the long way: is it inside of another call of its function? */
    else
        call_event(L, ar);
}

/* What is not left out, or has no place yet. */
static __attribute__((noinline)) void sparse_slowly(lua_State *L, lua_Debug *ar)
{
    bool is_lua, is_call = ar->event != LUA_HOOKRET;
    const void *key = is_call ? call_function(ar->i_ci, &is_lua) : NULL;
    if (is_call && is_here(L))
        sparse_told(L, ar, key);
    else
        call_event(L, ar);
    if (running.epoch != epoch_now() || !running.routine)
        return;
    running_look();
    if (!is_call)
        return;
    struct functions *functions = &running.routine->universe->functions;
    struct function *function = function_search(functions, key);
    if (function->callee.skip)
        function_put_away(functions, key, function);
}

/* A direct call of a recorded one, for whose self time some are timed: is this such a one? */
static inline bool is_to_be_timed(void)
{
    struct lam_open_call *around = &running.routine->stack.top->open;
    if (around->handle.start <= 1)
        return true;
    around->handle.start--;
    return false;
}

/* The usual hook once calls are left out (one in N): most events are of such and end here, after a look at the place of the call and
 * at how many of its function come before the next one that is told. A prototype that lies where another one did is told from that
 * then. Whatever it calls it calls last. */
static void sparse_event(lua_State *L, lua_Debug *ar)
{
    const void *call = ar->i_ci;
    if (__builtin_expect(running.L != L || running.epoch != epoch_now() ||
                             call_place(call, running.base) <= running.told_at,
                         0)) {
        sparse_slowly(L, ar);
        return;
    }
    if (ar->event == LUA_HOOKRET)
        return;
    bool is_lua;
    const void *key = call_function(call, &is_lua);
    struct function_place *place = &running.places[function_place_of(key)];
    if (__builtin_expect(place->key != key || !place->skip, 0) ||
        (running.is_in_recorded &&
         call_place(call_previous(call), running.base) == running.told_at && is_to_be_timed())) {
        sparse_slowly(L, ar);
        return;
    }
    place->skip--;
    if (__builtin_expect(place->flags, 0))
        special(running.routine, L, ar, place->flags);
}

/* The script's own hook, last: it may raise an error. */
static void call_inner(const struct routine *routine, lua_State *L, lua_Debug *ar)
{
    static const int masks[] = {LUA_MASKCALL, LUA_MASKRET, LUA_MASKLINE, LUA_MASKCOUNT, LUA_MASKCALL};
    if (ar->event >= 0 && ar->event <= LUA_HOOKTAILCALL && routine->inner_mask & masks[ar->event])
        routine->inner(L, ar);
}

static void other_event(lua_State *L, lua_Debug *ar)
{
    if (!is_here(L) && !routine_arrive(L, ar))
        return;
    struct routine *routine = running.routine;
    if (!routine->universe->count)
        on_any(routine, L, ar);
    else if (ar->event == LUA_HOOKCOUNT)
        routine_align(routine, L, 0);
    if (routine->inner)
        call_inner(routine, L, ar);
}

/* ---- the hook ---- */

void routine_hook(struct universe *universe, struct routine *routine, lua_State *L)
{
    bool is_usual = !universe->count && !(routine && routine->inner);
    int mask = universe->count ? LUA_MASKCOUNT : LUA_MASKCALL | LUA_MASKRET;
    int count = universe->count;
    if (routine && routine->inner) {
        mask |= routine->inner_mask;
        count = count ? count : routine->inner_count;
    }
    lua_Hook usual = universe->is_sparse ? sparse_event : call_event;
    lua_sethook(L, is_usual ? usual : other_event, mask, count);
}

bool universe_hooks(lua_State *L)
{
    lua_Hook hook = lua_gethook(L);
    return hook == call_event || hook == sparse_event || hook == other_event;
}

void routine_unhook(const struct routine *routine, lua_State *L)
{
    if (!universe_hooks(L))
        return;
    if (routine && routine->inner)
        lua_sethook(L, routine->inner, routine->inner_mask, routine->inner_count);
    else
        lua_sethook(L, NULL, 0, 0);
}
