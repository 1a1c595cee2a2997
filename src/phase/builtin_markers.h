#ifndef LAM_PHASE_BUILTIN_MARKERS_H
#define LAM_PHASE_BUILTIN_MARKERS_H

#include <stddef.h>

/* The marker files compiled into the binary. The build makes the table from the folder markers/. */
struct marker_file {
    const char *name;  /* "rustc.markers" */
    const char *text;  /* the whole file, and a zero byte after it */
    size_t size_bytes; /* without that zero byte */
};

/* Sorted by name; a row of null pointers ends the table. Static storage. */
extern const struct marker_file lam_builtin_markers[];
extern const size_t lam_builtin_markers_count;

#endif
