#include "output/run_losses.h"

#include <string.h>

#include "base/units.h"

static bool is_lossy(const struct run_info *run)
{
    return run->lost > 0 || run->overwritten_pages > 0;
}

void run_losses_text(const struct run_matrix *matrix, struct strbuf *out)
{
    array_each(&matrix->runs, run)
    {
        if (!is_lossy(run))
            continue;
        const char *name = run_matrix_text(matrix, run->name);
        strbuf_add_printable(out, name, strlen(name));
        strbuf_add(out, ": ");
        if (run->lost > 0)
            strbuf_addf(out, "%s event%s or sample%s lost%s", unit_count((uint64_t)run->lost).text,
                        unit_plural((uint64_t)run->lost), unit_plural((uint64_t)run->lost),
                        run->overwritten_pages > 0 ? ", and " : "");
        if (run->overwritten_pages > 0)
            strbuf_addf(out, "%s page%s of events overwritten (mode=flight)",
                        unit_count((uint64_t)run->overwritten_pages).text,
                        unit_plural((uint64_t)run->overwritten_pages));
        strbuf_add(out, ": what it lacks looks like a change.\n");
    }
}

void run_losses_json(const struct run_matrix *matrix, struct json_writer *json)
{
    json_member_array(json, "lossy");
    array_each(&matrix->runs, run)
    {
        size_t length;
        const char *name = intern_text(&matrix->texts, run->name, &length);
        if (is_lossy(run))
            json_put_str_n(json, name, length);
    }
    json_put_end(json);
}
