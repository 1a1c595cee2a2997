/* elf_probe.h: can a program be sampled from inside, judged by its file before it is started? */
#ifndef LAMELLA_CORE_ELF_PROBE_H
#define LAMELLA_CORE_ELF_PROBE_H

/* What keeps a preloaded library out of a program. */
enum elf_probe {
    ELF_PROBE_OK = 0,
    ELF_PROBE_STATIC, /* no loader */
    ELF_PROBE_CLASS,  /* 32 bit or another machine */
    ELF_PROBE_LIBC,   /* a loader that is not glibc's */
    ELF_PROBE_SETUID, /* setuid, setgid or file capabilities: the loader would drop the library */
    ELF_PROBE_ASAN,   /* its runtime insists on being loaded first */
    ELF_PROBE_CGO,    /* Go's runtime treats our signal as fatal */
    ELF_PROBE_UNREADABLE, /* cannot be looked at; left alone */
};

/* Looks at `path`, following "#!" lines to the interpreter that will really run.
 * dir_fd   as for openat
 * Async-signal-safe, allocates nothing, at most some 30 system calls; usable in a child of vfork. */
enum elf_probe elf_probe(int dir_fd, const char *path);

#endif
