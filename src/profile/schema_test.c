#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "profile/schema.h"

static void names_are_unique_and_said(void **state)
{
    (void)state;
    for (size_t t = 0; t < schema_table_count; t++) {
        const struct schema_table *table = &schema_tables[t];
        assert_ptr_equal(schema_table(table->name), table);
        assert_true(table->column_count > 0);
        for (size_t c = 0; c < table->column_count; c++) {
            const struct schema_column *column = &table->columns[c];
            if (schema_column(table, column->name) != column)
                fail_msg("%s.%s comes twice", table->name, column->name);
            if (!(column->place & SCHEMA_IN_BOTH) ||
                column->since < table->since * (column->place == SCHEMA_IN_REPORT))
                fail_msg("%s.%s stands nowhere, or is filled before its table", table->name,
                         column->name);
            if (column->type == SCHEMA_LIST && !schema_table(column->unit))
                fail_msg("%s.%s: no table %s", table->name, column->name, column->unit);
        }
        if (table->report_key)
            assert_ptr_equal(schema_report_part(table->report_key), table);
    }
    assert_null(schema_table("none"));
    assert_null(schema_report_part("none"));
    assert_null(schema_column(&schema_tables[0], "none"));
}

/* A name that ends in a unit has that unit, and the other way round. */
static void units_are_in_names(void **state)
{
    (void)state;
    static const struct {
        const char *end, *unit;
    } rows[] = {{"_s", "s"}, {"_bytes", "bytes"}, {"_hz", "hz"}};
    for (size_t t = 0; t < schema_table_count; t++) {
        const struct schema_table *table = &schema_tables[t];
        for (size_t c = 0; c < table->column_count; c++) {
            const struct schema_column *column = &table->columns[c];
            for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                bool is_named = text_ends_with(column->name, rows[i].end) ||
                                strcmp(column->name, rows[i].end + 1) == 0 ||
                                (i == 0 && strcmp(column->name, "seconds") == 0);
                if (is_named != (strcmp(column->unit, rows[i].unit) == 0))
                    fail_msg("%s.%s has the unit '%s'", table->name, column->name, column->unit);
            }
        }
    }
}

/* Columns that must be there: those of the design. */
static void keys_of_coverage(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "sampled_cpu_s",   "process_cpu_s",     "ratio",
        "late_cpu_s",      "startup_cpu_s",     "tail_cpu_s",
        "unsampled_cpu_s", "expected_samples",  "samples",
        "merged_samples",  "lost_samples",      "truncated_stacks",
        "frames",          "unresolved_frames", "samples_without_symbols",
        "units_unseen",    "sampled_span_s",    "elapsed_s",
    };
    const struct schema_table *coverage = schema_report_part("coverage");
    assert_non_null(coverage);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (!schema_column(coverage, keys[i]))
            fail_msg("coverage has no %s", keys[i]);
    }
}

/* docs/report-json.md is what the schema says. */
static void document_is_current(void **state)
{
    (void)state;
    const char *root = getenv("LAMELLA_SRC");
    if (!root) {
        print_message("LAMELLA_SRC is not set: run by ctest\n");
        skip();
    }
    struct strbuf document = {0};
    schema_write_document(&document);
    assert_true(strbuf_ok(&document));
    char *path = path_join(root, "docs/report-json.md");
    assert_non_null(path);
    const char *update = getenv("LAMELLA_UPDATE");
    if (update && *update)
        assert_int_equal(file_write_all(path, document.data, document.length, NULL), LAM_OK);
    char *stored = NULL;
    size_t size = 0;
    assert_int_equal(file_read_all(path, 1 << 20, &stored, &size, NULL), LAM_OK);
    if (size != document.length || memcmp(stored, document.data, size) != 0)
        fail_msg(
            "docs/report-json.md is stale: LAMELLA_UPDATE=1 ctest -R schema_test writes it anew");
    mem_free(stored);
    mem_free(path);
    strbuf_free(&document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_unique_and_said),
        cmocka_unit_test(units_are_in_names),
        cmocka_unit_test(keys_of_coverage),
        cmocka_unit_test(document_is_current),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
