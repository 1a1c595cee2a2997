/* Classes of compilations: what is the same work in another build, also under another compiler.
 *
 * A class is named by a hash of package, version, where it comes from, features, the build's profile, flags that move compile time,
 * platform, kind and mode, and of the classes of all that it depends on. The toolchain is left out, and so are paths. A unit that
 * depends on something that was not built in the recording (it was fresh) has no class: what it stands on is not known. */
#ifndef LAMELLA_ANALYSIS_CLASS_IDS_H
#define LAMELLA_ANALYSIS_CLASS_IDS_H

#include "analysis/report.h"

enum { CLASS_ID_BYTES = 33 }; /* 32 hex digits, NUL */

/* Fills report_unit.class_id, or class_missing, and capture. After the graph is made. LAM_E_NOMEM. */
int class_ids_make(struct report *report);

/* "registry", "git", "path", from where the sources lie; NULL: not known. */
const char *class_source(const struct unit *unit);

/* Classes of what the unit depends on, sorted, each once, blanks between. */
int class_deps_text(const struct report *report, uint32_t unit, struct strbuf *text);

#endif
