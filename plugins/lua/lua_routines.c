/* lua_routines.c: which coroutine runs, and on which track. */
#include "lua_universe.h"

__thread struct running running;
uint32_t epoch = 1;
uint32_t forks;

/* ---- routines ---- */

struct routine *routine_of(struct universe *universe, lua_State *L)
{
    struct pointer_slot *slot = pointer_map_find(&universe->routines, L);
    return slot ? slot->value : NULL;
}

struct routine *routine_for(struct universe *universe, lua_State *L)
{
    struct routine *routine = routine_of(universe, L);
    if (routine)
        return routine;
    routine = calloc(1, sizeof *routine);
    struct pointer_slot *slot = NULL;
    if (routine && shadow_grow(&routine->stack, 1))
        slot = pointer_map_add(&universe->routines, L);
    if (!slot) {
        if (routine)
            free(routine->stack.frames);
        free(routine);
        return NULL;
    }
    routine->stack.frames->place = UINTPTR_MAX; /* nothing is further inside */
    routine->L = L;
    routine->universe = universe;
    routine->is_main = L == universe->main;
    slot->value = routine;
    return routine;
}

void routines_free(struct universe *universe)
{
    pointer_map_each(&universe->routines, slot)
    {
        struct routine *routine = slot->value;
        free(routine->stack.frames);
        free(routine);
    }
    pointer_map_clear(&universe->routines);
    free(universe->spares.items);
    universe->spares = (struct spare_tracks){NULL, 0, 0};
}

void routine_settle(struct routine *routine, const void *call)
{
    struct shadow_stack *stack = &routine->stack;
    while (!shadow_is_empty(stack)) {
        while (call_place(call, routine->base) > stack->top->place)
            call = call_previous(call);
        if (call_place(call, routine->base) == stack->top->place)
            break;
        shadow_pop(stack);
    }
    running_look();
}

void routine_align(struct routine *routine, lua_State *L, int level)
{
    struct shadow_stack *stack = &routine->stack;
    lua_Debug ar;
    if (!lua_getstack(L, level, &ar)) {
        shadow_pop_to(stack, stack->frames);
        return;
    }
    const void *innermost = ar.i_ci, *call = innermost;
    size_t depth = 0, known = (size_t)(stack->top - stack->frames), same = 0;
    for (; call != routine->base; call = call_previous(call))
        depth++;
    struct seen {
        uintptr_t place;
        struct function *function;
    } *fresh = calloc(depth + 1, sizeof *fresh);
    if (!fresh)
        return;
    for (size_t i = depth; i-- > 0; innermost = call_previous(innermost)) {
        ar.i_ci = (struct CallInfo *)(uintptr_t)innermost;
        fresh[i].place = call_place(innermost, routine->base);
        fresh[i].function = function_of(&routine->universe->functions, L, &ar);
    }
    while (same < known && same < depth && fresh[same].function &&
           stack->frames[same + 1].place == fresh[same].place &&
           stack->frames[same + 1].open.label == fresh[same].function->callee.label)
        same++;
    shadow_pop_to(stack, stack->frames + same);
    struct lam_callee unknown = {.label = 0};
    for (size_t i = same; i < depth; i++)
        shadow_push(stack, (const void *)fresh[i].place, // NOLINT(performance-no-int-to-ptr)
                    fresh[i].function ? &fresh[i].function->callee : &unknown, 0);
    free(fresh);
    running_look();
}

/* ---- who runs ---- */

void run(struct routine *routine, struct lam_track track)
{
    if (running.track.id != track.id)
        lam_track_switch(LAM_DEFAULT, track);
    running.track = track;
    running.routine = routine;
    running.L = routine ? routine->L : NULL;
    running.base = routine ? routine->base : NULL;
    if (routine)
        running.places = routine->universe->functions.places;
    running_look();
}

void go_back(struct routine *routine)
{
    struct routine *resumer = routine->resumer;
    run(resumer, resumer ? resumer->track : routine->outside);
}

void routine_end(struct routine *routine)
{
    shadow_pop_to(&routine->stack, routine->stack.frames);
    if (routine->is_main || !routine->track.id)
        return;
    spare_tracks_give(&routine->universe->spares, routine->track, routine->track_label);
    routine->track.id = 0;
}

void routine_end_elsewhere(struct routine *routine)
{
    struct routine *before = running.routine;
    struct lam_track track = running.track;
    if (routine->track.id)
        run(routine, routine->track);
    routine_end(routine);
    run(before, track);
}

