#include "function_names.h"

#include <lauxlib.h>
#include <lualib.h>
#include <stdlib.h>

#include "function_labels.h"

enum {
    FUNCTIONS_MAX = 1 << 15,
    TEXT_BYTES = 256,
};

struct function function_none;

/* ---- the cache ---- */

static lua_CFunction c_function_of(lua_State *L, const char *name)
{
    lua_getfield(L, -1, name);
    lua_CFunction function = lua_tocfunction(L, -1);
    lua_pop(L, 1);
    return function;
}

static int no_function(lua_State *L)
{
    (void)L;
    return 0;
}

int functions_init(struct functions *functions, lua_State *L)
{
    /* So that there are slots to look at from the beginning. */
    struct pointer_slot *slot = pointer_map_add(&functions->by_key, functions);
    if (!slot)
        return LAM_E_NOMEM;
    slot->value = &function_none;
    functions->places = calloc(FUNCTION_PLACES, sizeof *functions->places);
    functions->in_places = calloc(FUNCTION_PLACES, sizeof *functions->in_places);
    if (!functions->places || !functions->in_places)
        return LAM_E_NOMEM;
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
    functions->main = lua_tothread(L, -1);
    lua_pop(L, 1);
    lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    if (lua_istable(L, -1) && lua_getfield(L, -1, LUA_COLIBNAME) == LUA_TTABLE) {
        functions->yield = c_function_of(L, "yield");
        functions->resume = c_function_of(L, "resume");
        lua_getfield(L, -1, "wrap");
        if (lua_iscfunction(L, -1)) { /* what it returns is a C function that has no other name */
            lua_pushcfunction(L, no_function);
            lua_call(L, 1, 1);
            functions->wrapped = lua_tocfunction(L, -1);
        }
        lua_pop(L, 2);
    }
    lua_pop(L, 1);
    return LAM_OK;
}

static void free_all(struct functions *functions)
{
    pointer_map_each(&functions->by_key, slot)
    {
        struct function *function = slot->value;
        if (function != &function_none) {
            free(function->text);
            free(function);
        }
        *slot = (struct pointer_slot){NULL, NULL, 0, 0};
    }
    functions->by_key.count = 0;
    if (functions->places && functions->in_places) {
        memset(functions->places, 0, FUNCTION_PLACES * sizeof *functions->places);
        memset(functions->in_places, 0, FUNCTION_PLACES * sizeof *functions->in_places);
    }
}

void functions_free(struct functions *functions)
{
    free_all(functions);
    pointer_map_clear(&functions->by_key);
    free(functions->places);
    free(functions->in_places);
}

/* At its bound it begins anew, since most of it will be of functions that are gone. */
static struct function *place_of(struct functions *functions, const void *key)
{
    struct pointer_slot *slot = pointer_map_find(&functions->by_key, key);
    if (slot)
        return slot->value;
    if (functions->by_key.count >= FUNCTIONS_MAX)
        free_all(functions);
    struct function *function = calloc(1, sizeof *function);
    slot = function ? pointer_map_add(&functions->by_key, key) : NULL;
    if (!slot) {
        free(function);
        return NULL;
    }
    return slot->value = function;
}

static uint16_t flags_of(const struct functions *functions, lua_CFunction function)
{
    if (!function)
        return 0;
    if (function == functions->yield)
        return FUNCTION_YIELDS;
    if (function == functions->resume)
        return FUNCTION_RESUMES;
    return function == functions->wrapped ? FUNCTION_RESUMES | FUNCTION_WRAPS : 0;
}

struct function *function_search(const struct functions *functions, const void *key)
{
    const struct pointer_slot *slot = pointer_map_find(&functions->by_key, key);
    return slot ? slot->value : &function_none;
}

void function_bring_back(struct functions *functions, const void *key)
{
    size_t at = function_place_of(key);
    struct function *function = functions->in_places[at];
    if (!function)
        return;
    function->callee.skip = functions->places[at].skip;
    function->flags &= (uint16_t)~FUNCTION_AWAY;
    functions->in_places[at] = NULL;
    functions->places[at].key = NULL;
}

void function_put_away(struct functions *functions, const void *key, struct function *function)
{
    size_t at = function_place_of(key);
    function_bring_back(functions, key);
    functions->places[at] = (struct function_place){key, function->callee.skip, function->flags};
    functions->in_places[at] = function;
    function->callee.skip = 0;
    function->flags |= FUNCTION_AWAY;
}

/* What it is known again by. */
static void remember(struct function *function, const void *proto, const lua_Debug *ar)
{
    function->source = read_pointer(proto, PROTO_SOURCE);
    function->word = ar->srclen;
    function->is_short = function->source && !string_is_long(function->source);
    if (function->is_short)
        function->word = short_word(function->source);
    if (function->is_short || !function->source)
        return;
    function->text_bytes = (uint32_t)(ar->srclen < TEXT_BYTES ? ar->srclen : TEXT_BYTES);
    function->text = malloc(function->text_bytes);
    if (function->text)
        memcpy(function->text, ar->source, function->text_bytes);
}

struct function *function_of(struct functions *functions, lua_State *L, lua_Debug *ar)
{
    bool is_lua;
    const void *key = call_function(ar->i_ci, &is_lua);
    struct function *function = function_search(functions, key);
    if (function->flags & FUNCTION_AWAY)
        function_bring_back(functions, key);
    if (function->is_learnt && function_is_of(function, key, is_lua))
        return function;
    function = lua_checkstack(L, 12) ? place_of(functions, key) : NULL;
    if (!function)
        return NULL;
    lua_getinfo(L, "Sf", ar);
    lua_CFunction c_function = lua_tocfunction(L, -1);
    free(function->text);
    *function = (struct function){.lines = ~0ull, .is_learnt = true};
    if (is_lua) {
        function->lines = read_word(key, PROTO_LINES);
        remember(function, key, ar);
    }
    function->flags = flags_of(functions, c_function);
    if (!module_has(c_function))
        function->callee.label = function_label(L, functions->main, ar, key);
    lua_pop(L, 1);
    return function;
}
