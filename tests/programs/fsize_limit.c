/* fsize_limit [KIB]: lowers its file-size limit to KIB (512) and writes beyond it, with and without a handler of its own. */
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "spin.h"

static volatile sig_atomic_t hits;

static void count(int number)
{
    (void)number;
    hits++;
}

int main(int argc, char **argv)
{
    rlim_t size = number_argument(argc, argv, 1, 512) * 1024;
    struct rlimit limit = {.rlim_cur = size, .rlim_max = size};
    FILE *file = tmpfile();
    static char block[4096];
    spin_ms(50);
    if (!file || setrlimit(RLIMIT_FSIZE, &limit))
        unprepared("fsize_limit");
    spin_ms(300);
    signal(SIGXFSZ, count);
    rlim_t written = 0;
    while (write(fileno(file), block, sizeof block) == (ssize_t)sizeof block)
        written += sizeof block;
    int code = errno;
    spin_ms(100);
    signal(SIGXFSZ, SIG_IGN);
    ssize_t ignored = write(fileno(file), block, sizeof block);
    spin_ms(50);
    printf("all-written=%d EFBIG=%d hits=%d ignored=%d\n", written == size, code == EFBIG,
           (int)hits, ignored < 0 && errno == EFBIG);
    return 0;
}
