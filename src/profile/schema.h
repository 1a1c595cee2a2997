/* Every table and column that lamella gives out: names, types, units, meanings, in one place. The JSON report, its
 * documentation (docs/report-json.md) and, later, Parquet files are made from it.
 *
 * Durations are seconds, times are seconds since the session's start, sizes are bytes, what is not known is NULL (null in
 * JSON): never 0. */
#ifndef LAMELLA_PROFILE_SCHEMA_H
#define LAMELLA_PROFILE_SCHEMA_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

enum schema_type {
    SCHEMA_TEXT,
    SCHEMA_DOUBLE,
    SCHEMA_BIGINT,
    SCHEMA_BOOLEAN,
    SCHEMA_TIMESTAMP, /* text in JSON: "2026-11-29T23:26:20Z" */
    SCHEMA_LIST,      /* of rows of another table, inside this one (JSON only) */
};

/* Where a column stands. */
enum schema_place {
    SCHEMA_IN_TABLE = 1,  /* a column of the table */
    SCHEMA_IN_REPORT = 2, /* a key of `lamella report --format json` */
    SCHEMA_IN_BOTH = 3,
};

struct schema_column {
    const char *name;
    enum schema_type type;
    uint8_t place;    /* enum schema_place */
    uint8_t since;    /* the part of lamella that fills it; 1: now */
    const char *unit; /* "s", "bytes", "hz", ""; for a list: the table of its rows */
    const char *meaning;
};

struct schema_table {
    const char *name;
    const char *row;        /* "one row per …" */
    const char *report_key; /* in the report: NULL when it is in no report */
    uint8_t report_is_list; /* a list of objects; else one object */
    uint8_t since;
    const char *report_when; /* "there are events": else the key is absent; NULL: it is always there */
    const struct schema_column *columns;
    size_t column_count;
};

extern const struct schema_table schema_tables[];
extern const size_t schema_table_count;

/* NULL when there is none. */
const struct schema_table *schema_table(const char *name);
const struct schema_column *schema_column(const struct schema_table *table, const char *name);
const struct schema_table *schema_report_part(const char *report_key);

/* "text", "number", "integer", "true or false", "time", "list": as the documentation calls them. */
const char *schema_type_name(enum schema_type type);

/* docs/report-json.md, whole. */
void schema_write_document(struct strbuf *out);

#endif
