/* A session.json of unknown origin, as `lamella clean` meets it: read, and settled when it reads. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "session/recover.h"
#include "session/scratch.h"
#include "session/session_file.h"
#include "session/session_stub.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *place(void)
{
    static char dir[] = "/dev/shm/lamella-fuzz.XXXXXX";
    static int made;
    if (!made)
        made = mkdtemp(dir) ? 1 : -1;
    return made > 0 ? dir : NULL;
}

static void remove_place(void)
{
    (void)dir_remove_all(place(), NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int registered;
    const char *dir = place();
    struct session_stub stub;
    if (!dir)
        return 0;
    if (!registered++)
        atexit(remove_place);
    char *path = path_join(dir, SESSION_JSON_NAME);
    if (!path || file_write_all(path, data, size, NULL) < 0)
        abort();
    mem_free(path);
    if (session_stub_read(dir, &stub, NULL) < 0)
        return 0;
    (void)scratch_has_form(stub.scratch);
    session_stub_free(&stub);
    /* What reads once settles, reads again, and names no scratch place. */
    if (session_json_settle(dir, dir, true, NULL) < 0 || session_stub_read(dir, &stub, NULL) < 0)
        abort();
    if (stub.scratch || !stub.recovered)
        abort();
    session_stub_free(&stub);
    return 0;
}
