#include <string.h>

#include "output/write_labels.h"

static void add_heading_text(struct strbuf *out, const char *text)
{
    struct strbuf printable = {0};
    strbuf_add_printable(&printable, text, strlen(text));
    table_add_markdown(out, strbuf_text(&printable));
    out->failed |= !strbuf_ok(&printable);
    strbuf_free(&printable);
}

int write_labels_markdown(const struct report *report, const struct report_view *view,
                          struct strbuf *out)
{
    struct labels_tables tables = {0};
    int rc = labels_tables_make(report, view, 0, true, &tables);
    strbuf_add(out, "\nEvents: ");
    labels_summary_text(view, out);
    strbuf_add(out, ".\n");
    for (size_t i = 0; rc == LAM_OK && i < tables.count; i++) {
        strbuf_addf(out, "\n## %s", tables.items[i].heading);
        if (tables.items[i].heading_text)
            add_heading_text(out, tables.items[i].heading_text);
        strbuf_add(out, "\n\n");
        rc = table_print_markdown(&tables.items[i].table, out);
        if (tables.items[i].hidden > 0)
            strbuf_addf(out, "\nand %s more %s%s\n", unit_count(tables.items[i].hidden).text,
                        tables.items[i].hidden_what, unit_plural(tables.items[i].hidden));
        for (size_t note = 0; note < 2; note++)
            if (tables.items[i].notes[note])
                strbuf_addf(out, "\n%s\n", tables.items[i].notes[note]);
    }
    labels_tables_free(&tables);
    return rc;
}
