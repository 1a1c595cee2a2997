/* Units that are called alike: a crate that is compiled twice, with other features, or for build scripts without debug information.
 * Their titles get what tells them apart: "regex-automata 0.4.13 (no debuginfo)". */
#ifndef LAMELLA_ANALYSIS_UNIT_TITLES_H
#define LAMELLA_ANALYSIS_UNIT_TITLES_H

#include "analysis/report.h"

/* Changes titles of units and of their processes; those that nothing short tells apart stay as they are. LAM_E_NOMEM. */
int unit_titles_tell_apart(struct report *report);

#endif
