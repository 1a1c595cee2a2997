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

/* What cargo itself did beside its units: resolution, downloads, fingerprints. */
struct cargo_part {
    uint32_t bucket;    /* classifier_bucket() */
    const char *detail; /* of it; NULL */
    struct report_amount amount;
};
enum { CARGO_PARTS_MAX = 32 };
struct cargo_around {
    double before_s,
        after_s; /* wall: from the command's start to the first unit's, from the last one's end; NaN: no unit */
    uint64_t cpu_ns;                          /* of cargo's own processes, as sampled */
    struct cargo_part parts[CARGO_PARTS_MAX]; /* of that, the largest first */
    size_t part_count;
};
struct cargo_around cargo_around(const struct report *report);

/* What a report holds of build tools' own records. */
void cargo_free(struct report *report);

#endif
