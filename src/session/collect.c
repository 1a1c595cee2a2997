#include "session/collect.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/pool.h"
#include "base/strbuf.h"
#include "reader/stream_file.h"
#include "session/session_clock.h"
#include "session/session_file.h"
#include "session/tree_poll.h"
#include "stream/layout.h"

struct job {
    const char *scratch;
    const char *recording;
    uint32_t flags;
    struct dir_entries entries;
    pthread_mutex_t lock; /* of the rest */
    struct collect_result result;
    struct lam_error error; /* the first failure */
};

static bool is_ours_alone(const char *name)
{
    return strcmp(name, "control") == 0 || strcmp(name, SESSION_JSON_NAME) == 0;
}

static uint64_t size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static int copy_to_temporary(const char *from, int out, const char *name, struct lam_error *err)
{
    int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (in < 0)
        return lam_error_errno(err, errno, "%s", from);
    int rc = file_copy_fd(in, out, name, NULL, err);
    close(in);
    return rc;
}

/* Copies under a temporary name and renames, so that what is there is whole. */
static int copy_file(const char *from, const char *to, struct lam_error *err)
{
    if (rename(from, to) == 0)
        return LAM_OK;
    struct strbuf temporary = {0};
    strbuf_addf(&temporary, "%s.XXXXXX", to);
    int out = strbuf_ok(&temporary) ? mkostemp(temporary.data, O_CLOEXEC) : -1;
    int rc = LAM_OK;
    if (out < 0) {
        rc = lam_error_errno(err, strbuf_ok(&temporary) ? errno : ENOMEM, "%s", to);
    } else {
        rc = copy_to_temporary(from, out, to, err);
        close(out);
        if (rc >= 0 && rename(temporary.data, to) < 0)
            rc = lam_error_errno(err, errno, "%s", to);
        if (rc < 0)
            unlink(temporary.data);
    }
    strbuf_free(&temporary);
    return rc;
}

/* Whether a failure says something about the stream, not about the place it goes to. */
static bool is_about_the_stream(int code)
{
    return code == LAM_E_CORRUPT || code == LAM_E_TRUNCATED || code == LAM_E_UNSUPPORTED;
}

static int bring_path(const char *from, const char *to, uint32_t flags,
                      struct collect_result *result, struct lam_error *err)
{
    uint64_t raw = size_of(from);
    bool is_stream = text_ends_with(from, ".lam");
    int rc = is_stream ? stream_pack(from, to, flags, err) : copy_file(from, to, err);
    if (rc < 0 && is_about_the_stream(rc)) {
        result->unpacked++;
        rc = copy_file(from, to, err); /* a reader will say what is wrong with it */
    }
    if (rc < 0)
        return rc;
    unlink(from);
    result->streams += is_stream;
    result->raw_bytes += raw;
    result->packed_bytes += size_of(to);
    return LAM_OK;
}

static int bring(const char *scratch, const char *recording, const char *name, uint32_t flags,
                 struct collect_result *result, struct lam_error *err)
{
    char *from = path_join(scratch, name), *to = path_join(recording, name);
    int rc = LAM_E_NOMEM;
    if (from && to)
        rc = bring_path(from, to, flags, result, err);
    else
        lam_error_set(err, rc, "out of memory");
    mem_free(from);
    mem_free(to);
    return rc;
}

static void add_result(struct collect_result *sum, const struct collect_result *one)
{
    sum->streams += one->streams;
    sum->unpacked += one->unpacked;
    sum->raw_bytes += one->raw_bytes;
    sum->packed_bytes += one->packed_bytes;
}

static int bring_item(void *ctx, size_t item, unsigned worker)
{
    struct job *job = ctx;
    struct collect_result one = {0};
    struct lam_error error = LAM_ERROR_INIT;
    (void)worker;
    const struct dir_entry *entry = &job->entries.items[item];
    if (entry->kind != DIR_KIND_FILE || is_ours_alone(entry->name))
        return LAM_OK;
    int rc = bring(job->scratch, job->recording, entry->name, job->flags, &one, &error);
    pthread_mutex_lock(&job->lock);
    add_result(&job->result, &one);
    if (rc < 0 && job->error.code == LAM_OK)
        job->error = error;
    pthread_mutex_unlock(&job->lock);
    return rc;
}

