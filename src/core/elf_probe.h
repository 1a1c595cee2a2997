/* elf_probe.h: can a program be sampled from inside, judged by its file before it is started? */
#ifndef LAMELLA_CORE_ELF_PROBE_H
#define LAMELLA_CORE_ELF_PROBE_H

/* What keeps a preloaded library out of a program. The values are those of enum stream_unsampled, where they are stored. */
enum elf_probe {
    ELF_PROBE_OK = 0,
    ELF_PROBE_STATIC = 1, /* no loader */
    ELF_PROBE_CLASS = 2,  /* 32 bit or another machine */
    ELF_PROBE_LIBC = 3,   /* a loader that is not glibc's */
    ELF_PROBE_SETUID =
        4, /* it gains rights by setuid, setgid or file capabilities: the loader would drop the library */
    ELF_PROBE_ASAN = 5,       /* its runtime insists on being loaded first */
    ELF_PROBE_CGO = 6,        /* Go's runtime treats our signal as fatal */
    ELF_PROBE_UNREADABLE = 9, /* cannot be looked at; left alone */
};

/* Looks at `path`, following "#!" lines to the interpreter that will really run. A file that is not there is OK: exec will
 * say so.
 * dir_fd   as for openat
 * Async-signal-safe, allocates nothing, at most some 30 system calls; usable in a child of vfork. */
enum elf_probe elf_probe(int dir_fd, const char *path);

#endif
