/* pin_code.c: the object that this code is linked into stays in the process.
 *
 * Threads call end_of_thread() when they end, and events lie in code that scopes compiled into the program call; so what holds
 * the library must not be unloaded once a recorder has been open. The shared library says so itself (-z nodelete). The archive
 * may be a part of a plug-in, of which the loader is asked to keep it. */
#include "recorder/recorder_state.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>

/* Weak, and dlopen by its name: a static executable, which is never unloaded, needs none of them, and the linker warns of
 * dlopen in one. */
#pragma weak dladdr1
#pragma weak dlsym

static void keep(const struct link_map *object)
{
    void *(*open)(const char *path, int flags) = NULL;
    void *found = dlsym(RTLD_DEFAULT, "dlopen");
    __builtin_memcpy(&open, &found, sizeof open);
    /* Found by its name among what is loaded, so that no file is looked at; the handle is kept as well. */
    if (open)
        (void)open(object->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

void pin_code(void)
{
    int before = errno;
    Dl_info info;
    void *extra = NULL;
    if (!dladdr1 || !dlsym || !dladdr1((void *)(uintptr_t)pin_code, &info, &extra, RTLD_DL_LINKMAP))
        return;
    const struct link_map *object = extra;
    if (object && object->l_name && object->l_name[0]) /* the program itself has the empty name */
        keep(object);
    errno = before;
}
