/* `lamella record --self-profile`: what the compilers are asked for, and what that means for the build. */
#ifndef LAMELLA_SESSION_PROFILE_REQUEST_H
#define LAMELLA_SESSION_PROFILE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/file.h"
#include "stream/layout.h"

#define PROFILE_REQUEST_DIR "self-profile" /* in the recording */

struct profile_request {
    const char *events;       /* as given; empty: the compiler's own choice */
    char *dir;                /* where profiles go; NULL before profile_request_begin() */
    char *compiler;           /* what it calls itself; NULL: there is none in PATH */
    char *plain_root;         /* a compiler below it takes -Z options as it is; NULL: none does */
    bool bootstrap;           /* RUSTC_BOOTSTRAP=1 is set for compilations */
    char *target_dir;         /* that cargo is told to use; NULL: it uses its own */
    bool target_is_given;     /* the command line names one */
    struct dir_entries files; /* after profile_request_finish() */
    uint64_t bytes;
};

/* Asks the compiler what it is, and picks the target directory. command and environment are those of the user. keeps_target: the
 * usual target directory shall be used. LAM_OK or LAM_E_NOMEM. */
int profile_request_plan(struct profile_request *request, const char *events, bool keeps_target,
                         char *const *command, char *const *environment, struct lam_error *err);

/* Makes the directory for profiles. */
int profile_request_begin(struct profile_request *request, const char *recording,
                          struct lam_error *err);

/* What agents are told. LAM_E_TOOBIG where it does not fit. */
int profile_request_put(const struct profile_request *request, struct control_page *page,
                        struct lam_error *err);

/* Finds what was written. */
void profile_request_finish(struct profile_request *request);
void profile_request_free(struct profile_request *request);

#endif
