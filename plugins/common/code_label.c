/* code_label.c: which file holds an address, and where in it. */
#include "code_label.h"

#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BUILD_ID_BYTES = 32, PATH_BYTES = 1024 };

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
    const char *name = info->dlpi_name;
    if (name && *name) { /* loaded by a path from here, it has to be found from elsewhere */
        bool is_short = *name != '/' && getcwd(module->path, sizeof module->path);
        size_t used = is_short ? strlen(module->path) : 0;
        snprintf(module->path + used, sizeof module->path - used, "%s%s", used ? "/" : "", name);
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

struct lam_label code_label(uintptr_t address, const char *also, size_t also_bytes)
{
    static const char digits[] = "0123456789abcdef";
    struct module module = {.address = address, .path = "?", .offset = address};
    char id[2 * BUILD_ID_BYTES + 1];
    char text[PATH_BYTES + 2 * BUILD_ID_BYTES + 32 + CODE_LABEL_ALSO];
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
    size_t size = (size_t)length;
    if (also) { /* behind a zero, which is in no path */
        also_bytes = also_bytes < CODE_LABEL_ALSO ? also_bytes : CODE_LABEL_ALSO;
        memcpy(text + ++size, also, also_bytes);
        size += also_bytes;
    }
    return lam_label_intern(LAM_DEFAULT, text, size);
}
