#include "core/elf_probe.h"

#include "core/bytes.h"
#include "core/sys.h"
#include "core/watch.h"

#include <elf.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { INTERPRETERS_MAX = 5, LINE_MAX_BYTES = 256, NOTE_NAME_GO = 4 };

#if defined(__x86_64__)
enum { THIS_MACHINE = EM_X86_64 };
#else
enum { THIS_MACHINE = EM_AARCH64 };
#endif

struct image { /* the file, mapped */
    const uint8_t *bytes;
    uint64_t size;
    const Elf64_Phdr *phdr;
    unsigned phnum;
};

static const void *image_at(const struct image *image, uint64_t offset, uint64_t size)
{
    return offset <= image->size && size <= image->size - offset ? image->bytes + offset : 0;
}

/* The same for structures, which must be aligned: a file that has them elsewhere is not looked at. */
static const void *image_structures(const struct image *image, uint64_t offset, uint64_t size,
                                    uint64_t alignment)
{
    return offset % alignment ? 0 : image_at(image, offset, size);
}

/* File bytes behind a virtual address; 0 when no segment holds them. */
static const void *image_at_address(const struct image *image, uint64_t address, uint64_t size)
{
    for (unsigned i = 0; i < image->phnum; i++) {
        const Elf64_Phdr *ph = &image->phdr[i];
        if (ph->p_type == PT_LOAD && address >= ph->p_vaddr && address - ph->p_vaddr < ph->p_filesz)
            return image_at(image, ph->p_offset + (address - ph->p_vaddr), size);
    }
    return 0;
}

/* Is `text` at `offset` of the string table, NUL-ended inside the file, a name that starts with `prefix`? */
static int name_starts(const struct image *image, uint64_t strings, uint64_t offset,
                       const char *prefix)
{
    size_t length = bytes_length(prefix);
    const char *name = image_at_address(image, strings + offset, length);
    return name && bytes_equal(name, prefix, length);
}

/* gcc's sanitizer is a library it needs; clang's is inside and shows as a symbol. */
static int is_asan(const struct image *image, const Elf64_Phdr *dynamic)
{
    static const char *const runtimes[] = {"libasan.so", "libclang_rt.asan", "libtsan.so",
                                           "libhwasan.so"};
    uint64_t strings = 0, symbols = 0, symbol_bytes = 0;
    const Elf64_Dyn *dyn = image_structures(image, dynamic->p_offset, dynamic->p_filesz, 8);
    size_t count = dyn ? dynamic->p_filesz / sizeof *dyn : 0;
    for (size_t i = 0; i < count && dyn[i].d_tag != DT_NULL; i++) {
        if (dyn[i].d_tag == DT_STRTAB)
            strings = dyn[i].d_un.d_val;
        else if (dyn[i].d_tag == DT_SYMTAB)
            symbols = dyn[i].d_un.d_val;
    }
    for (size_t i = 0; i < count && dyn[i].d_tag != DT_NULL; i++)
        if (dyn[i].d_tag == DT_NEEDED)
            for (size_t r = 0; r < sizeof runtimes / sizeof runtimes[0]; r++)
                if (name_starts(image, strings, dyn[i].d_un.d_val, runtimes[r]))
                    return 1;
    /* The string table follows the symbol table in every linker's layout; a first few thousand symbols are enough. */
    symbol_bytes = strings > symbols ? strings - symbols : 0;
    uint64_t symbol_count = symbol_bytes / sizeof(Elf64_Sym);
    for (uint64_t i = 1; i < symbol_count && i < 4096; i++) {
        const Elf64_Sym *symbol =
            image_at_address(image, symbols + i * sizeof *symbol, sizeof *symbol);
        if (!symbol || (uintptr_t)symbol % 8)
            break;
        if (name_starts(image, strings, symbol->st_name, "__asan_init") ||
            name_starts(image, strings, symbol->st_name, "__tsan_init") ||
            name_starts(image, strings, symbol->st_name, "__msan_init"))
            return 1;
    }
    return 0;
}

static int is_go(const struct image *image)
{
    for (unsigned i = 0; i < image->phnum; i++) {
        const Elf64_Phdr *ph = &image->phdr[i];
        const Elf64_Nhdr *note =
            ph->p_type == PT_NOTE
                ? image_structures(image, ph->p_offset, sizeof *note + NOTE_NAME_GO, 4)
                : 0;
        if (note && note->n_namesz == NOTE_NAME_GO && bytes_equal(note + 1, "Go\0", NOTE_NAME_GO))
            return 1;
    }
    /* Linked by the system's linker, Go's note is one among others; its build information starts a data segment. */
    for (unsigned i = 0; i < image->phnum; i++) {
        const Elf64_Phdr *ph = &image->phdr[i];
        uint64_t look = ph->p_filesz < 64 * 1024 ? ph->p_filesz : 64 * 1024;
        const char *bytes =
            ph->p_type == PT_LOAD && ph->p_flags & PF_W ? image_at(image, ph->p_offset, look) : 0;
        for (uint64_t at = 0; bytes && at + 14 <= look; at += 16)
            if (bytes_equal(bytes + at, "\xff Go buildinf:", 14))
                return 1;
    }
    return 0;
}

