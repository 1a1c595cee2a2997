#include "output/firefox_tables.h"

#include "output/time_text.h"

uint16_t firefox_subcategory(const struct classifier *cls, uint32_t phase)
{
    enum phase_segment segment = classifier_phase(cls, phase).segment;
    uint16_t index = 1;
    for (uint32_t i = 0; i < phase; i++)
        index = (uint16_t)(index + (classifier_phase(cls, i).segment == segment));
    return index;
}

static int string_of(struct firefox_tables *tables, uint32_t name, uint32_t *string)
{
    size_t size;
    const char *text = intern_text(&tables->shared.frames->names, name, &size);
    return intern_add(tables->shared.strings, text, size, string);
}

static int resource_of(struct firefox_tables *tables, uint32_t module, uint32_t *resource)
{
    bool is_new;
    *resource = 0;
    if (!module)
        return LAM_OK;
    uint64_t *slot = map_slot(&tables->resource_index, module, tables->resources.count, &is_new);
    if (!slot || (is_new && array_push(&tables->resources, module) < 0))
        return LAM_E_NOMEM;
    *resource = (uint32_t)*slot + 1;
    return LAM_OK;
}

static int func_of(struct firefox_tables *tables, const struct export_function *function,
                   uint32_t *func)
{
    bool is_new;
    struct firefox_func made = {0};
    int rc = resource_of(tables, function->module, &made.resource);
    if (rc == LAM_OK)
        rc = string_of(tables, function->name, &made.name);
    if (rc == LAM_OK && function->file) {
        rc = string_of(tables, function->file, &made.file);
        made.file++;
    }
    if (rc < 0)
        return rc;
    /* A function is its name in its module: one name has one file, but for rare cases in which the first is shown. */
    uint64_t *slot = map_slot(&tables->func_index, (uint64_t)made.resource << 32 | made.name,
                              tables->funcs.count, &is_new);
    if (!slot || (is_new && array_push(&tables->funcs, made) < 0))
        return LAM_E_NOMEM;
    *func = (uint32_t)*slot;
    return LAM_OK;
}

/* A frame of the format: one function at one address, in the colour of its stack's phase. */
static int frame_of(struct firefox_tables *tables, uint32_t id, uint16_t inline_depth,
                    uint64_t address, uint16_t category, uint16_t subcategory, uint32_t *frame)
{
    bool is_new;
    uint64_t key = (uint64_t)id << 32 | (uint64_t)category << 16 | subcategory;
    uint64_t *slot = map_slot(&tables->frame_index, key, tables->frames.count, &is_new);
    if (!slot)
        return LAM_E_NOMEM;
    *frame = (uint32_t)*slot;
    if (!is_new)
        return LAM_OK;
    const struct export_function *function = &tables->shared.frames->functions.items[id];
    struct firefox_frame made = {.line = function->line,
                                 .address = address,
                                 .has_address = function->module != 0,
                                 .inline_depth = inline_depth,
                                 .category = category,
                                 .subcategory = subcategory};
    int rc = func_of(tables, function, &made.func);
    return rc < 0 ? rc : array_push(&tables->frames, made);
}

static int category_of(struct firefox_tables *tables, uint32_t stack, uint16_t *category,
                       uint16_t *subcategory)
{
    *category = *subcategory = 0;
    if (!tables->shared.states)
        return LAM_OK;
    struct classifier *cls = tables->shared.states->cls;
    uint32_t bucket;
    int rc = classifier_decide(cls, stack_states_get(tables->shared.states, stack).state,
                               tables->fallback, &bucket);
    if (rc < 0)
        return rc;
    struct phase_bucket found = classifier_bucket(cls, bucket);
    *category = (uint16_t)found.segment;
    *subcategory = firefox_subcategory(cls, found.phase);
    return LAM_OK;
}

