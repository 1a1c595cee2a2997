/* exec_chain [STEP] [LAST]: becomes itself again and again, each time by another member of the exec family.
 *
 * Step N burns 20 ms in a function of its own and prints its line; all steps are one pid and LAST+1 (9) programs. */
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "spin.h"

extern char **environ;

#define STEP_FUNCTION(n)                               \
    __attribute__((noinline)) void chain_step##n(void) \
    {                                                  \
        spin_ms(20);                                   \
        __asm__ volatile("" ::"i"(n));                 \
    }
STEP_FUNCTION(0)
STEP_FUNCTION(1)
STEP_FUNCTION(2)
STEP_FUNCTION(3)
STEP_FUNCTION(4)
STEP_FUNCTION(5)
STEP_FUNCTION(6)
STEP_FUNCTION(7)
STEP_FUNCTION(8)
STEP_FUNCTION(9)

static void (*const step_functions[])(void) = {
    chain_step0, chain_step1, chain_step2, chain_step3, chain_step4,
    chain_step5, chain_step6, chain_step7, chain_step8, chain_step9,
};
static const char *const names[] = {"execve", "execv",  "execvp",  "execvpe",  "execl",
                                    "execlp", "execle", "fexecve", "execveat", "syscall"};

static void become(unsigned long how, const char *path, char **next)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    switch (how) {
    case 0:
        execve(path, next, environ);
        break;
    case 1:
        execv(path, next);
        break;
    case 2:
        execvp(path, next);
        break;
    case 3:
        execvpe(path, next, environ);
        break;
    case 4:
        execl(path, next[0], next[1], next[2], next[3], (char *)NULL);
        break;
    case 5:
        execlp(path, next[0], next[1], next[2], next[3], (char *)NULL);
        break;
    case 6:
        execle(path, next[0], next[1], next[2], next[3], (char *)NULL, environ);
        break;
    case 7:
        fexecve(file, next, environ);
        break;
    case 8:
        execveat(file, "", next, environ, AT_EMPTY_PATH);
        break;
    default:
        syscall(SYS_execve, path, next, environ);
        break;
    }
    unprepared(names[how]);
}

int main(int argc, char **argv)
{
    unsigned long step = number_argument(argc, argv, 1, 0);
    unsigned long last = number_argument(argc, argv, 2, 9);
    unsigned long first_pid = number_argument(argc, argv, 3, (unsigned long)getpid());
    char path[4096];
    char words[3][32];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length < 0 || last > 9 || step > last)
        return EXIT_UNPREPARED;
    path[length] = 0;
    step_functions[step]();
    printf("step %lu same-pid=%d%s%s\n", step, first_pid == (unsigned long)getpid(),
           step < last ? " next by " : "", step < last ? names[step] : "");
    fflush(stdout);
    if (step == last)
        return 0;
    snprintf(words[0], sizeof words[0], "%lu", step + 1);
    snprintf(words[1], sizeof words[1], "%lu", last);
    snprintf(words[2], sizeof words[2], "%lu", first_pid);
    char *next[] = {argv[0], words[0], words[1], words[2], NULL};
    become(step, path, next);
}
