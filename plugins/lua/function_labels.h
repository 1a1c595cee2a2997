/* function_labels.h: what a function is called. */
#ifndef LAMELLA_PLUGIN_FUNCTION_LABELS_H
#define LAMELLA_PLUGIN_FUNCTION_LABELS_H

#include <lua.h>
#include <stdint.h>

/* ar      of a call of the function, filled in by lua_getinfo() with "S"; the function lies on top of the stack
 * main    another state in whose variables it may be found
 * address of a C function
 * Asks Lua for nothing that it would have to allocate, nor for anything that could call the script. Needs room for 8 values. */
uint32_t function_label(lua_State *L, lua_State *main, lua_Debug *ar, const void *address);

#endif
