#include "session/recover.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/units.h"
#include "session/collect.h"
#include "session/control_file.h"
#include "session/scratch.h"
#include "session/session_file.h"
#include "session/tree_poll.h"
#include "stream/layout.h"

enum { PACK_THREADS = 2 };

bool session_launcher_runs(const struct session_stub *stub)
{
    struct proc_stat stat;
    return stub->launcher_pid && tree_poll_peek((pid_t)stub->launcher_pid, &stat) &&
           stat.kernel_start == stub->launcher_start && stat.state != 'Z';
}

/* Where the streams lie: as it was written, or inside the recording, which may have been moved. For mem_free(); NULL when
 * neither is there. */
static char *find_scratch(const char *dir, const struct session_stub *stub)
{
    if (scratch_has_form(stub->scratch) && path_is_dir(stub->scratch))
        return mem_strdup(stub->scratch);
    char *inside = path_join(dir, SCRATCH_INSIDE);
    if (inside && path_is_dir(inside))
        return inside;
    mem_free(inside);
    return NULL;
}

enum session_state session_state_of(const char *dir, const struct session_stub *stub)
{
    if (!stub->scratch)
        return SESSION_FINISHED;
    if (session_launcher_runs(stub))
        return SESSION_RECORDING;
    char *scratch = find_scratch(dir, stub);
    bool is_there = scratch != NULL;
    mem_free(scratch);
    return is_there ? SESSION_ORPHANED : SESSION_GONE;
}

const char *session_state_name(enum session_state state)
{
    static const char *const names[] = {"finished", "recording", "unfinished", "lost"};
    return names[state];
}

static bool holds_streams(const char *dir)
{
    struct map pids = {0};
    collect_pids(dir, &pids);
    bool any = pids.count > 0;
    map_free(&pids);
    return any;
}

static int finish(const char *dir, const char *scratch, session_symbols_fn symbols,
                  struct lam_error *err)
{
    struct collect_result result = {0};
    control_stop_orphan(scratch);
    int rc = collect_all(scratch, dir, PACK_THREADS, STREAM_FLAG_RECOVERED, &result, err);
    if (rc < 0)
        return rc;
    /* Without symbols the recording is still a recording: the next one to need them tries again. */
    if (symbols)
        (void)symbols(NULL, dir, NULL);
    char *kept = path_join(scratch, SESSION_JSON_NAME);
    bool newer = kept && path_exists(kept);
    mem_free(kept);
    rc = session_json_settle(newer ? scratch : dir, dir, true, err);
    if (rc < 0 && newer)
        rc = session_json_settle(dir, dir, true, err);
    if (rc < 0)
        return rc;
    rc = scratch_remove(scratch, err);
    return rc < 0 ? rc : SESSION_RECOVERED;
}

static int finish_locked(const char *dir, const char *scratch, bool force,
                         session_symbols_fn symbols, struct lam_error *err)
{
    int fd = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return lam_error_errno(err, errno, "%s", scratch);
    int rc;
    size_t running = force ? 0 : collect_count_running(scratch);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        rc = lam_error_set(err, LAM_E_BUSY, "%s: another command is recovering it", dir);
    else if (running)
        rc = lam_error_set(err, LAM_E_BUSY,
                           "%s: its launcher has died, but %zu of its processes still %s; wait "
                           "for %s, or take what there is "
                           "with lamella clean --recover --force %s",
                           dir, running, unit_either(running, "runs", "run"),
                           unit_either(running, "it", "them"), dir);
    else
        rc = finish(dir, scratch, symbols, err);
    close(fd);
    return rc;
}

static int recover_gone(const char *dir, const char *scratch, struct lam_error *err)
{
    if (!holds_streams(dir))
        return lam_error_set(err, LAM_E_NOTFOUND,
                             "%s: its launcher was killed and its streams, in %s, are gone", dir,
                             scratch);
    int rc = session_json_settle(dir, dir, true, err);
    return rc < 0 ? rc : SESSION_RECOVERED;
}

