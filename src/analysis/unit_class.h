/* What makes two units of two builds the same work: a key from what their command lines say. */
#ifndef LAMELLA_ANALYSIS_UNIT_CLASS_H
#define LAMELLA_ANALYSIS_UNIT_CLASS_H

#include "base/strbuf.h"
#include "build/unit.h"

enum { UNIT_CLASS_PARTS = 14 };

/* As they are called in the JSON report: "kind", "crate", "package", "version", … */
extern const char *const unit_class_parts[UNIT_CLASS_PARTS];

/* The parts of a unit, in that order; NULL: not said. Of the incremental cache only whether there is one. */
void unit_class_of(const struct unit *unit, const char *parts[UNIT_CLASS_PARTS]);

/* Its crate type; "lib" for both names of a library. */
const char *class_crate_type(const struct unit *unit);

/* All parts, and the title where nothing else names the unit. Two units with the same text are the same work. */
void unit_class_text(const char *const parts[UNIT_CLASS_PARTS], const char *title,
                     struct strbuf *out);

/* What is left of it when version, features and flags may differ: kind, name, crate type and mode. */
void unit_class_name(const char *const parts[UNIT_CLASS_PARTS], const char *title,
                     struct strbuf *out);

/* Appends the names of the parts in which two class texts differ: "version, opt_level". */
void unit_class_differences(const char *left, const char *right, struct strbuf *out);

#endif
