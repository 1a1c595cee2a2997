#include "base/table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/memory.h"

struct term term_of(FILE *file)
{
    struct term term = {0};
    const char *no_color = getenv("NO_COLOR");
    const char *kind = getenv("TERM");
    struct winsize size;
    int fd = fileno(file);
    term.is_terminal = fd >= 0 && isatty(fd);
    if (!term.is_terminal)
        return term;
    term.has_colour = !(no_color && *no_color) && kind && *kind && strcmp(kind, "dumb") != 0;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0)
        term.columns = size.ws_col;
    return term;
}

static const char *style_begin(enum text_style style)
{
    static const char *const codes[STYLE_COUNT] = {
        [STYLE_PLAIN] = "",        [STYLE_BOLD] = "\033[1m",   [STYLE_DIM] = "\033[2m",
        [STYLE_RED] = "\033[31m",  [STYLE_GREEN] = "\033[32m", [STYLE_YELLOW] = "\033[33m",
        [STYLE_BLUE] = "\033[34m",
    };
    return codes[style < STYLE_COUNT ? style : STYLE_PLAIN];
}

/* text is printable already */
static void add_styled(struct strbuf *buf, const struct term *term, enum text_style style,
                       const char *text, size_t length)
{
    bool is_styled = term->has_colour && style != STYLE_PLAIN && length;
    if (is_styled)
        strbuf_add(buf, style_begin(style));
    strbuf_add_bytes(buf, text, length);
    if (is_styled)
        strbuf_add(buf, "\033[0m");
}

void style_add(struct strbuf *buf, const struct term *term, enum text_style style, const char *text)
{
    struct strbuf shown = {0};
    strbuf_add_printable(&shown, text, strlen(text));
    add_styled(buf, term, style, strbuf_text(&shown), shown.length);
    buf->failed = buf->failed || shown.failed;
    strbuf_free(&shown);
}

void table_column(struct table *table, const char *header, enum table_align align,
                  unsigned max_columns)
{
    struct table_column_def column = {
        .header = mem_strdup(header), .align = align, .max_columns = max_columns};
    if (!column.header || array_push(&table->columns, column) < 0) {
        mem_free(column.header);
        table->failed = true;
    }
}

void table_cell_n(struct table *table, const char *text, size_t length)
{
    struct strbuf shown = {0};
    if (table->failed || !table->columns.count)
        return;
    strbuf_add_printable(&shown, text, length);
    struct table_cell_def cell = {
        .text = strbuf_take(&shown, NULL),
        .column = (unsigned)(table->cells.count % table->columns.count),
    };
    if (!cell.text || array_push(&table->cells, cell) < 0) {
        mem_free(cell.text);
        table->failed = true;
    }
}

void table_cell(struct table *table, const char *text)
{
    table_cell_n(table, text ? text : "", text ? strlen(text) : 0);
}

void table_cellf(struct table *table, const char *fmt, ...)
{
    struct strbuf text = {0};
    va_list args;
    va_start(args, fmt);
    strbuf_addv(&text, fmt, args);
    va_end(args);
    table_cell_n(table, strbuf_text(&text), text.length);
    table->failed = table->failed || !strbuf_ok(&text);
    strbuf_free(&text);
}

void table_style(struct table *table, enum text_style style)
{
    if (table->cells.count)
        array_last(&table->cells).style = style;
}

void table_end_row(struct table *table)
{
    while (!table->failed && table->columns.count && table->cells.count % table->columns.count)
        table_cell(table, "");
}

void table_rule(struct table *table)
{
    table_end_row(table);
    if (table->columns.count &&
        array_push(&table->rules, table->cells.count / table->columns.count) < 0)
        table->failed = true;
}

