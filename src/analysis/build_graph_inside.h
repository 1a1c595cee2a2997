/* Inside of build_graph.c: what it takes from cargo's record. */
#ifndef LAMELLA_ANALYSIS_BUILD_GRAPH_INSIDE_H
#define LAMELLA_ANALYSIS_BUILD_GRAPH_INSIDE_H

#include "analysis/report.h"

struct told_edges LAM_ARRAY_BODY(struct build_edge);

/* The edges that cargo's record says, by unit. A record of `--timings` says of each unit only what it waited for last. LAM_E_NOMEM. */
int build_graph_cargo_edges(const struct report *report, struct told_edges *edges);

/* When the metadata of units was there, by cargo. */
void build_graph_cargo_metadata(struct report *report);

#endif
