/* On a terminal and as Markdown. */
#include <string.h>

#include "base/units.h"
#include "output/export_tables.h"
#include "output/write_calls.h"
#include "output/write_labels.h"

enum { NAME_COLUMNS = 56, MODULE_COLUMNS = 28, FUNCTIONS_SHOWN = 5, MODULES_SHOWN = 8 };

static const char outermost[] = "(outermost)";

struct writer {
    const struct report_view *view;
    const struct term *term; /* NULL: Markdown */
    struct strbuf *out;
    const struct calls *calls;
    bool has_kinds; /* of events: of more than one kind */
};

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

static struct unit_text amount(const struct writer *w, uint64_t ns)
{
    return labels_measured(w->calls->measure, ns);
}

static double share_of_all(const struct writer *w, uint64_t ns)
{
    return labels_share(ns, w->calls->whole_ns);
}

static void heading(struct writer *w, const char *text, size_t size)
{
    struct strbuf printable = {0};
    strbuf_add_printable(&printable, text, size);
    strbuf_add(w->out, w->term ? "\n" : "\n## ");
    if (w->term)
        style_add(w->out, w->term, STYLE_BOLD, strbuf_text(&printable));
    else
        table_add_markdown(w->out, strbuf_text(&printable));
    strbuf_add(w->out, w->term ? "\n" : "\n\n");
    w->out->failed |= !strbuf_ok(&printable);
    strbuf_free(&printable);
}

/* text: printable. */
static void note(struct writer *w, const char *text)
{
    strbuf_add(w->out, w->term ? "  " : "\n");
    if (w->term)
        style_add(w->out, w->term, STYLE_DIM, text);
    else
        table_add_markdown(w->out, text);
    strbuf_add_char(w->out, '\n');
}

static int print(struct writer *w, const struct table *table)
{
    return w->term ? table_print(table, w->term, w->out) : table_print_markdown(table, w->out);
}

static unsigned limit(const struct writer *w, unsigned columns)
{
    return w->term && w->term->columns ? columns : 0;
}

static bool is_of_many_kinds(const struct calls *calls)
{
    for (size_t i = 1; i < calls->names.count; i++) {
        const struct profile_text *a = &calls->names.items[0].kind, *b = &calls->names.items[i].kind;
        if (a->size != b->size || memcmp(a->bytes, b->bytes, a->size) != 0)
            return true;
    }
    return false;
}

static struct writer writer_for(const struct report_view *view, const struct calls *calls,
                                const struct term *term, struct strbuf *out)
{
    return (struct writer){view, term, out, calls, !calls->is_of_samples && is_of_many_kinds(calls)};
}

/* Columns of a function: its name, and its kind or module where there are such. */
static void name_columns(struct writer *w, struct table *table, const char *what, bool with_module)
{
    table_column(table, what, TABLE_LEFT, limit(w, NAME_COLUMNS));
    if (w->has_kinds)
        table_column(table, "kind", TABLE_LEFT, 0);
    if (with_module && w->calls->is_of_samples)
        table_column(table, "in", TABLE_LEFT, limit(w, MODULE_COLUMNS));
}

static void text_cell(struct table *table, struct profile_text text)
{
    table_cell_n(table, text.size ? text.bytes : "", text.size);
}

static void name_cells(struct writer *w, struct table *table, uint32_t name, bool with_module)
{
    static const struct call_name nobody = {.name = {outermost, sizeof outermost - 1}};
    const struct call_name *called = name == CALL_NOBODY ? &nobody : &w->calls->names.items[name];
    if (called->name.size)
        text_cell(table, called->name);
    else
        table_cell(table, "(empty)");
    if (w->has_kinds)
        text_cell(table, called->kind);
    if (with_module && w->calls->is_of_samples)
        text_cell(table, export_base_name(called->module));
}

static const char *what_counts(const struct writer *w)
{
    return w->calls->is_of_samples ? "samples" : "calls";
}

static uint64_t rows_wanted(const struct report_view *view)
{
    return view->top ? view->top : UINT64_MAX;
}

