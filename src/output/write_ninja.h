/* What ninja says that it made, in the JSON report. */
#ifndef LAMELLA_OUTPUT_WRITE_NINJA_H
#define LAMELLA_OUTPUT_WRITE_NINJA_H

#include "analysis/report.h"
#include "base/json_write.h"

/* The member "ninja"; nothing when there is no log. */
void write_ninja_json(struct json_writer *json, const struct report *report);

#endif
