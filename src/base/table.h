/* Plain text tables, and what is known about the terminal. The one way to print rows and columns.
 *
 *     struct table table = {0};
 *     table_column(&table, "unit", TABLE_LEFT, 40);
 *     table_column(&table, "CPU", TABLE_RIGHT, 0);
 *     table_cell(&table, unit->name);
 *     table_cellf(&table, "%s", unit_seconds(unit->cpu_s).text);
 *     rc = table_print(&table, &term, &text);
 *     table_free(&table);
 */
#ifndef LAMELLA_BASE_TABLE_H
#define LAMELLA_BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/array.h"
#include "base/error.h"
#include "base/strbuf.h"

/* What a stream can show. */
struct term {
    bool is_terminal;
    bool has_colour;  /* a terminal, TERM is not "dumb", NO_COLOR is unset or empty */
    unsigned columns; /* 0 when unknown: nothing is shortened for its sake */
};
struct term term_of(FILE *file);

enum text_style {
    STYLE_PLAIN,
    STYLE_BOLD,
    STYLE_DIM,
    STYLE_RED,
    STYLE_GREEN,
    STYLE_YELLOW,
    STYLE_BLUE,
    STYLE_COUNT
};

/* Adds text in a style: escape sequences only when term has colour. The text is made printable
 * first. */
void style_add(struct strbuf *buf, const struct term *term, enum text_style style, const char *text);

enum table_align { TABLE_LEFT, TABLE_RIGHT };

struct table_column_def {
    char *header;
    enum table_align align;
    unsigned max_columns; /* longer cells are shortened in the middle with "…"; 0: never */
    enum text_style style;
};
struct table_cell_def {
    char *text;      /* printable */
    unsigned column; /* as of its row */
    enum text_style style;
};

/* All-zero is an empty table. A failed allocation is remembered until table_print(). */
struct table {
    LAM_ARRAY(struct table_column_def) columns;
    LAM_ARRAY(struct table_cell_def) cells;
    LAM_ARRAY(size_t) rules; /* rows above which a line is drawn */
    bool failed;
    bool hides_header;
    unsigned indent;
    unsigned gap; /* spaces between columns; 0 is 2 */
};

/* Adds a column; all come before the first cell. */
void table_column(struct table *table, const char *header, enum table_align align,
                  unsigned max_columns);

/* Adds the next cell, from left to right and row after row. Control bytes and invalid UTF-8 are
 * made printable. NULL is an empty cell. */
void table_cell(struct table *table, const char *text);
void table_cell_n(struct table *table, const char *text, size_t length);
void table_cellf(struct table *table, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Styles the last cell. */
void table_style(struct table *table, enum text_style style);

/* Fills the rest of a begun row with empty cells. */
void table_end_row(struct table *table);

/* A line above the next row. */
void table_rule(struct table *table);

/* Appends a printable text, shortened in the middle with "…" if it is wider than `width` columns. */
void table_shorten(struct strbuf *out, const char *text, size_t width);

/* Appends the table, one line a row, without trailing spaces. When it is wider than the terminal,
 * the widest left-aligned column is shortened (to 8 columns at least). LAM_OK or LAM_E_NOMEM. */
int table_print(const struct table *table, const struct term *term, struct strbuf *out);

/* Appends it as a Markdown table. */
int table_print_markdown(const struct table *table, struct strbuf *out);

/* Appends a printable text so that Markdown, in a cell or elsewhere, takes nothing in it for markup. */
void table_add_markdown(struct strbuf *out, const char *text);

void table_free(struct table *table);

#endif
