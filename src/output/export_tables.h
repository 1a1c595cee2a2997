/* What exporters keep of a push: labels, and the names of frames and stacks. Memory is the number of different ones. */
#ifndef LAMELLA_OUTPUT_EXPORT_TABLES_H
#define LAMELLA_OUTPUT_EXPORT_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/intern.h"
#include "profile/sink.h"
#include "symbols/sidecar.h"

struct export_label {
    uint32_t kind; /* label id; 0 */
    struct profile_text text;
};

/* All-zero is empty and valid; by id, [0] is unused. */
struct export_labels {
    LAM_ARRAY(struct export_label) items;
    struct arena text;
};

int export_labels_add(struct export_labels *labels, const struct profile_label *label);
const struct export_label *export_labels_get(const struct export_labels *labels, uint32_t label);
struct profile_text export_labels_kind(const struct export_labels *labels, uint32_t label);
void export_labels_free(struct export_labels *labels);

/* One function of a frame: with inlined calls a frame has several. */
struct export_function {
    uint32_t name;   /* in names */
    uint32_t file;   /* in names; INTERN_EMPTY: not known */
    uint32_t line;   /* of this call; 0 */
    uint32_t module; /* 0 */
};

struct export_frame {
    uint32_t module;       /* 0 */
    uint32_t first, count; /* functions, innermost first; count 0: nobody asked yet */
    uint64_t offset;
    bool is_return;
};

struct export_stack {
    uint32_t parent, frame;
};

struct export_module {
    uint32_t path;    /* in names */
    uint32_t symbols; /* in the sidecar; 0 */
    uint8_t build_id[32];
    uint8_t build_id_bytes;
};

/* All-zero is empty and valid. Modules, frames and stacks by id; [0] is unused. */
struct export_frames {
    const struct symbols *symbols; /* NULL: frames are module+0xoffset */
    bool redacts;                  /* paths lose their directories, files of sources are left out */
    bool *saw_modules;             /* set by the first one; NULL */
    struct intern names;
    LAM_ARRAY(struct export_module) modules;
    LAM_ARRAY(struct export_frame) frames;
    LAM_ARRAY(struct export_stack) stacks;
    LAM_ARRAY(struct export_function) functions;
};

int export_frames_module(struct export_frames *frames, const struct profile_module *module);
int export_frames_frame(struct export_frames *frames, const struct profile_frame *frame);
int export_frames_stack(struct export_frames *frames, const struct profile_stack *stack);

/* The functions of a frame, found when first asked for: always at least one. *count may be NULL. NULL when memory is
 * short. The pointer lives until the next call for another frame. */
const struct export_function *export_frames_functions(struct export_frames *frames, uint32_t frame,
                                                      uint32_t *count);
void export_frames_free(struct export_frames *frames);

/* The program's file name, else comm, else "process PID" in scratch (of at least 32 bytes). */
struct profile_text export_program(const struct profile_process *process, char *scratch);

/* What follows the last slash. */
struct profile_text export_base_name(struct profile_text path);

/* The calls by which a sink fills its frames: on_module, on_frame and on_stack of one whose context is a `type` that has them
 * as `member`. */
#define EXPORT_FRAMES_CALLS(type, member)                                \
    static int on_module(void *ctx, const struct profile_module *module) \
    {                                                                    \
        return export_frames_module(&((type *)ctx)->member, module);     \
    }                                                                    \
                                                                         \
    static int on_frame(void *ctx, const struct profile_frame *frame)    \
    {                                                                    \
        return export_frames_frame(&((type *)ctx)->member, frame);       \
    }                                                                    \
                                                                         \
    static int on_stack(void *ctx, const struct profile_stack *stack)    \
    {                                                                    \
        return export_frames_stack(&((type *)ctx)->member, stack);       \
    }

#endif
