/* build: -no-pie */
/* burn, linked to fixed addresses. */
#include "burn.c"
