/* interpose_fd.c: functions that close or replace descriptors step around ours. To the program they are not open. */
#include "agent/agent.h"
#include "agent/real.h"

#include <errno.h>
#include <limits.h>

AGENT_EXPORT int close(int fd)
{
    if (agent_is_active() && fds_is_ours(fd) && agent_enter()) {
        errno = EBADF;
        return -1;
    }
    if (fds_is_signalfd(fd))
        fds_note_signalfd(fd, 0);
    return REAL(close)(fd);
}

/* Closes [first, last] in stretches between our descriptors. */
static int close_around(unsigned first, unsigned last, int flags)
{
    enum { OURS_BELOW = 65536 + 64 };
    unsigned from = first;
    for (unsigned fd = first; fd <= last && fd < OURS_BELOW; fd++) {
        if (!fds_is_ours((int)fd))
            continue;
        if (fd > from) {
            int rc = REAL(close_range)(from, fd - 1, flags);
            if (rc < 0)
                return rc;
        }
        from = fd + 1;
    }
    return from <= last ? REAL(close_range)(from, last, flags) : 0;
}

AGENT_EXPORT int close_range(unsigned first, unsigned last, int flags)
{
    /* In a child of vfork, or about to exec, everything may go; but with our descriptors gone the parent's table is not
     * touched either, since CLOSE_RANGE_UNSHARE and vfork children have a table of their own. */
    if (!agent_enter() || first > last)
        return REAL(close_range)(first, last, flags);
    return close_around(first, last, flags);
}

AGENT_EXPORT void closefrom(int first)
{
    if (!agent_enter())
        REAL(closefrom)(first);
    else if (close_around(first < 0 ? 0 : (unsigned)first, UINT_MAX, 0) < 0)
        for (int fd = first < 0 ? 0 : first; fd < 65536; fd++)
            close(fd); /* a kernel without close_range */
}

/* The program chose a number that is ours: it gets it. The stream is opened again by its name when a page is next
 * claimed (claim_file.path), an event of an engine by engine->check. */
static void make_way(int fd)
{
    if (sys_getpid() != agent.pid)
        return; /* a child of vfork: the table of descriptors is its own, the state is its parent's */
    fds_release(fd);
}

AGENT_EXPORT int dup2(int from, int to)
{
    if (agent_is_active() && from != to && fds_is_ours(to) && agent_enter())
        make_way(to);
    return REAL(dup2)(from, to);
}

AGENT_EXPORT int dup3(int from, int to, int flags)
{
    if (agent_is_active() && from != to && fds_is_ours(to) && agent_enter())
        make_way(to);
    return REAL(dup3)(from, to, flags);
}
