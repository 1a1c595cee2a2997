#include "function_names.h"

#include <dlfcn.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>

enum {
    FUNCTIONS_MAX = 1 << 15,
    NAME_BYTES = 160,
    LABEL_BYTES = 1024,
    TEXT_BYTES = 256,
    LEVELS_LOOKED = 16,
    LOCALS_LOOKED = 64,
};

struct function function_none;

/* ---- names ---- */

/* The name under which a module shows the function on top of the stack, as tracebacks of Lua's own look for it. */
static bool find_in_modules(lua_State *L, char *out, size_t size)
{
    int function = lua_gettop(L);
    bool is_found = false;
    if (lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE) == LUA_TTABLE) {
        int loaded = lua_gettop(L);
        for (lua_pushnil(L); !is_found && lua_next(L, loaded); lua_pop(L, 1)) {
            if (lua_type(L, -2) != LUA_TSTRING || !lua_istable(L, -1))
                continue;
            for (lua_pushnil(L); lua_next(L, loaded + 2); lua_pop(L, 1))
                if (lua_type(L, -2) == LUA_TSTRING && lua_rawequal(L, -1, function)) {
                    const char *module = lua_tostring(L, loaded + 1);
                    bool is_global = strcmp(module, LUA_GNAME) == 0;
                    snprintf(out, size, "%s%s%s", is_global ? "" : module, is_global ? "" : ".",
                             lua_tostring(L, -2));
                    is_found = true;
                    lua_pop(L, 2);
                    break;
                }
        }
    }
    lua_settop(L, function);
    return is_found;
}

/* The name of a local variable that holds the function on top of L's stack, in a call of `state`: for functions that are called by
 * no name (a tail call, a callback). One value more finds room on any stack: it is L, or waits in a C function. */
static bool find_in_locals(lua_State *L, lua_State *state, char *out, size_t size)
{
    lua_Debug ar;
    const void *function = lua_topointer(L, -1);
    for (int level = 0; level < LEVELS_LOOKED && lua_getstack(state, level, &ar); level++)
        for (int i = 1; i < LOCALS_LOOKED; i++) {
            const char *name = lua_getlocal(state, &ar, i);
            if (!name)
                break;
            bool is_it = *name != '(' && lua_topointer(state, -1) == function;
            lua_pop(state, 1);
            if (is_it) {
                snprintf(out, size, "%s", name);
                return true;
            }
        }
    return false;
}

static void name_c_function(const void *address, char *out, size_t size)
{
    Dl_info info;
    if (dladdr(address, &info) && info.dli_sname) {
        snprintf(out, size, "%s", info.dli_sname);
        return;
    }
    /* The standalone interpreter's own functions: it does not help to know where they lie. */
    Dl_info program;
    const void *entry = (const void *)getauxval(AT_ENTRY); // NOLINT(performance-no-int-to-ptr)
    bool is_known = dladdr(address, &info) && info.dli_fname;
    bool is_program = is_known && dladdr(entry, &program) && program.dli_fbase == info.dli_fbase;
    const char *slash = is_known ? strrchr(info.dli_fname, '/') : NULL;
    if (is_program)
        snprintf(out, size, "%s", slash ? slash + 1 : info.dli_fname);
    else if (is_known)
        snprintf(out, size, "%s+%#lx", slash ? slash + 1 : info.dli_fname,
                 (unsigned long)((uintptr_t)address - (uintptr_t)info.dli_fbase));
    else
        snprintf(out, size, "?");
}

/* ar is filled in by lua_getinfo() with "S"; the function lies on top of the stack. */
static uint32_t label_of(lua_State *L, lua_State *main, lua_Debug *ar, const void *address)
{
    char name[NAME_BYTES], label[LABEL_BYTES];
    bool is_c = *ar->what == 'C';
    if (*ar->what == 'm')
        snprintf(name, sizeof name, "main chunk");
    else if (!find_in_modules(L, name, sizeof name)) {
        lua_getinfo(L, "n", ar);
        if (ar->name)
            snprintf(name, sizeof name, "%s", ar->name);
        else if (!is_c && (find_in_locals(L, L, name, sizeof name) ||
                           (main != L && find_in_locals(L, main, name, sizeof name))))
            ;
        else if (is_c)
            name_c_function(address, name, sizeof name);
        else
            snprintf(name, sizeof name, "anonymous");
    }
    int length;
    if (is_c)
        length = snprintf(label, sizeof label, "%s (C)", name);
    else if (*ar->source == '@' || *ar->source == '=')
        length = snprintf(label, sizeof label, "%s (%s:%d)", name, ar->source + 1,
                          *ar->what == 'm' ? 1 : ar->linedefined);
    else
        length = snprintf(label, sizeof label, "%s (%s:%d)", name, ar->short_src,
                          *ar->what == 'm' ? 1 : ar->linedefined);
    size_t size = (size_t)length < sizeof label ? (size_t)length : sizeof label - 1;
    return lam_label_intern(LAM_DEFAULT, label, size).id;
}

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
}

void functions_free(struct functions *functions)
{
    free_all(functions);
    pointer_map_clear(&functions->by_key);
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
        function->callee.label = label_of(L, functions->main, ar, key);
    lua_pop(L, 1);
    return function;
}
