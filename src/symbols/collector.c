#include "symbols/collector.h"

#include <string.h>

#include "base/memory.h"
#include "symbols/module_key.h"

static int take_session(void *ctx, const struct profile_session *session)
{
    struct symbols_collector *hits = ctx;
    hits->started_at_unix_ns = session->started_at_unix_ns;
    return LAM_OK;
}

static size_t build_id_bytes(const struct profile_module *module)
{
    return module->build_id_bytes > BUILD_ID_MAX ? BUILD_ID_MAX : module->build_id_bytes;
}

static int module_key(struct symbols_collector *hits, const struct profile_module *module,
                      uint32_t *key)
{
    size_t length;
    char *name = symbols_module_key(module->build_id, build_id_bytes(module), module->path.bytes,
                                    module->path.size, &length);
    if (!name)
        return LAM_E_NOMEM;
    int rc = intern_add(&hits->keys, name, length, key);
    mem_free(name);
    return rc;
}

static int add_path(struct symbols_collector *hits, struct hit_module *module,
                    const struct profile_module *from)
{
    const char *path =
        arena_strndup(&hits->text, from->path.size ? from->path.bytes : "", from->path.size);
    if (!path)
        return LAM_E_NOMEM;
    int64_t mapped_at_ns = INT64_MAX;
    if (from->has_mapped_at && hits->started_at_unix_ns > 0 &&
        __builtin_add_overflow(hits->started_at_unix_ns, from->mapped_at_ns, &mapped_at_ns))
        mapped_at_ns = INT64_MAX;
    array_each(&module->paths, known)
    {
        if (strcmp(known->path, path) != 0 || known->inode != from->inode ||
            known->device != from->device)
            continue;
        if (mapped_at_ns < known->mapped_at_ns)
            known->mapped_at_ns = mapped_at_ns;
        return LAM_OK;
    }
    return array_push(&module->paths,
                      ((struct hit_path){path, mapped_at_ns, from->device, from->inode}));
}

static int take_module(void *ctx, const struct profile_module *from)
{
    struct symbols_collector *hits = ctx;
    uint32_t key;
    int rc = module_key(hits, from, &key);
    if (rc < 0)
        return rc;
    if (key > hits->modules.count) {
        struct hit_module *module = array_add(&hits->modules);
        if (!module)
            return LAM_E_NOMEM;
        module->build_id.size = (uint8_t)build_id_bytes(from);
        memcpy(module->build_id.bytes, from->build_id, module->build_id.size);
        module->is_vdso = from->is_vdso;
    }
    if (from->module >= hits->by_id.count) {
        if (from->module == UINT32_MAX)
            return LAM_E_INVAL;
        rc = array_resize(&hits->by_id, (size_t)from->module + 1);
        if (rc < 0)
            return rc;
    }
    hits->by_id.items[from->module] = key;
    return add_path(hits, &hits->modules.items[key - 1], from);
}

static int take_frame(void *ctx, const struct profile_frame *frame)
{
    struct symbols_collector *hits = ctx;
    uint32_t key = frame->module < hits->by_id.count ? hits->by_id.items[frame->module] : 0;
    if (key == 0)
        return LAM_OK; /* in no module: there is nothing to look it up in */
    uint64_t address = frame->is_return ? frame->offset - 1 : frame->offset;
    return array_push(&hits->modules.items[key - 1].addresses, address);
}

struct profile_sink symbols_collector_sink(struct symbols_collector *hits)
{
    static const struct profile_sink_ops ops = {
        .session = take_session, .module = take_module, .frame = take_frame};
    return (struct profile_sink){.ctx = hits, .ops = &ops};
}

int symbols_collector_open(struct symbols_collector **out, struct lam_error *err)
{
    struct symbols_collector *hits = mem_zalloc(1, sizeof *hits);
    if (!hits)
        return lam_error_set(err, LAM_E_NOMEM, "symbols: out of memory");
    *out = hits;
    return LAM_OK;
}

void symbols_collector_close(struct symbols_collector **hits)
{
    if (!hits || !*hits)
        return;
    array_each(&(*hits)->modules, module)
    {
        array_free(&module->paths);
        array_free(&module->addresses);
    }
    array_free(&(*hits)->modules);
    array_free(&(*hits)->by_id);
    intern_free(&(*hits)->keys);
    arena_free(&(*hits)->text);
    mem_free(*hits);
    *hits = NULL;
}
