#include "input/code_labels.h"

#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "symbols/module_resolve.h"

#define CODE_PREFIX "code:"

enum {
    LINES_BUDGET_MS = 3000,
    /* What a compiler puts in front of a function for itself has no line (clang's XRay): so many places are tried for one. */
    ENTRY_LOOKS = 4,
    ENTRY_STEP = 16,
};

struct code_label {
    uint32_t string;
    uint32_t module; /* from 1 */
    uint64_t address;
    const char *file;              /* the last part of the path, with the address */
    size_t file_bytes, name_bytes; /* without it */
    struct profile_text also;      /* what the recorder knew of it: a name or none, `(KIND)` */
};

struct code_labels {
    struct event_names *names;
    struct symbols_collector *hits;
    struct intern paths; /* build id and path → the collector's number of the module */
    LAM_ARRAY(struct code_label) labels;
    struct resolved_module *modules;
    uint64_t deadline_ns;
};

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The build id up to the colon; false when it is none. */
static bool parse_build_id(const char *text, size_t digits, struct profile_module *module)
{
    if (digits % 2 || digits / 2 > sizeof module->build_id)
        return false;
    for (size_t i = 0; i < digits; i++) {
        int digit = hex_digit(text[i]);
        if (digit < 0)
            return false;
        module->build_id[i / 2] = (uint8_t)(module->build_id[i / 2] << 4 | digit);
    }
    module->build_id_bytes = (uint8_t)(digits / 2);
    return true;
}

/* `NAME (KIND)` or `(KIND)` */
static bool parse_also(struct profile_text *also, const char *text, const char *end)
{
    const char *kind = memrchr(text, '(', (size_t)(end - text));
    *also = (struct profile_text){text, (size_t)(end - text)};
    return kind && end[-1] == ')' && (kind == text || (kind > text + 1 && kind[-1] == ' '));
}

static bool parse(const struct event_string *string, struct profile_module *module,
                  struct code_label *label)
{
    size_t start = sizeof CODE_PREFIX - 1;
    if (!string->bytes || string->size <= start || memcmp(string->bytes, CODE_PREFIX, start) != 0)
        return false;
    const char *text = string->bytes + start, *end = string->bytes + string->size;
    const char *zero = memchr(text, 0, (size_t)(end - text));
    if (zero && !parse_also(&label->also, zero + 1, end))
        return false;
    end = zero ? zero : end;
    const char *colon = memchr(text, ':', (size_t)(end - text));
    if (!colon || !parse_build_id(text, (size_t)(colon - text), module))
        return false;
    const char *digits = end;
    uint64_t address = 0;
    for (int shift = 0; digits > colon && hex_digit(digits[-1]) >= 0 && shift < 64; shift += 4)
        address |= (uint64_t)hex_digit(*--digits) << shift;
    if (digits == end || digits - colon < 5 || memcmp(digits - 3, "+0x", 3) != 0)
        return false;
    module->path = (struct profile_text){colon + 1, (size_t)(digits - 3 - (colon + 1))};
    const char *slash = memrchr(module->path.bytes, '/', module->path.size);
    label->file = slash ? slash + 1 : module->path.bytes;
    label->file_bytes = (size_t)(end - label->file);
    label->name_bytes = (size_t)(digits - 3 - label->file);
    label->address = address;
    return true;
}

static int add(struct code_labels *code, uint32_t string)
{
    struct profile_module module = {0};
    struct code_label label = {.string = string};
    if (!parse(&code->names->strings.items[string], &module, &label))
        return LAM_OK;
    struct profile_sink sink = symbols_collector_sink(code->hits);
    const char *key = code->names->strings.items[string].bytes;
    uint32_t before = intern_count(&code->paths);
    int rc = intern_add(&code->paths, key, (size_t)(module.path.bytes + module.path.size - key),
                        &module.module);
    if (rc >= 0 && module.module >= before)
        rc = sink.ops->module(sink.ctx, &module);
    struct profile_frame frame = {.module = module.module, .offset = label.address};
    for (int i = 0; i < ENTRY_LOOKS && rc >= 0; i++, frame.offset += ENTRY_STEP)
        rc = sink.ops->frame(sink.ctx, &frame);
    if (rc < 0)
        return rc;
    label.module = code->hits->by_id.items[module.module];
    return array_push(&code->labels, label);
}

static int resolve_one(void *ctx, size_t item, unsigned worker)
{
    (void)worker;
    struct code_labels *code = ctx;
    return module_resolve(&code->modules[item], &code->hits->modules.items[item], NULL,
                          code->deadline_ns);
}

