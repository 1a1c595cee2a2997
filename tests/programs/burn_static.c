/* build: -static */
/* burn, with no loader that could bring a library in. */
#include "burn.c"
