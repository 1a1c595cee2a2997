/* open_default.h: how a plug-in opens the default recorder when its host's program asks for it. */
#ifndef LAMELLA_PLUGINS_OPEN_DEFAULT_H
#define LAMELLA_PLUGINS_OPEN_DEFAULT_H

#include <lamella/lamella.h>

struct opening {
    int is_opened; /* to be closed again */
    char words[1024]; /* what is wrong; or, when it goes well, what of it all does not count. "": nothing */
};

/* Opens the recorder at `path` with the options `text` (either NULL), both beside what the environment says. One that is open
 * already, by the program or through LAMELLA_OUT, is taken as it is, and LAMELLA_OUT comes before a path, so that everything below
 * `lamella record` is one recording: only options of the program's own need a stream of their own in it.
 * Returns    LAM_OK or an error of lam_open(). */
int open_default(const char *path, const char *text, struct opening *opening);

#endif
