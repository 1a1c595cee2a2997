/* The units of a report joined to those of cargo's own record.
 *
 * A process is a unit's when kind, mode, crate, version, features and platform agree as far as both say them; of several the one
 * that began at the time that cargo says. A record is only taken when it is of this build: it began inside the recording, and
 * most of what it ran was seen to run. */
#ifndef LAMELLA_ANALYSIS_CARGO_JOIN_H
#define LAMELLA_ANALYSIS_CARGO_JOIN_H

#include "analysis/report.h"

/* Fills report->cargo_zero_ns, report_unit.cargo and report->cargo_unseen. When the record is another build's it is dropped, and
 * report->cargo_note says so. */
int cargo_join(struct report *report);

/* What a report holds of cargo's. */
void cargo_free(struct report *report);

#endif
