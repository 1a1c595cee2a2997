#include "cli/recording_ready.h"

#include "base/file.h"
#include "cli/launcher_talk.h"
#include "cli/record_summary.h"
#include "session/recover.h"

void recording_make_ready(const char *path)
{
    struct lam_error err = LAM_ERROR_INIT;
    int rc = path_is_dir(path) ? session_recover(path, false, record_write_symbols, &err) : LAM_OK;
    if (rc == SESSION_RECOVERED)
        launcher_say("%s: its launcher had died; what was recorded until then is complete now", path);
    else if (rc < 0)
        launcher_say("%s", err.msg);
}

int recording_groups_find(struct input_groups *groups, const char *const *paths, size_t count,
                          struct lam_error *err)
{
    for (size_t i = 0; i < count; i++)
        recording_make_ready(paths[i]);
    int rc = input_groups_find(groups, paths, count, err);
    if (rc >= 0)
        array_each(&groups->repeated, path)
            launcher_say("%s: was given already: it is read once", *path);
    return rc;
}
