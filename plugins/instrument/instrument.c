/* instrument.c: calls of programs that were compiled with -finstrument-functions or clang's -fxray-instrument.
 *
 * Preloaded or linked. What is known of a function here is its address: it becomes a label that says which file holds it and where
 * (docs/format.md, code labels), and gets its name when the recording is read. */
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lamella/lamella.h"
#include "xray.h"

enum {
    TABLE_SLOTS = 1 << 18, /* functions; memory is used as they are called */
    TABLE_LOOK = 64,
    BUILD_ID_BYTES = 32,
    PATH_BYTES = 1024,
};

/* ---- the label of an address ---- */

struct slot { /* key is stored last; both 0: free */
    uint64_t key;
    uint32_t label;
};

static struct slot *table;

/* Recording is not signal-safe: a handler that interrupts it is not recorded. So here is where the stack of this thread was when it
 * went in, NULL when it is not in. */
static __thread const char *busy_at __attribute__((tls_model("initial-exec")));

/* Or has it never come out, since a handler that interrupted it left by longjmp()? Then the stack is as short as it was. */
static __attribute__((noinline)) bool is_interrupted(const char *here)
{
    stack_t own;
    return here < busy_at || sigaltstack(NULL, &own) < 0 || own.ss_flags & SS_ONSTACK;
}

struct module {
    uintptr_t address;
    char path[PATH_BYTES];
    uintptr_t offset; /* the file's own address */
    uint8_t build_id[BUILD_ID_BYTES];
    size_t build_id_bytes;
};

static void read_build_id(struct module *module, const char *notes, size_t size)
{
    while (size >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, notes, sizeof note);
        size_t name = (note.n_namesz + 3u) & ~3u, text = (note.n_descsz + 3u) & ~3u;
        if (name > size - sizeof note || text > size - sizeof note - name)
            return;
        const char *bytes = notes + sizeof note;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(bytes, "GNU", 4) == 0 &&
            note.n_descsz <= BUILD_ID_BYTES) {
            module->build_id_bytes = note.n_descsz;
            memcpy(module->build_id, bytes + name, note.n_descsz);
            return;
        }
        notes += sizeof note + name + text;
        size -= sizeof note + name + text;
    }
}

static bool holds(const struct dl_phdr_info *info, uintptr_t address)
{
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD &&
            address - info->dlpi_addr - info->dlpi_phdr[i].p_vaddr < info->dlpi_phdr[i].p_memsz)
            return true;
    return false;
}

static int look_at_module(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)size;
    struct module *module = ctx;
    if (!holds(info, module->address))
        return 0;
    module->offset = module->address - info->dlpi_addr;
    if (info->dlpi_name && *info->dlpi_name) {
        snprintf(module->path, sizeof module->path, "%s", info->dlpi_name);
    } else {
        ssize_t length = readlink("/proc/self/exe", module->path, sizeof module->path - 1);
        module->path[length > 0 ? length : 0] = 0;
    }
    for (int i = 0; i < info->dlpi_phnum && !module->build_id_bytes; i++)
        if (info->dlpi_phdr[i].p_type == PT_NOTE) {
            uintptr_t at = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            read_build_id(module, (const char *)at,
                          info->dlpi_phdr[i].p_memsz); // NOLINT(performance-no-int-to-ptr)
        }
    return 1;
}

static uint32_t make_label(uintptr_t address)
{
    static const char digits[] = "0123456789abcdef";
    struct module module = {.address = address, .offset = address};
    char id[2 * BUILD_ID_BYTES + 1], text[PATH_BYTES + 2 * BUILD_ID_BYTES + 32];
    /* A handler that leaves by longjmp() must not take the linker's lock with it. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    dl_iterate_phdr(look_at_module, &module);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    for (size_t i = 0; i < module.build_id_bytes; i++) {
        id[2 * i] = digits[module.build_id[i] >> 4];
        id[2 * i + 1] = digits[module.build_id[i] & 15];
    }
    id[2 * module.build_id_bytes] = 0;
    int length = snprintf(text, sizeof text, "code:%s:%s+0x%llx", id, module.path,
                          (unsigned long long)module.offset);
    return lam_label_intern(LAM_DEFAULT, text, (size_t)length).id;
}

/* Lock-free. Two threads may make one label at a time: it is the same. */
static uint32_t label_of(uintptr_t address)
{
    uint64_t key = address, at = key * 0x9e3779b97f4a7c15ull >> 40;
    for (uint32_t look = 0; look < TABLE_LOOK; look++, at++) {
        struct slot *slot = &table[at % TABLE_SLOTS];
        /* acquire: pairs with the release below; whoever sees the key sees the label. */
        uint64_t there = __atomic_load_n(&slot->key, __ATOMIC_ACQUIRE);
        if (__builtin_expect(there == key, 1))
            return __atomic_load_n(&slot->label, __ATOMIC_RELAXED);
        if (there)
            continue;
        uint32_t label = make_label(address), none = 0;
        if (!label)
            return 0;
        /* The label is what claims the slot: whoever loses goes on to the next one. */
        if (!__atomic_compare_exchange_n(&slot->label, &none, label, 0, __ATOMIC_RELAXED,
                                         __ATOMIC_RELAXED))
            continue;
        __atomic_store_n(&slot->key, key, __ATOMIC_RELEASE);
        return label;
    }
    return make_label(address);
}

static inline void on_call(uintptr_t function, bool is_exit)
{
    const char *here = __builtin_frame_address(0);
    if (lam_is_off(LAM_DEFAULT) || !table ||
        (__builtin_expect(busy_at != NULL, 0) && is_interrupted(here)))
        return;
    busy_at = here;
    __atomic_signal_fence(__ATOMIC_SEQ_CST); /* a handler sees it before anything is done */
    struct lam_label label = {label_of(function)};
    if (label.id && is_exit)
        lam_call_exit(LAM_DEFAULT, label);
    else if (label.id)
        lam_call_enter(LAM_DEFAULT, label);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    busy_at = NULL;
}

/* ---- -finstrument-functions ---- */

LAM_API void __cyg_profile_func_enter(void *function, void *site);
LAM_API void __cyg_profile_func_exit(void *function, void *site);

void __cyg_profile_func_enter(void *function, void *site)
{
    (void)site;
    on_call((uintptr_t)function, false);
}

void __cyg_profile_func_exit(void *function, void *site)
{
    (void)site;
    on_call((uintptr_t)function, true);
}

__attribute__((constructor)) static void begin(void)
{
    /* Also while nothing is recorded: the program may open the recorder later. */
    void *map = mmap(NULL, TABLE_SLOTS * sizeof *table, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map != MAP_FAILED)
        __atomic_store_n(&table, map, __ATOMIC_RELEASE);
    xray_begin(on_call);
}
