/* Any bytes as the report that a page is made of: as they are, and redacted. */
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "output/page_redact.h"
#include "output/page_report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(void *ctx, const char *key, const char *json, size_t length)
{
    (void)key, (void)json;
    *(size_t *)ctx += length;
}

static void make_tables(const char *text, size_t size)
{
    struct page_columns columns = {0};
    struct strbuf sections = {0};
    size_t taken = 0;
    if (page_report_tables(&columns, text, size, take, &taken, NULL) == LAM_OK)
        page_columns_encode(&columns, &sections, NULL);
    strbuf_free(&sections);
    page_columns_free(&columns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct strbuf redacted = {0};
    struct byteout *out = mem_alloc(sizeof *out);
    make_tables((const char *)data, size);
    if (out) {
        byteout_init_strbuf(out, &redacted);
        if (page_redact((const char *)data, size, out, NULL) == LAM_OK)
            make_tables(strbuf_text(&redacted), redacted.length);
    }
    strbuf_free(&redacted);
    mem_free(out);
    return 0;
}
