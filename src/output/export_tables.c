#include "output/export_tables.h"

#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"

int export_labels_add(struct export_labels *labels, const struct profile_label *label)
{
    if (label->label >= labels->items.count &&
        array_resize(&labels->items, (size_t)label->label + 1) < 0)
        return LAM_E_NOMEM;
    const char *text =
        arena_strndup(&labels->text, label->text.size ? label->text.bytes : "", label->text.size);
    if (!text)
        return LAM_E_NOMEM;
    labels->items.items[label->label] = (struct export_label){label->kind, {text, label->text.size}};
    return LAM_OK;
}

const struct export_label *export_labels_get(const struct export_labels *labels, uint32_t label)
{
    static const struct export_label unknown = {0, {"?", 1}};
    return label < labels->items.count && labels->items.items[label].text.bytes
               ? &labels->items.items[label]
               : &unknown;
}

struct profile_text export_labels_kind(const struct export_labels *labels, uint32_t label)
{
    uint32_t kind = export_labels_get(labels, label)->kind;
    return kind ? export_labels_get(labels, kind)->text : (struct profile_text){"", 0};
}

void export_labels_free(struct export_labels *labels)
{
    array_free(&labels->items);
    arena_free(&labels->text);
}

struct profile_text export_base_name(struct profile_text path)
{
    const char *slash = path.size ? memrchr(path.bytes, '/', path.size) : NULL;
    if (!slash)
        return path;
    return (struct profile_text){slash + 1, path.size - (size_t)(slash + 1 - path.bytes)};
}

struct profile_text export_program(const struct profile_process *process, char *scratch)
{
    struct profile_text name = export_base_name(process->exe.size ? process->exe : process->comm);
    if (name.size)
        return name;
    int length = snprintf(scratch, 32, "process %u", process->pid);
    return (struct profile_text){scratch, length > 0 ? (size_t)length : 0};
}

/* Ids come dense, but a gap must not make us read what is not there. */
#define GROW(array, id) ((id) < (array)->count ? LAM_OK : array_resize((array), (size_t)(id) + 1))

int export_frames_module(struct export_frames *frames, const struct profile_module *module)
{
    if (GROW(&frames->modules, module->module) < 0)
        return LAM_E_NOMEM;
    struct export_module *kept = &frames->modules.items[module->module];
    if (frames->saw_modules)
        *frames->saw_modules = true;
    if (frames->symbols)
        kept->symbols = symbols_module_of(frames->symbols, module);
    memcpy(kept->build_id, module->build_id, sizeof kept->build_id);
    kept->build_id_bytes = module->build_id_bytes;
    struct profile_text path = frames->redacts ? export_base_name(module->path) : module->path;
    return intern_add(&frames->names, path.bytes, path.size, &kept->path);
}

int export_frames_frame(struct export_frames *frames, const struct profile_frame *frame)
{
    if (GROW(&frames->frames, frame->frame) < 0)
        return LAM_E_NOMEM;
    frames->frames.items[frame->frame] = (struct export_frame){
        .module = frame->module, .offset = frame->offset, .is_return = frame->is_return};
    return LAM_OK;
}

int export_frames_stack(struct export_frames *frames, const struct profile_stack *stack)
{
    if (GROW(&frames->stacks, stack->stack) < 0)
        return LAM_E_NOMEM;
    frames->stacks.items[stack->stack] = (struct export_stack){stack->parent, stack->frame};
    return LAM_OK;
}

static int add_function(struct export_frames *frames, const struct symbol_frame *symbol,
                        uint32_t module)
{
    struct export_function function = {.line = symbol->line, .module = module};
    int rc = intern_add_str(&frames->names, symbol->name, &function.name);
    if (rc == LAM_OK && !frames->redacts)
        rc = intern_add_str(&frames->names, symbol->file, &function.file);
    return rc < 0 ? rc : array_push(&frames->functions, function);
}

/* "libc.so.6+0x1234" */
static int add_nameless(struct export_frames *frames, const struct export_frame *frame)
{
    struct strbuf text = {0};
    if (frame->module < frames->modules.count && frame->module) {
        size_t size;
        const char *path =
            intern_text(&frames->names, frames->modules.items[frame->module].path, &size);
        struct profile_text name = export_base_name((struct profile_text){path, size});
        strbuf_add_bytes(&text, name.bytes, name.size);
        strbuf_add_char(&text, '+');
    }
    strbuf_addf(&text, "0x%llx", (unsigned long long)frame->offset);
    struct export_function function = {.module = frame->module};
    int rc = strbuf_ok(&text)
                 ? intern_add(&frames->names, strbuf_text(&text), text.length, &function.name)
                 : LAM_E_NOMEM;
    strbuf_free(&text);
    return rc < 0 ? rc : array_push(&frames->functions, function);
}

static int find_functions(struct export_frames *frames, struct export_frame *frame)
{
    uint32_t module = frame->module < frames->modules.count && frame->module
                          ? frames->modules.items[frame->module].symbols
                          : 0;
    struct symbol_place place = {.state = SYMBOL_NO_MODULE};
    if (module)
        place = symbols_lookup(frames->symbols, module, frame->offset, frame->is_return);
    frame->first = (uint32_t)frames->functions.count;
    int rc = place.count ? LAM_OK : add_nameless(frames, frame);
    for (uint32_t i = 0; i < place.count && rc == LAM_OK; i++) {
        struct symbol_frame symbol = symbols_frame(frames->symbols, &place, i);
        rc = add_function(frames, &symbol, frame->module);
    }
    frame->count = rc == LAM_OK ? (uint32_t)frames->functions.count - frame->first : 0;
    return rc;
}

const struct export_function *export_frames_functions(struct export_frames *frames, uint32_t id,
                                                      uint32_t *count)
{
    if (GROW(&frames->frames, id) < 0)
        return NULL;
    struct export_frame *frame = &frames->frames.items[id];
    if (!frame->count && find_functions(frames, frame) < 0)
        return NULL;
    if (count)
        *count = frame->count;
    return &frames->functions.items[frame->first];
}

void export_frames_free(struct export_frames *frames)
{
    intern_free(&frames->names);
    array_free(&frames->modules);
    array_free(&frames->frames);
    array_free(&frames->stacks);
    array_free(&frames->functions);
}