static size_t text_columns(const char *text)
{
    return utf8_columns(text, strlen(text));
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The width of each column, from what stands in it. */
static void measure(const struct table *table, size_t *widths)
{
    for (size_t i = 0; i < table->columns.count; i++)
        widths[i] = table->hides_header ? 0 : text_columns(table->columns.items[i].header);
    array_each(&table->cells, cell)
    {
        size_t width = text_columns(cell->text);
        if (width > widths[cell->column])
            widths[cell->column] = width;
    }
    for (size_t i = 0; i < table->columns.count; i++) {
        if (table->columns.items[i].max_columns)
            widths[i] = smaller(widths[i], table->columns.items[i].max_columns);
    }
}

static unsigned gap_of(const struct table *table)
{
    return table->gap ? table->gap : 2;
}

static size_t total_width(const struct table *table, const size_t *widths)
{
    size_t total = table->indent;
    for (size_t i = 0; i < table->columns.count; i++)
        total += widths[i] + (i ? gap_of(table) : 0);
    return total;
}

/* Shortens the widest left-aligned columns until the table fits, to 8 columns each at least. */
static void fit(const struct table *table, size_t columns, size_t *widths)
{
    enum { COLUMN_MIN = 8 };
    size_t total = total_width(table, widths);
    while (columns && total > columns) {
        size_t widest = SIZE_MAX;
        for (size_t i = 0; i < table->columns.count; i++) {
            if (table->columns.items[i].align == TABLE_LEFT && widths[i] > COLUMN_MIN &&
                (widest == SIZE_MAX || widths[i] > widths[widest]))
                widest = i;
        }
        if (widest == SIZE_MAX)
            return;
        widths[widest]--;
        total--;
    }
}

/* How many bytes at the start of text take at most `columns` columns. */
static size_t bytes_at_start(const char *text, size_t length, size_t columns)
{
    size_t at = 0;
    while (at < length) {
        uint32_t code = 0;
        size_t taken = utf8_decode(text + at, length - at, &code);
        size_t width = taken ? utf8_char_columns(code) : 1;
        if (width > columns)
            break;
        columns -= width;
        at += taken ? taken : 1;
    }
    return at;
}

static size_t bytes_at_end(const char *text, size_t length, size_t columns)
{
    size_t total = utf8_columns(text, length);
    size_t skip = bytes_at_start(text, length, total > columns ? total - columns : 0);
    while (skip < length && utf8_columns(text + skip, length - skip) > columns)
        skip += bytes_at_start(text + skip, length - skip, 2);
    return length - skip;
}

/* text in at most `width` columns, cut in the middle: names differ at their ends. */
void table_shorten(struct strbuf *out, const char *text, size_t width)
{
    size_t length = strlen(text);
    if (utf8_columns(text, length) <= width) {
        strbuf_add_bytes(out, text, length);
        return;
    }
    size_t room = width ? width - 1 : 0;
    size_t tail = bytes_at_end(text, length, room / 2);
    strbuf_add_bytes(out, text, bytes_at_start(text, length, room - room / 2));
    strbuf_add(out, "…");
    strbuf_add_bytes(out, text + length - tail, tail);
}

/* Adds one line of cells; trailing spaces are left out. */
static void add_line(const struct table *table, const struct term *term, const size_t *widths,
                     const char *const *texts, const enum text_style *styles, struct strbuf *out)
{
    size_t spaces = table->indent; /* due before the next text */
    for (size_t i = 0; i < table->columns.count; i++) {
        struct strbuf shown = {0};
        spaces += i ? gap_of(table) : 0;
        table_shorten(&shown, texts[i], widths[i]);
        size_t used = utf8_columns(strbuf_text(&shown), shown.length);
        size_t padding = widths[i] > used ? widths[i] - used : 0;
        if (table->columns.items[i].align == TABLE_RIGHT)
            spaces += padding;
        if (shown.length) {
            strbuf_add_fill(out, ' ', spaces);
            add_styled(out, term, styles[i], strbuf_text(&shown), shown.length);
            spaces = 0;
        }
        if (table->columns.items[i].align == TABLE_LEFT)
            spaces += padding;
        out->failed = out->failed || shown.failed;
        strbuf_free(&shown);
    }
    strbuf_add_char(out, '\n');
}

static bool has_rule_above(const struct table *table, size_t row)
{
    array_each(&table->rules, rule)
    {
        if (*rule == row)
            return true;
    }
    return false;
}

static void add_rule(const struct table *table, const size_t *widths, struct strbuf *out)
{
    strbuf_add_fill(out, ' ', table->indent);
    for (size_t left = total_width(table, widths) - table->indent; left; left--)
        strbuf_add(out, "─");
    strbuf_add_char(out, '\n');
}

/* The texts and styles of one row; row SIZE_MAX is the header. */
static void gather_row(const struct table *table, size_t row, const char **texts,
                       enum text_style *styles)
{
    for (size_t i = 0; i < table->columns.count; i++) {
        size_t at = row * table->columns.count + i;
        if (row == SIZE_MAX) {
            texts[i] = table->columns.items[i].header;
            styles[i] = STYLE_BOLD;
        } else if (at < table->cells.count) {
            const struct table_cell_def *cell = &table->cells.items[at];
            texts[i] = cell->text;
            styles[i] = cell->style ? cell->style : table->columns.items[i].style;
        } else {
            texts[i] = "";
            styles[i] = STYLE_PLAIN;
        }
    }
}

static size_t rows_of(const struct table *table)
{
    size_t columns = table->columns.count;
    return (table->cells.count + columns - 1) / columns;
}

/* What printing needs beside the table, allocated in one go. */
struct layout {
    size_t *widths;
    const char **texts;
    enum text_style *styles;
};

static int layout_open(struct layout *layout, const struct table *table)
{
    size_t columns = table->columns.count;
    layout->widths = mem_zalloc(columns, sizeof *layout->widths);
    layout->texts = mem_zalloc(columns, sizeof *layout->texts);
    layout->styles = mem_zalloc(columns, sizeof *layout->styles);
    return layout->widths && layout->texts && layout->styles ? LAM_OK : LAM_E_NOMEM;
}

static void layout_close(struct layout *layout)
{
    mem_free(layout->widths);
    mem_free(layout->texts);
    mem_free(layout->styles);
}

int table_print(const struct table *table, const struct term *term, struct strbuf *out)
{
    struct layout layout = {0};
    if (table->failed)
        return LAM_E_NOMEM;
    if (!table->columns.count)
        return LAM_OK;
    int rc = layout_open(&layout, table);
    if (rc == LAM_OK) {
        measure(table, layout.widths);
        fit(table, term->columns, layout.widths);
        if (!table->hides_header) {
            gather_row(table, SIZE_MAX, layout.texts, layout.styles);
            add_line(table, term, layout.widths, layout.texts, layout.styles, out);
        }
        for (size_t row = 0; row < rows_of(table); row++) {
            if (has_rule_above(table, row))
                add_rule(table, layout.widths, out);
            gather_row(table, row, layout.texts, layout.styles);
            add_line(table, term, layout.widths, layout.texts, layout.styles, out);
        }
    }
    layout_close(&layout);
    return rc == LAM_OK && !strbuf_ok(out) ? LAM_E_NOMEM : rc;
}

void table_add_markdown(struct strbuf *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("\\|*_`<>[]", *text))
            strbuf_add_char(out, '\\');
        strbuf_add_char(out, *text);
    }
}

