/* build: CC=clang -shared -fPIC -fuse-ld=lld */
/* spin_library as lld lays it out: the code's offset in the file is not its address. */
#include "spin_library.c"
