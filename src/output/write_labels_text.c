#include <string.h>

#include "output/write_labels.h"

static void write_hidden(const struct report_view *view, const struct labels_table *made,
                         const struct term *term, struct strbuf *out)
{
    struct strbuf text = {0};
    strbuf_addf(&text, "  and %s more %s%s", unit_count(made->hidden).text, made->hidden_what,
                unit_plural(made->hidden));
    if (made->hidden_amount != PROFILE_UNKNOWN)
        strbuf_addf(&text, ", %s together", labels_amount(view->labels, made->hidden_amount).text);
    strbuf_add(&text, view->percent_above > 0 ? " (--top 0 without --percent-above shows all)"
                                              : " (--top 0 shows all)");
    style_add(out, term, STYLE_DIM, strbuf_text(&text));
    strbuf_add_char(out, '\n');
    strbuf_free(&text);
}

static void write_note(const char *note, const struct term *term, struct strbuf *out)
{
    if (!note)
        return;
    strbuf_add(out, "  ");
    style_add(out, term, STYLE_DIM, note);
    strbuf_add_char(out, '\n');
}

int write_labels_text(const struct report *report, const struct report_view *view,
                      const struct term *term, struct strbuf *out)
{
    struct labels_tables tables = {0};
    struct strbuf summary = {0};
    int rc = labels_tables_make(report, view, term->columns, false, &tables);
    labels_summary_text(view, &summary);
    strbuf_add(out, report_is_of_events(report) ? "  " : "\n  ");
    style_add(out, term, STYLE_DIM, "events ");
    style_add(out, term, STYLE_PLAIN, strbuf_text(&summary));
    strbuf_add_char(out, '\n');
    for (size_t i = 0; rc == LAM_OK && i < tables.count; i++) {
        strbuf_add_char(out, '\n');
        style_add(out, term, STYLE_BOLD, tables.items[i].heading);
        if (tables.items[i].heading_text)
            style_add(out, term, STYLE_BOLD, tables.items[i].heading_text);
        strbuf_add_char(out, '\n');
        rc = table_print(&tables.items[i].table, term, out);
        if (tables.items[i].hidden > 0)
            write_hidden(view, &tables.items[i], term, out);
        for (size_t note = 0; note < 2; note++)
            write_note(tables.items[i].notes[note], term, out);
    }
    labels_tables_free(&tables);
    strbuf_free(&summary);
    return rc;
}
