#include "session/scratch.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"

static int add_candidate(struct scratch_places *places, const char *path)
{
    struct scratch_place place = {.path = mem_strdup(path)};
    struct statfs fs;
    if (statfs(path, &fs) == 0) {
        place.is_memory =
            (unsigned long)fs.f_type == TMPFS_MAGIC || (unsigned long)fs.f_type == RAMFS_MAGIC;
        place.free_bytes = (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize;
        place.is_writable = access(path, W_OK | X_OK) == 0;
    }
    if (!place.path || array_push(places, place) < 0) {
        mem_free(place.path);
        return LAM_E_NOMEM;
    }
    return LAM_OK;
}

int scratch_candidates(struct scratch_places *places)
{
    int rc = add_candidate(places, "/dev/shm");
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    if (rc >= 0 && runtime && runtime[0] == '/')
        rc = add_candidate(places, runtime);
    return rc;
}

void scratch_places_free(struct scratch_places *places)
{
    array_each(places, place)
    {
        mem_free(place->path);
    }
    array_free(places);
}

bool scratch_is_good(const struct scratch_place *place)
{
    return place->is_memory && place->is_writable && place->free_bytes >= SCRATCH_ROOM_BYTES;
}

/* mkdtemp() gives mode 0700 whatever the umask. */
static char *make_in(const char *place)
{
    struct strbuf buf = {0};
    strbuf_add(&buf, place);
    strbuf_add(&buf, "/" SCRATCH_PREFIX "XXXXXX");
    char *path = strbuf_take(&buf, NULL);
    if (path && !mkdtemp(path)) {
        mem_free(path);
        return NULL;
    }
    return path;
}

static int make_inside(const char *recording, char **path, struct lam_error *err)
{
    char *inside = path_join(recording, SCRATCH_INSIDE);
    if (!inside)
        return lam_error_set(err, LAM_E_NOMEM, "out of memory");
    if (mkdir(inside, 0700) < 0) {
        int rc = lam_error_errno(err, errno, "cannot make %s", inside);
        mem_free(inside);
        return rc;
    }
    *path = inside;
    return LAM_OK;
}

int scratch_create(const char *recording, char **path, bool *is_memory, struct lam_error *err)
{
    struct scratch_places places = {0};
    char *made = NULL;
    int rc = scratch_candidates(&places);
    for (size_t i = 0; rc >= 0 && !made && i < places.count; i++)
        if (scratch_is_good(&places.items[i]))
            made = make_in(places.items[i].path);
    scratch_places_free(&places);
    if (rc < 0)
        return lam_error_set(err, rc, "out of memory");
    *is_memory = made != NULL;
    if (!made)
        return make_inside(recording, path, err);
    *path = made;
    return LAM_OK;
}

uint64_t scratch_free_bytes(const char *path)
{
    struct statfs fs;
    return statfs(path, &fs) == 0 ? (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize : 0;
}

bool scratch_has_form(const char *path)
{
    if (!path || path[0] != '/' || strstr(path, "/../") || text_ends_with(path, "/.."))
        return false;
    const char *name = path_name(path);
    if (text_starts_with(name, SCRATCH_PREFIX))
        return strlen(name) == strlen(SCRATCH_PREFIX) + 6;
    return strcmp(name, SCRATCH_INSIDE) == 0;
}

int scratch_remove(const char *path, struct lam_error *err)
{
    struct stat st;
    if (!scratch_has_form(path))
        return lam_error_set(err, LAM_E_INVAL, "%s: is no scratch directory of lamella, left alone",
                             path);
    if (lstat(path, &st) < 0)
        return errno == ENOENT ? LAM_OK : lam_error_errno(err, errno, "%s", path);
    if (!S_ISDIR(st.st_mode))
        return lam_error_set(err, LAM_E_INVAL, "%s: is no directory, left alone", path);
    if (st.st_uid != geteuid() && geteuid() != 0)
        return lam_error_set(err, LAM_E_PERM, "%s: belongs to another user", path);
    return dir_remove_all(path, err);
}
