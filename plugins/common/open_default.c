/* open_default.c: the default recorder, as the environment and a program ask for it. */
#include "open_default.h"

#include <stdlib.h>

int open_default(const char *path, const char *text, int *is_opened, const char **refused)
{
    const char *outer = getenv("LAMELLA_OUT"), *environment = getenv("LAMELLA_OPTIONS");
    int has_outer = outer && *outer;
    *is_opened = !lam_on || (has_outer && text);
    if (!*is_opened)
        return LAM_OK;
    struct lam_options options;
    lam_options_init(&options);
    *refused = text ? text : environment;
    if ((environment && lam_options_parse(&options, environment) < 0) ||
        (text && lam_options_parse(&options, text) < 0))
        return LAM_E_INVAL;
    if (lam_on)
        lam_close();
    if (!has_outer)
        options.path = path;
    int rc = lam_open(&options);
    if (rc != LAM_E_INVAL)
        *refused = has_outer ? outer : path;
    return rc;
}
