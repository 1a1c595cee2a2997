/* Modules of this process, found in a signal handler: glibc's lock-free look-up, or a snapshot of ours. */
#ifndef LAM_UNWIND_FIND_OBJECT_H
#define LAM_UNWIND_FIND_OBJECT_H

#include "unwind/module.h"

#include <stdatomic.h>
#include <stddef.h>

/* What dl_iterate_phdr() told, sorted by address, in two tables: readers use the one that `version` names while a writer
 * fills the other. A module's cookie is the beginning of its .eh_frame_hdr. */
struct unwind_snapshot {
    struct unwind_module *tables[2];
    uint32_t capacity;
    _Atomic uint32_t counts[2];
    _Atomic uint32_t version; /* 0 nothing yet; tables[version & 1] is valid */
    _Atomic uint32_t writers; /* refreshes under way or asked for */
    _Atomic uint32_t missed;  /* modules that had no room in the last refresh */
};

/* Bytes of memory that a snapshot of so many modules needs. */
size_t unwind_snapshot_bytes(uint32_t capacity);

/* memory: zeroed, unwind_snapshot_bytes(capacity) of it, the caller's for as long as the snapshot is used. */
void unwind_snapshot_init(struct unwind_snapshot *snapshot, void *memory, uint32_t capacity);

/* Reads the list of modules again: at start and after every dlopen and dlclose.
 * Not in a signal handler: dl_iterate_phdr() takes the loader's lock. Threads: any; when two meet, the one that is in it
 * does the other's work too, and the other returns before its modules are in. */
void unwind_snapshot_refresh(struct unwind_snapshot *snapshot);

/* An unwind_find_module over a struct unwind_snapshot. Async-signal-safe, wait-free: interrupting a refresh, it sees the
 * table before it. */
int unwind_snapshot_find(void *snapshot, uint64_t pc, struct unwind_module *out);

struct dl_find_object;
typedef int unwind_dl_find_object(void *address, struct dl_find_object *result);

struct unwind_finder {
    unwind_dl_find_object *dl_find_object; /* glibc >= 2.35; NULL elsewhere */
    struct unwind_snapshot *snapshot;      /* asked second; NULL none */
    struct unwind_module program;          /* the executable, which stays; hdr_addr 0: not known */
    _Atomic uint64_t vetted[8];            /* far-off headers of modules that were found readable */
};

/* Takes _dl_find_object() from libc if this libc has it: a weak reference bound when we were loaded, no dlsym().
 * Not in a signal handler. */
void unwind_finder_init(struct unwind_finder *finder, struct unwind_snapshot *snapshot);

/* An unwind_find_module over a struct unwind_finder. Async-signal-safe.
 * A module that is being unmapped by dlclose() in another thread is no longer found before its memory goes, so this can
 * only go wrong for an address that is looked up in that very moment and that no live frame can hold. */
int unwind_finder_find(void *finder, uint64_t pc, struct unwind_module *out);

#endif
