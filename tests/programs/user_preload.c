/* build: -shared -fPIC */
/* user_preload.so: what a user had in LD_PRELOAD before. It says so on standard error, and answers for getppid. */
#include <unistd.h>

__attribute__((constructor)) static void loaded(void)
{
    static const char text[] = "user_preload: here\n";
    ssize_t put = write(2, text, sizeof text - 1);
    (void)put;
}

pid_t getppid(void)
{
    return 4242;
}
