#include "base/memory.h"
#include "symbols/module_key.h"
#include "symbols/sidecar_inside.h"

uint32_t symbols_module(const struct symbols *symbols, const uint8_t *build_id,
                        size_t build_id_bytes, const char *path, size_t path_length)
{
    if (build_id_bytes > SIDECAR_BUILD_ID_MAX)
        build_id_bytes = SIDECAR_BUILD_ID_MAX; /* as the writer cut it */
    size_t length;
    char *name = symbols_module_key(build_id, build_id_bytes, path, path_length, &length);
    uint32_t key = name ? intern_find(&symbols->keys, name, length) : INTERN_NONE;
    mem_free(name);
    return key == INTERN_NONE || key == INTERN_EMPTY ? 0 : key;
}

uint32_t symbols_module_of(const struct symbols *symbols, const struct profile_module *module)
{
    uint32_t before = 0;
    for (uint32_t i = 0; symbols && i < module->recording; i++, symbols = symbols->next)
        before += (uint32_t)symbols->modules.count;
    uint32_t found = symbols ? symbols_module(symbols, module->build_id, module->build_id_bytes,
                                              module->path.bytes, module->path.size)
                             : 0;
    return found ? before + found : 0;
}

uint32_t symbols_module_count(const struct symbols *symbols)
{
    return (uint32_t)symbols->modules.count;
}

struct symbols_module_info symbols_module_info(const struct symbols *symbols, uint32_t module)
{
    if (module == 0 || module > symbols->modules.count)
        return (struct symbols_module_info){.path = "", .state = SYMBOLS_MODULE_MISSING};
    return symbols->modules.items[module - 1].info;
}

static const struct known_range *find_range(const struct symbols *symbols,
                                            const struct known_module *module, uint64_t address)
{
    if (module->range_count == 0)
        return NULL;
    const struct known_range *ranges = symbols->ranges.items + module->range_first;
    size_t low = 0, high = module->range_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && address < ranges[low - 1].end ? &ranges[low - 1] : NULL;
}

static const struct known_site *find_site(const struct symbols *symbols,
                                          const struct known_module *module, uint64_t address)
{
    if (module->site_count == 0)
        return NULL;
    const struct known_site *sites = symbols->sites.items + module->site_first;
    size_t low = 0, high = module->site_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sites[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < module->site_count && sites[low].address == address ? &sites[low] : NULL;
}

#define NO_FRAMES UINT32_MAX /* of symbol_place.first: the function is the only frame */

struct symbol_place symbols_lookup(const struct symbols *symbols, uint32_t module_id,
                                   uint64_t offset, bool is_return)
{
    struct symbol_place place = {
        .state = SYMBOL_NO_MODULE, .function = SYMBOL_NO_FUNCTION, .first = NO_FRAMES};
    if (module_id == 0)
        return place;
    for (; symbols->next && module_id > symbols->modules.count; symbols = symbols->next) {
        module_id -= (uint32_t)symbols->modules.count;
        place.sidecar++;
    }
    if (module_id > symbols->modules.count)
        return place;
    const struct known_module *module = &symbols->modules.items[module_id - 1];
    uint64_t address = is_return ? offset - 1 : offset;
    const struct known_range *range = find_range(symbols, module, address);
    const struct known_site *site = find_site(symbols, module, address);
    if (range)
        place.function = range->function;
    if (site) {
        struct sidecar_frame outermost =
            sidecar_get_frame(symbols, site->frame_first + site->frame_count - 1);
        if (!range)
            place.function = le32toh(outermost.function);
        place.first = site->frame_first;
        place.count = site->frame_count;
    } else if (range) {
        place.count = 1;
    }
    if (place.function != SYMBOL_NO_FUNCTION)
        place.state = SYMBOL_RESOLVED;
    else
        place.state = module->info.state == SYMBOLS_MODULE_COMPLETE ? SYMBOL_BETWEEN
                                                                    : SYMBOL_MODULE_WITHOUT_SYMBOLS;
    if (place.state != SYMBOL_RESOLVED)
        place.count = 0;
    return place;
}

uint32_t symbols_function_count(const struct symbols *symbols)
{
    return (uint32_t)symbols->functions.count;
}

struct symbol_frame symbols_function(const struct symbols *symbols, uint32_t function)
{
    struct symbol_frame frame = {
        .function = SYMBOL_NO_FUNCTION, .name = "", .full = "", .raw = "", .file = ""};
    if (function >= symbols->functions.count)
        return frame;
    struct sidecar_function from = sidecar_get_function(symbols, function);
    frame.function = function;
    frame.name = sidecar_get_text(symbols, from.short_name);
    frame.full = sidecar_get_text(symbols, from.full_name);
    frame.raw = sidecar_get_text(symbols, from.raw_name);
    frame.language = le32toh(from.language);
    return frame;
}

struct symbol_frame symbols_frame(const struct symbols *symbols, const struct symbol_place *place,
                                  uint32_t index)
{
    for (uint32_t i = 0; i < place->sidecar && symbols->next; i++)
        symbols = symbols->next;
    if (index >= place->count || place->first == NO_FRAMES)
        return symbols_function(symbols, place->function);
    struct sidecar_frame from = sidecar_get_frame(symbols, place->first + index);
    struct symbol_frame frame = symbols_function(symbols, le32toh(from.function));
    if (!(le32toh(from.flags) & SIDECAR_FRAME_INLINED))
        frame = symbols_function(symbols, place->function);
    frame.file = sidecar_get_text(symbols, from.file);
    frame.line = le32toh(from.line);
    frame.is_inlined = le32toh(from.flags) & SIDECAR_FRAME_INLINED;
    return frame;
}