/* Another stream has begun: a forked child's, or the recorder was opened again. What is open is told there anew. */
static void begin_anew(struct universe *universe)
{
    universe->spares.count = 0;
    pointer_map_each(&universe->routines, slot)
    {
        struct routine *routine = slot->value;
        routine->is_stale = true;
        routine->track.id = routine->outside.id = 0;
        shadow_forget(&routine->stack);
    }
    universe->forks = forks;
    universe->generation = recorder_now();
}

/* `to` runs since `from` resumed it: by what? */
static void resumed(struct routine *to, struct routine *from)
{
    lua_Debug up;
    bool is_lua;
    to->resumer = from;
    from->resumes = to;
    to->resumed_at = 0;
    if (!from->base || !lua_getstack(from->L, 0, &up))
        return;
    to->resumed_key = call_function(up.i_ci, &is_lua);
    const struct function *function = function_search(&from->universe->functions, to->resumed_key);
    if (!(function->flags & FUNCTION_RESUMES))
        return;
    to->resumed_at = call_place(up.i_ci, from->base);
    to->resumed_by = function->flags;
}

/* `from` ran until now, `to` runs again. If an error ended `from`, and that can be told, it is over. */
static void left(struct routine *from, const struct routine *to, const lua_Debug *ar)
{
    if (from->resumer != to || !from->resumed_at || to->universe->count)
        return;
    bool is_return = ar->event == LUA_HOOKRET && call_place(ar->i_ci, to->base) == from->resumed_at;
    /* While resume returns it still holds the coroutine; that of a wrap is over if it did not return. */
    bool is_over =
        is_return ? !(from->resumed_by & FUNCTION_WRAPS) && lua_status(from->L) > LUA_YIELD : true;
    if (is_over)
        routine_end(from);
}

/* The universe that `from` is of, unless L is of another. */
static struct universe *same_universe(const struct routine *from, lua_State *L)
{
    if (from && state_global(L) == state_global(from->universe->main))
        return from->universe;
    return universe_of(L);
}

/* The one that was resumed last goes on, by the same call: nothing else is to be found out. */
static bool goes_on(struct routine *from, struct routine *to, const lua_State *L, const lua_Debug *ar)
{
    lua_Debug up;
    bool is_lua;
    return to && to->L == L && to->resumer == from && to->track.id && !to->is_stale &&
           to->resumed_at && from->base && from->universe->forks == forks &&
           from->universe->generation == running.generation && from->universe->is_on &&
           call_previous(ar->i_ci) != to->base && lua_getstack(from->L, 0, &up) &&
           call_place(up.i_ci, from->base) == to->resumed_at &&
           call_function(up.i_ci, &is_lua) == to->resumed_key;
}

bool routine_arrive(lua_State *L, lua_Debug *ar)
{
    uint32_t now = epoch_now();
    if (running.routine && running.epoch == now && running.generation == recorder_now() &&
        goes_on(running.routine, running.routine->resumes, L, ar)) {
        run(running.routine->resumes, running.routine->resumes->track);
        return true;
    }
    struct routine *from = running.epoch == now ? running.routine : NULL;
    struct universe *universe = same_universe(from, L);
    struct routine *routine = universe ? routine_of(universe, L) : NULL;
    uint32_t generation = recorder_now();
    if (!universe || !universe->is_on || !generation) {
        routine_unhook(routine, L);
        return false;
    }
    if (running.generation != generation)
        running.track.id = 0;
    running.epoch = now;
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
    if (!routine->base)
        routine->base = call_outermost(ar->i_ci);
    bool is_first = ar->event == LUA_HOOKCALL && call_previous(ar->i_ci) == routine->base;
    bool is_inside = from && from->universe == universe;
    if (is_inside && from != routine)
        left(from, routine, ar);
    if (is_first && !routine->is_main && !shadow_is_empty(&routine->stack))
        routine_end_elsewhere(routine); /* Lua has collected it, or the host took it again */
    /* The host comes in; or it is in already, and another universe ended meanwhile. */
    bool is_entry = running.track.id != routine->track.id &&
                    (!routine->is_main || shadow_is_empty(&routine->stack));
    if (!is_inside && !was_here) {
        if (is_entry) {
            routine->outside = running.track;
            routine->resumer = NULL;
        }
    } else if (is_inside && from != routine && from->resumer != routine) {
        resumed(routine, from);
    }
    if (!routine->track.id) {
        const struct function *body =
            routine->is_main ? NULL : function_of(&universe->functions, L, ar);
        routine->track_label =
            body ? body->callee.label : lam_label_intern(LAM_DEFAULT, "main", 4).id;
        routine->track = spare_tracks_take(&universe->spares, routine->track_label);
    }
    run(routine, routine->track);
    if (routine->is_stale)
        shadow_tell_again(&routine->stack);
    routine->is_stale = false;
    return true;
}
