/* Compilations that a cache of results was asked for (sccache, ccache). */
#ifndef LAMELLA_ANALYSIS_CACHE_HITS_H
#define LAMELLA_ANALYSIS_CACHE_HITS_H

#include "analysis/report.h"

/* A cache's program is the unit where nobody compiled it: a hit. Where somebody did, as its child or under a server's, that is the
 * unit, and the program is none; so where it failed, or handed the work to a program that may have it done elsewhere. LAM_E_NOMEM. */
int cache_hits_settle(struct report *report);

/* Of the units that went through such a program. */
struct cache_counts {
    size_t hits, asked;
    const char *program; /* of the hits; NULL: there are none */
};
struct cache_counts cache_hits_count(const struct report *report);

#endif
