/* Inside of findings.c: what its rows share. */
#ifndef LAMELLA_ANALYSIS_FINDINGS_INSIDE_H
#define LAMELLA_ANALYSIS_FINDINGS_INSIDE_H

#include "analysis/report_state.h"

struct draft {
    struct report_state *state;
    struct report *report;
};

/* text is in the report's arena, or static; NULL: memory was short. LAM_E_NOMEM. */
int finding_add(struct draft *draft, struct report_finding finding, const char *text);

double finding_elapsed_s(const struct report *report); /* NaN */

/* findings_cores.c: rows. Each adds what it finds; LAM_E_NOMEM. */
int find_serial_tail(struct draft *draft);
int find_dominant_unit(struct draft *draft);
int find_cores(struct draft *draft);
int find_feeder_limit(struct draft *draft);
int find_jobserver(struct draft *draft);
int find_busy(struct draft *draft);

/* findings_seen.c */
int find_stripped(struct draft *draft);
int find_nameless(struct draft *draft);
int find_low_coverage(struct draft *draft);
int find_short_span(struct draft *draft);
int find_unsampled(struct draft *draft);
int find_unaccounted(struct draft *draft);
int find_unknown(struct draft *draft);
int find_truncated(struct draft *draft);

/* findings_build.c: rows. */
int find_gating_unit(struct draft *draft);
int find_single_codegen_unit(struct draft *draft);
int find_link_time(struct draft *draft);
int find_debug_info(struct draft *draft);
int find_macro_time(struct draft *draft);
int find_build_scripts(struct draft *draft);
int find_duplicate_versions(struct draft *draft);

/* findings_memory.c */
int find_memory_limit(struct draft *draft);
int find_memory_peak(struct draft *draft);

#endif
