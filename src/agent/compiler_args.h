/* compiler_args.h: which programs about to be started are compilers that shall write a self-profile, and their command line. */
#ifndef LAMELLA_AGENT_COMPILER_ARGS_H
#define LAMELLA_AGENT_COMPILER_ARGS_H

#include <stddef.h>

enum compiler_ask {
    COMPILER_ASK_NO,
    COMPILER_ASK_PLAIN,     /* it takes -Z options as it is */
    COMPILER_ASK_BOOTSTRAP, /* it takes them with RUSTC_BOOTSTRAP=1 only, or that is not known */
};

/* Whether the program at `path` is a compiler that compiles something for cargo, and shall be asked for its self-profile.
 * Async-signal-safe, without shared state: it runs in children of vfork. */
enum compiler_ask compiler_ask(const char *path, char *const argv[], char *const envp[]);

/* Bytes of scratch for compiler_args_build(). */
size_t compiler_args_size(char *const argv[]);

/* argv with the words of the control page behind it; no text is copied. scratch: compiler_args_size() bytes, aligned to 8. */
char **compiler_args_build(char *const argv[], void *scratch);

#endif
