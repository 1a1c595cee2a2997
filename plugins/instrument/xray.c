/* xray.c: the XRay runtime is a static part of the program and hides its functions, so that a library finds them in the program's
 * symbol table only. (A stripped program has none: then nothing is recorded.) */
#include "xray.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

/* xray/xray_interface.h */
enum { XRAY_ENTRY = 0, XRAY_EXIT = 1, XRAY_TAIL = 2, XRAY_ARGS_ENTRY = 3 };

static struct runtime {
    int (*set_handler)(void (*handler)(int32_t function, int type));
    int (*patch)(void);
    size_t (*max_function_id)(void);
    uintptr_t (*function_address)(int32_t function); /* under a lock: not for a handler */
} runtime;

static void (*report)(uintptr_t function, bool is_exit, const char *sp);
static uintptr_t *addresses; /* by function id, which begin at 1 */
static size_t functions;

static inline void tell(int32_t function, int type, const char *sp)
{
    if ((uint32_t)function < functions && addresses[function])
        report(addresses[function], type == XRAY_EXIT || type == XRAY_TAIL, sp);
}

#ifdef __x86_64__
/* The runtime keeps the lower halves of the vector registers only, while arguments and results may lie in the whole of them. If
 * their upper parts are in use they are put back here: whatever we call (memcpy) may clear them. */
enum {
    STATE_VECTORS = 0xe4, /* AVX; AVX-512 */
    STATE_BYTES = 2816,   /* of all up to these, and more */
    STATE_HEADER = 512,   /* is read before it is written */
    LEAF_STATE = 13,
    HAS_IN_USE = 1 << 2,
};
static bool tells_use; /* xgetbv(1) */

__attribute__((target("xsave"), noinline)) static void tell_aside(int32_t function, int type,
                                                                  const char *sp, uint32_t state)
{
    _Alignas(64) uint8_t area[STATE_BYTES];
    memset(area + STATE_HEADER, 0, 64);
    _xsave64(area, state);
    tell(function, type, sp);
    _xrstor64(area, state);
}

__attribute__((target("xsave"))) static void on_xray(int32_t function, int type)
{
    const char *sp = __builtin_frame_address(0); /* as far below the function's own each time */
    uint32_t state = tells_use ? (uint32_t)_xgetbv(1) & STATE_VECTORS : 0;
    if (__builtin_expect(state != 0, 0))
        tell_aside(function, type, sp, state);
    else
        tell(function, type, sp);
}

static void look_at_processor(void)
{
    uint32_t a = 0, b, c, d;
    if (__builtin_cpu_supports("avx") && __get_cpuid_count(LEAF_STATE, 1, &a, &b, &c, &d))
        tells_use = a & HAS_IN_USE;
}
#else
static void on_xray(int32_t function, int type)
{
    tell(function, type, __builtin_frame_address(0));
}

static void look_at_processor(void)
{
}
#endif

/* ---- the program's own file ---- */

struct image {
    const char *bytes;
    size_t size;
};

/* NULL when it is not all there. */
static const void *at(const struct image *image, uint64_t offset, uint64_t size)
{
    return offset <= image->size && size <= image->size - offset ? image->bytes + offset : NULL;
}

static const char *text_at(const struct image *image, const ElfW(Shdr) * strings, uint64_t offset)
{
    const char *text =
        offset < strings->sh_size ? at(image, strings->sh_offset, strings->sh_size) : NULL;
    return text && memchr(text + offset, 0, strings->sh_size - offset) ? text + offset : "";
}

static void take(uintptr_t base, const char *name, const ElfW(Sym) * symbol)
{
    uintptr_t place = base + symbol->st_value;
    if (!symbol->st_shndx)
        return;
    if (strcmp(name, "__xray_set_handler") == 0)
        memcpy(&runtime.set_handler, &place, sizeof place);
    else if (strcmp(name, "__xray_patch") == 0)
        memcpy(&runtime.patch, &place, sizeof place);
    else if (strcmp(name, "__xray_max_function_id") == 0)
        memcpy(&runtime.max_function_id, &place, sizeof place);
    else if (strcmp(name, "__xray_function_address") == 0)
        memcpy(&runtime.function_address, &place, sizeof place);
}

static void find_runtime(const struct image *image, uintptr_t base)
{
    const ElfW(Ehdr) *header = at(image, 0, sizeof *header);
    if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return;
    const ElfW(Shdr) *sections =
        at(image, header->e_shoff, (uint64_t)header->e_shnum * sizeof *sections);
    if (!sections || header->e_shstrndx >= header->e_shnum)
        return;
    const ElfW(Shdr) *names = &sections[header->e_shstrndx], *symbols = NULL;
    bool is_instrumented = false;
    for (int i = 0; i < header->e_shnum; i++) {
        if (sections[i].sh_type == SHT_SYMTAB && sections[i].sh_link < header->e_shnum)
            symbols = &sections[i];
        is_instrumented |= strcmp(text_at(image, names, sections[i].sh_name), "xray_instr_map") == 0;
    }
    const ElfW(Sym) *table =
        is_instrumented && symbols ? at(image, symbols->sh_offset, symbols->sh_size) : NULL;
    for (size_t i = 0; table && i < symbols->sh_size / sizeof *table; i++)
        take(base, text_at(image, &sections[symbols->sh_link], table[i].st_name), &table[i]);
}

/* How far the program lies from the addresses in its file. */
static uintptr_t program_base(void)
{
    const ElfW(Phdr) *headers = (const void *)getauxval(AT_PHDR); // NOLINT(performance-no-int-to-ptr)
    unsigned long count = getauxval(AT_PHNUM);
    for (unsigned long i = 0; headers && i < count; i++)
        if (headers[i].p_type == PT_PHDR)
            return (uintptr_t)headers - headers[i].p_vaddr;
    return 0;
}

static bool list_functions(void)
{
    size_t count = runtime.max_function_id() + 1;
    void *map = mmap(NULL, count * sizeof *addresses, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return false;
    addresses = map;
    for (size_t id = 1; id < count; id++)
        addresses[id] = runtime.function_address((int32_t)id);
    functions = count;
    return true;
}

void xray_begin(void (*on_call)(uintptr_t function, bool is_exit, const char *sp))
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && st.st_size > 0) {
        struct image image = {.size = (size_t)st.st_size};
        void *map = mmap(NULL, image.size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map != MAP_FAILED) {
            image.bytes = map;
            find_runtime(&image, program_base());
            munmap(map, image.size);
        }
    }
    close(fd);
    report = on_call;
    if (runtime.set_handler && runtime.patch && runtime.max_function_id &&
        runtime.function_address && list_functions()) {
        look_at_processor();
        runtime.set_handler(on_xray);
        runtime.patch();
    }
}
