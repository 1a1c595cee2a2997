/* build: -s */
/* burn, without a symbol table. */
#include "burn.c"
