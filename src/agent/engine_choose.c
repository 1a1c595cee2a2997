#include "agent/agent.h"

#include <errno.h>
#include <sys/utsname.h>

/* Best first. */
static const struct engine *const engines[] = {&engine_sigtrap, &engine_thread_perf,
                                               &engine_cpu_timer};

int engine_any_owns(const siginfo_t *info)
{
    for (size_t i = 0; i < sizeof engines / sizeof engines[0]; i++)
        if (engines[i]->owns(info, NULL))
            return 1;
    return 0;
}

/* In one's own process kernel mode may be excluded where it may not be included; the better one is tried first. */
static int start_engine(const struct engine *engine, int *rc)
{
    agent.kernel_mode = agent.control->kernel_mode;
    *rc = engine->start();
    if (*rc == -EACCES && agent.kernel_mode) {
        agent.kernel_mode = 0;
        *rc = engine->start();
    }
    if (*rc < 0)
        return 0;
    if (engine == &engine_cpu_timer)
        agent.kernel_mode = 1; /* the tick charges and interrupts both modes */
    agent.engine = engine;
    return 1;
}

void engine_choose(void)
{
    uint32_t wanted = agent.control->engine;
    uint32_t best = wanted != STREAM_ENGINE_AUTO ? wanted : agent.control->best_engine;
    agent.engine = NULL;
    agent.engine_errno = 0;
    if (best == STREAM_ENGINE_NONE)
        return;
    for (size_t i = 0; i < sizeof engines / sizeof engines[0]; i++) {
        int rc = 0;
        if (engines[i]->id < best)
            continue;
        if (start_engine(engines[i], &rc))
            return;
        if (!agent.engine_errno)
            agent.engine_errno = rc;
        /* A wish by name is not replaced by something else. */
        if (wanted != STREAM_ENGINE_AUTO)
            return;
    }
}
