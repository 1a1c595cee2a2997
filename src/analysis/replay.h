/* A build again, as a simulation of its schedule: from the graph, the work of each unit, cores and jobs. First as it was, which says
 * how far the simulation can be believed; then with something changed.
 *
 *     rc = replay_open(&replay, report, err);        LAM_E_NOTFOUND: the recording has no units
 *     rc = replay_run(replay, NULL, &wall_s);        against replay->measured_s
 *     rc = what_if_parse(&change, "unit=serde,cores=8", &arena, err);
 *     rc = replay_run(replay, &change, &wall_s);
 *
 * The model: a unit is three stages. Up to its metadata it works as fast as it did. Then its codegen units are compiled by as many
 * threads as there are job tokens, but not faster than one thread builds their IR, nor than the longest of them. What follows (the
 * linker) works as fast as it did. Time that threads waited for a core is taken out; it comes back where more threads are to run
 * than there are cores. A unit starts when what it needs is there and a job is free; of several the one that most others wait for. */
#ifndef LAMELLA_ANALYSIS_REPLAY_H
#define LAMELLA_ANALYSIS_REPLAY_H

#include "analysis/report.h"

/* One stage of a unit, without waiting for cores. */
struct replay_stage {
    double seconds;
    double threads; /* that work, on average: its demand for cores */
    double others;  /* programs beside the build meanwhile, as `shares` of the replay counts them */
};

/* What a core is divided among, where more than the build wants it. */
enum replay_shares {
    REPLAY_BY_THREAD, /* threads: others count as threads, and two of the build's get twice as much as one */
    REPLAY_BY_GROUP, /* sessions, control groups: others count as groups beside the build's own, which gets no more for having more
                      * threads */
};

struct replay_task {
    uint32_t unit;
    struct replay_stage before; /* up to the metadata */
    double code_s; /* codegen: CPU time of the thread that builds IR, and of those that make code */
    double feed_s; /* of it, the first, which is not shared out */
    double floor_s; /* however many threads: the first's time, or the longest of the others' */
    uint32_t most_threads; /* at once: codegen units and the feeder */
    double gain; /* of the threads beside the first, how much of one each brought: 1 is all of it */
    double code_others; /* as of a stage */
    double own_tokens; /* that it gave itself, having no build tool's: a compiler by hand; 0: none */
    double drag; /* how long it took over its CPU time, where not even one thread was busy throughout; 1 or more */
    struct replay_stage after;
    double link_share; /* of `after`, a linker's */
    uint32_t needs,
        objects; /* what it waits for: to start; for its objects to be whole, itself included */
    uint32_t dependents; /* units that wait for it, in the end */
};

struct replay {
    const struct report *report;
    LAM_ARRAY(struct replay_task) tasks;
    LAM_ARRAY(uint32_t) task_of;  /* by unit; GRAPH_NONE: it runs inside another one */
    LAM_ARRAY(uint32_t) by_dep;   /* edges, sorted by dep */
    LAM_ARRAY(uint32_t) first_of; /* by unit: its first in by_dep; one more at the end */
    double measured_s;            /* the command's wall time */
    double lead_s;                /* before the first unit */
    double trail_s;               /* after the last one */
    double latency_s; /* of the build tool: from what a unit waits for to its start, where a job is free */
    double cores; /* that the command could have */
    enum replay_shares shares;
    double others; /* threads of other programs that wanted cores, mean; 0: nobody else had the machine */
    double company; /* threads of the build that want cores when one of them does, mean */
    double bursts; /* threads of the build itself that each further unit adds for moments, beyond its mean */
    uint32_t jobs;      /* units at once */
    bool jobs_are_seen; /* nobody said how many: most units, or threads on cores, that ran at once */
};

struct what_if_unit {
    const char *pattern;
    double speed; /* 2: twice as fast; INFINITY: free */
    bool is_split;
};

struct what_if {
    const char *text;       /* as it was given */
    double cores;           /* 0: as they were; INFINITY: no limit */
    double jobs;            /* 0: as they were, or as many as cores where they were that */
    double link_speed;      /* 1: as it was */
    uint32_t codegen_units; /* of each Rust crate; 0: as they were */
    LAM_ARRAY(struct what_if_unit) units;
};

/* LAM_E_NOMEM; LAM_E_NOTFOUND, described. *replay is closed after a failure. The report must outlive it. */
int replay_open(struct replay *replay, const struct report *report, struct lam_error *err);
void replay_close(struct replay *replay);

/* The build's wall time with the change; NULL: none. LAM_E_NOMEM. */
int replay_run(const struct replay *replay, const struct what_if *change, double *wall_s);

/* "unit=NAME[:SPEEDx]", "split=NAME", "link=SPEEDx", "cores=N", "jobs=N", "codegen-units=N", with commas between; N can be "all". Names
 * go to the arena. LAM_E_USAGE, described; LAM_E_NOMEM. what_if_free() in any case. */
int what_if_parse(struct what_if *change, const char *text, struct arena *arena,
                  struct lam_error *err);
void what_if_free(struct what_if *change);

/* A name is a unit's whole name or begins it up to a blank ("serde" is "serde 1.0.229"); or a pattern with * and ?. */
bool what_if_names(const struct what_if_unit *named, const struct report_unit *unit);

/* LAM_E_NOTFOUND, described, when one of the change's names is no unit's. */
int what_if_check(const struct what_if *change, const struct report *report, struct lam_error *err);

/* How many threads codegen keeps busy when so many may run, were gain 1; and how long it takes. */
double replay_codegen_threads(const struct replay_task *task, double threads);
double replay_codegen_s(const struct replay_task *task, double threads);

/* How many times longer work on cores takes, where so many threads of the build want one. */
double replay_slower(enum replay_shares shares, double cores, double own, double others);
/* The others that slow it down so. */
double replay_others(enum replay_shares shares, double cores, double own, double slower);

/* replay_work.c: the work of each task. LAM_E_NOMEM. */
int replay_measure_work(struct replay *replay);

#endif
