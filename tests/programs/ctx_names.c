/* ctx_names: names that confuse whoever splits lines of /proc or of a trace; 30 ms under each, in two threads. */
#include <pthread.h>
#include <sys/prctl.h>

#include "spin.h"

static const char *const main_names[] = {
    "a b) 12 [003]", "line\nfeed", "opt cgu.7", ") R 1 1 1", "\xff\xfe\x80", "", "fifteen-letters"};
static const char *const other_names[] = {"cpu clock:", "(((", "tab\there"};

static void *beside(void *unused)
{
    for (int i = 0; i < 3; i++) {
        pthread_setname_np(pthread_self(), other_names[i]);
        spin_ms(30);
    }
    return unused;
}

int main(void)
{
    pthread_t thread;
    char seen[16];
    int same = 0;
    if (pthread_create(&thread, NULL, beside, NULL))
        unprepared("pthread_create");
    pthread_setname_np(thread, "named by main");
    for (int i = 0; i < 7; i++) {
        prctl(PR_SET_NAME, main_names[i]);
        spin_ms(30);
        prctl(PR_GET_NAME, seen);
        same += !strcmp(seen, main_names[i]);
    }
    pthread_join(thread, NULL);
    printf("same=%d\n", same);
    return 0;
}
