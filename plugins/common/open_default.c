/* open_default.c: the default recorder, as the environment and a program ask for it. */
#include "open_default.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* False, and why, if it cannot be understood, or what both ask for cannot be done. */
static int take_options(struct lam_options *options, const char *environment, const char *text,
                        struct opening *opening)
{
    char both[1024], why[256];
    const char *whose = "options";
    lam_options_init(options);
    if (environment && lam_options_parse(options, environment) < 0) {
        whose = "LAMELLA_OPTIONS";
        lam_options_explain(environment, why, sizeof why);
    } else if (text && lam_options_parse(options, text) < 0) {
        lam_options_explain(text, why, sizeof why);
    } else {
        int length = snprintf(both, sizeof both, "%s%s%s", environment ? environment : "",
                              environment && *environment && text ? "," : "", text ? text : "");
        if ((size_t)length >= sizeof both || lam_options_explain(both, why, sizeof why) == LAM_OK)
            return 1;
    }
    snprintf(opening->words, sizeof opening->words, "%s: %s", whose, why);
    return 0;
}

/* What the recorder that is open, or the environment, does not let count. */
static void tell_ignored(const char *path, const char *text, const char *outer,
                         struct opening *opening)
{
    enum { SHOWN_MAX = 300 }; /* of each path */
    if (path && outer && strcmp(path, outer) != 0)
        snprintf(opening->words, sizeof opening->words,
                 "the path '%.*s' does not count: LAMELLA_OUT is set, to '%.*s'", SHOWN_MAX, path,
                 SHOWN_MAX, outer);
    else if (!opening->is_opened && !outer && (path || text))
        strcpy(opening->words, "path and options do not count: the recorder is open already");
}

int open_default(const char *path, const char *text, struct opening *opening)
{
    const char *outer = getenv("LAMELLA_OUT");
    if (outer && !*outer)
        outer = NULL;
    *opening = (struct opening){.is_opened = !lam_on || (outer && text)};
    tell_ignored(path, text, outer, opening);
    if (!opening->is_opened)
        return LAM_OK;
    struct lam_options options;
    if (!take_options(&options, getenv("LAMELLA_OPTIONS"), text, opening))
        return LAM_E_INVAL;
    int was_on = lam_on != 0;
    if (was_on)
        lam_close();
    if (!outer)
        options.path = path;
    int rc = lam_open(&options);
    if (rc == LAM_E_NOTFOUND && !outer && !path)
        strcpy(opening->words, "no path and no LAMELLA_OUT");
    else if (rc < 0)
        snprintf(opening->words, sizeof opening->words, "%s", lam_open_error());
    if (rc < 0 && was_on) /* goes on as before, as far as that can be */
        lam_open(NULL);
    return rc;
}
