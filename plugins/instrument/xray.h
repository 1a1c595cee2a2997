/* xray.h: programs that were built by clang with -fxray-instrument. */
#ifndef LAMELLA_PLUGIN_XRAY_H
#define LAMELLA_PLUGIN_XRAY_H

#include <stdbool.h>
#include <stdint.h>

/* If this program is one, switches its entry points on: from here on they report functions by address, and where the stack is: as far
 * below the function's own each time. */
void xray_begin(void (*on_call)(uintptr_t function, bool is_exit, const char *sp));

#endif
