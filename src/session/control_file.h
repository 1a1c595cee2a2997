/* The control page of a recording: the file "control" in the scratch place, which every agent maps. */
#ifndef LAMELLA_SESSION_CONTROL_FILE_H
#define LAMELLA_SESSION_CONTROL_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "stream/layout.h"

/* Writes the file and maps it, so that `stop` can be set later. control_close() unmaps. */
int control_create(const char *dir, const struct control_page *content, struct control_page **page,
                   struct lam_error *err);
void control_close(struct control_page **page);

/* Tells all agents, also those that start later, that the recording has ended. */
void control_set_stop(struct control_page *page);

/* Reads the page of a recording that another launcher made. CORRUPT when it is none of this version. */
int control_read(const char *dir, struct control_page *content, struct lam_error *err);

/* Sets stop in the page of a recording whose launcher has died; nothing when there is none. */
void control_stop_orphan(const char *dir);

/* Puts globs, each ended by NUL, behind one another into page->patterns. USAGE when they do not fit. */
int control_put_patterns(struct control_page *page, const char *const *only, size_t only_count,
                         const char *const *skip, size_t skip_count, struct lam_error *err);

#endif
