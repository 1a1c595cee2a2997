#include "session/program_check.h"

#include <elf.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "stream/layout.h"

#if defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
#define OWN_MACHINE EM_X86_64
#endif

enum { SCRIPT_DEPTH = 5 }; /* as the kernel: interpreters of interpreters */

static const struct program_verdict sampled = {STREAM_UNSAMPLED_NO, false, ""};

char *program_find(const char *command)
{
    if (strchr(command, '/'))
        return path_exists(command) ? mem_strdup(command) : NULL;
    const char *path = getenv("PATH");
    for (const char *at = path ? path : "/bin:/usr/bin"; at;) {
        const char *end = strchrnul(at, ':');
        struct strbuf buf = {0};
        if (end > at) {
            strbuf_add_bytes(&buf, at, (size_t)(end - at));
            strbuf_add_char(&buf, '/');
        }
        strbuf_add(&buf, command);
        char *file = strbuf_take(&buf, NULL);
        if (file && access(file, X_OK) == 0 && !path_is_dir(file))
            return file;
        mem_free(file);
        at = *end ? end + 1 : NULL;
    }
    return NULL;
}

/* A range of the file, or NULL when it is not all there. */
static const uint8_t *bytes_at(const struct file_map *map, uint64_t offset, uint64_t count)
{
    if (offset > map->size_bytes || count > map->size_bytes - offset)
        return NULL;
    return map->data + offset;
}

static bool contains(const uint8_t *data, size_t length, const char *word)
{
    return memmem(data, length, word, strlen(word)) != NULL;
}

/* Names that the dynamic loader will look for or that the program exports. */
static bool names_sanitizer(const struct file_map *map, const Elf64_Ehdr *head)
{
    for (unsigned i = 0; i < head->e_shnum; i++) {
        Elf64_Shdr section;
        const uint8_t *at =
            bytes_at(map, head->e_shoff + (uint64_t)i * sizeof section, sizeof section);
        if (!at)
            return false;
        memcpy(&section, at, sizeof section);
        if (section.sh_type != SHT_STRTAB || !(section.sh_flags & SHF_ALLOC))
            continue;
        const uint8_t *names = bytes_at(map, section.sh_offset, section.sh_size);
        if (names && (contains(names, section.sh_size, "__asan_init") ||
                      contains(names, section.sh_size, "libasan.so")))
            return true;
    }
    return false;
}

/* A Go program that is linked dynamically has cgo in it; its runtime takes any SIGTRAP for its death. */
static bool is_go(const struct file_map *map, const Elf64_Ehdr *head)
{
    if (head->e_shstrndx >= head->e_shnum)
        return false;
    Elf64_Shdr section;
    const uint8_t *at =
        bytes_at(map, head->e_shoff + (uint64_t)head->e_shstrndx * sizeof section, sizeof section);
    if (!at)
        return false;
    memcpy(&section, at, sizeof section);
    const uint8_t *names = bytes_at(map, section.sh_offset, section.sh_size);
    return names && contains(names, section.sh_size, ".go.buildinfo");
}

static struct program_verdict check_elf(const struct file_map *map)
{
    Elf64_Ehdr head;
    if (map->data[EI_CLASS] != ELFCLASS64 || map->data[EI_DATA] != ELFDATA2LSB ||
        map->size_bytes < sizeof head)
        return (struct program_verdict){STREAM_UNSAMPLED_CLASS, true,
                                        "a program for another kind of machine"};
    memcpy(&head, map->data, sizeof head);
    if (head.e_machine != OWN_MACHINE || head.e_phentsize != sizeof(Elf64_Phdr))
        return (struct program_verdict){STREAM_UNSAMPLED_CLASS, true,
                                        "a program for another kind of machine"};
    const char *loader = NULL;
    size_t loader_bytes = 0;
    for (unsigned i = 0; i < head.e_phnum; i++) {
        Elf64_Phdr segment;
        const uint8_t *at =
            bytes_at(map, head.e_phoff + (uint64_t)i * sizeof segment, sizeof segment);
        if (!at)
            break;
        memcpy(&segment, at, sizeof segment);
        if (segment.p_type == PT_INTERP && (at = bytes_at(map, segment.p_offset, segment.p_filesz))) {
            loader = (const char *)at;
            loader_bytes = segment.p_filesz;
        }
    }
    if (!loader)
        return (struct program_verdict){STREAM_UNSAMPLED_STATIC, false, "statically linked"};
    if (memmem(loader, loader_bytes, "ld-musl", 7))
        return (struct program_verdict){STREAM_UNSAMPLED_LIBC, true, "not linked against glibc"};
    if (names_sanitizer(map, &head))
        return (struct program_verdict){STREAM_UNSAMPLED_ASAN, true,
                                        "built with the address sanitizer"};
    if (is_go(map, &head))
        return (struct program_verdict){STREAM_UNSAMPLED_CGO, true, "a Go program with C in it"};
    return sampled;
}

static bool gains_privilege(const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return false;
    if ((st.st_mode & S_ISUID) && st.st_uid != geteuid())
        return true;
    if ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) && st.st_gid != getegid())
        return true;
    return getxattr(path, "security.capability", NULL, 0) > 0;
}

/* The interpreter in a #! line, for mem_free(); NULL when there is none. */
static char *script_interpreter(const struct file_map *map)
{
    const char *text = (const char *)map->data;
    size_t length = map->size_bytes < 256 ? map->size_bytes : 256;
    const char *stop = memchr(text, '\n', length);
    size_t at = 2, end = stop ? (size_t)(stop - text) : length;
    while (at < end && (text[at] == ' ' || text[at] == '\t'))
        at++;
    size_t from = at;
    while (at < end && text[at] != ' ' && text[at] != '\t' && text[at] != '\0')
        at++;
    return at > from ? mem_strndup(text + from, at - from) : NULL;
}

static struct program_verdict check_depth(const char *path, int depth)
{
    struct file_map map = {0};
    /* The loader drops an agent named with a slash by itself where privilege is gained; nothing need be changed. */
    if (gains_privilege(path))
        return (struct program_verdict){STREAM_UNSAMPLED_SETUID, false,
                                        "gains privilege when it starts (setuid)"};
    struct stat st;
    if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || file_map(path, &map, NULL) < 0)
        return (struct program_verdict){STREAM_UNSAMPLED_UNREADABLE, false,
                                        "its file cannot be read"};
    struct program_verdict verdict = sampled; /* text without a #! line goes to /bin/sh */
    if (map.size_bytes >= EI_NIDENT && memcmp(map.data, ELFMAG, SELFMAG) == 0) {
        verdict = check_elf(&map);
    } else if (map.size_bytes > 2 && memcmp(map.data, "#!", 2) == 0 && depth < SCRIPT_DEPTH) {
        char *interpreter = script_interpreter(&map);
        if (interpreter)
            verdict = check_depth(interpreter, depth + 1);
        mem_free(interpreter);
    }
    file_unmap(&map);
    return verdict;
}

struct program_verdict program_check_file(const char *path)
{
    return check_depth(path, 0);
}

struct program_verdict program_check(const char *command)
{
    char *path = program_find(command);
    if (!path)
        return sampled; /* starting it will fail and say why */
    struct program_verdict verdict = program_check_file(path);
    mem_free(path);
    return verdict;
}
