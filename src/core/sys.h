/* sys.h: system calls without libc: no errno, no cancellation, no interposition.
 *
 * Every function here is async-signal-safe and returns what the kernel returns: a value, or a negative errno.
 * They exist because the code that uses them runs inside somebody else's program, in signal handlers and before that
 * program's libc wrappers (which may be ours) are ready.
 */
#ifndef LAMELLA_CORE_SYS_H
#define LAMELLA_CORE_SYS_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#if defined(__SANITIZE_THREAD__)
#include <errno.h>
#include <sys/mman.h>
#endif

#if defined(__clang_analyzer__)
/* The analyzer does not see that the kernel writes through these; of a function it does not know it expects so. */
long sys_call6(long nr, long a, long b, long c, long d, long e, long f);
#elif defined(__x86_64__)
static inline long sys_call6(long nr, long a, long b, long c, long d, long e, long f)
{
    long ret;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(ret)
                     : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return ret;
}
#elif defined(__aarch64__)
static inline long sys_call6(long nr, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = nr;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc #0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
}
#else
#error "unsupported architecture"
#endif

#define sys_call0(nr)             sys_call6((nr), 0, 0, 0, 0, 0, 0)
#define sys_call1(nr, a)          sys_call6((nr), (long)(a), 0, 0, 0, 0, 0)
#define sys_call2(nr, a, b)       sys_call6((nr), (long)(a), (long)(b), 0, 0, 0, 0)
#define sys_call3(nr, a, b, c)    sys_call6((nr), (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define sys_call4(nr, a, b, c, d) sys_call6((nr), (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define sys_call5(nr, a, b, c, d, e) \
    sys_call6((nr), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)

static inline int sys_openat(int dir, const char *path, int flags, unsigned mode)
{
    return (int)sys_call4(SYS_openat, dir, path, flags, mode);
}

static inline int sys_close(int fd)
{
    return (int)sys_call1(SYS_close, fd);
}

static inline int sys_fstat(int fd, struct stat *st)
{
    return (int)sys_call4(SYS_newfstatat, fd, "", st, AT_EMPTY_PATH);
}

static inline long sys_read(int fd, void *buf, size_t size)
{
    return sys_call3(SYS_read, fd, buf, size);
}

static inline long sys_pread(int fd, void *buf, size_t size, uint64_t offset)
{
    return sys_call4(SYS_pread64, fd, buf, size, offset);
}

/* A negative errno comes back as a value in the last page; test with sys_is_error(). The thread sanitizer must see that
 * memory comes and goes, or it takes what is mapped at an old address for the old memory. */
static inline void *sys_mmap(void *addr, size_t size, int prot, int flags, int fd, uint64_t offset)
{
#if defined(__SANITIZE_THREAD__)
    void *map = mmap(addr, size, prot, flags, fd, (off_t)offset);
    return map == MAP_FAILED ? (void *)(intptr_t)-errno : map;
#else
    return (void *)sys_call6(SYS_mmap, (long)addr, (long)size, prot, flags, fd, (long)offset);
#endif
}

static inline int sys_is_error(const void *ptr)
{
    return (uintptr_t)ptr >= (uintptr_t)-4095;
}

static inline int sys_munmap(void *addr, size_t size)
{
#if defined(__SANITIZE_THREAD__)
    return munmap(addr, size) < 0 ? -errno : 0;
#else
    return (int)sys_call2(SYS_munmap, addr, size);
#endif
}

static inline int sys_getpid(void)
{
    return (int)sys_call0(SYS_getpid);
}

static inline int sys_gettid(void)
{
    return (int)sys_call0(SYS_gettid);
}

#endif
