/* open_default.h: how a plug-in opens the default recorder when its host's program asks for it. */
#ifndef LAMELLA_PLUGINS_OPEN_DEFAULT_H
#define LAMELLA_PLUGINS_OPEN_DEFAULT_H

#include <lamella/lamella.h>

/* Opens the recorder at `path` with the options `text` (either NULL), both beside what the environment says. One that is open
 * already, by the program or through LAMELLA_OUT, is taken as it is, and LAMELLA_OUT comes before a path, so that everything below
 * `lamella record` is one recording: only options of the program's own need a stream of their own in it.
 * is_opened  whether it is to be closed again
 * refused    what cannot be used, the options where one of them is wrong, else the place; NULL: nothing was named
 * Returns    LAM_OK or an error of lam_open(). */
int open_default(const char *path, const char *text, int *is_opened, const char **refused);

#endif
