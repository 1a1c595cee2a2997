/* The page of code that the kernel maps into every process. */
#ifndef LAMELLA_SYMBOLS_VDSO_IMAGE_H
#define LAMELLA_SYMBOLS_VDSO_IMAGE_H

#include "base/error.h"
#include "symbols/elf_file.h"

/* Opens a copy of this process's own vdso, which is the running kernel's. NOTFOUND when there is
 * none; NOMEM. */
int vdso_image_open(struct elf_file **file);

#endif