struct hidden {
    uint64_t count, ns; /* ns: PROFILE_UNKNOWN where it is not worth saying */
};

static void hidden_note(struct writer *w, const struct hidden *hidden, const char *what)
{
    struct strbuf text = {0};
    if (hidden->count == 0)
        return;
    strbuf_addf(&text, "and %s more %s%s", unit_count(hidden->count).text, what,
                unit_plural(hidden->count));
    if (hidden->ns != PROFILE_UNKNOWN)
        strbuf_addf(&text, ", %s together", amount(w, hidden->ns).text);
    strbuf_addf(&text, " (--top 0%s shows all)",
                w->view->percent_above > 0 ? " without --percent-above" : "");
    note(w, strbuf_text(&text));
    w->out->failed |= !strbuf_ok(&text);
    strbuf_free(&text);
}

/* ---- around a function ------------------------------------------------------------------------------------------- */

/* Lists come largest first. */
static bool is_shown(const struct writer *w, const struct call_around *around, size_t index,
                     uint64_t ns)
{
    return index < rows_wanted(w->view) &&
           !(100 * labels_share(ns, around->function->total.ns) < w->view->percent_above);
}

static void row(struct writer *w, struct table *table, const struct call_around *around,
                const char *role, uint32_t name, struct call_amount part, uint64_t count)
{
    table_cell(table, role);
    name_cells(w, table, name, true);
    table_cell(table, amount(w, part.ns).text);
    table_cell(table, unit_percent(labels_share(part.ns, around->function->total.ns)).text);
    table_cell(table, unit_count(w->calls->is_of_samples ? part.samples : count).text);
}

static void around_rows(struct writer *w, struct table *table, const struct call_around *around,
                        struct hidden *callers, struct hidden *callees)
{
    size_t index = 0;
    array_each(&around->callers, edge)
    {
        if (is_shown(w, around, index++, edge->time.ns))
            row(w, table, around, "caller", edge->caller, edge->time, edge->count);
        else
            *callers = (struct hidden){callers->count + 1, callers->ns + edge->time.ns};
    }
    table_cell(table, "itself");
    name_cells(w, table, around->name, true);
    table_style(table, STYLE_BOLD);
    table_cell(table, amount(w, around->function->self.ns).text);
    table_cell(table,
               unit_percent(labels_share(around->function->self.ns, around->function->total.ns)).text);
    table_cell(table, w->calls->is_of_samples ? unit_count(around->function->self.samples).text : "");
    index = 0;
    array_each(&around->callees, edge)
    {
        if (is_shown(w, around, index++, edge->below.ns))
            row(w, table, around, "callee", edge->callee, edge->below, edge->count);
        else
            *callees = (struct hidden){callees->count + 1, callees->ns + edge->below.ns};
    }
}

/* "1,973 calls, 1,972 of them its own; total 120 ms (80%), self 100 ms (66%)" */
static void totals_line(struct writer *w, const struct call_around *around)
{
    const struct call_function *function = around->function;
    const struct call_name *name = &w->calls->names.items[around->name];
    struct strbuf text = {0};
    uint64_t count = w->calls->is_of_samples ? function->total.samples : function->count;
    strbuf_addf(&text, "%s %s%s", unit_count(count).text,
                w->calls->is_of_samples ? "sample" : "call", unit_plural(count));
    if (around->calls_of_itself)
        strbuf_addf(&text, " (%s of them by itself)", unit_count(around->calls_of_itself).text);
    strbuf_addf(&text, ", total %s (%s of all), self %s (%s)", amount(w, function->total.ns).text,
                unit_percent(share_of_all(w, function->total.ns)).text,
                amount(w, function->self.ns).text,
                unit_percent(share_of_all(w, function->self.ns)).text);
    if (name->file.size) {
        strbuf_add(&text, "; in ");
        strbuf_add_printable(&text, name->file.bytes, name->file.size);
        if (name->line)
            strbuf_addf(&text, ", most of it at line %u", name->line);
    }
    strbuf_add(w->out, w->term ? "  " : "");
    if (w->term)
        strbuf_add(w->out, strbuf_text(&text));
    else
        table_add_markdown(w->out, strbuf_text(&text));
    strbuf_add(w->out, w->term ? "\n" : "\n\n");
    w->out->failed |= !strbuf_ok(&text);
    strbuf_free(&text);
}

