#include "session/control_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

#define CONTROL_NAME "control"

static int open_mapped(const char *path, int flags, const struct control_page *content,
                       struct control_page **page, struct lam_error *err)
{
    int fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return lam_error_errno(err, errno, "%s", path);
    int rc = content ? file_write_fd(fd, content, sizeof *content, path, err) : LAM_OK;
    if (rc >= 0 && !content && lseek(fd, 0, SEEK_END) < (off_t)sizeof **page)
        rc = lam_error_set(err, LAM_E_CORRUPT, "%s: is not a control page", path);
    if (rc >= 0) {
        void *at = mmap(NULL, sizeof **page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (at == MAP_FAILED)
            rc = lam_error_errno(err, errno, "%s: cannot be mapped", path);
        else
            *page = at;
    }
    close(fd);
    return rc;
}

int control_create(const char *dir, const struct control_page *content, struct control_page **page,
                   struct lam_error *err)
{
    char *path = path_join(dir, CONTROL_NAME);
    if (!path)
        return lam_error_set(err, LAM_E_NOMEM, "out of memory");
    int rc = open_mapped(path, O_RDWR | O_CREAT | O_EXCL, content, page, err);
    mem_free(path);
    return rc;
}

void control_close(struct control_page **page)
{
    if (*page)
        munmap(*page, sizeof **page);
    *page = NULL;
}

void control_set_stop(struct control_page *page)
{
    /* relaxed: agents look at it when they start and when they claim a page; nothing else is published with it */
    __atomic_store_n(&page->stop, 1u, __ATOMIC_RELAXED);
}

static int read_page(const char *path, struct control_page *content, struct lam_error *err)
{
    char *data = NULL;
    size_t length = 0;
    int rc = file_read_all(path, sizeof *content, &data, &length, err);
    if (rc < 0)
        return rc;
    if (!data || length != sizeof *content || memcmp(data, CONTROL_MAGIC, sizeof content->magic) != 0)
        rc = lam_error_set(err, LAM_E_CORRUPT, "%s: is not a control page", path);
    else
        memcpy(content, data, sizeof *content);
    mem_free(data);
    return rc;
}

int control_read(const char *dir, struct control_page *content, struct lam_error *err)
{
    char *path = path_join(dir, CONTROL_NAME);
    if (!path)
        return lam_error_set(err, LAM_E_NOMEM, "out of memory");
    int rc = read_page(path, content, err);
    if (rc >= 0 && content->version != 1)
        rc = lam_error_set(err, LAM_E_UNSUPPORTED, "%s: version %u is not known", path,
                           content->version);
    if (rc >= 0)
        content->agent_path[sizeof content->agent_path - 1] = '\0'; /* written by somebody else */
    mem_free(path);
    return rc;
}

void control_stop_orphan(const char *dir)
{
    struct control_page *page = NULL;
    char *path = path_join(dir, CONTROL_NAME);
    if (path && open_mapped(path, O_RDWR, NULL, &page, NULL) >= 0 && page &&
        memcmp(page->magic, CONTROL_MAGIC, 8) == 0)
        control_set_stop(page);
    control_close(&page);
    mem_free(path);
}

static int put_globs(struct control_page *page, size_t *used, const char *const *globs,
                     size_t count, struct lam_error *err)
{
    for (size_t i = 0; i < count; i++) {
        size_t bytes = strlen(globs[i]) + 1;
        if (bytes > sizeof page->patterns - *used)
            return lam_error_set(err, LAM_E_USAGE,
                                 "--only and --skip: more than %zu bytes of patterns",
                                 sizeof page->patterns);
        memcpy(page->patterns + *used, globs[i], bytes);
        *used += bytes;
    }
    return LAM_OK;
}

int control_put_patterns(struct control_page *page, const char *const *only, size_t only_count,
                         const char *const *skip, size_t skip_count, struct lam_error *err)
{
    size_t used = 0;
    int rc = put_globs(page, &used, only, only_count, err);
    page->only_bytes = (uint32_t)used;
    if (rc >= 0)
        rc = put_globs(page, &used, skip, skip_count, err);
    page->skip_bytes = (uint32_t)used - page->only_bytes;
    return rc;
}
