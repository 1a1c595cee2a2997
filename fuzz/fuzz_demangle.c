/* Names, one a line: demangled within the bounds, shortened, and shortened as if they were demangled already. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "symbols/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct names {
    const char *text;
    size_t length;
};

static void one_name(const char *name, size_t length)
{
    struct strbuf full = {0}, short_name = {0};
    enum symbol_language language = demangle_name(name, length, &full);
    if (full.length > DEMANGLE_MAX_OUTPUT + length + 16 * length)
        abort();
    symbol_short_name(language, strbuf_text(&full), full.length, &short_name);
    if (short_name.length > 2 * full.length + 32 || (full.length > 0 && short_name.length == 0))
        abort();
    for (int any = SYMBOL_LANGUAGE_PLAIN; any <= SYMBOL_LANGUAGE_RUST; any++) {
        strbuf_clear(&short_name);
        symbol_short_name((enum symbol_language)any, name, length, &short_name);
        if (short_name.length > 2 * length + 32 || (length > 0 && short_name.length == 0))
            abort();
    }
    (void)symbol_language_guess(name, length);
    strbuf_free(&full);
    strbuf_free(&short_name);
}

static int all_names(void *ctx, size_t item, unsigned worker)
{
    (void)item;
    (void)worker;
    const struct names *names = ctx;
    const char *at = names->text, *end = names->text + names->length;
    while (at < end) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        size_t length = line ? (size_t)(line - at) : (size_t)(end - at);
        one_name(at, length);
        at += length + 1;
    }
    return LAM_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct names names = {(const char *)data, size};
    if (size > 0)
        demangle_threads(1, 1, all_names, &names);
    return 0;
}
