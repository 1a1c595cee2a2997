/* load_library PATH [MS] [unload]: loads PATH and calls its `outer` for MS (200); `unload` lets go of it before the end. */
#include <dlfcn.h>

#include "spin.h"

int main(int argc, char **argv)
{
    void *library = dlopen(word_argument(argc, argv, 1, "./spin_library.so"), RTLD_NOW);
    void (*outer)(unsigned long) = library ? (void (*)(unsigned long))dlsym(library, "outer") : NULL;
    if (!outer) {
        fprintf(stderr, "%s\n", dlerror());
        return EXIT_UNPREPARED;
    }
    outer(number_argument(argc, argv, 2, 200));
    int rc = !strcmp(word_argument(argc, argv, 3, ""), "unload") ? dlclose(library) : 0;
    spin_ms(20);
    printf("called rc=%d\n", rc);
    return 0;
}
