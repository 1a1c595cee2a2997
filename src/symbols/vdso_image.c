#include "symbols/vdso_image.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>

enum { VDSO_MAX_BYTES = 1 << 20 };

/* Where the mapping that starts at `start` ends; 0 when it is not found or has no bounds that make
 * sense. */
static uintptr_t mapping_end(uintptr_t start)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    uintptr_t end = 0;
    while (maps && !end && fgets(line, sizeof line, maps)) {
        char *behind;
        uintptr_t low = strtoul(line, &behind, 16);
        uintptr_t high = *behind == '-' ? strtoul(behind + 1, NULL, 16) : 0;
        if (low == start && high > low && high - low <= VDSO_MAX_BYTES)
            end = high;
    }
    if (maps)
        fclose(maps);
    return end;
}

int vdso_image_open(struct elf_file **file)
{
    uintptr_t start = getauxval(AT_SYSINFO_EHDR);
    uintptr_t end = start ? mapping_end(start) : 0;
    if (!end)
        return LAM_E_NOTFOUND;
    int rc = elf_file_open_memory(file, (const void *)start, end - start, "[vdso]", NULL);
    return rc == LAM_OK || rc == LAM_E_NOMEM ? rc : LAM_E_NOTFOUND;
}
