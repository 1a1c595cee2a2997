/* Function symbols of ELF files into a symbol table. */
#ifndef LAMELLA_SYMBOLS_ELF_SYMBOLS_H
#define LAMELLA_SYMBOLS_ELF_SYMBOLS_H

#include "base/error.h"
#include "symbols/elf_file.h"
#include "symbols/symbol_table.h"

/* Adds what names code in .symtab and .dynsym: functions, indirect functions and labels that lie in
 * an executable section. Those without a size reach to the next symbol of their section, but only
 * in a file that has a .symtab: elsewhere what follows may be anything, and they cover their first
 * byte.
 * shift   added to every address (a separate debug file of a prelinked one)
 * Names point into the file, which must outlive the table. What is damaged is left out.
 * Returns LAM_OK or LAM_E_NOMEM. */
int elf_symbols_add(struct symbol_table *table, struct elf_file *file, uint64_t shift);

/* Whether the file has a .symtab: not stripped. */
bool elf_symbols_complete(struct elf_file *file);

/* Adds the stubs of the procedure linkage tables (.plt, .plt.sec, .plt.got and their kin) as
 * "foo@plt", by the relocation of the slot that each jumps through. x86-64 by decoding; other
 * machines where the table has one stub a relocation. The part that starts the dynamic linker is
 * ".plt". Names live in the table. functions  the file's own, finished: names for stubs of
 * functions that are chosen at run time (IRELATIVE)
 * Returns LAM_OK or LAM_E_NOMEM. */
int elf_plt_add(struct symbol_table *table, const struct symbol_table *functions,
                struct elf_file *file);

#endif
