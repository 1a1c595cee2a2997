/* code_label.h: the label of a function of which a plug-in knows the address: it gets its name when the recording is read
 * (docs/format.md, code labels). */
#ifndef LAMELLA_PLUGINS_CODE_LABEL_H
#define LAMELLA_PLUGINS_CODE_LABEL_H

#include <lamella/lamella.h>

enum { CODE_LABEL_ALSO = 512 }; /* bytes; more are cut */

/* also: what else is known of it, `NAME (KIND)` or `(KIND)`, with bytes of any kind; NULL: nothing. Takes the dynamic linker's lock, with
 * all signals held back. */
struct lam_label code_label(uintptr_t address, const char *also, size_t also_bytes);

#endif
