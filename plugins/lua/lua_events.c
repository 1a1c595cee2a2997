/* lua_events.c: from Lua's hook to calls. */
#include "lua_universe.h"

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
    struct shadow *frame = shadow_find(&routine->stack, outer);
    if (frame)
        shadow_pop_to(&routine->stack, frame);
    else if (routine_align(routine, L, 1) && shadow_is_empty(&routine->stack))
        routine->stack.frames->call = outer;
}

static __attribute__((noinline)) void on_call(struct routine *routine, lua_State *L, lua_Debug *ar)
{
    struct functions *functions = &routine->universe->functions;
    lua_Debug up;
    const void *outer = functions->peeks          ? call_previous(ar->i_ci)
                        : lua_getstack(L, 1, &up) ? up.i_ci
                                                  : NULL;
    if (routine->stack.top->call != outer)
        unwind(routine, L, outer);
    struct function *function = function_of(functions, L, ar);
    if (!function)
        return;
    shadow_push(&routine->stack, ar->i_ci, &function->callee, function->flags);
    if (function->flags)
        special(routine, L, ar, function->flags);
}

static __attribute__((noinline)) void on_return(struct routine *routine, const lua_Debug *ar)
{
    struct shadow_stack *stack = &routine->stack;
    struct shadow *frame = shadow_find(stack, ar->i_ci);
    if (!frame || frame == stack->frames)
        return;
    shadow_pop_to(stack, frame - 1);
    if (shadow_is_empty(stack)) {
        routine_end(routine);
        go_back(routine);
    }
}

static __attribute__((noinline)) void on_tail_call(struct routine *routine, lua_State *L,
                                                   lua_Debug *ar)
{
    struct shadow *frame = shadow_find(&routine->stack, ar->i_ci);
    if (frame && frame > routine->stack.frames)
        shadow_pop_to(&routine->stack, frame - 1);
    on_call(routine, L, ar);
}

static void on_any(struct routine *routine, lua_State *L, lua_Debug *ar)
{
    if (ar->event == LUA_HOOKCALL)
        on_call(routine, L, ar);
    else if (ar->event == LUA_HOOKRET)
        on_return(routine, ar);
    else if (ar->event == LUA_HOOKTAILCALL)
        on_tail_call(routine, L, ar);
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

/* The usual hook: every call, no hook of the script's, and calls can be looked at. What most events are goes without a call of a
 * function but the recorder's, last; so nothing is saved on the stack. */
static void call_event(lua_State *L, lua_Debug *ar)
{
    if (!is_here(L)) {
        event_elsewhere(L, ar);
        return;
    }
    struct shadow_stack *stack = &running.routine->stack;
    struct shadow *top = stack->top;
    const void *call = ar->i_ci;
    if (ar->event == LUA_HOOKCALL && __builtin_expect(top->call == call_previous(call), 1)) {
        struct function *function = function_peek(&running.routine->universe->functions, ar);
        if (__builtin_expect(function && !function->flags && top + 1 != stack->end, 1)) {
            top[1].call = call;
            top[1].open.host = 0;
            stack->top = top + 1;
            if (!lam_callee_skips(&function->callee, &top->open, &top[1].open))
                lam_callee_enter_event(LAM_DEFAULT, &function->callee, top->open.told, &top[1].open);
            return;
        }
    } else if (ar->event == LUA_HOOKRET && __builtin_expect(top->call == call, 1)) {
        if (__builtin_expect(top - 1 != stack->frames, 1)) {
            stack->top = top - 1;
            lam_callee_exit(LAM_DEFAULT, &top->open);
            return;
        }
    }
    on_any(running.routine, L, ar);
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
    bool is_usual = !universe->count && universe->functions.peeks && !(routine && routine->inner);
    int mask = universe->count ? LUA_MASKCOUNT : LUA_MASKCALL | LUA_MASKRET;
    int count = universe->count;
    if (routine && routine->inner) {
        mask |= routine->inner_mask;
        count = count ? count : routine->inner_count;
    }
    lua_sethook(L, is_usual ? call_event : other_event, mask, count);
}

bool universe_hooks(lua_State *L)
{
    lua_Hook hook = lua_gethook(L);
    return hook == call_event || hook == other_event;
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