/* One more frame of the input: an entry a function, the outermost first. */
static int add_entry(struct firefox_tables *tables, uint32_t stack, uint32_t *entry)
{
    struct export_frames *frames = tables->shared.frames;
    uint32_t frame = frames->stacks.items[stack].frame, count;
    uint16_t category, subcategory;
    if (!export_frames_functions(frames, frame, &count))
        return LAM_E_NOMEM;
    uint32_t first = frames->frames.items[frame].first;
    uint64_t address = frames->frames.items[frame].offset;
    int rc = category_of(tables, stack, &category, &subcategory);
    for (uint32_t i = count; rc == LAM_OK && i-- > 0;) {
        struct firefox_stack made = {.prefix = *entry};
        rc = frame_of(tables, first + i, (uint16_t)(count - 1 - i), address, category, subcategory,
                      &made.frame);
        if (rc == LAM_OK)
            rc = array_push(&tables->stacks, made);
        *entry = (uint32_t)tables->stacks.count;
    }
    return rc;
}

int firefox_tables_stack(struct firefox_tables *tables, uint32_t stack, uint32_t *entry)
{
    const struct export_frames *frames = tables->shared.frames;
    uint64_t found = 0;
    array_clear(&tables->chain);
    while (stack && stack < frames->stacks.count && !map_get(&tables->entries, stack, &found)) {
        if (array_push(&tables->chain, stack) < 0)
            return LAM_E_NOMEM;
        stack = frames->stacks.items[stack].parent;
    }
    *entry = (uint32_t)found;
    int rc = LAM_OK;
    while (rc == LAM_OK && tables->chain.count) {
        stack = array_pop(&tables->chain);
        rc = add_entry(tables, stack, entry);
        if (rc == LAM_OK)
            rc = map_put(&tables->entries, stack, *entry);
    }
    return rc;
}

/* ---- writing: a column at a time ---- */

static void put_number(struct byteout *out, size_t index, bool is_null, uint64_t value)
{
    char *start = byteout_room(out, TIME_TEXT_BYTES), *at = start;
    if (index)
        *at++ = ',';
    at = is_null ? put_literal(at, "null") : put_decimal(at, value);
    byteout_advance(out, (size_t)(at - start));
}

#define PUT_COLUMN(out, name, list, null_when, value)              \
    do {                                                           \
        byteout_text((out), "\"" name "\":[");                     \
        for (size_t i_ = 0; i_ < (list)->count; i_++) {            \
            __typeof__((list)->items) it = &(list)->items[i_];     \
            put_number((out), i_, (null_when), (uint64_t)(value)); \
        }                                                          \
        byteout_text((out), "],");                                 \
    } while (0)

static void put_constant(struct byteout *out, const char *name, const char *value, size_t count)
{
    byteout_printf(out, "\"%s\":[", name);
    for (size_t i = 0; i < count; i++) {
        byteout_text(out, i ? "," : "");
        byteout_text(out, value);
    }
    byteout_text(out, "],");
}

static void put_stacks(const struct firefox_tables *tables, struct byteout *out)
{
    byteout_text(out, "\"stackTable\":{");
    PUT_COLUMN(out, "prefix", &tables->stacks, !it->prefix, it->prefix - 1);
    PUT_COLUMN(out, "frame", &tables->stacks, false, it->frame);
    byteout_printf(out, "\"length\":%zu},\n", tables->stacks.count);
}

