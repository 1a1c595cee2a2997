/* build: -shared -fPIC -s */
/* spin_library without a symbol table: only `outer` and what else is exported has a name. */
#include "spin_library.c"
