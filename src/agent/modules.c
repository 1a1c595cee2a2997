/* modules.c: which ELF file an address belongs to, written to the stream when it is first hit.
 *
 * A module's record is written once by whoever meets it first, mostly the sampling handler. The table and its page
 * have one writer at a time, by a try-lock: who does not get it goes on, and the module is noted at the next node.
 * When dlclose takes a noted module away a new epoch begins: nodes made from then on carry its number, and the table
 * starts empty, so that a library mapped later at the same address is another module.
 */
#include "agent/agent.h"

#include "core/bytes.h"
#include "unwind/find_object.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <sys/mman.h>

enum { MODULES_MAX = 4096, SNAPSHOT_MAX = 2048, BUILD_ID_MAX = 64 };

struct known {
    uint64_t start, end;
};

/* A mapped file about to be noted. */
struct mapped {
    uint64_t start, end, bias;
    const char *name; /* the loader's; "" for the main program */
};

static struct {
    uint32_t busy;  /* try-lock (atomic) */
    uint32_t count; /* of known (atomic: written last) */
    uint32_t epoch; /* atomic */
    uint32_t next_index;
    uint32_t lost; /* records are gone from the stream: all are written again (atomic) */
    struct stream_cursor cursor;
    struct unwind_finder finder;
    struct unwind_snapshot snapshot;
    struct known known[MODULES_MAX];
} modules;

_Atomic uint32_t modules_generation;

