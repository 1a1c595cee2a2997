/* Where the symbols of a stripped file are: separate debug files, and the compressed table that
 * some distributions embed. Nothing is fetched from a network. */
#ifndef LAMELLA_SYMBOLS_DEBUG_FILE_H
#define LAMELLA_SYMBOLS_DEBUG_FILE_H

#include "base/error.h"
#include "symbols/elf_file.h"

#define DEBUG_FILE_ROOT "/usr/lib/debug"

/* Opens ROOT/.build-id/ab/cdef….debug when it has that very build id. root NULL is DEBUG_FILE_ROOT.
 * Returns LAM_OK, LAM_E_NOTFOUND, or LAM_E_NOMEM. */
int debug_file_by_build_id(struct elf_file **debug, const struct build_id *build_id,
                           const char *root);

/* Opens the debug file that belongs to a file: by its build id, else by the name in its
 * .gnu_debuglink, beside the file, in .debug/ beside it, or under ROOT and the file's directory. A
 * linked file must have the same build id, or, where one of the two has none, the checksum that the
 * link gives.
 * path   of the file, for the places to look at
 * Returns as debug_file_by_build_id(). */
int debug_file_find(struct elf_file **debug, const struct elf_file *file, const char *path,
                    const char *root);

/* Opens the file inside .gnu_debugdata (xz, at most 256 MiB unpacked): a .symtab with what .dynsym
 * has not.
 * Returns LAM_OK, LAM_E_NOTFOUND when there is none or it is damaged, or LAM_E_NOMEM. */
int debug_file_embedded(struct elf_file **debug, const struct elf_file *file);

#endif
