#include "output/mixed_stacks.h"

#include <string.h>

enum mixed_frame {
    FRAME_OTHER,
    FRAME_LOOP,  /* runs interpreted code */
    FRAME_ENTRY, /* leads into the loop of a library without symbols */
    FRAME_NAMELESS,
    FRAME_OURS, /* a plug-in or the recorder */
};

static const struct {
    const char *name;
    enum mixed_frame what;
} interpreter_frames[] = {
    {"luaV_execute", FRAME_LOOP}, {"_PyEval_EvalFrameDefault", FRAME_LOOP},
    {"lua_callk", FRAME_ENTRY},   {"lua_pcallk", FRAME_ENTRY},
    {"lua_resume", FRAME_ENTRY},
};

/* What the plug-ins and the recorder are called, up to versions. */
static const char *const our_files[] = {"liblamella.so", "liblamella-instrument.so", "lamella.so",
                                        "_lamella."};

static bool is_ours(const struct export_frames *frames, uint32_t module)
{
    size_t size;
    const char *path = module < frames->modules.count && module
                           ? intern_text(&frames->names, frames->modules.items[module].path, &size)
                           : "";
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof our_files / sizeof *our_files; i++)
        if (strncmp(name, our_files[i], strlen(our_files[i])) == 0)
            return true;
    return false;
}

static uint32_t module_of(const struct export_frames *frames, uint32_t frame)
{
    return frame < frames->frames.count ? frames->frames.items[frame].module : 0;
}

static int look_up(struct export_frames *frames, uint32_t frame, uint64_t *what)
{
    uint32_t count;
    const struct export_function *functions = export_frames_functions(frames, frame, &count);
    if (!functions)
        return LAM_E_NOMEM;
    *what = is_ours(frames, module_of(frames, frame)) ? FRAME_OURS : FRAME_OTHER;
    for (uint32_t i = 0; i < count; i++) {
        size_t size;
        const char *name = intern_text(&frames->names, functions[i].name, &size);
        if (memmem(name, size, "+0x", 3))
            *what = FRAME_NAMELESS;
        for (size_t k = 0; k < sizeof interpreter_frames / sizeof *interpreter_frames; k++)
            if (strcmp(name, interpreter_frames[k].name) == 0)
                *what = interpreter_frames[k].what;
    }
    return LAM_OK;
}

static int what_is(struct mixed_stacks *mixed, struct export_frames *frames, uint32_t frame,
                   uint64_t *what)
{
    if (map_get(&mixed->is_loop, frame, what))
        return LAM_OK;
    int rc = look_up(frames, frame, what);
    return rc < 0 ? rc : map_put(&mixed->is_loop, frame, *what);
}

/* Takes from the outer end of `inner` the frames of a module, or only those of them that have no name. */
static int drop_outer(struct mixed_stacks *mixed, struct export_frames *frames, uint32_t module,
                      bool only_nameless)
{
    while (mixed->inner.count) {
        uint32_t next = array_last(&mixed->inner);
        uint64_t what;
        int rc = what_is(mixed, frames, next, &what);
        if (rc < 0)
            return rc;
        if (module_of(frames, next) != module || (only_nameless && what != FRAME_NAMELESS))
            return LAM_OK;
        (void)array_pop(&mixed->inner);
    }
    return LAM_OK;
}

/* Into `inner` the frames that are further in than the interpreter; without one, all, and outside of any interval, where nothing
 * tells better what it does. What recording a call takes is left to the function that makes or leaves it. */
static int find_inner(struct mixed_stacks *mixed, struct export_frames *frames, uint32_t path,
                      uint32_t stack)
{
    bool was_ours = false; /* then what led to us is the interpreter's part of it */
    array_clear(&mixed->inner);
    for (; stack && stack < frames->stacks.count; stack = frames->stacks.items[stack].parent) {
        uint32_t frame = frames->stacks.items[stack].frame;
        uint64_t what;
        int rc = what_is(mixed, frames, frame, &what);
        if (rc < 0)
            return rc;
        if (!path && (what == FRAME_ENTRY || what == FRAME_LOOP))
            what = FRAME_OTHER;
        /* The nameless ones behind a way in are the loop and what belongs to it. */
        if (what == FRAME_ENTRY)
            return drop_outer(mixed, frames, module_of(frames, frame), !was_ours);
        if (what == FRAME_LOOP)
            return was_ours ? drop_outer(mixed, frames, module_of(frames, frame), false) : LAM_OK;
        if (what == FRAME_OURS) {
            array_clear(&mixed->inner);
            was_ours = true;
        } else if (array_push(&mixed->inner, frame) < 0) {
            return LAM_E_NOMEM;
        }
    }
    return LAM_OK;
}

int mixed_stacks_node(struct mixed_stacks *mixed, struct export_frames *frames, uint32_t path,
                      uint32_t stack, uint32_t *node)
{
    *node = path;
    int rc = find_inner(mixed, frames, path, stack);
    while (rc >= 0 && mixed->inner.count) {
        uint32_t frame = array_pop(&mixed->inner);
        bool is_new;
        uint64_t *slot =
            map_slot(&mixed->by_step, (uint64_t)*node << 32 | frame, mixed->nodes.count, &is_new);
        if (!slot || mixed->nodes.count >= MIXED_NODE)
            return LAM_E_NOMEM;
        if (is_new)
            rc = array_push(&mixed->nodes, ((struct mixed_node){*node, frame}));
        *node = MIXED_NODE | (uint32_t)*slot;
    }
    return rc;
}

const struct mixed_node *mixed_stacks_get(const struct mixed_stacks *mixed, uint32_t node)
{
    uint32_t index = node & ~MIXED_NODE;
    return node & MIXED_NODE && index < mixed->nodes.count ? &mixed->nodes.items[index] : NULL;
}

void mixed_stacks_free(struct mixed_stacks *mixed)
{
    array_free(&mixed->nodes);
    map_free(&mixed->by_step);
    map_free(&mixed->is_loop);
    array_free(&mixed->inner);
}
