/* big_spawner [MIB] [posix_spawn|vfork|fork|all]: a parent of MIB (600) MiB that starts `true` three times each way.
 *
 * The children are tiny; what ru_maxrss says of them is the parent's size. */
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

extern char **environ;
static char *const arguments[] = {"true", NULL};

static pid_t by_posix_spawn(void)
{
    pid_t pid;
    return posix_spawnp(&pid, "true", NULL, NULL, arguments, environ) ? -1 : pid;
}

static pid_t by_vfork(void)
{
    pid_t pid = vfork();
    if (!pid) {
        execvp("true", arguments);
        _exit(EXIT_UNPREPARED);
    }
    return pid;
}

static pid_t by_fork(void)
{
    pid_t pid = fork();
    if (!pid) {
        execvp("true", arguments);
        _exit(EXIT_UNPREPARED);
    }
    return pid;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        pid_t (*start)(void);
    } ways[] = {{"posix_spawn", by_posix_spawn}, {"vfork", by_vfork}, {"fork", by_fork}};
    size_t size = number_argument(argc, argv, 1, 600) << 20;
    const char *wanted = word_argument(argc, argv, 2, "all");
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        unprepared("mmap");
    memset(memory, 1, size);
    for (size_t way = 0; way < 3; way++) {
        if (strcmp(wanted, "all") && strcmp(wanted, ways[way].name))
            continue;
        int sum = 0;
        for (int i = 0; i < 3; i++) {
            int status = -1;
            pid_t pid = ways[way].start();
            sum += pid < 0 || waitpid(pid, &status, 0) != pid || status != 0;
        }
        printf("%s failed=%d\n", ways[way].name, sum);
    }
    return memory[size / 2] != 1;
}
