/* build: -static-pie */
/* burn, static but placed anywhere: it looks like a shared object to a hasty reader of the ELF header. */
#include "burn.c"