static void add_markdown_line(const struct table *table, const char *const *texts, struct strbuf *out)
{
    strbuf_add_char(out, '|');
    for (size_t i = 0; i < table->columns.count; i++) {
        strbuf_add_char(out, ' ');
        table_add_markdown(out, texts[i]);
        strbuf_add(out, " |");
    }
    strbuf_add_char(out, '\n');
}

int table_print_markdown(const struct table *table, struct strbuf *out)
{
    struct layout layout = {0};
    if (table->failed)
        return LAM_E_NOMEM;
    if (!table->columns.count)
        return LAM_OK;
    int rc = layout_open(&layout, table);
    if (rc == LAM_OK) {
        gather_row(table, SIZE_MAX, layout.texts, layout.styles);
        add_markdown_line(table, layout.texts, out);
        strbuf_add_char(out, '|');
        array_each(&table->columns, column)
            strbuf_add(out, column->align == TABLE_RIGHT ? " ---: |" : " --- |");
        strbuf_add_char(out, '\n');
        for (size_t row = 0; row < rows_of(table); row++) {
            gather_row(table, row, layout.texts, layout.styles);
            add_markdown_line(table, layout.texts, out);
        }
    }
    layout_close(&layout);
    return rc == LAM_OK && !strbuf_ok(out) ? LAM_E_NOMEM : rc;
}

void table_free(struct table *table)
{
    array_each(&table->columns, column) mem_free(column->header);
    array_each(&table->cells, cell) mem_free(cell->text);
    array_free(&table->columns);
    array_free(&table->cells);
    array_free(&table->rules);
    *table = (struct table){0};
}
