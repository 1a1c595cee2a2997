#include "cli/recording_symbols.h"

#include "base/file.h"
#include "base/memory.h"
#include "cli/launcher_talk.h"

int recording_symbols_of(const char *recording, struct symbols **symbols, struct lam_error *err)
{
    char *dir = path_is_dir(recording) ? mem_strdup(recording) : path_dir(recording);
    int rc = dir ? symbols_open(symbols, dir, err)
                 : lam_error_set(err, LAM_E_NOMEM, "symbols: out of memory");
    mem_free(dir);
    return rc;
}

static int open_one(const char *recording, struct symbols **symbols)
{
    struct lam_error cause = LAM_ERROR_INIT;
    int rc = recording_symbols_of(recording, symbols, &cause);
    if (rc < 0 && rc != LAM_E_NOTFOUND && rc != LAM_E_NOMEM)
        launcher_say("frames have no names: %s", cause.msg);
    return rc == LAM_E_NOMEM ? rc : LAM_OK;
}

int recording_symbols_open(const struct input_groups *groups, struct symbols **symbols,
                           struct lam_error *err)
{
    bool is_one = groups->items.count == 1;
    int rc = LAM_OK;
    for (size_t i = 0; rc >= 0 && i < groups->items.count; i++) {
        const char *recording = groups->items.items[i].recording;
        struct symbols *own = NULL;
        rc = recording ? open_one(recording, &own) : LAM_OK;
        if (rc >= 0 && (own || !is_one))
            rc = symbols_append(symbols, own);
        if (rc < 0)
            symbols_close(&own);
    }
    return rc < 0 ? lam_error_set(err, rc, "symbols: %s", lam_code_text(rc)) : LAM_OK;
}
