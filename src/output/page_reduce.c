#include "output/page_reduce.h"

#include <math.h>
#include <string.h>

enum { NS_A_SECOND = 1000000000 };

void page_drop(struct page_table *table, const char *name)
{
    struct page_column **at = &table->columns, *before = NULL;
    while (*at && strcmp((*at)->name, name) != 0) {
        before = *at;
        at = &(*at)->next;
    }
    if (!*at)
        return;
    struct page_column *gone = *at;
    *at = gone->next;
    if (table->last == gone)
        table->last = before;
    array_free(&gone->values);
}

int64_t page_quanta(int64_t ns, uint64_t quantum_ns)
{
    int64_t quantum = (int64_t)quantum_ns, half = quantum / 2;
    return (ns >= 0 ? ns + half : ns - half) / quantum;
}

void page_round(struct page_column *column, uint64_t quantum_ns, enum page_rounding rounding)
{
    if (!column || column->type != PAGE_INT || column->per != NS_A_SECOND)
        return;
    int64_t sum_ns = 0, sum = 0;
    array_each(&column->values, value)
    {
        if (*value == PAGE_NULL)
            continue;
        if (rounding == PAGE_ROUND_SUMS) {
            sum_ns += *value;
            *value = page_quanta(sum_ns, quantum_ns) - sum;
            sum += *value;
        } else {
            *value = page_quanta(*value, quantum_ns);
        }
    }
    column->per = NS_A_SECOND / quantum_ns;
}

static double real_of(int64_t bits)
{
    double real;
    memcpy(&real, &bits, sizeof real);
    return real;
}

void page_round_numbers(struct page_column *column, uint64_t parts)
{
    if (!column || column->type != PAGE_INT || column->per > 1)
        return;
    int64_t most = 0, step = 1;
    array_each(&column->values, value)
    {
        if (*value != PAGE_NULL && *value > most)
            most = *value;
    }
    while (step <= most / 2 / (int64_t)parts)
        step *= 2;
    array_each(&column->values, value)
    {
        if (*value != PAGE_NULL && *value <= PAGE_INT_MAX - step)
            *value = (*value + step / 2) / step * step;
    }
}

void page_round_real(struct page_column *column, uint64_t per)
{
    if (!column || column->type != PAGE_REAL)
        return;
    array_each(&column->values, value)
    {
        if (fabs(real_of(*value)) * (double)per > (double)PAGE_INT_MAX)
            return;
    }
    array_each(&column->values, value)
    {
        double real = real_of(*value);
        *value = isnan(real) ? PAGE_NULL : (int64_t)llround(real * (double)per);
    }
    column->type = PAGE_INT;
    column->per = per;
}

/* ---- order ---- */

enum { SORT_COLUMNS_MAX = 8 };

struct sort_row {
    int64_t keys[SORT_COLUMNS_MAX];
    size_t row;
};

static int compare_rows(const void *left, const void *right)
{
    const struct sort_row *a = left, *b = right;
    for (size_t i = 0; i < SORT_COLUMNS_MAX; i++) {
        if (a->keys[i] != b->keys[i])
            return a->keys[i] < b->keys[i] ? -1 : 1;
    }
    return a->row < b->row ? -1 : a->row > b->row;
}

struct sort_rows LAM_ARRAY_BODY(struct sort_row);

static int permute(struct page_column *column, const struct sort_rows *rows)
{
    LAM_ARRAY(int64_t) values = {0};
    if (array_reserve(&values, rows->count) < 0)
        return LAM_E_NOMEM;
    array_each(rows, row) values.items[values.count++] = column->values.items[row->row];
    memcpy(column->values.items, values.items, values.count * sizeof *values.items);
    array_free(&values);
    return LAM_OK;
}

int page_sort(struct page_table *table, const char *const *by)
{
    struct sort_rows rows = {0};
    int rc = array_resize(&rows, table->rows);
    for (size_t i = 0; rc == LAM_OK && i < rows.count; i++)
        rows.items[i].row = i;
    for (size_t key = 0; rc == LAM_OK && key < SORT_COLUMNS_MAX && by[key]; key++) {
        const struct page_column *column = page_column_find(table, by[key]);
        for (size_t i = 0; column && i < rows.count; i++)
            rows.items[i].keys[key] = column->values.items[i];
    }
    array_sort(&rows, compare_rows);
    for (struct page_column *column = table->columns; rc == LAM_OK && column && rows.count;
         column = column->next)
        rc = permute(column, &rows);
    array_free(&rows);
    return rc;
}

/* ---- fewer rows ---- */

static bool is_named(const char *name, const char *const *names)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

static int64_t mean_of(const struct page_column *column, size_t from, size_t to)
{
    double sum = 0;
    size_t known = 0;
    for (size_t i = from; i < to; i++) {
        int64_t value = column->values.items[i];
        bool is_known = column->type == PAGE_REAL ? !isnan(real_of(value)) : value != PAGE_NULL;
        if (!is_known)
            continue;
        sum += column->type == PAGE_REAL ? real_of(value) : (double)value;
        known++;
    }
    double mean = known ? sum / (double)known : NAN;
    if (column->type != PAGE_REAL)
        return known ? (int64_t)llround(mean) : PAGE_NULL;
    int64_t bits;
    memcpy(&bits, &mean, sizeof bits);
    return bits;
}

static void thin_column(struct page_column *column, size_t rows, size_t each, bool takes_last)
{
    bool is_mean = !takes_last && (column->type == PAGE_INT || column->type == PAGE_REAL);
    size_t kept = 0;
    for (size_t from = 0; from < rows; from += each) {
        size_t to = from + each < rows ? from + each : rows;
        column->values.items[kept++] =
            is_mean ? mean_of(column, from, to) : column->values.items[to - 1];
    }
    column->values.count = kept;
}

size_t page_thin(struct page_table *table, size_t most, const char *const *last)
{
    size_t each = (table->rows + most - 1) / most;
    if (each <= 1)
        return 1;
    for (struct page_column *column = table->columns; column; column = column->next)
        thin_column(column, table->rows, each, is_named(column->name, last));
    table->rows = (table->rows + each - 1) / each;
    return each;
}
