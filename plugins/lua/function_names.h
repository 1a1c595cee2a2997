/* function_names.h: the labels of functions, `name (file:line)`, cached by prototype.
 *
 * A prototype may be collected and another one made in its place, of a source that lies where the other's was. So a hit compares
 * what the label was made of: lines, and the source's hash, or for a long source its length and its text. */
#ifndef LAMELLA_PLUGIN_FUNCTION_NAMES_H
#define LAMELLA_PLUGIN_FUNCTION_NAMES_H

#include "../common/pointer_map.h"
#include "lamella/lamella.h"
#include "lua_frames.h"

enum function_flag {
    FUNCTION_YIELDS = 1,  /* coroutine.yield */
    FUNCTION_RESUMES = 2, /* coroutine.resume, and what coroutine.wrap returns */
    FUNCTION_WRAPS = 4,   /* the latter */
    FUNCTION_AWAY = 8,    /* `skip` stands in its place, and is 0 here */
};

struct function {
    struct lam_callee callee; /* label 0: not recorded */
    const void *source;       /* of a Lua function; NULL: it has none */
    uint64_t lines;           /* both; of a C function all bits */
    uint64_t word;            /* short_word() of a short source, else how long it is */
    char *text;               /* of a long source, as much of it as is compared */
    uint32_t text_bytes;
    uint16_t flags;
    bool is_learnt;
    bool is_short; /* its source is a short string */
};

/* One in N: where a call that is left out is counted down, without a look at anything else that is known of its function. Functions
 * whose addresses fall together take the place from each other. */
enum { FUNCTION_PLACES_BITS = 10, FUNCTION_PLACES = 1 << FUNCTION_PLACES_BITS };
struct function_place {
    const void *key;
    uint32_t skip; /* lam_callee.skip */
    uint32_t flags;
};

struct functions {
    struct pointer_map by_key;     /* prototype or C function -> struct function */
    struct function_place *places; /* by function_place_of() */
    struct function **in_places;
    lua_State *main;
    lua_CFunction yield, resume, wrapped;
};

/* lua_module.c: a function of the module itself. It has no label: an interval that it begins or ends would overlap its call. */
bool module_has(lua_CFunction function);

/* Needs a Lua stack with room for 8 values. */
int functions_init(struct functions *functions, lua_State *L);
void functions_free(struct functions *functions);

/* The function of the call `ar`, learnt if it is not known; NULL: no memory. Asks Lua for nothing that it would have to allocate. */
struct function *function_of(struct functions *functions, lua_State *L, lua_Debug *ar);

/* Two words at any address. */
typedef uint64_t pair __attribute__((vector_size(16), aligned(1), may_alias));

/* Is the source of a prototype at the same address still the same? Long ones, above 40 bytes, have no hash to be told by. */
static inline bool function_has_source(const struct function *function, const void *source)
{
    if (function->is_short)
        return function->word == short_word(source);
    if (!source)
        return true;
    if (!function->text || function->word != read_word(source, STRING_LONG_BYTES))
        return false;
    const char *text = (const char *)source + STRING_TEXT, *known = function->text;
    const char *last = known + function->text_bytes - 2 * sizeof(pair);
    ptrdiff_t apart = text - known;
    pair differ = {0, 0};
    for (;; known = known + 2 * sizeof(pair) < last ? known + 2 * sizeof(pair) : last) {
        const pair *ours = (const pair *)known, *theirs = (const pair *)(known + apart);
        differ |= (ours[0] ^ theirs[0]) | (ours[1] ^ theirs[1]);
        if (known == last)
            return (differ[0] | differ[1]) == 0;
    }
}

/* Is it the function at `key` still? */
static inline bool function_is_of(const struct function *function, const void *key, bool is_lua)
{
    if (!is_lua)
        return true;
    const void *source = read_pointer(key, PROTO_SOURCE);
    return function->source == source && function->lines == read_word(key, PROTO_LINES) &&
           function_has_source(function, source);
}

extern struct function function_none __attribute__((visibility("hidden"))); /* never learnt */
/* The one that was last at `key`; function_none if there is none. */
struct function *function_search(const struct functions *functions, const void *key);

static inline size_t function_place_of(const void *key)
{
    return (size_t)((uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15ull >> (64 - FUNCTION_PLACES_BITS));
}
/* It goes into its place, from which another one is brought back; out of it. */
void function_put_away(struct functions *functions, const void *key, struct function *function);
void function_bring_back(struct functions *functions, const void *key);

/* The one that was last at `key`, if the first look finds it; else function_none. */
static inline struct function *function_peek(const struct functions *functions, const void *key)
{
    const struct pointer_map *map = &functions->by_key;
    const struct pointer_slot *slot = &map->slots[pointer_map_home(map, key)];
    return __builtin_expect(slot->key == key, 1) ? slot->value : &function_none;
}

#endif
