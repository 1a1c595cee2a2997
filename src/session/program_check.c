#include "session/program_check.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "core/elf_probe.h"
#include "reader/stream_names.h"
#include "stream/layout.h"

static_assert((int)ELF_PROBE_OK == STREAM_UNSAMPLED_NO, "stored as it is");
static_assert((int)ELF_PROBE_STATIC == STREAM_UNSAMPLED_STATIC, "stored as it is");
static_assert((int)ELF_PROBE_CLASS == STREAM_UNSAMPLED_CLASS, "stored as it is");
static_assert((int)ELF_PROBE_LIBC == STREAM_UNSAMPLED_LIBC, "stored as it is");
static_assert((int)ELF_PROBE_SETUID == STREAM_UNSAMPLED_SETUID, "stored as it is");
static_assert((int)ELF_PROBE_ASAN == STREAM_UNSAMPLED_ASAN, "stored as it is");
static_assert((int)ELF_PROBE_CGO == STREAM_UNSAMPLED_CGO, "stored as it is");
static_assert((int)ELF_PROBE_UNREADABLE == STREAM_UNSAMPLED_UNREADABLE, "stored as it is");

char *program_find(const char *command)
{
    if (strchr(command, '/'))
        return path_exists(command) ? mem_strdup(command) : NULL;
    const char *path = getenv("PATH");
    for (const char *at = path ? path : "/bin:/usr/bin"; at;) {
        const char *end = strchrnul(at, ':');
        struct strbuf buf = {0};
        if (end > at) {
            strbuf_add_bytes(&buf, at, (size_t)(end - at));
            strbuf_add_char(&buf, '/');
        }
        strbuf_add(&buf, command);
        char *file = strbuf_take(&buf, NULL);
        if (file && access(file, X_OK) == 0 && !path_is_dir(file))
            return file;
        mem_free(file);
        at = *end ? end + 1 : NULL;
    }
    return NULL;
}

/* A static program does not look at LD_PRELOAD and hands it to what it starts; a loader that gains rights drops a library that
 * is named with a slash by itself. */
static bool must_drop(unsigned why_not)
{
    return why_not != STREAM_UNSAMPLED_NO && why_not != STREAM_UNSAMPLED_STATIC &&
           why_not != STREAM_UNSAMPLED_SETUID;
}

struct program_verdict program_check_file(const char *path)
{
    unsigned why_not = elf_probe(AT_FDCWD, path);
    bool is_sampled = why_not == STREAM_UNSAMPLED_NO;
    return (struct program_verdict){why_not, must_drop(why_not),
                                    is_sampled ? "" : stream_unsampled_text(why_not)};
}

struct program_verdict program_check(const char *command)
{
    char *path = program_find(command);
    if (!path) /* starting it will fail and say why */
        return (struct program_verdict){STREAM_UNSAMPLED_NO, false, ""};
    struct program_verdict verdict = program_check_file(path);
    mem_free(path);
    return verdict;
}
