/* Which of several inputs are of one build. A recording with an account of CPU time (its launcher's, or samples) leads a group of its own;
 * self-profiles of its processes, and recordings of events of its processes that were made beside it, go with it, and are read as
 * if they lay in it. All other inputs are one more group. */
#ifndef LAMELLA_INPUT_INPUT_GROUPS_H
#define LAMELLA_INPUT_INPUT_GROUPS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/array.h"
#include "base/error.h"
#include "profile/sink.h"

struct input_paths LAM_ARRAY_BODY(const char *);

struct input_group {
    const char *recording;     /* that leads it; NULL: the group of the others */
    struct input_paths events; /* recordings of events beside it; of the others each is one by itself */
    struct input_paths profiles; /* self-profiles: files, and directories of which nothing went elsewhere */
    struct input_paths paths; /* all of these, in the order in which they were given */
};

/* All-zero is empty. Paths are the caller's, or names of files in a directory of the caller's. A self-profile
 * that is given twice is found by who reads it (read_profdata()). */
struct input_groups {
    LAM_ARRAY(struct input_group)
    items; /* those with a recording in their order, then the others, if there are any */
    LAM_ARRAY(char *) names; /* of files in directories; owned */
    struct input_paths repeated; /* recordings that were given before, by this name or another: left out */
};

/* Codes: those of input_kind_of() and read_recording(); UNSUPPORTED also for a report, which holds no events.
 * input_groups_free() also after a failure. */
int input_groups_find(struct input_groups *groups, const char *const *paths, size_t count,
                      struct lam_error *err);
void input_groups_free(struct input_groups *groups);

/* Reads one of them, or all of them joined, where profile_module.recording is the number of the group. See input_read(). */
int input_group_read(const struct input_group *group, const struct profile_sink *sink,
                     struct lam_error *err);
int input_groups_read(const struct input_groups *groups, const struct profile_sink *sink,
                      struct lam_error *err);

#endif