static int write_around(struct writer *w, uint32_t name)
{
    struct call_around around;
    int rc = call_graph_around(&w->calls->graph, name, &around);
    struct table table = {.indent = 2};
    struct hidden callers = {0}, callees = {0};
    if (rc == LAM_OK) {
        struct strbuf title = {0};
        strbuf_add(&title, "Around ");
        const struct call_name *called = &w->calls->names.items[name];
        struct profile_text module = export_base_name(called->module);
        strbuf_add_bytes(&title, called->name.bytes, called->name.size);
        if (module.size) { /* others may have one of that name */
            strbuf_add(&title, ", ");
            strbuf_add_bytes(&title, module.bytes, module.size);
        } else if (w->calls->is_of_samples) {
            strbuf_add(&title, ", in samples");
        }
        heading(w, strbuf_text(&title), title.length);
        strbuf_free(&title);
        totals_line(w, &around);
        table_column(&table, "", TABLE_LEFT, 0);
        name_columns(w, &table, w->calls->is_of_samples ? "function" : "label", true);
        table_column(&table, w->calls->is_of_samples ? "CPU" : "time", TABLE_RIGHT, 0);
        table_column(&table, "share", TABLE_RIGHT, 0);
        table_column(&table, what_counts(w), TABLE_RIGHT, 0);
        around_rows(w, &table, &around, &callers, &callees);
        rc = print(w, &table);
        hidden_note(w, &callers, "caller");
        hidden_note(w, &callees, "callee");
    }
    table_free(&table);
    call_around_free(&around);
    return rc;
}

/* Those beyond the first few by their names alone: what to ask for next. */
static void write_others(struct writer *w, const struct call_names *names, size_t shown)
{
    enum { NAMED = 12 };
    struct strbuf text = {0};
    strbuf_addf(&text,
                "%s more %s called so (--top 0 shows all): ", unit_count(names->count - shown).text,
                unit_either(names->count - shown, "is", "are"));
    for (size_t i = shown; i < names->count && i < shown + NAMED; i++) {
        struct profile_text name = w->calls->names.items[names->items[i]].name;
        strbuf_add(&text, i > shown ? ", " : "");
        strbuf_add_printable(&text, name.bytes, name.size);
    }
    strbuf_add(&text, names->count - shown > NAMED ? ", …" : "");
    strbuf_add(w->out, w->term ? "\n" : "");
    note(w, strbuf_text(&text));
    w->out->failed |= !strbuf_ok(&text);
    strbuf_free(&text);
}

static int write_found(const struct report_view *view, const struct term *term, struct strbuf *out,
                       struct lam_error *err)
{
    struct calls_found_both found;
    int rc = calls_found_make(view, &found, err);
    for (size_t i = 0; rc == LAM_OK && i < found.count; i++) {
        const struct call_names *names = &found.items[i].names;
        struct writer w = writer_for(view, found.items[i].calls, term, out);
        size_t shown =
            view->has_top && view->top < names->count && view->top ? view->top : names->count;
        shown = !view->has_top && shown > FUNCTIONS_SHOWN ? FUNCTIONS_SHOWN : shown;
        for (size_t k = 0; rc == LAM_OK && k < shown; k++)
            rc = write_around(&w, names->items[k]);
        if (rc == LAM_OK && shown < names->count)
            write_others(&w, names, shown);
        if (rc < 0)
            lam_error_set(err, rc, "report: out of memory");
    }
    if (rc == LAM_OK) {
        struct writer w = {.view = view, .term = term, .out = out};
        strbuf_add(out, term ? "\n" : "");
        note(&w, "callers add up to its total, and itself with its callees; of calls inside of one "
                 "another the outermost counts");
    }
    calls_found_free(&found);
    return rc;
}

