#include "symbols/elf_file.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <gelf.h>

#include "base/memory.h"

enum { CODE_SECTIONS_MAX = 4096 }; /* a damaged file cannot make us keep more */

bool build_id_equal(const struct build_id *a, const struct build_id *b)
{
    return a->size > 0 && a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

static void init_libelf(void)
{
    elf_version(EV_CURRENT);
}

static void note_build_id(struct build_id *id, Elf_Data *data)
{
    GElf_Nhdr note;
    size_t offset = 0, name, desc;
    while (id->size == 0 && data && (offset = gelf_getnote(data, offset, &note, &name, &desc)) > 0) {
        if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 || note.n_descsz == 0 ||
            note.n_descsz > BUILD_ID_MAX || memcmp((const char *)data->d_buf + name, "GNU", 4) != 0)
            continue;
        memcpy(id->bytes, (const char *)data->d_buf + desc, note.n_descsz);
        id->size = (uint8_t)note.n_descsz;
    }
}

/* The notes of a separate debug file can only be found by its section headers, those of a stripped
 * file sometimes only by its program headers. */
static void read_build_id(struct elf_file *file)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    while (file->build_id.size == 0 && (section = elf_nextscn(file->elf, section)))
        if (gelf_getshdr(section, &header) && header.sh_type == SHT_NOTE)
            note_build_id(&file->build_id, elf_getdata(section, NULL));
    size_t count = 0;
    if (file->build_id.size > 0 || elf_getphdrnum(file->elf, &count) < 0)
        return;
    for (size_t i = 0; i < count && i < UINT16_MAX && file->build_id.size == 0; i++) {
        GElf_Phdr segment;
        if (!gelf_getphdr(file->elf, (int)i, &segment) || segment.p_type != PT_NOTE)
            continue;
        note_build_id(&file->build_id,
                      elf_getdata_rawchunk(file->elf, (int64_t)segment.p_offset, segment.p_filesz,
                                           segment.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR));
    }
}

static int read_segments(struct elf_file *file)
{
    size_t count = 0;
    if (elf_getphdrnum(file->elf, &count) < 0)
        return LAM_OK;
    for (size_t i = 0; i < count && i < UINT16_MAX; i++) {
        GElf_Phdr header;
        if (!gelf_getphdr(file->elf, (int)i, &header) || header.p_type != PT_LOAD)
            continue;
        struct elf_segment segment = {.address = header.p_vaddr,
                                      .file_offset = header.p_offset,
                                      .file_bytes = header.p_filesz,
                                      .memory_bytes = header.p_memsz,
                                      .is_executable = header.p_flags & PF_X};
        if (array_push(&file->segments, segment) < 0)
            return LAM_E_NOMEM;
    }
    return LAM_OK;
}

static int compare_sections(const void *left, const void *right)
{
    const struct elf_section *a = left, *b = right;
    return a->address < b->address ? -1 : a->address > b->address;
}

static int read_code_sections(struct elf_file *file)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    while ((section = elf_nextscn(file->elf, section)) && file->code.count < CODE_SECTIONS_MAX) {
        if (!gelf_getshdr(section, &header) || header.sh_size == 0)
            continue;
        if ((header.sh_flags & (SHF_ALLOC | SHF_EXECINSTR)) != (SHF_ALLOC | SHF_EXECINSTR))
            continue;
        uint64_t end;
        if (__builtin_add_overflow(header.sh_addr, header.sh_size, &end))
            continue;
        struct elf_section code = {
            .address = header.sh_addr, .end = end, .index = elf_ndxscn(section)};
        if (array_push(&file->code, code) < 0)
            return LAM_E_NOMEM;
    }
    array_sort(&file->code, compare_sections);
    return LAM_OK;
}

static int elf_file_describe(struct elf_file *file, struct lam_error *err)
{
    GElf_Ehdr header;
    if (!file->elf || elf_kind(file->elf) != ELF_K_ELF || !gelf_getehdr(file->elf, &header))
        return lam_error_set(err, LAM_E_CORRUPT, "%s: not an ELF file", file->name);
    file->machine = header.e_machine;
    file->is_64 = gelf_getclass(file->elf) == ELFCLASS64;
    int rc = read_segments(file);
    if (rc == LAM_OK)
        rc = read_code_sections(file);
    if (rc < 0)
        return lam_error_set(err, rc, "%s: out of memory", file->name);
    read_build_id(file);
    return LAM_OK;
}

/* image is ours and writable: libelf marks sections as unpacked in their headers, in place. */
static int elf_file_begin(struct elf_file *file, void *image, size_t size_bytes, struct lam_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_libelf);
    if (size_bytes >= SELFMAG && memcmp(image, ELFMAG, SELFMAG) == 0)
        file->elf = elf_memory(image, size_bytes);
    return elf_file_describe(file, err);
}

