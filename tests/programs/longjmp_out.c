/* longjmp_out [ROUNDS]: handlers that never return, ROUNDS (1000) times, from a timer that strikes in the middle of work. */
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "spin.h"

static sigjmp_buf resume;
static volatile unsigned long rounds;
static unsigned long wanted;

static void jump_out(int number)
{
    (void)number;
    if (rounds < wanted) /* else `resume` may be a frame that has returned */
        siglongjmp(resume, 1);
}

__attribute__((noinline)) void work_until_struck(void)
{
    for (;;)
        spin_ms(1);
}

__attribute__((noinline)) void until_enough(void)
{
    if (sigsetjmp(resume, 1))
        rounds++;
    if (rounds < wanted)
        work_until_struck();
}

int main(int argc, char **argv)
{
    wanted = number_argument(argc, argv, 1, 1000);
    struct itimerval period = {.it_interval = {.tv_usec = 700}, .it_value = {.tv_usec = 700}};
    signal(SIGALRM, jump_out);
    if (setitimer(ITIMER_REAL, &period, NULL))
        unprepared("setitimer");
    until_enough();
    signal(SIGALRM, SIG_IGN);
    printf("rounds=%lu\n", rounds);
    return 0;
}