int collect_all(const char *scratch, const char *recording, unsigned threads, uint32_t flags,
                struct collect_result *result, struct lam_error *err)
{
    struct job job = {
        .scratch = scratch,
        .recording = recording,
        .flags = flags,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .error = LAM_ERROR_INIT,
    };
    struct pool *pool = NULL;
    int rc = dir_list(scratch, &job.entries, err);
    if (rc < 0)
        return rc;
    /* Threads for two files would cost more than they save. */
    if (threads > 1 && job.entries.count > 4)
        (void)pool_open(&pool, threads, NULL); /* without one, this thread does it all */
    rc = pool_run(pool, job.entries.count, bring_item, &job);
    pool_close(&pool);
    dir_entries_free(&job.entries);
    add_result(result, &job.result);
    if (rc < 0)
        lam_error_set(err, rc, "%s", job.error.code < 0 ? job.error.msg : lam_code_text(rc));
    return rc;
}

/* The process that wrote a stream, from the file's header. False when there is no whole header yet. */
static bool writer_of(const char *path, uint32_t *pid, uint64_t *kernel_start)
{
    struct stream_header header;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    ssize_t got = read(fd, &header, sizeof header);
    close(fd);
    if (got != (ssize_t)sizeof header || memcmp(header.magic, STREAM_MAGIC, sizeof header.magic) != 0)
        return false;
    *pid = header.pid;
    *kernel_start = header.kernel_start;
    return true;
}

static bool is_running(uint32_t pid, uint64_t kernel_start)
{
    struct proc_stat stat;
    return pid && tree_poll_peek((pid_t)pid, &stat) && stat.kernel_start == kernel_start &&
           stat.state != 'Z';
}

/* Whether the writer of dir/name still runs; a file without a header is being begun. */
static bool has_running_writer(const char *dir, const char *name)
{
    uint32_t pid;
    uint64_t kernel_start;
    char *path = path_join(dir, name);
    bool running = !path || !writer_of(path, &pid, &kernel_start) || is_running(pid, kernel_start);
    mem_free(path);
    return running;
}

uint64_t collect_disk_bytes(const char *dir)
{
    struct dir_entries entries = {0};
    uint64_t bytes = 0;
    if (dir_list(dir, &entries, NULL) < 0)
        return 0;
    array_each(&entries, entry)
    {
        struct stat st;
        char *path = path_join(dir, entry->name);
        if (path && lstat(path, &st) == 0)
            bytes += (uint64_t)st.st_blocks * 512u;
        mem_free(path);
    }
    dir_entries_free(&entries);
    return bytes;
}

void collect_ended(const char *scratch, const char *recording, uint64_t keep_bytes,
                   uint64_t until_ns, struct collect_result *result)
{
    struct dir_entries entries = {0};
    uint64_t held = collect_disk_bytes(scratch);
    if (held < keep_bytes || dir_list(scratch, &entries, NULL) < 0)
        return;
    array_each(&entries, entry)
    { /* names begin with the time of their start */
        if (held < keep_bytes || session_mono_ns() > until_ns)
            break;
        if (entry->kind != DIR_KIND_FILE || !text_ends_with(entry->name, ".lam") ||
            has_running_writer(scratch, entry->name))
            continue;
        struct collect_result one = {0};
        if (bring(scratch, recording, entry->name, 0, &one, NULL) < 0)
            break;
        held -= one.raw_bytes < held ? one.raw_bytes : held;
        add_result(result, &one);
    }
    dir_entries_free(&entries);
}

int collect_pids(const char *dir, struct map *pids)
{
    struct dir_entries entries = {0};
    int rc = dir_list(dir, &entries, NULL);
    array_each(&entries, entry)
    {
        const char *dash = strrchr(entry->name, '-');
        if (!dash || !text_ends_with(entry->name, ".lam"))
            continue;
        uint64_t *count = map_slot(pids, strtoul(dash + 1, NULL, 10), 0, NULL);
        if (count)
            ++*count;
    }
    dir_entries_free(&entries);
    return rc;
}

size_t collect_count_running(const char *dir)
{
    struct dir_entries entries = {0};
    size_t running = 0;
    if (dir_list(dir, &entries, NULL) < 0)
        return 0;
    array_each(&entries, entry)
    {
        uint32_t pid;
        uint64_t kernel_start;
        char *path = path_join(dir, entry->name);
        if (path && text_ends_with(entry->name, ".lam") && writer_of(path, &pid, &kernel_start))
            running += is_running(pid, kernel_start);
        mem_free(path);
    }
    dir_entries_free(&entries);
    return running;
}
