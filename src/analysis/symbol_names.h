/* Names of frames from a recording's symbol sidecar, for stack_states. */
#ifndef LAMELLA_ANALYSIS_SYMBOL_NAMES_H
#define LAMELLA_ANALYSIS_SYMBOL_NAMES_H

#include "analysis/stack_states.h"
#include "symbols/sidecar.h"

/* All-zero with symbols NULL: no frame has a name. */
struct symbol_names {
    const struct symbols *symbols; /* NULL, or open until symbol_names_free() */
    LAM_ARRAY(uint32_t) modules;   /* the input's module id → the sidecar's */
};

/* The callbacks; names must outlive them. */
struct frame_names symbol_names_frames(struct symbol_names *names);
void symbol_names_free(struct symbol_names *names);

#endif
