/* Marker files: which frames, modules, threads and roles mean which segment, phase and detail. One rule a line:
 *
 *     RULE       PATTERN   SEGMENT PHASE DETAIL   [module=GLOB] [over=SEGMENT[,SEGMENT]]
 *     thread     PATTERN   ROLE                   [module=GLOB] [cgu] [main]
 *
 * RULE is leaf, module, innermost, outermost, query, role or detail, in the order of precedence that classifier.h explains.
 * PATTERN is a glob (base/glob.h) on the frame's short name, on the module's path (module), on the thread's name (thread) or on
 * the role's name (role); in double quotes when it holds blanks. DETAIL is a name, or - for none; for `module` it may be
 * {crate}: the crate in the file name lib{crate}-HASH.so. SEGMENT - (with PHASE -) takes names out of a wider pattern.
 * module= restricts a rule to frames of matching modules; for thread and role it is the program's path. over= makes an
 * innermost marker keep a sample against deeper innermost markers of those segments. cgu: what the pattern's first * matched
 * is the codegen unit. main: only the process's main thread. # starts a comment at the begin of a line or after a blank. */
#ifndef LAMELLA_PHASE_MARKER_FILE_H
#define LAMELLA_PHASE_MARKER_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/intern.h"

enum marker_rule {
    MARKER_LEAF,
    MARKER_MODULE,
    MARKER_INNERMOST,
    MARKER_OUTERMOST,
    MARKER_QUERY,
    MARKER_ROLE,
    MARKER_DETAIL,
    MARKER_THREAD,
    MARKER_RULE_COUNT,
};

enum phase_segment {
    SEGMENT_NONE, /* "-": this marker takes names out of a wider pattern */
    SEGMENT_FRONTEND,
    SEGMENT_BACKEND,
    SEGMENT_LINK,
    SEGMENT_PROCESS,
    SEGMENT_WAIT,
    SEGMENT_UNKNOWN,
    SEGMENT_COUNT,
};

enum thread_role {
    ROLE_OTHER, /* no thread line claimed the name */
    ROLE_SERIAL,
    ROLE_OPT,
    ROLE_CODEGEN,
    ROLE_LTO,
    ROLE_COPY,
    ROLE_COORDINATOR,
    ROLE_PROCESS,
    ROLE_COUNT,
};

const char *phase_segment_name(enum phase_segment segment); /* "frontend"; "-" for SEGMENT_NONE */
const char *thread_role_name(enum thread_role role);        /* "serial" */

#define MARKER_DETAIL_NONE  INTERN_EMPTY
#define MARKER_DETAIL_CRATE (UINT32_MAX - 1) /* {crate} */

struct marker {
    enum marker_rule rule;
    const char *pattern; /* NUL-ended, in the set's arena */
    uint32_t pattern_length;
    uint32_t literal_length; /* bytes of the pattern that are no wildcards: the longest wins */
    const char *module;      /* glob, NULL: any */
    uint32_t line;
    uint16_t file;   /* index in marker_set.files; a later file breaks a tie */
    uint16_t phase;  /* index in marker_set.phases; 0 with SEGMENT_NONE and for threads */
    uint32_t detail; /* id in marker_set.details */
    uint8_t segment; /* enum phase_segment */
    uint8_t over;    /* bits 1 << enum phase_segment */
    uint8_t role;    /* enum thread_role, for threads */
    bool has_cgu;
    bool is_main; /* a thread line for the process's main thread alone */
};

struct marker_phase {
    uint8_t segment;  /* enum phase_segment */
    const char *name; /* in the set's arena */
};

/* All-zero is empty and valid. */
struct marker_set {
    struct arena arena;
    LAM_ARRAY(struct marker) markers;
    LAM_ARRAY(struct marker_phase) phases; /* [0] is unknown > unattributed */
    struct intern details;
    LAM_ARRAY(const char *) files;
};

/* Reads the rules of one file's text; name is for messages ("rustc.markers"). LAM_E_CORRUPT with "name:line: …" for the first
 * line that is none; the set is then only good for marker_set_free(). */
int marker_set_add(struct marker_set *set, const char *name, const char *text, size_t length,
                   struct lam_error *err);

/* The same from a file of the user. */
int marker_set_add_file(struct marker_set *set, const char *path, struct lam_error *err);

/* The marker files that are compiled in. */
int marker_set_add_builtin(struct marker_set *set, struct lam_error *err);

void marker_set_free(struct marker_set *set);

#endif
