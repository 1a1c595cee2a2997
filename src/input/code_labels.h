/* Labels that stand for a place in a program's code, as a recorder writes them that sees only addresses:
 *
 *     code:BUILDID:PATH+0xADDRESS        build id in hexadecimal, may be empty; the file's own virtual address
 *
 * which a NUL may follow and what else the recorder knew of it, `NAME (KIND)` or `(KIND)`. Here they get their names: `function (file:line)`, or `file+0xADDRESS` where the file is not there any more or has no symbols. */
#ifndef LAMELLA_INPUT_CODE_LABELS_H
#define LAMELLA_INPUT_CODE_LABELS_H

#include "reader/event_names.h"

/* Replaces the texts of such strings. Other strings stay as they are, those with a form that is not quite this as well.
 * LAM_OK or LAM_E_NOMEM. */
int code_labels_resolve(struct event_names *names);

#endif
