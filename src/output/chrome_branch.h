/* One of several writers of a Chrome trace's events, each with bytes of its own that are put together in order (struct profile_branch). */
#ifndef LAMELLA_OUTPUT_CHROME_BRANCH_H
#define LAMELLA_OUTPUT_CHROME_BRANCH_H

#include "output/chrome_pieces.h"
#include "profile/sink.h"

/* What a branch asks of the trace that it is a part of; callable by any thread. Each adds to a text that is empty; LAM_OK or a
 * negative code. */
struct chrome_trunk {
    void *ctx;
    int (*head)(void *ctx, uint32_t label, struct strbuf *text); /* {"name":"…","cat":"…" */
    int (*tail)(void *ctx, uint32_t process, uint32_t thread, struct strbuf *text); /* "pid":1,"tid":2 */
};

int chrome_branch_open(const struct chrome_trunk *trunk, size_t max_bytes, bool redacts,
                       struct profile_branch *branch);
void chrome_branch_close(struct profile_branch *branch);

/* What it holds: whole events, each behind a comma and a line break. Gone with the next event. */
struct profile_text chrome_branch_take(struct profile_branch *branch);

#endif
