/* The inside of struct symbols_collector: modules and the addresses that were hit in them. */
#ifndef LAMELLA_SYMBOLS_COLLECTOR_H
#define LAMELLA_SYMBOLS_COLLECTOR_H

#include "base/arena.h"
#include "base/array.h"
#include "base/intern.h"
#include "symbols/elf_file.h"
#include "symbols/sidecar.h"

struct hit_path {
    const char *path;
    int64_t mapped_at_ns;   /* since 1970; INT64_MAX: not known */
    uint64_t device, inode; /* of the file that was mapped; 0: not known */
};

/* One library, whatever the paths of its copies. */
struct hit_module {
    struct build_id build_id;
    bool is_vdso;
    LAM_ARRAY(struct hit_path) paths;
    LAM_ARRAY(uint64_t)
    addresses; /* to look up: of a return address the byte before; as they came */
};

struct symbols_collector {
    struct arena text;
    struct intern keys; /* of modules: the build id, or the path; id - 1 is the index */
    LAM_ARRAY(struct hit_module) modules;
    LAM_ARRAY(uint32_t) by_id; /* index + 1 of the input's modules */
    int64_t started_at_unix_ns;
};

#endif
