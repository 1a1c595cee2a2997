/* build: -shared -fPIC -s -fvisibility=hidden */
/* spin_library without a symbol table: only `outer`, which is exported, has a name. */
#include "spin_library.c"
