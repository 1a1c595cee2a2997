/* What a build would take if something were different: the replay's answers, and how far it is from the build that was. */
#ifndef LAMELLA_ANALYSIS_REPLAY_ANSWERS_H
#define LAMELLA_ANALYSIS_REPLAY_ANSWERS_H

#include "analysis/replay.h"

struct replay_answer {
    const char *change; /* as what_if_parse() takes it; in the arena, or the caller's */
    double wall_s;      /* of the replayed build */
    double saved_s;     /* against the replayed build as it was */
    size_t units;       /* that it names; 0: it names none */
};

struct replay_answers {
    struct arena arena;
    bool is_there;     /* false: no units */
    double measured_s; /* the build that was */
    double replayed_s; /* the same, replayed */
    double cores, others, latency_s;
    double other_share; /* of the cores that the build wanted, what other groups had; NaN: cores are shared by thread, or by nobody */
    uint32_t jobs;
    bool jobs_are_seen;
    LAM_ARRAY(struct replay_answer) rows;
};

/* Answers to `changes`; with none of them to what is usually asked, the largest savings first. LAM_E_USAGE, LAM_E_NOTFOUND (a name
 * that no unit has) and LAM_E_NOMEM, described. replay_answers_free() in any case. */
int replay_answers_make(struct replay_answers *answers, const struct report *report,
                        const char *const *changes, size_t count, struct lam_error *err);
void replay_answers_free(struct replay_answers *answers);

#endif
