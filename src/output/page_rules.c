#include "output/page_rules.h"

#include <string.h>

#include "base/file.h"
#include "base/units.h"
#include "output/page_reduce.h"
#include "output/page_spans.h"

enum {
    TIMELINE_ROWS_MAX = 400,
    TIMELINE_PARTS = 1000,
    MICROSECOND_NS = 1000,
    NS_A_SECOND = 1000000000
};

/* Columns that follow from others. */
static const struct {
    const char *table, *column;
} dropped[] = {
    {"segments", "share"},
    {"phases", "share"},
};

/* All columns in seconds of these tables are rounded to the quantum of spans, or to microseconds. */
static const struct {
    const char *table;
    enum page_rounding rounding;
    bool is_fine;
} rounded_tables[] = {
    {"units.phases", PAGE_ROUND_SUMS, false}, {"units.waits", PAGE_ROUND_SUMS, false},
    {"threads", PAGE_ROUND_EACH, false},      {"threads.waits", PAGE_ROUND_SUMS, false},
    {"wall_shares", PAGE_ROUND_SUMS, false},  {"idle_stretches", PAGE_ROUND_EACH, false},
    {"processes", PAGE_ROUND_EACH, true},     {"timeline", PAGE_ROUND_EACH, true},
};

static struct page_table *existing(struct page_columns *data, const char *name)
{
    struct page_table *table = data->tables;
    while (table && strcmp(table->name, name) != 0)
        table = table->next;
    return table;
}

static void round_tables(struct page_columns *data, uint64_t quantum_ns)
{
    for (size_t i = 0; i < sizeof rounded_tables / sizeof *rounded_tables; i++) {
        struct page_table *table = existing(data, rounded_tables[i].table);
        for (struct page_column *column = table ? table->columns : NULL; column; column = column->next)
            page_round(column, rounded_tables[i].is_fine ? MICROSECOND_NS : quantum_ns,
                       rounded_tables[i].rounding);
    }
}

/* Cells in an order in which neighbours are alike. */
static int order_cells(struct page_columns *data)
{
    static const char *const order[] = {"row", "role", "cgu", "segment", "phase", "detail", NULL};
    struct page_table *cells = existing(data, "units.phases");
    return cells ? page_sort(cells, order) : LAM_OK;
}

/* Columns that are mostly near another one. */
static const struct {
    const char *table, *column, *related;
} related_columns[] = {
    {"units", "user_s", "cpu_s"},
    {"units", "sampled_cpu_s", "cpu_s"},
    {"units", "run_s", "cpu_s"},
    {"processes", "user_s", "cpu_s"},
    {"processes", "sampled_cpu_s", "cpu_s"},
    {"threads", "run_s", "cpu_s"},
    {"threads", "sampled_cpu_s", "cpu_s"},
    {"threads", "end_s", "start_s"},
    {"units", "end_s", "start_s"},
    {"processes", "end_s", "start_s"},
};

/* Columns that are the sum of others. */
static const struct {
    const char *table, *column;
    struct {
        const char *name;
        int64_t times;
    } terms[PAGE_TERMS_MAX];
} sums[] = {
    {"units", "wall_s", {{"end_s", 1}, {"start_s", -1}}},
    {"units", "sys_s", {{"cpu_s", 1}, {"user_s", -1}}},
    {"processes", "wall_s", {{"end_s", 1}, {"start_s", -1}}},
    {"processes", "sys_s", {{"cpu_s", 1}, {"user_s", -1}}},
    {"threads", "lifetime_s", {{"end_s", 1}, {"start_s", -1}}},
    {"threads", "blocked_s", {{"lifetime_s", 1}, {"run_s", -1}, {"core_wait_s", -1}}},
};

static const struct page_column *number_column(const struct page_table *table, const char *name)
{
    const struct page_column *column = table ? page_column_find(table, name) : NULL;
    return column && column->type == PAGE_INT ? column : NULL;
}

static void relate(struct page_columns *data, const char *table_name, const char *name,
                   const char *related, int64_t times)
{
    const struct page_table *table = existing(data, table_name);
    const struct page_column *other = number_column(table, related);
    struct page_column *column = table ? page_column_find(table, name) : NULL;
    if (column && other && column->type == PAGE_INT)
        column->related = (struct page_term){other, times};
}

