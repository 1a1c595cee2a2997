/* build: CC=musl-gcc */
/* burn, with another C library and its loader. */
#include "burn.c"
