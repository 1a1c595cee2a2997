/* The first byte chooses the parser; the rest is the file under /proc. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "session/proc_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse(int which, const char *text, size_t length)
{
    struct proc_stat stat;
    struct proc_cpu cpu;
    double load;
    uint64_t number;
    switch (which % 5) {
    case 0:
        /* What is accepted is within its bounds. */
        if (proc_parse_stat(text, length, &stat) == LAM_OK &&
            (stat.comm_bytes > PROC_COMM_BYTES || stat.pid > INT32_MAX))
            abort();
        break;
    case 1:
        (void)proc_parse_cpu(text, length, &cpu);
        break;
    case 2:
        (void)proc_parse_load(text, length, &load);
        break;
    case 3:
        (void)proc_parse_pressure(text, length, &number);
        break;
    default:
        (void)proc_parse_meminfo(text, length, "MemTotal", &number);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    char *copy = malloc(size); /* of the exact size, so that a sanitizer sees a byte too far */
    if (copy) {
        memcpy(copy, data + 1, size - 1);
        parse(data[0], copy, size - 1);
    }
    free(copy);
    return 0;
}