static int try_lock(void)
{
    uint32_t idle = 0;
    /* acquire/release: the next holder sees what the last one wrote. */
    return __atomic_compare_exchange_n(&modules.busy, &idle, 1, 0, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

static void unlock(void)
{
    __atomic_store_n(&modules.busy, 0, __ATOMIC_RELEASE);
}

void modules_init(void)
{
    modules.busy = modules.count = modules.next_index = modules.lost = 0;
    modules.epoch = 1;
    stream_cursor_init(&modules.cursor, STREAM_PAGE_MODULES, 0, 0);
    unwind_finder_init(&modules.finder, NULL);
    if (!modules.finder.dl_find_object && !modules.snapshot.capacity) {
        void *memory = sys_mmap(NULL, unwind_snapshot_bytes(SNAPSHOT_MAX), PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (!sys_is_error(memory))
            unwind_snapshot_init(&modules.snapshot, memory, SNAPSHOT_MAX);
    }
    if (modules.snapshot.capacity)
        modules.finder.snapshot = &modules.snapshot;
}

uint16_t modules_epoch(void)
{
    return (uint16_t)__atomic_load_n(&modules.epoch, __ATOMIC_RELAXED);
}

int modules_find(void *ctx, uint64_t pc, struct unwind_module *out)
{
    (void)ctx;
    return unwind_finder_find(&modules.finder, pc, out);
}

struct stream_cursor *modules_cursor(void)
{
    return &modules.cursor;
}

void modules_write_again(void)
{
    __atomic_store_n(&modules.lost, 1, __ATOMIC_RELAXED);
}

static int is_known(uint64_t address)
{
    if (__atomic_load_n(&modules.lost, __ATOMIC_RELAXED))
        return 0;
    uint32_t count = __atomic_load_n(&modules.count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count; i++)
        if (address >= modules.known[i].start && address < modules.known[i].end)
            return 1;
    return 0;
}

/* The GNU build id among the notes of a mapped file; its size, 0 when there is none. Looks only inside
 * [start, end), which is mapped. */
static uint16_t find_build_id(const struct mapped *mapped, const uint8_t **id)
{
    const ElfW(Ehdr) *ehdr = (const void *)(uintptr_t)mapped->start;
    if (mapped->end - mapped->start < 4096 || !bytes_equal(ehdr->e_ident, ELFMAG, SELFMAG) ||
        ehdr->e_phentsize != sizeof(ElfW(Phdr)) || ehdr->e_phoff > 4096 ||
        ehdr->e_phoff + (uint64_t)ehdr->e_phnum * sizeof(ElfW(Phdr)) > 4096)
        return 0;
    const ElfW(Phdr) *phdr = (const void *)(uintptr_t)(mapped->start + ehdr->e_phoff);
    for (int i = 0; i < ehdr->e_phnum; i++) {
        uint64_t at = mapped->bias + phdr[i].p_vaddr, end = at + phdr[i].p_filesz;
        if (phdr[i].p_type != PT_NOTE || at < mapped->start || end > mapped->end || end < at)
            continue;
        while (at + sizeof(ElfW(Nhdr)) <= end) {
            const ElfW(Nhdr) *note = (const void *)(uintptr_t)at;
            uint64_t name = at + sizeof *note, desc = name + ((note->n_namesz + 3ull) & ~3ull);
            uint64_t next = desc + ((note->n_descsz + 3ull) & ~3ull);
            if (next > end)
                break;
            if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
                note->n_descsz <= BUILD_ID_MAX &&
                bytes_equal((const void *)(uintptr_t)name, "GNU", 4)) {
                *id = (const void *)(uintptr_t)desc;
                return (uint16_t)note->n_descsz;
            }
            at = next;
        }
    }
    return 0;
}

static void write_module(const struct mapped *mapped)
{
    const char *path = mapped->name;
    uint16_t flags = 0;
    if (!path[0]) {
        path = agent.exe;
        flags = 2;
    } else if (text_starts(path, "linux-vdso")) {
        path = "[vdso]";
        flags = 1;
    }
    struct stat st;
    bytes_zero(&st, sizeof st);
    sys_call4(SYS_newfstatat, AT_FDCWD, path, &st, 0);
    const uint8_t *id = NULL;
    struct stream_rec_module rec = {
        .ticks = agent_now(),
        .start = mapped->start,
        .end = mapped->end,
        .bias = mapped->bias,
        .inode = st.st_ino,
        .device = st.st_dev,
        .epoch = modules_epoch(),
        .path_bytes = (uint16_t)bytes_length(path),
        .build_id_bytes = find_build_id(mapped, &id),
        .flags = flags,
    };
    struct stream_piece pieces[] = {
        {&rec, sizeof rec}, {path, rec.path_bytes}, {id, rec.build_id_bytes}};
    stream_append(&agent.stream, &modules.cursor, STREAM_REC_MODULE, ++modules.next_index, pieces,
                  3, rec.ticks);
}

/* With the try-lock held. */
static void note_mapped(const struct mapped *mapped)
{
    if (__atomic_exchange_n(&modules.lost, 0, __ATOMIC_RELAXED))
        modules.count = 0;
    uint32_t count = modules.count;
    if (count == MODULES_MAX || is_known(mapped->start))
        return;
    write_module(mapped);
    modules.known[count] = (struct known){mapped->start, mapped->end};
    /* release: the entry is complete before it is counted. */
    __atomic_store_n(&modules.count, count + 1, __ATOMIC_RELEASE);
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE
static int find_mapped(uint64_t address, struct mapped *out)
{
    struct dl_find_object object;
    if (!modules.finder.dl_find_object ||
        modules.finder.dl_find_object((void *)(uintptr_t)address, &object) != 0)
        return -1;
    *out = (struct mapped){
        .start = (uint64_t)(uintptr_t)object.dlfo_map_start,
        .end = (uint64_t)(uintptr_t)object.dlfo_map_end,
        .bias = object.dlfo_link_map->l_addr,
        .name = object.dlfo_link_map->l_name ? object.dlfo_link_map->l_name : "",
    };
    return 0;
}
#else
static int find_mapped(uint64_t address, struct mapped *out)
{
    (void)address;
    (void)out;
    return -1;
}
#endif

/* Async-signal-safe: the link map of a module that holds a live frame is not freed under us. */
void modules_note(uint64_t address)
{
    struct mapped mapped;
    if (is_known(address) || find_mapped(address, &mapped) < 0 || !try_lock())
        return;
    note_mapped(&mapped);
    unlock();
}

/* Without _dl_find_object (glibc before 2.35) a handler cannot ask, so everything mapped is noted beforehand. */
static int note_phdrs(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)size;
    (void)ctx;
    struct mapped mapped = {.start = UINT64_MAX,
                            .bias = info->dlpi_addr,
                            .name = info->dlpi_name ? info->dlpi_name : ""};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
        if (phdr->p_type != PT_LOAD)
            continue;
        uint64_t at = info->dlpi_addr + phdr->p_vaddr;
        if (at < mapped.start)
            mapped.start = at & ~(uint64_t)4095;
        if (at + phdr->p_memsz > mapped.end)
            mapped.end = at + phdr->p_memsz;
    }
    if (mapped.start < mapped.end)
        note_mapped(&mapped);
    return 0;
}

/* Ordinary code with signals blocked, after a dlopen and at the start. */
void modules_after_dlopen(void)
{
    if (!modules.snapshot.capacity)
        return;
    unwind_snapshot_refresh(&modules.snapshot);
    if (try_lock()) {
        dl_iterate_phdr(note_phdrs, NULL);
        unlock();
    }
}

static void next_epoch(void)
{
    uint32_t epoch = modules.epoch;
    if (epoch == UINT16_MAX)
        return; /* the last epoch goes on: addresses of what is mapped from here on are ambiguous */
    modules.count = 0;
    /* relaxed: cached unwind rules of code that is gone can only be met by frames that do not exist any more. */
    atomic_fetch_add_explicit(&modules_generation, 1, memory_order_relaxed);
    __atomic_store_n(&modules.epoch, epoch + 1, __ATOMIC_RELEASE);
    struct stream_rec_epoch rec = {.ticks = agent_now()};
    struct stream_piece piece = {&rec, sizeof rec};
    stream_append(&agent.stream, &modules.cursor, STREAM_REC_EPOCH, epoch + 1, &piece, 1, rec.ticks);
}

/* Is a noted module gone, or is another one in its place? */
static int has_gone(const struct known *known)
{
    struct mapped mapped;
    if (modules.snapshot.capacity) {
        struct unwind_module module;
        return unwind_snapshot_find(&modules.snapshot, known->start, &module) < 0;
    }
    return find_mapped(known->start, &mapped) < 0 || mapped.start != known->start ||
           mapped.end != known->end;
}

/* Ordinary code with signals blocked, after the real dlclose. */
void modules_after_dlclose(void)
{
    if (modules.snapshot.capacity)
        unwind_snapshot_refresh(&modules.snapshot);
    /* Waits for nobody who could wait for us: a holder in another thread's handler is done in microseconds, and our own
     * handler is blocked. */
    while (!try_lock())
        sys_call0(SYS_sched_yield);
    for (uint32_t i = 0; i < modules.count; i++)
        if (has_gone(&modules.known[i])) {
            next_epoch();
            break;
        }
    unlock();
    modules_after_dlopen();
}
