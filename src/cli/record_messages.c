#include "cli/record_messages.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "build/cargo_messages.h"

enum { LIST_BYTES_MAX = 256 << 20 };

void record_messages_begin(struct record_messages *messages, const char *file, bool lists)
{
    struct stat st;
    *messages = (struct record_messages){.file = file};
    if (file || !lists || fstat(STDOUT_FILENO, &st) < 0 || !S_ISREG(st.st_mode))
        return;
    bool appends = fcntl(STDOUT_FILENO, F_GETFL) & O_APPEND;
    messages->stdout_start = appends ? st.st_size : lseek(STDOUT_FILENO, 0, SEEK_CUR);
    messages->in_stdout = messages->stdout_start >= 0;
}

/* Our stdout may be open for writing only, and its position is the user's: the file is opened once more. */
static int read_stdout(const struct record_messages *messages, char **text, size_t *size,
                       struct lam_error *err)
{
    int fd = open("/proc/self/fd/1", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return lam_error_set(err, LAM_E_NOTFOUND, "stdout cannot be read");
    int rc = lseek(fd, messages->stdout_start, SEEK_SET) < 0 ? LAM_E_NOTFOUND : LAM_OK;
    if (rc == LAM_OK)
        rc = file_read_all_fd(fd, "stdout", LIST_BYTES_MAX, text, size, err);
    close(fd);
    return rc;
}

static int read_file(const struct record_messages *messages, const struct record_window *window,
                     char **text, size_t *size, struct lam_error *err)
{
    struct stat st;
    if (stat(messages->file, &st) == 0 &&
        (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec < window->start_unix_ns)
        return lam_error_set(err, LAM_E_INVAL, "%s: older than the command, which did not write it",
                             messages->file);
    return file_read_all(messages->file, LIST_BYTES_MAX, text, size, err);
}

static int attach(const struct record_messages *messages, const struct strbuf *kept,
                  const char *recording, struct session_attachments *attachments,
                  struct lam_error *err)
{
    struct session_attachment attachment = {"cargo_messages", CARGO_MESSAGES_NAME, NULL};
    char *path = path_join(recording, CARGO_MESSAGES_NAME);
    if (messages->file)
        attachment.from = mem_strdup(messages->file);
    int rc = path && (attachment.from || !messages->file)
                 ? file_write_all(path, strbuf_text(kept), kept->length, err)
                 : lam_error_set(err, LAM_E_NOMEM, "%s: out of memory", CARGO_MESSAGES_NAME);
    if (rc >= 0)
        rc = array_push(attachments, attachment);
    if (rc < 0)
        mem_free(attachment.from);
    mem_free(path);
    return rc;
}

int record_messages_attach(const struct record_messages *messages, const char *recording,
                           const struct record_window *window,
                           struct session_attachments *attachments, struct lam_error *err)
{
    char *text = NULL;
    size_t size = 0;
    struct strbuf kept = {0};
    if (!messages->file && !messages->in_stdout)
        return LAM_OK;
    int rc = messages->file ? read_file(messages, window, &text, &size, err)
                            : read_stdout(messages, &text, &size, err);
    if (rc >= 0)
        rc = cargo_messages_keep(text, size, &kept);
    if (rc >= 0)
        rc = attach(messages, &kept, recording, attachments, err);
    else if (rc == LAM_E_NOTFOUND && text)
        lam_error_set(err, rc, "%s: no message of cargo's in it",
                      messages->file ? messages->file : "stdout");
    strbuf_free(&kept);
    mem_free(text);
    /* Whoever sends stdout to a file did not ask us to read it. */
    return messages->file || rc == LAM_E_NOMEM || rc >= 0 ? rc : LAM_OK;
}
