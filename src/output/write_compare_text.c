#include <math.h>
#include <string.h>

#include "base/units.h"
#include "output/write_compare.h"

static void write_side(const struct compare *compare, uint32_t side, const char *word,
                       const struct term *term, struct strbuf *out)
{
    style_add(out, term, STYLE_DIM, word);
    compare_side_text(compare, side, out);
    strbuf_add_char(out, '\n');
}

static int write_tables(const struct compare_tables *tables, const struct term *term,
                        struct strbuf *out)
{
    int rc = LAM_OK;
    array_each(tables, it)
    {
        strbuf_add_char(out, '\n');
        style_add(out, term, STYLE_BOLD, it->heading);
        strbuf_add_char(out, '\n');
        if (rc == LAM_OK && it->shown > 0)
            rc = table_print(&it->table, term, out);
        struct strbuf rest = {0};
        if (it->hidden > 0)
            strbuf_addf(&rest, "  and %s more (--top 0 shows all)", unit_count(it->hidden).text);
        if (it->same > 0)
            strbuf_addf(&rest, "%s%s did not change", it->hidden ? "; " : "  ",
                        unit_count(it->same).text);
        if (rest.length > 0) {
            style_add(out, term, STYLE_DIM, strbuf_text(&rest));
            strbuf_add_char(out, '\n');
        }
        strbuf_free(&rest);
    }
    return rc;
}

int write_compare_text(const struct compare *compare, const struct compare_view *view,
                       const struct term *term, struct strbuf *out, struct lam_error *err)
{
    struct compare_tables tables = {0};
    write_side(compare, COMPARE_BEFORE, "before  ", term, out);
    write_side(compare, COMPARE_AFTER, "after   ", term, out);
    int rc = compare_tables_make(compare, view, &tables);
    if (rc == LAM_OK)
        rc = write_tables(&tables, term, out);
    compare_tables_free(&tables);
    strbuf_add_char(out, '\n');
    compare_remarks(compare, view, out);
    if (rc < 0 || !strbuf_ok(out))
        return lam_error_set(err, LAM_E_NOMEM, "diff: out of memory");
    return LAM_OK;
}
