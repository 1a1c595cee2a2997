/* close_all [close_range|closefrom|loop|dup2|cloexec|all]: closes or takes over every descriptor that could be somebody's.
 *
 * Prints what the program sees: how many descriptors there were to close, and which number a new file then gets. */
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/resource.h>
#include <unistd.h>

#include "spin.h"

static int next_file(void)
{
    int file = open("/dev/null", O_RDONLY);
    close(file);
    return file;
}

static void open_some(void)
{
    for (int i = 0; i < 3; i++)
        if (open("/dev/null", O_RDONLY) < 0)
            unprepared("/dev/null");
}

static int top_file(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur > 65536 ? 65536 : (int)limit.rlim_cur;
}

static int case_close_range(int argc, char **argv)
{
    (void)argc, (void)argv;
    open_some();
    int rc = close_range(3, ~0u, 0);
    spin_ms(50);
    printf("close_range: rc=%d next=%d\n", rc, next_file());
    return 0;
}

static int case_closefrom(int argc, char **argv)
{
    (void)argc, (void)argv;
    open_some();
    closefrom(3);
    spin_ms(50);
    printf("closefrom: next=%d\n", next_file());
    return 0;
}

static int case_loop(int argc, char **argv)
{
    (void)argc, (void)argv;
    closefrom(3);
    open_some();
    int closed = 0;
    for (int file = 3; file < top_file(); file++)
        closed += close(file) == 0;
    spin_ms(50);
    printf("loop: closed=%d next=%d\n", closed, next_file());
    return 0;
}

static int case_dup2(int argc, char **argv)
{
    (void)argc, (void)argv;
    closefrom(3);
    int source = open("/dev/null", O_RDONLY);
    int taken = 0;
    int top = top_file();
    for (int file = source + 1; file < top; file++)
        taken += dup2(source, file) == file;
    spin_ms(50);
    for (int file = source + 1; file < top; file++)
        taken -= close(file) == 0;
    spin_ms(50);
    close(source);
    printf("dup2: left=%d next=%d\n", taken, next_file());
    return 0;
}

static int case_cloexec(int argc, char **argv)
{
    (void)argc, (void)argv;
    closefrom(3);
    open_some();
    int rc = close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
    int marked = 0;
    for (int file = 3; file < 6; file++)
        marked += fcntl(file, F_GETFD) == FD_CLOEXEC;
    spin_ms(50);
    printf("cloexec: rc=%d marked=%d next=%d\n", rc, marked, next_file());
    closefrom(3);
    return 0;
}

static int case_all(int argc, char **argv);

static const struct spin_case cases[] = {
    {"close_range", case_close_range},
    {"closefrom", case_closefrom},
    {"loop", case_loop},
    {"dup2", case_dup2},
    {"cloexec", case_cloexec},
    {"all", case_all},
    {NULL, NULL},
};

static int case_all(int argc, char **argv)
{
    for (const struct spin_case *one = cases; one->run != case_all; one++)
        one->run(argc, argv);
    return 0;
}

int main(int argc, char **argv)
{
    return run_case(cases, argc, argv, "all");
}
