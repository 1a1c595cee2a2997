#include <string.h>

#include "base/units.h"
#include "output/write_compare.h"

static void add_escaped(struct strbuf *out, const struct strbuf *text)
{
    for (const char *c = strbuf_text(text); *c; c++) {
        if (strchr("\\`*_<>[]#|", *c))
            strbuf_add_char(out, '\\');
        strbuf_add_char(out, *c);
    }
}

int write_compare_markdown(const struct compare *compare, const struct compare_view *view,
                           struct strbuf *out, struct lam_error *err)
{
    static const char *const words[] = {"before", "after"};
    struct compare_tables tables = {0};
    struct strbuf text = {0};
    strbuf_add(out, "# Lamella diff\n\n");
    for (uint32_t side = 0; side < COMPARE_SIDES; side++) {
        strbuf_clear(&text);
        compare_side_text(compare, side, &text);
        strbuf_addf(out, "- %s: ", words[side]);
        add_escaped(out, &text);
        strbuf_add_char(out, '\n');
    }
    int rc = compare_tables_make(compare, view, &tables);
    for (size_t i = 0; rc == LAM_OK && i < tables.count; i++) {
        strbuf_addf(out, "\n## %s\n\n", tables.items[i].heading);
        if (tables.items[i].shown > 0)
            rc = table_print_markdown(&tables.items[i].table, out);
        else
            strbuf_addf(out, "%s did not change\n", unit_count(tables.items[i].same).text);
        if (tables.items[i].hidden > 0)
            strbuf_addf(out, "\nand %s more\n", unit_count(tables.items[i].hidden).text);
    }
    strbuf_clear(&text);
    compare_remarks(compare, view, &text);
    strbuf_add_char(out, '\n');
    add_escaped(out, &text);
    compare_tables_free(&tables);
    bool is_whole = strbuf_ok(&text);
    strbuf_free(&text);
    if (rc < 0 || !is_whole || !strbuf_ok(out))
        return lam_error_set(err, LAM_E_NOMEM, "diff: out of memory");
    return LAM_OK;
}