/* Columns in another unit than the sum's do not add up. */
static void add_up(struct page_columns *data, size_t rule)
{
    const struct page_table *table = existing(data, sums[rule].table);
    struct page_column *column = table ? page_column_find(table, sums[rule].column) : NULL;
    if (!column || column->type != PAGE_INT)
        return;
    unsigned count = 0;
    for (; count < PAGE_TERMS_MAX && sums[rule].terms[count].name; count++) {
        const struct page_column *term = number_column(table, sums[rule].terms[count].name);
        if (!term || term->per != column->per)
            return;
        column->terms[count] = (struct page_term){term, sums[rule].terms[count].times};
    }
    column->term_count = count;
    column->may_differ = column->per < NS_A_SECOND ? count : 0;
}

static void find_relations(struct page_columns *data, int64_t usual_cpu)
{
    for (size_t i = 0; i < sizeof related_columns / sizeof *related_columns; i++)
        relate(data, related_columns[i].table, related_columns[i].column,
               related_columns[i].related, 1);
    relate(data, "units.phases", "cpu_s", "samples", usual_cpu);
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        add_up(data, i);
}

static void thin_timeline(struct page_columns *data)
{
    static const char *const last[] = {"t_s", NULL};
    struct page_table *timeline = existing(data, "timeline");
    if (!timeline)
        return;
    timeline->merged = page_thin(timeline, TIMELINE_ROWS_MAX, last);
    for (struct page_column *column = timeline->columns; column; column = column->next) {
        page_round_real(column, TIMELINE_PARTS);
        if (text_ends_with(column->name, "_bytes"))
            page_round_numbers(column, TIMELINE_PARTS);
    }
}

int page_apply_rules(struct page_columns *data, uint64_t quantum_ns, int64_t usual_cpu)
{
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++) {
        struct page_table *table = existing(data, dropped[i].table);
        if (table)
            page_drop(table, dropped[i].column);
    }
    thin_timeline(data);
    int rc = order_cells(data);
    round_tables(data, quantum_ns);
    find_relations(data, usual_cpu);
    return rc;
}

static void put_sentence(struct json_writer *json, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void put_sentence(struct json_writer *json, const char *fmt, ...)
{
    struct strbuf text = {0};
    va_list args;
    va_start(args, fmt);
    strbuf_addv(&text, fmt, args);
    va_end(args);
    json_put_str(json, strbuf_text(&text));
    strbuf_free(&text);
}

void page_describe_rules(const struct page_columns *data, uint64_t quantum_ns,
                         struct json_writer *json)
{
    bool has_spans = false;
    for (const struct page_table *table = data->tables; table; table = table->next)
        has_spans |= strcmp(table->name, "spans") == 0 && table->rows > 0;
    json_member_array(json, "rounding");
    if (!has_spans && quantum_ns == MICROSECOND_NS)
        put_sentence(json, "Times of threads, waits and processes are rounded to a microsecond.");
    else if (quantum_ns == MICROSECOND_NS)
        put_sentence(json, "Times of spans, threads, waits, processes and of a unit's phases are "
                           "rounded to a microsecond; sums hold.");
    else
        put_sentence(json,
                     "Times of spans, threads, waits, idle stretches, shares of the wall and of a "
                     "unit's phases are rounded to %.4g microseconds, those of processes to one; "
                     "sums hold. A span after a pause begins at a step of %.4g microseconds, and "
                     "what follows it without one moves along.",
                     (double)quantum_ns / 1e3, (double)quantum_ns * PAGE_PAUSE_QUANTA / 1e3);
    for (const struct page_table *table = data->tables; table; table = table->next) {
        if (strcmp(table->name, "timeline") == 0 && table->rows > 0)
            put_sentence(json, "Memory over time is rounded to a thousandth of its peak.");
        if (table->merged > 1)
            put_sentence(json, "A point of the %s is the mean of %zu that were recorded.",
                         table->name, table->merged);
    }
    json_put_end(json);
}