static struct elf_file *elf_file_new(const char *name)
{
    struct elf_file *file = mem_zalloc(1, sizeof *file);
    if (file && !(file->name = mem_strdup(name)))
        elf_file_close(&file);
    return file;
}

/* The file's bytes where libelf may write: its mapping is private, so no one else sees it. NULL
 * when memory is short. */
static void *writable_image(struct elf_file *file)
{
    uintptr_t image = (uintptr_t)file->map.data;
    if (!file->map.is_mapped || file->map.size_bytes == 0 ||
        mprotect((void *)image, file->map.size_bytes, PROT_READ | PROT_WRITE) == 0)
        return (void *)image;
    file->owned = mem_alloc(file->map.size_bytes);
    if (file->owned)
        memcpy(file->owned, file->map.data, file->map.size_bytes);
    return file->owned;
}

int elf_file_open(struct elf_file **out, const char *path, struct lam_error *err)
{
    struct elf_file *file = elf_file_new(path);
    if (!file)
        return lam_error_set(err, LAM_E_NOMEM, "%s: out of memory", path);
    struct stat status;
    int rc = file_map(path, &file->map, err);
    if (rc == LAM_OK && stat(path, &status) == 0) {
        file->device = status.st_dev;
        file->inode = status.st_ino;
        file->modified_ns = status.st_mtim.tv_sec * INT64_C(1000000000) + status.st_mtim.tv_nsec;
    }
    if (rc == LAM_OK) {
        void *image = writable_image(file);
        rc = image ? elf_file_begin(file, image, file->map.size_bytes, err)
                   : lam_error_set(err, LAM_E_NOMEM, "%s: out of memory", path);
    }
    if (rc < 0) {
        elf_file_close(&file);
        return rc;
    }
    *out = file;
    return LAM_OK;
}

int elf_file_open_memory(struct elf_file **out, const void *image, size_t size_bytes,
                         const char *name, struct lam_error *err)
{
    struct elf_file *file = elf_file_new(name);
    if (file)
        file->owned = mem_alloc(size_bytes + 1);
    if (!file || !file->owned) {
        elf_file_close(&file);
        return lam_error_set(err, LAM_E_NOMEM, "%s: out of memory", name);
    }
    memcpy(file->owned, image, size_bytes);
    int rc = elf_file_begin(file, file->owned, size_bytes, err);
    if (rc < 0) {
        elf_file_close(&file);
        return rc;
    }
    *out = file;
    return LAM_OK;
}

int elf_file_adopt(struct elf_file **out, Elf *elf, const char *name)
{
    struct elf_file *file = elf_file_new(name);
    if (!file) {
        elf_end(elf);
        return LAM_E_NOMEM;
    }
    file->elf = elf;
    int rc = elf_file_describe(file, NULL);
    if (rc < 0) {
        elf_file_close(&file);
        return rc;
    }
    *out = file;
    return LAM_OK;
}

void elf_file_close(struct elf_file **file)
{
    if (!file || !*file)
        return;
    elf_end((*file)->elf);
    file_unmap(&(*file)->map);
    array_free(&(*file)->segments);
    array_free(&(*file)->code);
    mem_free((*file)->owned);
    mem_free((*file)->name);
    mem_free(*file);
    *file = NULL;
}

bool elf_file_address(const struct elf_file *file, uint64_t file_offset, uint64_t *address)
{
    array_each(&file->segments, segment)
    {
        uint64_t into = file_offset - segment->file_offset;
        if (file_offset >= segment->file_offset && into < segment->file_bytes) {
            *address = segment->address + into;
            return true;
        }
    }
    return false;
}

const struct elf_section *elf_file_code_at(const struct elf_file *file, uint64_t address)
{
    size_t low = 0, high = file->code.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (file->code.items[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || address >= file->code.items[low - 1].end)
        return NULL;
    return &file->code.items[low - 1];
}

Elf_Scn *elf_file_section(const struct elf_file *file, const char *name)
{
    size_t names = 0;
    if (elf_getshdrstrndx(file->elf, &names) < 0)
        return NULL;
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    while ((section = elf_nextscn(file->elf, section))) {
        const char *its =
            gelf_getshdr(section, &header) ? elf_strptr(file->elf, names, header.sh_name) : NULL;
        if (its && strcmp(its, name) == 0)
            return section;
    }
    return NULL;
}

uint64_t elf_file_base(const struct elf_file *file)
{
    return file->segments.count ? file->segments.items[0].address : 0;
}

bool elf_file_bytes(const struct elf_file *file, Elf_Scn *section, const uint8_t **bytes,
                    size_t *size_bytes)
{
    GElf_Shdr header;
    (void)file;
    if (!section || !gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS ||
        (header.sh_flags & SHF_COMPRESSED))
        return false;
    Elf_Data *data = elf_rawdata(section, NULL);
    if (!data || !data->d_buf || data->d_size == 0)
        return false;
    *bytes = data->d_buf;
    *size_bytes = data->d_size;
    return true;
}
