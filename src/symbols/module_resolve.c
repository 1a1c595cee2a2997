#include "symbols/module_resolve.h"

#include <string.h>

#include "base/intern.h"
#include "base/memory.h"
#include "symbols/dwarf_lines.h"
#include "symbols/module_symbols.h"

struct resolving {
    struct resolved_module *out;
    struct module_symbols symbols;
    struct intern names; /* raw names; id - 1 is the function's index */
    struct strbuf full;
    struct strbuf short_name;
    const uint64_t *addresses; /* sorted, each once */
    size_t count;
    LAM_ARRAY(uint32_t) functions; /* of each address; SYMBOL_NO_FUNCTION: no symbol holds it */
};

static int compare_addresses(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

static void sort_addresses(struct hit_module *module)
{
    array_sort(&module->addresses, compare_addresses);
    size_t kept = 0;
    for (size_t i = 0; i < module->addresses.count; i++)
        if (kept == 0 || module->addresses.items[i] != module->addresses.items[kept - 1])
            module->addresses.items[kept++] = module->addresses.items[i];
    module->addresses.count = kept;
}

/* The id of a function by its raw name, which is demangled when it is new. */
static int add_function(struct resolving *resolving, const char *raw, uint32_t *id)
{
    struct resolved_module *out = resolving->out;
    uint32_t key;
    size_t length = strlen(raw);
    int rc = intern_add(&resolving->names, raw, length, &key);
    if (rc < 0)
        return rc;
    if (key == INTERN_EMPTY) {
        *id = SYMBOL_NO_FUNCTION;
        return LAM_OK;
    }
    *id = key - 1;
    if (key <= out->functions.count)
        return LAM_OK;
    strbuf_clear(&resolving->full);
    strbuf_clear(&resolving->short_name);
    enum symbol_language language = demangle_name(raw, length, &resolving->full);
    const char *full = strbuf_text(&resolving->full);
    size_t full_length = resolving->full.length;
    /* A name without mangling may come from DWARF and hold generic arguments. */
    enum symbol_language looks =
        language == SYMBOL_LANGUAGE_PLAIN ? symbol_language_guess(full, full_length) : language;
    symbol_short_name(looks, full, full_length, &resolving->short_name);
    struct resolved_function function = {
        .raw = arena_strndup(&out->text, raw, length),
        .full = arena_strndup(&out->text, full, full_length),
        .short_name = arena_strndup(&out->text, strbuf_text(&resolving->short_name),
                                    resolving->short_name.length),
        .language = language,
    };
    if (!strbuf_ok(&resolving->full) || !strbuf_ok(&resolving->short_name) || !function.raw ||
        !function.full || !function.short_name)
        return LAM_E_NOMEM;
    return array_push(&out->functions, function);
}

/* Finds the symbol of each address, and keeps the ranges of those that were hit. */
static int resolve_names(struct resolving *resolving)
{
    struct resolved_module *out = resolving->out;
    const struct symbol_range *range = NULL;
    uint32_t function = SYMBOL_NO_FUNCTION;
    for (size_t i = 0; i < resolving->count; i++) {
        uint64_t address = resolving->addresses[i];
        if (!range || address < range->start || address >= range->end) {
            const struct symbol *symbol = module_symbols_find(&resolving->symbols, address, &range);
            function = SYMBOL_NO_FUNCTION;
            if (symbol) {
                int rc = add_function(resolving, symbol->name, &function);
                if (rc == LAM_OK && function != SYMBOL_NO_FUNCTION)
                    rc = array_push(&out->ranges,
                                    (struct resolved_range){range->start, range->end, function});
                if (rc < 0)
                    return rc;
            }
        }
        if (function != SYMBOL_NO_FUNCTION)
            out->resolved++;
        int rc = array_push(&resolving->functions, function);
        if (rc < 0)
            return rc;
    }
    return LAM_OK;
}

static int add_file(struct resolved_module *out, const char *file, const char *directory,
                    const char **path)
{
    *path = NULL;
    if (!file || !*file)
        return LAM_OK;
    if (file[0] == '/' || !directory || !*directory)
        *path = arena_strdup(&out->text, file);
    else
        *path = arena_printf(&out->text, "%s/%s", directory, file);
    return *path ? LAM_OK : LAM_E_NOMEM;
}

enum { INLINE_DEPTH_MAX = 128 };

/* The frames of one site: inlined calls from the innermost on, and the function that holds them. */
static int add_frames(struct resolving *resolving, const struct dwarf_lines *lines,
                      const struct dwarf_site *site, uint32_t function)
{
    struct resolved_module *out = resolving->out;
    const struct dwarf_call *call = dwarf_lines_call(lines, site->node);
    const char *file = site->file;
    uint32_t line = site->line;
    size_t first = out->frames.count;
    for (size_t depth = 0;; depth++) {
        bool is_outermost = !call || call->parent == 0 || depth == INLINE_DEPTH_MAX;
        struct resolved_frame frame = {
            .function = function, .line = line, .is_inlined = !is_outermost};
        int rc = add_file(out, file, site->directory, &frame.file);
        if (rc == LAM_OK && call && call->name && (!is_outermost || function == SYMBOL_NO_FUNCTION))
            rc = add_function(resolving, call->name, &frame.function);
        else if (!is_outermost)
            frame.function = SYMBOL_NO_FUNCTION;
        if (rc == LAM_OK)
            rc = array_push(&out->frames, frame);
        if (rc < 0)
            return rc;
        if (is_outermost)
            break;
        file = call->call_file;
        line = call->call_line;
        call = dwarf_lines_call(lines, call->parent);
    }
    if (function == SYMBOL_NO_FUNCTION && array_last(&out->frames).function != SYMBOL_NO_FUNCTION)
        out->resolved++;
    struct resolved_site resolved = {site->address, (uint32_t)first,
                                     (uint32_t)(out->frames.count - first)};
    return array_push(&out->sites, resolved);
}

static int resolve_sites(struct resolving *resolving, struct dwarf_lines *lines, uint64_t deadline_ns)
{
    struct resolved_module *out = resolving->out;
    struct dwarf_site *sites = mem_zalloc(resolving->count, sizeof *sites);
    if (!sites)
        return LAM_E_NOMEM;
    for (size_t i = 0; i < resolving->count; i++)
        sites[i].address = resolving->addresses[i];
    int rc = dwarf_lines_resolve(lines, sites, resolving->count, deadline_ns, &out->lines_cut);
    for (size_t i = 0; i < resolving->count && rc == LAM_OK; i++)
        if (sites[i].node || sites[i].line)
            rc = add_frames(resolving, lines, &sites[i], resolving->functions.items[i]);
    mem_free(sites);
    return rc;
}

static int resolve_lines(struct resolving *resolving, uint64_t deadline_ns)
{
    struct module_symbols *symbols = &resolving->symbols;
    struct dwarf_lines *lines = NULL;
    if (!symbols->lines || resolving->count == 0)
        return LAM_OK;
    int rc = dwarf_lines_open(&lines, symbols->lines, symbols->lines_shift);
    if (rc == LAM_OK) {
        resolving->out->has_lines = true;
        rc = resolve_sites(resolving, lines, deadline_ns);
    }
    dwarf_lines_close(&lines);
    return rc == LAM_E_NOTFOUND ? LAM_OK : rc;
}

int module_resolve(struct resolved_module *resolved, struct hit_module *module,
                   const char *debug_root, uint64_t lines_deadline_ns)
{
    sort_addresses(module);
    resolved->module = module;
    resolved->hits = module->addresses.count;
    struct resolving resolving = {
        .out = resolved, .addresses = module->addresses.items, .count = module->addresses.count};
    int rc = module_symbols_load(&resolving.symbols, module, debug_root);
    resolved->state = resolving.symbols.state;
    if (rc == LAM_OK)
        rc = resolve_names(&resolving);
    if (rc == LAM_OK)
        rc = resolve_lines(&resolving, lines_deadline_ns);
    module_symbols_free(&resolving.symbols);
    intern_free(&resolving.names);
    strbuf_free(&resolving.full);
    strbuf_free(&resolving.short_name);
    array_free(&resolving.functions);
    return rc;
}

void resolved_module_free(struct resolved_module *resolved)
{
    array_free(&resolved->functions);
    array_free(&resolved->ranges);
    array_free(&resolved->sites);
    array_free(&resolved->frames);
    arena_free(&resolved->text);
}
