/* An ELF file that was opened for its symbols: mapping, libelf handle, identity, segments. */
#ifndef LAMELLA_SYMBOLS_ELF_FILE_H
#define LAMELLA_SYMBOLS_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libelf.h>

#include "base/array.h"
#include "base/error.h"
#include "base/file.h"

enum { BUILD_ID_MAX = 32 };

/* size 0: there is none. */
struct build_id {
    uint8_t size;
    uint8_t bytes[BUILD_ID_MAX];
};

bool build_id_equal(const struct build_id *a,
                    const struct build_id *b); /* two absent ones are not equal */

struct elf_segment { /* PT_LOAD */
    uint64_t address;
    uint64_t file_offset;
    uint64_t file_bytes;
    uint64_t memory_bytes;
    bool is_executable;
};

struct elf_section { /* one with SHF_ALLOC and SHF_EXECINSTR */
    uint64_t address;
    uint64_t end;
    size_t index;
};

/* Everything stays valid and unchanged until elf_file_close(). */
struct elf_file {
    Elf *elf;
    struct file_map map;    /* empty for a file in memory */
    void *owned;            /* memory of an image that was made for us; mem_free */
    char *name;             /* for messages */
    uint64_t device, inode; /* 0 for a file in memory */
    int64_t modified_ns;    /* since 1970; 0 for a file in memory */
    uint16_t machine;       /* e_machine */
    bool is_64;
    struct build_id build_id;
    LAM_ARRAY(struct elf_segment) segments;
    LAM_ARRAY(struct elf_section) code; /* sorted by address */
};

/* Opens an ELF file, or an image in memory, which is copied (the segments of a vdso lie where their
 * file offsets say, so its memory is its file). Codes as file_map(); CORRUPT for what is not ELF,
 * is cut short, or is an archive. A file whose section headers are damaged or absent opens and has
 * no symbols.
 * Threads: different files may be used by different threads at once, one file by one thread at a
 * time. */
int elf_file_open(struct elf_file **file, const char *path, struct lam_error *err);
int elf_file_open_memory(struct elf_file **file, const void *image, size_t size_bytes,
                         const char *name, struct lam_error *err);
/* Takes over a handle of libelf's own, in any case. Codes as above without those of files. */
int elf_file_adopt(struct elf_file **file, Elf *elf, const char *name);
void elf_file_close(struct elf_file **file); /* NULL and *file NULL are fine */

/* The file's own virtual address of a byte at a file offset, as unwinders and importers that know
 * mappings have it. False when no segment holds it. */
bool elf_file_address(const struct elf_file *file, uint64_t file_offset, uint64_t *address);

/* The executable section that holds an address; NULL when none does. */
const struct elf_section *elf_file_code_at(const struct elf_file *file, uint64_t address);

/* The first section of that name, or NULL. */
Elf_Scn *elf_file_section(const struct elf_file *file, const char *name);

/* The address of the first segment: what differs between a file and its separate debug file when
 * one was prelinked. */
uint64_t elf_file_base(const struct elf_file *file);

/* The bytes of a section in place: false when it has none, lies outside the file, or is
 * compressed. */
bool elf_file_bytes(const struct elf_file *file, Elf_Scn *section, const uint8_t **bytes,
                    size_t *size_bytes);

#endif
