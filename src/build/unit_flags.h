/* The flags of a unit's command line that move compile time, fit to be shown to others: no paths, no names, no definitions. */
#ifndef LAMELLA_BUILD_UNIT_FLAGS_H
#define LAMELLA_BUILD_UNIT_FLAGS_H

#include "build/unit.h"

struct unit_flag {     /* texts in the arena */
    const char *flag;  /* "opt-level", "-Z threads", "-std", "-O" */
    const char *value; /* "3"; "yes" for a flag without one */
};

struct unit_flags {
    const struct unit_flag *items; /* by flag, then value */
    size_t count;
};

/* Flags of a compiler's unit; those of other units are none. LAM_E_NOMEM. */
int unit_flags_of(const struct unit_command *command, enum unit_kind kind, struct arena *arena,
                  struct unit_flags *flags);

/* "codegen-units=16 opt-level=3", for a hash and for people. */
void unit_flags_text(const struct unit_flags *flags, struct strbuf *text);

#endif
