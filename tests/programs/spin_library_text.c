/* build: -shared -fPIC -Wl,--section-start=.text=0xab000 */
/* spin_library with its code at 0xab000, far from where it is in the file. */
#include "spin_library.c"
