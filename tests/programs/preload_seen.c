/* preload_seen: does user_preload.so answer for getppid? And what does the program find in its LD_PRELOAD? */
#include <unistd.h>

#include "spin.h"

int main(void)
{
    const char *value = getenv("LD_PRELOAD");
    spin_ms(30);
    printf("chained=%d named=%d\n", getppid() == 4242, value && strstr(value, "user_preload.so"));
    return 0;
}
