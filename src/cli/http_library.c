#include "cli/http_library.h"

#include <dlfcn.h>
#include <string.h>

/* With its version: the header that we were built with describes this one. */
#define LIBRARY "libmicrohttpd.so.12"

int http_library_load(struct http_library *http, struct lam_error *err)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return lam_error_set(err, LAM_E_NOTFOUND,
                             "serve needs %s, which cannot be loaded (Debian: apt install "
                             "libmicrohttpd12): %s",
                             LIBRARY, dlerror());
#define FIND(name)                                                                            \
    {                                                                                         \
        void *found = dlsym(library, #name);                                                  \
        if (!found)                                                                           \
            return lam_error_set(err, LAM_E_NOTFOUND, "%s has no %s", LIBRARY, #name);        \
        memcpy(&http->name, &found, sizeof found); /* C has no cast from data to functions */ \
    }
    HTTP_LIBRARY_CALLS(FIND)
#undef FIND
    return LAM_OK;
}
