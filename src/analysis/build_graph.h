/* What waited for what in a build: units, and what each needs of others before it can start.
 *
 *     rc = build_graph_make(report)       fills report->graph, from command lines and times of the report's units
 *
 * A unit makes three things one after the other: its metadata (of Rust libraries: what a dependent needs to be compiled), its own
 * files at its end, and its objects: its files and those of all libraries below it, which a program needs to be linked. Edges name
 * which of them the other one needs. Units that ran inside of another one (a linker under its compiler) have no edges: they are part
 * of it. Everything is in the order of the report's units. */
#ifndef LAMELLA_ANALYSIS_BUILD_GRAPH_H
#define LAMELLA_ANALYSIS_BUILD_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"

struct report;

#define GRAPH_NONE UINT32_MAX

enum build_need {
    NEED_METADATA, /* the dependent starts when the metadata is there */
    NEED_OBJECTS,  /* the unit's end, and that of all libraries below it */
    NEED_FILE,     /* the unit's own end: a macro's library, a program, an object file */
    NEED_RUN,      /* the end of a build script's run */
    BUILD_NEEDS,
};
const char *build_need_name(enum build_need need); /* "metadata", "objects", "file", "run" */

struct build_edge {
    uint32_t unit, dep; /* indices of report.units; dep began before unit */
    enum build_need need;
    bool is_contradicted; /* unit began before that was there: the edge does not count */
    bool is_by_chance; /* nothing but cargo's word that dep came last this time: in another build something else may */
};

/* How the time of the metadata is known. */
enum rmeta_from {
    RMETA_NONE,    /* no metadata for others to start with: its end stands for it */
    RMETA_CARGO,   /* cargo's own record */
    RMETA_ENCODE,  /* inferred: the last sample that encoded metadata */
    RMETA_CODEGEN, /* inferred: the back end's coordinator was started, which comes right after it */
    RMETA_DEPENDENT, /* inferred: the first unit that needed it began */
};
const char *rmeta_from_name(enum rmeta_from from); /* "cargo", "encode", …; NULL for RMETA_NONE */

struct build_node {
    int64_t start_ns, rmeta_ns, end_ns; /* rmeta_ns: end_ns when nothing is known of it */
    int64_t objects_ns;                 /* end of the last of it and of the libraries below it */
    uint32_t objects_by;                /* that last one */
    enum rmeta_from rmeta_from;
    uint32_t inside;     /* the unit that it ran in, the outermost; GRAPH_NONE */
    uint32_t first_edge; /* its edges in graph.edges */
    uint32_t edge_count;
    int64_t ready_ns;      /* all that it needed was there */
    uint32_t unblocked_by; /* the unit that came last of what it needed; GRAPH_NONE: it needed none */
    uint32_t unblocked;    /* units that waited for this one last */
    int64_t slack_ns;      /* how much later it could end without making the longest chain longer */
    bool on_path;
};

/* One link of the critical path. */
struct build_step {
    uint32_t unit;
    enum build_need need; /* what the next one needed of it; of the last one NEED_FILE */
    int64_t start_ns,
        end_ns; /* of the unit's part on the path, as they were: up to its metadata or its end */
    int64_t waited_ns; /* it could have started that much earlier */
};

struct build_graph {
    LAM_ARRAY(struct build_node) nodes; /* by unit */
    LAM_ARRAY(struct build_edge) edges; /* by unit, then dep */
    LAM_ARRAY(struct build_step) path;  /* in order of time */
    int64_t critical_path_ns; /* the path's parts added up: no number of cores makes this build shorter */
    uint32_t contradicted; /* edges */
};

/* LAM_E_NOMEM. After the report's units are sorted. */
int build_graph_make(struct report *report);
void build_graph_free(struct build_graph *graph);

/* critical_path.c: path, slack, who unblocked whom, of nodes and edges. LAM_E_NOMEM. */
int build_graph_measure(struct build_graph *graph);

#endif
