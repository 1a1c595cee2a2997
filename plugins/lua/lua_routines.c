/* lua_routines.c: which coroutine runs, and on which track. */
#include "lua_universe.h"

enum { LEVELS_ASKED = 4096 /* one by one: Lua counts from the innermost each time */ };

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

static bool next_outer(const struct universe *universe, lua_State *L, int level, lua_Debug *ar)
{
    if (!universe->functions.peeks)
        return level < LEVELS_ASKED && lua_getstack(L, level, ar);
    const void *call = call_previous(ar->i_ci);
    ar->i_ci = (struct CallInfo *)(uintptr_t)call;
    return call_previous(call) != NULL; /* the first element of the list is no call */
}

bool routine_align(struct routine *routine, lua_State *L, int level)
{
    struct universe *universe = routine->universe;
    struct shadow_stack *stack = &routine->stack;
    lua_Debug ar;
    size_t depth = 0, known = (size_t)(stack->top - stack->frames);
    bool is_there = lua_getstack(L, level, &ar);
    lua_Debug innermost = ar;
    for (int at = level; is_there; depth++)
        is_there = next_outer(universe, L, ++at, &ar);
    struct seen {
        const void *call;
        struct function *function;
    } *fresh = calloc(depth + 1, sizeof *fresh);
    if (!fresh)
        return false;
    if (universe->functions.peeks && depth)
        stack->frames->call = ar.i_ci;
    ar = innermost;
    for (size_t i = depth; i-- > 0;) {
        fresh[i] = (struct seen){ar.i_ci, function_of(&universe->functions, L, &ar)};
        next_outer(universe, L, ++level, &ar);
    }
    size_t same = 0;
    while (same < known && same < depth && fresh[same].function &&
           stack->frames[same + 1].call == fresh[same].call &&
           stack->frames[same + 1].open.label == fresh[same].function->callee.label)
        same++;
    shadow_pop_to(stack, stack->frames + same);
    struct lam_callee unknown = {.label = 0};
    for (size_t i = same; i < depth; i++) {
        struct function *function = fresh[i].function;
        shadow_push(stack, fresh[i].call, function ? &function->callee : &unknown,
                    function ? function->flags : 0);
    }
    free(fresh);
    return true;
}

/* ---- who runs ---- */

void run(struct routine *routine, struct lam_track track)
{
    if (running.track.id != track.id)
        lam_track_switch(LAM_DEFAULT, track);
    running.track = track;
    running.routine = routine;
    running.L = routine ? routine->L : NULL;
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

/* `from` ran until now, `to` runs again. If an error ended `from`, and that can be told, it is over. */
static void left(struct routine *from, const struct routine *to, const lua_Debug *ar)
{
    const struct shadow *top = to->stack.top;
    if (from->resumer != to || !(top->open.host & FUNCTION_RESUMES) || to->universe->count)
        return;
    bool is_return = ar->event == LUA_HOOKRET && top->call == (const void *)ar->i_ci;
    /* While resume returns it still holds the coroutine; that of a wrap is over if it did not return. */
    bool is_over =
        is_return ? !(top->open.host & FUNCTION_WRAPS) && lua_status(from->L) > LUA_YIELD : true;
    if (is_over)
        routine_end(from);
}

/* The universe that `from` is of, unless L is of another. */
static struct universe *same_universe(const struct routine *from, lua_State *L)
{
    if (from && from->universe->functions.peeks &&
        state_global(L) == state_global(from->universe->main))
        return from->universe;
    return universe_of(L);
}

bool routine_arrive(lua_State *L, lua_Debug *ar)
{
    uint32_t now = epoch_now();
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
    lua_Debug up = *ar;
    bool is_first = ar->event == LUA_HOOKCALL && !lua_getstack(L, 1, &up);
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
        routine->resumer = from;
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
