#include "symbols/debug_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <elfutils/libdwelf.h>
#include <zlib.h>

#include "base/cursor.h"
#include "base/memory.h"
#include "base/strbuf.h"

enum { EMBEDDED_MAX_BYTES = 256 << 20 };

/* Opens a candidate; NOTFOUND for one that is not there or no ELF file. */
static int open_candidate(struct elf_file **debug, const char *path)
{
    if (!path)
        return LAM_E_NOMEM;
    int rc = elf_file_open(debug, path, NULL);
    return rc == LAM_OK || rc == LAM_E_NOMEM ? rc : LAM_E_NOTFOUND;
}

int debug_file_by_build_id(struct elf_file **debug, const struct build_id *build_id, const char *root)
{
    if (build_id->size < 2)
        return LAM_E_NOTFOUND;
    struct strbuf path = {0};
    strbuf_addf(&path, "%s/.build-id/%02x/", root ? root : DEBUG_FILE_ROOT, build_id->bytes[0]);
    for (size_t i = 1; i < build_id->size; i++)
        strbuf_addf(&path, "%02x", build_id->bytes[i]);
    strbuf_add(&path, ".debug");
    struct elf_file *found = NULL;
    int rc = strbuf_ok(&path) ? open_candidate(&found, path.data) : LAM_E_NOMEM;
    strbuf_free(&path);
    if (rc == LAM_OK && !build_id_equal(&found->build_id, build_id)) {
        elf_file_close(&found);
        rc = LAM_E_NOTFOUND;
    }
    if (rc == LAM_OK)
        *debug = found;
    return rc;
}

struct debug_link {
    const char *name;
    uint32_t crc;
};

/* .gnu_debuglink: a name ended by NUL, padding to 4 bytes, the CRC-32 of the file. */
static bool read_link(const struct elf_file *file, struct debug_link *link)
{
    const uint8_t *bytes;
    size_t length, name_length;
    if (!elf_file_bytes(file, elf_file_section(file, ".gnu_debuglink"), &bytes, &length))
        return false;
    struct cursor cur = cursor_over(bytes, length);
    const char *ident = elf_getident(file->elf, NULL);
    cur.is_big = ident && ident[EI_DATA] == ELFDATA2MSB;
    link->name = cursor_str(&cur, &name_length);
    cursor_seek(&cur, (cursor_offset(&cur) + 3) & ~(uint64_t)3);
    link->crc = cursor_u32(&cur);
    return !cursor_failed(&cur) && name_length > 0 && !strchr(link->name, '/');
}

static bool is_linked(const struct elf_file *debug, const struct elf_file *file, uint32_t crc)
{
    if (debug->inode == file->inode && debug->device == file->device)
        return false; /* the link names the file itself */
    if (debug->build_id.size > 0 && file->build_id.size > 0)
        return build_id_equal(&debug->build_id, &file->build_id);
    uLong sum = crc32(0, NULL, 0);
    const uint8_t *at = debug->map.data;
    for (size_t left = debug->map.size_bytes; left > 0;) {
        uInt part = left > (1u << 30) ? 1u << 30 : (uInt)left;
        sum = crc32(sum, at, part);
        at += part;
        left -= part;
    }
    return sum == crc;
}

/* The directory of a path without links, for mem_free(); what the path says when it cannot be
 * followed. */
static char *directory_of(const char *path)
{
    char *resolved = realpath(path, NULL);
    char *directory = path_dir(resolved ? resolved : path);
    free(resolved);
    return directory;
}

static int find_linked(struct elf_file **debug, const struct elf_file *file,
                       const struct debug_link *link, const char *directory, const char *root)
{
    static const char *const places[] = {"%s%s/%s", "%s%s/.debug/%s", "%s%s/%s"};
    const char *prefixes[] = {"", "", root ? root : DEBUG_FILE_ROOT};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct strbuf path = {0};
        strbuf_addf(&path, places[i], prefixes[i], directory, link->name);
        struct elf_file *found = NULL;
        int rc = strbuf_ok(&path) ? open_candidate(&found, path.data) : LAM_E_NOMEM;
        strbuf_free(&path);
        if (rc == LAM_E_NOMEM)
            return rc;
        if (rc == LAM_OK && is_linked(found, file, link->crc)) {
            *debug = found;
            return LAM_OK;
        }
        elf_file_close(&found);
    }
    return LAM_E_NOTFOUND;
}

int debug_file_find(struct elf_file **debug, const struct elf_file *file, const char *path,
                    const char *root)
{
    int rc = debug_file_by_build_id(debug, &file->build_id, root);
    struct debug_link link;
    if (rc != LAM_E_NOTFOUND || !read_link(file, &link))
        return rc;
    char *directory = directory_of(path);
    if (!directory)
        return LAM_E_NOMEM;
    rc = find_linked(debug, file, &link, directory, root);
    mem_free(directory);
    return rc;
}

static uint64_t xz_number(struct cursor *cur)
{
    return cursor_uleb(cur); /* the same coding */
}

/* What an xz file says it unpacks to, from the index at its end; UINT64_MAX when it does not
 * say. */
static uint64_t xz_unpacked_bytes(const uint8_t *bytes, size_t length)
{
    if (length < 32 || memcmp(bytes + length - 2, "YZ", 2) != 0)
        return UINT64_MAX;
    struct cursor footer = cursor_over(bytes + length - 8, 4);
    uint64_t index_bytes = ((uint64_t)cursor_u32(&footer) + 1) * 4;
    if (index_bytes > length - 24)
        return UINT64_MAX;
    struct cursor index = cursor_over(bytes + length - 12 - index_bytes, index_bytes);
    if (cursor_u8(&index) != 0)
        return UINT64_MAX;
    uint64_t total = 0;
    for (uint64_t records = xz_number(&index); records > 0 && !cursor_failed(&index); records--) {
        xz_number(&index); /* packed size */
        uint64_t unpacked = xz_number(&index);
        if (__builtin_add_overflow(total, unpacked, &total))
            return UINT64_MAX;
    }
    return cursor_failed(&index) ? UINT64_MAX : total;
}

int debug_file_embedded(struct elf_file **debug, const struct elf_file *file)
{
    const uint8_t *bytes;
    size_t length;
    if (!elf_file_bytes(file, elf_file_section(file, ".gnu_debugdata"), &bytes, &length))
        return LAM_E_NOTFOUND;
    if (xz_unpacked_bytes(bytes, length) > EMBEDDED_MAX_BYTES)
        return LAM_E_NOTFOUND;
    /* libdw unpacks what it is given as a file; one in memory will do. */
    int fd = memfd_create("gnu_debugdata", MFD_CLOEXEC);
    if (fd < 0)
        return LAM_E_NOTFOUND;
    Elf *elf = NULL;
    if (file_write_fd(fd, bytes, length, "gnu_debugdata", NULL) == LAM_OK)
        elf = dwelf_elf_begin(fd);
    close(fd);
    return elf ? elf_file_adopt(debug, elf, file->name) : LAM_E_NOTFOUND;
}