static enum elf_probe probe_elf(struct image *image)
{
    const Elf64_Ehdr *ehdr = image_at(image, 0, sizeof *ehdr);
    if (!ehdr)
        return ELF_PROBE_UNREADABLE;
    if (ehdr->e_ident[EI_CLASS] != ELFCLASS64 || ehdr->e_machine != THIS_MACHINE)
        return ELF_PROBE_CLASS;
    image->phdr =
        image_structures(image, ehdr->e_phoff, (uint64_t)ehdr->e_phnum * sizeof *image->phdr, 8);
    image->phnum = image->phdr ? ehdr->e_phnum : 0;
    const Elf64_Phdr *interp = 0, *dynamic = 0;
    for (unsigned i = 0; i < image->phnum; i++) {
        if (image->phdr[i].p_type == PT_INTERP)
            interp = &image->phdr[i];
        else if (image->phdr[i].p_type == PT_DYNAMIC)
            dynamic = &image->phdr[i];
    }
    if (!interp || !dynamic)
        return ELF_PROBE_STATIC;
    const char *loader = image_at(image, interp->p_offset, interp->p_filesz);
    if (!loader || !interp->p_filesz || loader[interp->p_filesz - 1] ||
        !text_find(loader, "ld-linux"))
        return ELF_PROBE_LIBC;
    if (is_asan(image, dynamic))
        return ELF_PROBE_ASAN;
    return is_go(image) ? ELF_PROBE_CGO : ELF_PROBE_OK;
}

/* "#!  /path/of/interpreter argument": copies the path. Returns 0 when the file is a script, else -1. */
static int script_interpreter(const struct image *image, char *out)
{
    uint64_t size = image->size < LINE_MAX_BYTES - 1 ? image->size : LINE_MAX_BYTES - 1, at = 2,
             used = 0;
    if (size < 3 || image->bytes[0] != '#' || image->bytes[1] != '!')
        return -1;
    while (at < size && (image->bytes[at] == ' ' || image->bytes[at] == '\t'))
        at++;
    while (at < size && image->bytes[at] > ' ')
        out[used++] = (char)image->bytes[at++];
    out[used] = 0;
    return used ? 0 : -1;
}

/* As the kernel decides whether the loader is told to be careful (AT_SECURE): one's own setuid program gains nothing, and
 * root has all capabilities already. */
static int is_privileged(int fd, const struct stat *st)
{
    char value[64];
    if (st->st_mode & S_ISUID && (long)st->st_uid != sys_call0(SYS_getuid))
        return 1;
    if ((st->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
        (long)st->st_gid != sys_call0(SYS_getgid))
        return 1;
    return sys_call0(SYS_geteuid) != 0 &&
           sys_call4(SYS_fgetxattr, fd, "security.capability", value, sizeof value) > 0;
}

/* One file: its verdict, or -1 when it is a script and `next` holds its interpreter. */
static int probe_file(int dir_fd, const char *path, char *next)
{
    int fd = sys_openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    if (fd == -ENOENT || fd == -ENOTDIR)
        return ELF_PROBE_OK; /* exec will fail in the same way */
    if (fd < 0)
        return ELF_PROBE_UNREADABLE;
    struct stat st;
    int verdict = ELF_PROBE_UNREADABLE;
    if (sys_fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && !st.st_size) {
        verdict = ELF_PROBE_OK; /* a script without a line */
    } else if (S_ISREG(st.st_mode)) {
        struct image image = {.size = (uint64_t)st.st_size};
        void *map = sys_mmap(NULL, image.size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (!sys_is_error(map)) {
            int watching = watch_begin(map, image.size);
            image.bytes = map;
            if (image.size >= SELFMAG && bytes_equal(image.bytes, ELFMAG, SELFMAG))
                verdict = is_privileged(fd, &st) ? (int)ELF_PROBE_SETUID : (int)probe_elf(&image);
            else
                /* Neither ELF nor "#!": execvp gives it to /bin/sh. */
                verdict = script_interpreter(&image, next) == 0 ? -1 : ELF_PROBE_OK;
            watch_end(watching);
            sys_munmap(map, image.size);
        }
    }
    sys_close(fd);
    return verdict;
}

enum elf_probe elf_probe(int dir_fd, const char *path)
{
    char names[2][LINE_MAX_BYTES];
    for (int depth = 0; depth < INTERPRETERS_MAX; depth++) {
        int verdict = probe_file(dir_fd, path, names[depth & 1]);
        if (verdict >= 0)
            return (enum elf_probe)verdict;
        path = names[depth & 1];
        dir_fd = AT_FDCWD;
    }
    return ELF_PROBE_UNREADABLE;
}
