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
    routine->is_away = !routine->is_main;
    slot->value = routine;
    return routine;
}

void routines_free(struct universe *universe)
{
    bool is_told = universe->forks == forks && universe->generation == recorder_now();
    for (uint32_t i = 0; is_told && i < universe->spares.count; i++)
        lam_track_end(LAM_DEFAULT, universe->spares.items[i].track);
    pointer_map_each(&universe->routines, slot)
    {
        struct routine *routine = slot->value;
        if (is_told && routine->track.id)
            lam_track_end(LAM_DEFAULT, routine->track);
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
    struct seen { /* no function: which ones are known may change with each that is learnt */
        const void *call;
        uint32_t label;
    } *fresh = calloc(depth + 1, sizeof *fresh);
    if (!fresh)
        return;
    for (size_t i = depth; i-- > 0; innermost = call_previous(innermost)) {
        ar.i_ci = (struct CallInfo *)(uintptr_t)innermost;
        const struct function *function = function_of(&routine->universe->functions, L, &ar);
        fresh[i].call = innermost;
        fresh[i].label = function ? function->callee.label : 0;
    }
    while (same < known && same < depth && fresh[same].label &&
           stack->frames[same + 1].place == call_place(fresh[same].call, routine->base) &&
           stack->frames[same + 1].open.label == fresh[same].label)
        same++;
    shadow_pop_to(stack, stack->frames + same);
    struct lam_callee unknown = {.label = 0};
    for (size_t i = same; i < depth; i++) {
        ar.i_ci = (struct CallInfo *)(uintptr_t)fresh[i].call;
        struct function *function = function_of(&routine->universe->functions, L, &ar);
        uintptr_t place = call_place(fresh[i].call, routine->base);
        shadow_push(stack, (const void *)place, // NOLINT(performance-no-int-to-ptr)
                    function ? &function->callee : &unknown, 0);
    }
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
    routine->is_away = true;
    run(resumer, resumer ? resumer->track : routine->outside);
}

void routine_end(struct routine *routine)
{
    shadow_pop_to(&routine->stack, routine->stack.frames);
    routine->is_away = !routine->is_main;
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

/* `to` runs since `from` resumed it: by what? Nothing of from->L is looked at: if `from` ended unnoticed, Lua has freed it. */
static void resumed(struct routine *to, struct routine *from)
{
    if (from->resumes_at || to->resumer != from) { /* else it goes on after a yield that failed */
        to->resumed_at = from->resumes_at;
        to->resumed_by = from->resumes_by;
    }
    to->resumer = from;
    from->resumes = to;
    from->resumes_at = 0;
}

/* `from` ran until now, `to` runs again. If an error ended `from`, and that can be told, it is over. */
static void left(struct routine *from, const struct routine *to, const lua_Debug *ar)
{
    if (from->resumer != to || !from->resumed_at || to->universe->count)
        return;
    bool is_return = ar->event == LUA_HOOKRET && call_place(ar->i_ci, to->base) == from->resumed_at;
    bool is_wrap = from->resumed_by & FUNCTION_WRAPS;
    /* While resume returns it still holds the coroutine; that of a wrap is over if it did not return. */
    bool is_held = is_return && !is_wrap && call_value(ar->i_ci, 1) == from->L;
    bool is_over = is_held ? lua_status(from->L) > LUA_YIELD : !(is_return && is_wrap);
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
    if (!to || to->L != L || to->resumer != from || !to->track.id || to->is_stale || !to->is_away ||
        !to->resumed_at || to->resumed_at != from->resumes_at || to->resumed_by != from->resumes_by ||
        from->universe->forks != forks || from->universe->generation != running.generation ||
        !from->universe->is_on || call_previous(ar->i_ci) == to->base)
        return false;
    from->resumes_at = 0;
    to->is_away = false;
    return true;
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
    /* Another universe has ended meanwhile: is the one that ran here still there? */
    if (universe && running.epoch != now && running.routine &&
        routine_of(universe, running.L) == running.routine)
        from = running.routine;
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
    if (is_first && !routine->is_main) /* a new one, whatever was seen of another one here */
        routine->is_away = true;
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
    } else if (is_inside && from != routine && from->resumer != routine && routine->is_away) {
        resumed(routine, from);
    }
    routine->is_away = false;
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