static const char *find_name(const struct resolved_module *module, uint64_t address)
{
    size_t low = 0, high = module->ranges.count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (module->ranges.items[mid].end <= address)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == module->ranges.count || module->ranges.items[low].start > address)
        return NULL;
    return module->functions.items[module->ranges.items[low].function].short_name;
}

/* The frame of the function itself, not of what was inlined where it begins. NULL: not known. */
static const struct resolved_frame *find_frame(const struct resolved_module *module, uint64_t address)
{
    size_t low = 0, high = module->sites.count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (module->sites.items[mid].address < address)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == module->sites.count || module->sites.items[low].address != address)
        return NULL;
    const struct resolved_site *site = &module->sites.items[low];
    return site->frame_count ? &module->frames.items[site->frame_first + site->frame_count - 1]
                             : NULL;
}

/* `name (place)`, where the place is a file and line, else the file with the code; `file+0xADDRESS` without a name. What the recorder
 * knew: `name (KIND, file:line)`, `name (KIND)`, and without a symbol `NAME (KIND, file+0xADDRESS)`, `file+0xADDRESS (KIND)`. */
static void write_label(struct strbuf *out, const struct code_label *label, const char *name,
                        const struct resolved_frame *frame)
{
    const char *kind = label->also.size ? memrchr(label->also.bytes, '(', label->also.size) : NULL;
    size_t called = kind ? (size_t)(kind - label->also.bytes) : 0;
    bool has_line = name && frame && frame->file && frame->line;
    strbuf_add(out, name);
    if (!name && called)
        strbuf_add_bytes(out, label->also.bytes, called - 1);
    else if (!name)
        strbuf_add_bytes(out, label->file, label->file_bytes);
    if (!name && !kind)
        return;
    strbuf_add(out, kind ? " " : " (");
    if (kind) /* and what stands behind it, in place of its last parenthesis */
        strbuf_add_bytes(out, kind, label->also.size - called - 1);
    if (kind && (has_line || (!name && called)))
        strbuf_add(out, ", ");
    const char *slash = has_line ? strrchr(frame->file, '/') : NULL;
    if (has_line)
        strbuf_addf(out, "%s:%u", slash ? slash + 1 : frame->file, frame->line);
    else if (!name && called)
        strbuf_add_bytes(out, label->file, label->file_bytes);
    else if (!kind)
        strbuf_add_bytes(out, label->file, label->name_bytes);
    strbuf_add(out, ")");
}

static int rename_string(struct code_labels *code, const struct code_label *label)
{
    const struct resolved_module *module = &code->modules[label->module - 1];
    const char *name = find_name(module, label->address);
    const struct resolved_frame *frame = NULL;
    for (uint64_t at = label->address, look = 0; look < ENTRY_LOOKS && !(frame && frame->line);
         look++, at += ENTRY_STEP)
        if (find_name(module, at) == name)
            frame = find_frame(module, at);
    struct strbuf text = {0};
    write_label(&text, label, name, frame);
    char *bytes = text.failed ? NULL : arena_strndup(&code->names->arena, text.data, text.length);
    uint32_t size = (uint32_t)text.length;
    strbuf_free(&text);
    if (!bytes)
        return LAM_E_NOMEM;
    struct event_string *string = &code->names->strings.items[label->string];
    string->bytes = bytes;
    string->size = string->filled = size;
    return LAM_OK;
}

static int resolve_all(struct code_labels *code)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    code->deadline_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec +
                        (uint64_t)LINES_BUDGET_MS * 1000000u;
    size_t count = code->hits->modules.count;
    code->modules = mem_zalloc(count, sizeof *code->modules);
    if (!code->modules)
        return LAM_E_NOMEM;
    int rc = demangle_threads(0, count, resolve_one, code);
    for (size_t i = 0; rc >= 0 && i < code->labels.count; i++)
        rc = rename_string(code, &code->labels.items[i]);
    for (size_t i = 0; i < count; i++)
        resolved_module_free(&code->modules[i]);
    mem_free(code->modules);
    return rc;
}

int code_labels_resolve(struct event_names *names)
{
    struct code_labels code = {.names = names};
    int rc = symbols_collector_open(&code.hits, NULL);
    for (size_t i = 0; rc >= 0 && i < names->strings.count; i++)
        rc = add(&code, (uint32_t)i);
    if (rc >= 0 && code.labels.count)
        rc = resolve_all(&code);
    array_free(&code.labels);
    intern_free(&code.paths);
    symbols_collector_close(&code.hits);
    return rc < 0 ? rc : LAM_OK;
}
