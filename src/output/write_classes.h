/* Classes of compilations in the JSON report, and what a unit says of its own: class, capture, flags, files it wrote. */
#ifndef LAMELLA_OUTPUT_WRITE_CLASSES_H
#define LAMELLA_OUTPUT_WRITE_CLASSES_H

#include "base/json_write.h"
#include "output/report_rows.h"

/* Members of a unit: "class_id", "capture", "flags", "artifacts". */
void write_unit_class_json(struct json_writer *json, const struct report_unit *unit);

/* The member "classes": one row for each class of the chosen units. LAM_E_NOMEM. */
int write_classes_json(struct json_writer *json, const struct report *report,
                       const struct report_rows *rows);

#endif