int session_recover(const char *dir, bool force, session_symbols_fn symbols, struct lam_error *err)
{
    struct session_stub stub;
    if (!path_is_dir(dir) || session_stub_read(dir, &stub, NULL) < 0)
        return LAM_OK; /* not ours to judge: the reader says what is wrong */
    int rc = LAM_OK;
    char *scratch = stub.scratch ? find_scratch(dir, &stub) : NULL;
    if (stub.scratch && session_launcher_runs(&stub))
        rc = lam_error_set(err, LAM_E_BUSY, "%s: is being recorded by process %u", dir,
                           stub.launcher_pid);
    else if (scratch)
        rc = finish_locked(dir, scratch, force, symbols, err);
    else if (stub.scratch)
        rc = recover_gone(dir, stub.scratch, err);
    mem_free(scratch);
    session_stub_free(&stub);
    return rc;
}

int session_recover_scratch(const char *scratch, bool force, session_symbols_fn symbols,
                            char **directory, struct lam_error *err)
{
    struct session_stub stub;
    if (!scratch_has_form(scratch))
        return lam_error_set(err, LAM_E_INVAL, "%s: is no scratch directory of lamella", scratch);
    int rc = session_stub_read(scratch, &stub, err);
    if (rc < 0)
        return rc;
    if (!stub.directory)
        rc = lam_error_set(err, LAM_E_CORRUPT, "%s: does not say where it belongs", scratch);
    else if (session_launcher_runs(&stub))
        rc = lam_error_set(err, LAM_E_BUSY, "%s: is being recorded by process %u", scratch,
                           stub.launcher_pid);
    /* The recording's directory may have been removed, or never got its session.json. */
    else if (mkdir(stub.directory, 0777) < 0 && errno != EEXIST)
        rc = lam_error_errno(err, errno, "%s", stub.directory);
    else if ((rc = session_json_adopt(scratch, stub.directory, err)) >= 0)
        rc = session_recover(stub.directory, force, symbols, err);
    if (rc >= 0) {
        *directory = stub.directory;
        stub.directory = NULL;
    }
    session_stub_free(&stub);
    return rc;
}

static int look_at(struct orphan_list *orphans, const char *path)
{
    struct session_stub stub;
    struct stat st;
    if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode) || (st.st_uid != geteuid() && geteuid() != 0))
        return LAM_OK;
    if (session_stub_read(path, &stub, NULL) < 0)
        stub = (struct session_stub){
            0}; /* its launcher died before it could say anything, or is just beginning */
    else if (session_launcher_runs(&stub))
        goto out;
    if (!stub.launcher_pid && time(NULL) - st.st_mtime < 60)
        goto out;
    struct orphan orphan = {
        .path = mem_strdup(path),
        .recording = stub.directory,
        .command = stub.command,
        .bytes = collect_disk_bytes(path),
        .started_at_unix_ns = stub.started_at_unix_ns,
    };
    stub.directory = stub.command = NULL;
    if (!orphan.path || array_push(orphans, orphan) < 0) {
        mem_free(orphan.path);
        mem_free(orphan.recording);
        mem_free(orphan.command);
        session_stub_free(&stub);
        return LAM_E_NOMEM;
    }
out:
    session_stub_free(&stub);
    return LAM_OK;
}

int orphans_find(struct orphan_list *orphans)
{
    struct scratch_places places = {0};
    int rc = scratch_candidates(&places);
    for (size_t i = 0; rc >= 0 && i < places.count; i++) {
        struct dir_entries entries = {0};
        if (!places.items[i].is_memory || dir_list(places.items[i].path, &entries, NULL) < 0)
            continue;
        for (size_t k = 0; rc >= 0 && k < entries.count; k++) {
            char *path = path_join(places.items[i].path, entries.items[k].name);
            if (path && text_starts_with(entries.items[k].name, SCRATCH_PREFIX) &&
                scratch_has_form(path))
                rc = look_at(orphans, path);
            mem_free(path);
        }
        dir_entries_free(&entries);
    }
    scratch_places_free(&places);
    return rc;
}

void orphans_free(struct orphan_list *orphans)
{
    array_each(orphans, it)
    {
        mem_free(it->path);
        mem_free(it->recording);
        mem_free(it->command);
    }
    array_free(orphans);
}