/* ---- by caller --------------------------------------------------------------------------------------------------- */

static int write_pairs(struct writer *w)
{
    static const char title[] = "By caller (time of everything inside included)";
    struct table table = {.indent = 2};
    size_t index = 0;
    struct hidden hidden = {.ns = PROFILE_UNKNOWN};
    name_columns(w, &table, "caller", false);
    name_columns(w, &table, w->calls->is_of_samples ? "function" : "label", false);
    table_column(&table, w->calls->is_of_samples ? "CPU" : "time", TABLE_RIGHT, 0);
    table_column(&table, "share", TABLE_RIGHT, 0);
    table_column(&table, "self", TABLE_RIGHT, 0);
    table_column(&table, what_counts(w), TABLE_RIGHT, 0);
    array_each(&w->calls->graph.edges, edge)
    {
        bool is_small = 100 * share_of_all(w, edge->time.ns) < w->view->percent_above;
        if (edge->count == 0 && edge->time.ns == 0 && edge->time.samples == 0)
            continue;
        if (index++ >= rows_wanted(w->view) || is_small) {
            hidden.count++;
            continue;
        }
        name_cells(w, &table, edge->caller, false);
        name_cells(w, &table, edge->callee, false);
        table_cell(&table, amount(w, edge->time.ns).text);
        table_cell(&table, unit_percent(share_of_all(w, edge->time.ns)).text);
        table_cell(&table, amount(w, edge->self.ns).text);
        table_cell(&table,
                   unit_count(w->calls->is_of_samples ? edge->time.samples : edge->count).text);
    }
    heading(w, title, sizeof title - 1);
    int rc = print(w, &table);
    hidden_note(w, &hidden, "pair");
    table_free(&table);
    return rc;
}

/* ---- by function, of samples ------------------------------------------------------------------------------------- */

struct module_row {
    struct profile_text name;
    struct call_amount self;
};
struct module_rows LAM_ARRAY_BODY(struct module_row);

static int compare_modules(const void *left, const void *right)
{
    const struct module_row *a = left, *b = right;
    if (a->self.ns != b->self.ns)
        return a->self.ns > b->self.ns ? -1 : 1;
    size_t size = a->name.size < b->name.size ? a->name.size : b->name.size;
    int order = memcmp(a->name.bytes, b->name.bytes, size);
    return order ? order : a->name.size < b->name.size ? -1 : a->name.size > b->name.size;
}

/* Rows are by the ids of their names. */
static struct module_row *module_of(struct module_rows *rows, struct intern *seen,
                                    struct profile_text name)
{
    uint32_t id;
    if (intern_add(seen, name.bytes, name.size, &id) < 0 ||
        (id >= rows->count && array_resize(rows, (size_t)id + 1) < 0))
        return NULL;
    rows->items[id].name = name;
    return &rows->items[id];
}

/* Where the innermost function was: in a file, or in a function of the interpreted program itself. */
static int add_modules(const struct calls *calls, struct module_rows *rows)
{
    static const struct profile_text nowhere = {"(not known)", 11},
                                     inside = {"(calls of events)", 17};
    struct intern seen = {0};
    int rc = LAM_OK;
    for (size_t i = 0; rc == LAM_OK && i < calls->graph.functions.count; i++) {
        const struct call_function *function = &calls->graph.functions.items[i];
        const struct call_name *name = &calls->names.items[i];
        struct profile_text where = name->module.size ? export_base_name(name->module)
                                    : name->kind.size ? inside
                                                      : nowhere;
        if (function->self.samples == 0 && function->self.ns == 0)
            continue;
        struct module_row *row = module_of(rows, &seen, where);
        if (!row)
            rc = LAM_E_NOMEM;
        else
            row->self = (struct call_amount){row->self.ns + function->self.ns,
                                             row->self.samples + function->self.samples};
    }
    intern_free(&seen);
    if (rc == LAM_OK && rows->items)
        array_sort(rows, compare_modules);
    while (rows->count && !array_last(rows).self.ns && !array_last(rows).self.samples)
        rows->count--; /* the empty name's, which nobody has */
    return rc;
}

