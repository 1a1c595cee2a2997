#include "analysis/symbol_names.h"

#include <string.h>

static int add_module(void *ctx, const struct profile_module *module)
{
    struct symbol_names *names = ctx;
    if (!names->symbols)
        return LAM_OK;
    if (module->module >= names->modules.count &&
        array_resize(&names->modules, (size_t)module->module + 1) < 0)
        return LAM_E_NOMEM;
    names->modules.items[module->module] = symbols_module_of(names->symbols, module);
    return LAM_OK;
}

static int add_names(void *ctx, const struct profile_frame *frame, struct classifier_name *out,
                     size_t *count, bool *is_stripped)
{
    const struct symbol_names *names = ctx;
    *count = 0;
    if (!names->symbols)
        return LAM_OK;
    uint32_t module = frame->module < names->modules.count ? names->modules.items[frame->module] : 0;
    struct symbol_place place =
        symbols_lookup(names->symbols, module, frame->offset, frame->is_return);
    *is_stripped = place.state == SYMBOL_MODULE_WITHOUT_SYMBOLS;
    for (uint32_t i = 0; i < place.count && i < FRAME_NAMES_MAX; i++) {
        const char *name = symbols_frame(names->symbols, &place, i).name;
        out[i] = (struct classifier_name){name, strlen(name)};
        *count = i + 1;
    }
    return LAM_OK;
}

struct frame_names symbol_names_frames(struct symbol_names *names)
{
    return (struct frame_names){.ctx = names, .module = add_module, .names = add_names};
}

void symbol_names_free(struct symbol_names *names)
{
    array_free(&names->modules);
}