static void put_frames(const struct firefox_tables *tables, struct byteout *out)
{
    size_t count = tables->frames.count;
    byteout_text(out, "\"frameTable\":{\"address\":[");
    for (size_t i = 0; i < count; i++) {
        const struct firefox_frame *frame = &tables->frames.items[i];
        byteout_text(out, i ? "," : "");
        if (frame->has_address)
            put_number(out, 0, false, frame->address);
        else
            byteout_text(out, "-1");
    }
    byteout_text(out, "],");
    PUT_COLUMN(out, "inlineDepth", &tables->frames, false, it->inline_depth);
    PUT_COLUMN(out, "category", &tables->frames, false, it->category);
    PUT_COLUMN(out, "subcategory", &tables->frames, false, it->subcategory);
    PUT_COLUMN(out, "func", &tables->frames, false, it->func);
    PUT_COLUMN(out, "line", &tables->frames, !it->line, it->line);
    put_constant(out, "nativeSymbol", "null", count);
    put_constant(out, "innerWindowID", "null", count);
    put_constant(out, "column", "null", count);
    byteout_printf(out, "\"length\":%zu},\n", count);
}

static void put_funcs(const struct firefox_tables *tables, struct byteout *out)
{
    size_t count = tables->funcs.count;
    byteout_text(out, "\"funcTable\":{");
    PUT_COLUMN(out, "name", &tables->funcs, false, it->name);
    PUT_COLUMN(out, "fileName", &tables->funcs, !it->file, it->file - 1);
    byteout_text(out, "\"resource\":[");
    for (size_t i = 0; i < count; i++) {
        byteout_text(out, i ? "," : "");
        if (tables->funcs.items[i].resource)
            put_number(out, 0, false, tables->funcs.items[i].resource - 1);
        else
            byteout_text(out, "-1");
    }
    byteout_text(out, "],");
    put_constant(out, "isJS", "false", count);
    put_constant(out, "relevantForJS", "false", count);
    put_constant(out, "lineNumber", "null", count);
    put_constant(out, "columnNumber", "null", count);
    byteout_printf(out, "\"length\":%zu},\n", count);
}

static int put_resources(const struct firefox_tables *tables, struct byteout *out)
{
    const struct export_frames *frames = tables->shared.frames;
    int rc = LAM_OK;
    byteout_text(out, "\"resourceTable\":{");
    /* libs of the profile are its modules, from id 1 */
    PUT_COLUMN(out, "lib", &tables->resources, false, *it - 1);
    byteout_text(out, "\"name\":[");
    for (size_t i = 0; i < tables->resources.count && rc == LAM_OK; i++) {
        uint32_t module = tables->resources.items[i], string = 0;
        uint32_t path = module < frames->modules.count ? frames->modules.items[module].path : 0;
        size_t size;
        const char *text = intern_text(&frames->names, path, &size);
        struct profile_text name = export_base_name((struct profile_text){text, size});
        rc = intern_add(tables->shared.strings, name.bytes, name.size, &string);
        put_number(out, i, false, string);
    }
    byteout_text(out, "],");
    put_constant(out, "host", "null", tables->resources.count);
    put_constant(out, "type", "1", tables->resources.count); /* a library */
    byteout_printf(out, "\"length\":%zu},\n", tables->resources.count);
    return rc;
}

int firefox_tables_put(const struct firefox_tables *tables, struct byteout *out)
{
    put_stacks(tables, out);
    put_frames(tables, out);
    put_funcs(tables, out);
    int rc = put_resources(tables, out);
    byteout_text(out, "\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],"
                      "\"functionSize\":[],\"length\":0}");
    return rc < 0 ? rc : out->failed;
}

void firefox_tables_clear(struct firefox_tables *tables)
{
    map_clear(&tables->entries);
    map_clear(&tables->frame_index);
    map_clear(&tables->func_index);
    map_clear(&tables->resource_index);
    array_clear(&tables->stacks);
    array_clear(&tables->frames);
    array_clear(&tables->funcs);
    array_clear(&tables->resources);
}

void firefox_tables_free(struct firefox_tables *tables)
{
    map_free(&tables->entries);
    map_free(&tables->frame_index);
    map_free(&tables->func_index);
    map_free(&tables->resource_index);
    array_free(&tables->stacks);
    array_free(&tables->frames);
    array_free(&tables->funcs);
    array_free(&tables->resources);
    array_free(&tables->chain);
}