static int write_modules(struct writer *w)
{
    static const char title[] = "Where the CPU time went, by module";
    struct module_rows rows = {0};
    struct table table = {.indent = 2};
    int rc = add_modules(w->calls, &rows);
    table_column(&table, "module", TABLE_LEFT, limit(w, NAME_COLUMNS));
    table_column(&table, "CPU", TABLE_RIGHT, 0);
    table_column(&table, "share", TABLE_RIGHT, 0);
    table_column(&table, "samples", TABLE_RIGHT, 0);
    for (size_t i = 0; rc == LAM_OK && i < rows.count && i < MODULES_SHOWN; i++) {
        text_cell(&table, rows.items[i].name);
        table_cell(&table, amount(w, rows.items[i].self.ns).text);
        table_cell(&table, unit_percent(share_of_all(w, rows.items[i].self.ns)).text);
        table_cell(&table, unit_count(rows.items[i].self.samples).text);
    }
    heading(w, title, sizeof title - 1);
    if (rc == LAM_OK)
        rc = print(w, &table);
    if (rows.count > MODULES_SHOWN) {
        struct strbuf text = {0};
        strbuf_addf(&text, "and %s more", unit_count(rows.count - MODULES_SHOWN).text);
        note(w, strbuf_text(&text));
        strbuf_free(&text);
    }
    table_free(&table);
    array_free(&rows);
    return rc;
}

static int function_table(struct writer *w)
{
    static const char title[] = "By function";
    struct call_names names = {0};
    struct table table = {.indent = 2};
    int rc = calls_by_self(w->calls, &names);
    size_t shown = 0;
    name_columns(w, &table, "function", true);
    table_column(&table, "self", TABLE_RIGHT, 0);
    table_column(&table, "share", TABLE_RIGHT, 0);
    table_column(&table, "total", TABLE_RIGHT, 0);
    table_column(&table, "samples", TABLE_RIGHT, 0);
    for (; rc == LAM_OK && shown < names.count && shown < rows_wanted(w->view); shown++) {
        const struct call_function *function = &w->calls->graph.functions.items[names.items[shown]];
        bool is_idle =
            function->self.ns == 0 && function->self.samples == 0; /* as are all behind it */
        if (is_idle || 100 * share_of_all(w, function->self.ns) < w->view->percent_above)
            break;
        name_cells(w, &table, names.items[shown], true);
        table_cell(&table, amount(w, function->self.ns).text);
        table_cell(&table, unit_percent(share_of_all(w, function->self.ns)).text);
        table_cell(&table, amount(w, function->total.ns).text);
        table_cell(&table, unit_count(function->self.samples).text);
    }
    heading(w, title, sizeof title - 1);
    if (rc == LAM_OK)
        rc = print(w, &table);
    hidden_note(w, &(struct hidden){names.count - shown, PROFILE_UNKNOWN}, "function");
    table_free(&table);
    array_free(&names);
    return rc;
}

int write_functions(const struct report_view *view, const struct term *term, struct strbuf *out)
{
    const struct calls *calls = view->sample_calls;
    if (!view->by_function || !calls || !calls->graph.all.samples)
        return LAM_OK;
    struct writer w = writer_for(view, calls, term, out);
    int rc = write_modules(&w);
    return rc < 0 ? rc : function_table(&w);
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

int write_calls(const struct report_view *view, const struct term *term, struct strbuf *out,
                struct lam_error *err)
{
    const struct calls *const sources[] = {view->event_calls, view->sample_calls};
    int rc = LAM_OK;
    for (size_t i = 0; rc == LAM_OK && i < 2; i++) {
        if (!sources[i])
            continue;
        struct writer w = writer_for(view, sources[i], term, out);
        if (view->by_caller && sources[i]->graph.edges.count)
            rc = write_pairs(&w);
    }
    if (rc < 0)
        return lam_error_set(err, rc, "report: out of memory");
    return view->around ? write_found(view, term, out, err) : LAM_OK;
}
