/* Tables of typed columns, and the bytes they become in a page (docs/page-data.md). Memory: 8 bytes a value.
 *
 *     struct page_table *units = page_table(data, "units");
 *     struct page_column *cpu = page_column(data, units, "cpu_s", PAGE_INT);
 *     cpu->per = 1000000000;
 *     page_int(data, cpu, ns);          one call a row and column
 *     units->rows++;
 *     page_columns_encode(data, …);
 *
 * A failed allocation is remembered in the data and comes back from page_columns_encode(). */
#ifndef LAMELLA_OUTPUT_PAGE_COLUMNS_H
#define LAMELLA_OUTPUT_PAGE_COLUMNS_H

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/json_write.h"

#define PAGE_NULL INT64_MIN
/* Whole numbers of a column lie within this, so that sums of two are exact in a double. */
#define PAGE_INT_MAX (INT64_C(1) << 51)

enum page_type { PAGE_INT, PAGE_BOOL, PAGE_TEXT, PAGE_ROW, PAGE_PHASE, PAGE_ROLE, PAGE_REAL };
enum page_code { PAGE_VARINT, PAGE_PLANES, PAGE_CONST, PAGE_REALS, PAGE_SUM };
enum { PAGE_TERMS_MAX = 3 };

struct page_column;
struct page_term {
    const struct page_column *column;
    int64_t times;
};

struct page_column {
    const char *name;
    enum page_type type;
    uint64_t per;              /* a value is this fraction of its unit; 0: whole */
    const char *of;            /* PAGE_ROW: the table */
    LAM_ARRAY(int64_t) values; /* PAGE_NULL; of PAGE_REAL the bits of doubles */
    /* What is written is what remains of a value when `times` that of a related column is taken off, if that is shorter. */
    struct page_term related;
    /* The column is the sum of others, at least 0: nothing is written, if it is true of all rows (of what is rounded, but for
     * as many as there are terms). */
    struct page_term terms[PAGE_TERMS_MAX];
    unsigned term_count, may_differ;
    struct page_column *next;
    /* How it was written. */
    enum page_code code;
    uint64_t at, bytes;
    uint32_t width; /* of planes */
    uint64_t value; /* of a constant */
    bool is_delta, has_null, is_signed, is_rest;
};

struct page_table {
    const char *name;
    const char *parent; /* its column `row` is of that table; NULL */
    size_t rows;        /* set by who fills it; each column has as many values */
    size_t merged;      /* rows of the report that one holds; 0 and 1: one */
    struct page_column *columns, *last;
    struct page_table *next;
};

struct page_columns {
    struct arena arena;
    struct intern strings;
    struct page_table *tables, *last;
    struct page_column lengths; /* of the strings */
    uint64_t strings_at, strings_bytes;
    struct strbuf scratch;
    int failed;
};

/* The table of that name, made when it is new; the name is copied. NULL when memory is short (remembered). */
struct page_table *page_table(struct page_columns *data, const char *name);
struct page_column *page_column_find(const struct page_table *table, const char *name);

/* A new column, without values. NULL when memory is short, or table is NULL. */
struct page_column *page_column(struct page_columns *data, struct page_table *table,
                                const char *name, enum page_type type);

/* Appends a value. column NULL does nothing. What is beyond PAGE_INT_MAX is moved there. */
void page_int(struct page_columns *data, struct page_column *column, int64_t value);
void page_real(struct page_columns *data, struct page_column *column, double value);
/* Bytes of outside origin become the same text as in JSON (strbuf_add_json_escaped()). NULL is null. */
void page_text(struct page_columns *data, struct page_column *column, const char *text,
               size_t length);
/* Text that JSON reading gave: taken as it is. */
void page_plain_text(struct page_columns *data, struct page_column *column, const char *text,
                     size_t length);

/* Writes all sections to `out`, and notes in the columns where each is. */
int page_columns_encode(struct page_columns *data, struct strbuf *out, struct lam_error *err);

/* Members "strings" and "tables" of the header. */
void page_columns_describe(const struct page_columns *data, struct json_writer *json);

void page_columns_free(struct page_columns *data);

#endif
