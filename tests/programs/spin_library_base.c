/* build: -shared -fPIC -Wl,-Ttext-segment=0x7500000000 */
/* spin_library with addresses that do not begin at 0, as prelinked ones have. */
#include "spin_library.c"
