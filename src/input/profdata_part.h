/* One of several walks that tell branches of a sink of a self-profile side by side: a part at a time, from its end to its beginning. The
 * skeleton (profdata_events.h) says what is under way at each part's end. The file's intervals nest (profdata_overlaps.h): an interval is
 * told where nothing that is still to come can lie in it, by the part in which it began.
 *
 * For a sink that wants the order of starts a part is put down on the way, and told when all of it is known. */
#ifndef LAMELLA_INPUT_PROFDATA_PART_H
#define LAMELLA_INPUT_PROFDATA_PART_H

#include "input/profdata_finder.h"
#include "input/profdata_walk.h"

struct profdata_part_lane;
struct profdata_part_step;

struct profdata_part {
    struct profile_branch *branch; /* the caller's */
    /* Called between events, now and then. NULL: nobody asks. */
    int (*between)(void *ctx);
    void *ctx;

    /* Inside, from open to close. */
    const struct profdata_skeleton *skeleton;
    bool is_forward;
    struct profdata_walk walk; /* its own, of arguments and totals, with its own: */
    struct profile_sink sink;
    struct profdata_file file; /* for its faults; the bytes are the walk's */
    struct profdata_strings strings;
    struct profdata_threads threads;
    struct profdata_finder finder;
    struct profdata_part_lane *lanes;
    struct profile_interval told;
    struct profdata_under_way nodes;
    LAM_ARRAY(struct profdata_part_step) steps; /* of one part, the last one first */
};

/* shared: of the file, with the walk's labels and strings. LAM_OK or LAM_E_NOMEM. */
int profdata_part_open(struct profdata_part *part, const struct profdata_walk *walk,
                       struct profdata_shared_labels *shared);

/* Tells one of the skeleton's chunks. What was told is counted in part->walk.totals, what was wrong in part->file.faults, both from
 * nothing on. LAM_OK, LAM_E_NOMEM, LAM_E_FULL or a code of the branch. */
int profdata_part_tell(struct profdata_part *part, size_t chunk);

void profdata_part_close(struct profdata_part *part); /* nothing that is open is fine; what the caller set stays */

#endif
