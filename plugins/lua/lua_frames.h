/* lua_frames.h: what is read of Lua 5.4's calls and functions without asking Lua, which would cost more than recording does.
 *
 * The places below are the same in 5.4.0 to 5.4.8 (lstate.h, lobject.h). frames_probe() tries them on functions that it knows
 * before they are used; where they are others, nothing is recorded. */
#ifndef LAMELLA_PLUGIN_LUA_FRAMES_H
#define LAMELLA_PLUGIN_LUA_FRAMES_H

#include <lua.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    STATE_GLOBAL = 24,  /* lua_State: what the states of a universe share */
    CALL_PREVIOUS = 16, /* CallInfo: the call around it; first comes its place on the stack */
    VALUE_TAG = 8,      /* TValue */
    VALUE_BYTES = 16,
    TAG_LUA = 0x46,
    TAG_C = 0x66,
    TAG_BARE_C = 0x16,
    CLOSURE_PROTO = 24, /* LClosure.p, CClosure.f */
    PROTO_LINES = 44,   /* linedefined and lastlinedefined */
    PROTO_SOURCE = 112,
    STRING_WORD = 8, /* tag, mark, extra, length of a short one, hash */
    STRING_SHORT_BYTES = 11,
    STRING_LONG_BYTES = 16,
    STRING_TEXT = 24,
    STRING_IS_LONG = 0x10,
    CALLS_AROUND = 256, /* of a recorded call, among which another one of its function is looked for */
};

#define STRING_MARK_BITS 0xff00ull /* the collector's, within STRING_WORD */

static inline uint64_t read_word(const void *base, int at)
{
    uint64_t word;
    memcpy(&word, (const char *)base + at, sizeof word);
    return word;
}

static inline const void *read_pointer(const void *base, int at)
{
    const void *pointer;
    memcpy(&pointer, (const char *)base + at, sizeof pointer);
    return pointer;
}

static inline const void *state_global(const lua_State *L)
{
    return read_pointer(L, STATE_GLOBAL);
}

static inline const void *call_previous(const void *call)
{
    return read_pointer(call, CALL_PREVIOUS);
}

/* The outermost element of the list, which is no call, and lies where the stack begins. */
static inline const void *call_outermost(const void *call)
{
    const void *previous;
    while ((previous = call_previous(call)))
        call = previous;
    return call;
}

/* How far inwards from the beginning of its stack a call stands, in bytes: while one is open its place does not change, and each call
 * inside of it has a larger one. base: call_outermost(). */
static inline uintptr_t call_place(const void *call, const void *base)
{
    return (uintptr_t)read_pointer(call, 0) - (uintptr_t)read_pointer(base, 0);
}

/* What a call runs: the prototype of a Lua function, the C function; another address, of nothing that is called, if it is neither. */
static inline const void *call_function(const void *call, bool *is_lua)
{
    const void *value = read_pointer(call, 0);
    /* One byte: it has just been written as one, and a wider read would wait for that. */
    uint8_t tag = ((const uint8_t *)value)[VALUE_TAG];
    const void *function = read_pointer(value, 0);
    *is_lua = tag == TAG_LUA;
    if (__builtin_expect(tag == TAG_LUA || tag == TAG_C, 1))
        return read_pointer(function, CLOSURE_PROTO);
    return tag == TAG_BARE_C ? function : value;
}

/* Is a call made inside of another one of its function? Looked for among the nearest, which are all that there are, or hold it, in
 * nearly any program. base: call_outermost(). */
static inline bool call_is_inside_own(const void *call, const void *base)
{
    bool is_lua;
    const void *own = call_function(call, &is_lua);
    for (int left = CALLS_AROUND; left > 0 && (call = call_previous(call)) != base; left--)
        if (call_function(call, &is_lua) == own)
            return true;
    return false;
}

/* The object that a call runs (0), or its nth argument. What it is if there is no such argument, or it is no object, says nothing. */
static inline const void *call_value(const void *call, int n)
{
    return read_pointer(read_pointer(call, 0), n * VALUE_BYTES);
}

/* A string may be NULL: the source of a function without debug information. */
static inline bool string_is_long(const void *string)
{
    return string && read_word(string, STRING_WORD) & STRING_IS_LONG;
}

static inline size_t string_bytes(const void *string)
{
    return string_is_long(string) ? read_word(string, STRING_LONG_BYTES)
                                  : ((const uint8_t *)string)[STRING_SHORT_BYTES];
}

/* A word that differs between short strings: with their hash. Not the source of a function without debug information, which is NULL. */
static inline uint64_t short_word(const void *string)
{
    return read_word(string, STRING_WORD) & ~STRING_MARK_BITS;
}

/* Are the places right for the Lua that runs? Runs a little of it. */
bool frames_probe(lua_State *L);

#endif
